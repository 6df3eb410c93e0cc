"""Counters in Prometheus' text format."""

from collections import Counter

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    def __init__(self) -> None:
        self.in_flight = 0
        self.refused_connections = 0
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._buckets = [0] * (len(BUCKETS) + 1)
        self._seconds = 0.0

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        self._requests[method if route else "-", route or "unmatched", status] += 1
        self._seconds += seconds
        for index, bound in enumerate(BUCKETS):
            if seconds <= bound:
                self._buckets[index] += 1
                return
        self._buckets[-1] += 1

    def text(self, jobs: dict[str, int]) -> str:
        """Everything counted since the start, and the jobs as they stand."""
        lines = ["# HELP deedbox_requests_total Requests answered.", "# TYPE deedbox_requests_total counter"]
        for (method, route, status), number in sorted(self._requests.items()):
            lines.append(f'deedbox_requests_total{{method="{method}",route="{route}",status="{status}"}} {number}')
        lines += ["# HELP deedbox_request_seconds Time to answer.", "# TYPE deedbox_request_seconds histogram"]
        total = 0
        for bound, number in zip((*BUCKETS, "+Inf"), self._buckets, strict=True):
            total += number
            lines.append(f'deedbox_request_seconds_bucket{{le="{bound}"}} {total}')
        lines += [f"deedbox_request_seconds_sum {self._seconds:.6f}", f"deedbox_request_seconds_count {total}"]
        lines += ["# HELP deedbox_requests_in_flight Requests under way.", "# TYPE deedbox_requests_in_flight gauge"]
        lines.append(f"deedbox_requests_in_flight {self.in_flight}")
        lines += ["# HELP deedbox_connections_refused_total Connections closed at once: their address had too many."]
        lines.append("# TYPE deedbox_connections_refused_total counter")
        lines.append(f"deedbox_connections_refused_total {self.refused_connections}")
        lines += ["# HELP deedbox_jobs Background jobs by state.", "# TYPE deedbox_jobs gauge"]
        lines += [f'deedbox_jobs{{status="{state}"}} {jobs.get(state, 0)}' for state in ("ready", "running", "parked")]
        return "\n".join(lines) + "\n"

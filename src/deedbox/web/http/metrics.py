"""Counters in Prometheus' text format."""

from collections import Counter
from collections.abc import Callable, Mapping

from deedbox.kernel.jobs import Backlog

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)

_OF_WORK: dict[str, tuple[str, Callable[[Backlog], float]]] = {
    "deedbox_jobs_due": ("Background jobs that could run now.", lambda one: one.due),
    "deedbox_jobs_oldest_due_seconds": ("Time for which the oldest was due.", lambda one: one.oldest_due_seconds),
    "deedbox_jobs_running": ("Background jobs that run.", lambda one: one.running),
    "deedbox_jobs_failed": ("Background jobs given up after their last attempt.", lambda one: one.failed),
    "deedbox_jobs_stalled": ("1 where jobs are long due and nobody does them.", lambda one: one.is_stalled),
}


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

    def text(self, work: Mapping[str, Backlog], *, clock_ahead: float, retries: int) -> str:
        """Everything counted since the start, the background work of each kind, and how far the clock is off."""
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
        lines += ["# HELP deedbox_clock_ahead_seconds By how much this clock is ahead of the database's."]
        lines += ["# TYPE deedbox_clock_ahead_seconds gauge", f"deedbox_clock_ahead_seconds {clock_ahead:.1f}"]
        lines += ["# HELP deedbox_database_retries_total Transactions begun again because another was faster."]
        lines.append("# TYPE deedbox_database_retries_total counter")
        lines.append(f"deedbox_database_retries_total {retries}")
        for name, (described, value) in _OF_WORK.items():
            lines += [f"# HELP {name} {described}", f"# TYPE {name} gauge"]
            lines += [f'{name}{{kind="{kind}"}} {value(each):.0f}' for kind, each in work.items()]
        return "\n".join(lines) + "\n"

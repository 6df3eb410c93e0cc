"""A collector on loopback: it takes OTLP over HTTP and reads it with OpenTelemetry's own messages."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

SECONDS = 30


class Collected:
    """What came, and how it is answered."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/v1/traces"
        self.status = 200
        self.requests: list[ExportTraceServiceRequest] = []

    @property
    def spans(self) -> list[Span]:
        scopes = [scope for one in self.requests for each in one.resource_spans for scope in each.scope_spans]
        return [span for scope in scopes for span in scope.spans]

    def named(self, name: str) -> list[Span]:
        return [span for span in self.spans if span.name == name]

    def until(self, condition: Callable[["Collected"], bool]) -> "Collected":
        """Itself, once the condition holds of what has come."""
        end = time.monotonic() + SECONDS
        while not condition(self):
            assert time.monotonic() < end, f"in vain: only {sorted({span.name for span in self.spans})} came"
            time.sleep(0.02)
        return self


def attributes(span: Span) -> dict[str, str | int]:
    return {
        each.key: each.value.int_value if each.value.HasField("int_value") else each.value.string_value
        for each in span.attributes
    }


@contextmanager
def collecting() -> Iterator[Collected]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path == "/v1/traces" and collected.status == 200:
                assert self.headers["Content-Type"] == "application/x-protobuf"
                collected.requests.append(ExportTraceServiceRequest.FromString(body))
            self.send_response(collected.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    collected = Collected(server.server_port)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield collected
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

"""A small HTTP server on loopback that answers as a function says."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple


class Request(NamedTuple):
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


class Response(NamedTuple):
    status: int
    body: bytes = b""
    headers: Mapping[str, str] = {}


@contextmanager
def serving(answer: Callable[[Request], Response]) -> Iterator[str]:
    """The address of a running server."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            given = {name.lower(): value for name, value in self.headers.items()}
            response = answer(Request(self.command, self.path, given, body))
            self.send_response(response.status)
            for name, value in response.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(response.body)))
            self.end_headers()
            self.wfile.write(response.body)

        do_GET = do_POST = _answer

        def log_message(self, format: str, *args: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

"""An archive that speaks HTTP, on loopback: it keeps what it is given once, and can be made to fail."""

import base64
import hashlib
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, TypeAlias

Moment: TypeAlias = Literal["half", "kept", "answered"]


class Sink:
    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}
        self.puts: Counter[str] = Counter()
        """How often something new was kept under a name: never more than once, or it was replaced."""
        self.heads: list[dict[str, str]] = []
        self.status: int | None = None
        """What every PUT is answered with instead, its body unkept."""
        self.refused = 0
        """What every GET is answered with instead."""
        self.lose_answers = False
        self.answer = b'{"receipt": "r-1"}'
        self.url = ""
        self.watch: Callable[[Moment], None] = lambda _: None
        """Is told of every package, in the midst of it."""
        self.lock = threading.Lock()

    def take(self, name: str, head: dict[str, str], body: bytes) -> int:
        with self.lock:
            self.heads.append(head)
            if self.status is not None:
                return self.status
            if name in self.kept and head.get("if-none-match") == "*":
                return 412
            told = base64.b64encode(hashlib.sha256(body).digest()).decode()
            assert head["content-digest"] == f"sha-256=:{told}:"
            self.kept[name] = body
            self.puts[name] += 1
            return 201


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    sink: Sink

    def handle(self) -> None:
        with suppress(ConnectionError):  # senders die here
            super().handle()

    def do_PUT(self) -> None:
        size = int(self.headers["content-length"])
        body = self._read(size // 2)
        self.sink.watch("half")
        body += self._read(size - size // 2)
        if len(body) < size:
            self.close_connection = True
            return  # the sender died: nothing is kept
        head = {name.lower(): value for name, value in self.headers.items()}
        status = self.sink.take(self.path, head, body)
        self.sink.watch("kept")
        if self.sink.lose_answers:
            self.close_connection = True
            return
        more = {"Location": f"{self.sink.url}/elsewhere"} if status == 302 else {"ETag": '"e-1"'}
        self._answer(status, self.sink.answer if status == 201 else b"", more)
        self.sink.watch("answered")

    def do_GET(self) -> None:
        body = self.sink.kept.get(self.path)
        if self.sink.refused:
            self._answer(self.sink.refused, b"", {})
        else:
            self._answer(404 if body is None else 200, body or b"", {})

    def _read(self, size: int) -> bytes:
        try:
            return self.rfile.read(size)
        except ConnectionError:
            return b""

    def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        with suppress(ConnectionError):
            self._send(status, body, headers)

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing."""


@contextmanager
def sink() -> Iterator[Sink]:
    made = Sink()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("_Bound", (_Handler,), {"sink": made}))
    made.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()

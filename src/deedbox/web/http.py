"""uvicorn's HTTP protocol with the bounds it lacks: size and time of a request's head, number of connections."""

import asyncio
import re

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from deedbox.kernel import limits
from deedbox.kernel.errors import BadRequest
from deedbox.kernel.ids import new_id
from deedbox.web.envelope import envelope
from deedbox.web.guard import Guard, rate_headers

_TARGET = re.compile(rb"[A-Z]{1,20} (/[!-~]{0,200})")


class BoundedHttp(HttpToolsProtocol):
    guard: Guard
    """The guard of this process's server; set on a subclass, because uvicorn makes the instances."""

    _head_bytes = 0
    _in_head = True
    _first_bytes = b""
    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > limits.CONNECTIONS:
            transport.close()
            return
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._in_head:
            if not self._head_bytes:
                self._first_bytes = data[:256]
                self._await_head()
            self._head_bytes += len(data)
            if self._head_bytes > limits.HEAD_BYTES + limits.BLOB_CHUNK_BYTES:
                # The head may have ended within this piece, so a body's first piece is allowed for.
                self.send_400_response("The request's headers are too large.")
                return
        super().data_received(data)

    def on_headers_complete(self) -> None:
        self._stop_timer()
        self._in_head = False
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if size > limits.HEAD_BYTES:
            self.send_400_response("The request's headers are too large.")
            return
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        # Not when the response is complete: what is left of a body refused unread is no head.
        self._in_head = True
        self._head_bytes = 0
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """A request that is not HTTP at all still gets the envelope and the headers of every answer."""
        target = _TARGET.match(self._first_bytes)
        path = target[1].decode().split("?")[0] if target else "/"
        answer = envelope(path, BadRequest(msg))
        request_id = new_id("req", self.guard.deedbox.clock.now()).encode()
        headers = [*answer.headers, *rate_headers(self.guard.unknown_standing())]
        headers += [(b"x-request-id", request_id), (b"connection", b"close")]
        head = b"".join(name + b": " + value + b"\r\n" for name, value in headers)
        self.transport.write(b"HTTP/1.1 400 Bad Request\r\n" + head + b"\r\n" + answer.body)
        self.transport.close()

    def _await_head(self) -> None:
        self._stop_timer()
        self._head_timer = self.loop.call_later(limits.HEAD_SECONDS, self.transport.close)

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

"""uvicorn's HTTP protocol with the bounds it lacks: of a request's head, of connections, of what waits on each."""

import asyncio
import re

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.errors import BadRequest
from deedbox.kernel.ids import new_id
from deedbox.web import limits
from deedbox.web.http import drain_body
from deedbox.web.http.connections import Connections
from deedbox.web.http.envelope import envelope
from deedbox.web.http.guard import Guard, rate_headers

_TARGET = re.compile(rb"[A-Z]{1,20} (/[!-~]{0,200})")
_HEAD_TOO_LARGE = "The request's headers are too large."
_TOO_MANY_WAIT = "Too many requests wait on this connection."


class BoundedHttp(HttpToolsProtocol):
    guard: Guard
    """The guard of this process's server; set on a subclass, because uvicorn makes the instances."""
    kept: Connections

    _head_bytes = 0
    _in_head = True
    _first_bytes = b""
    _head_timer: asyncio.TimerHandle | None = None
    _holder: str | None = None
    """Whom this connection counts for."""
    _rest_begun = 0.0
    _rest_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._holder = self.kept.enter(self.client[0] if self.client else "unknown")
        if self._holder is None:
            self.guard.metrics.refused_connections += 1
            transport.abort()
            return
        self._await_rest()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        if self._holder is not None:
            self.kept.leave(self._holder)
            self._holder = None
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._in_head:
            if not self._head_bytes:
                self._first_bytes = data[:256]
                # A connection that has just been made is waited for already, and gets no second time.
                if self._head_timer is None:
                    self._await_rest()
            self._head_bytes += len(data)
            if self._head_bytes > limits.HEAD_BYTES + shared_limits.BLOB_CHUNK_BYTES:
                # The head may have ended within this piece, so a body's first piece is allowed for.
                self.send_400_response(_HEAD_TOO_LARGE)
                return
        super().data_received(data)
        if self.cycle is not None and self.cycle.response_complete and not (self._in_head and self._head_bytes):
            # The rest of a body that was refused unread has ended uvicorn's wait for the next request.
            self._await_rest_of_body(len(data))

    def on_headers_complete(self) -> None:
        self._stop_timer()
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if size > limits.HEAD_BYTES:
            self.send_400_response(_HEAD_TOO_LARGE)
            # Ends the parsing, which a plain return would not: this body would go to the request before it.
            raise ValueError(_HEAD_TOO_LARGE)
        if len(self.pipeline) >= limits.PIPELINED_REQUESTS:
            self.send_400_response(_TOO_MANY_WAIT)
            raise ValueError(_TOO_MANY_WAIT)
        self._in_head = False
        self._rest_bytes = 0
        if self.kept.is_proxy(self._holder):
            self.scope["extensions"] = {drain_body.PROXIED: {}}
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        # Not when the response is complete: what is left of a body refused unread is no head.
        self._in_head = True
        self._head_bytes = 0
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """A request that is not HTTP at all still gets the envelope and the headers of every answer."""
        if self.transport.is_closing():
            return
        if self._in_head and self.cycle is not None and not self.cycle.response_complete:
            # It came behind a request that is being answered: that answer must go out, and is the last.
            self._stop_timer()
            self.cycle.keep_alive = False
            return
        target = _TARGET.match(self._first_bytes)
        path = target[1].decode().split("?")[0] if target else "/"
        answer = envelope(path, BadRequest(msg))
        request_id = new_id("req", self.guard.deedbox.clock.now()).encode()
        headers = [*answer.headers, *rate_headers(self.guard.unknown_standing())]
        headers += [(b"x-request-id", request_id), (b"connection", b"close")]
        head = b"".join(name + b": " + value + b"\r\n" for name, value in headers)
        self.transport.write(b"HTTP/1.1 400 Bad Request\r\n" + head + b"\r\n" + answer.body)
        self.transport.close()

    def _unsupported_upgrade_warning(self) -> None:
        """Says nothing: a request that offers an upgrade is answered as any other."""

    def _await_rest(self) -> None:
        self._stop_timer()
        self._head_timer = self.loop.call_later(limits.HEAD_SECONDS, self.transport.close)

    def _await_rest_of_body(self, size: int) -> None:
        """Waits on while it comes as fast as an upload must: whoever sends all of it first reads the answer then."""
        now = self.loop.time()
        if not self._rest_bytes:
            self._rest_begun = now
        self._rest_bytes += size
        if now - self._rest_begun > limits.HEAD_SECONDS + self._rest_bytes / limits.UPLOAD_BYTES_PER_SECOND:
            self.transport.close()
            return
        self._await_rest()

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

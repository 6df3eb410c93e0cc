"""The rest of a refused body: a proxy that hands bodies on as they come hangs up on its caller at the answer."""

import asyncio
from typing import Final

from deedbox.kernel.errors import Unavailable
from deedbox.kernel.fairness import ConcurrencyLimit
from deedbox.web import limits
from deedbox.web.http.head import Message, Receive, Scope

PROXIED: Final = "deedbox.proxied"
"""The extension in the scope of a request that a trusted proxy has handed on."""
_ALL = "refused"


class Rest:
    """A request's body as its route reads it, and what is left of it then."""

    __slots__ = ("_begun", "_expects", "_left", "_receive")

    def __init__(self, receive: Receive, *, expects: bool) -> None:
        self._receive = receive
        self._expects = expects
        self._begun = False
        self._left = True

    async def receive(self) -> Message:
        message = await self._receive()
        self._begun = True
        self._left = message["type"] == "http.request" and bool(message.get("more_body"))
        return message

    async def discard(self, limit: ConcurrencyLimit, address: str) -> None:
        """Reads it and keeps nothing, while it comes as fast as an upload must and there is a place for it."""
        waits_for_us = self._expects and not self._begun
        if not self._left or waits_for_us:
            return
        most = {_ALL: limits.REFUSED_BODIES, f"{_ALL} {address}": limits.REFUSED_BODIES_PER_ADDRESS}
        try:
            with limit.hold(most):
                await self._read()
        except (TimeoutError, Unavailable):
            return  # the answer goes out all the same, to whoever still gets to read it

    async def _read(self) -> None:
        loop, read = asyncio.get_running_loop(), 0
        end = loop.time() + limits.HEAD_SECONDS
        async with asyncio.timeout_at(end) as deadline:
            while self._left and read < limits.REFUSED_BODY_BYTES:
                size = len((await self.receive()).get("body", b""))
                read += size
                end += size / limits.UPLOAD_BYTES_PER_SECOND
                deadline.reschedule(min(end, loop.time() + limits.HEAD_SECONDS))


def of(scope: Scope, receive: Receive) -> Rest | None:
    """The body that a proxy hands on with this request; None where there is none, or its sender is not behind one."""
    if PROXIED not in scope.get("extensions", ()):
        return None
    headers = dict(scope["headers"])
    size = headers.get(b"content-length", b"0")  # digits: the parser refuses any other
    if b"transfer-encoding" not in headers and not 0 < int(size) <= limits.REFUSED_BODY_BYTES:
        return None
    return Rest(receive, expects=b"expect" in headers)

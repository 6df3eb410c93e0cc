"""HEAD: what GET would answer, without its body."""

import asyncio
import copy
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Any, TypeAlias

from litestar.handlers import HTTPRouteHandler

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

GET_ONLY = "get_only"
"""The `opt` of a route whose GET does something, so that asking for its head would be no harmless question."""


def routes(served: Sequence[HTTPRouteHandler]) -> list[HTTPRouteHandler]:
    """The same routes; those that take GET take HEAD too."""
    return [_also_head(handler) if handler.http_methods == {"GET"} else handler for handler in served]


def _also_head(handler: HTTPRouteHandler) -> HTTPRouteHandler:
    if GET_ONLY in handler.opt:
        return handler
    both = copy.copy(handler)
    both.http_methods = {"GET", "HEAD"}
    return both


async def answer(app: App, scope: Scope, receive: Receive, send: Send) -> None:
    """Has the app answer, and passes on the head of that; a body that is still coming is cut off."""
    out = asyncio.Event()

    async def send_head(message: Message) -> None:
        if message["type"] == "http.response.start":
            await send(message)
            out.set()

    # Parts of a file are for GET alone: RFC 9110, section 14.2.
    scope["headers"] = [(name, value) for name, value in scope["headers"] if name != b"range"]
    await app(scope, _until(out, receive), send_head)
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def _until(out: asyncio.Event, receive: Receive) -> Receive:
    """As `receive`; once the head is out, the caller seems to have hung up, which ends a stream."""

    async def next_message() -> Message:
        told, left = asyncio.ensure_future(receive()), asyncio.ensure_future(out.wait())
        try:
            await asyncio.wait((told, left), return_when=asyncio.FIRST_COMPLETED)
            return {"type": "http.disconnect"} if out.is_set() else told.result()
        finally:
            told.cancel()
            left.cancel()

    return next_message

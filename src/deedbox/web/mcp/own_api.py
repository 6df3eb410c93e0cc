"""This server's own API, asked by a route for its caller: through the guard, which counts the caller once."""

from typing import Any, cast
from urllib.parse import urlencode

import msgspec

from deedbox.assistant.api import ApiRefusal, ApiRequest
from deedbox.web import limits
from deedbox.web.http import context
from deedbox.web.http.context import OUTER, AnyRequest
from deedbox.web.http.head import App, Message, Receive, Scope

_KEPT = ("type", "asgi", "http_version", "scheme", "server", "client", "root_path")
_PASSED_ON = (b"host", b"user-agent")


class _Refusal(msgspec.Struct):
    error: str


_REFUSAL = msgspec.json.Decoder(_Refusal)


class OwnApi:
    def __init__(self, request: AnyRequest) -> None:
        self._request = request
        self._guard: App = request.app.state.guard

    async def ask(self, asked: ApiRequest) -> bytes:
        """The body of the good answer; Refused with the message of any other."""
        heard = Heard(limits.TOOL_ANSWER_BYTES)
        await self._guard(self._scope(asked), sent(asked.body, self._request), heard.send)
        if not heard.is_whole:
            raise ApiRefusal("The answer is too large for a tool. Ask for less.")
        if heard.status < 400:
            return bytes(heard.body)
        raise ApiRefusal(_REFUSAL.decode(heard.body).error)

    def _scope(self, asked: ApiRequest) -> Scope:
        outer: Any = self._request.scope
        here = context.of(self._request)
        headers = [(name, value) for name, value in outer["headers"] if name in _PASSED_ON]
        headers.append((b"x-request-id", here.request_id.encode()))
        if asked.body:
            headers.append((b"content-type", asked.content_type.encode()))
        headers.append((b"content-length", b"%d" % len(asked.body)))
        return {
            **{name: outer[name] for name in _KEPT if name in outer},
            "method": asked.method,
            "path": asked.path,
            "raw_path": asked.path.encode(),
            "query_string": urlencode(asked.query).encode(),
            "headers": headers,
            "extensions": {},
            "state": {},
            OUTER: here,
        }


class Heard:
    """An answer of so many bytes at most, as it comes from an application in this process."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.status = 500
        self.headers: list[tuple[bytes, bytes]] = []
        self.body = bytearray()

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], list(message["headers"])
            return
        if self.is_whole:
            self.body += message.get("body", b"")

    @property
    def is_whole(self) -> bool:
        """Whether all of it was kept: what is too large is not."""
        return len(self.body) <= self._most


def sent(content: bytes, request: AnyRequest) -> Receive:
    """A body that is all there; what follows it, such as a hang-up, is what follows the request that asks."""
    left = [{"type": "http.request", "body": content, "more_body": False}]

    async def receive() -> Message:
        return left.pop() if left else cast(Message, await request.receive())

    return receive

"""A receiver on loopback that answers as it is told: well, badly, late or not at all."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

STALL = "stall"
RESET = "reset"
BREAK_OFF = "break off"


@dataclass(frozen=True)
class Received:
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        decoded: dict[str, Any] = json.loads(self.body)
        return decoded

    @property
    def event_id(self) -> str:
        return self.headers["x-service-event-id"]


@dataclass(frozen=True)
class Reply:
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    instead: str | None = None
    """What to do instead of answering: stall, reset the connection, or break off within the body."""


Rule = Callable[[Received], Reply]


class Sink:
    def __init__(self) -> None:
        self.received: list[Received] = []
        self.connections = 0
        self.most_at_a_time = 0
        self.stalled = 0
        """Senders that wait in vain just now."""
        self.rule: Rule = lambda _: Reply()
        self.gate = asyncio.Event()
        """Whoever was stalled goes on when it is set."""
        self.gate.set()
        self.port = 0
        self._at_a_time = 0
        self._streams: set[asyncio.StreamWriter] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    def to(self, path: str) -> list[Received]:
        return [one for one in self.received if one.path == path]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._streams.add(writer)
        try:
            while await self._answer(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self._streams.discard(writer)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        received = Received(head[0].split()[1], headers, body)
        self.received.append(received)
        self._at_a_time += 1
        self.most_at_a_time = max(self.most_at_a_time, self._at_a_time)
        try:
            reply = self.rule(received)
            if reply.instead == RESET:
                writer.transport.abort()
                return False
            if reply.instead == STALL:
                self.stalled += 1
                await reader.read()  # until the sender hangs up
                self.stalled -= 1
                return False
            await self.gate.wait()
        finally:
            self._at_a_time -= 1
        more = 100 if reply.instead == BREAK_OFF else 0
        lines = [f"HTTP/1.1 {reply.status} Answer", f"Content-Length: {len(reply.body) + more}"]
        lines += [f"{name}: {value}" for name, value in reply.headers.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode() + reply.body)
        await writer.drain()
        return not more

    def hang_up(self) -> None:
        for stream in list(self._streams):
            stream.transport.abort()


@asynccontextmanager
async def listening() -> AsyncIterator[Sink]:
    sink = Sink()
    server = await asyncio.start_server(sink.serve, "127.0.0.1", 0)
    sink.port = server.sockets[0].getsockname()[1]
    try:
        yield sink
    finally:
        server.close()
        sink.hang_up()


def answering(status: int, **headers: str) -> Rule:
    reply = Reply(status, {name.replace("_", "-"): value for name, value in headers.items()})
    return lambda _: reply

"""A chat endpoint on loopback that does what a test tells it: writes, lies, stalls, fails, redirects."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

Write: TypeAlias = Callable[[bytes], Awaitable[None]]
Script: TypeAlias = Callable[["Asked", Write], Awaitable[None]]


class Asked:
    """A request as it came."""

    def __init__(self, path: str, headers: dict[str, str], body: bytes) -> None:
        self.path = path
        self.headers = headers
        self.body: Any = json.loads(body)

    @property
    def passages(self) -> list[Any]:
        """The passages that the model was shown."""
        found: list[Any] = json.loads(self.body["messages"][1]["content"])["passages"]
        return found

    def holding(self, words: str) -> int:
        """The number of the passage that has these words."""
        return next(int(each["passage"]) for each in self.passages if words in each["text"])


class ChatServer:
    def __init__(self) -> None:
        self.script: Script = says()
        self.asked: list[Asked] = []
        self.url = ""
        self.came = asyncio.Event()
        """A request is here."""
        self.left = asyncio.Event()
        """Whoever asked has hung up, before the script was at its end."""

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
            asked = Asked(head[0].split()[1], headers, await reader.readexactly(int(headers["content-length"])))
            self.asked.append(asked)
            self.came.set()
            answering = asyncio.ensure_future(self.script(asked, _writes(writer)))
            gone = asyncio.ensure_future(reader.read(1))
            await asyncio.wait((answering, gone), return_when=asyncio.FIRST_COMPLETED)
            if not answering.done() or isinstance(answering.exception(), ConnectionError):
                self.left.set()
            answering.cancel()
            gone.cancel()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


def _writes(writer: asyncio.StreamWriter) -> Write:
    async def write(data: bytes) -> None:
        writer.write(data)
        await writer.drain()

    return write


@asynccontextmanager
async def chatting() -> AsyncIterator[ChatServer]:
    made = ChatServer()
    server = await asyncio.start_server(made.handle, "127.0.0.1", 0)
    made.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield made
    finally:
        server.close()


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


def piece(text: str | None, finish: str | None = None) -> bytes:
    """An event of the stream."""
    choice = {"index": 0, "delta": {} if text is None else {"content": text}, "finish_reason": finish}
    return b"data: " + json.dumps({"object": "chat.completion.chunk", "choices": [choice]}).encode() + b"\n\n"


def line(sentence: str, *quotes: tuple[Any, str]) -> str:
    """A sentence in the form that the model is asked for."""
    return json.dumps({"sentence": sentence, "quotes": [{"passage": n, "quote": text} for n, text in quotes]}) + "\n"


def says(*texts: str, finish: str = "stop", size: int = 7) -> Script:
    """Writes these texts, in pieces of so many letters, and ends as said."""

    async def script(_: Asked, write: Write) -> None:
        whole = "".join(texts)
        await write(HEAD + piece(""))
        for at in range(0, len(whole), size):
            await write(piece(whole[at : at + size]))
        await write(piece(None, finish) + b"data: [DONE]\n\n")

    return script


def answers(status: int, body: bytes = b"", **headers: str) -> Script:
    """Refuses with this status."""

    async def script(_: Asked, write: Write) -> None:
        told = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        head = f"HTTP/1.1 {status} Told\r\nContent-Length: {len(body)}\r\nConnection: close\r\n{told}\r\n"
        await write(head.encode() + body)

    return script


def sends(*data: bytes, then_waits: bool = False) -> Script:
    """Sends these bytes, and hangs up or stays silent."""

    async def script(_: Asked, write: Write) -> None:
        for each in data:
            await write(each)
        if then_waits:
            await asyncio.Event().wait()

    return script


def never_ends(text: str, pause: float = 0) -> Script:
    """Writes the same again and again."""

    async def script(_: Asked, write: Write) -> None:
        await write(HEAD)
        while True:
            await write(piece(text))
            await asyncio.sleep(pause)

    return script

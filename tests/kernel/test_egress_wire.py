"""A wire for what is no HTTP: judged like every other connection, and bounded in time."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from deedbox.kernel import limits
from deedbox.kernel.egress import ANYWHERE, AddressRefused, CannotConnect, CannotResolve, TookTooLong, dial

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def echo(pause: float = 0) -> AsyncIterator[int]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                await asyncio.sleep(pause)
                writer.write(data)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


def answering(*addresses: str) -> Callable[[str, int], Awaitable[list[str]]]:
    async def resolve(host: str, port: int) -> list[str]:
        return list(addresses)

    return resolve


async def test_what_is_written_arrives_whole_and_comes_back() -> None:
    data = bytes(range(256)) * 2000
    async with echo() as port, dial("127.0.0.1", port, allow=ANYWHERE, seconds=20) as wire:
        await wire.write(data, 5)
        received = b""
        while len(received) < len(data):
            received += await wire.read(5)
    assert received == data


async def test_an_address_that_is_not_public_needs_to_be_allowed() -> None:
    async with echo() as port:
        for host, addresses in (
            ("127.0.0.1", ()),
            ("mail.example", ("127.0.0.1",)),
            ("mixed.example", ("8.8.8.8", "::1")),
        ):
            with pytest.raises(AddressRefused):
                async with dial(host, port, resolve=answering(*addresses), seconds=5):
                    raise AssertionError("it was dialled")
        async with dial("mail.example", port, allow=ANYWHERE, resolve=answering("127.0.0.1"), seconds=5) as wire:
            await wire.write(b"x", 5)
            assert await wire.read(5) == b"x"


async def asked(port: int, *, whole: float, answer: float) -> bytes:
    async with dial("127.0.0.1", port, allow=ANYWHERE, seconds=whole) as wire:
        await wire.write(b"x", 5)
        return await wire.read(answer)


async def test_the_time_for_one_answer_and_the_time_for_all_are_kept() -> None:
    async with echo(pause=30) as port:
        with pytest.raises(TookTooLong, match=r"within 0\.2 seconds"):
            await asked(port, whole=20, answer=0.2)
        with pytest.raises(TookTooLong, match=r"within 0\.3 seconds"):
            await asked(port, whole=0.3, answer=20)


async def test_a_peer_that_reads_nothing_is_given_up() -> None:
    async def deaf(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        await over.wait()
        writer.close()

    over = asyncio.Event()
    server = await asyncio.start_server(deaf, "127.0.0.1", 0)
    with pytest.raises(TookTooLong):
        async with dial("127.0.0.1", server.sockets[0].getsockname()[1], allow=ANYWHERE, seconds=20) as wire:
            await wire.write(b"x" * 64 * limits.MB, 0.3)
    over.set()
    server.close()


async def test_what_cannot_be_reached_or_found_is_named() -> None:
    async with echo() as port:
        pass
    with pytest.raises(CannotConnect, match=f"port {port}"):
        async with dial("127.0.0.1", port, allow=ANYWHERE, seconds=5):
            raise AssertionError("it was dialled")
    with pytest.raises(CannotResolve, match=r"nowhere\.example has no address"):
        async with dial("nowhere.example", port, allow=ANYWHERE, resolve=answering(), seconds=5):
            raise AssertionError("it was dialled")


async def test_a_peer_without_tls_fails_the_handshake_by_name() -> None:
    async with echo() as port:
        with pytest.raises(CannotConnect, match="TLS handshake"):
            async with dial("127.0.0.1", port, allow=ANYWHERE, seconds=5) as wire:
                await wire.secure(ssl.create_default_context(), 5)

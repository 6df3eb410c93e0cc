"""Bytes that go to a sandbox piece by piece: they arrive whole, and a stream that breaks off harms nobody."""

import asyncio
import hashlib
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from deedbox.kernel import limits
from deedbox.kernel.errors import NotFound, Unavailable
from deedbox.kernel.sandbox import SandboxFailed, SandboxKind, Stream
from deedbox.kernel.sandbox.pool import Sandbox

pytestmark = pytest.mark.anyio

MODULE = "tests.kernel.sandboxed"


@pytest.fixture
async def pool() -> AsyncIterator[Sandbox]:
    kind = SandboxKind(name="test", preload=(MODULE,), memory_bytes=1024 * limits.MB, seconds=20, cpu_seconds=10)
    sandbox = Sandbox(kind, packages=("tests.kernel.",))
    try:
        yield sandbox
    finally:
        await sandbox.close()


async def pieces(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        await asyncio.sleep(0)
        yield part


async def echo(pool: Sandbox, *args: Any) -> Any:
    return await pool.call(f"{MODULE}:echo", *args)


@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 255, 256, 65_535, 65_536, 3_000_001])
async def test_a_stream_arrives_as_the_same_bytes(pool: Sandbox, size: int) -> None:
    data = os.urandom(size)
    parts = [data[start : start + 70_000] for start in range(0, size, 70_000)]
    assert await echo(pool, Stream(size, pieces(*parts))) == [data]


@pytest.mark.parametrize("place", [0, 1, 2])
async def test_a_stream_may_stand_anywhere_among_the_arguments(pool: Sandbox, place: int) -> None:
    args: list[Any] = ["pdf", {"page": 3, "raw": b"\xc4\x10" * 20}]
    expected = [*args[:place], b"streamed", *args[place:]]
    args.insert(place, Stream(8, pieces(b"stre", b"amed")))
    assert await echo(pool, *args) == expected


async def test_many_streams_follow_each_other_through_one_child(pool: Sandbox) -> None:
    for number in range(20):
        assert await echo(pool, number, Stream(200_000, pieces(*[b"x" * 50_000] * 4))) == [number, b"x" * 200_000]


@pytest.mark.parametrize("parts", [(), (b"only",), (b"more than", b" was announced")])
async def test_a_stream_of_another_length_fails_its_call_alone(pool: Sandbox, parts: tuple[bytes, ...]) -> None:
    with pytest.raises(Unavailable, match="changed while it was read"):
        await echo(pool, Stream(10, pieces(*parts)))
    assert await echo(pool, "next") == ["next"]


async def test_an_error_of_the_source_reaches_the_caller(pool: Sandbox) -> None:
    async def deleted() -> AsyncIterator[bytes]:
        yield b"first"
        raise NotFound("The file is no longer stored.")

    with pytest.raises(NotFound, match="no longer stored"):
        await echo(pool, Stream(10, deleted()))
    assert await echo(pool, "next") == ["next"]


async def test_a_child_that_dies_while_it_is_written_to_is_a_named_failure(pool: Sandbox) -> None:
    await pool.warm()

    async def deadly() -> AsyncIterator[bytes]:
        for child in list(pool._busy):
            child.signal()
        while True:
            yield b"x" * 65_536

    with pytest.raises(SandboxFailed):
        await echo(pool, Stream(100 * limits.MB, deadly()))
    assert await echo(pool, "next") == ["next"]


async def test_a_stream_over_the_limit_is_refused_before_it_is_read(pool: Sandbox) -> None:
    read = []

    async def source() -> AsyncIterator[bytes]:
        read.append(1)
        yield b""

    with pytest.raises(SandboxFailed) as failed:
        await echo(pool, Stream(limits.SANDBOX_MESSAGE_BYTES, source()))
    assert (failed.value.reason, read) == ("too large", [])


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
async def test_the_server_never_holds_a_stream(pool: Sandbox) -> None:
    await pool.warm()
    size, most = 100 * limits.MB, 0
    before = resident()

    async def source() -> AsyncIterator[bytes]:
        nonlocal most
        for _ in range(size // limits.BLOB_CHUNK_BYTES):
            most = max(most, resident() - before)
            yield bytes(limits.BLOB_CHUNK_BYTES)

    digest = await pool.call(f"{MODULE}:digest", Stream(size, source()))
    assert digest == hashlib.sha256(bytes(size)).hexdigest()
    assert most < 10 * limits.MB


def resident() -> int:
    """The bytes of memory that this process has in use."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

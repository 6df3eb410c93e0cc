"""Results that leave a sandbox piece by piece: they arrive whole, within bounds, and the server never holds them."""

import asyncio
import hashlib
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from deedbox.kernel import limits
from deedbox.kernel.blobs.local import LocalBlobs
from deedbox.kernel.errors import BadRequest, Unavailable
from deedbox.kernel.sandbox import SandboxFailed, SandboxKind, Sink, Stream
from deedbox.kernel.sandbox.frames import HEAD_BYTES, PieceFrame, frame
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


class Kept:
    """A sink that keeps what comes, and what it was given."""

    def __init__(self, max_bytes: int = limits.MB) -> None:
        self.pieces: list[bytes] = []
        self.sink = Sink(max_bytes, self.write)

    async def write(self, piece: bytes) -> None:
        await asyncio.sleep(0)
        self.pieces.append(piece)


def kill_all(pool: Sandbox) -> None:
    for child in list(pool._busy):
        child.signal()


async def still_works(pool: Sandbox) -> bool:
    return bool(await pool.call(f"{MODULE}:echo", "next") == ["next"])


async def reason(pool: Sandbox, function: str, *args: object, into: Sink | None) -> str:
    """Why the call failed, after a look that the next one works."""
    with pytest.raises(SandboxFailed) as failed:
        await pool.call(f"{MODULE}:{function}", *args, into=into)
    assert await still_works(pool)
    return failed.value.reason


@pytest.mark.parametrize("pieces", [[], [b""], [b"one"], [b"one", b"", b"two"], [b"x" * 300_000] * 3])
async def test_the_pieces_arrive_in_order_and_then_the_answer(pool: Sandbox, pieces: list[bytes]) -> None:
    kept = Kept()
    assert await pool.call(f"{MODULE}:yield_all", *pieces, into=kept.sink) == len(pieces)
    assert kept.pieces == pieces


async def test_a_sink_may_be_offered_to_a_function_that_yields_nothing(pool: Sandbox) -> None:
    kept = Kept()
    assert await pool.call(f"{MODULE}:echo", 1, into=kept.sink) == [1]
    assert kept.pieces == []


async def test_a_stream_goes_in_and_another_comes_out(pool: Sandbox) -> None:
    data = os.urandom(3_000_000)

    async def source() -> AsyncIterator[bytes]:
        for start in range(0, len(data), 70_000):
            yield data[start : start + 70_000]

    for _ in range(3):
        kept = Kept(max_bytes=len(data))
        digest = await pool.call(f"{MODULE}:give_back", Stream(len(data), source()), 100_000, into=kept.sink)
        assert (b"".join(kept.pieces), digest) == (data, hashlib.sha256(data).hexdigest())


async def test_pieces_without_a_sink_are_a_crash(pool: Sandbox) -> None:
    assert await reason(pool, "yield_all", b"one", into=None) == "crashed"


async def test_more_than_the_sink_takes_is_too_large(pool: Sandbox) -> None:
    kept = Kept(max_bytes=1000)
    assert await pool.call(f"{MODULE}:yield_all", b"x" * 600, b"x" * 400, into=kept.sink) == 2
    kept = Kept(max_bytes=1000)
    assert await reason(pool, "yield_all", b"x" * 600, b"x" * 401, b"never sent", into=kept.sink) == "too large"
    assert kept.pieces == [b"x" * 600]


async def test_an_endless_result_is_too_large(pool: Sandbox) -> None:
    kept = Kept(max_bytes=3_000_000)
    assert await reason(pool, "yield_for_ever", into=kept.sink) == "too large"
    assert sum(map(len, kept.pieces)) <= 3_000_000


@pytest.mark.parametrize("function", ["yield_all", "much"])
async def test_one_piece_or_answer_over_its_own_limit_is_too_large(pool: Sandbox, function: str) -> None:
    kept = Kept(max_bytes=100 * limits.MB)
    size = limits.SANDBOX_PIECE_BYTES + 1
    argument: object = bytes(size) if function == "yield_all" else size
    assert await reason(pool, function, argument, into=kept.sink) == "too large"
    assert kept.pieces == []


async def test_a_piece_that_is_not_bytes_is_a_crash(pool: Sandbox) -> None:
    assert await reason(pool, "yield_all", "text", into=Kept().sink) == "crashed"


async def test_a_child_that_does_not_wait_to_be_asked_is_cut_off(pool: Sandbox) -> None:
    taken = []

    async def slow(piece: bytes) -> None:
        taken.append(piece)
        await asyncio.sleep(0.2)

    body = bytes(frame(PieceFrame(b"forged")))[HEAD_BYTES:]
    assert await reason(pool, "forge_replies", body, 50, into=Sink(limits.MB, slow)) == "crashed"
    assert taken == [b"forged"]


async def test_frames_that_come_together_are_a_crash(pool: Sandbox) -> None:
    kept = Kept()
    body = bytes(frame(PieceFrame(b"forged")))
    assert await reason(pool, "forge_replies", body[HEAD_BYTES:] + body, 1, into=kept.sink) == "crashed"
    assert kept.pieces == []


@pytest.mark.parametrize(("ending", "cause"), [("leave", "crashed"), ("spin", "cpu"), ("eat_memory", "memory")])
async def test_a_child_that_ends_midway_is_a_named_failure(ending: str, cause: str) -> None:
    kind = SandboxKind(name="test", preload=(MODULE,), memory_bytes=512 * limits.MB, seconds=20, cpu_seconds=1)
    pool = Sandbox(kind, packages=("tests.kernel.",))
    try:
        kept = Kept()
        assert await reason(pool, "yield_then", ending, into=kept.sink) == cause
        assert kept.pieces == [b"first"]
    finally:
        await pool.close()


async def test_a_child_killed_midway_is_a_named_failure(pool: Sandbox) -> None:
    async def deadly(_: bytes) -> None:
        kill_all(pool)

    assert await reason(pool, "yield_for_ever", into=Sink(limits.MB, deadly)) == "memory"


async def test_a_refusal_midway_reaches_the_caller(pool: Sandbox) -> None:
    kept = Kept()
    with pytest.raises(BadRequest, match="too many pages"):
        await pool.call(f"{MODULE}:yield_then_refuse", "too many pages", into=kept.sink)
    assert kept.pieces == [b"first"]
    assert await still_works(pool)


async def test_an_error_of_the_sink_reaches_the_caller(pool: Sandbox) -> None:
    async def full(_: bytes) -> None:
        raise Unavailable("The disk is full")

    with pytest.raises(Unavailable, match="full"):
        await pool.call(f"{MODULE}:yield_for_ever", into=Sink(limits.MB, full))
    assert await still_works(pool)


async def test_a_sink_that_stalls_is_ended_by_the_deadline() -> None:
    async def stalled(_: bytes) -> None:
        await asyncio.Event().wait()

    pool = Sandbox(SandboxKind(name="test", preload=(MODULE,), seconds=1), packages=("tests.kernel.",))
    try:
        await pool.warm()
        assert await reason(pool, "yield_for_ever", into=Sink(limits.MB, stalled)) == "deadline"
    finally:
        await pool.close()


@pytest.mark.parametrize("end", ["cancelled", "killed", "overrun"])
async def test_no_part_of_a_blob_is_left_of_a_result_that_broke_off(pool: Sandbox, tmp_path: Path, end: str) -> None:
    blobs, begun = LocalBlobs(tmp_path / "blobs"), asyncio.Event()

    async def receive() -> None:
        async with blobs.receive(100 * limits.MB) as incoming:

            async def write(piece: bytes) -> None:
                await incoming.write(piece)
                if await blobs.size():
                    begun.set()
                    if end == "killed":
                        kill_all(pool)

            limit = 3 * limits.MB if end == "overrun" else 100 * limits.MB
            await pool.call(f"{MODULE}:yield_for_ever", into=Sink(limit, write))

    receiving = asyncio.create_task(receive())
    await begun.wait()
    if end == "cancelled":
        receiving.cancel()
    with pytest.raises(asyncio.CancelledError if end == "cancelled" else SandboxFailed):
        await receiving
    assert await blobs.size() == 0
    assert await still_works(pool)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
async def test_the_server_never_holds_a_result_that_comes_in_pieces(pool: Sandbox) -> None:
    await pool.warm()
    size, before, most = 100 * limits.MB, resident(), 0

    async def write(piece: bytes) -> None:
        nonlocal most, size
        most, size = max(most, resident() - before), size - len(piece)

    assert await pool.call(f"{MODULE}:yield_bytes", size, 256 * limits.KB, into=Sink(size, write)) is None
    assert size == 0
    assert most < 10 * limits.MB


def resident() -> int:
    """The bytes of memory that this process has in use."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

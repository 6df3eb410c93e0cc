"""What is stored stays, what is not needed goes, and nothing in between is ever lost: in a folder and in a bucket."""

import asyncio
import contextlib
import hashlib
import os
import resource
import threading
from collections.abc import Callable
from typing import TypeVar

import pytest

from deedbox.kernel import limits
from deedbox.kernel.blobs import Blob, ReceivedBlob, store
from deedbox.kernel.db import Database, Dialect, Isolation, Tx
from deedbox.kernel.errors import LostFile, TooLarge, Unavailable
from tests.conftest import HandClock
from tests.kernel.blobs.shelves import NOW, Shelf, put, receive, release, rows

pytestmark = pytest.mark.anyio

T = TypeVar("T")


async def test_what_was_stored_is_read_back(shelf: Shelf, db: Database) -> None:
    data = os.urandom(3 * shelf.piece_bytes + 17)
    blob = await put(shelf.blobs, db, data, "upl_1")
    assert (blob.sha256, blob.size_bytes) == (hashlib.sha256(data).hexdigest(), len(data))
    assert b"".join([chunk async for chunk in shelf.blobs.open_range(blob.location)]) == data
    assert await shelf.blobs.read(blob.location, len(data)) == data
    assert await db.read(lambda tx: store.find(tx, blob.sha256)) == blob
    assert await shelf.blobs.size() == len(data)


async def test_what_is_lent_can_be_read_until_the_end_and_no_longer(shelf: Shelf, db: Database) -> None:
    data = os.urandom(3 * shelf.piece_bytes + 17)
    async with shelf.blobs.receive(len(data)) as incoming:
        await incoming.write(data)
        lent = await incoming.lend()
        assert (lent.sha256, lent.size_bytes) == (hashlib.sha256(data).hexdigest(), len(data))
        assert b"".join([chunk async for chunk in shelf.blobs.open_range(lent.location)]) == data
    with pytest.raises(LostFile):
        await shelf.blobs.read(lent.location, len(data))
    assert await shelf.blobs.size() == 0


async def test_a_small_file_that_is_lent_is_never_stored(shelf: Shelf) -> None:
    data = os.urandom(3_000)
    async with shelf.blobs.receive(len(data)) as incoming:
        await incoming.write(data)
        lent = await incoming.lend()
        assert (lent.sha256, lent.size_bytes) == (hashlib.sha256(data).hexdigest(), len(data))
        assert [chunk async for chunk in shelf.blobs.open_range(lent.location)] == [data]
        assert [chunk async for chunk in shelf.blobs.open_range(lent.location, 10, 20)] == [data[10:30]]
        assert shelf.files() == set()
    with pytest.raises(LostFile):
        [chunk async for chunk in shelf.blobs.open_range(lent.location)]


async def test_an_empty_file_is_a_file(shelf: Shelf, db: Database) -> None:
    blob = await put(shelf.blobs, db, b"", "upl_1")
    assert blob.size_bytes == 0
    assert [chunk async for chunk in shelf.blobs.open_range(blob.location)] == []
    assert await shelf.blobs.read(blob.location, 0) == b""


@pytest.mark.parametrize(
    ("start", "length"),
    [(0, 0), (0, 1), (5, 10), (255, 262_144), (0, None), (700_000, None), (699_999, 50), (10**9, None), (10**9, 5)],
)
async def test_a_range_is_a_slice(shelf: Shelf, start: int, length: int | None) -> None:
    data = os.urandom(700_001)
    location = (await receive(shelf.blobs, data)).blob.location
    chunks = [chunk async for chunk in shelf.blobs.open_range(location, start, length)]
    assert b"".join(chunks) == data[start : None if length is None else start + length]
    assert all(0 < len(chunk) <= limits.BLOB_CHUNK_BYTES for chunk in chunks)
    chunks = [chunk async for chunk in shelf.blobs.open_range(location, start, length, chunk_bytes=500_000)]
    assert b"".join(chunks) == data[start : None if length is None else start + length]
    assert [len(chunk) for chunk in chunks[:-1]] == [500_000] * (len(chunks) - 1)


async def test_equal_bytes_share_a_file(shelf: Shelf, db: Database) -> None:
    first = await put(shelf.blobs, db, b"the same", "upl_1")
    second = await put(shelf.blobs, db, b"the same", "doc_2")
    assert first == second
    assert await rows(db) == (1, 2, 1)
    assert await shelf.blobs.sweep(db, NOW) == 1
    assert shelf.files() == {first.location}
    assert await rows(db) == (1, 2, 0)


async def test_twenty_equal_uploads_at_once_share_a_file(shelf: Shelf, db: Database) -> None:
    data = os.urandom(shelf.piece_bytes + 1)
    stored = await asyncio.gather(*(put(shelf.blobs, db, data, f"upl_{n}") for n in range(20)))
    assert len(set(stored)) == 1
    assert await rows(db) == (1, 20, 19)
    await shelf.blobs.sweep(db, NOW)
    assert shelf.files() == {stored[0].location}
    assert await shelf.blobs.read(stored[0].location, len(data)) == data


async def test_one_owner_may_adopt_the_same_bytes_twice(shelf: Shelf, db: Database) -> None:
    await put(shelf.blobs, db, b"again", "upl_1")
    blob = await put(shelf.blobs, db, b"again", "upl_1")
    await release(db, blob, "upl_1")
    await shelf.blobs.sweep(db, NOW)
    assert (shelf.files(), await rows(db)) == (set(), (0, 0, 0))


async def test_a_file_over_the_limit_is_refused_at_the_first_byte_too_many(shelf: Shelf) -> None:
    limit = 2 * shelf.piece_bytes
    async with shelf.blobs.receive(limit) as incoming:
        await incoming.write(bytes(limit))
        assert len(shelf.files()) == 1
        with pytest.raises(TooLarge, match=r"larger than (524288|800000) bytes"):
            await incoming.write(b"x")
        assert shelf.files() == set()


async def test_a_file_of_exactly_the_limit_is_accepted(shelf: Shelf) -> None:
    async with shelf.blobs.receive(5) as incoming:
        await incoming.write(b"12345")
        assert (await incoming.finish()).blob.size_bytes == 5


async def test_reading_more_than_the_caller_allows_is_refused(shelf: Shelf) -> None:
    location = (await receive(shelf.blobs, b"123456")).blob.location
    with pytest.raises(TooLarge, match="larger than 5 bytes"):
        await shelf.blobs.read(location, 5)


async def test_an_abandoned_upload_leaves_nothing(shelf: Shelf) -> None:
    with contextlib.suppress(LookupError):
        async with shelf.blobs.receive(limits.BLOB_BYTES_MAX) as incoming:
            await incoming.write(bytes(shelf.piece_bytes))
            assert len(shelf.files()) == 1
            raise LookupError
    assert shelf.files() == set()
    async with shelf.blobs.receive(limits.BLOB_BYTES_MAX) as incoming:
        await incoming.write(b"finished, but never adopted")
        await incoming.finish()
        assert len(shelf.files()) == 1
    assert shelf.files() == set()


@pytest.mark.parametrize("moment", range(12))
async def test_a_cancelled_upload_leaves_nothing(shelf: Shelf, moment: int) -> None:
    async def upload() -> None:
        async with shelf.blobs.receive(limits.BLOB_BYTES_MAX) as incoming:
            for _ in range(4):
                await incoming.write(bytes(shelf.piece_bytes))
            await incoming.finish()
            await asyncio.sleep(60)

    task = asyncio.create_task(upload())
    for _ in range(moment):
        await asyncio.sleep(shelf.moment_seconds)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    assert shelf.files() == set()


async def test_a_transaction_that_comes_after_its_upload_was_given_up_adopts_nothing(
    shelf: Shelf, db: Database
) -> None:
    async with shelf.blobs.receive(limits.BLOB_BYTES_MAX) as incoming:
        received = await incoming.finish()
    with pytest.raises(Unavailable, match="given up"):
        await db.write(lambda tx: store.adopt(tx, received, "upl_1", NOW))
    assert await rows(db) == (0, 0, 0)


async def test_a_write_cancelled_while_it_is_under_way_never_loses_a_file_that_a_row_names(
    shelf: Shelf, db: Database
) -> None:
    offered, go_on = threading.Event(), threading.Event()
    async with shelf.blobs.receive(limits.BLOB_BYTES_MAX) as incoming:
        await incoming.write(b"cancelled")
        received = await incoming.finish()

        def adopt(tx: Tx) -> None:
            store.adopt(tx, received, "upl_1", NOW)
            offered.set()
            go_on.wait()

        writing = asyncio.create_task(db.write(adopt))
        await asyncio.to_thread(offered.wait)
        writing.cancel()
    go_on.set()
    with contextlib.suppress(asyncio.CancelledError):
        await writing
    await db.write(lambda _: None)
    await shelf.blobs.sweep(db, NOW)
    kept = await db.read(lambda tx: store.find(tx, received.blob.sha256))
    assert shelf.files() == ({kept.location} if kept else set())


async def test_the_file_of_a_failed_transaction_goes_with_the_next_sweep(shelf: Shelf, db: Database) -> None:
    def fail(tx: Tx, received: ReceivedBlob) -> None:
        store.adopt(tx, received, "upl_1", NOW)
        raise LookupError

    async with shelf.blobs.receive(limits.BLOB_BYTES_MAX) as incoming:
        received = await incoming.finish()
        with pytest.raises(LookupError):
            await db.write(lambda tx: fail(tx, received))
    assert len(shelf.files()) == 1
    assert await shelf.blobs.sweep(db, NOW) == 1
    assert (shelf.files(), await rows(db)) == (set(), (0, 0, 0))


async def test_the_last_release_deletes_the_file(shelf: Shelf, db: Database) -> None:
    blob = await put(shelf.blobs, db, b"wanted twice", "upl_1")
    assert await db.write(lambda tx: store.refer(tx, blob.sha256, "doc_1")) == blob
    await release(db, blob, "upl_1")
    await release(db, blob, "upl_1")
    assert await shelf.blobs.sweep(db, NOW) == 0
    assert await shelf.blobs.read(blob.location, 100) == b"wanted twice"
    await release(db, blob, "doc_1")
    assert await db.read(lambda tx: store.find(tx, blob.sha256)) is None
    assert await shelf.blobs.sweep(db, NOW) == 1
    assert (shelf.files(), await rows(db)) == (set(), (0, 0, 0))


async def test_what_rows_name_and_the_store_has_not_is_lost(shelf: Shelf, db: Database) -> None:
    kept, gone = await put(shelf.blobs, db, b"kept", "upl_1"), await put(shelf.blobs, db, b"gone", "upl_2")
    assert await shelf.blobs.lost(db) == []
    shelf.lose(gone.location)
    assert await shelf.blobs.lost(db) == [gone.location]
    assert await shelf.blobs.read(kept.location, 100) == b"kept"
    with pytest.raises(LostFile):
        await shelf.blobs.read(gone.location, 100)


async def test_a_file_that_is_gone_is_lost(shelf: Shelf, db: Database) -> None:
    blob = await put(shelf.blobs, db, b"gone", "upl_1")
    await release(db, blob, "upl_1")
    await shelf.blobs.sweep(db, NOW)
    with pytest.raises(LostFile):
        await shelf.blobs.read(blob.location, 100)
    with pytest.raises(LostFile):
        await anext(aiter(shelf.blobs.open_range(blob.location)))
    with pytest.raises(LostFile):
        await db.write(lambda tx: store.refer(tx, blob.sha256, "doc_1"))


@pytest.mark.parametrize("location", ["../deedbox.sqlite", "/etc/passwd", "ab/../../x", ".hold", ""])
async def test_no_location_leads_out_of_it(shelf: Shelf, location: str) -> None:
    with pytest.raises(LostFile):
        await shelf.blobs.read(location, 100)


async def test_a_release_that_is_rolled_back_keeps_the_file(shelf: Shelf, db: Database) -> None:
    blob = await put(shelf.blobs, db, b"kept", "upl_1")

    def change_of_mind(tx: Tx) -> None:
        store.release(tx, blob.sha256, "upl_1", NOW)
        raise LookupError

    with pytest.raises(LookupError):
        await db.write(change_of_mind)
    assert await shelf.blobs.sweep(db, NOW) == 0
    assert await shelf.blobs.read(blob.location, 100) == b"kept"


class InterleavedDatabase:
    """A database on which something else happens right after the first read."""

    def __init__(self, db: Database, meanwhile: Callable[[], "asyncio.Future[Blob]"]) -> None:
        self.dialect: Dialect = db.dialect
        self.listeners = db.listeners
        self.meanwhile: Callable[[], asyncio.Future[Blob]] | None = meanwhile
        self.db = db

    async def read(self, fn: Callable[[Tx], T]) -> T:
        result = await self.db.read(fn)
        if self.meanwhile is not None:
            meanwhile, self.meanwhile = self.meanwhile, None
            await meanwhile()
        return result

    async def read_aside(self, fn: Callable[[Tx], T]) -> T:
        return await self.read(fn)

    async def write(self, fn: Callable[[Tx], T], *, isolation: Isolation = "serializable") -> T:
        return await self.db.write(fn, isolation=isolation)

    async def listen(self) -> None: ...

    async def close(self) -> None: ...


async def test_bytes_stored_again_while_they_are_swept_survive(shelf: Shelf, db: Database) -> None:
    old = await put(shelf.blobs, db, b"phoenix", "upl_1")
    await release(db, old, "upl_1")

    def store_again() -> "asyncio.Future[Blob]":
        return asyncio.ensure_future(put(shelf.blobs, db, b"phoenix", "upl_2"))

    assert await shelf.blobs.sweep(InterleavedDatabase(db, store_again), NOW) == 1
    new = await db.read(lambda tx: store.find(tx, old.sha256))
    assert new is not None
    assert new.location != old.location
    assert shelf.files() == {new.location}
    assert await shelf.blobs.read(new.location, 100) == b"phoenix"


async def test_storing_releasing_and_sweeping_at_once_never_loses_a_file(shelf: Shelf, db: Database) -> None:
    async def live(owner: str) -> None:
        for n in range(4):
            blob = await put(shelf.blobs, db, b"fought over", owner)
            assert await shelf.blobs.read(blob.location, 100) == b"fought over"
            if n < 3 or owner != "upl_0":
                await release(db, blob, owner)

    async def sweep() -> None:
        for _ in range(6):
            await shelf.blobs.sweep(db, NOW)
            await asyncio.sleep(0.005)

    await asyncio.gather(*(live(f"upl_{n}") for n in range(5)), sweep(), sweep())
    await shelf.blobs.sweep(db, NOW)
    last = await db.read(lambda tx: store.find(tx, hashlib.sha256(b"fought over").hexdigest()))
    assert last is not None
    assert (shelf.files(), await rows(db)) == ({last.location}, (1, 1, 0))


async def test_nothing_is_swept_while_a_backup_holds_the_files(shelf: Shelf, db: Database) -> None:
    blob = await put(shelf.blobs, db, b"held", "upl_1")
    await release(db, blob, "upl_1")
    with shelf.held(), shelf.held():
        assert await shelf.blobs.sweep(db, NOW) == 0
        assert shelf.files() == {blob.location}
        assert await rows(db) == (0, 0, 1)
    assert await shelf.blobs.sweep(db, NOW) == 1
    assert shelf.files() == set()


async def test_a_sweep_that_died_before_it_forgot_the_trash_is_repeated(shelf: Shelf, db: Database) -> None:
    blob = await put(shelf.blobs, db, b"half swept", "upl_1")
    await release(db, blob, "upl_1")
    shelf.lose(blob.location)
    assert await shelf.blobs.sweep(db, NOW) == 1
    assert await rows(db) == (0, 0, 0)


async def test_what_a_crash_left_is_removed_when_it_is_an_hour_old(
    shelf: Shelf, db: Database, clock: HandClock
) -> None:
    kept = await put(shelf.blobs, db, b"named by a row", "upl_1")
    trashed = await put(shelf.blobs, db, b"in the trash", "upl_2")
    await release(db, trashed, "upl_2")
    orphan = (await receive(shelf.blobs, b"renamed, but its row never came")).blob.location
    fresh = (await receive(shelf.blobs, b"its transaction is about to come")).blob.location
    for name in ("incoming/old", "incoming/new"):
        shelf.leave_half_an_upload(name)
    now = shelf.now(clock.now())
    for name in (kept.location, trashed.location, orphan, "incoming/old"):
        shelf.age(name, now, 2 * limits.BLOB_ORPHAN_SECONDS)
    for name in (fresh, "incoming/new"):
        shelf.age(name, now, 0)

    restarted = shelf.restarted()
    assert await restarted.reclaim(db, now) == 2
    assert await restarted.sweep(db, now) == 2
    assert shelf.files() == {kept.location, fresh, "incoming/new"}
    await restarted.close()


async def test_a_file_that_was_condemned_is_adopted_no_more(shelf: Shelf, db: Database) -> None:
    received = await receive(shelf.blobs, b"too late")
    await db.write(lambda tx: store.condemn(tx, [received.blob.location], NOW))
    with pytest.raises(Unavailable, match="too long"):
        await db.write(lambda tx: store.adopt(tx, received, "upl_1", NOW))
    await shelf.blobs.sweep(db, NOW)
    assert (shelf.files(), await rows(db)) == (set(), (0, 0, 0))


async def test_a_file_that_a_row_names_cannot_be_condemned(shelf: Shelf, db: Database) -> None:
    blob = await put(shelf.blobs, db, b"innocent", "upl_1")
    assert await db.write(lambda tx: store.condemn(tx, [blob.location], NOW)) == 0
    assert await shelf.blobs.sweep(db, NOW) == 0


async def test_a_large_file_passes_without_growing_the_memory(shelf: Shelf) -> None:
    chunk = os.urandom(limits.BLOB_CHUNK_BYTES)

    async def pass_through(chunks: int) -> None:
        async with shelf.blobs.receive(limits.BLOB_BYTES_MAX) as incoming:
            for _ in range(chunks):
                await incoming.write(chunk)
            location = (await incoming.finish()).blob.location
            async for _ in shelf.blobs.open_range(location):
                pass

    await pass_through(4)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    await pass_through(200)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 16 * 1024

"""What is stored stays, what is not needed goes, and nothing in between is ever lost."""

import asyncio
import contextlib
import hashlib
import os
import resource
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import pytest

from deedbox.kernel import limits
from deedbox.kernel.blobs import Blob, Blobs, Received, store
from deedbox.kernel.blobs.local import LocalBlobs, held
from deedbox.kernel.db import Database, Dialect, Isolation, Tx
from deedbox.kernel.errors import Code, NotFound, SetupError, TooLarge, Unavailable
from tests.conftest import HandClock

pytestmark = pytest.mark.anyio

T = TypeVar("T")
NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
LONG_AGO = NOW.timestamp() - 2 * limits.BLOB_ORPHAN_SECONDS


@pytest.fixture
def blobs(tmp_path: Path) -> LocalBlobs:
    return LocalBlobs(tmp_path / "blobs")


def files(blobs: LocalBlobs) -> set[str]:
    """The location of every file in the folder, those of unfinished uploads included."""
    paths = (path.relative_to(blobs.folder) for path in blobs.folder.rglob("*") if path.is_file())
    return {str(path) for path in paths if path.name != ".hold"}


async def receive(blobs: Blobs, data: bytes) -> Received:
    """Bytes that survive their context without a row, as after a crash before the transaction."""
    async with blobs.receive(limits.BLOB_BYTES_MAX) as incoming:
        await incoming.write(data)
        received = await incoming.finish()
        received.offer()
    return received


async def put(blobs: Blobs, db: Database, data: bytes, owner: str) -> Blob:
    async with blobs.receive(limits.BLOB_BYTES_MAX) as incoming:
        for start in range(0, len(data), 50_000):
            await incoming.write(data[start : start + 50_000])
        received = await incoming.finish()
        return await db.write(lambda tx: store.adopt(tx, received, owner, NOW))


async def release(db: Database, blob: Blob, owner: str) -> None:
    await db.write(lambda tx: store.release(tx, blob.sha256, owner, NOW))


async def rows(db: Database) -> tuple[int, int, int]:
    """How many blobs, references and pieces of trash there are."""
    sql = "select (select count(*) from blobs), (select count(*) from blob_refs), (select count(*) from blob_trash)"
    row = await db.read(lambda tx: tx.one(sql))
    assert row is not None
    return row[0], row[1], row[2]


async def test_what_was_stored_is_read_back(blobs: LocalBlobs, db: Database) -> None:
    data = os.urandom(3 * limits.BLOB_CHUNK_BYTES + 17)
    blob = await put(blobs, db, data, "upl_1")
    assert (blob.sha256, blob.size_bytes) == (hashlib.sha256(data).hexdigest(), len(data))
    assert b"".join([chunk async for chunk in blobs.open_range(blob.location)]) == data
    assert await blobs.read(blob.location, len(data)) == data
    assert await db.read(lambda tx: store.find(tx, blob.sha256)) == blob
    assert await blobs.size() == len(data)


async def test_an_empty_file_is_a_file(blobs: LocalBlobs, db: Database) -> None:
    blob = await put(blobs, db, b"", "upl_1")
    assert blob.size_bytes == 0
    assert [chunk async for chunk in blobs.open_range(blob.location)] == []
    assert await blobs.read(blob.location, 0) == b""


@pytest.mark.parametrize(
    ("start", "length"),
    [(0, 0), (0, 1), (5, 10), (255, 262_144), (0, None), (700_000, None), (699_999, 50), (10**9, None), (10**9, 5)],
)
async def test_a_range_is_a_slice(blobs: LocalBlobs, start: int, length: int | None) -> None:
    data = os.urandom(700_001)
    location = (await receive(blobs, data)).blob.location
    chunks = [chunk async for chunk in blobs.open_range(location, start, length)]
    assert b"".join(chunks) == data[start : None if length is None else start + length]
    assert all(0 < len(chunk) <= limits.BLOB_CHUNK_BYTES for chunk in chunks)


async def test_only_the_owner_of_the_process_can_read_the_files(blobs: LocalBlobs, db: Database) -> None:
    await put(blobs, db, b"private", "upl_1")
    for path in [blobs.folder, *blobs.folder.rglob("*")]:
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600)


async def test_equal_bytes_share_a_file(blobs: LocalBlobs, db: Database) -> None:
    first = await put(blobs, db, b"the same", "upl_1")
    second = await put(blobs, db, b"the same", "doc_2")
    assert first == second
    assert await rows(db) == (1, 2, 1)
    assert await blobs.sweep(db, NOW) == 1
    assert files(blobs) == {first.location}
    assert await rows(db) == (1, 2, 0)


async def test_twenty_equal_uploads_at_once_share_a_file(blobs: LocalBlobs, db: Database) -> None:
    data = os.urandom(limits.BLOB_CHUNK_BYTES + 1)
    stored = await asyncio.gather(*(put(blobs, db, data, f"upl_{n}") for n in range(20)))
    assert len(set(stored)) == 1
    assert await rows(db) == (1, 20, 19)
    await blobs.sweep(db, NOW)
    assert files(blobs) == {stored[0].location}
    assert await blobs.read(stored[0].location, len(data)) == data


async def test_one_owner_may_adopt_the_same_bytes_twice(blobs: LocalBlobs, db: Database) -> None:
    await put(blobs, db, b"again", "upl_1")
    blob = await put(blobs, db, b"again", "upl_1")
    await release(db, blob, "upl_1")
    await blobs.sweep(db, NOW)
    assert (files(blobs), await rows(db)) == (set(), (0, 0, 0))


async def test_a_file_over_the_limit_is_refused_at_the_first_byte_too_many(blobs: LocalBlobs) -> None:
    limit = 2 * limits.BLOB_CHUNK_BYTES
    async with blobs.receive(limit) as incoming:
        await incoming.write(bytes(limit))
        assert len(files(blobs)) == 1
        with pytest.raises(TooLarge, match=r"larger than 524288 bytes"):
            await incoming.write(b"x")
        assert files(blobs) == set()


async def test_a_file_of_exactly_the_limit_is_accepted(blobs: LocalBlobs) -> None:
    async with blobs.receive(5) as incoming:
        await incoming.write(b"12345")
        assert (await incoming.finish()).blob.size_bytes == 5


async def test_reading_more_than_the_caller_allows_is_refused(blobs: LocalBlobs) -> None:
    location = (await receive(blobs, b"123456")).blob.location
    with pytest.raises(TooLarge, match="larger than 5 bytes"):
        await blobs.read(location, 5)


async def test_an_abandoned_upload_leaves_nothing(blobs: LocalBlobs) -> None:
    with contextlib.suppress(LookupError):
        async with blobs.receive(limits.BLOB_BYTES_MAX) as incoming:
            await incoming.write(bytes(limits.BLOB_CHUNK_BYTES))
            assert len(files(blobs)) == 1
            raise LookupError
    assert files(blobs) == set()
    async with blobs.receive(limits.BLOB_BYTES_MAX) as incoming:
        await incoming.write(b"finished, but never adopted")
        await incoming.finish()
        assert len(files(blobs)) == 1
    assert files(blobs) == set()


@pytest.mark.parametrize("moment", range(12))
async def test_a_cancelled_upload_leaves_nothing(blobs: LocalBlobs, moment: int) -> None:
    async def upload() -> None:
        async with blobs.receive(limits.BLOB_BYTES_MAX) as incoming:
            for _ in range(4):
                await incoming.write(bytes(limits.BLOB_CHUNK_BYTES))
            await incoming.finish()
            await asyncio.sleep(60)

    task = asyncio.create_task(upload())
    for _ in range(moment):
        await asyncio.sleep(0.0005)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    assert files(blobs) == set()


async def test_a_transaction_that_comes_after_its_upload_was_given_up_adopts_nothing(
    blobs: LocalBlobs, db: Database
) -> None:
    async with blobs.receive(limits.BLOB_BYTES_MAX) as incoming:
        received = await incoming.finish()
    with pytest.raises(Unavailable, match="given up"):
        await db.write(lambda tx: store.adopt(tx, received, "upl_1", NOW))
    assert await rows(db) == (0, 0, 0)


async def test_a_write_cancelled_while_it_is_under_way_never_loses_a_file_that_a_row_names(
    blobs: LocalBlobs, db: Database
) -> None:
    offered, go_on = threading.Event(), threading.Event()
    async with blobs.receive(limits.BLOB_BYTES_MAX) as incoming:
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
    await blobs.sweep(db, NOW)
    kept = await db.read(lambda tx: store.find(tx, received.blob.sha256))
    assert files(blobs) == ({kept.location} if kept else set())


async def test_the_file_of_a_failed_transaction_goes_with_the_next_sweep(blobs: LocalBlobs, db: Database) -> None:
    def fail(tx: Tx, received: Received) -> None:
        store.adopt(tx, received, "upl_1", NOW)
        raise LookupError

    async with blobs.receive(limits.BLOB_BYTES_MAX) as incoming:
        received = await incoming.finish()
        with pytest.raises(LookupError):
            await db.write(lambda tx: fail(tx, received))
    assert len(files(blobs)) == 1
    assert await blobs.sweep(db, NOW) == 1
    assert (files(blobs), await rows(db)) == (set(), (0, 0, 0))


async def test_the_last_release_deletes_the_file(blobs: LocalBlobs, db: Database) -> None:
    blob = await put(blobs, db, b"wanted twice", "upl_1")
    assert await db.write(lambda tx: store.refer(tx, blob.sha256, "doc_1")) == blob
    await release(db, blob, "upl_1")
    await release(db, blob, "upl_1")
    assert await blobs.sweep(db, NOW) == 0
    assert await blobs.read(blob.location, 100) == b"wanted twice"
    await release(db, blob, "doc_1")
    assert await db.read(lambda tx: store.find(tx, blob.sha256)) is None
    assert await blobs.sweep(db, NOW) == 1
    assert (files(blobs), await rows(db)) == (set(), (0, 0, 0))


async def test_a_file_that_is_gone_is_not_found(blobs: LocalBlobs, db: Database) -> None:
    blob = await put(blobs, db, b"gone", "upl_1")
    await release(db, blob, "upl_1")
    await blobs.sweep(db, NOW)
    with pytest.raises(NotFound):
        await blobs.read(blob.location, 100)
    with pytest.raises(NotFound):
        await anext(aiter(blobs.open_range(blob.location)))
    with pytest.raises(NotFound):
        await db.write(lambda tx: store.refer(tx, blob.sha256, "doc_1"))


@pytest.mark.parametrize("location", ["../deedbox.sqlite", "/etc/passwd", "ab/../../x", ".hold", ""])
async def test_no_location_leads_out_of_the_folder(blobs: LocalBlobs, location: str) -> None:
    with pytest.raises(NotFound):
        await blobs.read(location, 100)


async def test_a_release_that_is_rolled_back_keeps_the_file(blobs: LocalBlobs, db: Database) -> None:
    blob = await put(blobs, db, b"kept", "upl_1")

    def change_of_mind(tx: Tx) -> None:
        store.release(tx, blob.sha256, "upl_1", NOW)
        raise LookupError

    with pytest.raises(LookupError):
        await db.write(change_of_mind)
    assert await blobs.sweep(db, NOW) == 0
    assert await blobs.read(blob.location, 100) == b"kept"


class InterleavedDatabase:
    """A database on which something else happens right after the first read."""

    def __init__(self, db: Database, meanwhile: Callable[[], "asyncio.Future[Blob]"]) -> None:
        self.dialect: Dialect = db.dialect
        self.meanwhile: Callable[[], asyncio.Future[Blob]] | None = meanwhile
        self.db = db

    async def read(self, fn: Callable[[Tx], T]) -> T:
        result = await self.db.read(fn)
        if self.meanwhile is not None:
            meanwhile, self.meanwhile = self.meanwhile, None
            await meanwhile()
        return result

    async def write(self, fn: Callable[[Tx], T], *, isolation: Isolation = "serializable") -> T:
        return await self.db.write(fn, isolation=isolation)

    async def close(self) -> None: ...


async def test_bytes_stored_again_while_they_are_swept_survive(blobs: LocalBlobs, db: Database) -> None:
    old = await put(blobs, db, b"phoenix", "upl_1")
    await release(db, old, "upl_1")

    def store_again() -> "asyncio.Future[Blob]":
        return asyncio.ensure_future(put(blobs, db, b"phoenix", "upl_2"))

    assert await blobs.sweep(InterleavedDatabase(db, store_again), NOW) == 1
    new = await db.read(lambda tx: store.find(tx, old.sha256))
    assert new is not None
    assert new.location != old.location
    assert files(blobs) == {new.location}
    assert await blobs.read(new.location, 100) == b"phoenix"


async def test_storing_releasing_and_sweeping_at_once_never_loses_a_file(blobs: LocalBlobs, db: Database) -> None:
    async def live(owner: str) -> None:
        for n in range(4):
            blob = await put(blobs, db, b"fought over", owner)
            assert await blobs.read(blob.location, 100) == b"fought over"
            if n < 3 or owner != "upl_0":
                await release(db, blob, owner)

    async def sweep() -> None:
        for _ in range(6):
            await blobs.sweep(db, NOW)
            await asyncio.sleep(0.005)

    await asyncio.gather(*(live(f"upl_{n}") for n in range(5)), sweep(), sweep())
    await blobs.sweep(db, NOW)
    last = await db.read(lambda tx: store.find(tx, hashlib.sha256(b"fought over").hexdigest()))
    assert last is not None
    assert (files(blobs), await rows(db)) == ({last.location}, (1, 1, 0))


async def test_nothing_is_swept_while_a_backup_holds_the_folder(blobs: LocalBlobs, db: Database) -> None:
    blob = await put(blobs, db, b"held", "upl_1")
    await release(db, blob, "upl_1")
    with held(blobs.folder), held(blobs.folder):
        assert await blobs.sweep(db, NOW) == 0
        assert files(blobs) == {blob.location}
        assert await rows(db) == (0, 0, 1)
    assert await blobs.sweep(db, NOW) == 1
    assert files(blobs) == set()


async def test_a_sweep_that_died_before_it_forgot_the_trash_is_repeated(blobs: LocalBlobs, db: Database) -> None:
    blob = await put(blobs, db, b"half swept", "upl_1")
    await release(db, blob, "upl_1")
    (blobs.folder / blob.location).unlink()
    assert await blobs.sweep(db, NOW) == 1
    assert await rows(db) == (0, 0, 0)


async def test_what_a_crash_left_is_removed_when_it_is_an_hour_old(
    blobs: LocalBlobs, db: Database, clock: HandClock
) -> None:
    kept = await put(blobs, db, b"named by a row", "upl_1")
    trashed = await put(blobs, db, b"in the trash", "upl_2")
    await release(db, trashed, "upl_2")
    orphan = (await receive(blobs, b"renamed, but its row never came")).blob.location
    fresh = (await receive(blobs, b"its transaction is about to come")).blob.location
    for name in ("incoming/old", "incoming/new"):
        (blobs.folder / name).write_bytes(b"half an upload")
    for name in (kept.location, trashed.location, orphan, "incoming/old"):
        os.utime(blobs.folder / name, (LONG_AGO, LONG_AGO))
    for name in (fresh, "incoming/new"):
        os.utime(blobs.folder / name, (clock.now().timestamp(), clock.now().timestamp()))

    restarted = LocalBlobs(blobs.folder)
    assert await restarted.reclaim(db, clock.now()) == 2
    assert await restarted.sweep(db, clock.now()) == 2
    assert files(blobs) == {kept.location, fresh, "incoming/new"}


async def test_a_file_that_was_condemned_is_adopted_no_more(blobs: LocalBlobs, db: Database) -> None:
    received = await receive(blobs, b"too late")
    await db.write(lambda tx: store.condemn(tx, [received.blob.location], NOW))
    with pytest.raises(Unavailable, match="too long"):
        await db.write(lambda tx: store.adopt(tx, received, "upl_1", NOW))
    await blobs.sweep(db, NOW)
    assert (files(blobs), await rows(db)) == (set(), (0, 0, 0))


async def test_a_file_that_a_row_names_cannot_be_condemned(blobs: LocalBlobs, db: Database) -> None:
    blob = await put(blobs, db, b"innocent", "upl_1")
    assert await db.write(lambda tx: store.condemn(tx, [blob.location], NOW)) == 0
    assert await blobs.sweep(db, NOW) == 0


async def test_a_large_file_passes_without_growing_the_memory(blobs: LocalBlobs) -> None:
    chunk = os.urandom(limits.BLOB_CHUNK_BYTES)

    async def pass_through(chunks: int) -> None:
        async with blobs.receive(limits.BLOB_BYTES_MAX) as incoming:
            for _ in range(chunks):
                await incoming.write(chunk)
            location = (await incoming.finish()).blob.location
            async for _ in blobs.open_range(location):
                pass

    await pass_through(4)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    await pass_through(200)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 16 * 1024


def test_a_folder_that_cannot_be_made_is_a_setup_error(tmp_path: Path) -> None:
    (tmp_path / "blobs").write_text("a file in the way")
    with pytest.raises(SetupError, match="cannot be used"):
        LocalBlobs(tmp_path / "blobs")


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "deedbox-test", str(folder)]
    if os.getuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("a small disk can be mounted only by root on Linux; the file size limit is tested instead")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


async def test_a_full_disk_refuses_an_upload_and_leaves_nothing(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk"):
        blobs = LocalBlobs(tmp_path / "disk" / "blobs")
        with pytest.raises(Unavailable) as refusal:
            await receive(blobs, bytes(3 * limits.MB))
        assert refusal.value.code == Code.STORAGE_FULL
        assert files(blobs) == set()
        assert (await receive(blobs, b"there is room again")).blob.size_bytes == 19


def test_a_file_size_limit_refuses_an_upload_and_leaves_nothing(tmp_path: Path) -> None:
    script = """
        import asyncio, resource, sys
        from pathlib import Path
        from deedbox.kernel.blobs.local import LocalBlobs
        from deedbox.kernel.errors import Unavailable

        async def upload():
            blobs = LocalBlobs(Path(sys.argv[1]))
            resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
            async with blobs.receive(10_000_000) as incoming:
                try:
                    await incoming.write(bytes(2_000_000))
                except Unavailable as error:
                    print(error.code, [path.name for path in blobs.folder.rglob("*") if path.is_file()])

        asyncio.run(upload())
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(tmp_path / "blobs")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "storage_full ['.hold']"

"""What only a bucket has: a network that breaks, a store that is away, full or refuses, and other servers."""

import asyncio
import contextlib
import hashlib
import os
import threading
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta

import pytest

from deedbox.kernel import limits
from deedbox.kernel.blobs import store
from deedbox.kernel.blobs.s3 import S3Blobs, held
from deedbox.kernel.db import Database
from deedbox.kernel.errors import ErrorCode, NotFound, SetupError, Unavailable
from deedbox.kernel.s3.bucket import Bucket
from deedbox.kernel.s3.place import Access, BucketPrefix
from tests.kernel.blobs.shelves import NOW, put, receive, release, rows
from tests.s3 import Fault, Proxy, Store, client, names, spoiling

pytestmark = pytest.mark.anyio

PART = 300_000


class Line:
    """Blobs whose way to the store can be spoiled."""

    def __init__(self, store: Store, proxy: Proxy, address: str) -> None:
        self.proxy = proxy
        self.bucket = store.bucket(address=address)
        self.blobs = S3Blobs(self.bucket, part_bytes=PART)
        self.bucket.check(os.urandom)
        proxy.seen.clear()


@pytest.fixture
def proxied(s3_store: Store) -> Iterator[tuple[Proxy, str]]:
    with spoiling(s3_store) as made:
        yield made


@pytest.fixture
async def line(s3_store: Store, proxied: tuple[Proxy, str]) -> AsyncIterator[Line]:
    made = Line(s3_store, *proxied)
    yield made
    await made.blobs.close()


@pytest.mark.parametrize("fault", ["reset", "500", "slow down", "lose the answer"])
@pytest.mark.parametrize("size", [1000, 2 * PART + 7])
async def test_an_upload_survives_a_store_that_stumbles(line: Line, fault: Fault, size: int) -> None:
    data = os.urandom(size)
    line.proxy.spoil(fault, method="PUT")
    if size > PART:
        line.proxy.spoil(fault, method="POST", path="uploads")
        line.proxy.spoil(fault, method="POST", path="uploadId")
    received = await receive(line.blobs, data)
    assert line.proxy.faults == []
    assert received.blob.sha256 == hashlib.sha256(data).hexdigest()
    assert await line.blobs.read(received.blob.location, size) == data
    # A request whose answer was lost may have begun an upload that nobody knows of: housekeeping ends it.
    lost = (
        {name for name in names(line.bucket) if name.startswith("incoming/")} if fault == "lose the answer" else set()
    )
    assert names(line.bucket) - lost == {received.blob.location}


@pytest.mark.parametrize("fault", ["reset", "500", "slow down", "cut"])
async def test_a_download_survives_a_store_that_stumbles(line: Line, fault: Fault) -> None:
    data = os.urandom(3 * limits.BLOB_CHUNK_BYTES + 5)
    location = (await receive(line.blobs, data)).blob.location
    line.proxy.spoil(fault, 2, method="GET")
    assert b"".join([chunk async for chunk in line.blobs.open_range(location)]) == data
    line.proxy.spoil(fault, method="GET")
    assert b"".join([chunk async for chunk in line.blobs.open_range(location, 1000, 600_000)]) == data[1000:601_000]
    line.proxy.spoil(fault, method="GET")
    assert await line.blobs.read(location, len(data)) == data
    assert line.proxy.faults == []


async def test_a_download_that_always_breaks_off_is_given_up(line: Line) -> None:
    location = (await receive(line.blobs, os.urandom(8 * limits.BLOB_CHUNK_BYTES))).blob.location
    line.proxy.spoil("cut", 100, method="GET")
    with pytest.raises(Unavailable, match="breaks off"):
        # Each attempt brings half of what is left, so it is given up only when nothing comes.
        await line.blobs.read(location, limits.BLOB_BYTES_MAX)


async def test_a_file_replaced_while_it_is_read_is_not_mixed_with_the_new_one(line: Line) -> None:
    location = (await receive(line.blobs, bytes(4 * limits.BLOB_CHUNK_BYTES))).blob.location
    line.proxy.spoil("cut", method="GET")
    pieces = line.blobs.open_range(location)
    await anext(pieces)
    client(line.bucket).put_object(
        Bucket=line.bucket.place.bucket, Key=line.bucket.place.prefix + location, Body=os.urandom(2_000_000)
    )
    with pytest.raises(Unavailable):
        _ = [piece async for piece in pieces]


@pytest.mark.parametrize("size", [1000, 2 * PART + 7])
async def test_a_full_store_refuses_an_upload_and_leaves_nothing(line: Line, size: int) -> None:
    line.proxy.spoil("full", limits.S3_ATTEMPTS, method="PUT")
    with pytest.raises(Unavailable) as refusal:
        await receive(line.blobs, os.urandom(size))
    assert refusal.value.code == ErrorCode.STORAGE_FULL
    line.proxy.faults.clear()
    assert names(line.bucket) == set()


async def test_a_store_that_fails_for_long_is_unavailable_and_asked_only_so_often(line: Line) -> None:
    line.proxy.spoil("500", 100)
    with pytest.raises(Unavailable, match="InternalError") as refusal:
        await line.blobs.read(f"ab/ab{'0' * 62}.{'0' * 16}", 10)
    assert (refusal.value.status, refusal.value.code) == (503, ErrorCode.STORAGE_UNAVAILABLE)
    assert len(line.proxy.seen) == limits.S3_ATTEMPTS


async def test_a_store_that_is_away_is_unavailable_and_refused_at_start(s3_store: Store) -> None:
    blobs = S3Blobs(Bucket(BucketPrefix("test"), s3_store.access("http://127.0.0.1:9")))
    with pytest.raises(Unavailable) as refusal:
        await blobs.read(f"ab/ab{'0' * 62}.{'0' * 16}", 10)
    assert refusal.value.code == ErrorCode.STORAGE_UNAVAILABLE
    with pytest.raises(SetupError, match="DEEDBOX_S3_ENDPOINT"):
        await blobs.check()
    await blobs.close()


async def test_a_bucket_that_does_not_exist_is_named_at_start(s3_store: Store) -> None:
    blobs = S3Blobs(Bucket(BucketPrefix("nobody-made-this"), s3_store.access()))
    with pytest.raises(SetupError, match="s3://nobody-made-this: the bucket does not exist") as refusal:
        await blobs.check()
    assert refusal.value.next_step == "Make the bucket, or correct the address."
    await blobs.close()


@pytest.mark.parametrize("method", ["GET", "PUT", "HEAD", "DELETE"])
async def test_a_right_that_is_missing_is_named_at_start(line: Line, method: str) -> None:
    line.proxy.spoil("denied", method=method)
    with pytest.raises(SetupError, match="access is denied"):
        await line.blobs.check()
    line.proxy.spoil("denied", method="PUT")
    with pytest.raises(Unavailable, match="access is denied"):
        await receive(line.blobs, b"later")


async def test_a_start_without_credentials_says_which_settings_give_them(
    s3_store: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: os.PathLike[str]
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path))
    blobs = S3Blobs(Bucket(BucketPrefix("test"), Access(s3_store.address)))
    with pytest.raises(SetupError, match="DEEDBOX_S3_ACCESS_KEY"):
        await blobs.check()
    await blobs.close()


async def test_parts_of_the_size_that_stores_demand_become_one_file(s3_store: Store) -> None:
    bucket = s3_store.bucket()
    blobs = S3Blobs(bucket)
    data = os.urandom(2 * limits.S3_PART_BYTES + 1)
    received = await receive(blobs, data)
    assert bucket.head(received.blob.location).sha256 == received.blob.sha256
    assert bucket.hashed(received.blob.location) == hashlib.sha256(data).hexdigest()
    assert names(bucket) == {received.blob.location}
    await blobs.close()


@pytest.mark.parametrize("is_whole", [True, False])
async def test_a_store_that_computes_no_hash_is_not_believed(
    line: Line, monkeypatch: pytest.MonkeyPatch, is_whole: bool
) -> None:
    copy = line.bucket.copy

    def silent(source: str, target: str) -> None:
        copy(source, target)
        if not is_whole:
            line.bucket.put(target, b"cut short", hashlib.sha256(b"cut short").hexdigest())

    monkeypatch.setattr(line.bucket, "copy", silent)
    data = os.urandom(2 * PART)
    if is_whole:
        assert (await receive(line.blobs, data)).blob.size_bytes == len(data)
    else:
        with pytest.raises(Unavailable, match="has changed the file"):
            await receive(line.blobs, data)
        assert names(line.bucket) == set()


async def test_only_a_small_file_goes_to_its_place_at_once(line: Line) -> None:
    await receive(line.blobs, bytes(PART - 1))
    assert [seen.split()[0] for seen in line.proxy.seen] == ["PUT"]


async def test_a_hold_that_a_dead_backup_left_ends_by_its_age(s3_store: Store, db: Database) -> None:
    blobs = S3Blobs(s3_store.bucket())
    blob = await put(blobs, db, b"held for a while", "upl_1")
    await release(db, blob, "upl_1")
    now = datetime.now(UTC)
    holding = held(blobs.bucket, bytes)
    holding.__enter__()
    assert await blobs.sweep(db, now) == 0
    s3_store.age(blobs.bucket, "hold/0000000000000000", limits.S3_HOLD_SECONDS + 60)
    assert await blobs.sweep(db, now) == 1
    assert [page for page in blobs.bucket.pages() if page] == []
    holding.__exit__(None, None, None)
    await blobs.close()


async def test_a_hold_is_renewed_while_the_backup_lasts(s3_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    bucket = s3_store.bucket()
    monkeypatch.setattr(limits, "S3_HOLD_RENEW_SECONDS", 0.05)
    with held(bucket, bytes):
        s3_store.age(bucket, "hold/0000000000000000", 5000)
        async with asyncio.timeout(30):
            while bucket.head("hold/0000000000000000").modified < datetime.now(UTC) - timedelta(seconds=1000):
                await asyncio.sleep(0.05)
    with pytest.raises(NotFound):
        bucket.head("hold/0000000000000000")


async def test_two_servers_share_a_bucket(s3_store: Store, db: Database) -> None:
    bucket = s3_store.bucket()
    one, other = S3Blobs(bucket), S3Blobs(bucket)
    mine, theirs = await asyncio.gather(put(one, db, b"same", "upl_1"), put(other, db, b"same", "upl_2"))
    assert mine == theirs
    assert await rows(db) == (1, 2, 1)
    now = datetime.now(UTC) + timedelta(days=1)
    await asyncio.gather(one.reclaim(db, now), other.reclaim(db, now))
    await asyncio.gather(one.sweep(db, now), other.sweep(db, now))
    assert names(bucket) == {mine.location}
    assert await other.read(mine.location, 10) == b"same"
    await one.close()
    await other.close()


async def test_orphans_are_found_over_several_pages(
    s3_store: Store, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "S3_PAGE", 3)
    blobs = S3Blobs(s3_store.bucket())
    kept = [await put(blobs, db, f"kept {number}".encode(), "upl_1") for number in range(5)]
    for number in range(5):
        await receive(blobs, f"orphan {number}".encode())
    client(blobs.bucket).put_object(Bucket=blobs.bucket.place.bucket, Key="deedbox/files/not-ours.txt", Body=b"x")
    client(blobs.bucket).put_object(Bucket=blobs.bucket.place.bucket, Key="deedbox/other", Body=b"x")
    now = datetime.now(UTC) + timedelta(days=1)
    assert await blobs.reclaim(db, now) == 5
    assert await blobs.sweep(db, now) == 5
    assert names(blobs.bucket) == {blob.location for blob in kept} | {"not-ours.txt"}
    assert await blobs.size() == 5 * 6 + 1
    await blobs.close()


async def test_a_file_finished_too_late_is_not_adopted_after_its_orphan_was_condemned(
    s3_store: Store, db: Database
) -> None:
    blobs = S3Blobs(s3_store.bucket())
    received = await receive(blobs, b"slow")
    await blobs.reclaim(db, datetime.now(UTC) + timedelta(days=1))
    with pytest.raises(Unavailable, match="too long"):
        await db.write(lambda tx: store.adopt(tx, received, "upl_1", NOW))
    await blobs.close()


async def test_a_slow_store_holds_up_no_thread_but_its_own(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    stalled = threading.Event()
    monkeypatch.setattr(line.bucket, "open", lambda *_: stalled.wait(60))
    readers = [asyncio.create_task(line.blobs.read(f"ab/ab{'0' * 62}.{'0' * 16}", 1)) for _ in range(50)]
    await asyncio.sleep(0.1)
    assert sum(thread.name.startswith("s3_") for thread in threading.enumerate()) <= limits.S3_THREADS
    assert await asyncio.wait_for(asyncio.to_thread(lambda: 7), 30) == 7
    stalled.set()
    for reader in readers:
        with contextlib.suppress(Exception):
            await reader

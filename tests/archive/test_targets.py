"""The places for packages: durable under their names, never replaced, and what they say is kept."""

import datetime as dt
import hashlib
import os
from collections.abc import AsyncIterator, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from deedbox.archive.spool import Held, held
from deedbox.archive.targets import Taken, Target, fetched
from deedbox.archive.targets.folder import FolderTarget
from deedbox.archive.targets.https import HttpsTarget
from deedbox.archive.targets.s3 import S3Target
from deedbox.kernel import limits
from deedbox.kernel.addresses import networks
from deedbox.kernel.crypto import Secret
from deedbox.kernel.egress import Egress
from deedbox.kernel.errors import DeedboxError, NotFound, TooLarge, Unavailable
from tests.archive.conftest import KEY, archiving
from tests.archive.sink import Sink, sink
from tests.conftest import HandClock
from tests.s3 import Store, client

pytestmark = pytest.mark.anyio

NAME, TYPE = "wsp_1/doc_1.zip", "application/zip"
ONE, OTHER = held(b"one" * 500_000), held(b"another")


@pytest.fixture
def archive_sink() -> Iterator[Sink]:
    with sink() as running:
        yield running


@pytest.fixture(params=["folder", "s3", "https"])
async def target(
    request: pytest.FixtureRequest, tmp_path: Path, clock: HandClock, s3_store: Store, archive_sink: Sink
) -> AsyncIterator[Target]:
    if request.param == "folder":
        yield FolderTarget(tmp_path / "archive", clock)
    elif request.param == "s3":
        bucket = s3_store.bucket(locked=True)
        clock.time = dt.datetime.now(dt.UTC)
        yield S3Target(bucket.place, s3_store.access(), "governance", 30, clock)
    else:
        egress = Egress(networks("127.0.0.0/8"))
        yield HttpsTarget(archive_sink.url, Secret(KEY), lambda: egress)
        await egress.close()


async def test_what_was_put_is_there(target: Target) -> None:
    await target.put(NAME, ONE, TYPE)
    assert await fetched(target, NAME, 2_000_000) == b"one" * 500_000
    assert target.location(NAME).endswith(NAME)


async def test_what_lies_under_a_name_is_never_replaced(target: Target) -> None:
    await target.put(NAME, ONE, TYPE)
    with pytest.raises(Taken):
        await target.put(NAME, OTHER, TYPE)
    assert await fetched(target, NAME, 2_000_000) == b"one" * 500_000


async def test_what_is_not_there_is_not_found(target: Target) -> None:
    with pytest.raises(NotFound, match=r"wsp_1/doc_1\.zip"):
        await fetched(target, NAME, 10)


async def test_more_than_was_ever_written_is_not_read(target: Target) -> None:
    await target.put(NAME, ONE, TYPE)
    with pytest.raises(TooLarge):
        await fetched(target, NAME, 1000)


# the folder


async def test_a_folder_takes_the_same_twice_and_keeps_the_first(tmp_path: Path, clock: HandClock) -> None:
    target = FolderTarget(tmp_path / "archive", clock)
    await target.put(NAME, ONE, TYPE)
    before = (tmp_path / "archive" / NAME).stat()
    await target.put(NAME, ONE, TYPE)
    assert (tmp_path / "archive" / NAME).stat().st_ino == before.st_ino
    assert list((tmp_path / "archive" / ".incoming").iterdir()) == []


async def test_a_folder_forgets_what_a_dead_process_left_half_written(tmp_path: Path, clock: HandClock) -> None:
    incoming = tmp_path / "archive" / ".incoming"
    incoming.mkdir(parents=True)
    for name, age in (("old", limits.BLOB_ORPHAN_SECONDS + 60), ("young", 60)):
        (incoming / name).write_bytes(b"half")
        then = clock.now().timestamp() - age
        os.utime(incoming / name, (then, then))
    await FolderTarget(tmp_path / "archive", clock).put(NAME, ONE, TYPE)
    assert [path.name for path in incoming.iterdir()] == ["young"]


async def test_a_folder_that_cannot_be_used_says_why_and_not_where(tmp_path: Path, clock: HandClock) -> None:
    (tmp_path / "archive").write_text("a file")
    with pytest.raises(Unavailable) as caught:
        await FolderTarget(tmp_path / "archive", clock).put(NAME, ONE, TYPE)
    assert str(tmp_path) not in caught.value.message


async def test_a_full_disk_leaves_no_half_package(tmp_path: Path, clock: HandClock) -> None:
    class Full(BytesIO):
        def read(self, _: int | None = -1) -> bytes:
            raise OSError(28, "No space left on device")

    with pytest.raises(Unavailable, match="No space left"):
        await FolderTarget(tmp_path, clock).put(NAME, Held(Full(b"x"), 1, "0" * 64), TYPE)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


# S3


@pytest.mark.parametrize("mode", ["governance", "compliance"])
async def test_objects_are_locked_for_as_long_as_is_set(s3_store: Store, mode: Any) -> None:
    clock = HandClock()
    clock.time = dt.datetime.now(dt.UTC).replace(microsecond=0)
    bucket = s3_store.bucket(locked=True)
    target = S3Target(bucket.place, s3_store.access(), mode, 30, clock)
    kept = await target.put(NAME, ONE, TYPE)
    lock = bucket.head(NAME).lock
    assert lock is not None
    assert (lock.mode, lock.until) == (mode.upper(), clock.now() + dt.timedelta(days=30))
    assert bucket.head(NAME).sha256 == ONE.sha256
    assert kept.version
    assert kept.etag
    await target.put(NAME, ONE, TYPE)
    versions = client(bucket).list_object_versions(Bucket=bucket.place.bucket)["Versions"]
    assert [one["VersionId"] for one in versions] == [kept.version]


async def test_a_bucket_that_cannot_lock_is_refused_with_what_to_do(s3_store: Store, clock: HandClock) -> None:
    bucket = s3_store.bucket()
    with pytest.raises(DeedboxError, match=r"DEEDBOX_ARCHIVE_LOCK=none|did not lock"):
        await S3Target(bucket.place, s3_store.access(), "governance", 30, clock).put(NAME, ONE, TYPE)
    await S3Target(bucket.place, s3_store.access(), "none", 30, clock).put("other", ONE, TYPE)


async def test_a_document_is_archived_in_s3(
    database_url: str, tmp_path: Path, clock: HandClock, s3_store: Store
) -> None:
    clock.time = dt.datetime.now(dt.UTC)
    bucket = s3_store.bucket(locked=True)
    access = s3_store.access()
    settings = {
        "archive_url": str(bucket.place),
        "s3_endpoint": access.endpoint,
        "s3_region": access.region,
        "s3_access_key": access.access_key,
        "s3_secret_key": access.secret_key,
    }
    async with archiving(database_url, tmp_path, clock, **settings) as office:
        document = await office.archived()
        receipt = document["archive"]["receipt"]
        assert receipt["location"] == f"{bucket.place}/{office.api.workspace}/{document['id']}.zip"
        stored = bucket.head(f"{office.api.workspace}/{document['id']}.zip")
        assert (stored.sha256, stored.size_bytes) == (receipt["sha256"], receipt["size_bytes"])
        assert stored.lock is not None
        found: list[Any] = []
        await office.archiving.verifying().all(found.append)
        assert [one.problem for one in found] == [None]


# HTTPS


async def web(archive_sink: Sink) -> tuple[HttpsTarget, Egress]:
    egress = Egress(networks("127.0.0.0/8"))
    return HttpsTarget(archive_sink.url, Secret(KEY), lambda: egress), egress


async def test_the_key_is_the_credential_and_the_answer_is_kept_without_it(archive_sink: Sink) -> None:
    target, egress = await web(archive_sink)
    archive_sink.answer = f'{{"id": 7, "you": "Bearer {KEY}"}}'.encode()
    kept = await target.put(NAME, ONE, TYPE)
    head = archive_sink.heads[0]
    assert head["authorization"] == f"Bearer {KEY}"
    assert (head["content-type"], head["content-length"]) == (TYPE, str(ONE.size_bytes))
    assert (kept.answer, kept.etag) == ('{"id": 7, "you": "Bearer …"}', "e-1")
    assert hashlib.sha256(archive_sink.kept[f"/{NAME}"]).hexdigest() == ONE.sha256
    await egress.close()


@pytest.mark.parametrize("status", [302, 400, 401, 403, 404, 429, 500, 503])
async def test_only_2xx_is_success_and_no_redirect_is_followed(archive_sink: Sink, status: int) -> None:
    target, egress = await web(archive_sink)
    archive_sink.status = status
    with pytest.raises(Unavailable, match=str(status)):
        await target.put(NAME, ONE, TYPE)
    assert len(archive_sink.heads) == 1
    assert archive_sink.kept == {}
    await egress.close()


async def test_a_lost_answer_does_not_make_a_second_package(
    database_url: str, tmp_path: Path, clock: HandClock, archive_sink: Sink
) -> None:
    more = {"archive_url": f"{archive_sink.url}/deeds", "egress_allow": networks("127.0.0.0/8")}
    async with archiving(database_url, tmp_path, clock, **more) as office:
        archive_sink.lose_answers = True
        document = await office.sealed()
        await office.tried(document, 1)
        archive_sink.lose_answers = False
        clock.forward(60)
        receipt = (await office.when(document, "archived"))["archive"]["receipt"]
        name = f"/deeds/{office.api.workspace}/{document['id']}.zip"
        assert archive_sink.puts == {name: 1}
        assert receipt["sha256"] == hashlib.sha256(archive_sink.kept[name]).hexdigest()
        assert receipt["location"] == f"{archive_sink.url}{name}"


async def test_an_address_inside_needs_to_be_allowed(
    database_url: str, tmp_path: Path, clock: HandClock, archive_sink: Sink
) -> None:
    async with archiving(database_url, tmp_path, clock, archive_url=archive_sink.url) as office:
        document = await office.sealed()
        assert "not public" in (await office.tried(document, 1))["archive"]["error"]
        assert archive_sink.heads == []

"""The places for packages: durable under their names, never replaced, and what they say is kept."""

import asyncio
import datetime as dt
import hashlib
import os
import socket
import threading
from collections.abc import AsyncIterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from deedbox.archive import limits as archive_limits
from deedbox.archive.package import ManifestKey
from deedbox.archive.spool import SpooledFile, in_memory
from deedbox.archive.targets import ArchiveTarget, NameTaken, fetch
from deedbox.archive.targets.folder import FolderTarget
from deedbox.archive.targets.https import HttpsTarget
from deedbox.archive.targets.s3 import S3Target
from deedbox.kernel import limits
from deedbox.kernel.addresses import networks
from deedbox.kernel.crypto import Secret
from deedbox.kernel.egress import Egress, Request
from deedbox.kernel.errors import ErrorCode, NotFound, ServiceError, TooLarge, Unavailable
from deedbox.kernel.s3.bucket import Bucket, Lock
from tests.archive.conftest import KEY, archiving
from tests.archive.sink import Sink
from tests.conftest import HandClock
from tests.kinds import kinds
from tests.s3 import Store, client, spoiling

pytestmark = pytest.mark.anyio

NAME, TYPE = "wsp_1/doc_1.zip", "application/zip"
ONE, OTHER = in_memory(b"one" * 500_000), in_memory(b"another")


@pytest.fixture(params=["folder", "s3", "https"])
async def target(
    request: pytest.FixtureRequest, tmp_path: Path, clock: HandClock, s3_store: Store, archive_sink: Sink
) -> AsyncIterator[ArchiveTarget]:
    if request.param == "folder":
        yield FolderTarget(tmp_path / "archive", clock)
    elif request.param == "s3":
        bucket = s3_store.bucket(locked=True)
        clock.time = dt.datetime.now(dt.UTC)
        yield S3Target(bucket.place, s3_store.access(), "governance", 30, clock)
    else:
        egress = Egress(networks("127.0.0.0/8"))
        yield HttpsTarget(archive_sink.url, Secret(KEY), egress)
        await egress.close()


async def test_what_was_put_is_there(target: ArchiveTarget) -> None:
    await target.put(NAME, ONE, TYPE)
    assert await fetch(target, NAME, 2_000_000) == b"one" * 500_000
    assert target.location(NAME).endswith(NAME)


async def test_what_lies_under_a_name_is_never_replaced(target: ArchiveTarget) -> None:
    await target.put(NAME, ONE, TYPE)
    with pytest.raises(NameTaken):
        await target.put(NAME, OTHER, TYPE)
    assert await fetch(target, NAME, 2_000_000) == b"one" * 500_000


async def test_what_is_not_there_is_not_found(target: ArchiveTarget) -> None:
    with pytest.raises(NotFound, match=r"wsp_1/doc_1\.zip"):
        await fetch(target, NAME, 10)


async def test_more_than_was_ever_written_is_not_read(target: ArchiveTarget) -> None:
    await target.put(NAME, ONE, TYPE)
    with pytest.raises(TooLarge):
        await fetch(target, NAME, 1000)


# the folder


async def test_a_folder_takes_the_same_twice_and_keeps_the_first(tmp_path: Path, clock: HandClock) -> None:
    target = FolderTarget(tmp_path / "archive", clock)
    await target.put(NAME, ONE, TYPE)
    before = (tmp_path / "archive" / NAME).stat()
    await target.put(NAME, ONE, TYPE)
    assert (tmp_path / "archive" / NAME).stat().st_ino == before.st_ino
    assert list((tmp_path / "archive" / ".incoming").iterdir()) == []


async def test_pipe_under_the_name_of_a_package_is_an_error(tmp_path: Path, clock: HandClock) -> None:
    """Opening a pipe waits for a writer, who may never come."""
    target, place = FolderTarget(tmp_path / "archive", clock), tmp_path / "archive" / NAME
    place.parent.mkdir(parents=True)
    os.mkfifo(place)
    for work in (fetch(target, NAME, limits.KB), target.put(NAME, ONE, TYPE)):
        with pytest.raises(Unavailable, match=r"cannot be used: .* is not a file"):
            await work


async def test_a_folder_forgets_what_a_dead_process_left_half_written(tmp_path: Path, clock: HandClock) -> None:
    incoming = tmp_path / "archive" / ".incoming"
    incoming.mkdir(parents=True)
    for name, age in (("old", limits.BLOB_ORPHAN_SECONDS + 60), ("young", 60)):
        (incoming / name).write_bytes(b"half")
        then = clock.now().timestamp() - age
        os.utime(incoming / name, (then, then))
    await FolderTarget(tmp_path / "archive", clock).put(NAME, ONE, TYPE)
    assert [path.name for path in incoming.iterdir()] == ["young"]


async def test_a_folder_may_lie_in_one_that_nobody_may_list(
    tmp_path: Path, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    real = os.open

    def noted(path: Any, *more: Any, **named: Any) -> int:
        opened.append(os.fspath(path))
        return real(path, *more, **named)

    monkeypatch.setattr(os, "open", noted)
    mount = tmp_path / "mount"
    archive = mount / "new" / "archive"
    mount.mkdir()
    await FolderTarget(archive, clock).put(NAME, ONE, TYPE)
    made = {str(path) for path in (mount, mount / "new", archive, archive / "wsp_1")}
    assert {path for path in opened if path.startswith(str(tmp_path)) and Path(path).is_dir()} == made
    opened.clear()
    await FolderTarget(archive, clock).put("wsp_2/doc_1.zip", ONE, TYPE)
    assert {path for path in opened if Path(path).is_dir()} == {str(archive), str(archive / "wsp_2")}


async def test_a_folder_that_cannot_be_used_says_why_and_not_where(tmp_path: Path, clock: HandClock) -> None:
    (tmp_path / "archive").write_text("a file")
    with pytest.raises(Unavailable) as caught:
        await FolderTarget(tmp_path / "archive", clock).put(NAME, ONE, TYPE)
    assert str(tmp_path) not in caught.value.message


async def test_a_disk_that_hangs_delays_only_its_reader(
    tmp_path: Path, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "package").write_bytes(b"content")
    others_went_on, waited, opens = threading.Event(), [], os.open

    def hang(path: Any, *flags: int) -> int:
        waited.append(others_went_on.wait(10))
        return opens(path, *flags)

    monkeypatch.setattr(os, "open", hang)
    reading = asyncio.create_task(fetch(FolderTarget(tmp_path, clock), "package", 10))
    await asyncio.sleep(0.01)
    others_went_on.set()
    assert await reading == b"content"
    assert waited == [True]


async def test_a_full_disk_leaves_no_half_package(tmp_path: Path, clock: HandClock) -> None:
    class Full(BytesIO):
        def read(self, _: int | None = -1) -> bytes:
            raise OSError(28, "No space left on device")

    with pytest.raises(Unavailable, match="No space left"):
        await FolderTarget(tmp_path, clock).put(NAME, SpooledFile(Full(b"x"), 1, "0" * 64), TYPE)
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


def locked_target(s3_store: Store, lock: Any = "governance", days: int = 30) -> tuple[S3Target, Bucket, HandClock]:
    clock, bucket = HandClock(), s3_store.bucket(locked=True)
    clock.time = dt.datetime.now(dt.UTC)
    return S3Target(bucket.place, s3_store.access(), lock, days, clock), bucket, clock


@pytest.mark.parametrize(
    ("before", "days", "mode", "after"),
    [
        (None, 0, "governance", "GOVERNANCE"),
        ("GOVERNANCE", 1, "governance", "GOVERNANCE"),
        ("GOVERNANCE", 60, "compliance", "COMPLIANCE"),
        ("COMPLIANCE", 1, "governance", "COMPLIANCE"),
        ("COMPLIANCE", 60, "governance", "COMPLIANCE"),
    ],
)
async def test_what_is_there_with_a_weaker_lock_is_locked_as_is_set(
    s3_store: Store, before: Any, days: int, mode: Any, after: str
) -> None:
    target, bucket, clock = locked_target(s3_store, mode)
    until = clock.now().replace(microsecond=0) + dt.timedelta(days=days)
    bucket.put(NAME, b"one" * 500_000, ONE.sha256, lock=Lock(before, until) if before else None)
    kept = await target.put(NAME, ONE, TYPE)
    lock = bucket.head(NAME).lock
    assert lock is not None
    longest = clock.now().replace(microsecond=0) + dt.timedelta(days=max(days, 30))
    assert (lock.mode, lock.until) == (after, longest)
    assert kept.version == bucket.head(NAME).version


async def test_something_else_under_the_name_is_not_locked(s3_store: Store) -> None:
    target, bucket, _ = locked_target(s3_store)
    bucket.put(NAME, b"another", OTHER.sha256)
    with pytest.raises(NameTaken):
        await target.put(NAME, ONE, TYPE)
    assert bucket.head(NAME).lock is None


async def test_a_package_under_a_delete_marker_is_still_there(s3_store: Store) -> None:
    target, bucket, _ = locked_target(s3_store)
    kept = await target.put(NAME, ONE, TYPE)
    bucket.delete(NAME)
    for version in (None, kept.version):
        found = bytearray()

        async def keep(chunk: bytes, found: bytearray = found) -> None:
            found.extend(chunk)

        await target.fetch(NAME, keep, version)
        assert bytes(found) == b"one" * 500_000
    with pytest.raises(NameTaken):
        await target.put(NAME, OTHER, TYPE)
    assert await target.put(NAME, ONE, TYPE) == kept
    assert len(client(bucket).list_object_versions(Bucket=bucket.place.bucket)["Versions"]) == 1


async def test_a_package_that_another_was_put_over_is_still_there(
    s3_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "S3_PAGE", 2)
    target, bucket, _ = locked_target(s3_store)
    kept = await target.put(NAME, ONE, TYPE)
    for name in (f"{NAME}.proof", *([NAME] * 4)):
        bucket.put(name, b"another", OTHER.sha256)
    assert await fetch(target, NAME, 2_000_000) == b"one" * 500_000
    assert await target.put(NAME, ONE, TYPE) == kept
    with pytest.raises(NameTaken):
        await target.put(NAME, OTHER, TYPE)


async def test_a_version_that_is_gone_is_not_found(s3_store: Store) -> None:
    target, bucket, _ = locked_target(s3_store, "none")
    kept = await target.put(NAME, ONE, TYPE)
    await target.put("other", OTHER, TYPE)
    bucket.ask("delete_object", NAME, VersionId=kept.version)

    async def write(_: bytes) -> None: ...

    for version in (None, kept.version):
        with pytest.raises(NotFound, match=r"wsp_1/doc_1\.zip"):
            await target.fetch(NAME, write, version)


async def test_a_store_that_knows_no_versions_is_asked_for_what_it_has(s3_store: Store, clock: HandClock) -> None:
    with spoiling(s3_store) as (proxy, address):
        proxy.spoil("no versions", 100, path="versions")
        target = S3Target(s3_store.bucket().place, s3_store.access(address), "none", 30, clock)
        assert (await target.put(NAME, ONE, TYPE)).version is None
        assert await fetch(target, NAME, 2_000_000) == b"one" * 500_000
        with pytest.raises(NameTaken):
            await target.put(NAME, OTHER, TYPE)


@pytest.mark.parametrize("locked", [False, True])
async def test_without_locks_a_key_without_rights_to_versions_is_enough(
    s3_store: Store, clock: HandClock, locked: bool
) -> None:
    with spoiling(s3_store) as (proxy, address):
        bucket = s3_store.bucket(locked=locked)
        owner = S3Target(bucket.place, s3_store.access(), "none", 30, clock)
        version = (await owner.put("earlier.zip", ONE, TYPE)).version
        for right in ("versions", "versionId"):
            proxy.spoil("denied", 100, path=right)
        target = S3Target(bucket.place, s3_store.access(address), "none", 30, clock)
        for _ in range(2):
            assert (await target.put(NAME, ONE, TYPE)).version is None
        assert await fetch(target, NAME, 2_000_000) == b"one" * 500_000
        with pytest.raises(NameTaken):
            await target.put(NAME, OTHER, TYPE)
        with pytest.raises(NotFound):
            await fetch(target, "missing", 10)
        seen: list[int] = []

        async def note(chunk: bytes) -> None:
            seen.append(len(chunk))

        await target.fetch("earlier.zip", note, version)
        assert sum(seen) == ONE.size_bytes


async def test_a_key_without_rights_to_versions_is_told_which_it_needs(s3_store: Store, clock: HandClock) -> None:
    with spoiling(s3_store) as (proxy, address):
        proxy.spoil("denied", 100, path="versions")
        target = S3Target(s3_store.bucket(locked=True).place, s3_store.access(address), "governance", 30, clock)
        for attempt in (target.put(NAME, ONE, TYPE), fetch(target, NAME, 10)):
            with pytest.raises(Unavailable, match="s3:ListBucketVersions and s3:GetObjectVersion") as denied:
                await attempt
            assert (denied.value.code, len(denied.value.message) < archive_limits.ARCHIVE_ERROR_CHARS) == (
                ErrorCode.STORAGE_UNAVAILABLE,
                True,
            )


async def test_a_slow_bucket_holds_up_no_thread_but_its_own(
    s3_store: Store, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    stalled = threading.Event()
    target = S3Target(s3_store.bucket().place, s3_store.access(), "none", 30, clock)
    monkeypatch.setattr(target._bucket, "first", lambda *_: stalled.wait(60))
    waiting = [asyncio.create_task(target.put(NAME, ONE, TYPE)) for _ in range(50)]
    await asyncio.sleep(0.1)
    assert await asyncio.wait_for(asyncio.to_thread(lambda: 7), 30) == 7
    stalled.set()
    await asyncio.gather(*waiting, return_exceptions=True)


async def test_a_bucket_that_cannot_lock_is_refused_with_what_to_do(s3_store: Store, clock: HandClock) -> None:
    bucket = s3_store.bucket()
    with pytest.raises(ServiceError, match=r"DEEDBOX_ARCHIVE_LOCK=none|did not lock"):
        await S3Target(bucket.place, s3_store.access(), "governance", 30, clock).put(NAME, ONE, TYPE)
    await S3Target(bucket.place, s3_store.access(), "none", 30, clock).put("other", ONE, TYPE)


def settings_for(bucket: Bucket, s3_store: Store) -> dict[str, Any]:
    access = s3_store.access()
    return {
        "archive_url": str(bucket.place),
        "s3_endpoint": access.endpoint,
        "s3_region": access.region,
        "s3_access_key": access.access_key,
        "s3_secret_key": access.secret_key,
    }


async def test_a_package_recognised_by_its_manifest_is_locked_as_is_set(
    tmp_path: Path, clock: HandClock, s3_store: Store
) -> None:
    clock.time = dt.datetime.now(dt.UTC)
    bucket = s3_store.bucket(locked=True)
    settings = settings_for(bucket, s3_store)
    async with archiving(kinds.database_url(tmp_path), tmp_path, clock, archive_lock="none", **settings) as office:
        faulty = office.with_fault()
        faulty.silent = True
        document = await office.sealed()
        await office.tried(document, 1)
        name = f"{office.api.workspace}/{document['id']}.zip"
        assert bucket.head(name).lock is None
        faulty.silent = False
        faulty.inner = S3Target(bucket.place, s3_store.access(), "compliance", 30, clock)
        office.archive.push.key = ManifestKey(Secret("another"))
        clock.forward(60)
        receipt = (await office.when(document, "archived"))["archive"]["receipt"]
        found = bucket.head(name)
        assert found.lock == Lock("COMPLIANCE", clock.now().replace(microsecond=0) + dt.timedelta(days=30))
        assert (receipt["version"], receipt["etag"], receipt["sha256"]) == (found.version, found.etag, found.sha256)


async def test_a_document_is_archived_in_s3(
    database_url: str, tmp_path: Path, clock: HandClock, s3_store: Store
) -> None:
    clock.time = dt.datetime.now(dt.UTC)
    bucket = s3_store.bucket(locked=True)
    async with archiving(database_url, tmp_path, clock, **settings_for(bucket, s3_store)) as office:
        document = await office.archived()
        receipt = document["archive"]["receipt"]
        assert receipt["location"] == f"{bucket.place}/{office.api.workspace}/{document['id']}.zip"
        stored = bucket.head(f"{office.api.workspace}/{document['id']}.zip")
        assert (stored.sha256, stored.size_bytes) == (receipt["sha256"], receipt["size_bytes"])
        assert stored.lock is not None
        bucket.delete(f"{office.api.workspace}/{document['id']}.zip")  # which only hides it
        served = await office.api.get(f"/api/v1/documents/{document['id']}/archive/package")
        assert hashlib.sha256(served.content).hexdigest() == receipt["sha256"]
        found: list[Any] = []
        await office.archive.verification().all(found.append)
        assert [one.problem for one in found] == [None]


# HTTPS


async def web(archive_sink: Sink) -> tuple[HttpsTarget, Egress]:
    egress = Egress(networks("127.0.0.0/8"))
    return HttpsTarget(archive_sink.url, Secret(KEY), egress), egress


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


async def test_a_package_that_is_read_slowly_holds_up_nothing_else_that_goes_out(
    archive_sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("EGRESS_CONNECTIONS", "EGRESS_SECONDS"):
        monkeypatch.setattr(limits, name, 1)
    monkeypatch.setattr(limits, "ARCHIVE_STALL_SECONDS", 5)
    target, egress = await web(archive_sink)
    await target.put(NAME, ONE, TYPE)
    begun, may_go_on = asyncio.Event(), asyncio.Event()

    async def take(_: bytes) -> None:
        begun.set()
        await may_go_on.wait()

    reading = asyncio.create_task(target.fetch(NAME, take))
    await begun.wait()
    assert (await egress.send(Request("GET", target.location(NAME), headers={}, limit=10))).status == 200
    await target.put("other.zip", OTHER, TYPE)
    assert not reading.done()
    may_go_on.set()
    await reading
    await target.close()
    await egress.close()


async def test_an_archive_that_does_not_answer_is_unavailable() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        egress = Egress(networks("127.0.0.0/8"))
        target = HttpsTarget(f"http://127.0.0.1:{closed.getsockname()[1]}", Secret(KEY), egress)
        with pytest.raises(Unavailable):
            await fetch(target, NAME, 1000)
        with pytest.raises(Unavailable):
            await target.put(NAME, ONE, TYPE)
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
        path = f"/api/v1/documents/{document['id']}/archive/package"
        assert (await office.api.get(path)).content == archive_sink.kept[name]


async def test_an_address_inside_needs_to_be_allowed(
    database_url: str, tmp_path: Path, clock: HandClock, archive_sink: Sink
) -> None:
    async with archiving(database_url, tmp_path, clock, archive_url=archive_sink.url) as office:
        document = await office.sealed()
        assert "not public" in (await office.tried(document, 1))["archive"]["error"]
        assert archive_sink.heads == []

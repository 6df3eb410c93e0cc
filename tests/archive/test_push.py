"""Completed documents are in the archive by themselves: once each, whatever happens on the way."""

import asyncio
import hashlib
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import bagit
import pytest

from deedbox.archive import limits as archive_limits
from deedbox.archive import package, push, store
from deedbox.kernel import limits
from deedbox.kernel.crypto import Secret
from tests.api.conftest import opened
from tests.api.signing.conftest import LEASE, Office
from tests.archive.conftest import DAY, KEY, Archivist, archiving, entries
from tests.conftest import HandClock
from tests.kinds import kinds

pytestmark = pytest.mark.anyio


async def standing(office: Archivist, document: Any, status: str) -> None:
    """Waits until its archiving stands so, whichever workspace this life of the office has its key for."""
    async with asyncio.timeout(60):
        where = f"select status from archives where document_id = '{document['id']}'"
        while await office.api.rows(where) != [(status,)]:
            await asyncio.sleep(0.05)


async def test_a_completed_document_is_archived_without_any_call(office: Archivist) -> None:
    document = await office.archived()
    found = entries(office.package(document).read_bytes())
    assert list(found) == [
        "bagit.txt",
        "bag-info.txt",
        "manifest-sha256.txt",
        "tagmanifest-sha256.txt",
        "authentication.txt",
        "data/sealed.pdf",
        "data/certificate.pdf",
        "data/evidence.json",
        "data/original/01-lease.pdf",
        "data/timestamp.tst",
    ]
    base = f"/api/v1/documents/{document['id']}"
    assert found["data/original/01-lease.pdf"] == LEASE
    assert found["data/sealed.pdf"] == (await office.api.get(f"{base}/signed")).content
    assert found["data/certificate.pdf"] == (await office.api.get(f"{base}/certificate")).content
    assert found["data/evidence.json"] == (await office.api.get(f"{base}/evidence")).content
    assert found["data/timestamp.tst"][:1] == b"\x30"


async def test_the_receipt_tells_what_lies_where(office: Archivist) -> None:
    document = await office.archived()
    content = office.package(document).read_bytes()
    manifest = entries(content)["manifest-sha256.txt"]
    shown = document["archive"]
    assert (shown["status"], shown["attempts"], shown["error"]) == ("archived", 1, None)
    assert shown["receipt"] == {
        "location": f"file:{office.api.workspace}/{document['id']}.zip",
        "sha256": hashlib.sha256(content).hexdigest(),
        "size_bytes": len(content),
        "manifest_sha256": hashlib.sha256(manifest).hexdigest(),
        "archived_at": shown["archived_at"],
        "version": None,
        "etag": None,
        "answer": None,
    }


async def test_another_program_finds_the_bag_valid(office: Archivist, tmp_path: Path) -> None:
    document = await office.archived(title="Miete\r\nund Pacht: ein Vertrag")
    for path, content in entries(office.package(document).read_bytes()).items():
        place = tmp_path / "bag" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    bag = bagit.Bag(str(tmp_path / "bag"))
    assert bag.validate()
    assert bag.info["External-Identifier"] == document["id"]
    assert bag.info["External-Description"] == "Miete und Pacht: ein Vertrag"
    (tmp_path / "bag" / "data" / "sealed.pdf").write_bytes(b"another")
    with pytest.raises(bagit.BagValidationError):
        bag.validate()


async def test_without_the_key_nothing_is_pushed_and_nothing_fails(
    database_url: str, tmp_path: Path, clock: HandClock
) -> None:
    async with opened(database_url, tmp_path, clock) as made:
        await made.settle()
        await made.deedbox.start()
        plain = Office(made)
        document = await plain.sealed()
        await made.deedbox.stop()
        disabled = {"status": "disabled", "attempts": 0, "archived_at": None, "receipt": None, "error": None}
        assert document["archive"] == disabled
        assert await made.rows("select kind from jobs where kind like 'archive%'") == []
        assert await made.rows("select * from archives") == []
        assert not (tmp_path / "archive").exists()


async def test_a_day_of_outage_delays_packages_and_loses_none(office: Archivist, clock: HandClock) -> None:
    faulty = office.with_fault()
    faulty.down = True
    documents = [await office.sealed() for _ in range(2)]
    for attempts in range(1, 8):
        for document in documents:
            shown = (await office.tried(document, attempts))["archive"]
            assert (shown["status"], shown["error"]) == ("failed", "The archive is down")
        clock.forward(limits.WEBHOOK_RETRY_SECONDS[attempts] * (1 + limits.WEBHOOK_JITTER))
    assert office.packages() == []
    faulty.down = False
    clock.forward(DAY)
    documents += [await office.archived()]
    for document in documents:
        assert (await office.when(document, "archived"))["archive"]["error"] is None
    assert office.packages() == sorted(f"{document['id']}.zip" for document in documents)
    assert sorted(faulty.puts) == sorted(f"{office.api.workspace}/{document['id']}.zip" for document in documents)


async def test_a_package_whose_arrival_was_not_seen_is_recognised(office: Archivist, clock: HandClock) -> None:
    faulty = office.with_fault()
    faulty.silent = True
    document = await office.sealed()
    await office.tried(document, 1)
    before = office.package(document).stat()
    faulty.silent = False
    clock.forward(60)
    shown = (await office.when(document, "archived"))["archive"]
    assert shown["attempts"] == 2
    assert shown["receipt"]["sha256"] == hashlib.sha256(office.package(document).read_bytes()).hexdigest()
    after = office.package(document).stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


async def test_the_same_payload_authenticated_with_another_key_counts_as_archived(
    office: Archivist, clock: HandClock
) -> None:
    faulty = office.with_fault()
    faulty.silent = True
    document = await office.sealed()
    await office.tried(document, 1)
    faulty.silent = False
    office.archive.push.key = package.ManifestKey(Secret("another"))
    clock.forward(60)
    shown = (await office.when(document, "archived"))["archive"]
    assert shown["receipt"]["sha256"] == hashlib.sha256(office.package(document).read_bytes()).hexdigest()


async def test_something_else_under_the_name_is_an_error_that_is_seen_and_stays(
    office: Archivist, clock: HandClock
) -> None:
    faulty = office.with_fault()
    faulty.down = True
    document = await office.sealed()
    await office.tried(document, 1)
    place = office.package(document)
    place.parent.mkdir(parents=True)
    place.write_bytes(b"something else")
    faulty.down = False
    clock.forward(60)
    shown = (await office.tried(document, 2))["archive"]
    assert shown["error"].startswith(f"Something else lies under {office.api.workspace}/{document['id']}.zip")
    assert place.read_bytes() == b"something else"


async def test_a_package_is_the_same_whenever_it_is_made(office: Archivist, clock: HandClock, tmp_path: Path) -> None:
    document = await office.archived()
    first = office.package(document).read_bytes()
    office.package(document).unlink()
    row = await office.api.deedbox.db.read(lambda tx: store.find(tx, document["id"]))
    assert row is not None
    clock.forward(DAY * 400)
    push = office.archive.push
    assert push.key is not None
    receipt = await push._pushed(row.bag, push.key)
    assert office.package(document).read_bytes() == first
    assert receipt.sha256 == hashlib.sha256(first).hexdigest()


async def test_a_file_that_rotted_in_the_store_is_not_archived_as_if_it_were_good(office: Archivist) -> None:
    faulty = office.with_fault()
    faulty.down = True
    document = await office.sealed()
    await office.tried(document, 1)
    sha256 = hashlib.sha256(LEASE).hexdigest()
    data = office.folder.parent
    (location,) = (one for one in kinds.stored(data) if sha256 in one)
    kinds.damage(data, location, bytes([LEASE[0] ^ 1]) + LEASE[1:])
    faulty.down = False
    office.api.clock.forward(60)
    assert "is not the one that was stored" in (await office.tried(document, 2))["archive"]["error"]


async def test_a_lost_original_keeps_no_document_from_being_planned_and_is_named(
    database_url: str, tmp_path: Path, clock: HandClock
) -> None:
    async with archiving(database_url, tmp_path, clock, service_ecosystem_key=None) as office:
        await office.sealed()
        sha256 = hashlib.sha256(LEASE).hexdigest()
        deedbox = office.api.deedbox
        for table in ("blob_refs", "blobs"):
            await deedbox.db.write(lambda tx, table=table: tx.run(f"delete from {table} where sha256 = '{sha256}'"))  # type: ignore[misc]
    async with archiving(database_url, tmp_path, clock) as office:
        async with asyncio.timeout(60):
            while not (found := await office.api.rows("select error from archives where status = 'failed'")):
                await asyncio.sleep(0.05)
        assert "has lost the file for data/original/01-lease.pdf: " in str(found)


async def test_a_lost_original_that_is_back_is_in_a_whole_package(
    database_url: str, tmp_path: Path, clock: HandClock
) -> None:
    async with archiving(database_url, tmp_path, clock, service_ecosystem_key=None) as office:
        document = await office.sealed()
        db, lost = office.api.deedbox.db, f"from blobs where sha256 = '{hashlib.sha256(LEASE).hexdigest()}'"
        [blob] = await office.api.rows(f"select sha256, size_bytes, location, created_at {lost}")
        for table in ("blob_refs", "blobs"):
            await db.write(lambda tx, table=table: tx.run(f"delete {lost.replace('blobs', table)}"))  # type: ignore[misc]
    async with archiving(database_url, tmp_path, clock) as office:
        db = office.api.deedbox.db
        await standing(office, document, "failed")
        names = ("sha256", "size", "location", "at")
        await db.write(
            lambda tx: tx.run(
                "insert into blobs (sha256, size_bytes, location, created_at) values (:sha256, :size, :location, :at)",
                **dict(zip(names, blob, strict=True)),
            )
        )
        await office.archive.backfill.retry(document["id"])
        await standing(office, document, "archived")
        [place] = office.folder.rglob("*.zip")
        found = entries(place.read_bytes())
        assert found["data/original/01-lease.pdf"] == LEASE
        payload = [content for path, content in found.items() if path.startswith("data/")]
        assert f"Payload-Oxum: {sum(map(len, payload))}.{len(payload)}\n".encode() in found["bag-info.txt"]


async def test_the_key_is_nowhere_in_the_archive_or_the_database(office: Archivist) -> None:
    document = await office.archived()
    for path in office.folder.parent.rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes()
    rows = await office.api.rows(f"select bag, receipt, error from archives where document_id = '{document['id']}'")
    assert KEY not in json.dumps(rows)


async def test_a_process_without_the_key_puts_a_push_off_for_one_that_has_it(
    database_url: str, tmp_path: Path, clock: HandClock, caplog: pytest.LogCaptureFixture
) -> None:
    async with archiving(database_url, tmp_path, clock) as office:
        office.with_fault().down = True
        document = await office.sealed()
        await office.tried(document, 1)
    clock.forward(60)
    async with archiving(database_url, tmp_path, clock, service_ecosystem_key=None) as office:
        everything = "select id from jobs where kind = 'archive' order by id"
        before = await office.api.rows(everything)
        waiting: list[Any] = []
        for _ in range(3):
            due = clock.now().timestamp() + archive_limits.ARCHIVE_KEYLESS_SECONDS
            async with asyncio.timeout(60):
                while waiting != [(due, 0, None)]:
                    office.api.deedbox.jobs.wake()
                    await asyncio.sleep(0.02)
                    waiting = await office.api.rows(
                        "select run_at, attempts, error from jobs where kind = 'archive' and state = 'ready'"
                    )
            clock.forward(archive_limits.ARCHIVE_KEYLESS_SECONDS)
        # It is the same job each time: however long this goes on, there is no more of it in the database or the log.
        assert await office.api.rows(everything) == before
        assert caplog.text.count("the archive waits: this process has not got its key") == 1
        assert await office.api.rows("select status, attempts from archives") == [("failed", 1)]
        assert office.packages() == []
    clock.forward(archive_limits.ARCHIVE_KEYLESS_SECONDS)
    async with archiving(database_url, tmp_path, clock) as office:
        await standing(office, document, "archived")
        assert office.packages() == [f"{document['id']}.zip"]


async def test_what_was_completed_while_there_was_no_key_is_archived_by_the_next_round(
    database_url: str, tmp_path: Path, clock: HandClock
) -> None:
    async with archiving(database_url, tmp_path, clock, service_ecosystem_key=None) as office:
        before = await office.sealed()
        assert before["archive"]["status"] == "disabled"
    clock.forward(DAY)
    async with archiving(database_url, tmp_path, clock) as office:
        await office.archived()
        await standing(office, before, "archived")
    clock.forward(DAY)
    async with archiving(database_url, tmp_path, clock, service_ecosystem_key=None) as office:
        missed = await office.sealed()
        assert missed["archive"]["status"] == "disabled"
    async with archiving(database_url, tmp_path, clock) as office:
        await standing(office, missed, "archived")
        backfill = office.archive.backfill
        backfill._db = cast(Any, SimpleNamespace(read=backfill._db.read))
        assert await backfill.plan() == 0  # without a look at what it could write


async def test_with_the_key_a_document_waits_for_the_archive_from_the_beginning(
    database_url: str, tmp_path: Path, clock: HandClock
) -> None:
    async with archiving(database_url, tmp_path, clock) as office:
        draft, sent = await office.create(), await office.create(send=True)
        listed = (await office.api.get("/api/v1/documents")).json()["documents"]
        assert {one["id"]: one["archive"]["status"] for one in listed} == dict.fromkeys(
            (draft["id"], sent["id"]), "pending"
        )
        assert [one["archive"]["status"] for one in (draft, sent)] == ["pending", "pending"]
        changed = await office.api.call("PATCH", f"/api/v1/documents/{draft['id']}", json={"title": "Another"})
        assert changed.json()["archive"]["status"] == "pending"
        voided = await office.api.post(f"/api/v1/documents/{sent['id']}/void", {})
        assert voided.json()["archive"]["status"] == "disabled", "what was never completed is never archived"


def test_the_waits_are_those_of_webhooks_and_then_a_day_for_ever() -> None:
    for attempts in range(1, 40):
        base = limits.WEBHOOK_RETRY_SECONDS[min(attempts, 9)]
        assert base * 0.8 <= push.delay(attempts) <= base * 1.2
    assert limits.WEBHOOK_RETRY_SECONDS[-1] == DAY

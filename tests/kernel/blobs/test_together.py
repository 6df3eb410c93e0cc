"""Many who store the same bytes at once do not wait for each other in vain."""

import asyncio
import threading
from datetime import UTC, datetime

import pytest

from deedbox.kernel.blobs import Blob, ReceivedBlob
from deedbox.kernel.blobs import store as blobs
from deedbox.kernel.db import Database, Tx
from deedbox.kernel.db.postgres import PostgresDatabase
from deedbox.kernel.errors import Unavailable
from tests.kernel.counted import Counted

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 3, 1, tzinfo=UTC)
PATIENCE = 60


async def test_the_same_bytes_adopted_at_once_conflict_with_nobody(db: Database) -> None:
    sha256 = "ab" * 32
    runs = 0

    def adopt(tx: Tx, number: int) -> str:
        nonlocal runs
        runs += 1
        received = ReceivedBlob(Blob(sha256, 3, f"ab/{number:032}"))
        return blobs.adopt(tx, received, f"doc_{number}", NOW).location

    first = await db.write(lambda tx: adopt(tx, 0))
    runs = 0
    found = await asyncio.gather(*(db.write(lambda tx, number=number: adopt(tx, number)) for number in range(1, 33)))  # type: ignore[misc]
    assert set(found) == {first}
    owners = await db.read(lambda tx: tx.all("select owner from blob_refs where sha256 = :sha256", sha256=sha256))
    assert len(owners) == 33
    assert runs == 32, "some had to try again"


async def test_several_new_files_take_two_statements(db: Database) -> None:
    def adopt(tx: Tx) -> int:
        counted = Counted(tx)
        received = [
            ReceivedBlob(Blob(f"{number:02x}" * 32, number, f"{number:02x}/{number:032}")) for number in range(20)
        ]
        assert blobs.adopt_all(counted, received, "doc_1", NOW) == [one.blob for one in received]
        return len(counted.statements)

    assert await db.write(adopt) == 2
    assert await _stored(db) == (20, 20, 0)


async def test_of_files_with_the_same_bytes_one_is_kept_whether_they_come_together_or_were_there_before(
    db: Database,
) -> None:
    def received(number: int) -> ReceivedBlob:
        return ReceivedBlob(Blob(f"{number % 3:02x}" * 32, 5, f"{number % 3:02x}/{number:032}"))

    def adopt(tx: Tx, numbers: list[int], owner: str) -> list[str]:
        return [one.location for one in blobs.adopt_all(tx, [received(number) for number in numbers], owner, NOW)]

    [first] = await db.write(lambda tx: adopt(tx, [0], "doc_1"))
    found = await db.write(lambda tx: adopt(tx, [1, 3, 4, 5], "doc_2"))
    assert found == [received(1).blob.location, first, received(1).blob.location, received(5).blob.location]
    assert await _stored(db) == (3, 4, 2)


async def test_of_several_files_none_is_kept_if_one_was_condemned(db: Database) -> None:
    received = [ReceivedBlob(Blob(f"{number:02x}" * 32, 5, f"{number:02x}/{number:032}")) for number in range(3)]
    await db.write(lambda tx: blobs.condemn(tx, [received[1].blob.location], NOW))
    with pytest.raises(Unavailable, match="took too long"):
        await db.write(lambda tx: blobs.adopt_all(tx, received, "doc_1", NOW))
    assert await _stored(db) == (0, 0, 1)


async def _stored(db: Database) -> tuple[int, ...]:
    """How many blobs, references and pieces of trash there are."""
    tables = ("blobs", "blob_refs", "blob_trash")
    return tuple([len(await db.read(lambda tx, name=name: tx.all(f"select 1 from {name}"))) for name in tables])  # type: ignore[misc]


async def test_a_file_that_new_owners_share_while_its_last_owner_lets_go_stays(postgres_url: str) -> None:
    sha256, shared, released = "cd" * 32, threading.Event(), threading.Event()
    db = PostgresDatabase(postgres_url)
    await db.write(lambda tx: blobs.adopt(tx, ReceivedBlob(Blob(sha256, 3, "cd/1")), "tpl_1", NOW))

    def share(tx: Tx) -> None:
        blobs.share(tx, [sha256], ["doc_1", "doc_2"])
        shared.set()
        assert released.wait(PATIENCE)

    def release(tx: Tx) -> None:
        tx.one("select 1 from blobs")  # from here on it sees the references of this moment
        released.set()
        blobs.release_all(tx, "tpl_1", NOW)

    sharing = asyncio.create_task(db.write(share, isolation="repeatable read"))
    assert await asyncio.to_thread(shared.wait, PATIENCE)
    await db.write(release)
    await sharing
    owners = await db.read(lambda tx: tx.all("select owner from blob_refs where sha256 = :sha256", sha256=sha256))
    assert {owner for (owner,) in owners} == {"doc_1", "doc_2"}
    await db.close()

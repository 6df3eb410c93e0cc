"""Many who store the same bytes at once do not wait for each other in vain."""

import asyncio
from datetime import UTC, datetime

import pytest

from deedbox.kernel.blobs import Blob, Received
from deedbox.kernel.blobs import store as blobs
from deedbox.kernel.db import Database, Tx

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 3, 1, tzinfo=UTC)


async def test_the_same_bytes_adopted_at_once_conflict_with_nobody(db: Database) -> None:
    sha256 = "ab" * 32
    runs = 0

    def adopt(tx: Tx, number: int) -> str:
        nonlocal runs
        runs += 1
        received = Received(Blob(sha256, 3, f"ab/{number:032}"))
        return blobs.adopt(tx, received, f"doc_{number}", NOW).location

    first = await db.write(lambda tx: adopt(tx, 0))
    runs = 0
    found = await asyncio.gather(*(db.write(lambda tx, number=number: adopt(tx, number)) for number in range(1, 33)))  # type: ignore[misc]
    assert set(found) == {first}
    owners = await db.read(lambda tx: tx.all("select owner from blob_refs where sha256 = :sha256", sha256=sha256))
    assert len(owners) == 33
    assert runs == 32, "some had to try again"

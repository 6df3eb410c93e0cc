"""What can be made again is kept within a bound, and goes with the file that it was made from."""

import hashlib
import os
from pathlib import Path

import pytest

from deedbox.kernel.blobs import store
from deedbox.kernel.blobs.local import LocalBlobs
from deedbox.kernel.db import Database
from deedbox.kernel.derived import Derived
from tests.conftest import HandClock

pytestmark = pytest.mark.anyio
ONE, OTHER = (hashlib.sha256(name).hexdigest() for name in (b"one", b"other"))


async def test_what_was_kept_is_found_and_nothing_else(tmp_path: Path) -> None:
    derived = Derived(tmp_path / "derived")
    assert await derived.find(ONE, "1.webp") is None
    await derived.keep(ONE, "1.webp", b"a picture")
    assert await derived.find(ONE, "1.webp") == b"a picture"
    assert (await derived.find(ONE, "2.webp"), await derived.find(OTHER, "1.webp")) == (None, None)
    await derived.keep(ONE, "1.webp", b"another")
    assert await derived.find(ONE, "1.webp") == b"another"
    assert [path.name for path in (tmp_path / "derived").rglob("*.webp*")] == ["1.webp"]


async def test_it_goes_with_the_file_that_it_was_made_from(db: Database, tmp_path: Path, clock: HandClock) -> None:
    derived, blobs = Derived(tmp_path / "derived"), LocalBlobs(tmp_path / "blobs")
    async with blobs.receive(100) as incoming:
        await incoming.write(b"one")
        received = await incoming.finish()
        await db.write(lambda tx: store.adopt(tx, received, "doc_1", clock.now()))
    for sha256 in (ONE, OTHER):
        await derived.keep(sha256, "1.webp", b"a picture")
    assert await derived.sweep(db) == 1
    assert (await derived.find(ONE, "1.webp"), await derived.find(OTHER, "1.webp")) == (b"a picture", None)
    await db.write(lambda tx: store.release_all(tx, "doc_1", clock.now()))
    assert await derived.sweep(db) == 1
    assert await derived.find(ONE, "1.webp") is None
    assert not [path for path in (tmp_path / "derived").rglob("*") if path.is_file()]


async def test_what_was_not_used_longest_goes_when_there_is_too_much(tmp_path: Path) -> None:
    derived = Derived(tmp_path / "derived", most_bytes=1000)
    names = [hashlib.sha256(bytes([number])).hexdigest() for number in range(40)]
    for age, sha256 in enumerate(names):
        await derived.keep(sha256, "1.webp", b"x" * 90)
        path = next((tmp_path / "derived").glob(f"??/{sha256}/1.webp"))
        os.utime(path, (age, age))
    await derived.find(names[35], "1.webp")  # is used now
    await derived.keep(names[0], "1.webp", b"x" * 130)
    kept = [sha256 for sha256 in names if await derived.find(sha256, "1.webp")]
    assert sum(path.stat().st_size for path in (tmp_path / "derived").rglob("*.webp")) <= 1000
    assert {names[0], names[35], names[39]} <= set(kept)
    assert names[1] not in kept


async def test_a_disk_that_takes_nothing_refuses_nothing(tmp_path: Path) -> None:
    (tmp_path / "derived").write_bytes(b"a file where the folder should be")
    derived = Derived(tmp_path / "derived")
    await derived.keep(ONE, "1.webp", b"a picture")
    assert await derived.find(ONE, "1.webp") is None

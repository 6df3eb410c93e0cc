"""A server that lacks an index takes a snapshot and replays the rest; with one that is no good, it builds it itself."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from deedbox import wiring
from deedbox.kernel import jobs
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.blobs import Blob
from deedbox.kernel.blobs import store as blobs_store
from deedbox.kernel.blobs.s3 import S3Blobs
from deedbox.kernel.db import Database
from deedbox.kernel.errors import Unavailable
from deedbox.kernel.settings import load
from deedbox.search import limits
from deedbox.search.chunks import store as chunk_store
from deedbox.search.index import IndexWarming
from deedbox.search.snapshots.plan import SNAPSHOT_JOB
from tests import s3
from tests.conftest import HandClock
from tests.kinds import kinds
from tests.search.corpus import Corpus
from tests.search.hashing import HashingEmbedder
from tests.search.snapshots import Machine, Site

pytestmark = pytest.mark.anyio
DAY = limits.SNAPSHOT_SECONDS


@pytest.fixture
async def site(db: Database, clock: HandClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Site]:
    for name, value in {
        "INDEX_NEAR_CHUNKS": 1,
        "SNAPSHOT_CHUNKS": 3,
        "SNAPSHOT_PIECE_BYTES": 2000,
        "SNAPSHOT_BLOCK_BYTES": 700,
    }.items():
        monkeypatch.setattr(limits if hasattr(limits, name) else shared_limits, name, value)
    corpus = Corpus(db, clock, tmp_path)
    await corpus.settle()
    made = Site(corpus, corpus.blobs, tmp_path)
    yield made
    await made.close()
    await corpus.engine.close()


async def fill(site: Site, *numbers: int) -> list[str]:
    return [await site.corpus.indexed(f"rent {number}\n\nmore of {number}") for number in numbers]


async def answers(site: Site, machine: Machine) -> list[str]:
    return await site.corpus.words("rent more", machine.engine)


async def the_same_as_built(site: Site, machine: Machine) -> None:
    """What it answers is what an index answers that was built from the database alone."""
    alone = site.machine()
    alone.engine.builds.snapshots = None
    await patiently(site, alone)
    assert await answers(site, machine) == await answers(site, alone) != []


async def patiently(site: Site, machine: Machine) -> None:
    serving = await machine.engine.serving(site.corpus.workspace)
    await machine.engine.index(site.corpus.workspace, serving, patient=True)


async def test_a_new_machine_takes_the_snapshot_and_replays_the_rest(site: Site) -> None:
    first = await fill(site, *range(6))
    made = await site.make()
    assert (made.watermark, made.chunks) == (6, 12)
    assert len(made.contents.pieces) > 3, "it lies in several blobs"
    later = await fill(site, 6)
    await site.corpus.delete(first[0])
    machine = site.machine()
    await patiently(site, machine)
    assert machine.built == [*later, first[0]]
    assert machine.engine.builds.percent is None
    await the_same_as_built(site, machine)
    assert not list(machine.folder.rglob("*.incoming"))


async def test_two_machines_with_disks_of_their_own_share_it_through_a_bucket(
    site: Site, s3_store: s3.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SNAPSHOT_PIECE_BYTES", 20_000)
    bucket = s3_store.bucket()
    site.blobs = S3Blobs(bucket, part_bytes=6000)
    await fill(site, *range(6))
    made = await site.make()
    assert len(s3.names(bucket)) == len(made.contents.pieces)
    machine = site.machine()
    await patiently(site, machine)
    assert machine.built == []
    await the_same_as_built(site, machine)
    site.corpus.clock.forward(DAY)
    await fill(site, 7, 8, 9)
    again = await site.make()
    now = site.corpus.clock.now()
    await site.blobs.sweep(site.corpus.db, now)
    assert again.id != made.id
    assert len(s3.names(bucket)) == len(again.contents.pieces), "nothing is left of the former one"
    await site.blobs.close()


async def test_a_machine_that_was_away_for_long_takes_it_in_place_of_its_own(site: Site) -> None:
    await fill(site, 1)
    machine = site.machine()
    await patiently(site, machine)
    assert len(await answers(site, machine)) == 2
    await fill(site, *range(2, 8))
    await site.make()
    machine.built.clear()
    await patiently(site, machine)
    assert machine.built == []
    await the_same_as_built(site, machine)


async def test_one_that_would_help_little_is_not_taken(site: Site) -> None:
    await fill(site, 1, 2)
    await site.make()
    later = await fill(site, *range(3, 9))
    machine = site.machine()
    await patiently(site, machine)
    assert machine.built[2:] == later


async def _alter(site: Site, blob: Blob) -> None:
    content = await site.blobs.read(blob.location, blob.size_bytes)
    kinds.damage(site.corpus.folder, blob.location, content[:-1] + b"?")


async def _lose(site: Site, blob: Blob) -> None:
    kinds.damage(site.corpus.folder, blob.location, None)


async def _cut(site: Site, blob: Blob) -> None:
    content = await site.blobs.read(blob.location, blob.size_bytes)
    kinds.damage(site.corpus.folder, blob.location, content[:-1])


async def _forget_the_row(site: Site, blob: Blob) -> None:
    await site.corpus.db.write(lambda tx: tx.run("delete from blob_refs where sha256 = :id", id=blob.sha256))
    await site.corpus.db.write(lambda tx: tx.run("delete from blobs where sha256 = :id", id=blob.sha256))


async def _mix_the_files(site: Site, blob: Blob) -> None:
    swap = "update index_snapshots set contents = replace(contents, '\"names.0\"', '\"names.9\"')"
    await site.corpus.db.write(lambda tx: tx.run(swap))


async def _leave_out_the_manifest(site: Site, blob: Blob) -> None:
    swap = "update index_snapshots set contents = replace(contents, '\"manifest.json\"', '\"manifest.old\"')"
    await site.corpus.db.write(lambda tx: tx.run(swap))


@pytest.mark.parametrize("harm", [_alter, _lose, _cut, _forget_the_row, _mix_the_files, _leave_out_the_manifest])
async def test_one_that_is_no_good_is_dropped_and_the_index_built(
    site: Site, harm: Callable[[Site, Blob], Awaitable[None]]
) -> None:
    uploads = await fill(site, *range(6))
    made = await site.make()
    piece = made.contents.pieces[1]
    await harm(site, await site.corpus.db.read(lambda tx: blobs_store.demand(tx, piece.sha256)))
    machine = site.machine()
    await patiently(site, machine)
    assert machine.built == uploads
    await the_same_as_built(site, machine)
    assert await site.snapshot() is None
    owned = "select count(*) from blob_refs where owner like 'snapshot:%'"
    assert await site.corpus.db.read(lambda tx: tx.one(owned)) == (0,)
    assert await site.plan() == 1, "a new one is to be made"


@pytest.mark.parametrize("change", ["format = format + 1", "watermark = 99"])
async def test_one_of_another_format_or_ahead_of_the_log_is_left_alone(site: Site, change: str) -> None:
    uploads = await fill(site, *range(6))
    await site.make()
    await site.corpus.db.write(lambda tx: tx.run(f"update index_snapshots set {change}"))
    machine = site.machine()
    await patiently(site, machine)
    assert machine.built == uploads
    assert await site.snapshot() is not None


async def test_it_stays_when_only_the_store_is_away(site: Site) -> None:
    uploads = await fill(site, *range(6))
    await site.make()
    machine = site.machine()
    machine.engine.builds.snapshots._blobs = _Away()  # type: ignore[union-attr]
    await patiently(site, machine)
    assert machine.built == uploads
    assert await site.snapshot() is not None


class _Away:
    def open_range(self, location: str, *, chunk_bytes: int) -> AsyncIterator[bytes]:
        raise Unavailable(f"The store does not answer: {location}, {chunk_bytes} bytes.")


async def test_an_index_that_is_built_anew_on_demand_is_built_from_the_database(site: Site) -> None:
    uploads = await fill(site, *range(6))
    await site.make()
    machine = site.machine()
    serving = await machine.engine.serving(site.corpus.workspace)
    index = machine.engine.workspace_index(site.corpus.workspace, serving)
    index.distrust()
    await index.current(patient=True)
    assert machine.built == uploads


async def test_who_asks_meanwhile_is_told_how_much_is_there(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "INDEX_WAIT_SECONDS", 0.01)
    monkeypatch.setattr(limits, "SNAPSHOT_PARALLEL", 1)
    await fill(site, *range(6))
    made = await site.make()
    machine = site.machine()
    slow = _Slow(site, sum(piece.size_bytes for piece in made.contents.pieces) // 2)
    machine.engine.builds.snapshots._blobs = slow  # type: ignore[union-attr]
    with pytest.raises(IndexWarming):
        await answers(site, machine)
    await slow.reached.wait()
    assert machine.engine.builds.percent in range(30, 60)
    with pytest.raises(IndexWarming, match=f"{machine.engine.builds.percent} %"):
        await answers(site, machine)
    slow.go_on.set()
    await patiently(site, machine)
    assert machine.built == []


class _Slow:
    """Gives so many bytes, and the rest when it is told."""

    def __init__(self, site: Site, most: int) -> None:
        self._site, self._left = site, most
        self.reached, self.go_on = asyncio.Event(), asyncio.Event()

    async def open_range(self, location: str, *, chunk_bytes: int) -> AsyncIterator[bytes]:
        if self._left < 0:
            self.reached.set()
            await self.go_on.wait()
        async for data in self._site.blobs.open_range(location, chunk_bytes=chunk_bytes):
            self._left -= len(data)
            yield data


async def test_it_is_made_after_large_changes_and_at_most_daily(site: Site) -> None:
    await fill(site, 1)
    assert await site.plan() == 0, "so small a library needs none"
    await fill(site, 2)
    made = await site.make()
    await fill(site, 3, 4, 5)
    assert await site.plan() == 0, "it is not a day old"
    site.corpus.clock.forward(DAY)
    again = await site.make()
    assert (again.chunks, again.id != made.id) == (10, True)
    site.corpus.clock.forward(DAY)
    assert await site.plan() == 0, "nothing has changed"


async def test_a_day_after_it_was_made_nothing_deleted_is_in_a_snapshot(site: Site) -> None:
    uploads = await fill(site, *range(6))
    made = await site.make()
    assert uploads[2].encode() in await site.stored(made)
    await site.corpus.delete(uploads[2])
    site.corpus.clock.forward(DAY - 1)
    await site.plan()
    assert await site.snapshot() == made
    site.corpus.clock.forward(1)
    assert await site.plan() == 1
    assert await site.snapshot() is None, "it goes, whether or not a new one can be made"
    locations = kinds.stored(site.corpus.folder)
    await site.blobs.sweep(site.corpus.db, site.corpus.clock.now())
    left = kinds.stored(site.corpus.folder)
    assert len(locations) - len(left) >= len(made.contents.pieces)
    again = await site.make()
    assert uploads[2].encode() not in await site.stored(again)
    assert uploads[3].encode() in await site.stored(again)


async def test_one_of_a_library_that_has_become_empty_goes_too(site: Site) -> None:
    uploads = await fill(site, *range(3))
    await site.make()
    for upload in uploads:
        await site.corpus.delete(upload)
    site.corpus.clock.forward(DAY)
    assert await site.plan() == 0
    assert await site.snapshot() is None


async def test_what_is_deleted_while_it_is_made_counts_as_deleted_since(site: Site) -> None:
    uploads = await fill(site, *range(6))
    await site.plan()
    maker = site.machine()
    store_files = maker.snapshots._stored

    async def after_a_delete(*given: Any) -> Any:
        await site.corpus.delete(uploads[0])
        return await store_files(*given)

    maker.snapshots._stored = after_a_delete  # type: ignore[method-assign, assignment]
    await maker.runner.run_due()
    made = await site.snapshot()
    assert made is not None
    assert uploads[0].encode() in await site.stored(made)
    site.corpus.clock.forward(DAY)
    await site.plan()
    assert await site.snapshot() is None


async def test_one_of_a_recipe_out_of_service_goes(site: Site) -> None:
    await fill(site, *range(6))
    made = await site.make()
    other = HashingEmbedder("another")
    await site.corpus.db.write(lambda tx: chunk_store.serve(tx, site.corpus.workspace, other.recipe))
    await site.plan()
    found = await site.corpus.db.read(lambda tx: tx.one("select count(*) from index_snapshots"))
    assert found == (0,), made.recipe


async def test_a_stop_gives_up_what_is_being_made_and_another_makes_it(site: Site) -> None:
    await fill(site, *range(6))
    await site.plan()
    stopping = site.machine()
    stopping.snapshots.stop()
    await stopping.runner.run_due()
    waiting = await site.corpus.db.read(jobs.counts)
    assert waiting.get("ready") == 1, waiting
    assert await site.snapshot() is None
    assert (await site.make()).chunks == 12


async def test_a_machine_that_builds_what_it_lacks_makes_no_snapshot_meanwhile(site: Site) -> None:
    await fill(site, *range(6))
    await site.plan()
    busy = site.machine()
    busy.engine.builds.expect(("wsp_other", "recipe"), 100)
    await busy.runner.run_due()
    assert await site.snapshot() is None
    busy.engine.builds.end(("wsp_other", "recipe"))
    assert await busy.runner.run_due() == 0, "it waits for a while"
    site.corpus.clock.forward(limits.SNAPSHOT_WAIT_SECONDS)
    assert await busy.runner.run_due() == 1
    assert await site.snapshot() is not None


@pytest.mark.all_in_folder("the test itself says where rows and files lie")
@pytest.mark.parametrize("elsewhere", [True, False])
async def test_snapshots_are_made_and_taken_only_where_database_and_files_lie_elsewhere(
    elsewhere: bool, site: Site, postgres_url: str, s3_store: s3.Store, tmp_path: Path
) -> None:
    settings = {"DEEDBOX_DATABASE_URL": postgres_url, "DEEDBOX_DATA_DIR": str(tmp_path / "server")}
    if elsewhere:
        settings |= s3_store.settings(s3_store.bucket())
    async with wiring.open_installation(load(settings), site.corpus.clock) as deedbox:
        corpus = Corpus(deedbox.db, site.corpus.clock, tmp_path)
        await corpus.settle()
        for number in range(3):
            await corpus.indexed(f"rent {number}")
        await deedbox.db.write(lambda tx: deedbox._schedule_housekeeping(tx, site.corpus.clock.now()))
        await deedbox.jobs.run_due()
        planned = await deedbox.db.read(lambda tx: tx.all("select 1 from jobs where kind = 'snapshot'"))
        assert (len(planned), deedbox.search.builds.snapshots is not None) == (elsewhere, elsewhere)
        assert SNAPSHOT_JOB not in deedbox.worker_kinds, "a worker has no index"
        await corpus.engine.close()

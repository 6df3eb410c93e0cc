"""Servers with disks of their own on one database and one store, which make and take snapshots."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import cast

from deedbox.kernel import jobs
from deedbox.kernel.blobs import Blobs
from deedbox.kernel.blobs import store as blobs_store
from deedbox.search.engine import SearchEngine
from deedbox.search.index import Index, IndexChange, Place
from deedbox.search.index.folders import IndexFolders
from deedbox.search.snapshots import Snapshot, plan, store
from deedbox.search.snapshots.make import MakeSnapshots
from deedbox.search.snapshots.plan import SNAPSHOT_JOB
from deedbox.search.snapshots.take import TakeSnapshots
from tests.search.corpus import Corpus


class Machine:
    """A server without an index, and what it built from the database."""

    def __init__(self, corpus: Corpus, blobs: Blobs, folder: Path) -> None:
        self.folder = folder
        self.built: list[str] = []
        """The uploads that its indexes were given."""
        home, corpus.folder = corpus.folder, folder
        self.engine: SearchEngine = corpus.opened()
        corpus.folder = home
        self._open, self.engine.indexes.open = self.engine.indexes.open, self._index  # type: ignore[method-assign]
        folders = cast(IndexFolders, self.engine.indexes)
        self.engine.builds.snapshots = TakeSnapshots(corpus.db, blobs, corpus.clock, self.engine.builds, folders)
        self.snapshots = MakeSnapshots(self.engine, blobs, folder / "snapshots")
        self.runner = jobs.Runner(
            corpus.db, corpus.clock, {SNAPSHOT_JOB: self.snapshots.run}, concurrency=1, worker=f"w{id(self)}"
        )

    def _index(self, place: Place, dimensions: int) -> Index:
        index = self._open(place, dimensions)
        take = index.apply

        def apply(changes: Iterable[IndexChange], watermark: int, since: int | None = None) -> None:
            take(self._noted(changes), watermark, since)

        index.apply = apply  # type: ignore[method-assign]
        return index

    def _noted(self, changes: Iterable[IndexChange]) -> Iterator[IndexChange]:
        for change in changes:
            self.built.append(change.upload_id)
            yield change


class Site:
    """A library in one database and one store, and the machines that serve it."""

    def __init__(self, corpus: Corpus, blobs: Blobs, folder: Path) -> None:
        self.corpus, self.blobs, self._folder = corpus, blobs, folder
        self._machines: list[Machine] = []

    def machine(self) -> Machine:
        made = Machine(self.corpus, self.blobs, self._folder / f"machine-{len(self._machines)}")
        made.folder.mkdir()
        self._machines.append(made)
        return made

    async def plan(self) -> int:
        """What housekeeping does each hour; how many snapshots are to be made."""
        await plan.plan(self.corpus.db, self.corpus.clock.now())
        counts = await self.corpus.db.read(lambda tx: tx.one("select count(*) from jobs where state = 'ready'"))
        assert counts is not None
        return int(counts[0])

    async def make(self) -> Snapshot:
        """The snapshot that a machine makes now."""
        await self.plan()
        maker = self.machine()
        assert await maker.runner.run_due() == 1
        found = await self.snapshot()
        assert found is not None
        assert list((maker.folder / "snapshots").iterdir()) == []
        return found

    async def snapshot(self) -> Snapshot | None:
        return await self.corpus.db.read(lambda tx: store.find(tx, self.corpus.workspace, self.corpus.embedder.recipe))

    async def stored(self, snapshot: Snapshot) -> bytes:
        """All of its bytes."""
        found = bytearray()
        for blob in await self.corpus.db.read(
            lambda tx: [blobs_store.demand(tx, piece.sha256) for piece in snapshot.contents.pieces]
        ):
            found += await self.blobs.read(blob.location, blob.size_bytes)
        return bytes(found)

    async def close(self) -> None:
        for machine in self._machines:
            machine.snapshots.stop()
            await machine.engine.close()

"""Makes a snapshot: the job that builds an index beside the one in use, and stores its files."""

import asyncio
import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import AsyncExitStack
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from deedbox.kernel import log
from deedbox.kernel.blobs import Blobs, ReceivedBlob
from deedbox.kernel.blobs import store as blobs_store
from deedbox.kernel.clock import instant
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import Unavailable
from deedbox.kernel.ids import new_id
from deedbox.kernel.jobs import GiveUp, Work
from deedbox.search import limits
from deedbox.search.chunks import store as chunk_store
from deedbox.search.engine import SearchEngine, Serving
from deedbox.search.index import FORMAT, lock
from deedbox.search.index.folders import IndexFolders
from deedbox.search.indexing.builds import Builds
from deedbox.search.indexing.workspace_index import WorkspaceIndex
from deedbox.search.snapshots import Snapshot, SnapshotContents, SnapshotFile, SnapshotPiece, read, store


class MakeSnapshots:
    def __init__(self, engine: SearchEngine, blobs: Blobs, folder: Path) -> None:
        self._engine = engine
        self._blobs = blobs
        self._folder = folder
        # Of its own: no question waits for these, and `/readyz` does not count them.
        self._builds = Builds()

    async def run(self, work: Work) -> None:
        """The handler of snapshot jobs."""
        workspace_id = work.job.workspace_id
        if workspace_id is None:
            raise GiveUp("The job does not name the workspace for the snapshot.")
        if self._engine.builds.percent is not None:
            # Questions wait for what is being built here, and nobody for this.
            later = self._engine.clock.now() + timedelta(seconds=limits.SNAPSHOT_WAIT_SECONDS)
            await work.put_off(later)
            return
        try:
            serving = await self._engine.serving(workspace_id)
            if serving.embedder.dimensions:
                await self._make(work, workspace_id, serving)
        except Unavailable:
            if not self._builds.stopping:
                raise
            await work.put_off(self._engine.clock.now())

    def stop(self) -> None:
        """Gives up what is being made; another server makes it, or this one after its start."""
        self._builds.stop()

    async def _make(self, work: Work, workspace_id: str, serving: Serving) -> None:
        begun = self._engine.clock.now()
        with _workplace(self._folder) as folders:
            # From the database, not from the index in use: that holds rows and words of what was deleted.
            draft = await self._built(folders, workspace_id, serving, begun)
            if draft is None:
                return
            folder = folders.folder_of((workspace_id, serving.recipe))
            async with AsyncExitStack() as stack:
                received = await self._stored(stack, folder, draft.contents.files)
                pieces = [SnapshotPiece(one.blob.sha256, one.blob.size_bytes) for one in received]
                contents = SnapshotContents(draft.contents.files, pieces)
                made, now = msgspec.structs.replace(draft, contents=contents), self._engine.clock.now()
                await work.finish(lambda tx: _save(tx, made, received, now))
        log.info("a snapshot of an index was made", workspace=workspace_id, chunks=made.chunks, bytes=made.size_bytes)

    async def _built(
        self, folders: IndexFolders, workspace_id: str, serving: Serving, begun: datetime
    ) -> Snapshot | None:
        """The snapshot that lies in the folders, without its pieces; None if there is nothing in it."""
        place = (workspace_id, serving.recipe)
        building = WorkspaceIndex(self._engine.db, place, serving.embedder.dimensions, folders, self._builds)
        try:
            index = await building.current(patient=True)
            watermark, chunks = index.watermark, index.size
        finally:
            await building.close()
        files = await asyncio.to_thread(_listed, folders.folder_of(place))
        size_bytes = sum(file.size_bytes for file in files)
        if size_bytes > limits.SNAPSHOT_BYTES:
            raise GiveUp(f"The index has {size_bytes} bytes, a snapshot at most {limits.SNAPSHOT_BYTES}.")
        if not chunks:
            return None
        return Snapshot(
            id=new_id("snp", begun),
            workspace_id=workspace_id,
            recipe=serving.recipe,
            format=FORMAT,
            watermark=watermark,
            chunks=chunks,
            size_bytes=size_bytes,
            contents=SnapshotContents(files, []),
            made_at=instant(begun),
        )

    async def _stored(self, stack: AsyncExitStack, folder: Path, files: list[SnapshotFile]) -> list[ReceivedBlob]:
        """The files in pieces, which stay until the stack ends, and longer if they are adopted."""
        received: list[ReceivedBlob] = []
        total = sum(file.size_bytes for file in files)
        for begin in range(0, total, limits.SNAPSHOT_PIECE_BYTES):
            end = min(total, begin + limits.SNAPSHOT_PIECE_BYTES)
            incoming = await stack.enter_async_context(self._blobs.receive(limits.SNAPSHOT_PIECE_BYTES))
            for at in range(begin, end, limits.SNAPSHOT_BLOCK_BYTES):
                self._builds.go_on()
                length = min(limits.SNAPSHOT_BLOCK_BYTES, end - at)
                await incoming.write(await asyncio.to_thread(read, folder, files, at, length))
            received.append(await incoming.finish())
        return received


def _save(tx: Tx, snapshot: Snapshot, received: list[ReceivedBlob], now: datetime) -> None:
    """Takes the place of the former one; nothing is kept if the recipe went out of service meanwhile."""
    if chunk_store.serving_recipe(tx, snapshot.workspace_id) != snapshot.recipe:
        return
    former = store.find(tx, snapshot.workspace_id, snapshot.recipe)
    if former is not None:
        store.drop(tx, former.id, now)
    blobs_store.adopt_all(tx, received, store.owner(snapshot.id), now)
    store.add(tx, snapshot)


def _listed(folder: Path) -> list[SnapshotFile]:
    """The files of an index that is closed, but for its locks."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.endswith("lock"))
    return [SnapshotFile(str(path.relative_to(folder)), path.stat().st_size) for path in paths]


@contextlib.contextmanager
def _workplace(folder: Path) -> Iterator[IndexFolders]:
    """Folders of their own for an index, gone at the end; those that others have left, killed, go now."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for left in folder.iterdir():
        lock.discard(left)
    place = Path(tempfile.mkdtemp(dir=folder))
    held = lock.take(place)
    try:
        yield IndexFolders(place / "index")
    finally:
        shutil.rmtree(place, ignore_errors=True)
        if held is not None:
            os.close(held)

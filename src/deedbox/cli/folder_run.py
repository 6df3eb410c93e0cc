"""Takes a folder in, once or again and again; by itself, or beside a running server."""

from collections.abc import Callable
from typing import Any

import click

from deedbox import wiring
from deedbox.accounts import workspaces
from deedbox.cli import progress, running_server
from deedbox.kernel import limits
from deedbox.kernel.clock import SystemClock
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import ServiceError, SetupError
from deedbox.kernel.settings import Settings
from deedbox.search.folders import Listing, WatchedFolder
from deedbox.search.folders.lookout import Lookout
from deedbox.search.folders.mirror import FolderSnapshot, Left, Memory, Mirror, MirrorReport, Wish
from deedbox.search.indexing import ingest
from deedbox.search.library.reader import SearchReader

NOTHING = FolderSnapshot(Listing(), Listing())
"""What a folder shows that is gone."""


class FolderRun:
    def __init__(self, settings: Settings, folder: WatchedFolder, wish: Wish) -> None:
        self._settings = settings
        self._folder = folder
        self._wish = wish
        self._memory = Memory()
        self._said = ""

    async def once(self) -> MirrorReport:
        """What became of the files that are there now."""
        return await self.take_in(await Lookout(self._folder, SystemClock(), limits.FOLDER_STILL_SECONDS).first())

    async def watch(self, seconds: float, tell: Callable[[MirrorReport], None]) -> None:
        """Takes in what is there, and what changes from then on; tells what it did each time, until it is cancelled.

        The installation is open only while there is something to do, so that servers and other commands can use it."""
        lookout = Lookout(self._folder, SystemClock(), seconds)
        tell(await self.take_in(await lookout.first()))
        while True:
            if self._memory.is_lacking:
                lookout.again()
            look = await lookout.next(self._say)
            try:
                tell(await self.take_in(look))
            except (ServiceError, SetupError) as error:  # the database, the store or the disk may come back
                self._memory.is_lacking = True
                self._say(error.message if isinstance(error, ServiceError) else f"{error.reason} {error.next_step}")

    async def take_in(self, look: FolderSnapshot) -> MirrorReport:
        async with wiring.open_installation(self._settings) as deedbox:
            deedbox.search.embedders.need()
            now = deedbox.clock.now()
            workspace = (await deedbox.db.write(lambda tx: workspaces.ensure(tx, now=now))).id
            reader = SearchReader(workspace, documents=True)
            mirror = Mirror(deedbox.db, deedbox.blobs, deedbox.ingest.texts, deedbox.clock, reader)
            report, paths = await mirror.bring_up(self._folder, look, self._memory, self._wish, _show)
            if paths or report.removed:
                await self._finish(deedbox, reader, report, paths)
        return report

    async def _finish(self, deedbox: Any, reader: SearchReader, report: MirrorReport, paths: dict[str, str]) -> None:
        """Has the documents indexed. Only for this the data folder is kept from servers, if none runs: one that starts
        while files are read is welcome."""
        doc_ids = list(paths)
        async with running_server.is_absent_for_good(self._settings) as alone:
            async with running_server.jobs_done(deedbox, alone=alone):
                for first in range(0, len(doc_ids), limits.INDEX_DOC_IDS):
                    some = doc_ids[first : first + limits.INDEX_DOC_IDS]
                    _count(report, paths, await _indexed(deedbox, reader, some))
            if alone and (report.removed or report.replaced):
                await deedbox.blobs.sweep(deedbox.db, deedbox.clock.now())  # no server does it

    def _say(self, trouble: str) -> None:
        """Says what is in the way, once; and that it no longer is."""
        if trouble != self._said:
            click.echo(f"{trouble} Its documents stay as they are." if trouble else "It goes on.", err=True)
            self._said = trouble


def _show(done: int, total: int) -> None:
    progress.show(done, total, "reading")


async def _indexed(deedbox: Any, reader: SearchReader, doc_ids: list[str]) -> ingest.IndexOutcome:
    def plan(tx: Tx) -> str:
        return ingest.plan(tx, deedbox.search, reader, doc_ids)

    ended = await running_server.end_of_job(deedbox, await deedbox.db.write(plan))
    return ingest.step(ended).outcome or ingest.IndexOutcome()


def _count(report: MirrorReport, paths: dict[str, str], outcome: ingest.IndexOutcome) -> None:
    report.indexed += outcome.processed
    report.chunks += outcome.chunks
    report.failed += [Left(paths[failure.doc_id], failure.error) for failure in outcome.failed]

"""Builds of indexes that lack much: so many at a time, each in a thread of its own, and how far they all are."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeAlias

from deedbox.kernel.errors import ErrorCode, Unavailable
from deedbox.search import limits
from deedbox.search.index import Index, IndexChange, Place

Span: TypeAlias = tuple[int, int]
"""The number of the log up to which an index goes, and the one up to which it is to go."""


class Build:
    """One index on its way, or waiting for its turn."""

    def __init__(self, chunks: int) -> None:
        self.chunks = chunks
        """How many it lacked,"""
        self.done = 0
        """and how many of them it was given since."""
        self.ended = False

    def counted(self, changes: Iterable[IndexChange]) -> Iterator[IndexChange]:
        """The changes, counted as they are taken."""
        for change in changes:
            yield change
            self.done += max(1, len(change.entries))

    @property
    def percent(self) -> int:
        """Never 100: what it was given is still to be written."""
        return min(99, 100 * self.done // max(1, self.chunks))


class Snapshots(Protocol):
    """Finished indexes that a server can have instead of building its own."""

    async def fetch(self, place: Place, lacking: Span, build: Build) -> str | None:
        """The id of a snapshot that lies here now, every byte checked; None if there is none to use."""

    async def put(self, snapshot_id: str, place: Place, dimensions: int, index: Index) -> Index:
        """The snapshot that was fetched, opened, in the place of the index, which is closed."""


class Builds:
    """All of this process. Threads of their own: however many wait, they hold up no search and no small change."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(limits.INDEX_BUILDS, thread_name_prefix="index")
        self.stopping = False
        self.snapshots: Snapshots | None = None
        """Where they are kept."""
        self._all: dict[Place, Build] = {}
        """Also those that have ended, until all have: the percentage of all does not go back."""

    @property
    def percent(self) -> int | None:
        """How much of all builds is done; None while nothing is being built."""
        if not self._all:
            return None
        together = Build(sum(build.chunks for build in self._all.values()))
        together.done = sum(build.chunks if build.ended else build.done for build in self._all.values())
        return together.percent

    def expect(self, place: Place, chunks: int) -> Build:
        """A build of so many chunks; it counts until it is ended."""
        self._all[place] = Build(chunks)
        return self._all[place]

    def end(self, place: Place) -> None:
        if place in self._all:
            self._all[place].ended = True
        if all(build.ended for build in self._all.values()):
            self._all.clear()

    async def run(self, act: Callable[[], object]) -> None:
        """Does it, when it is its turn."""
        await asyncio.get_running_loop().run_in_executor(self._threads, act)

    def go_on(self) -> None:
        """Unavailable once the server stops: what was taken by then is given up, and taken again after the start."""
        if self.stopping:
            raise Unavailable("The server is stopping.", code=ErrorCode.DRAINING)

    def stop(self) -> None:
        """Ends what runs, and begins nothing more."""
        self.stopping = True
        self._threads.shutdown(wait=False)

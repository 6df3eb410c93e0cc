"""Looks at a folder again and again, and says when there is something to do.

Looks, and not notices of the system: those do not come from network drives and other machines, and get lost when many
come at once; and a bucket gives none."""

import asyncio
from collections.abc import Callable

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.clock import Clock, stopwatch
from deedbox.kernel.errors import ServiceError
from deedbox.search import limits
from deedbox.search.folders import Listing, WatchedFolder
from deedbox.search.folders.mirror import FolderSnapshot


class Lookout:
    def __init__(self, folder: WatchedFolder, clock: Clock, seconds: float) -> None:
        self._folder = folder
        self._clock = clock
        self._seconds = seconds
        self._before: Listing | None = None
        self._done: Listing | None = None
        self._pause = 0.0

    async def first(self) -> FolderSnapshot:
        """What the folder shows, once it stands still, or does not after a while."""
        return await self._next(shared_limits.FOLDER_STILL_SECONDS)

    async def next(self, away: Callable[[str], None]) -> FolderSnapshot:
        """What the folder shows once it has changed and stands still. A folder that is away may come back: why it is,
        or that it no longer is, by saying nothing, is told at each look."""
        while True:
            try:
                look = await self._next(self._seconds, away)
            except ServiceError as error:
                away(error.message)
                self._before, self._pause = None, self._seconds
            else:
                return look

    def again(self) -> None:
        """Not everything could be done: the next look is one at which there is something to do."""
        self._done = None

    async def _next(self, seconds: float, away: Callable[[str], None] = lambda _: None) -> FolderSnapshot:
        since: float | None = None
        while True:
            await asyncio.sleep(self._pause)
            began = stopwatch()
            now = await asyncio.to_thread(self._folder.look)
            self._pause = max(seconds, limits.FOLDER_LOOK_SHARE * (stopwatch() - began))
            away("")
            before, self._before = self._before, now
            if now == self._done:
                since = None
                continue
            since = since or began
            if self._stands(now, before) or stopwatch() - since > limits.FOLDER_GATHER_SECONDS:
                self._done = now
                return FolderSnapshot(now, now if before is None or self._folder.is_whole else before)

    def _stands(self, now: Listing, before: Listing | None) -> bool:
        if before is not None or self._folder.is_whole:
            return self._folder.is_whole or now == before
        young = self._clock.now().timestamp() - shared_limits.FOLDER_STILL_SECONDS
        return all(seen.modified < young for seen in now.files.values())

"""Waiting for news of something, by its id: those who follow it look again when they are told, or after a while."""

import asyncio
import contextlib
from collections.abc import Iterator


class Watch:
    """One who follows something, whichever process works at it."""

    def __init__(self) -> None:
        self._told = asyncio.Event()

    def tell(self) -> None:
        self._told.set()

    async def news(self, seconds: float) -> None:
        """Returns when there has been news since the last time, or after so long without any."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._told.wait()
        self._told.clear()


class Watches:
    """All who follow something of one kind in this process."""

    def __init__(self) -> None:
        self.waiting = 0
        """How many they are."""
        self._of: dict[str, list[Watch]] = {}

    @contextlib.contextmanager
    def watch(self, subject_id: str) -> Iterator[Watch]:
        """Hears of it from now on."""
        watch = Watch()
        self._of.setdefault(subject_id, []).append(watch)
        self.waiting += 1
        try:
            yield watch
        finally:
            self.waiting -= 1
            others = self._of[subject_id]
            others.remove(watch)
            if not others:
                del self._of[subject_id]

    def tell(self, subject_id: str) -> None:
        """There is news of this one."""
        for watch in self._of.get(subject_id, ()):
            watch.tell()

    def tell_all(self) -> None:
        """There may be news of any."""
        for subject_id in self._of:
            self.tell(subject_id)

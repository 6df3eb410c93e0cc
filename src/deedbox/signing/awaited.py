"""Who asks for a file while it is being sealed waits a moment for it, instead of asking again and again."""

import asyncio
import contextlib
from collections.abc import Iterator, Sequence

from deedbox.kernel import limits
from deedbox.kernel.db import Tx
from deedbox.kernel.outbox import Event

COMPLETED = "document completed"
"""Told with the document's id."""


class Completion:
    """What a request waits for: that the document is completed."""

    def __init__(self) -> None:
        self._told = asyncio.Event()

    def tell(self) -> None:
        self._told.set()

    async def wait(self) -> None:
        """Returns when that has happened, or after a moment in which nobody told of it."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limits.SEAL_WAIT_SECONDS):
                await self._told.wait()


class Awaited:
    def __init__(self) -> None:
        self.waiting = 0
        self._of: dict[str, list[Completion]] = {}

    def react(self, tx: Tx, events: Sequence[Event]) -> None:
        """The reaction to documents that are completed."""
        for event in events:
            tx.notify(COMPLETED, event.subject_id)

    @contextlib.contextmanager
    def completion_of(self, document_id: str) -> Iterator[Completion | None]:
        """Hears of it from now on; None if so many wait already that another would take a place from requests."""
        if self.waiting >= limits.SEAL_WAITERS:
            yield None
            return
        one = Completion()
        self._of.setdefault(document_id, []).append(one)
        self.waiting += 1
        try:
            yield one
        finally:
            self.waiting -= 1
            of = self._of[document_id]
            of.remove(one)
            if not of:
                del self._of[document_id]

    def tell(self, document_id: str) -> None:
        """The document is completed, by this process or another."""
        for one in self._of.get(document_id, ()):
            one.tell()

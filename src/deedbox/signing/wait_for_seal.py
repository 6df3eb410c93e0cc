"""Who asks for a file while it is being sealed waits a moment for it, instead of asking again and again."""

import contextlib
from collections.abc import Iterator, Sequence

from deedbox.kernel.db import Tx
from deedbox.kernel.outbox import Event
from deedbox.kernel.watches import Watch, Watches
from deedbox.signing import limits

COMPLETED = "document completed"
"""Told with the document's id."""


def notify_completion(tx: Tx, events: Sequence[Event]) -> None:
    """The reaction to documents that are completed."""
    for event in events:
        tx.notify(COMPLETED, event.subject_id)


class Awaited(Watches):
    """The documents whose completion requests wait for."""

    @contextlib.contextmanager
    def completion_of(self, document_id: str) -> Iterator[Watch | None]:
        """Hears of it from now on; None if so many wait already that another would take a place from requests."""
        if self.waiting >= limits.SEAL_WAITERS:
            yield None
            return
        with self.watch(document_id) as watch:
            yield watch

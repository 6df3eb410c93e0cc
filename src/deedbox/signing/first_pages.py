"""The first page of each document that is sent, drawn before anybody opens it."""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from functools import partial

from deedbox.kernel import tasks
from deedbox.kernel.blobs import Blob
from deedbox.kernel.blobs import store as blobs
from deedbox.kernel.db import Database, Tx
from deedbox.kernel.outbox import Event
from deedbox.pdf.render.page_pictures import Pictures
from deedbox.signing import limits
from deedbox.signing.store import documents


class FirstPages:
    """Draws one after the other, beside everything else. What a stop leaves undrawn is drawn when it is asked for, so
    nothing of it is written down."""

    def __init__(self, db: Database, pictures: Pictures) -> None:
        self._db, self._pictures = db, pictures
        self._is_drawing = False
        self._drawn: OrderedDict[str, None] = OrderedDict()
        """Papers of this hash were drawn a while ago: all documents of a template have one."""
        self._sent: asyncio.Queue[Event] = asyncio.Queue(limits.FIRST_PAGES)

    def plan(self, tx: Tx, events: Sequence[Event]) -> None:
        """The reaction to document.sent."""
        tx.on_commit(partial(self._add, events))

    async def draw_forever(self) -> None:
        self._is_drawing = True
        while True:
            sent = await self._sent.get()
            with tasks.going_on("a first page cannot be drawn before it is asked for", document=sent.subject_id):
                await self._draw(sent)
            self._sent.task_done()

    async def drawn(self) -> None:
        """All that were sent so far have their first page, or were too many."""
        await self._sent.join()

    def _add(self, events: Sequence[Event]) -> None:
        for event in events[: limits.FIRST_PAGES - self._sent.qsize() if self._is_drawing else 0]:
            self._sent.put_nowait(event)

    async def _draw(self, sent: Event) -> None:
        blob = await self._db.read(lambda tx: _paper(tx, sent.workspace_id, sent.subject_id))
        if blob is None or blob.sha256 in self._drawn:
            return
        await self._pictures.page(blob, 1, limits.PAGE_IMAGE_FIRST)
        self._drawn[blob.sha256] = None
        if len(self._drawn) > limits.FIRST_PAGES:
            self._drawn.popitem(last=False)


def _paper(tx: Tx, workspace_id: str, document_id: str) -> Blob | None:
    sha256 = documents.paper_of(tx, workspace_id, document_id)
    return blobs.find(tx, sha256) if sha256 else None

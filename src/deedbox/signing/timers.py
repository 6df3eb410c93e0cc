"""What happens to documents by the clock: they expire, and their signers are reminded."""

from deedbox.kernel.clock import Clock
from deedbox.kernel.db import Database, Tx
from deedbox.kernel.jobs import Work
from deedbox.signing import documents
from deedbox.signing.document import Document
from deedbox.signing.found import find
from deedbox.signing.post import Post


class Timers:
    def __init__(self, db: Database, clock: Clock, post: Post) -> None:
        self._db, self._clock, self._post = db, clock, post

    async def current(self, workspace_id: str, document_id: str) -> Document:
        """The document as it is now: one past its time expires at the first look."""
        now = self._clock.now()
        document = await self._db.read(lambda tx: find(tx, workspace_id, document_id))
        if documents.is_due(document, now):
            await self._db.write(lambda tx: documents.expire(tx, workspace_id, document_id, self._post, now=now))
            document = await self._db.read(lambda tx: find(tx, workspace_id, document_id))
        return document

    async def expire(self, work: Work) -> None:
        """The handler of expire jobs; one whose time was moved does nothing."""
        workspace_id, document_id = work.named("document_id")
        now = self._clock.now()

        def expire(tx: Tx) -> None:
            documents.expire(tx, workspace_id, document_id, self._post, now=now)

        await work.finish(expire)

    async def remind(self, work: Work) -> None:
        """The handler of remind jobs, each of which plans the next."""
        workspace_id, document_id = work.named("document_id")
        number, plan, now = int(work.job.payload["number"]), str(work.job.payload["plan"]), self._clock.now()

        def remind(tx: Tx) -> None:
            documents.remind_again(tx, workspace_id, document_id, number, plan, self._post, now=now)

        await work.finish(remind)

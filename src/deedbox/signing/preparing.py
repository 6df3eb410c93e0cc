"""Documents whose files must be converted first: a job makes their paper, and sends them if that was asked for."""

from datetime import datetime

from deedbox.kernel import jobs, limits
from deedbox.kernel.blobs import store as blobs_store
from deedbox.kernel.clock import Clock
from deedbox.kernel.db import Database, Tx
from deedbox.kernel.errors import BadRequest, NotFound
from deedbox.kernel.jobs import Work
from deedbox.kernel.sandbox import SandboxFailed
from deedbox.signing import documents, drafts, store
from deedbox.signing.document import Document
from deedbox.signing.intake import Intake, Original
from deedbox.signing.post import Post
from deedbox.signing.wishes import NewField, Paper

PREPARE_JOB = "prepare"


def plan(tx: Tx, workspace_id: str, document_id: str, actor: str, *, send: bool, now: datetime) -> None:
    """The document is prepared as soon as there is time for it."""
    jobs.enqueue(
        tx,
        jobs.NewJob(
            PREPARE_JOB,
            {"document_id": document_id, "send": send, "actor": actor},
            unique_key=f"{PREPARE_JOB}:{document_id}",
            workspace_id=workspace_id,
        ),
        now=now,
    )


def originals(tx: Tx, document: Document) -> list[Original]:
    """The files of the document as they came."""
    found = [(file.name, blobs_store.find(tx, file.sha256)) for file in document.files]
    if any(blob is None for _, blob in found):
        raise NotFound("A file of this document is no longer stored")
    return [Original(name, blob) for name, blob in found if blob is not None]


class Preparing:
    def __init__(self, db: Database, clock: Clock, intake: Intake, post: Post) -> None:
        self._db, self._clock, self._intake, self._post = db, clock, intake, post

    async def run(self, work: Work) -> None:
        """The handler of prepare jobs."""
        workspace_id, document_id = work.named("document_id")
        look = await self._db.read(lambda tx: _look(tx, workspace_id, document_id))
        if look is None:
            return  # an attempt before this one has done it
        document, files, fields = look
        try:
            if work.job.attempts > limits.PREPARE_ATTEMPTS:
                raise BadRequest(
                    "The file could not be converted; it may be damaged. Save it as a PDF and upload that."
                )
            async with self._intake.paper(files, document.parties, fields) as paper:
                await work.finish(lambda tx: self._prepared(tx, work, workspace_id, document, paper))
        except (BadRequest, SandboxFailed) as error:
            reason = error.message
            now = self._clock.now()
            await work.finish(lambda tx: drafts.fail(tx, workspace_id, document_id, reason, now=now))

    def _prepared(self, tx: Tx, work: Work, workspace_id: str, document: Document, paper: Paper) -> None:
        now = self._clock.now()
        drafts.lay_out(tx, workspace_id, document, paper, now=now)
        if work.job.payload.get("send"):
            actor = str(work.job.payload["actor"])
            documents.send(tx, workspace_id, document.id, actor, self._post, now=now)


def _look(tx: Tx, workspace_id: str, document_id: str) -> tuple[Document, list[Original], list[NewField]] | None:
    document = store.document(tx, workspace_id, document_id)
    if document is None or document.status != "processing":
        return None
    return document, originals(tx, document), drafts.wished_fields(tx, document_id)

"""After a crash: no document stays in the middle of being indexed."""

from collections.abc import Sequence

import msgspec

from deedbox.kernel import jobs
from deedbox.kernel.db import Tx
from deedbox.kernel.jobs import Job
from deedbox.search.engine import INDEX_JOB, SearchEngine
from deedbox.search.indexing.ingest import IndexJobPayload
from deedbox.search.library import store
from deedbox.search.library.upload import LibraryUpload


async def recover(engine: SearchEngine, *, alone: bool) -> None:
    """Releases the documents whose index run has died. `alone`: no other process uses this database, so all have."""
    now = engine.clock.now()
    await engine.db.write(lambda tx: _release(tx, [] if alone else jobs.held(tx, INDEX_JOB, now)))


def _release(tx: Tx, held: Sequence[Job]) -> None:
    for upload in store.uploads_with_status(tx, "indexing"):
        if not any(_is_of(job, upload) for job in held):
            store.unclaim(tx, upload)


def _is_of(job: Job, upload: LibraryUpload) -> bool:
    doc_ids = msgspec.convert(job.payload, IndexJobPayload).doc_ids
    return job.workspace_id == upload.workspace_id and (doc_ids is None or upload.id in doc_ids)

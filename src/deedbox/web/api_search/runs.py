"""How an index run looks to its caller."""

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

from deedbox.kernel.jobs import Job
from deedbox.search import ingest
from deedbox.search.embed_document import Phase

State: TypeAlias = Literal["waiting", "running", "done", "failed", "cancelled"]


class RunProgress(msgspec.Struct, frozen=True):
    document: Annotated[str | None, Meta(description="The document that is being worked on.")]
    phase: Annotated[Phase, Meta(description="What is being done with it.")]
    done: Annotated[int, Meta(description="Documents that are through.")]
    total: Annotated[int, Meta(description="Documents in scope.")]


class RunResult(msgspec.Struct, frozen=True):
    documents_processed: int
    documents_skipped: int
    total_chunks: int
    failed: list[ingest.Failure]


class Run(msgspec.Struct, frozen=True):
    id: str
    state: State
    progress: RunProgress
    result: Annotated[RunResult | None, Meta(description="What has become of the documents; null until it is done.")]
    error: str | None
    created_at: str
    finished_at: str | None


def run(job: Job) -> Run:
    step = ingest.step(job)
    outcome = step.outcome
    return Run(
        id=job.id,
        state=_state(job),
        progress=RunProgress(
            step.document,
            step.phase,
            job.progress.done if job.progress else 0,
            job.progress.total if job.progress else 0,
        ),
        result=RunResult(outcome.processed, outcome.skipped, outcome.chunks, outcome.failed)
        if outcome is not None and job.state == "done" and job.error is None
        else None,
        error=job.error,
        created_at=job.created_at,
        finished_at=job.finished_at,
    )


def _state(job: Job) -> State:
    if job.state == "done":
        return "done" if job.error is None else "cancelled"
    return {"ready": "waiting", "running": "running", "parked": "failed"}[job.state]  # type: ignore[return-value]

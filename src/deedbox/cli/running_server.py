"""The server that may be running on the data folder, and commands that share its work."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from deedbox import wiring
from deedbox.cli import progress
from deedbox.kernel import jobs, limits
from deedbox.kernel.errors import ServiceError, SetupError
from deedbox.kernel.jobs import Job
from deedbox.kernel.settings import Settings
from deedbox.search.indexing.recover import recover


@asynccontextmanager
async def is_absent(settings: Settings) -> AsyncIterator[bool]:
    """Whether no server uses the data folder; if so, none can begin to while this lasts."""
    async with AsyncExitStack() as held:
        try:
            await held.enter_async_context(wiring.sole_user(settings))
        except SetupError:
            yield False
            return
        # On PostgreSQL nothing is locked: there, a server says where it is for as long as it runs.
        yield settings.database_url is None or not settings.address_file.exists()


@asynccontextmanager
async def is_absent_for_good(settings: Settings) -> AsyncIterator[bool]:
    """As `is_absent`, after another command that has the data folder for a moment: that one does nobody's jobs."""
    while True:
        async with is_absent(settings) as alone:
            if alone or settings.address_file.exists() or settings.database_url is not None:
                yield alone
                return
        await asyncio.sleep(limits.FOLDER_WAIT_SECONDS)


@asynccontextmanager
async def jobs_done(deedbox: Any, *, alone: bool) -> AsyncIterator[None]:
    """While this lasts, jobs are done: by the server that runs, or else by this process."""
    if not alone:
        yield
        return
    only_one = deedbox.db.dialect == "sqlite"
    if only_one:
        await recover(deedbox.search, alone=True)
    await deedbox.jobs.start(alone=only_one)
    try:
        yield
    finally:
        await deedbox.jobs.stop()


async def end_of_job(deedbox: Any, job_id: str) -> Job:
    """The job once it is done, with its progress on the screen meanwhile."""
    with deedbox.ingest.runs.watch(job_id) as watch:
        while True:
            job: Job | None = await deedbox.db.read(lambda tx: jobs.find(tx, job_id))
            if job is None or job.state == "parked" or (job.state == "done" and job.error):
                raise ServiceError(f"The job did not end well: {job.error if job else 'it is gone'}")
            if job.progress:
                progress.show(job.progress.done, max(job.progress.total, 1))
            if job.state == "done":
                return job
            await watch.news(limits.JOB_WATCH_SECONDS)

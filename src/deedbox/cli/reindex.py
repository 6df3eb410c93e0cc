"""`deedbox reindex`: builds the search index anew from the database."""

from pathlib import Path
from typing import Any

import click

from deedbox.cli import progress, running_server
from deedbox.cli.options import data_option, json_option, load, print_json, run
from deedbox.kernel import jobs
from deedbox.kernel.db import Tx
from deedbox.kernel.settings import Settings
from deedbox.search.chunks import store as chunk_store
from deedbox.search.engine import REBUILD_JOB


@click.command()
@data_option
@json_option
def command(data_dir: Path | None, as_json: bool) -> None:
    """Drop the search index and build it anew from the database; also while the server runs.

    Nothing is embedded again: vectors are kept in the database."""
    settings = load(data_dir=data_dir)
    workspaces, chunks = run(settings, lambda deedbox: _rebuild(deedbox, settings))
    if as_json:
        print_json({"workspaces": workspaces, "chunks": chunks})
    else:
        click.echo(f"The index is new: {chunks} chunks in {workspaces} workspaces.")


async def _rebuild(deedbox: Any, settings: Settings) -> tuple[int, int]:
    deedbox.search.embedders.need()
    found: list[str] = await deedbox.db.read(chunk_store.indexed_workspaces)
    async with running_server.is_absent(settings) as alone, running_server.jobs_done(deedbox, alone=alone):
        for done, workspace in enumerate(found):
            progress.show(done, len(found))
            await running_server.end_of_job(deedbox, await _plan(deedbox, workspace))
    progress.show(len(found), len(found))
    chunks = [
        await deedbox.db.read(lambda tx, workspace=workspace: chunk_store.indexed_chunks(tx, workspace))
        for workspace in found
    ]
    return len(found), sum(chunks)


async def _plan(deedbox: Any, workspace: str) -> str:
    now = deedbox.clock.now()

    def plan(tx: Tx) -> str:
        return jobs.enqueue(
            tx, jobs.NewJob(REBUILD_JOB, unique_key=f"{REBUILD_JOB}:{workspace}", workspace_id=workspace), now=now
        )

    job_id: str = await deedbox.db.write(plan)
    return job_id

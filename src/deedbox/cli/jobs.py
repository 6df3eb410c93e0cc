"""`deedbox jobs`: the background jobs that were parked, and how to try them again."""

from pathlib import Path
from typing import Any

import click

from deedbox.cli.options import data_option, json_option, load, print_json, run
from deedbox.kernel import jobs, limits
from deedbox.kernel.errors import NotFound


@click.group()
def command() -> None:
    """Show background jobs that were given up, and retry them."""


@command.command("list")
@data_option
@json_option
def list_jobs(data_dir: Path | None, as_json: bool) -> None:
    """List the jobs that were given up, with their errors."""

    async def work(deedbox: Any) -> list[jobs.Job]:
        found: list[jobs.Job] = await deedbox.db.read(lambda tx: jobs.list_parked(tx, limits.PAGE_MAX))
        return found

    found = run(load(data_dir=data_dir), work)
    if as_json:
        print_json({"jobs": found})
        return
    for job in found:
        click.echo(f"{job.id}  {job.kind}  given up {job.finished_at} after {job.attempts} attempts: {job.error}")
    if not found:
        click.echo("No job was given up.", err=True)


@command.command()
@data_option
@json_option
@click.argument("job_id")
def retry(data_dir: Path | None, as_json: bool, job_id: str) -> None:
    """Put a job back to run at once."""

    async def work(deedbox: Any) -> bool:
        now = deedbox.clock.now()
        put_back: bool = await deedbox.db.write(lambda tx: jobs.retry(tx, job_id, now))
        return put_back

    if not run(load(data_dir=data_dir), work):
        raise NotFound(f"There is no given-up job {job_id}. `deedbox jobs list` shows them.")
    if as_json:
        print_json({"id": job_id, "status": "ready"})
    else:
        click.echo(f"{job_id} runs again.")

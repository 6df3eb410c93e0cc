"""`deedbox archive`: the state of the long-term archive, and its verification."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import click
import msgspec

from deedbox.archive import store
from deedbox.archive.backfill import Backfill
from deedbox.archive.overview import Overview, overview
from deedbox.archive.verify import ArchiveVerdict
from deedbox.cli import limits, progress, running_server
from deedbox.cli.options import data_option, json_option, load, print_json, run
from deedbox.kernel import jobs
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.clock import stopwatch
from deedbox.kernel.errors import NotFound, SetupError
from deedbox.kernel.settings import ECOSYSTEM_KEY, Settings

UNCHECKED = 3
"""The exit code when nothing is wrong, but not everything could be checked: the key or the archive is another one."""


class Pushed(msgspec.Struct, frozen=True):
    planned: int
    archived: int
    failed: int
    pending: int


class ArchiveCheckReport(msgspec.Struct):
    packages: int = 0
    roots: int = 0
    proven: int = 0
    """Packages that a time-stamped root vouches for."""
    other_key: int = 0
    """Packages that only another key can vouch for; the rest of them was checked."""
    unseen: list[ArchiveVerdict] = []
    """What was not looked at, and why."""
    problems: list[ArchiveVerdict] = []


@click.group()
def command() -> None:
    """Show and check the long-term archive; push what it does not have yet."""


@command.command()
@data_option
@json_option
def status(data_dir: Path | None, as_json: bool) -> None:
    """Show how much is archived, and what is in the way of the rest."""
    settings = load(data_dir=data_dir)

    async def work(deedbox: Any) -> Overview:
        found: Overview = await deedbox.db.read(overview)
        return found

    found = run(settings, work)
    if as_json:
        print_json(found)
        return
    if settings.service_ecosystem_key is None:
        click.echo(f"{ECOSYSTEM_KEY} is not set: nothing is archived.")
    click.echo(f"{found.archived} archived, {found.pending} waiting, {found.failed} failed so far.")
    for failure in found.failures:
        click.echo(
            f"  {failure.document_id}: {failure.attempts} attempts, the last {failure.tried_at}: {failure.error}"
        )
    if found.last_root:
        click.echo(f"{found.trees} roots, the last {found.last_root}, in the archive since"
                   f" {found.last_root_published_at}.")  # fmt: skip
    for root in found.unpublished:
        click.echo(f"  root {root.number} of {root.day} is not published: {root.error or 'it waits for its round'}")
    if found.degraded:
        click.echo(f"{found.degraded} roots have a timestamp of this installation: the authority was away.")


@command.command()
@data_option
@json_option
@click.argument("document_id", required=False)
def retry(data_dir: Path | None, as_json: bool, document_id: str | None) -> None:
    """Push what waits at once: DOCUMENT_ID, or all of it."""
    settings = load(data_dir=data_dir)
    _tell(*run(settings, lambda deedbox: _push(deedbox, settings, lambda it: it.retry(document_id))), as_json=as_json)


@command.command()
@data_option
@json_option
def backfill(data_dir: Path | None, as_json: bool) -> None:
    """Push the documents that were completed before the archive's key was set.

    What is archived or waits already is left alone: run it again after an interruption."""
    settings = load(data_dir=data_dir)
    _tell(*run(settings, lambda deedbox: _push(deedbox, settings, lambda it: it.plan())), as_json=as_json)


@command.command()
@data_option
@json_option
@click.argument("document_id", required=False)
def verify(data_dir: Path | None, as_json: bool, document_id: str | None) -> None:
    """Check the package of DOCUMENT_ID, or every package and every root: each byte of it.

    Exit code: 0 if all is as it was archived, 1 if not, 3 if nothing is wrong but not everything could be checked: by
    this key, or in this archive."""
    settings = load(data_dir=data_dir)
    _need_key(settings)
    report = run(settings, lambda deedbox: _verify(deedbox, document_id))
    if as_json:
        print_json(report)
    else:
        _tell_checked(report)
    if report.other_key:
        click.echo(
            f"{ECOSYSTEM_KEY} is not the key that authenticated {report.other_key} of the packages. Set it to the one"
            " that was in use when they were pushed, and run this again.",
            err=True,
        )
    if report.problems or report.unseen or report.other_key:
        raise SystemExit(1 if report.problems else UNCHECKED)


async def _push(deedbox: Any, settings: Settings, plan: Callable[[Backfill], Awaitable[int]]) -> tuple[Pushed, bool]:
    """Plans, and waits until everything that waits was tried: by the server that runs, or else by this command, which
    is the other thing that is told."""
    _need_key(settings)
    async with running_server.is_absent(settings) as alone:
        planned = await plan(deedbox.archive.backfill)
        async with running_server.jobs_done(deedbox, alone=alone):
            found = await _tried(deedbox, alone=alone)
    return Pushed(planned, found.archived, found.failed, found.pending), alone


async def _tried(deedbox: Any, *, alone: bool) -> Overview:
    """How it stands once nothing is pending, or nothing has moved for a while. A push of our own may take its time."""
    most, last, since = 0, -1, stopwatch()
    while True:
        found: Overview = await deedbox.db.read(overview)
        most = max(most, found.pending)
        progress.show(most - found.pending, most)
        if not found.pending:
            return found
        if found.pending != last or (alone and (await deedbox.db.read(jobs.counts)).get("running")):
            last, since = found.pending, stopwatch()
        elif stopwatch() - since > limits.ARCHIVE_WAIT_SECONDS:
            return found
        await asyncio.sleep(shared_limits.PROGRESS_SECONDS)


async def _verify(deedbox: Any, document_id: str | None) -> ArchiveCheckReport:
    report, verification = ArchiveCheckReport(), deedbox.archive.verification()
    if document_id is not None:
        row = await deedbox.db.read(lambda tx: store.find(tx, document_id))
        if row is None or row.status != "archived":
            raise NotFound(f"The document {document_id} is not archived. `deedbox archive status` shows what is.")
        await verification.document(row, lambda verdict: _count(report, verdict))
        return report
    found: Overview = await deedbox.db.read(overview)
    total = found.archived + found.trees

    def tell(verdict: ArchiveVerdict) -> None:
        _count(report, verdict)
        progress.show(report.packages + report.roots, total)

    await verification.all(tell)
    return report


def _count(report: ArchiveCheckReport, verdict: ArchiveVerdict) -> None:
    if verdict.kind == "root":
        report.roots += 1
    else:
        report.packages += 1
        report.proven += verdict.proven
    report.other_key += verdict.other_key
    if verdict.unseen:
        report.unseen.append(verdict)
    if verdict.problem:
        report.problems.append(verdict)


def _need_key(settings: Settings) -> None:
    if settings.service_ecosystem_key is None:
        raise SetupError(
            f"{ECOSYSTEM_KEY} is not set: there is no archive.", "Set it to the archive's key, here as for the server."
        )


def _tell(pushed: Pushed, alone: bool, *, as_json: bool) -> None:
    if as_json:
        print_json(pushed)
    else:
        click.echo(
            f"{pushed.planned} documents planned. {pushed.archived} are archived, {pushed.failed} failed so far."
        )
        if pushed.pending and not alone:
            click.echo(f"{pushed.pending} wait; the server goes on with them.")
    if pushed.failed:
        click.echo("`deedbox archive status` shows why; the server retries automatically.", err=True)
    if pushed.pending and alone:
        click.echo(
            f"{pushed.pending} wait, and no server runs: start it, or run `deedbox archive retry` again.", err=True
        )
    if pushed.failed or (pushed.pending and alone):
        raise SystemExit(1)


def _tell_checked(report: ArchiveCheckReport) -> None:
    amiss = sum(one.kind == "package" for one in (*report.problems, *report.unseen))
    whole = report.packages - amiss - report.other_key
    roots = report.roots - sum(one.kind == "root" for one in report.unseen)
    click.echo(f"{whole} of {report.packages} packages are whole and authentic; a timestamped root vouches for"
               f" {report.proven}. {roots} roots were checked.")  # fmt: skip
    for one in report.problems:
        click.echo(f"  {one.name}: {(one.problem or '').rstrip('.')}.")
    if report.unseen:
        click.echo(f"{len(report.unseen)} were not looked at:")
    for one in report.unseen:
        click.echo(f"  {one.name}: {one.unseen}.")

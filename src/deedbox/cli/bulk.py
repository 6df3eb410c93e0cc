"""`deedbox bulk`: a document of a template for each row of a CSV file, through a server here or elsewhere."""

import sys
import time
from pathlib import Path
from typing import Any

import click
import msgspec

from deedbox.cli import limits, progress
from deedbox.cli.options import data_option, json_option, print_json
from deedbox.cli.server_client import connect
from deedbox.client import ApiError, BulkSend, Deedbox, DryRun, NewBulkSend, NoAnswer
from deedbox.kernel.errors import ServiceError

REFUSED, NOT_ALL_SENT, PAUSED, LOST_SIGHT, INTERRUPTED = 1, 3, 4, 5, 130
_ROWS_TOLD = 20
_FIRST_LOOK_SECONDS, _LONGEST_LOOK_SECONDS = 1.0, 30.0
_BUSY = (429, 503)


class _LostSight(Exception):
    """The server sends the rows, but the command can no longer ask it how far it is."""


class _Asked(msgspec.Struct, frozen=True):
    """The options of `deedbox bulk`."""

    name: str | None
    columns: dict[str, str | None]
    rows_per_minute: int | None
    dry_run: bool
    no_wait: bool


def _columns(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> dict[str, str | None]:
    """What each heading means; None for one that is to be left out."""
    meanings: dict[str, str | None] = {}
    for text in given:
        heading, equals, meaning = text.rpartition("=")
        if not equals or not heading:
            raise click.BadParameter(f'{text!r} is not of the form "Heading=Tenant.name"', context, option)
        meanings[heading] = meaning or None
    return meanings


@click.command()
@data_option
@json_option
@click.option("--name", help="What the bulk send is called. Default: the name of the file.")
@click.option("--column", "columns", multiple=True, callback=_columns, metavar='"HEADING=MEANING"',
              help='What a heading means: "E-mail=Tenant.email", or "Remarks=" to leave it out.')  # fmt: skip
@click.option("--rows-per-minute", type=click.IntRange(min=1), help="For mail servers that throttle.")
@click.option("--dry-run", is_flag=True, help="Check every row and send nothing.")
@click.option("--no-wait", is_flag=True, help="Do not wait for the rows to be sent.")
@click.argument("template")
@click.argument("file", metavar="PEOPLE.CSV", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def command(data_dir: Path | None, as_json: bool, template: str, file: Path, **options: Any) -> None:
    """Send a document of TEMPLATE, by its id or name, for each row of PEOPLE.CSV.

    Columns: key, Tenant.name, Tenant.email, value:Label, metadata:name, … If one row cannot be sent, none is. The
    server sends them: after Ctrl-C it goes on, and the same command follows it again. No row is sent twice under one
    name.

    It talks to the server that DEEDBOX_URL names, with the key in DEEDBOX_API_KEY; without them, to the one that runs
    on the data folder.

    Exit codes: 0 all sent (or, with --dry-run, all can be), 1 refused, 2 wrong use, 3 some rows failed or were
    canceled, 4 it is paused, 5 the server took it on but can no longer be asked how far it is, 130 interrupted."""
    asked = _Asked(**options)
    try:
        scopes = ["documents:send", "documents:read"]
        with connect(data_dir, "deedbox bulk", scopes, key_hours=limits.FOLLOWING_KEY_HOURS) as deedbox:
            outcome = _outcome(deedbox, template, file, asked)
            code = _tell_check(outcome) if isinstance(outcome, DryRun) else _tell(deedbox, outcome, asked)
    except KeyboardInterrupt:
        click.echo("\nThe server goes on. The same command follows it, and sends nothing twice.", err=True)
        sys.exit(INTERRUPTED)
    except _LostSight as lost:
        click.echo(f"{lost} What was begun goes on. The same command follows it, and sends nothing twice.", err=True)
        sys.exit(LOST_SIGHT)
    if as_json:
        print_json(outcome)
    elif isinstance(outcome, BulkSend):
        counts = outcome.counts
        click.echo(f"{outcome.id}  {outcome.status}  {counts.sent} of {counts.total} sent, {counts.failed} failed")
    else:
        click.echo(f"{outcome.valid} of {outcome.total} rows can be sent.")
    sys.exit(code)


def _outcome(deedbox: Deedbox, template: str, file: Path, asked: _Asked) -> BulkSend | DryRun:
    new = NewBulkSend(
        name=asked.name or file.stem,
        template_id=_template_id(deedbox, template),
        columns=asked.columns,
        rows_per_minute=asked.rows_per_minute,
        dry_run=asked.dry_run,
    )
    begun = deedbox.bulk_sends.create(new, file)
    return begun if isinstance(begun, DryRun) or asked.no_wait else _end(deedbox, begun)


def _template_id(deedbox: Deedbox, template: str) -> str:
    if template.startswith("tpl_"):
        return template
    found = [each.id for each in deedbox.templates.list(q=template) if each.name == template]
    if len(found) != 1:
        raise ServiceError(f"{len(found)} templates are called {template!r}. deedbox template list shows their ids.")
    return found[0]


def _end(deedbox: Deedbox, bulk_send: BulkSend) -> BulkSend:
    """The bulk send once nothing more will be sent, with its progress on the screen meanwhile."""
    pause = _FIRST_LOOK_SECONDS
    while bulk_send.status in ("queued", "sending"):
        progress.show(bulk_send.counts.total - bulk_send.counts.queued, bulk_send.counts.total + 1)
        time.sleep(pause)
        # Ever more rarely: what takes hours need not be asked for every second.
        pause = min(pause * 1.2, _LONGEST_LOOK_SECONDS)
        try:
            bulk_send = deedbox.bulk_sends.get(bulk_send.id)
        except ApiError as error:
            if error.status not in _BUSY:
                raise _LostSight(error.message) from error
            pause = max(pause, error.retry_after or 0.0)
        except NoAnswer as error:
            raise _LostSight(str(error)) from error
    progress.show(1, 1)
    return bulk_send


def _tell(deedbox: Deedbox, bulk_send: BulkSend, asked: _Asked) -> int:
    """Names the rows that failed; the exit code."""
    if asked.no_wait:
        return 0
    if bulk_send.status == "paused":
        click.echo(f"{bulk_send.id} is paused: POST /api/v1/bulk-sends/{bulk_send.id}/resume lets it go on.", err=True)
        return PAUSED
    for number, row in enumerate(deedbox.bulk_sends.list_rows(bulk_send.id, status="failed")):
        if number == _ROWS_TOLD:
            click.echo(f"  … {bulk_send.counts.failed - number} more", err=True)
            break
        click.echo(f"  {row.key}: {row.error}", err=True)
    return NOT_ALL_SENT if bulk_send.counts.failed + bulk_send.counts.canceled else 0


def _tell_check(report: DryRun) -> int:
    """Names what is wrong with which row; the exit code."""
    for flaw in report.errors:
        place = f"line {flaw.line}" if flaw.line is not None else f"row {flaw.index}"
        column = f", {flaw.column}" if flaw.column else ""
        click.echo(f"  {place}{column}: {flaw.reason}", err=True)
    return REFUSED if report.invalid else 0

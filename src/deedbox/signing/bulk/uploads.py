"""A CSV file on its way to a bulk send: kept for a day, while a person says what its columns mean and reads what is
wrong with its rows."""

import asyncio
import io
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import NamedTuple

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.clock import instant
from deedbox.kernel.crypto import ValueCipher
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest, NotFound
from deedbox.kernel.ids import new_id
from deedbox.kernel.rotation import EncryptedColumn
from deedbox.signing import limits
from deedbox.signing.action_context import ActionContext, SigningServices
from deedbox.signing.bulk import accept, columns, store, table
from deedbox.signing.bulk.accept import RowsReport, Start
from deedbox.signing.bulk.columns import KnownColumns, Say
from deedbox.signing.bulk.model import BulkSend, BulkUpload, ColumnChoice, Flaw, KeptReport

ENCRYPTED_UPLOADS = EncryptedColumn(
    table="bulk_uploads", key_columns=("id",), column="content", place="bulk_uploads.content:{id}"
)
"""The file may hold access codes."""
_SAMPLE_LINES = 20


class Head(NamedTuple):
    """The first lines of the file."""

    headings: Sequence[str]
    samples: Sequence[str]
    """The first text that stands under each heading."""


class ReceivedUpload(NamedTuple):
    upload: BulkUpload
    encrypted: bytes


class CheckedUpload(NamedTuple):
    begun: Start
    report: RowsReport

    @property
    def version(self) -> int:
        """Of the template with which they were checked."""
        return self.begun.template.template.version


class BadRow(NamedTuple):
    """A line of the file that cannot be sent."""

    line: int
    reasons: str
    cells: Sequence[str]


def find(tx: Tx, workspace_id: str, upload_id: str) -> BulkUpload:
    """The workspace's upload; another's is not there at all."""
    found = store.upload(tx, workspace_id, upload_id)
    if found is None:
        raise NotFound("The file is not here any more: it is kept for a day, until it is sent. Choose it again.")
    return found


def keep(tx: Tx, upload: BulkUpload, encrypted: bytes) -> None:
    """The upload with its file; of too many in one workspace, the oldest go."""
    store.add_upload(tx, upload, encrypted)
    store.drop_uploads_but(tx, upload.workspace_id, limits.BULK_UPLOADS)


def prune(tx: Tx, *, now: datetime) -> int:
    """How many uploads of yesterday are gone now."""
    return store.prune_uploads(tx, instant(now - timedelta(hours=limits.BULK_UPLOAD_HOURS)))


async def receive(
    box: ValueCipher, workspace_id: str, template_id: str, name: str, content: bytes, now: datetime
) -> ReceivedUpload:
    """The file, encrypted to be kept; BadRequest if it is no table."""
    await asyncio.to_thread(head_of, content)
    upload = BulkUpload(new_id("upl", now), workspace_id, template_id, name, None, None, instant(now))
    place = ENCRYPTED_UPLOADS.place.format(id=upload.id)
    return ReceivedUpload(upload, await asyncio.to_thread(box.encrypt, content, place))


async def content_of(services: SigningServices, box: ValueCipher, upload: BulkUpload) -> bytes:
    """The bytes of the file."""
    encrypted = await services.db.read(lambda tx: store.upload_content(tx, upload.id))
    if encrypted is None:
        raise NotFound("The file is not here any more. Choose it again.")
    return await asyncio.to_thread(box.decrypt, encrypted, ENCRYPTED_UPLOADS.place.format(id=upload.id))


def head_of(content: bytes) -> Head:
    """The headings, and what stands below them; BadRequest if there are none."""
    lines = table.lines(io.BytesIO(content))
    first = next(lines, None)
    if first is None:
        raise BadRequest("The CSV file is empty")
    if isinstance(first, table.UnreadableLine):
        raise BadRequest(f"line {first.number}: {first.reason}")
    headings = [heading.strip() for heading in first.cells]
    while headings and not headings[-1]:
        headings.pop()
    some = [line.cells for line in islice(lines, _SAMPLE_LINES) if isinstance(line, table.TableLine)]
    return Head(headings, [_sample(number, some) for number in range(len(headings))])


async def check_upload(
    services: SigningServices, box: ValueCipher, upload: BulkUpload, choice: ColumnChoice, say: Say
) -> CheckedUpload:
    """Every row of the file checked as if it were sent."""
    new = choice.bulk_send(upload.template_id)
    begun = await services.db.read(lambda tx: accept.start(tx, services, upload.workspace_id, new))
    content = await content_of(services, box, upload)
    meant = _by_heading(head_of(content).headings, choice.meanings)
    rows = columns.rows(io.BytesIO(content), meant, KnownColumns.of(begun.template.template), say)
    report = await accept.check_rows(services, box, begun, rows)
    return CheckedUpload(begun, await services.db.read(lambda tx: accept.compare(tx, begun, report)))


def note(tx: Tx, upload: BulkUpload, choice: ColumnChoice, found: CheckedUpload) -> None:
    """Keeps what was said of the file, and what came of it."""
    report = found.report
    store.change_upload(tx, upload.id, choice, KeptReport(report.total, report.invalid, report.flaws, found.version))


def send(ctx: ActionContext, upload: BulkUpload, found: CheckedUpload) -> BulkSend:
    """The bulk send of all rows that can be sent; the file is not needed any more."""
    made = accept.accept(ctx, found.begun, found.report.flawless())
    store.drop_upload(ctx.tx, upload.id)
    return made


def bad_rows(content: bytes, flaws: Sequence[Flaw]) -> Iterator[BadRow]:
    """The lines of the file that have flaws, each with all its reasons."""
    told: dict[int, list[str]] = {}
    for flaw in flaws:
        told.setdefault(flaw.line or 0, []).append(f"{flaw.column}: {flaw.reason}" if flaw.column else flaw.reason)
    for line in table.lines(io.BytesIO(content)):
        if line.number in told:
            yield BadRow(line.number, "; ".join(told[line.number]), getattr(line, "cells", ()))


def _by_heading(headings: Sequence[str], meanings: Sequence[str | None]) -> Mapping[str, str | None]:
    if len(headings) != len(meanings):
        raise BadRequest("The file has other columns than those that were named. Name them again.")
    meant = dict(zip(headings, meanings, strict=True))
    for heading, meaning in zip(headings, meanings, strict=True):
        if meant[heading] != meaning:
            raise BadRequest(
                f"Two columns are called {heading[: shared_limits.MISTAKE_CHARS]!r}. Give each its own heading."
            )
    return meant


def _sample(number: int, lines: Sequence[Sequence[str]]) -> str:
    found = (cells[number].strip() for cells in lines if number < len(cells))
    return next((text for text in found if text), "")[: limits.BULK_SAMPLE_CHARS]

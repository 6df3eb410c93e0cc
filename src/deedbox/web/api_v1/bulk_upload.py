"""The rows of a bulk send as they come: in JSON, or as a CSV file in a form."""

import asyncio
import hashlib
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import IO, Annotated, Any, ClassVar, NamedTuple, TypeAlias

import msgspec
from msgspec import Meta
from multipart import MultipartSegment

from deedbox.kernel import limits as shared_limits
from deedbox.kernel import validation_errors
from deedbox.kernel.blobs.local import disk
from deedbox.kernel.constraints import LEFT_OUT, SENT, Constraint, Constraints
from deedbox.kernel.errors import BadRequest, TooLarge
from deedbox.signing.actions.create_from_template import ReadyTemplate
from deedbox.signing.bulk import columns
from deedbox.signing.bulk.columns import KnownColumns
from deedbox.signing.bulk.model import FORMULA, NO_FORMULA, Flaw, NewBulkSend, NewRow, ReadRow, is_formula, people
from deedbox.web import limits
from deedbox.web.http import body, context, multipart
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.json_items import items
from deedbox.web.http.multipart import FILE, Take

BULK_SEND = "bulk_send"
WITH_FILE: dict[str, Any] = {
    "schema": {
        "type": "object",
        "properties": {
            BULK_SEND: {
                "type": "string",
                "maxLength": limits.JSON_BODY_BYTES,
                "description": "The bulk send as JSON, as without a form, but without rows.",
            },
            FILE: {
                "type": "string",
                "format": "binary",
                "description": "The rows as CSV: UTF-8, UTF-16 or Windows-1252, separated by comma, semicolon or tab.",
            },
        },
        "required": [BULK_SEND, FILE],
        "additionalProperties": False,
    }
}
Heading: TypeAlias = Annotated[
    str, Meta(max_length=shared_limits.BULK_CELL_CHARS, extra_json_schema=shared_limits.NO_NUL)
]


class _WithColumns(NewBulkSend, frozen=True, forbid_unknown_fields=True, kw_only=True):
    columns: Annotated[dict[Heading, Heading | None], Meta(max_length=shared_limits.BULK_COLUMNS)] = {}  # noqa: RUF012
    """With a CSV file: what its headings mean, such as `{"E-mail": "Tenant.email"}`; null for a column to leave out."""


NO_COLUMNS = Constraint("Do not send `columns` with `rows`: they belong to a CSV file.", ({"columns": LEFT_OUT},))
ROWS = Constraint("Send `rows`, unless they come as a CSV file in a form.", ({"rows": SENT},))


class NewBulkSendBody(_WithColumns, frozen=True, forbid_unknown_fields=True, kw_only=True):
    constraints: ClassVar[Constraints] = (ROWS, NO_COLUMNS)

    rows: Annotated[Sequence[NewRow], Meta(max_length=shared_limits.BULK_ROWS)] = []
    """One document each; or they come as a CSV file in a form."""


class _RawBulkSend(_WithColumns, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The same, its rows not decoded yet: that is done one by one."""

    rows: msgspec.Raw = msgspec.Raw(b"[]")


class BulkUploadRequest(NamedTuple):
    new: NewBulkSend
    rows: Callable[[ReadyTemplate], Iterator[ReadRow]]
    """Reads them, once it is known of which template."""
    content: bytes
    """What tells this request from another with the same Idempotency-Key."""


@asynccontextmanager
async def asked_for(request: AnyRequest) -> AsyncIterator[BulkUploadRequest]:
    """The bulk send that the request asks for, its rows yet to be read."""
    if multipart.is_form(request):
        folder = str(context.of(request).deedbox.settings.data_dir)
        with tempfile.SpooledTemporaryFile(limits.SMALL_BODY_BYTES, dir=folder) as file:
            yield await _form(request, file)
        return
    body.need_json(request)
    content = await body.read(request, limits.BULK_BYTES)
    # No text of a row is looked at here, so there may be any number of them.
    new = await asyncio.to_thread(body.decoded_now, _RawBulkSend, content, len(content))
    NO_COLUMNS.check(new)
    yield BulkUploadRequest(_without_more(new), lambda _: _from_json(items("rows", new.rows)), content)


def _from_json(rows: Iterator[bytes]) -> Iterator[ReadRow]:
    for index, raw in enumerate(rows):
        try:
            row = body.decoded_now(NewRow, raw)
        except BadRequest as error:
            field, colon, reason = error.message.partition(": ")
            flaw = Flaw(index, None, field, reason) if colon else Flaw(index, None, None, error.message)
            yield ReadRow(index, None, None, [flaw])
            continue
        flaws = [Flaw(index, None, place, FORMULA) for place in _formulas(row)]
        yield ReadRow(index, None, None if flaws else row, flaws)


def _formulas(row: NewRow) -> Iterator[str]:
    """Where a formula stands in place of a person's name or address."""
    for role in row.roles:
        for person in people(row, role):
            yield from (f"roles.{role}.{name}" for name in NO_FORMULA if is_formula(getattr(person, name)))


async def _form(request: AnyRequest, file: IO[bytes]) -> BulkUploadRequest:
    told, hashed, files = bytearray(), hashlib.sha256(), list[str]()

    async def keep(data: bytes) -> None:
        told.extend(data)
        if len(told) > limits.JSON_BODY_BYTES:
            raise TooLarge("The bulk send's JSON is too large")

    async def write(data: bytes) -> None:
        hashed.update(data)
        if file.tell() + len(data) > limits.BULK_BYTES:
            raise TooLarge(f"The CSV file may have {limits.BULK_BYTES // shared_limits.MB} MB")
        with disk():
            await asyncio.to_thread(file.write, data)

    async def opened(part: MultipartSegment) -> Take:
        if part.name == BULK_SEND and not told:
            return keep
        if part.name == FILE and not files:
            files.append(part.name)
            return write
        raise BadRequest(f"The form has one part {BULK_SEND!r} and one part {FILE!r}, and no part {part.name!r}")

    await multipart.read(request, opened)
    if not told:
        raise BadRequest(f"The form has no part named {BULK_SEND!r} with the bulk send as JSON")
    if not files:
        raise BadRequest(f"The form has no part named {FILE!r} with the rows as CSV")
    new = await body.decode_as(request, _RawBulkSend, bytes(told))
    if any(items("rows", new.rows)):
        raise BadRequest("rows: they come in the file; give one or the other")

    def rows(template: ReadyTemplate) -> Iterator[ReadRow]:
        return columns.rows(file, new.columns, KnownColumns.of(template.template), validation_errors.describe)

    return BulkUploadRequest(_without_more(new), rows, bytes(told) + hashed.digest())


def _without_more(new: NewBulkSend) -> NewBulkSend:
    return NewBulkSend(**{name: getattr(new, name) for name in NewBulkSend.__struct_fields__})

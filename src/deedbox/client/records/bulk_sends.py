# Written by scripts/client.py from the OpenAPI document: change it there.
"""Records of `bulk sends`."""

from msgspec import Struct

from deedbox.client.records.documents import Message, Reminders


class Counts(Struct, frozen=True, kw_only=True):
    total: int
    """All rows."""
    queued: int
    """Rows that wait to be sent."""
    sent: int
    """Rows whose document is sent."""
    failed: int
    """Rows that could not be sent."""
    canceled: int
    """Rows that were not sent when the bulk send was canceled."""


class BulkSend(Struct, frozen=True, kw_only=True):
    id: str
    """The bulk send's id."""
    object: str = "bulk_send"
    """Always `bulk_send`."""
    name: str
    """What it is called; with its template, it tells it from all others."""
    template_id: str
    """The template of which its documents are made."""
    template_version: int
    """The version of the template: that of the first upload."""
    status: str
    """Where it stands."""
    counts: Counts
    """How many rows stand where."""
    dry_run: bool = False
    """Always false: a dry run keeps nothing."""
    rows_per_minute: int | None
    """How many rows are sent in a minute at most; null: as fast as it goes."""
    title: str | None
    """What each document is called; null: as the template."""
    message: Message | None
    """What the invitations say; null: the template's words."""
    language: str | None
    """The language of rows that name none; null: the template's."""
    expires_at: str | None
    """When the documents can no longer be signed; null: as the template says."""
    reminders: Reminders | None
    """When people are reminded; null: as the template says."""
    require_timestamp: bool
    """Whether the documents are completed only with a time-stamp of an authority."""
    created_at: str
    """When it was made."""
    updated_at: str
    """When it last changed."""
    completed_at: str | None
    """When the last row was sent or had failed; null until then."""
    canceled_at: str | None
    """When it was canceled; null if it was not."""


class BulkSendPage(Struct, frozen=True, kw_only=True):
    bulk_sends: list[BulkSend]
    """The bulk sends of this page."""
    count: int
    """How many are in this answer."""
    has_more: bool
    """Whether there are more."""
    next_cursor: str | None
    """Give it as `cursor` to get the next page; null on the last one."""


class Flaw(Struct, frozen=True, kw_only=True):
    """What is wrong with a row."""

    index: int
    """The row's number, from 0."""
    line: int | None
    """The line of the CSV file, from 1, on which the row begins; null for rows in JSON."""
    column: str | None
    """The column, or the field of a row in JSON; null if it is the row as a whole."""
    reason: str
    """What is wrong with it."""


class DryRun(Struct, frozen=True, kw_only=True):
    """What came of checking every row; nothing was kept."""

    dry_run: bool = True
    """Always `True`."""
    total: int
    """All rows."""
    valid: int
    """Rows that can be sent."""
    invalid: int
    """Rows that cannot be sent."""
    errors: list[Flaw]
    """What is wrong with them, in their order."""


class Row(Struct, frozen=True, kw_only=True):
    index: int
    """The row's number, from 0."""
    key: str
    """Your name for the row, or that made of what it says."""
    status: str
    """Where it stands."""
    document_id: str | None
    """The document that it became; null until it is sent."""
    error: str | None
    """Why it could not be sent."""


class BulkRowPage(Struct, frozen=True, kw_only=True):
    rows: list[Row]
    """The rows of this page."""
    count: int
    """How many are in this answer."""
    has_more: bool
    """Whether there are more."""
    next_cursor: str | None
    """Give it as `cursor` to get the next page; null on the last one."""

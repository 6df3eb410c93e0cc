"""The records of a bulk send: what is asked for, where it stands, and its rows."""

import hashlib
from collections.abc import Sequence
from typing import Annotated, Final, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import Meta

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.errors import Conflict
from deedbox.kernel.rotation import EncryptedColumn
from deedbox.signing import limits
from deedbox.signing.model import Message, Reminders
from deedbox.signing.new_document import (
    ExternalId,
    FieldValue,
    Id,
    Label,
    Language,
    Metadata,
    Moment,
    NewSigner,
    People,
    Title,
)
from deedbox.signing.template import FromTemplate

Status: TypeAlias = Literal["queued", "sending", "paused", "completed", "canceled"]
RowStatus: TypeAlias = Literal["queued", "sent", "failed", "canceled"]
Move: TypeAlias = Literal["send", "pause", "resume", "cancel", "retry", "add"]
Name: TypeAlias = Annotated[
    str, Meta(min_length=1, max_length=shared_limits.BULK_NAME_CHARS, extra_json_schema=shared_limits.NO_NUL)
]
Key: TypeAlias = Annotated[
    str, Meta(min_length=1, max_length=limits.BULK_KEY_CHARS, extra_json_schema=shared_limits.NO_NUL)
]
Pace: TypeAlias = Annotated[int, Meta(ge=1, le=shared_limits.BULK_ROWS_PER_MINUTE_MAX)]

MOVES: Final[dict[tuple[Status, Move], Status]] = {
    ("queued", "send"): "sending",
    ("sending", "send"): "sending",
    ("queued", "pause"): "paused",
    ("sending", "pause"): "paused",
    ("paused", "resume"): "queued",
    ("queued", "cancel"): "canceled",
    ("sending", "cancel"): "canceled",
    ("paused", "cancel"): "canceled",
    ("queued", "retry"): "queued",
    ("sending", "retry"): "sending",
    ("paused", "retry"): "paused",
    ("completed", "retry"): "queued",
    ("queued", "add"): "queued",
    ("sending", "add"): "sending",
    ("paused", "add"): "paused",
    ("completed", "add"): "queued",
    ("canceled", "add"): "queued",
}
"""Whatever is not here is refused. `add` is a second upload under the same name, which brings more rows."""

ENCRYPTED_ROWS = EncryptedColumn(
    table="bulk_rows",
    key_columns=("bulk_send_id", "row_key"),
    column="content",
    place="bulk_rows.content:{bulk_send_id}/{row_key}",
)
"""What a row says may hold an access code: it is encrypted, and gone once its document is sent."""


_UNSAID = {one.name: one.default for one in msgspec.structs.fields(NewSigner) if not one.required}
"""What holds for a person of whom it is not said."""
NO_FORMULA: Final = ("name", "email")
"""What of a person stands in the spreadsheets of others, where a formula would be computed."""
FORMULA: Final = "it begins like a formula (=, +, - or @), which is neither a name nor an address"


def is_formula(text: str) -> bool:
    """Whether a spreadsheet would compute the text."""
    return text.lstrip().startswith(("=", "+", "-", "@"))


def after(status: Status, move: Move) -> Status:
    """The state that the move leads to; Conflict, with its sentence, where it leads nowhere."""
    following = MOVES.get((status, move))
    if following is None:
        raise Conflict(f"The bulk send is {status}, so this cannot be done")
    return following


class NewRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One document of a bulk send."""

    key: Key | None = None
    """Your own name for the row: under one key no bulk send sends twice. Made of what the row says unless given."""
    roles: People = {}
    """Who has each role of the template: a person, or a list of people."""
    values: Annotated[dict[Label, FieldValue], Meta(max_length=shared_limits.DOCUMENT_FIELDS)] = {}
    """What stands in fields, by their labels."""
    metadata: Metadata = {}
    """Your own names and values of the document."""
    external_id: ExternalId | None = None
    """Your own id of the document."""
    language: Language | None = None
    """The language of the document, and of whoever has none of their own."""

    def digest(self) -> str:
        """A hash of what the row says, whatever its key, but for its access codes, which nobody can guess from it.

        Only what is given counts: a field that rows may have one day does not change the hashes of those without."""
        told: dict[str, object] = {name: getattr(self, name) for name in self.__struct_fields__ if name != "key"}
        told["roles"] = {name: [_told(one) for one in people(self, name)] for name in self.roles}
        given = {name: value for name, value in told.items() if value}
        return hashlib.sha256(msgspec.json.encode(given, order="deterministic")).hexdigest()


class Common(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What all documents of a bulk send have in common."""

    title: Title | None = None
    """What each document is called; the template's name unless given."""
    message: Message | None = None
    """What the invitations say, instead of the template's words."""
    language: Language | None = None
    """The language of rows that name none; the template's unless given."""
    expires_at: Moment | None = None
    """When the documents can no longer be signed; it must lie ahead when each is sent."""
    reminders: Reminders | None = None
    """When people are reminded, instead of what the template says."""
    require_timestamp: bool = False
    """Complete the documents only with a time-stamp of the authority that the server's settings name."""


class NewBulkSend(Common, frozen=True, forbid_unknown_fields=True, kw_only=True):
    name: Name
    """What it is called. Rows sent before under this name, from the same template, are not sent again."""
    template_id: Id
    """The template of which the documents are made."""
    rows_per_minute: Pace | None = None
    """How many rows are sent in a minute at most, for mail servers that throttle; as fast as it goes unless given."""
    dry_run: bool = False
    """Only check every row, and report what is wrong; nothing is sent or kept."""

    @property
    def common(self) -> Common:
        return Common(**{name: getattr(self, name) for name in Common.__struct_fields__})


class Counts(msgspec.Struct, frozen=True):
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


class BulkSend(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    workspace_id: str
    name: str
    template_id: str
    template_version: int
    status: Status
    common: Common
    rows_per_minute: int | None
    actor: str
    """Who asked for it, for the audit trails of its documents."""
    counts: Counts
    round: int = 1
    """Another each time that work begins anew: a job of an earlier round has nothing to do."""
    next_at: float = 0
    """Before this time no row is sent, to keep the pace."""
    created_at: str
    updated_at: str
    completed_at: str | None = None
    canceled_at: str | None = None


class Row(msgspec.Struct, frozen=True):
    index: int
    """The row's number, from 0."""
    key: str
    """Your name for the row, or that made of what it says."""
    status: RowStatus
    """Where it stands."""
    document_id: str | None
    """The document that it became; null until it is sent."""
    error: str | None
    """Why it could not be sent."""


class Flaw(msgspec.Struct, frozen=True):
    """What is wrong with a row."""

    index: int
    """The row's number, from 0."""
    line: int | None
    """The line of the CSV file, from 1, on which the row begins; null for rows in JSON."""
    column: str | None
    """The column, or the field of a row in JSON; null if it is the row as a whole."""
    reason: str
    """What is wrong with it."""

    def said(self) -> str:
        """The flaw in one sentence."""
        where = RowPosition(self.index, self.line)
        return f"{where}, {self.column}: {self.reason}" if self.column else f"{where}: {self.reason}"


class RowPosition(msgspec.Struct, frozen=True):
    """Where a row stands in what was sent."""

    index: int
    line: int | None

    def __str__(self) -> str:
        return f"row {self.index}" if self.line is None else f"line {self.line}"

    def flaw(self, reason: str, column: str | None = None) -> Flaw:
        return Flaw(self.index, self.line, column, reason)


class ReadRow(msgspec.Struct, frozen=True):
    """A row as it was read, or what is wrong with it."""

    index: int
    line: int | None
    row: NewRow | None
    flaws: Sequence[Flaw] = ()

    @property
    def place(self) -> RowPosition:
        return RowPosition(self.index, self.line)


class ColumnChoice(Common, frozen=True, kw_only=True):
    """What was said of the file so far."""

    name: Name
    rows_per_minute: Pace | None = None
    meanings: Annotated[Sequence[str | None], Meta(max_length=shared_limits.BULK_COLUMNS)]
    """Of each column, as `columns` of the API names it; None for one to leave out."""

    def bulk_send(self, template_id: str) -> NewBulkSend:
        told = {name: getattr(self, name) for name in Common.__struct_fields__}
        return NewBulkSend(name=self.name, template_id=template_id, rows_per_minute=self.rows_per_minute, **told)


class KeptReport(msgspec.Struct, frozen=True):
    """What came of checking every row."""

    total: int
    invalid: int
    flaws: Sequence[Flaw]
    version: int
    """That of the template."""

    @property
    def valid(self) -> int:
        return self.total - self.invalid


class BulkUpload(msgspec.Struct, frozen=True):
    id: str
    workspace_id: str
    template_id: Id
    file_name: str
    choice: ColumnChoice | None
    """None until someone has said what the columns mean."""
    report: KeptReport | None
    """None until the rows were checked with this choice."""
    created_at: str

    def stamp(self, version: int) -> str:
        """Tells what is sent from another: what was said of the file, and the version of the template."""
        return hashlib.sha256(msgspec.json.encode((self.choice, version))).hexdigest()


class CheckedRow(NamedTuple):
    """A row that can be sent."""

    place: RowPosition
    key: str
    digest: str
    """A hash of what it says, but for access codes."""
    content: bytes
    """What it says, encrypted."""


def people(row: NewRow, role: str) -> list[NewSigner]:
    """Those who have the role."""
    given = row.roles.get(role, [])
    return [given] if isinstance(given, NewSigner) else [*given]


def to_request(template_id: str, common: Common, row: NewRow) -> FromTemplate:
    """The document that the row asks for."""
    return FromTemplate(
        template_id=template_id,
        roles=row.roles,
        values=row.values,
        title=common.title,
        message=common.message,
        metadata=row.metadata,
        external_id=row.external_id,
        language=row.language or common.language,
        expires_at=common.expires_at,
        reminders=common.reminders,
        require_timestamp=common.require_timestamp,
        send=True,
    )


def _told(person: NewSigner) -> dict[str, object]:
    """What is said of a person, but for the access code."""
    told = {name: getattr(person, name) for name in person.__struct_fields__ if name != "access_code"}
    return {name: value for name, value in told.items() if name not in _UNSAID or value != _UNSAID[name]}

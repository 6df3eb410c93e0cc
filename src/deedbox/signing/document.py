"""What a document is."""

from typing import Literal, TypeAlias, TypeVar

import msgspec

T = TypeVar("T")

Status: TypeAlias = Literal[
    "processing", "draft", "sent", "finalizing", "completed", "declined", "voided", "expired", "failed"
]
Source: TypeAlias = Literal["api", "dashboard", "template", "packet", "bulk"]
Auth: TypeAlias = Literal["none", "email_code", "access_code"]
Rule: TypeAlias = Literal["all", "any", "quorum"]
OnDecline: TypeAlias = Literal["decline_document", "continue_while_possible"]
FieldType: TypeAlias = Literal["signature", "initials", "date", "name", "email", "text", "number", "checkbox", "select"]


class Message(msgspec.Struct, frozen=True):
    subject: str
    body: str


class File(msgspec.Struct, frozen=True):
    id: str
    name: str
    sha256: str
    size_bytes: int
    pages: int
    position: int
    removed: list[str]
    """What was taken out of it because it could have changed the face of the sealed file."""


class Signer(msgspec.Struct, frozen=True):
    id: str
    party_id: str
    name: str
    email: str
    language: str
    auth: Auth
    status: Literal["waiting", "notified", "viewed", "signed", "declined", "canceled"]
    notified_at: str | None
    viewed_at: str | None
    signed_at: str | None
    declined_at: str | None
    decline_reason: str | None


class Party(msgspec.Struct, frozen=True):
    id: str
    name: str
    order: int
    rule: Rule
    quorum: int | None
    on_decline: OnDecline
    status: Literal["waiting", "active", "completed", "declined", "canceled"]
    signers: list[Signer]
    completed_at: str | None


class Field(msgspec.Struct, frozen=True):
    id: str
    file_id: str
    signer_id: str | None
    party_id: str | None
    type: FieldType
    page: int
    x: float
    y: float
    w: float
    h: float
    required: bool
    label: str | None
    default: str | None
    options: list[str]
    value: str | None


class Progress(msgspec.Struct, frozen=True):
    signers_total: int
    signers_signed: int
    parties_total: int
    parties_completed: int


class Seal(msgspec.Struct, frozen=True):
    level: str
    timestamped: bool
    degraded: bool
    certificate_fingerprint: str


class Reminders(msgspec.Struct, frozen=True):
    first_after_hours: int
    every_hours: int
    max: int


class Decline(msgspec.Struct, frozen=True):
    signer_id: str
    reason: str | None


class Void(msgspec.Struct, frozen=True):
    reason: str | None


class ArchiveReceipt(msgspec.Struct, frozen=True):
    """Where the document's package lies in the archive, and by what it is recognised."""

    location: str
    sha256: str
    size_bytes: int
    manifest_sha256: str
    archived_at: str
    version: str | None = None
    etag: str | None = None
    answer: str | None = None
    """What the archive said when it took it."""


class Archive(msgspec.Struct, frozen=True):
    status: Literal["disabled", "pending", "archived", "failed"]
    """`failed`: the last attempt was in vain; there will be others."""
    attempts: int
    archived_at: str | None
    receipt: ArchiveReceipt | None
    error: str | None = None
    """Why the last attempt was in vain."""


class Document(msgspec.Struct, frozen=True):
    id: str
    object: Literal["document"]
    title: str
    status: Status
    source: Source
    external_id: str | None
    metadata: dict[str, str]
    template_id: str | None
    packet_id: str | None
    bulk_send_id: str | None
    message: Message | None
    language: str
    files: list[File]
    parties: list[Party]
    fields: list[Field]
    progress: Progress
    seal: Seal | None
    reminders: Reminders | None
    expires_at: str | None
    created_at: str
    updated_at: str
    sent_at: str | None
    completed_at: str | None
    declined_at: str | None
    voided_at: str | None
    expired_at: str | None
    decline: Decline | None
    void: Void | None
    archive: Archive
    verification_code: str | None
    error: str | None
    """Why the document could not be converted, or why sealing it has failed so far."""


def first_page(document: Document, file_id: str) -> int:
    """How many pages of the whole lie before those of the file."""
    file = next(file for file in document.files if file.id == file_id)
    return sum(other.pages for other in document.files if other.position < file.position)


def decoded(value: object, kind: type[T]) -> T | None:
    """A value object of a stored document, which is the raw JSON that the API shows."""
    if value is None or isinstance(value, kind):
        return value
    return msgspec.json.decode(msgspec.json.encode(value), type=kind)


class Filter(msgspec.Struct, frozen=True):
    """Which documents to list; None means any."""

    status: Status | None = None
    q: str | None = None
    packet_id: str | None = None
    bulk_send_id: str | None = None
    template_id: str | None = None
    external_id: str | None = None
    signer_email: str | None = None
    created_after: str | None = None
    created_before: str | None = None

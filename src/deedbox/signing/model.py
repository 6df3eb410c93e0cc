"""The records of signing: a packet with its parties and signers, and its documents with their files and fields."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

from deedbox import i18n
from deedbox.kernel import limits
from deedbox.pdf.intake.signed_input import EarlierSignature, SignedInput
from deedbox.pdf.marks.fonts import Hand

Status: TypeAlias = Literal[
    "processing", "draft", "sent", "finalizing", "completed", "declined", "voided", "expired", "failed"
]
SignerStatus: TypeAlias = Literal["waiting", "notified", "viewed", "signed", "declined", "canceled"]
PartyStatus: TypeAlias = Literal["waiting", "active", "completed", "declined", "canceled"]
Source: TypeAlias = Literal["api", "dashboard", "template", "packet", "bulk"]
Auth: TypeAlias = Literal["none", "email_code", "access_code"]
Role: TypeAlias = Literal["signer", "approver", "cc"]
"""Who signs, who agrees without a mark on the page, and who only gets a copy of the sealed file."""
Identity: TypeAlias = Literal["mailed_link", "kept_link", "embedded_link", "in_person", "email_code", "access_code"]
"""How it was checked who acts: by a link that was mailed to them, by one that the sender could read because no mail
leaves this server, by the word of the sender's system, by someone of the workspace who handed them the device, or by a
code."""
Rule: TypeAlias = Literal["all", "any", "quorum"]
OnDecline: TypeAlias = Literal["decline_document", "continue_while_possible"]
FieldType: TypeAlias = Literal[
    "signature", "initials", "date_signed", "date", "name", "email", "text", "number", "checkbox", "select", "radio",
    "attachment",
]  # fmt: skip
"""A `date_signed` holds the day of the signature and is filled by the server; a `date` is filled in by the signer."""
SignatureKind: TypeAlias = Literal["typed", "drawn", "uploaded"]
ArchiveStatus: TypeAlias = Literal["disabled", "pending", "archived", "failed"]


def consent(packet: "Packet", signer: "Signer") -> str:
    """The sentence that a signer or an approver agrees to, in their language."""
    name = "consent_packet" if len(packet.documents) > 1 else "consent"
    return i18n.table(signer.language)[f"{name}_approver" if signer.role == "approver" else name]


class DocumentFile(msgspec.Struct, frozen=True):
    """One file of a document, and its part of the paper once that is made."""

    id: str
    name: str
    sha256: str
    size_bytes: int
    sizes: list[tuple[float, float]] = []
    """Width and height of each page as it is displayed; none before the paper is made."""
    removed: list[str] = []
    """What was taken out of it because it could have changed the face of the sealed file."""
    signatures: list[EarlierSignature] = []
    """Those that it held when it came; the paper shows how they looked."""

    @property
    def pages(self) -> int:
        return len(self.sizes)


class Attachment(msgspec.Struct, frozen=True):
    """A file that a signer has given for a field; its pages are joined behind the paper."""

    field_id: str
    signer_id: str
    name: str
    sha256: str
    """Of the file as it came,"""
    size_bytes: int
    paper_sha256: str
    """and of the PDF that was made of it."""
    paper_bytes: int
    sizes: list[tuple[float, float]]
    """Width and height of each page as it is displayed."""

    @property
    def pages(self) -> int:
        return len(self.sizes)


class ShowIf(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a field is shown; while it is not, it holds nothing and prints nothing."""

    field: Annotated[str, Meta(min_length=1, max_length=limits.FIELD_LABEL_CHARS, extra_json_schema=limits.NO_NUL)]
    """The field that decides, of the same signer or of one before: its id or its label, or the group of radio
    buttons; an id in answers."""
    equals: Annotated[str, Meta(min_length=1, max_length=limits.FIELD_VALUE_CHARS, extra_json_schema=limits.NO_NUL)]
    """What has to stand in it; of a group, the label of the radio button that has to be chosen."""


class Field(msgspec.Struct, frozen=True, rename={"file_id": "file", "signer_id": "signer", "party_id": "party"}):
    """A field; callers read what it belongs to by the names under which they write it."""

    id: str
    """The field's id."""
    file_id: str
    """The file on which it stands."""
    signer_id: str | None
    """The signer who fills it; null if any signer of the party may."""
    party_id: str | None
    """The party, any of whose signers fills it; null if one signer does."""
    type: FieldType
    """What is filled in. The server fills `date_signed` with the day of the signature in the signer's time zone; a
    `date` is entered by the signer."""
    page: int
    """The page of the file, from 1."""
    x: float
    """The left edge, as a fraction of the page's width as it is displayed."""
    y: float
    """The upper edge, as a fraction of the page's height as it is displayed."""
    w: float
    """The width, as a fraction of the page's."""
    h: float
    """The height, as a fraction of the page's."""
    required: bool
    """Whether the signer can sign only once it is filled."""
    label: str | None
    """What the signer is asked for."""
    default: str | None
    """What stands in it until the signer fills it."""
    options: list[str]
    """The choices of a `select`, or of a `radio` field that has all buttons of its group."""
    value: str | None
    """What was filled in; null until then. Of an `attachment`, the SHA-256 of the file."""
    font_size: float | None = None
    """Points, at which its text is set if there is room; None for the usual."""
    read_only: bool = False
    """Whether the signer sees it and cannot change it; always true of a `date_signed`."""
    max_length: int | None = None
    """The most characters that a `text` may have."""
    pattern: str | None = None
    """The regular expression that the whole of a `text` has to match, in the syntax of RE2."""
    group: str | None = None
    """The group of a `radio` button without `options`: of those of one signer, one is chosen."""
    show_if: ShowIf | None = None
    """When it is shown; null: always."""
    hint: str | None = None
    """What the signer is told of how to fill it in, such as "two letters and six digits"."""

    @property
    def is_button(self) -> bool:
        """Whether it is one radio button of a group, not a radio field that has all options."""
        return self.type == "radio" and not self.options

    @property
    def is_choice(self) -> bool:
        """Whether its value is one of its options."""
        return self.type == "select" or (self.type == "radio" and not self.is_button)


class Seal(msgspec.Struct, frozen=True):
    level: str
    """The PAdES level of the seal."""
    timestamped: bool
    """Whether an RFC 3161 time-stamp proves when it was sealed."""
    degraded: bool
    """Whether the time-stamp authority of the settings could not be reached, so that the seal waits for its time-
    stamp."""
    certificate_fingerprint: str
    """The SHA-256 of the certificate that sealed it, in hexadecimal."""


class WorkspaceBrand(msgspec.Struct, frozen=True):
    """How the workspace appears on what its people get."""

    name: str
    accent: str | None = None
    """Its colour, as it was chosen."""
    logo_sha256: str | None = None


class Decline(msgspec.Struct, frozen=True):
    signer_id: str
    """Who declined."""
    reason: str | None
    """Why, in the signer's own words; null if none was given."""


class Void(msgspec.Struct, frozen=True):
    reason: str | None
    """Why, in the sender's own words; null if none was given."""


class ArchiveReceipt(msgspec.Struct, frozen=True):
    """Where the document's package lies in the archive, and by what it is recognised."""

    location: str
    """Where the package lies."""
    sha256: str
    """The SHA-256 of the package."""
    size_bytes: int
    """The size of the package."""
    manifest_sha256: str
    """The SHA-256 of the package's manifest, which names the hash of every file in it."""
    archived_at: str
    """When the archive took it."""
    version: str | None = None
    """The version that the archive gave it; null where it gives none."""
    etag: str | None = None
    """The ETag that the archive gave it; null where it gives none."""
    answer: str | None = None
    """What the archive said when it took it."""


class Archive(msgspec.Struct, frozen=True):
    status: ArchiveStatus = "disabled"
    """`failed`: the last attempt was in vain; there will be others."""
    attempts: int = 0
    """How often it was tried."""
    archived_at: str | None = None
    """When the archive took it; null until then."""
    receipt: ArchiveReceipt | None = None
    """Where it lies in the archive; null until it does."""
    error: str | None = None
    """Why the last attempt was in vain."""


class Document(msgspec.Struct, frozen=True):
    """What is a document's own: its files, its fields, its state and its seal. People belong to its packet."""

    id: str
    workspace_id: str
    packet_id: str
    title: str
    status: Status
    source: Source
    external_id: str | None
    metadata: dict[str, str]
    files: list[DocumentFile]
    require_timestamp: bool
    created_at: str
    updated_at: str
    fields: list[Field] = []
    template_id: str | None = None
    template_version: int | None = None
    bulk_send_id: str | None = None
    paper_sha256: str | None = None
    """The PDF that the signers see, which holds all files; None before it is made."""
    seal: Seal | None = None
    sent_at: str | None = None
    completed_at: str | None = None
    declined_at: str | None = None
    voided_at: str | None = None
    expired_at: str | None = None
    decline: Decline | None = None
    void: Void | None = None
    verification_code: str | None = None
    error: str | None = None
    """Why the document could not be converted, or why sealing it has failed so far."""
    archive: Archive = Archive()
    signed_input: SignedInput = "refuse"
    """What is done with a file that was signed before it came."""
    attachments: list[Attachment] = []
    """Those of people who have signed, in the order of their fields."""
    asks_all: bool = True
    """Whether a signer for whom it has no signature field gets one: not where a packet's sender says who fills what."""


class SignerSignature(msgspec.Struct, frozen=True):
    """How the signer signed; of an image or of strokes, the hash under which they are kept."""

    kind: SignatureKind
    text: str | None = None
    image_sha256: str | None = None
    strokes_sha256: str | None = None
    hand: Hand | None = None
    """In which the text is written."""

    @property
    def file_sha256(self) -> str | None:
        """Of the file that shows it; None if it is typed."""
        return self.image_sha256 or self.strokes_sha256


class Signer(msgspec.Struct, frozen=True):
    id: str
    party_id: str
    name: str
    email: str
    language: str
    auth: Auth
    status: SignerStatus = "waiting"
    notified_at: str | None = None
    viewed_at: str | None = None
    signed_at: str | None = None
    declined_at: str | None = None
    decline_reason: str | None = None
    signature: SignerSignature | None = None
    initials: SignerSignature | None = None
    """Typed, drawn or uploaded like the signature; None if they are those of the name."""
    access_code_hash: str | None = None
    identity: Identity | None = None
    """None until they sign, approve, decline or pass it on."""
    reminded_at: str | None = None
    time_zone: str | None = None
    """Its IANA name: in which times are told to this person."""
    role: Role = "signer"
    delegation: bool = False
    """Whether the person may pass it on to someone else."""
    delegated_to: str | None = None
    """The signer who has taken this one's place."""
    reminders: int = 0
    """How many the timer has sent; those that the sender asked for by hand are not among them."""
    timer_reminded_at: str | None = None

    @property
    def counts(self) -> bool:
        """Whether the party's rule counts this person: not who gets a copy, and not who has passed it on."""
        return self.role != "cc" and self.delegated_to is None


class Party(msgspec.Struct, frozen=True):
    id: str
    name: str
    order: int
    rule: Rule
    quorum: int | None
    on_decline: OnDecline
    declared: bool
    """Whether the request named the party; a lone signer has one that it did not."""
    signers: list[Signer]
    status: PartyStatus = "waiting"
    completed_at: str | None = None


class Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    subject: Annotated[str, Meta(max_length=limits.MESSAGE_SUBJECT_CHARS, pattern=r"^[^\x00-\x1f]*$")] = ""
    """The subject of the invitation; empty: the usual one in each person's language, which names the sender."""
    body: Annotated[str, Meta(max_length=limits.MESSAGE_BODY_CHARS, extra_json_schema=limits.NO_NUL)] = ""
    """What the invitation says, in the sender's own words; may be empty."""


class Reminders(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    first_after_hours: Annotated[int, Meta(ge=1, le=limits.REMINDER_HOURS_MAX)]
    """Hours from the invitation to the first reminder."""
    every_hours: Annotated[int, Meta(ge=1, le=limits.REMINDER_HOURS_MAX)]
    """Hours from one reminder to the next."""
    max: Annotated[int, Meta(ge=1, le=limits.REMINDERS_MAX)]
    """How many reminders at most, to each person."""
    at_night: bool = False
    """Whether they also come at night; else from 8 to 20 o'clock where the person is, or UTC if that is not known."""


class Packet(msgspec.Struct, frozen=True):
    """Documents that are sent, signed and ended together, with the people who sign them.

    A document that was made by itself is the only one of a packet that nobody sees."""

    id: str
    workspace_id: str
    lone: bool
    """Whether it stands for one document that was made by itself."""
    sender: str
    """Who asks: the sender's name as the workspace had it when this was sent (or made, until then)."""
    company: str
    """For whom: the workspace's name at that time, which is also the sender's where nobody is named."""
    sender_email: str | None
    """Where questions and replies go."""
    language: str
    message: Message | None
    reminders: Reminders | None
    expires_at: str | None
    parties: list[Party]
    documents: list[Document]
    expires_after_hours: int | None = None
    """From sending, where no end is named."""
    title: str = ""
    """What it is called; a lone document has its own title."""
    external_id: str | None = None
    metadata: dict[str, str] = {}
    completed_at: str | None = None
    """When the last document was sealed and the certificate of the whole was stored; None of a lone document."""
    certificate_sha256: str | None = None
    """The certificate of completion of all documents together."""
    error: str | None = None
    """Why certifying the whole has failed so far."""

    @property
    def status(self) -> Status:
        """Where all its documents stand: at what keeps it back, as long as they differ."""
        standing = {document.status for document in self.documents}
        if len(standing) > 1:
            return next(status for status in _HELD_BACK if status in standing)
        status = self.first.status
        sealed = self.lone or status != "completed" or self.completed_at is not None
        return status if sealed else "finalizing"

    @property
    def name(self) -> str:
        """What people call it: its title, or that of the lone document."""
        return self.title or self.first.title

    @property
    def ended_at(self) -> str | None:
        """When it came to its end, whichever it was."""
        first = self.first
        completed = first.completed_at if self.lone else self.completed_at
        return completed or first.declined_at or first.voided_at or first.expired_at

    @property
    def first(self) -> Document:
        """The document that speaks for all: until they are sealed, all are in the same state."""
        return self.documents[0]

    def with_document(self, changed: Document) -> "Packet":
        """The packet with this one in place of the document of the same id."""
        documents = [changed if document.id == changed.id else document for document in self.documents]
        return msgspec.structs.replace(self, documents=documents)

    def signers(self) -> Iterator[tuple[Party, Signer]]:
        return ((party, signer) for party in self.parties for signer in party.signers)

    def files(self) -> Iterator[tuple[Document, DocumentFile]]:
        """The files of all documents, in their order."""
        return ((document, file) for document in self.documents for file in document.files)


_HELD_BACK: tuple[Status, ...] = ("failed", "processing", "finalizing")
"""Documents of one packet differ only while they are converted and while they are sealed."""


class Filter(msgspec.Struct, frozen=True):
    """Which documents or packets to list; None, and no status at all, means any."""

    statuses: tuple[Status, ...] = ()
    q: str | None = None
    packet_id: str | None = None
    bulk_send_id: str | None = None
    template_id: str | None = None
    external_id: str | None = None
    signer_email: str | None = None
    waits_for: str | None = None
    """The address of someone whose turn it is."""
    created_after: str | None = None
    created_before: str | None = None


class PageRequest(msgspec.Struct, frozen=True):
    """Which part of a list to show."""

    limit: int
    cursor: str | None = None
    newest_first: bool = True


def attached_pages(document: Document) -> dict[str, range]:
    """The pages that each attachment has behind the paper, from 1, by its field."""
    found, start = {}, sum(file.pages for file in document.files) + 1
    for one in document.attachments:
        found[one.field_id] = range(start, start + one.pages)
        start += one.pages
    return found


def first_page(document: Document, file_id: str) -> int:
    """How many pages of the paper lie before those of the file."""
    return pages_before(document.files, file_id)


def pages_before(files: Sequence[DocumentFile], file_id: str) -> int:
    """How many pages lie before those of the file, where these are joined; LookupError if it is none of them."""
    before = 0
    for file in files:
        if file.id == file_id:
            return before
        before += file.pages
    raise LookupError(file_id)

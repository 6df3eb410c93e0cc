# Written by scripts/client.py from the OpenAPI document: change it there.
"""Records of `documents`."""

from typing import Any

from msgspec import Struct


class Message(Struct, frozen=True, kw_only=True, omit_defaults=True):
    subject: str = ""
    """The subject of the invitation; empty: the usual one in each person's language, which names the sender."""
    body: str = ""
    """What the invitation says, in the sender's own words; may be empty."""


class EarlierSignature(Struct, frozen=True, kw_only=True):
    """A signature in a file as it came. The file that is sealed shows how it looked, and no longer holds it."""

    kind: str
    """A person's or company's signature, or a time-stamp of the document."""
    signer: str
    """As its certificate names the signer; whether that certificate is to be trusted was not judged."""
    issuer: str
    """Who issued the certificate."""
    signed_at: str | None
    """As the signer says."""
    timestamped_at: str | None
    """As the time-stamp says."""
    valid: bool
    """It fits the bytes that it is about, and nothing was done to the file later that it does not allow."""
    covers_entire_file: bool
    """False: it is about an earlier state of the file, and something was added later."""
    problem: str | None = None
    """Why it is not valid."""


class File(Struct, frozen=True, kw_only=True):
    id: str
    """The file's id."""
    name: str
    """The name that it came with."""
    sha256: str
    """The SHA-256 of the bytes that came."""
    size_bytes: int
    """How many bytes came."""
    pages: int
    """Its pages as they are signed; 0 until it is converted."""
    position: int
    """Its place among the files of the document, from 0."""
    removed: list[str]
    """What was taken out of it because it could have changed the face of the sealed file."""
    signatures: list[EarlierSignature]
    """Those that it held when it came; the sealed file shows how they looked."""


class Signer(Struct, frozen=True, kw_only=True):
    id: str
    """The signer's id."""
    party_id: str
    """The party to which the signer belongs."""
    name: str
    """The signer's name."""
    email: str
    """Where the invitation goes, in lower case."""
    language: str
    """The language of the mails and pages for this person."""
    time_zone: str | None
    """The IANA name of the zone in which times are told to this person; null: UTC."""
    role: str
    """Whether the person signs, approves, or gets a copy of the sealed file."""
    auth: str
    """What the person has to give beside the link."""
    delegation: bool
    """Whether the person may pass it on to someone else."""
    status: str
    """How far this person is."""
    identity: str | None
    """How it was checked who acted; null until then."""
    notified_at: str | None
    """When the invitation was sent, or the copy to a cc; null until then."""
    viewed_at: str | None
    """When the person first saw the document; null until then."""
    signed_at: str | None
    """When the person signed or approved; null until then."""
    declined_at: str | None
    """When the person declined; null unless that happened."""
    decline_reason: str | None
    """Why, in the person's own words."""
    delegated_to: str | None
    """The signer to whom the person has passed it on; null unless that happened."""


class Party(Struct, frozen=True, kw_only=True):
    id: str
    """The party's id."""
    name: str
    """What the party is called."""
    order: int
    """When it is this party's turn: lower ones first, equal ones side by side."""
    rule: str
    """Who of its signers has to sign."""
    quorum: int | None
    """How many have to sign, with the rule `quorum`; else null."""
    on_decline: str
    """What one signer's decline does."""
    status: str
    """How far the party is."""
    signers: list[Signer]
    """The people who sign for it."""
    completed_at: str | None
    """When its rule was met; null until then."""


class ShowIf(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """When a field is shown; while it is not, it holds nothing and prints nothing."""

    field: str
    """The field that decides, of the same signer or of one before: its id or its label, or the group of radio
    buttons; an id in answers."""
    equals: str
    """What has to stand in it; of a group, the label of the radio button that has to be chosen."""


class Field(Struct, frozen=True, kw_only=True):
    """A field; callers read what it belongs to by the names under which they write it."""

    id: str
    """The field's id."""
    file: str
    """The file on which it stands."""
    signer: str | None
    """The signer who fills it; null if any signer of the party may."""
    party: str | None
    """The party, any of whose signers fills it; null if one signer does."""
    type: str
    """What is filled in. The server fills `date_signed` with the day of the signature in the signer's time zone;
    a `date` is entered by the signer."""
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


class Progress(Struct, frozen=True, kw_only=True):
    signers_total: int
    """How many people have to sign or approve: neither who gets a copy nor who has passed it on."""
    signers_signed: int
    """How many of them have signed or approved."""
    parties_total: int
    """How many parties there are in which someone signs or approves."""
    parties_completed: int
    """How many of them are complete."""


class Seal(Struct, frozen=True, kw_only=True):
    level: str
    """The PAdES level of the seal."""
    timestamped: bool
    """Whether an RFC 3161 time-stamp proves when it was sealed."""
    degraded: bool
    """Whether the time-stamp authority of the settings could not be reached, so that the seal waits for its time-
    stamp."""
    certificate_fingerprint: str
    """The SHA-256 of the certificate that sealed it, in hexadecimal."""


class Reminders(Struct, frozen=True, kw_only=True, omit_defaults=True):
    first_after_hours: int
    """Hours from the invitation to the first reminder."""
    every_hours: int
    """Hours from one reminder to the next."""
    max: int
    """How many reminders at most, to each person."""
    at_night: bool = False
    """Whether they also come at night; else from 8 to 20 o'clock where the person is, or UTC if that is not
    known."""


class Decline(Struct, frozen=True, kw_only=True):
    signer_id: str
    """Who declined."""
    reason: str | None
    """Why, in the signer's own words; null if none was given."""


class Void(Struct, frozen=True, kw_only=True):
    reason: str | None
    """Why, in the sender's own words; null if none was given."""


class ArchiveReceipt(Struct, frozen=True, kw_only=True):
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


class Archive(Struct, frozen=True, kw_only=True):
    status: str = "disabled"
    """`failed`: the last attempt was in vain; there will be others."""
    attempts: int = 0
    """How often it was tried."""
    archived_at: str | None = None
    """When the archive took it; null until then."""
    receipt: ArchiveReceipt | None = None
    """Where it lies in the archive; null until it does."""
    error: str | None = None
    """Why the last attempt was in vain."""


class Attachment(Struct, frozen=True, kw_only=True):
    field: str
    """The field that it was given for."""
    signer: str
    """The signer who gave it."""
    name: str
    """The name that it came with."""
    sha256: str
    """The SHA-256 of the bytes that came."""
    size_bytes: int
    """How many bytes came."""
    pages: list[int]
    """Its pages in the sealed file, from 1."""


class Document(Struct, frozen=True, kw_only=True):
    id: str
    """The document's id."""
    object: str
    """Always `document`."""
    title: str
    """What it is called, in mails and on the certificate."""
    status: str
    """Where it stands in its life."""
    source: str
    """How it was made."""
    external_id: str | None
    """The sender's own id for it."""
    metadata: dict[str, str]
    """The sender's own names and values."""
    template_id: str | None
    """The template it was made from; null if none."""
    template_version: int | None
    """The version of the template; null if it was made from none."""
    packet_id: str | None
    """The packet it is sent in; null if it is sent by itself."""
    bulk_send_id: str | None
    """The bulk send that made it; null if none."""
    message: Message | None
    """What the invitation says; null: the usual words."""
    language: str
    """The language of the certificate, and of whoever has none of their own."""
    files: list[File]
    """Its files, in their order."""
    parties: list[Party]
    """Who signs, and in which order."""
    fields: list[Field]
    """What is filled in, and where."""
    progress: Progress
    """How many have signed so far."""
    seal: Seal | None
    """How it was sealed; null until it is completed."""
    reminders: Reminders | None
    """When people are reminded; null: never."""
    expires_at: str | None
    """When it can no longer be signed; null: never, or as expires_after_hours says once it is sent."""
    expires_after_hours: int | None
    """How long it can be signed, from sending, as its template says; null: until expires_at."""
    created_at: str
    """When it was made."""
    updated_at: str
    """When it last changed."""
    sent_at: str | None
    """When it was sent; null until then."""
    completed_at: str | None
    """When it was sealed, after the last signature; null until then."""
    declined_at: str | None
    """When a decline ended it; null unless that happened."""
    voided_at: str | None
    """When the sender ended it; null unless that happened."""
    expired_at: str | None
    """When its time was over; null unless that happened."""
    decline: Decline | None
    """Who declined and why, if that ended it."""
    void: Void | None
    """Why the sender ended it, if that happened."""
    archive: Archive
    """Where it stands in the long-term archive."""
    verification_code: str | None
    """Leads whoever holds the paper to what is known of it; printed on the certificate."""
    signed_input: str
    """What is done with a file that was signed before it came."""
    attachments: list[Attachment]
    """The files that its signers have signed with, in the order in which they lie behind its own."""
    error: str | None
    """Why the document could not be converted, or why sealing it has failed so far."""


class DocumentPage(Struct, frozen=True, kw_only=True):
    documents: list[Document]
    """The documents of this page."""
    count: int
    """How many are in this answer."""
    has_more: bool
    """Whether there are more."""
    next_cursor: str | None
    """Give it as `cursor` to get the next page; null on the last one."""


class SigningLink(Struct, frozen=True, kw_only=True):
    url: str
    """Opens the document for this signer, once."""
    expires_at: str
    """When the link stops working."""


class AuditEntry(Struct, frozen=True, kw_only=True):
    number: int
    """The row's number in the trail, from 1."""
    at: str
    """When it happened."""
    act: str
    """What happened."""
    actor: str
    """A key, a signer, or `server`."""
    detail: dict[str, Any]
    """What is known of it, such as an address or a device."""
    hash: str
    """SHA-256 over the hash before it and this row."""


class AuditTrail(Struct, frozen=True, kw_only=True):
    audit: list[AuditEntry]
    """The rows, oldest first."""
    count: int
    """How many are in this answer."""
    has_more: bool
    """Whether there are more."""
    next_cursor: str | None
    """Give it as `cursor` to get the next page; null on the last one."""


class Inclusion(Struct, frozen=True, kw_only=True):
    """That the package is a leaf of a Merkle tree (hashed as in RFC 6962) whose root is time-stamped."""

    tree: int
    """The number of the tree; each root names the one before."""
    day: str
    """The day whose packages the tree holds."""
    index: int
    """The package's place among the leaves, from 0."""
    tree_size: int
    """How many leaves the tree has."""
    path: list[str]
    """The hashes from the leaf to the root, in hexadecimal."""
    root: str
    """The hash at the root, in hexadecimal."""
    statement: str
    """The canonical JSON whose SHA-256 is time-stamped."""
    timestamp: str | None
    """An RFC 3161 token in base64; null until there is one."""


class DocumentArchive(Struct, frozen=True, kw_only=True):
    """The `archive` of the document, with its proof of inclusion once the day is over."""

    document_id: str
    """The document."""
    status: str
    """`disabled`, `pending`, `archived` or `failed`."""
    attempts: int
    """How often it was tried."""
    archived_at: str | None
    """When the archive took it; null until then."""
    receipt: ArchiveReceipt | None
    """Where it lies in the archive; null until it does."""
    error: str | None
    """Why the last attempt was in vain."""
    proof: Inclusion | None
    """That the package is in the archive's tree; null until the day is over."""

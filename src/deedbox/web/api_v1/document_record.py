"""A document as the API shows it: its own, and what it shares with the other documents of its packet."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from deedbox.pdf.intake.signed_input import EarlierSignature, SignedInput
from deedbox.signing.model import (
    Archive,
    Auth,
    Decline,
    Document,
    DocumentFile,
    Field,
    Identity,
    Message,
    OnDecline,
    Packet,
    Party,
    PartyStatus,
    Reminders,
    Role,
    Rule,
    Seal,
    Signer,
    SignerStatus,
    Source,
    Status,
    Void,
    attached_pages,
)
from deedbox.signing.parties import counting_signers


class FileRecord(msgspec.Struct, frozen=True):
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


class SignerRecord(msgspec.Struct, frozen=True):
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
    role: Role
    """Whether the person signs, approves, or gets a copy of the sealed file."""
    auth: Auth
    """What the person has to give beside the link."""
    delegation: bool
    """Whether the person may pass it on to someone else."""
    status: SignerStatus
    """How far this person is."""
    identity: Identity | None
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


class PartyRecord(msgspec.Struct, frozen=True):
    id: str
    """The party's id."""
    name: str
    """What the party is called."""
    order: int
    """When it is this party's turn: lower ones first, equal ones side by side."""
    rule: Rule
    """Who of its signers has to sign."""
    quorum: int | None
    """How many have to sign, with the rule `quorum`; else null."""
    on_decline: OnDecline
    """What one signer's decline does."""
    status: PartyStatus
    """How far the party is."""
    signers: list[SignerRecord]
    """The people who sign for it."""
    completed_at: str | None
    """When its rule was met; null until then."""


class AttachmentRecord(msgspec.Struct, frozen=True):
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


class Progress(msgspec.Struct, frozen=True):
    signers_total: int
    """How many people have to sign or approve: neither who gets a copy nor who has passed it on."""
    signers_signed: int
    """How many of them have signed or approved."""
    parties_total: int
    """How many parties there are in which someone signs or approves."""
    parties_completed: int
    """How many of them are complete."""


class DocumentRecord(msgspec.Struct, frozen=True):
    id: str
    """The document's id."""
    object: Literal["document"]
    title: str
    """What it is called, in mails and on the certificate."""
    status: Status
    """Where it stands in its life."""
    source: Source
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
    files: list[FileRecord]
    """Its files, in their order."""
    parties: list[PartyRecord]
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
    signed_input: SignedInput
    """What is done with a file that was signed before it came."""
    attachments: list[AttachmentRecord]
    """The files that its signers have signed with, in the order in which they lie behind its own."""
    error: str | None
    """Why the document could not be converted, or why sealing it has failed so far."""


_NOBODY = Progress(0, 0, 0, 0)
_PENDING = Archive("pending")
_NEVER_ARCHIVED = ("declined", "voided", "expired", "failed")


def record(packet: Packet, document: Document, *, archiving: bool = False) -> DocumentRecord:
    """The record; `archiving` tells whether there is an archive, for which the document then waits."""
    # By position: by name it would take twice as long, and lists are made of these.
    return DocumentRecord(
        document.id,
        "document",
        document.title,
        document.status,
        document.source,
        document.external_id,
        document.metadata,
        document.template_id,
        document.template_version,
        None if packet.lone else packet.id,
        document.bulk_send_id,
        packet.message,
        packet.language,
        file_records(document.files) if document.files else [],
        [party_record(party) for party in packet.parties] if packet.parties else [],
        document.fields,
        progress_of(packet) if packet.parties else _NOBODY,
        document.seal,
        packet.reminders,
        packet.expires_at,
        packet.expires_after_hours,
        document.created_at,
        document.updated_at,
        document.sent_at,
        document.completed_at,
        document.declined_at,
        document.voided_at,
        document.expired_at,
        document.decline,
        document.void,
        archive_of(document, archiving=archiving),
        document.verification_code,
        document.signed_input,
        _attachments(document) if document.attachments else [],
        document.error,
    )


def archive_of(document: Document, *, archiving: bool) -> Archive:
    """Where archiving stands. With the key set, what is or can be completed will be pushed, and waits for it."""
    waits = archiving and document.archive.status == "disabled" and document.status not in _NEVER_ARCHIVED
    return _PENDING if waits else document.archive


def file_records(files: Sequence[DocumentFile]) -> list[FileRecord]:
    return [
        FileRecord(
            file.id, file.name, file.sha256, file.size_bytes, file.pages, position, file.removed, file.signatures
        )
        for position, file in enumerate(files)
    ]


def _attachments(document: Document) -> list[AttachmentRecord]:
    pages = attached_pages(document)
    return [
        AttachmentRecord(one.field_id, one.signer_id, one.name, one.sha256, one.size_bytes, [*pages[one.field_id]])
        for one in document.attachments
    ]


def party_record(party: Party) -> PartyRecord:
    return PartyRecord(
        party.id,
        party.name,
        party.order,
        party.rule,
        party.quorum,
        party.on_decline,
        party.status,
        [signer_record(signer) for signer in party.signers],
        party.completed_at,
    )


def signer_record(signer: Signer) -> SignerRecord:
    return SignerRecord(*(getattr(signer, name) for name in SignerRecord.__struct_fields__))


def progress_of(packet: Packet) -> Progress:
    signers = signed = parties = completed = 0
    for party in packet.parties:
        able = counting_signers(party)
        signers += len(able)
        signed += sum(signer.status == "signed" for signer in able)
        parties += bool(able)
        completed += bool(able) and party.status == "completed"
    return Progress(signers, signed, parties, completed)

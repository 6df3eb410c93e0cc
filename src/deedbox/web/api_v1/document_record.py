"""A document as the API shows it: its own, and what it shares with the other documents of its packet."""

from typing import Literal

import msgspec

from deedbox.pdf.signed_input import EarlierSignature, SignedInput
from deedbox.signing.model import (
    Archive,
    Auth,
    Decline,
    Document,
    Field,
    Identity,
    Message,
    OnDecline,
    Packet,
    Party,
    PartyStatus,
    Reminders,
    Rule,
    Seal,
    Signer,
    SignerStatus,
    Source,
    Status,
    Void,
)


class FileRecord(msgspec.Struct, frozen=True):
    id: str
    name: str
    sha256: str
    size_bytes: int
    pages: int
    position: int
    removed: list[str]
    """What was taken out of it because it could have changed the face of the sealed file."""
    signatures: list[EarlierSignature]
    """Those that it held when it came; the sealed file shows how they looked."""


class SignerRecord(msgspec.Struct, frozen=True):
    id: str
    party_id: str
    name: str
    email: str
    language: str
    time_zone: str | None
    auth: Auth
    status: SignerStatus
    identity: Identity | None
    """How it was checked who acted; null until then."""
    notified_at: str | None
    viewed_at: str | None
    signed_at: str | None
    declined_at: str | None
    decline_reason: str | None


class PartyRecord(msgspec.Struct, frozen=True):
    id: str
    name: str
    order: int
    rule: Rule
    quorum: int | None
    on_decline: OnDecline
    status: PartyStatus
    signers: list[SignerRecord]
    completed_at: str | None


class Progress(msgspec.Struct, frozen=True):
    signers_total: int
    signers_signed: int
    parties_total: int
    parties_completed: int


class DocumentRecord(msgspec.Struct, frozen=True):
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
    files: list[FileRecord]
    parties: list[PartyRecord]
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
    signed_input: SignedInput
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
        None if packet.lone else packet.id,
        document.bulk_send_id,
        packet.message,
        packet.language,
        _files(document) if document.files else [],
        [_party(party) for party in packet.parties] if packet.parties else [],
        document.fields,
        _progress(packet) if packet.parties else _NOBODY,
        document.seal,
        packet.reminders,
        packet.expires_at,
        document.created_at,
        document.updated_at,
        document.sent_at,
        document.completed_at,
        document.declined_at,
        document.voided_at,
        document.expired_at,
        document.decline,
        document.void,
        _archive(document) if archiving else document.archive,
        document.verification_code,
        document.signed_input,
        document.error,
    )


def _archive(document: Document) -> Archive:
    """Where archiving stands with the key set: what is or can be completed will be pushed, and waits for it."""
    waits = document.archive.status == "disabled" and document.status not in _NEVER_ARCHIVED
    return _PENDING if waits else document.archive


def _files(document: Document) -> list[FileRecord]:
    return [
        FileRecord(
            file.id, file.name, file.sha256, file.size_bytes, file.pages, position, file.removed, file.signatures
        )
        for position, file in enumerate(document.files)
    ]


def _party(party: Party) -> PartyRecord:
    return PartyRecord(
        party.id,
        party.name,
        party.order,
        party.rule,
        party.quorum,
        party.on_decline,
        party.status,
        [_signer(signer) for signer in party.signers],
        party.completed_at,
    )


def _signer(signer: Signer) -> SignerRecord:
    return SignerRecord(*(getattr(signer, name) for name in SignerRecord.__struct_fields__))


def _progress(packet: Packet) -> Progress:
    signers = signed = completed = 0
    for party in packet.parties:
        completed += party.status == "completed"
        signers += len(party.signers)
        for signer in party.signers:
            signed += signer.status == "signed"
    return Progress(signers, signed, len(packet.parties), completed)

"""A document as the API shows it: its own, and what it shares with the other documents of its packet."""

from typing import Literal

import msgspec

from deedbox.signing.model import (
    Archive,
    Auth,
    Decline,
    Document,
    Field,
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


class SignerRecord(msgspec.Struct, frozen=True):
    id: str
    party_id: str
    name: str
    email: str
    language: str
    auth: Auth
    status: SignerStatus
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
    error: str | None
    """Why the document could not be converted, or why sealing it has failed so far."""


def record(packet: Packet, document: Document) -> DocumentRecord:
    return DocumentRecord(
        id=document.id,
        object="document",
        title=document.title,
        status=document.status,
        source=document.source,
        external_id=document.external_id,
        metadata=document.metadata,
        template_id=document.template_id,
        packet_id=None if packet.lone else packet.id,
        bulk_send_id=document.bulk_send_id,
        message=packet.message,
        language=packet.language,
        files=[
            FileRecord(file.id, file.name, file.sha256, file.size_bytes, file.pages, position, file.removed)
            for position, file in enumerate(document.files)
        ],
        parties=[_party(party) for party in packet.parties],
        fields=document.fields,
        progress=_progress(packet),
        seal=document.seal,
        reminders=packet.reminders,
        expires_at=packet.expires_at,
        created_at=document.created_at,
        updated_at=document.updated_at,
        sent_at=document.sent_at,
        completed_at=document.completed_at,
        declined_at=document.declined_at,
        voided_at=document.voided_at,
        expired_at=document.expired_at,
        decline=document.decline,
        void=document.void,
        archive=document.archive,
        verification_code=document.verification_code,
        error=document.error,
    )


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
    signers = [signer for _, signer in packet.signers()]
    return Progress(
        len(signers),
        sum(signer.status == "signed" for signer in signers),
        len(packet.parties),
        sum(party.status == "completed" for party in packet.parties),
    )

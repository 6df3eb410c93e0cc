"""A packet as the API shows it."""

from typing import Literal

import msgspec

from deedbox.signing.model import (
    Archive,
    Decline,
    Document,
    Field,
    Message,
    Packet,
    Reminders,
    Seal,
    Status,
    Void,
)
from deedbox.web.api_v1.document_record import (
    FileRecord,
    PartyRecord,
    Progress,
    archive_of,
    file_records,
    party_record,
    progress_of,
)


class PacketDocument(msgspec.Struct, frozen=True):
    """What is a document's own in its packet."""

    id: str
    """The document's id."""
    title: str
    """What the document is called."""
    status: Status
    """Where it stands in its life."""
    external_id: str | None
    """The sender's own id for the document."""
    metadata: dict[str, str]
    """The sender's own names and values for the document."""
    template_id: str | None
    """The template it was made from; null if none."""
    template_version: int | None
    """The version of that template; null if none."""
    files: list[FileRecord]
    """Its files, in their order."""
    fields: list[Field]
    """What is filled in, and where."""
    seal: Seal | None
    """How it was sealed; null until it is."""
    archive: Archive
    """Where it stands in the long-term archive."""
    verification_code: str | None
    """Leads whoever holds the paper to what is known of it; printed on the certificates."""
    error: str | None
    """Why the document could not be converted, or why sealing it has failed so far."""


class PacketRecord(msgspec.Struct, frozen=True):
    id: str
    """The packet's id."""
    object: Literal["packet"]
    title: str
    """What it is called, in mails and on its certificate."""
    status: Status
    """Where its documents stand; `finalizing` until all of them and the certificate of the whole are sealed."""
    external_id: str | None
    """The sender's own id for it."""
    metadata: dict[str, str]
    """The sender's own names and values."""
    documents: list[PacketDocument]
    """What is signed together, in the order in which it is shown."""
    parties: list[PartyRecord]
    """Who signs all of it, and in which order."""
    progress: Progress
    """How many have signed so far."""
    message: Message | None
    """What the invitation says; null: the usual words."""
    language: str
    """The language of the certificates, and of whoever has none of their own."""
    reminders: Reminders | None
    """When people are reminded; null: never."""
    expires_at: str | None
    """When it can no longer be signed; null: never, or as expires_after_hours says once it is sent."""
    expires_after_hours: int | None
    """How long it can be signed, from sending; null: until expires_at."""
    created_at: str
    """When it was made."""
    updated_at: str
    """When it last changed."""
    sent_at: str | None
    """When it was sent; null until then."""
    completed_at: str | None
    """When the last document and the certificate of the whole were sealed; null until then."""
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
    error: str | None
    """Why certifying the whole has failed so far; a document has its own."""


def packet_record(packet: Packet, *, archiving: bool = False) -> PacketRecord:
    """The record; `archiving` tells whether there is an archive, for which the documents then wait."""
    first = packet.first
    return PacketRecord(
        id=packet.id,
        object="packet",
        title=packet.title,
        status=packet.status,
        external_id=packet.external_id,
        metadata=packet.metadata,
        documents=[_document(document, archiving=archiving) for document in packet.documents],
        parties=[party_record(party) for party in packet.parties],
        progress=progress_of(packet),
        message=packet.message,
        language=packet.language,
        reminders=packet.reminders,
        expires_at=packet.expires_at,
        expires_after_hours=packet.expires_after_hours,
        created_at=first.created_at,
        updated_at=max(document.updated_at for document in packet.documents),
        sent_at=first.sent_at,
        completed_at=packet.completed_at,
        declined_at=first.declined_at,
        voided_at=first.voided_at,
        expired_at=first.expired_at,
        decline=first.decline,
        void=first.void,
        error=packet.error,
    )


def _document(document: Document, *, archiving: bool) -> PacketDocument:
    return PacketDocument(
        id=document.id,
        title=document.title,
        status=document.status,
        external_id=document.external_id,
        metadata=document.metadata,
        template_id=document.template_id,
        template_version=document.template_version,
        files=file_records(document.files),
        fields=document.fields,
        seal=document.seal,
        archive=archive_of(document, archiving=archiving),
        verification_code=document.verification_code,
        error=document.error,
    )

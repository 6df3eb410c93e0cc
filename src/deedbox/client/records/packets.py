# Written by scripts/client.py from the OpenAPI document: change it there.
"""Records of `packets`."""

from msgspec import Struct

from deedbox.client.records.documents import (
    Archive,
    Decline,
    Field,
    File,
    Message,
    Party,
    Progress,
    Reminders,
    Seal,
    Void,
)


class PacketDocument(Struct, frozen=True, kw_only=True):
    """What is a document's own in its packet."""

    id: str
    """The document's id."""
    title: str
    """What the document is called."""
    status: str
    """Where it stands in its life."""
    external_id: str | None
    """The sender's own id for the document."""
    metadata: dict[str, str]
    """The sender's own names and values for the document."""
    template_id: str | None
    """The template it was made from; null if none."""
    template_version: int | None
    """The version of that template; null if none."""
    files: list[File]
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


class Packet(Struct, frozen=True, kw_only=True):
    id: str
    """The packet's id."""
    object: str
    """Always `packet`."""
    title: str
    """What it is called, in mails and on its certificate."""
    status: str
    """Where its documents stand; `finalizing` until all of them and the certificate of the whole are sealed."""
    external_id: str | None
    """The sender's own id for it."""
    metadata: dict[str, str]
    """The sender's own names and values."""
    documents: list[PacketDocument]
    """What is signed together, in the order in which it is shown."""
    parties: list[Party]
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


class PacketPage(Struct, frozen=True, kw_only=True):
    packets: list[Packet]
    """The packets of this page."""
    count: int
    """How many are in this answer."""
    has_more: bool
    """Whether there are more."""
    next_cursor: str | None
    """Give it as `cursor` to get the next page; null on the last one."""

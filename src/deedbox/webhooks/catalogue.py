"""The kinds of events: what each means, what its data holds, and a sample."""

from collections.abc import Collection
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from deedbox.kernel.errors import BadRequest
from deedbox.webhooks.body import API_VERSION


class PersonPayload(msgspec.Struct, frozen=True):
    id: str
    name: str
    email: str


class PartyPayload(msgspec.Struct, frozen=True):
    id: str
    name: str
    order: int


class BulkCounts(msgspec.Struct, frozen=True):
    total: int
    queued: int
    sent: int
    failed: int
    canceled: int


class DocumentPayload(msgspec.Struct, frozen=True, kw_only=True):
    """The data of every event of a document."""

    document_id: str
    title: str
    status: str
    external_id: str | None
    packet_id: str | None
    bulk_send_id: str | None
    metadata: dict[str, str]


class DocumentSigned(DocumentPayload, frozen=True, kw_only=True):
    signer: PersonPayload


class Completed(DocumentPayload, frozen=True, kw_only=True):
    sha256: str


class DocumentDeclined(DocumentSigned, frozen=True, kw_only=True):
    reason: str | None
    final: Annotated[bool, Meta(description="Whether it ended the document: others of a party may go on without one.")]


class DocumentVoided(DocumentPayload, frozen=True, kw_only=True):
    reason: str | None


class DocumentFailed(DocumentPayload, frozen=True, kw_only=True):
    reason: Annotated[str, Meta(description="Why its files could not be converted.")]


class PartyCompleted(DocumentPayload, frozen=True, kw_only=True):
    document_id: Annotated[  # type: ignore[assignment]
        str | None,
        Meta(description="Null where the party signs a packet, whose `packet_id`, title and metadata these are then."),
    ]
    party: PartyPayload


class PacketPayload(msgspec.Struct, frozen=True, kw_only=True):
    packet_id: str
    title: str
    status: str
    external_id: str | None
    metadata: dict[str, str]
    documents: list[str]


class PacketDeclined(PacketPayload, frozen=True, kw_only=True):
    document_id: str
    signer: PersonPayload
    reason: str | None


class BulkSendPayload(msgspec.Struct, frozen=True, kw_only=True):
    bulk_send_id: str
    name: str
    template_id: str
    status: str
    counts: BulkCounts


class EventType(msgspec.Struct, frozen=True):
    """A kind of event, with the sample that a test delivery sends."""

    name: str
    meaning: str
    example: msgspec.Struct

    @property
    def sample(self) -> dict[str, Any]:
        """The data of an event of this kind."""
        data: dict[str, Any] = msgspec.to_builtins(self.example)
        return data

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of a delivery's whole body; later versions may add properties."""
        [data], parts = msgspec.json.schema_components([type(self.example)], ref_template="#/$defs/{name}")
        text = {"type": "string"}
        properties = {
            "id": text,
            "type": {"const": self.name},
            "timestamp": {"type": "string", "format": "date-time"},
            "api_version": {"const": API_VERSION},
            "sequence": {"type": "integer", "minimum": 1},
            "data": data,
        }
        return {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": self.name,
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "$defs": parts,
        }


_DOCUMENT, _SIGNER = (
    "doc_01JD0000000000000000000000",
    PersonPayload("sgn_01JD0000000000000000000000", "First Signer", "signer@example.com"),
)
_PACKET = "pkt_01JD0000000000000000000000"
_ABOUT: dict[str, Any] = {
    "document_id": _DOCUMENT,
    "title": "Lease agreement",
    "external_id": "order-1001",
    "packet_id": None,
    "bulk_send_id": None,
    "metadata": {"department": "sales"},
}
_SET: dict[str, Any] = {
    "packet_id": _PACKET,
    "title": "Papers for a move",
    "external_id": None,
    "metadata": {},
    "documents": [_DOCUMENT],
}
_BATCH = BulkSendPayload(
    bulk_send_id="blk_01JD0000000000000000000000",
    name="Yearly renewal",
    template_id="tpl_01JD0000000000000000000000",
    status="completed",
    counts=BulkCounts(total=3, queued=0, sent=2, failed=1, canceled=0),
)
_PARTY = PartyPayload("pty_01JD0000000000000000000000", "Tenants", 1)
_SHA256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

KINDS: dict[str, EventType] = {
    kind.name: kind
    for kind in (
        EventType("document.sent", "Document sent to signers", DocumentPayload(**_ABOUT, status="sent")),
        EventType(
            "document.signed",
            "A signer completed their signature",
            DocumentSigned(**_ABOUT, status="sent", signer=_SIGNER),
        ),
        EventType("document.approved", "An approver agreed", DocumentSigned(**_ABOUT, status="sent", signer=_SIGNER)),
        EventType(
            "document.completed", "All signers have signed", Completed(**_ABOUT, status="completed", sha256=_SHA256)
        ),
        EventType(
            "document.declined",
            "A signer declined",
            DocumentDeclined(**_ABOUT, status="declined", signer=_SIGNER, reason="The amount is wrong", final=True),
        ),
        EventType(
            "document.voided",
            "Document voided by the sender",
            DocumentVoided(**_ABOUT, status="voided", reason="Sent to the wrong address"),
        ),
        EventType("document.expired", "Document expired before signing", DocumentPayload(**_ABOUT, status="expired")),
        EventType(
            "document.failed",
            "The files of a document could not be converted",
            DocumentFailed(**_ABOUT, status="failed", reason="The file could not be converted; it may be damaged."),
        ),
        EventType(
            "party.completed",
            "A signing party (multi-signer group) completed",
            PartyCompleted(**_ABOUT, status="sent", party=_PARTY),
        ),
        EventType("packet.sent", "Multi-document packet sent", PacketPayload(**_SET, status="sent")),
        EventType("packet.completed", "All packet documents signed", PacketPayload(**_SET, status="completed")),
        EventType(
            "packet.declined",
            "A packet signer declined",
            PacketDeclined(**_SET, status="declined", document_id=_DOCUMENT, signer=_SIGNER, reason=None),
        ),
        EventType("bulk_send.completed", "Bulk-send batch finished", _BATCH),
    )
}
"""Every kind of event, in the order in which they are shown."""


def known(kinds: Collection[str]) -> list[str]:
    """Return the kinds once each, in the order of the catalogue; BadRequest names one that does not exist."""
    unknown = next((kind for kind in kinds if kind not in KINDS), None)
    if unknown is not None:
        raise BadRequest(f"Unknown event {unknown!r}. Known: {', '.join(KINDS)}")
    return [kind for kind in KINDS if kind in kinds]

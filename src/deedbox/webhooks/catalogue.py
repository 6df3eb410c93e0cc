"""The kinds of events: what each means, what its data holds, and a sample."""

from collections.abc import Collection
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from deedbox.kernel.errors import BadRequest
from deedbox.webhooks.body import API_VERSION


class Person(msgspec.Struct, frozen=True):
    id: str
    name: str
    email: str


class Group(msgspec.Struct, frozen=True):
    id: str
    name: str
    order: int


class Counts(msgspec.Struct, frozen=True):
    total: int
    queued: int
    sent: int
    failed: int
    canceled: int


class DocumentTold(msgspec.Struct, frozen=True, kw_only=True):
    """The data of every event of a document."""

    document_id: str
    title: str
    status: str
    external_id: str | None
    packet_id: str | None
    bulk_send_id: str | None
    metadata: dict[str, str]


class Signed(DocumentTold, frozen=True, kw_only=True):
    signer: Person


class Completed(DocumentTold, frozen=True, kw_only=True):
    sha256: str


class Declined(Signed, frozen=True, kw_only=True):
    reason: str | None
    final: Annotated[bool, Meta(description="Whether it ended the document: others of a party may go on without one.")]


class Voided(DocumentTold, frozen=True, kw_only=True):
    reason: str | None


class Failed(DocumentTold, frozen=True, kw_only=True):
    reason: Annotated[str, Meta(description="Why its files could not be converted.")]


class PartyCompleted(DocumentTold, frozen=True, kw_only=True):
    document_id: Annotated[  # type: ignore[assignment]
        str | None,
        Meta(description="Null where the party signs a packet, whose `packet_id`, title and metadata these are then."),
    ]
    party: Group


class PacketTold(msgspec.Struct, frozen=True, kw_only=True):
    packet_id: str
    title: str
    status: str
    external_id: str | None
    metadata: dict[str, str]
    documents: list[str]


class PacketDeclined(PacketTold, frozen=True, kw_only=True):
    document_id: str
    signer: Person
    reason: str | None


class BulkSendTold(msgspec.Struct, frozen=True, kw_only=True):
    bulk_send_id: str
    name: str
    template_id: str
    status: str
    counts: Counts


class Kind(msgspec.Struct, frozen=True):
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
    Person("sgn_01JD0000000000000000000000", "First Signer", "signer@example.com"),
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
_BATCH = BulkSendTold(
    bulk_send_id="blk_01JD0000000000000000000000",
    name="Yearly renewal",
    template_id="tpl_01JD0000000000000000000000",
    status="completed",
    counts=Counts(total=3, queued=0, sent=2, failed=1, canceled=0),
)
_PARTY = Group("pty_01JD0000000000000000000000", "Tenants", 1)
_SHA256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("document.sent", "Document sent to signers", DocumentTold(**_ABOUT, status="sent")),
        Kind("document.signed", "A signer completed their signature", Signed(**_ABOUT, status="sent", signer=_SIGNER)),
        Kind("document.approved", "An approver agreed", Signed(**_ABOUT, status="sent", signer=_SIGNER)),
        Kind("document.completed", "All signers have signed", Completed(**_ABOUT, status="completed", sha256=_SHA256)),
        Kind(
            "document.declined",
            "A signer declined",
            Declined(**_ABOUT, status="declined", signer=_SIGNER, reason="The amount is wrong", final=True),
        ),
        Kind(
            "document.voided",
            "Document voided by the sender",
            Voided(**_ABOUT, status="voided", reason="Sent to the wrong address"),
        ),
        Kind("document.expired", "Document expired before signing", DocumentTold(**_ABOUT, status="expired")),
        Kind(
            "document.failed",
            "The files of a document could not be converted",
            Failed(**_ABOUT, status="failed", reason="The file could not be converted; it may be damaged."),
        ),
        Kind(
            "party.completed",
            "A signing party (multi-signer group) completed",
            PartyCompleted(**_ABOUT, status="sent", party=_PARTY),
        ),
        Kind("packet.sent", "Multi-document packet sent", PacketTold(**_SET, status="sent")),
        Kind("packet.completed", "All packet documents signed", PacketTold(**_SET, status="completed")),
        Kind(
            "packet.declined",
            "A packet signer declined",
            PacketDeclined(**_SET, status="declined", document_id=_DOCUMENT, signer=_SIGNER, reason=None),
        ),
        Kind("bulk_send.completed", "Bulk-send batch finished", _BATCH),
    )
}
"""Every kind of event, in the order in which they are shown."""


def known(kinds: Collection[str]) -> list[str]:
    """Return the kinds once each, in the order of the catalogue; BadRequest names one that does not exist."""
    unknown = next((kind for kind in kinds if kind not in KINDS), None)
    if unknown is not None:
        raise BadRequest(f"Unknown event {unknown!r}. Known: {', '.join(KINDS)}")
    return [kind for kind in KINDS if kind in kinds]

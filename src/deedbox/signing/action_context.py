"""What every action gets: its transaction, who acts and when, and the services behind it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any

import msgspec

from deedbox.authority import Certificates
from deedbox.evidence import chain
from deedbox.evidence.chain import TrailEntry
from deedbox.kernel import limits, outbox
from deedbox.kernel.blobs import Blobs
from deedbox.kernel.clock import Clock, Instant, instant
from deedbox.kernel.db import Database, Tx
from deedbox.kernel.errors import Conflict, NotFound
from deedbox.kernel.in_flight import RequestsInFlight
from deedbox.kernel.outbox import NewEvent
from deedbox.pdf.pdf_sandbox import PdfSandbox
from deedbox.signing.model import Document, Packet
from deedbox.signing.notifier import Notifier
from deedbox.signing.store import audit, documents

SERVER = "server"
"""The actor of what happens by itself: an expiry, a seal."""


class ActionScope:
    """In which workspace something is done, and at which moment."""

    def __init__(self, workspace_id: str, now: datetime) -> None:
        self.workspace_id = workspace_id
        self.now = now
        self.at: Instant = instant(now)
        """The moment as records keep it."""


class ActionContext(ActionScope):
    """One transaction of one workspace: who acts in it, at which moment, and who tells people of it.

    Used as a context: the rows of the audit trail and the events are written together at its end."""

    def __init__(self, tx: Tx, workspace_id: str, actor: str, now: datetime, notifier: Notifier) -> None:
        super().__init__(workspace_id, now)
        self.tx = tx
        self.actor = actor
        self.notifier = notifier
        self._heads: dict[str, tuple[int, str, Instant]] = {}
        self._entries: list[tuple[str, TrailEntry]] = []
        self._news: list[NewEvent] = []
        self._open = False

    def __enter__(self) -> "ActionContext":
        self._open = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open = False
        if error is None:
            audit.add(self.tx, self._entries)
            if self._news:
                outbox.emit_all(self.tx, self.workspace_id, self._news, now=self.now)

    def packet_of(self, document_id: str) -> Packet:
        """The packet that the document lies in; another workspace's document is not there at all."""
        documents.hold_packet_of(self.tx, self.workspace_id, document_id)
        return packet_of(self.tx, self.workspace_id, document_id)

    def lone_packet_of(self, document_id: str) -> Packet:
        """The same for what is done to a document by itself; Conflict if it shares its packet with others."""
        packet = self.packet_of(document_id)
        if not packet.lone:
            raise only_together(packet)
        return packet

    def packet(self, packet_id: str) -> Packet:
        """The packet, as it is shown; another workspace's is not there at all."""
        documents.hold(self.tx, self.workspace_id, packet_id)
        return shown_packet(self.tx, self.workspace_id, packet_id)

    def add(self, packet: Packet, asked: Mapping[str, Any]) -> Packet:
        """The new packet, stored; the trails of its documents begin here."""
        self._begin_trails([packet])
        return documents.add(self.tx, packet, asked)

    def add_all(self, packets: Sequence[Packet], asked: Mapping[str, Any]) -> list[Packet]:
        """As `add`, for many packets: as many statements as for one."""
        self._begin_trails(packets)
        return documents.add_all(self.tx, packets, asked)

    def _begin_trails(self, packets: Iterable[Packet]) -> None:
        self._heads |= {one.id: (0, chain.genesis(one.id), self.at) for packet in packets for one in packet.documents}

    def save(self, before: Packet, after: Packet) -> None:
        """Writes what differs; Conflict if another was first."""
        documents.change(self.tx, before, after)

    def record(
        self, document: Document, act: str, detail: Mapping[str, Any], *, actor: str | None = None
    ) -> TrailEntry:
        """The new row at the end of the document's audit trail."""
        if not self._open:
            raise RuntimeError("what is recorded in a transaction that is not open would be lost")
        number, previous, since = self._heads.get(document.id) or self._head(document.id)
        # The clock may have been set back since: a trail never runs backwards.
        at = max(self.at, since)
        entry = chain.next_entry(previous, number + 1, at, act, actor or self.actor, dict(detail))
        self._heads[document.id] = (entry.number, entry.hash, at)
        self._entries.append((document.id, entry))
        return entry

    def _head(self, document_id: str) -> tuple[int, str, Instant]:
        return audit.end(self.tx, document_id) or (0, chain.genesis(document_id), self.at)

    def emit(self, kind: str, packet: Packet, document: Document, **more: object) -> None:
        """The event, with what every event of a document tells; metadata that does not fit is left out."""
        told: dict[str, object] = {
            "document_id": document.id,
            "title": document.title,
            "status": document.status,
            "external_id": document.external_id,
            "packet_id": None if packet.lone else packet.id,
            "bulk_send_id": document.bulk_send_id,
            "metadata": document.metadata,
            **more,
        }
        if len(msgspec.json.encode(told)) > limits.EVENT_BYTES:
            told |= {"metadata": {}, "truncated": True}
        # In one line with the packet's: a receiver hears of both in the order in which they happened.
        self.tell(NewEvent(kind, document.id, told, line=document.id if packet.lone else packet.id))

    def emit_for_all(self, kind: str, packet: Packet, **more: object) -> None:
        """The one event of all documents of the packet: it is the document's own where there is only one."""
        if packet.lone:
            self.emit(kind, packet, packet.first, **more)
        else:
            self._emit_packet(kind, packet, {"document_id": None, "bulk_send_id": None, **more})

    def emit_packet(self, kind: str, packet: Packet, **more: object) -> None:
        """The packet's own event; a lone document has none."""
        if not packet.lone:
            self._emit_packet(kind, packet, {"documents": [document.id for document in packet.documents], **more})

    def _emit_packet(self, kind: str, packet: Packet, more: Mapping[str, object]) -> None:
        told: dict[str, object] = {
            "packet_id": packet.id,
            "title": packet.title,
            "status": packet.status,
            "external_id": packet.external_id,
            "metadata": packet.metadata,
            **more,
        }
        if len(msgspec.json.encode(told)) > limits.EVENT_BYTES:
            told |= {"metadata": {}, "truncated": True}
        self.tell(NewEvent(kind, packet.id, told))

    def tell(self, news: NewEvent) -> None:
        """The event, as it is, after all that were told before."""
        if not self._open:
            raise RuntimeError("what is told in a transaction that is not open would be lost")
        self._news.append(news)


class SigningServices(msgspec.Struct, frozen=True, kw_only=True):
    """What signing has of the installation."""

    db: Database
    blobs: Blobs
    clock: Clock
    workshop: PdfSandbox
    certificates: Certificates
    notifier: Notifier
    address: Callable[[], str]
    """Under which people reach this server."""
    under_way: RequestsInFlight
    """Requests, which go before the rows of bulk sends."""

    def action(self, tx: Tx, workspace_id: str, actor: str = SERVER, now: datetime | None = None) -> ActionContext:
        return ActionContext(tx, workspace_id, actor, now or self.clock.now(), self.notifier)

    async def packet_of(self, workspace_id: str, document_id: str) -> Packet:
        return await self.db.read(lambda tx: packet_of(tx, workspace_id, document_id))

    async def packet(self, workspace_id: str, packet_id: str) -> Packet:
        return await self.db.read(lambda tx: shown_packet(tx, workspace_id, packet_id))


def packet_of(tx: Tx, workspace_id: str, document_id: str) -> Packet:
    """The packet that the document lies in; another workspace's document is not there at all."""
    packet = documents.packet_of(tx, workspace_id, document_id)
    if packet is None:
        raise NotFound("Document does not exist")
    return packet


def shown_packet(tx: Tx, workspace_id: str, packet_id: str) -> Packet:
    """The packet; one that stands for a lone document is not shown, and another workspace's is not there at all."""
    packet = documents.packet(tx, workspace_id, packet_id)
    if packet is None or packet.lone:
        raise NotFound("Packet does not exist")
    return packet


def only_together(packet: Packet) -> Conflict:
    """Says that this is done to all documents of the packet or to none."""
    return Conflict(f"The document lies in the packet {packet.id} with others: do this with the packet")


def document_of(tx: Tx, workspace_id: str, document_id: str) -> tuple[Packet, Document]:
    """The document, with the packet that it lies in."""
    packet = packet_of(tx, workspace_id, document_id)
    return packet, document_in(packet, document_id)


def document_in(packet: Packet, document_id: str) -> Document:
    return next(document for document in packet.documents if document.id == document_id)

"""A workspace in which documents are made, sent and signed straight in the database."""

import hashlib
import secrets
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import msgspec

from deedbox.accounts import store as accounts
from deedbox.evidence import chain
from deedbox.kernel.blobs import Blob, ReceivedBlob
from deedbox.kernel.clock import instant, moment
from deedbox.kernel.crypto import Secret
from deedbox.kernel.db import Database, Tx
from deedbox.pdf.marks.marks import PageRect
from deedbox.signing import action_context as desks
from deedbox.signing.actions.approve import approve
from deedbox.signing.actions.correct import correct
from deedbox.signing.actions.create import create
from deedbox.signing.actions.create_packet import PacketPart, create_packet
from deedbox.signing.actions.decline import decline
from deedbox.signing.actions.delegate import Delegation, delegate
from deedbox.signing.actions.expire import expire
from deedbox.signing.actions.remind import remind, remind_due
from deedbox.signing.actions.send import send
from deedbox.signing.actions.sign import SigningAct, sign
from deedbox.signing.actions.turn import Circumstances
from deedbox.signing.actions.void import void
from deedbox.signing.completion import certify_packet, finalize
from deedbox.signing.model import Document, Packet, Seal, Signer, SignerSignature
from deedbox.signing.new_document import LoneSigner, NewDocument, NewFile, NewParty, NewSigner, SignerChange
from deedbox.signing.new_packet import NewPacket, NewPacketDocument
from deedbox.signing.notifier import SealedFiles
from deedbox.signing.preparation import PreparedDocument, PreparedDocumentFile
from deedbox.signing.store import audit
from deedbox.web.api_v1.document_record import DocumentRecord, record
from tests.conftest import HandClock

SENDER = "key_one"
SEEN = Circumstances("192.0.2.7", "a test", "mail", identity="mailed_link", viewed=True)
TYPED = SignerSignature("typed", text="Ann")


class Letters:
    """A notifier that keeps what it was to send."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str]] = []
        self.tokens: dict[str, str] = {}
        self.codes: dict[str, str] = {}

    def delivers(self) -> bool:
        return True

    def invite(self, tx: Tx, packet: Packet, signer: Signer, token: Secret, *, now: datetime) -> None:  # noqa: ARG002
        self._note("invite", signer)
        self.tokens[signer.email] = token.reveal()

    def remind(self, tx: Tx, packet: Packet, signer: Signer, token: Secret, *, now: datetime) -> None:  # noqa: ARG002
        self._note("remind", signer)
        self.tokens[signer.email] = token.reveal()

    def code(self, tx: Tx, packet: Packet, signer: Signer, code: Secret, *, now: datetime) -> None:  # noqa: ARG002
        self._note("code", signer)
        self.codes[signer.email] = code.reveal()

    def recall(self, tx: Tx, packet: Packet, signer: Signer) -> None:  # noqa: ARG002
        self._note("recall", signer)

    def not_needed(self, tx: Tx, packet: Packet, signer: Signer, *, now: datetime) -> None:  # noqa: ARG002
        self._note("not needed", signer)

    def failed(self, tx: Tx, packet: Packet, document: Document, reason: str, *, now: datetime) -> None:
        """The sender alone hears of it."""

    def declined(self, tx: Tx, packet: Packet, signer: Signer, *, now: datetime) -> None:  # noqa: ARG002
        self._note("declined alone", signer)

    def delegated(
        self,
        tx: Tx,  # noqa: ARG002
        packet: Packet,  # noqa: ARG002
        signer: Signer,
        other: Signer,
        reason: str | None,  # noqa: ARG002
        *,
        now: datetime,  # noqa: ARG002
    ) -> None:
        self._note(f"passed on to {other.email}", signer)

    def ended(self, tx: Tx, packet: Packet, invited: Sequence[Signer], *, now: datetime) -> None:  # noqa: ARG002
        for signer in invited:
            self._note(packet.first.status, signer)

    def completed(self, tx: Tx, packet: Packet, files: SealedFiles, *, now: datetime) -> None:  # noqa: ARG002
        for _, signer in packet.signers():
            if signer.id in files.tokens:
                self._note("completed", signer)

    def of(self, what: str) -> list[str]:
        """Who got this, by address."""
        return sorted(address for kind, address in self.sent if kind == what)

    def _note(self, what: str, signer: Signer) -> None:
        self.sent.append((what, signer.email))


def received(text: str) -> ReceivedBlob:
    """A file that need not be one: nothing of it is read here."""
    content = text.encode()
    sha256 = hashlib.sha256(content).hexdigest()
    return ReceivedBlob(Blob(sha256, len(content), f"{sha256[:2]}/{secrets.token_hex(16)}"))


def file(text: str = "%PDF-1.7 one") -> NewFile:
    return NewFile("lease.pdf", received(text))


def paper(text: str = "%PDF-1.7 one", files: int = 1) -> PreparedDocument:
    """Two pages of each file, with room for ten signatures on the last."""
    places = [PageRect(2, 0.1, 0.1 + 0.05 * number, 0.3, 0.04) for number in range(10)]
    return PreparedDocument(received(f"ready {text}"), [PreparedDocumentFile([(595.0, 842.0)] * 2)] * files, places)


def signer(name: str, **more: Any) -> NewSigner:
    return NewSigner(name=name.title(), email=f"{name}@example.com", **more)


def party(name: str, *names: str, **more: Any) -> NewParty:
    return NewParty(name=name, signers=[signer(one) for one in names], **more)


def lone(name: str, **more: Any) -> LoneSigner:
    return LoneSigner(name=name.title(), email=f"{name}@example.com", **more)


class Desk:
    """Everything is done as an action does it, and answered as the API would."""

    def __init__(self, db: Database, clock: HandClock) -> None:
        self.db, self.clock, self.post = db, clock, Letters()
        self.workspace = "wsp_one"

    async def settle(self) -> None:
        now = instant(self.clock.now())
        await self.db.write(lambda tx: accounts.add_workspace(tx, self.workspace, "One", now))

    def at(self, tx: Tx, workspace: str | None = None) -> desks.ActionContext:
        return desks.ActionContext(tx, workspace or self.workspace, SENDER, self.clock.now(), self.post)

    async def draft(self, *parties: NewParty, **more: Any) -> DocumentRecord:
        if isinstance(more.get("expires_at"), str):
            more["expires_at"] = moment(more["expires_at"])
        if not parties and "signers" not in more:
            parties = (party("Ann", "ann"),)
        new = NewDocument(title="Lease", parties=parties, **more)
        return await self._done(lambda desk: create(desk, new, [file()], paper()))

    async def packet(self, *parties: NewParty, documents: int, **more: Any) -> DocumentRecord:
        """The first document of a new packet of so many; what is done to it is done to all."""
        if isinstance(more.get("expires_at"), str):
            more["expires_at"] = moment(more["expires_at"])
        asked = [NewPacketDocument(title=f"Lease {number}") for number in range(documents)]
        new = NewPacket(title="Leases", documents=asked, parties=parties, **more)
        return await self._done(
            lambda desk: create_packet(
                desk, new, [PacketPart(new.document(one), True, [file()], paper()) for one in asked], {}
            )
        )

    async def sent(self, *parties: NewParty, **more: Any) -> DocumentRecord:
        return await self.send((await self.draft(*parties, **more)).id)

    async def send(self, document_id: str) -> DocumentRecord:
        return await self._done(lambda desk: send(desk, desk.packet_of(document_id)))

    async def sign(self, document: DocumentRecord, name: str, **values: str) -> DocumentRecord:
        act, signer_id = SigningAct(TYPED, values, SEEN), self.id_of(document, name)
        return await self._done(lambda desk: sign(desk, desk.packet_of(document.id), signer_id, act))

    async def approve(self, document: DocumentRecord, name: str) -> DocumentRecord:
        signer_id = self.id_of(document, name)
        return await self._done(lambda desk: approve(desk, desk.packet_of(document.id), signer_id, SEEN))

    async def delegate(self, document: DocumentRecord, name: str, to: str, **more: str) -> DocumentRecord:
        wanted = Delegation(to.title(), f"{to}@example.com", "away", **more)
        signer_id = self.id_of(document, name)
        return await self._done(lambda desk: delegate(desk, desk.packet_of(document.id), signer_id, wanted, SEEN))

    async def correct(self, document: DocumentRecord, who: str, **change: Any) -> DocumentRecord:
        wanted, signer_id = SignerChange(**change), self.id_of(document, who)
        return await self._done(lambda desk: correct(desk, desk.packet_of(document.id), signer_id, wanted))

    async def remind_due(self, document: DocumentRecord) -> None:
        """What the timer does."""

        def act(desk: desks.ActionContext) -> Packet:
            remind_due(desk, desk.packet_of(document.id))
            return desk.packet_of(document.id)

        await self._done(act)

    async def decline(self, document: DocumentRecord, name: str, reason: str | None = "no") -> DocumentRecord:
        signer_id = self.id_of(document, name)
        return await self._done(lambda desk: decline(desk, desk.packet_of(document.id), signer_id, reason, SEEN))

    async def void(self, document: DocumentRecord, reason: str | None = None) -> DocumentRecord:
        return await self._done(lambda desk: void(desk, desk.packet_of(document.id), reason))

    async def expire(self, document: DocumentRecord) -> bool:
        before = await self.now(document)
        return await self._done(lambda desk: expire(desk, desk.packet_of(document.id))) != before

    async def remind(self, document: DocumentRecord) -> DocumentRecord:
        return await self._done(lambda desk: remind(desk, desk.packet_of(document.id)))

    async def now(self, document: DocumentRecord) -> DocumentRecord:
        packet = await self.db.read(lambda tx: desks.packet_of(tx, self.workspace, document.id))
        return record(packet, packet.first)

    async def all(self, document: DocumentRecord) -> list[DocumentRecord]:
        """Every document of its packet, as they are now."""
        packet = await self.db.read(lambda tx: desks.packet_of(tx, self.workspace, document.id))
        return [record(packet, one) for one in packet.documents]

    async def seal(self, document_id: str) -> DocumentRecord:
        """What finalizing does at its end, with files that need not be any."""

        def act(desk: desks.ActionContext) -> Packet:
            sealed, certificate, evidence = (received(f"{kind} of {document_id}") for kind in ("seal", "page", "proof"))
            found = audit.last(desk.tx, document_id)
            assert found is not None
            seal = Seal("PAdES-B-B", timestamped=False, degraded=False, certificate_fingerprint="00")
            finalize.complete(
                desk, document_id, finalize._Made(sealed, certificate, evidence, seal, found[1], desk.now)
            )
            return desk.packet_of(document_id)

        return await self._done(act)

    async def certify(self, document: DocumentRecord) -> DocumentRecord:
        """What the job does at its end that certifies a packet whose documents are sealed."""

        def act(desk: desks.ActionContext) -> Packet:
            packet = desk.packet_of(document.id)
            known = certify_packet.gather(desk.tx, desk.workspace_id, packet.id)
            return certify_packet.complete(desk, known, received(f"certificate of {packet.id}"))

        return await self._done(act)

    async def _done(self, action: Callable[[desks.ActionContext], Packet]) -> DocumentRecord:
        def act(tx: Tx) -> Packet:
            with self.at(tx) as desk:
                return action(desk)

        packet = await self.db.write(act)
        return record(packet, packet.first)

    async def events(self, document: DocumentRecord) -> list[str]:
        rows = await self.db.read(
            lambda tx: tx.all("select kind from events where subject_id = :id order by sequence", id=document.id)
        )
        return [row[0] for row in rows]

    async def told(self, document: DocumentRecord) -> list[tuple[str, Any]]:
        """The kind and the data of every event."""
        sql = "select kind, data from events where subject_id = :id order by sequence"
        rows = await self.db.read(lambda tx: tx.all(sql, id=document.id))
        return [(kind, msgspec.json.decode(data)) for kind, data in rows]

    async def line(self, document: DocumentRecord) -> list[str]:
        """The kinds of all events of the packet and its documents, in the order in which receivers hear of them."""
        sql = (
            "select kind from events where line in (select packet_id from documents where id = :id union select :id)"
            " order by number"
        )
        return [row[0] for row in await self.db.read(lambda tx: tx.all(sql, id=document.id))]

    async def acts(self, document: DocumentRecord) -> list[str]:
        """What the audit trail tells; the chain must hold."""
        entries = await self.db.read(lambda tx: audit.trail(tx, document.id))
        assert chain.check(document.id, entries) is None
        return [entry.act for entry in entries]

    async def statuses(self, document: DocumentRecord) -> dict[str, str]:
        found_now = await self.now(document)
        return {one.name: one.status for each in found_now.parties for one in each.signers}

    @staticmethod
    def id_of(document: DocumentRecord, name: str) -> str:
        return next(one.id for each in document.parties for one in each.signers if one.email.startswith(f"{name}@"))

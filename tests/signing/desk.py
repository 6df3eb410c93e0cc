"""A workspace in which documents are made, sent and signed straight in the database."""

import hashlib
import secrets
from datetime import datetime
from typing import Any

from deedbox.accounts import store as accounts
from deedbox.evidence import chain
from deedbox.kernel.blobs import Blob, Received
from deedbox.kernel.clock import instant
from deedbox.kernel.crypto import Secret
from deedbox.kernel.db import Database, Tx
from deedbox.pdf.marks import Place
from deedbox.signing import acts, audit, documents, drafts, found
from deedbox.signing.acts import Circumstances, Signature
from deedbox.signing.document import Document, Signer
from deedbox.signing.wishes import NewDocument, NewFile, NewParty, NewSigner, Paper, PaperFile
from tests.conftest import HandClock

SENDER = "key_one"
SEEN = Circumstances(address="192.0.2.7", user_agent="a test", identity="link")
TYPED = Signature("typed", text="Ann")


class Letters:
    """A post that keeps what it was to send."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str]] = []
        self.tokens: dict[str, str] = {}
        self.codes: dict[str, str] = {}

    def invite(self, tx: Tx, document: Document, signer: Signer, token: Secret, *, now: datetime) -> None:  # noqa: ARG002
        self._note("invite", signer)
        self.tokens[signer.email] = token.reveal()

    def remind(self, tx: Tx, document: Document, signer: Signer, token: Secret, *, now: datetime) -> None:  # noqa: ARG002
        self._note("remind", signer)
        self.tokens[signer.email] = token.reveal()

    def code(self, tx: Tx, document: Document, signer: Signer, code: Secret, *, now: datetime) -> None:  # noqa: ARG002
        self._note("code", signer)
        self.codes[signer.email] = code.reveal()

    def ended(self, tx: Tx, document: Document, signer: Signer, *, now: datetime) -> None:  # noqa: ARG002
        self._note(document.status, signer)

    def completed(self, tx: Tx, document: Document, signer: Signer, sealed_sha256: str, *, now: datetime) -> None:  # noqa: ARG002
        self._note("completed", signer)

    def _note(self, what: str, signer: Signer) -> None:
        self.sent.append((what, signer.email))


def received(text: str) -> Received:
    """A file that need not be one: nothing of it is read here."""
    content = text.encode()
    sha256 = hashlib.sha256(content).hexdigest()
    return Received(Blob(sha256, len(content), f"{sha256[:2]}/{secrets.token_hex(16)}"))


def file(text: str = "%PDF-1.7 one") -> NewFile:
    return NewFile("lease.pdf", received(text))


def paper(text: str = "%PDF-1.7 one", files: int = 1) -> Paper:
    """Two pages of each file, with room for ten signatures on the last."""
    places = [Place(2, 0.1, 0.1 + 0.05 * number, 0.3, 0.04) for number in range(10)]
    return Paper(received(f"ready {text}"), [PaperFile([(595.0, 842.0)] * 2)] * files, places)


def signer(name: str, **more: Any) -> NewSigner:
    return NewSigner(name=name.title(), email=f"{name}@example.com", **more)


def party(name: str, *names: str, **more: Any) -> NewParty:
    return NewParty(name=name, signers=[signer(one) for one in names], **more)


class Desk:
    def __init__(self, db: Database, clock: HandClock) -> None:
        self.db, self.clock, self.post = db, clock, Letters()
        self.workspace = "wsp_one"

    async def settle(self) -> None:
        now = instant(self.clock.now())
        await self.db.write(lambda tx: accounts.add_workspace(tx, self.workspace, "One", now))

    async def draft(self, *parties: NewParty, **more: Any) -> Document:
        new = NewDocument(title="Lease", files=[file()], parties=parties or [party("Ann", "ann")], **more)
        now = self.clock.now()
        return await self.db.write(lambda tx: drafts.create(tx, self.workspace, new, paper(), SENDER, now=now))

    async def sent(self, *parties: NewParty, **more: Any) -> Document:
        return await self.send((await self.draft(*parties, **more)).id)

    async def send(self, document_id: str) -> Document:
        now = self.clock.now()
        return await self.db.write(
            lambda tx: documents.send(tx, self.workspace, document_id, SENDER, self.post, now=now)
        )

    async def sign(self, document: Document, name: str, **values: str) -> Document:
        now, signer_id = self.clock.now(), self.id_of(document, name)
        return await self.db.write(
            lambda tx: acts.sign(tx, self.workspace, document.id, signer_id, TYPED, values, SEEN, self.post, now=now)
        )

    async def decline(self, document: Document, name: str, reason: str | None = "no") -> Document:
        now, signer_id = self.clock.now(), self.id_of(document, name)
        return await self.db.write(
            lambda tx: acts.decline(tx, self.workspace, document.id, signer_id, reason, SEEN, self.post, now=now)
        )

    async def void(self, document: Document, reason: str | None = None) -> Document:
        now = self.clock.now()
        return await self.db.write(
            lambda tx: documents.void(tx, self.workspace, document.id, reason, SENDER, self.post, now=now)
        )

    async def expire(self, document: Document) -> bool:
        now = self.clock.now()
        return await self.db.write(lambda tx: documents.expire(tx, self.workspace, document.id, self.post, now=now))

    async def remind(self, document: Document) -> Document:
        now = self.clock.now()
        return await self.db.write(
            lambda tx: documents.remind(tx, self.workspace, document.id, SENDER, self.post, now=now)
        )

    async def now(self, document: Document) -> Document:
        return await self.db.read(lambda tx: found.find(tx, self.workspace, document.id))

    async def events(self, document: Document) -> list[str]:
        rows = await self.db.read(
            lambda tx: tx.all("select kind from events where subject_id = :id order by sequence", id=document.id)
        )
        return [row[0] for row in rows]

    async def acts(self, document: Document) -> list[str]:
        """What the audit trail tells; the chain must hold."""
        entries = await self.db.read(lambda tx: audit.trail(tx, document.id))
        assert chain.check(document.id, entries) is None
        return [entry.act for entry in entries]

    async def statuses(self, document: Document) -> dict[str, str]:
        found_now = await self.now(document)
        return {one.name: one.status for each in found_now.parties for one in each.signers}

    @staticmethod
    def id_of(document: Document, name: str) -> str:
        return next(one.id for each in document.parties for one in each.signers if one.email.startswith(f"{name}@"))

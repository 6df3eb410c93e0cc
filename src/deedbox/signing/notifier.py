"""What people must hear of. Whoever tells them writes it in the transaction of the change that it tells of."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from deedbox.kernel.crypto import Secret
from deedbox.kernel.db import Tx
from deedbox.signing.model import Document, Packet, Signer


class SealedDocument(NamedTuple):
    """A completed document and what it leaves, by hash."""

    document: Document
    sealed_sha256: str
    certificate_sha256: str


class SealedFiles(NamedTuple):
    """What a completed packet leaves, and for each who hears of it the token that shows it to them."""

    documents: Sequence[SealedDocument]
    tokens: Mapping[str, Secret]
    certificate_sha256: str | None = None
    """The certificate of all documents together; None of a lone one."""


class Notifier(Protocol):
    def delivers(self) -> bool:
        """Whether mail leaves this server; else it stays here to be read."""

    def invite(self, tx: Tx, packet: Packet, signer: Signer, token: Secret, *, now: datetime) -> None:
        """It is the signer's turn; the token opens the packet."""

    def remind(self, tx: Tx, packet: Packet, signer: Signer, token: Secret, *, now: datetime) -> None: ...

    def code(self, tx: Tx, packet: Packet, signer: Signer, code: Secret, *, now: datetime) -> None:
        """The number that shows that the signer reads this mailbox."""

    def not_needed(self, tx: Tx, packet: Packet, signer: Signer, *, now: datetime) -> None:
        """Enough others of their party have signed; the signer had been invited."""

    def declined(self, tx: Tx, packet: Packet, signer: Signer, *, now: datetime) -> None:
        """The signer has declined, and the packet goes on without them: they and the sender hear of it."""

    def delegated(
        self, tx: Tx, packet: Packet, signer: Signer, other: Signer, reason: str | None, *, now: datetime
    ) -> None:
        """The signer has passed it on to the other one: they and the sender hear of it."""

    def recall(self, tx: Tx, packet: Packet, signer: Signer) -> None:
        """What was to be mailed to the signer about this packet, and has not left yet, does not leave any more."""

    def ended(self, tx: Tx, packet: Packet, invited: Sequence[Signer], *, now: datetime) -> None:
        """The packet was declined, voided or has expired: those who had been invited and the sender hear of it."""

    def failed(self, tx: Tx, packet: Packet, document: Document, reason: str, *, now: datetime) -> None:
        """The files of this document could not be converted: the sender hears of it."""

    def completed(self, tx: Tx, packet: Packet, files: SealedFiles, *, now: datetime) -> None:
        """The sealed files and their certificates, in one mail for everyone who signed or gets a copy, and for the
        sender."""

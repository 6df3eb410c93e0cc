"""What people must hear of. Whoever tells them writes it in the transaction of the change that it tells of."""

from datetime import datetime
from typing import Protocol

from deedbox.kernel.crypto import Secret
from deedbox.kernel.db import Tx
from deedbox.signing.model import Document, Packet, Signer


class Notifier(Protocol):
    def delivers(self) -> bool:
        """Whether mail leaves this server; else it stays here to be read."""

    def invite(self, tx: Tx, packet: Packet, signer: Signer, token: Secret, *, now: datetime) -> None:
        """It is the signer's turn; the token opens the packet."""

    def remind(self, tx: Tx, packet: Packet, signer: Signer, token: Secret, *, now: datetime) -> None: ...

    def code(self, tx: Tx, packet: Packet, signer: Signer, code: Secret, *, now: datetime) -> None:
        """The number that shows that the signer reads this mailbox."""

    def ended(self, tx: Tx, packet: Packet, signer: Signer, *, now: datetime) -> None:
        """The packet was declined, voided or has expired; the signer had been invited."""

    def completed(
        self, tx: Tx, packet: Packet, document: Document, signer: Signer, sealed_sha256: str, *, now: datetime
    ) -> None:
        """The sealed file, for everyone who signed."""

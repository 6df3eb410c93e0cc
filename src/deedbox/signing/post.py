"""What people must hear of. Whoever sends it writes it in the transaction of the change that it tells of."""

from datetime import datetime
from typing import Protocol

from deedbox.kernel.crypto import Secret
from deedbox.kernel.db import Tx
from deedbox.signing.document import Document, Signer


class Post(Protocol):
    def invite(self, tx: Tx, document: Document, signer: Signer, token: Secret, *, now: datetime) -> None:
        """It is the signer's turn; the token opens the document."""

    def remind(self, tx: Tx, document: Document, signer: Signer, token: Secret, *, now: datetime) -> None: ...

    def code(self, tx: Tx, document: Document, signer: Signer, code: Secret, *, now: datetime) -> None:
        """The number that shows that the signer reads this mailbox."""

    def ended(self, tx: Tx, document: Document, signer: Signer, *, now: datetime) -> None:
        """The document was declined, voided or has expired; the signer had been invited."""

    def completed(self, tx: Tx, document: Document, signer: Signer, sealed_sha256: str, *, now: datetime) -> None:
        """The sealed file, for everyone who signed."""

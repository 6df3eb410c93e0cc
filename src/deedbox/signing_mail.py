"""Mail to signers about their documents: here signing meets mail, and neither knows the other."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from deedbox.kernel import limits
from deedbox.kernel.clock import Instant
from deedbox.kernel.crypto import Secret
from deedbox.kernel.db import Tx
from deedbox.kernel.mailbox import Mailbox
from deedbox.signing.model import Document, Packet, Signer

if TYPE_CHECKING:
    from deedbox.mail import Letter, Mailer


class MailNotifier:
    """Writes each mail in the transaction of the change that it tells of."""

    def __init__(self, mailer: Callable[[], "Mailer"], address: Callable[[], str]) -> None:
        self._mailer = mailer
        self._address = address

    def delivers(self) -> bool:
        return self._mailer().delivers

    def invite(self, tx: Tx, packet: Packet, signer: Signer, token: Secret, *, now: datetime) -> None:
        from deedbox.mail import Invitation

        self._send(tx, packet.first, signer, Invitation(**self._invitation(packet, token)), now)

    def remind(self, tx: Tx, packet: Packet, signer: Signer, token: Secret, *, now: datetime) -> None:
        from deedbox.mail import Reminder

        self._send(tx, packet.first, signer, Reminder(**self._invitation(packet, token)), now)

    def code(self, tx: Tx, packet: Packet, signer: Signer, code: Secret, *, now: datetime) -> None:
        from deedbox.mail import Code

        letter = Code(code=code.reveal(), minutes=limits.SIGNER_CODE_SECONDS // 60, title=packet.first.title)
        late = now + timedelta(seconds=limits.SIGNER_CODE_SECONDS)
        self._send(tx, packet.first, signer, letter, now, not_after=late)

    def ended(self, tx: Tx, packet: Packet, signer: Signer, *, now: datetime) -> None:
        document, to = packet.first, Mailbox(signer.email, signer.name)
        if not self._mailer().recall(tx, packet.workspace_id, document.id, to):  # else they have never heard of it
            self._send(tx, document, signer, _ending(packet), now)

    def completed(
        self, tx: Tx, packet: Packet, document: Document, signer: Signer, sealed_sha256: str, *, now: datetime
    ) -> None:
        from deedbox.mail import Attachment, Completion

        code = document.verification_code or ""
        letter = Completion(
            sender=packet.sender,
            title=document.title,
            verification_link=f"{self._address()}/api/v1/verify/{code}",
            verification_code=code,
        )
        self._send(tx, document, signer, letter, now, attachment=Attachment(sealed_sha256, f"{document.title}.pdf"))

    def _invitation(self, packet: Packet, token: Secret) -> dict[str, Any]:
        message = packet.message
        return {
            "sender": packet.sender,
            "title": packet.first.title,
            "link": f"{self._address()}/s/{token.reveal()}",
            "subject": message.subject if message else None,
            "body": message.body if message else None,
            "expires_at": packet.expires_at,
        }

    def _send(
        self, tx: Tx, document: Document, signer: Signer, letter: "Letter", now: datetime, **more: object
    ) -> None:
        from deedbox.mail import Mail

        mail = Mail(
            to=Mailbox(signer.email, signer.name),
            letter=letter,
            language=signer.language,
            about=document.id,
            **more,  # type: ignore[arg-type]
        )
        self._mailer().queue(tx, document.workspace_id, mail, now=now)


def _ending(packet: Packet) -> "Letter":
    from deedbox.mail import Declined, Expired, Voided

    document = packet.first
    if document.status == "voided":
        reason = document.void.reason if document.void else None
        return Voided(sender=packet.sender, title=document.title, reason=reason)
    if document.status == "expired":
        return Expired(title=document.title, expired_at=Instant(document.expired_at or ""))
    names = {signer.id: signer.name for _, signer in packet.signers()}
    decline = document.decline
    return Declined(
        signer=names.get(decline.signer_id, "") if decline else "",
        title=document.title,
        reason=decline.reason if decline else None,
    )

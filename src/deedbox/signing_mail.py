"""Mail to signers about their documents: here signing meets mail, and neither knows the other."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from deedbox.kernel import limits
from deedbox.kernel.clock import Instant
from deedbox.kernel.crypto import Secret
from deedbox.kernel.db import Tx
from deedbox.kernel.mailbox import Mailbox
from deedbox.signing import store
from deedbox.signing.document import Document, Message, Signer, decoded

if TYPE_CHECKING:
    from deedbox.mail import Letter, Mailer


class MailNotifier:
    """Writes each mail in the transaction of the change that it tells of."""

    def __init__(self, mailer: Callable[[], "Mailer"], address: Callable[[], str]) -> None:
        self._mailer = mailer
        self._address = address

    def invite(self, tx: Tx, document: Document, signer: Signer, token: Secret, *, now: datetime) -> None:
        from deedbox.mail import Invitation

        self._send(tx, document, signer, Invitation(**self._invitation(tx, document, token)), now)

    def remind(self, tx: Tx, document: Document, signer: Signer, token: Secret, *, now: datetime) -> None:
        from deedbox.mail import Reminder

        self._send(tx, document, signer, Reminder(**self._invitation(tx, document, token)), now)

    def code(self, tx: Tx, document: Document, signer: Signer, code: Secret, *, now: datetime) -> None:
        from deedbox.mail import Code

        letter = Code(code=code.reveal(), minutes=limits.SIGNER_CODE_SECONDS // 60, title=document.title)
        self._send(tx, document, signer, letter, now, not_after=now + timedelta(seconds=limits.SIGNER_CODE_SECONDS))

    def ended(self, tx: Tx, document: Document, signer: Signer, *, now: datetime) -> None:
        workspace_id, to = store.workspace_of(tx, document.id) or "", Mailbox(signer.email, signer.name)
        if not self._mailer().recall(tx, workspace_id, document.id, to):  # else they have never heard of it
            self._send(tx, document, signer, _ending(tx, document), now)

    def completed(self, tx: Tx, document: Document, signer: Signer, sealed_sha256: str, *, now: datetime) -> None:
        from deedbox.mail import Attachment, Completion

        code = document.verification_code or ""
        letter = Completion(
            sender=_sender(tx, document),
            title=document.title,
            verification_link=f"{self._address()}/api/v1/verify/{code}",
            verification_code=code,
        )
        self._send(tx, document, signer, letter, now, attachment=Attachment(sealed_sha256, f"{document.title}.pdf"))

    def _invitation(self, tx: Tx, document: Document, token: Secret) -> dict[str, Any]:
        message = decoded(document.message, Message)
        return {
            "sender": _sender(tx, document),
            "title": document.title,
            "link": f"{self._address()}/s/{token.reveal()}",
            "subject": message.subject if message else None,
            "body": message.body if message else None,
            "expires_at": document.expires_at,
        }

    def _send(
        self, tx: Tx, document: Document, signer: Signer, letter: "Letter", now: datetime, **more: object
    ) -> None:
        from deedbox.mail import Mail

        workspace_id = store.workspace_of(tx, document.id)
        mail = Mail(
            to=Mailbox(signer.email, signer.name),
            letter=letter,
            language=signer.language,
            about=document.id,
            **more,  # type: ignore[arg-type]
        )
        self._mailer().queue(tx, workspace_id or "", mail, now=now)


def _sender(tx: Tx, document: Document) -> str:
    return store.workspace_name(tx, store.workspace_of(tx, document.id) or "")


def _ending(tx: Tx, document: Document) -> "Letter":
    from deedbox.mail import Declined, Expired, Voided
    from deedbox.signing.document import Decline, Void

    if document.status == "voided":
        void = decoded(document.void, Void)
        return Voided(sender=_sender(tx, document), title=document.title, reason=void.reason if void else None)
    if document.status == "expired":
        return Expired(title=document.title, expired_at=Instant(document.expired_at or ""))
    decline = decoded(document.decline, Decline)
    names = {one.id: one.name for party in document.parties for one in party.signers}
    return Declined(
        signer=names.get(decline.signer_id, "") if decline else "",
        title=document.title,
        reason=decline.reason if decline else None,
    )

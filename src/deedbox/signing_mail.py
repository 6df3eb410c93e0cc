"""Mail to signers and senders about their documents: here signing meets mail, and neither knows the other."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from deedbox import i18n
from deedbox.accounts import workspace_profile
from deedbox.kernel import accent as colours
from deedbox.kernel import limits
from deedbox.kernel.clock import Instant, instant
from deedbox.kernel.crypto import Secret
from deedbox.kernel.db import Tx
from deedbox.kernel.mailbox import Mailbox
from deedbox.signing import parties
from deedbox.signing.model import Document, Packet, Signer
from deedbox.signing.notifier import SealedFiles

if TYPE_CHECKING:
    from deedbox.mail import CompletionMail, Letter, MailAttachment, Mailer, MailLook, VerificationNote


def look_of(tx: Tx, workspace_id: str) -> "MailLook":
    """How a workspace's mails look: in its own name, with its logo and colour, once it has chosen one."""
    from deedbox.mail import MailLook, MailShade

    row = workspace_profile.row(tx, workspace_id)
    if row.accent is None:
        return MailLook() if row.logo_sha256 is None else MailLook(name=row.name, logo_sha256=row.logo_sha256)
    light, dark = colours.light(row.accent), colours.dark(row.accent)
    return MailLook(name=row.name, light=MailShade(*light[:2]), dark=MailShade(*dark[:2]), logo_sha256=row.logo_sha256)


class MailNotifier:
    """Writes each mail in the transaction of the change that it tells of."""

    def __init__(self, mailer: Callable[[], "Mailer"], address: Callable[[], str]) -> None:
        self._mailer = mailer
        self._address = address

    def delivers(self) -> bool:
        return self._mailer().delivers

    def invite(self, tx: Tx, packet: Packet, signer: Signer, token: Secret, *, now: datetime) -> None:
        from deedbox.mail import Invitation

        bulk = packet.first.bulk_send_id is not None and packet.first.sent_at == instant(now)
        self._send(tx, packet, signer, Invitation(**self._invitation(packet, signer, token)), now, bulk=bulk)

    def remind(self, tx: Tx, packet: Packet, signer: Signer, token: Secret, *, now: datetime) -> None:
        from deedbox.mail import Reminder

        self._send(tx, packet, signer, Reminder(**self._invitation(packet, signer, token)), now)

    def code(self, tx: Tx, packet: Packet, signer: Signer, code: Secret, *, now: datetime) -> None:
        from deedbox.mail import CodeMail

        letter = CodeMail(code=code.reveal(), minutes=limits.SIGNER_CODE_SECONDS // 60, title=packet.name)
        late = now + timedelta(seconds=limits.SIGNER_CODE_SECONDS)
        self._send(tx, packet, signer, letter, now, not_after=late)

    def not_needed(self, tx: Tx, packet: Packet, signer: Signer, *, now: datetime) -> None:
        from deedbox.mail import NotNeeded

        if self._had_heard(tx, packet, signer):
            party, _ = parties.find_signer(packet, signer.id)
            self._send(tx, packet, signer, NotNeeded(party=party.name, **_from(packet)), now)

    def declined(self, tx: Tx, packet: Packet, signer: Signer, *, now: datetime) -> None:
        self._confirm_decline(tx, packet, signer, now)
        self._tell_sender(tx, packet, _declined(packet, signer, goes_on=True, to_sender=True), now)

    def delegated(
        self, tx: Tx, packet: Packet, signer: Signer, other: Signer, reason: str | None, *, now: datetime
    ) -> None:
        from deedbox.mail import Delegated

        told: dict[str, Any] = {"signer": signer.name, "other": other.name, "email": other.email, "reason": reason}
        told |= _from(packet)
        self._send(tx, packet, signer, Delegated(own=True, **told), now)
        self._tell_sender(tx, packet, Delegated(to_sender=True, **told), now)

    def recall(self, tx: Tx, packet: Packet, signer: Signer) -> None:
        self._recall(tx, packet, signer)

    def ended(self, tx: Tx, packet: Packet, invited: Sequence[Signer], *, now: datetime) -> None:
        decline = packet.first.decline
        for signer in invited:
            if decline is not None and decline.signer_id == signer.id:
                self._confirm_decline(tx, packet, signer, now)
            elif self._had_heard(tx, packet, signer) or signer.status == "signed":
                self._send(tx, packet, signer, _ending(packet), now)
        if packet.status != "voided":  # which the sender did
            self._tell_sender(tx, packet, _ending(packet, to_sender=True), now)

    def failed(self, tx: Tx, packet: Packet, document: Document, reason: str, *, now: datetime) -> None:
        from deedbox.mail import FailedMail

        letter = FailedMail(reason=reason, **{**_from(packet), "title": document.title})
        self._tell_sender(tx, packet, letter, now)

    def completed(self, tx: Tx, packet: Packet, files: SealedFiles, *, now: datetime) -> None:
        heard = [signer for _, signer in packet.signers() if signer.id in files.tokens]
        for signer in heard:
            letter = self._completion(packet, link=self._link(files.tokens[signer.id]))
            enclosed = _attachments(packet, files, signer.language)
            self._send(tx, packet, signer, letter, now, attachments=enclosed)
        letter = self._completion(packet, refusals=_refusals(packet), to_sender=True)
        enclosed = _attachments(packet, files, packet.language)
        had_it = [signer.email for signer in heard]
        self._tell_sender(tx, packet, letter, now, but_not=had_it, attachments=enclosed)

    def _confirm_decline(self, tx: Tx, packet: Packet, signer: Signer, now: datetime) -> None:
        self._recall(tx, packet, signer)
        self._send(tx, packet, signer, _declined(packet, signer, own=True), now)

    def _completion(self, packet: Packet, **more: Any) -> "CompletionMail":
        from deedbox.mail import CompletionMail, Enough

        counted = [
            (party.name, parties.count_signatures(party), len(parties.counting_signers(party)))
            for party in packet.parties
        ]
        return CompletionMail(
            **_from(packet),
            document_id=packet.first.id if packet.lone else packet.id,
            verifications=[self._verification(document) for document in packet.documents],
            enough=[Enough(name, signed, total) for name, signed, total in counted if signed < total],
            **more,
        )

    def _verification(self, document: Document) -> "VerificationNote":
        from deedbox.mail import VerificationNote

        code = document.verification_code or ""
        return VerificationNote(document.title, code, f"{self._address()}/verify/{code}")

    def _invitation(self, packet: Packet, signer: Signer, token: Secret) -> dict[str, Any]:
        message = packet.message
        before = [one.name for _, one in packet.signers() if one.delegated_to == signer.id]
        return {
            **_from(packet),
            "documents": [] if packet.lone else [document.title for document in packet.documents],
            "sender_email": packet.sender_email,
            "link": self._link(token),
            "subject": message.subject if message else None,
            "body": message.body if message else None,
            "expires_at": packet.expires_at,
            "approve": signer.role == "approver",
            "passed_on_by": before[0] if before else None,
        }

    def _link(self, token: Secret) -> str:
        return f"{self._address()}/s/{token.reveal()}"

    def _had_heard(self, tx: Tx, packet: Packet, signer: Signer) -> bool:
        """Whether an invitation may have reached them; what still waits to be sent is taken back."""
        return not self._recall(tx, packet, signer)

    def _recall(self, tx: Tx, packet: Packet, signer: Signer) -> bool:
        return self._mailer().recall(tx, packet.workspace_id, packet.first.id, Mailbox(signer.email, signer.name))

    def _send(self, tx: Tx, packet: Packet, signer: Signer, letter: "Letter", now: datetime, **more: Any) -> None:
        reply_to = Mailbox(packet.sender_email, packet.sender) if packet.sender_email else None
        more = {"reply_to": reply_to, "language": signer.language, "time_zone": signer.time_zone, **more}
        self._queue(tx, packet, Mailbox(signer.email, signer.name), letter, now, **more)

    def _tell_sender(
        self, tx: Tx, packet: Packet, letter: "Letter", now: datetime, but_not: Sequence[str] = (), **more: Any
    ) -> None:
        """The mail to the sender, unless they want none or have got the same as a signer."""
        to = workspace_profile.notices_to(tx, packet.workspace_id)
        if to is not None and to.address.lower() not in but_not:
            self._queue(tx, packet, to, letter, now, language=packet.language, **more)

    def _queue(self, tx: Tx, packet: Packet, to: Mailbox, letter: "Letter", now: datetime, **more: Any) -> None:
        from deedbox.mail import Mail

        mail = Mail(to=to, letter=letter, **{"about": packet.first.id, **more})
        self._mailer().queue(tx, packet.workspace_id, mail, now=now)


def _from(packet: Packet) -> dict[str, Any]:
    return {"sender": packet.sender, "company": packet.company, "title": packet.name}


def _ending(packet: Packet, *, to_sender: bool = False) -> "Letter":
    from deedbox.mail import Expired, VoidedMail

    document, shared = packet.first, _from(packet)
    if document.status == "voided":
        return VoidedMail(reason=document.void.reason if document.void else None, **shared)
    if document.status == "expired":
        missing = _missing(packet) if to_sender else []
        # The end that was set: it may have been noticed later.
        end = Instant(packet.expires_at or document.expired_at or "")
        return Expired(expired_at=end, missing=missing, to_sender=to_sender, **shared)
    _, signer = parties.find_signer(packet, document.decline.signer_id if document.decline else "")
    return _declined(packet, signer, to_sender=to_sender)


def _missing(packet: Packet) -> list[str]:
    """Who was still wanted when the packet ended, not who was needed no more before."""
    return [
        signer.name
        for party, signer in packet.signers()
        if party.status == "canceled" and signer.status == "canceled" and signer.counts
    ]


def _declined(packet: Packet, signer: Signer, **more: Any) -> "Letter":
    from deedbox.mail import DeclinedMail

    _, now = parties.find_signer(packet, signer.id)
    return DeclinedMail(signer=signer.name, reason=now.decline_reason, **_from(packet), **more)


def _refusals(packet: Packet) -> list[Any]:
    from deedbox.mail import RefusalNote

    return [
        RefusalNote(signer.name, signer.decline_reason) for _, signer in packet.signers() if signer.status == "declined"
    ]


def _attachments(packet: Packet, files: SealedFiles, language: str) -> "list[MailAttachment]":
    """Every sealed file with its certificate, and that of the whole packet."""
    from deedbox.mail import MailAttachment

    certificate = i18n.table(language)["certificate.title"]
    found = []
    for document, sealed_sha256, certificate_sha256 in files.documents:
        found.append(MailAttachment(sealed_sha256, f"{document.title}.pdf"))
        found.append(MailAttachment(certificate_sha256, f"{certificate} - {document.title}.pdf"))
    if files.certificate_sha256 is not None:
        found.append(MailAttachment(files.certificate_sha256, f"{certificate} - {packet.title}.pdf"))
    return found

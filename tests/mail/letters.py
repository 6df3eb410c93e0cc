"""One letter of every kind."""

from typing import Any

from deedbox.kernel.clock import Instant
from deedbox.kernel.mailbox import mailbox
from deedbox.mail import (
    CodeMail,
    CompletionMail,
    DeclinedMail,
    Delegated,
    Enough,
    Expired,
    FailedMail,
    Invitation,
    Letter,
    Mail,
    MemberMail,
    NotNeeded,
    RefusalNote,
    Reminder,
    Reset,
    Test,
    VerificationNote,
    VoidedMail,
)

TOKEN = "deed_sign_" + "0f" * 24
LINK = f"https://sign.example.com/s/{TOKEN}"
CODE = "482913"
TITLE = "Lease & <annex>"
WHEN = Instant("2026-04-01T12:30:00Z")
READER = mailbox("reader@example.com", "Zoë Đặng")

_ASKED: dict[str, Any] = {"sender": "Mara", "company": "Harbour Ltd", "title": TITLE}
_VERIFIED = VerificationNote(TITLE, "7F3K92QX", "https://sign.example.com/verify/7F3K92QX")
_PROOF: dict[str, Any] = {"verifications": [_VERIFIED]}

LETTERS: dict[str, Letter] = {
    "invitation": Invitation(
        sender="Harbour Ltd", title=TITLE, link=LINK, body="Dear reader,\n\nplease sign.", expires_at=WHEN
    ),
    "invitation of a person": Invitation(
        sender="Mara", company="Harbour Ltd", title=TITLE, link=LINK, sender_email="mara@example.com"
    ),
    "invitation to approve": Invitation(approve=True, passed_on_by="Second Reader", link=LINK, **_ASKED),
    "reminder to approve": Reminder(approve=True, link=LINK, expires_at=WHEN, **_ASKED),
    "passed on": Delegated(
        signer="Second Reader", other="Third", email="third@example.com", reason="Away", to_sender=True, **_ASKED
    ),
    "passed on by the reader": Delegated(
        signer="Zoë Đặng", other="Third", email="third@example.com", own=True, **_ASKED
    ),
    "reminder": Reminder(sender="Harbour Ltd", title=TITLE, link=LINK, expires_at=WHEN),
    "code": CodeMail(code=CODE, minutes=10, title=TITLE),
    "completion": CompletionMail(sender="Harbour Ltd", title=TITLE, **_PROOF),
    "completion with a quorum": CompletionMail(
        sender="Mara", company="Harbour Ltd", title=TITLE, link=LINK, enough=[Enough("Board", 2, 3)], **_PROOF
    ),
    "completion for the sender": CompletionMail(
        sender="Mara",
        company="Harbour Ltd",
        title=TITLE,
        document_id="doc_1",
        enough=[Enough("Board", 2, 3)],
        refusals=[RefusalNote("Second Reader", "Clause 4"), RefusalNote("Third Reader", None)],
        to_sender=True,
        **_PROOF,
    ),
    "completion of a packet": CompletionMail(
        sender="Mara",
        company="Harbour Ltd",
        title=TITLE,
        link=LINK,
        verifications=[
            _VERIFIED,
            VerificationNote("Rules of the <house>", "8G4L03RY", "https://sign.example.com/verify/8G"),
        ],
    ),
    "invitation to a packet": Invitation(
        sender="Harbour Ltd", title=TITLE, link=LINK, documents=["Lease", "Rules of the <house>"]
    ),
    "not needed": NotNeeded(party="Board", **_ASKED),
    "declined": DeclinedMail(signer="Second Reader", reason="Clause 4", **_ASKED),
    "declined by the reader": DeclinedMail(
        signer="Zoë Đặng", own=True, sender="Mara", company="Harbour Ltd", title=TITLE
    ),
    "declined and going on": DeclinedMail(
        signer="Second Reader", goes_on=True, to_sender=True, sender="Mara", company="Harbour Ltd", title=TITLE
    ),
    "voided": VoidedMail(reason="A new version follows", **_ASKED),
    "expired": Expired(sender="Mara", company="Harbour Ltd", title=TITLE, expired_at=WHEN),
    "expired for the sender": Expired(
        sender="Mara", company="Harbour Ltd", title=TITLE, expired_at=WHEN, missing=["Ann", "Ben"], to_sender=True
    ),
    "failed": FailedMail(sender="Mara", company="Harbour Ltd", title=TITLE, reason="The file cannot be read"),
    "member": MemberMail(inviter="Mara", workspace="Harbour <Ltd>", link=LINK, expires_at=WHEN),
    "reset": Reset(link=LINK, minutes=60),
    "test": Test(server="smtp://mail.example.com:587"),
}


def invitation(**more: object) -> Mail:
    return Mail(to=READER, letter=LETTERS["invitation"], **more)  # type: ignore[arg-type]

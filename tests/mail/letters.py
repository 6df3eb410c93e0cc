"""One letter of every kind."""

from deedbox.kernel.clock import Instant
from deedbox.kernel.mailbox import mailbox
from deedbox.mail import (
    Code,
    Completion,
    Declined,
    Expired,
    Invitation,
    Letter,
    Mail,
    Reminder,
    Test,
    Voided,
)

TOKEN = "deed_sign_" + "0f" * 24
LINK = f"https://sign.example.com/s/{TOKEN}"
CODE = "482913"
TITLE = "Lease & <annex>"
WHEN = Instant("2026-04-01T12:30:00Z")
READER = mailbox("reader@example.com", "Zoë Đặng")

LETTERS: dict[str, Letter] = {
    "invitation": Invitation(
        sender="Harbour Ltd", title=TITLE, link=LINK, body="Dear reader,\n\nplease sign.", expires_at=WHEN
    ),
    "reminder": Reminder(sender="Harbour Ltd", title=TITLE, link=LINK, expires_at=WHEN),
    "code": Code(code=CODE, minutes=10, title=TITLE),
    "completion": Completion(
        sender="Harbour Ltd",
        title=TITLE,
        verification_link="https://sign.example.com/verify/7F3K92QX",
        verification_code="7F3K92QX",
    ),
    "declined": Declined(signer="Second Reader", title=TITLE, reason="Clause 4"),
    "voided": Voided(sender="Harbour Ltd", title=TITLE, reason="A new version follows"),
    "expired": Expired(title=TITLE, expired_at=WHEN),
    "test": Test(server="smtp://mail.example.com:587"),
}


def invitation(**more: object) -> Mail:
    return Mail(to=READER, letter=LETTERS["invitation"], **more)  # type: ignore[arg-type]

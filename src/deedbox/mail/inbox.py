"""Mails as people look at them."""

import msgspec

from deedbox.kernel.clock import Instant
from deedbox.mail.letter import Mail
from deedbox.mail.store import Status


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """A mail as a list shows it. The subject is known until the mail is sent."""

    id: str
    kind: str
    about: str | None
    to: str
    subject: str | None
    status: Status
    attempts: int
    last_error: str | None
    created_at: Instant
    tried_at: Instant | None
    sent_at: Instant | None


class InboxMail(msgspec.Struct, frozen=True, kw_only=True):
    """A mail of the inbox, opened: what its reader would see."""

    kept: Kept
    mail: Mail
    text: str
    html: str
    attachment_sha256: str | None

"""Mail to signers and senders: queued with the change that causes it, sent over SMTP, or kept in an inbox."""

from deedbox.mail.content import ENCRYPTED_MAIL
from deedbox.mail.inbox import Inbox, InboxMail, MailRecord
from deedbox.mail.letter import (
    Attachment,
    Code,
    Completion,
    Declined,
    Delegated,
    Enough,
    Expired,
    Invitation,
    Letter,
    Look,
    Mail,
    Member,
    NotNeeded,
    Refusal,
    Reminder,
    Reset,
    Shade,
    Test,
    Verification,
    Voided,
)
from deedbox.mail.outbox import MAIL_JOB, Mailer, prune
from deedbox.mail.relay import Relay

__all__ = [
    "ENCRYPTED_MAIL",
    "MAIL_JOB",
    "Attachment",
    "Code",
    "Completion",
    "Declined",
    "Delegated",
    "Enough",
    "Expired",
    "Inbox",
    "InboxMail",
    "Invitation",
    "Letter",
    "Look",
    "Mail",
    "MailRecord",
    "Mailer",
    "Member",
    "NotNeeded",
    "Refusal",
    "Relay",
    "Reminder",
    "Reset",
    "Shade",
    "Test",
    "Verification",
    "Voided",
    "prune",
]

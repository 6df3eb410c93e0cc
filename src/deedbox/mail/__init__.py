"""Mail to signers and senders: queued with the change that causes it, sent over SMTP, or kept in an inbox."""

from deedbox.mail.inbox import InboxMail, Kept
from deedbox.mail.letter import (
    Attachment,
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
from deedbox.mail.outbox import ENCRYPTED_MAIL, MAIL_JOB, Mailer, prune

__all__ = [
    "ENCRYPTED_MAIL",
    "MAIL_JOB",
    "Attachment",
    "Code",
    "Completion",
    "Declined",
    "Expired",
    "InboxMail",
    "Invitation",
    "Kept",
    "Letter",
    "Mail",
    "Mailer",
    "Reminder",
    "Test",
    "Voided",
    "prune",
]

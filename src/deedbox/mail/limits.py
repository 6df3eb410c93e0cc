"""Bounds of `deedbox.mail`, by name; those that several packages share are in `kernel.limits`."""

from deedbox.kernel.limits import KB, MB

# mail
MAIL_ATTEMPTS = 60
MAIL_ATTACHMENT_BYTES = 15 * MB
MAIL_DATA_BYTES = 64 * KB
MAIL_SUBJECT_CHARS = 200
MAIL_FILE_NAME_CHARS = 100
MAIL_KEEP_DAYS = 90
MAIL_ERROR_CHARS = 500
SMTP_SECONDS = 300
SMTP_REPLY_SECONDS = 60
SMTP_REPLY_BYTES = 32 * KB

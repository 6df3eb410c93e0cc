"""Mails: the outbox of what is to be sent, and the inbox of an installation without a mail server."""

from alembic import op

from deedbox.kernel.db.migrations import ddl

revision = "0007"
down_revision = "0006"

MAIL = """
create table mails (
    id TEXT primary key,
    workspace_id TEXT not null references workspaces (id),
    kind TEXT not null,
    about TEXT,
    to_address TEXT not null,
    message_id TEXT not null,
    status TEXT not null,
    data BYTES,
    attachment_sha256 TEXT,
    attempts INT not null,
    last_error TEXT,
    created_at TEXT not null,
    tried_at TEXT,
    sent_at TEXT
);
create index mails_of_workspace on mails (workspace_id, status, id);
create index mails_about on mails (workspace_id, about, id) where about is not null;
create index mails_by_age on mails (status, created_at)
"""
"""`data` holds links and codes: it is sealed, and gone once the mail is sent."""


def upgrade() -> None:
    ddl.apply(op.get_bind(), MAIL)

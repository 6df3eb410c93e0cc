"""Extracted texts lie with the files. Those of the old table are read from their files again when they are needed."""

from alembic import op

from deedbox.kernel.db.migrations import ddl

revision = "0003"
down_revision = "0002"

TEXTS = """
drop table extractions;
create table extractions (
    workspace_id TEXT not null references workspaces (id),
    sha256 TEXT not null,
    media_type TEXT not null,
    text_sha256 TEXT not null,
    primary key (workspace_id, sha256, media_type)
)
"""


def upgrade() -> None:
    ddl.apply(op.get_bind(), TEXTS)

"""What is archived, where it stands, and the trees over the packages of each day."""

from alembic import op

from deedbox.kernel.db.migrations import ddl

revision = "0011"
down_revision = "0010"

ARCHIVE = """
create table archive_trees (
    number INT primary key,
    day TEXT not null,
    size INT not null,
    root TEXT not null,
    previous TEXT,
    token BYTES,
    published_at TEXT
);
create table archives (
    document_id TEXT primary key references documents (id),
    workspace_id TEXT not null references workspaces (id),
    status TEXT not null,
    bag TEXT not null,
    attempts INT not null,
    error TEXT,
    created_at TEXT not null,
    tried_at TEXT,
    archived_at TEXT,
    receipt TEXT,
    tree INT references archive_trees (number),
    leaf INT,
    proof TEXT
);
create index archives_waiting on archives (document_id) where status <> 'archived';
create index archives_outside on archives (archived_at, document_id) where status = 'archived' and tree is null;
create unique index archives_in_tree on archives (tree, leaf) where tree is not null
"""


def upgrade() -> None:
    ddl.apply(op.get_bind(), ARCHIVE)

"""Uploads, their text, their chunks with vectors, the log that indexes follow, and the count of queries."""

from alembic import op

from deedbox.kernel.db.migrations import ddl

revision = "0002"
down_revision = "0001"

SEARCH = """
create table uploads (
    id TEXT primary key,
    workspace_id TEXT not null references workspaces (id),
    filename TEXT not null,
    media_type TEXT not null,
    size_bytes INT not null,
    sha256 TEXT not null,
    text_length INT not null,
    pages INT,
    status TEXT not null,
    status_before TEXT,
    error TEXT,
    revision INT not null,
    chunk_set_id TEXT,
    signed INT not null,
    created_at TEXT not null,
    indexed_at TEXT
);
create index uploads_of_workspace on uploads (workspace_id, id);
create index uploads_by_content on uploads (workspace_id, sha256);
create index uploads_by_chunk_set on uploads (chunk_set_id);
create table extractions (
    workspace_id TEXT not null references workspaces (id),
    sha256 TEXT not null,
    body BYTES not null,
    primary key (workspace_id, sha256)
);
create table chunk_sets (
    id TEXT primary key,
    workspace_id TEXT not null references workspaces (id),
    sha256 TEXT not null,
    recipe TEXT not null,
    chunks INT not null,
    created_at TEXT not null,
    unique (workspace_id, sha256, recipe)
);
create table chunks (
    chunk_set_id TEXT not null references chunk_sets (id),
    number INT not null,
    text TEXT not null,
    char_start INT not null,
    char_end INT not null,
    page INT,
    heading TEXT,
    vector BYTES not null,
    primary key (chunk_set_id, number)
);
create table index_log (
    workspace_id TEXT not null references workspaces (id),
    number INT not null,
    upload_id TEXT not null,
    chunk_set_id TEXT,
    primary key (workspace_id, number),
    unique (workspace_id, upload_id)
);
create table query_counts (
    workspace_id TEXT primary key references workspaces (id),
    queries INT not null
)
"""


def upgrade() -> None:
    ddl.apply(op.get_bind(), SEARCH)

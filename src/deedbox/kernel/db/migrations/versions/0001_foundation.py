"""Accounts, documents, jobs, events, blobs, rate limits and idempotency."""

from alembic import op

from deedbox.kernel.db.migrations import ddl

revision = "0001"
down_revision = None

ACCOUNTS = """
create table workspaces (
    id TEXT primary key,
    name TEXT not null,
    created_at TEXT not null
);
create table people (
    id TEXT primary key,
    email TEXT unique,
    name TEXT not null,
    password_hash TEXT,
    created_at TEXT not null
);
create table memberships (
    workspace_id TEXT not null references workspaces (id),
    person_id TEXT not null references people (id),
    role TEXT not null,
    created_at TEXT not null,
    primary key (workspace_id, person_id)
);
create table login_links (
    token_hash BYTES primary key,
    person_id TEXT not null references people (id),
    created_at TEXT not null,
    expires_at TEXT not null,
    used_at TEXT
);
create table login_sessions (
    token_hash BYTES primary key,
    person_id TEXT not null references people (id),
    workspace_id TEXT not null references workspaces (id),
    created_at TEXT not null,
    expires_at TEXT not null
);
create table api_keys (
    id TEXT primary key,
    workspace_id TEXT not null references workspaces (id),
    key_hash BYTES not null unique,
    name TEXT not null,
    prefix TEXT not null,
    last4 TEXT not null,
    scopes TEXT not null,
    tier TEXT not null,
    per_minute INT,
    per_day INT,
    created_at TEXT not null,
    created_by TEXT not null,
    expires_at TEXT,
    last_used_at TEXT,
    revoked_at TEXT
);
create index api_keys_of_workspace on api_keys (workspace_id, id)
"""

DOCUMENTS = """
create table documents (
    id TEXT primary key,
    workspace_id TEXT not null references workspaces (id),
    title TEXT not null,
    title_folded TEXT not null,
    status TEXT not null,
    source TEXT not null,
    external_id TEXT,
    metadata TEXT not null,
    template_id TEXT,
    packet_id TEXT,
    bulk_send_id TEXT,
    message TEXT,
    language TEXT not null,
    signers_total INT not null,
    signers_signed INT not null,
    parties_total INT not null,
    parties_completed INT not null,
    seal TEXT,
    reminders TEXT,
    expires_at TEXT,
    created_at TEXT not null,
    updated_at TEXT not null,
    sent_at TEXT,
    completed_at TEXT,
    declined_at TEXT,
    voided_at TEXT,
    expired_at TEXT,
    decline TEXT,
    void TEXT,
    archive TEXT not null,
    verification_code TEXT unique
);
create index documents_of_workspace on documents (workspace_id, id);
create index documents_by_status on documents (workspace_id, status, id);
create index documents_by_external_id on documents (workspace_id, external_id, id)
"""

WORK = """
create table jobs (
    id TEXT primary key,
    kind TEXT not null,
    workspace_id TEXT,
    payload TEXT not null,
    priority INT not null,
    unique_key TEXT unique,
    state TEXT not null,
    run_at REAL not null,
    lease_until REAL,
    worker TEXT,
    attempts INT not null,
    max_attempts INT not null,
    progress TEXT,
    error TEXT,
    created_at TEXT not null,
    finished_at TEXT
);
create index jobs_due on jobs (state, priority, run_at);
create table events (
    id TEXT primary key,
    workspace_id TEXT not null references workspaces (id),
    kind TEXT not null,
    subject_id TEXT not null,
    sequence INT not null,
    data TEXT not null,
    created_at TEXT not null,
    unique (subject_id, sequence)
);
create index events_of_workspace on events (workspace_id, id);
create table blobs (
    sha256 TEXT primary key,
    location TEXT not null unique,
    size_bytes INT not null,
    created_at TEXT not null
);
create table blob_refs (
    sha256 TEXT not null references blobs (sha256),
    owner TEXT not null,
    primary key (sha256, owner)
);
create index blob_refs_of_owner on blob_refs (owner);
create table blob_trash (
    location TEXT primary key,
    trashed_at TEXT not null
)
"""

LIMITS = """
create table rate_usage (
    forget_at INT not null,
    subject TEXT not null,
    second INT not null,
    requests INT not null,
    primary key (forget_at, subject, second)
);
create table rate_heads (
    subject TEXT primary key,
    next_number INT not null,
    forget_at REAL not null
);
create table rate_hits (
    subject TEXT not null,
    number INT not null,
    at REAL not null,
    primary key (subject, number)
);
create index rate_hits_by_time on rate_hits (subject, at, number);
create table idempotency (
    caller TEXT not null,
    idempotency_key TEXT not null,
    request_hash BYTES not null,
    status INT not null,
    response BYTES not null,
    created_at TEXT not null,
    primary key (caller, idempotency_key)
);
create index idempotency_by_age on idempotency (created_at)
"""


def upgrade() -> None:
    for script in (ACCOUNTS, DOCUMENTS, WORK, LIMITS):
        ddl.apply(op.get_bind(), script)

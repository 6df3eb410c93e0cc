"""Files, parties, signers, fields, links, sessions, the audit trail and what sealing has made."""

from alembic import op

from deedbox.kernel.db.migrations import ddl

revision = "0008"
down_revision = "0007"

SIGNING = """
create table document_files (
    id TEXT primary key,
    document_id TEXT not null references documents (id),
    position INT not null,
    name TEXT not null,
    sha256 TEXT not null,
    size_bytes INT not null,
    prepared_sha256 TEXT not null,
    pages TEXT not null,
    covers TEXT not null,
    unique (document_id, position)
);
create table parties (
    id TEXT primary key,
    document_id TEXT not null references documents (id),
    name TEXT not null,
    position INT not null,
    rule TEXT not null,
    quorum INT,
    on_decline TEXT not null,
    declared INT not null,
    status TEXT not null,
    completed_at TEXT
);
create index parties_of_document on parties (document_id, position, id);
create table signers (
    id TEXT primary key,
    workspace_id TEXT not null references workspaces (id),
    document_id TEXT not null references documents (id),
    party_id TEXT not null references parties (id),
    name TEXT not null,
    email TEXT not null,
    language TEXT not null,
    auth TEXT not null,
    access_code_hash BYTES,
    status TEXT not null,
    notified_at TEXT,
    viewed_at TEXT,
    signed_at TEXT,
    declined_at TEXT,
    decline_reason TEXT,
    signature TEXT
);
create index signers_of_document on signers (document_id, id);
create index signers_by_email on signers (workspace_id, email, document_id);
create table fields (
    id TEXT primary key,
    document_id TEXT not null references documents (id),
    file_id TEXT not null references document_files (id),
    signer_id TEXT references signers (id),
    party_id TEXT references parties (id),
    type TEXT not null,
    page INT not null,
    x REAL not null,
    y REAL not null,
    w REAL not null,
    h REAL not null,
    required INT not null,
    label TEXT,
    default_value TEXT,
    options TEXT not null,
    value TEXT
);
create index fields_of_document on fields (document_id, id);
create table field_values (
    field_id TEXT not null references fields (id),
    signer_id TEXT not null references signers (id),
    value TEXT not null,
    primary key (field_id, signer_id)
);
create table signing_links (
    token_hash BYTES primary key,
    signer_id TEXT not null references signers (id),
    kind TEXT not null,
    created_at TEXT not null,
    expires_at TEXT,
    used_at TEXT
);
create index signing_links_of_signer on signing_links (signer_id);
create table signer_sessions (
    token_hash BYTES primary key,
    signer_id TEXT not null references signers (id),
    created_at TEXT not null,
    expires_at TEXT not null,
    checked_at TEXT
);
create index signer_sessions_of_signer on signer_sessions (signer_id);
create table signer_codes (
    signer_id TEXT primary key references signers (id),
    code_hash BYTES not null,
    expires_at TEXT not null,
    tries INT not null,
    first_try_at TEXT
);
create table audit (
    document_id TEXT not null references documents (id),
    number INT not null,
    at TEXT not null,
    act TEXT not null,
    actor TEXT not null,
    detail TEXT not null,
    hash TEXT not null,
    primary key (document_id, number)
);
create table sealed_files (
    document_id TEXT primary key references documents (id),
    sha256 TEXT not null,
    size_bytes INT not null,
    certificate_sha256 TEXT not null,
    evidence_sha256 TEXT not null,
    head TEXT not null,
    sealed_at TEXT not null
);
create index sealed_files_by_hash on sealed_files (sha256)
"""


def upgrade() -> None:
    ddl.apply(op.get_bind(), SIGNING)

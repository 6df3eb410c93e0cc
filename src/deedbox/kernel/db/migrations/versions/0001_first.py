"""The first schema: accounts, work, signing, authority, mail, webhooks, archive, search and usage."""

from alembic import op

from deedbox.kernel.db.migrations import ddl

revision = "0001"
down_revision = None

ACCOUNTS = """
create table workspaces (
    id TEXT primary key,
    name TEXT not null,
    sender_name TEXT,
    sender_email TEXT,
    notices INT not null default 1,
    accent TEXT,
    logo_sha256 TEXT,
    embed_sites TEXT not null default '[]',
    search_documents INT not null default 1,
    created_at TEXT not null
);
create index workspaces_by_logo on workspaces (logo_sha256) where logo_sha256 is not null;
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
create index memberships_of_person on memberships (person_id);
create table invitations (
    id TEXT primary key,
    workspace_id TEXT not null references workspaces (id),
    token_hash BYTES not null unique,
    role TEXT not null,
    email TEXT,
    created_by TEXT not null,
    created_at TEXT not null,
    expires_at TEXT not null
);
create index invitations_of_workspace on invitations (workspace_id, id);
create table login_links (
    token_hash BYTES primary key,
    person_id TEXT not null references people (id),
    created_at TEXT not null,
    expires_at TEXT not null,
    used_at TEXT
);
create table login_sessions (
    token_hash BYTES primary key,
    id TEXT not null unique,
    person_id TEXT not null references people (id),
    workspace_id TEXT not null references workspaces (id),
    address TEXT not null,
    agent TEXT not null,
    created_at TEXT not null,
    seen_on TEXT not null,
    expires_at TEXT not null,
    passkey_id TEXT
);
create index login_sessions_of_person on login_sessions (person_id);
create table passkeys (
    id TEXT primary key,
    person_id TEXT not null references people (id),
    name TEXT not null,
    credential_id BYTES not null unique,
    public_key BYTES not null,
    sign_count INT not null,
    created_at TEXT not null,
    used_on TEXT
);
create index passkeys_of_person on passkeys (person_id);
create table passkey_challenges (
    holder_hash BYTES primary key,
    challenge BYTES not null,
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
    revoked_at TEXT,
    collections TEXT
);
create index api_keys_of_workspace on api_keys (workspace_id, id);
create index api_keys_by_maker on api_keys (created_by);
create table workspace_acts (
    id TEXT primary key,
    workspace_id TEXT not null references workspaces (id),
    by_id TEXT not null,
    by_name TEXT not null,
    act TEXT not null,
    subject_id TEXT not null,
    subject_name TEXT not null,
    at TEXT not null
);
create index workspace_acts_of_workspace on workspace_acts (workspace_id, id)
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
create index jobs_patient on jobs (coalesce(workspace_id, ''), run_at)
    where case when state = 'ready' then priority end = 7;
create index jobs_automatic on jobs (coalesce(workspace_id, ''), run_at)
    where case when state = 'ready' then priority end = 8;
create index jobs_done on jobs (finished_at) where state = 'done';
create index jobs_that_index on jobs (workspace_id, id) where kind = 'index';
create table events (
    number COUNTER primary key,
    id TEXT not null unique,
    workspace_id TEXT not null references workspaces (id),
    kind TEXT not null,
    subject_id TEXT not null,
    sequence INT not null,
    data TEXT not null,
    created_at TEXT not null,
    line TEXT not null,
    position INT,
    unique (subject_id, sequence)
);
create index events_of_workspace on events (workspace_id, id);
create unique index events_by_position on events (workspace_id, position) where position is not null;
create index events_by_kind on events (workspace_id, kind, position) where position is not null;
create index events_unplaced on events (workspace_id, number) where position is null;
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
    status INT not null,
    exchange BYTES not null,
    created_at TEXT not null,
    primary key (caller, idempotency_key)
);
create index idempotency_by_age on idempotency (created_at)
"""

SIGNING = """
create table packets (
    id TEXT primary key,
    workspace_id TEXT not null references workspaces (id),
    lone INT not null,
    sender TEXT not null,
    company TEXT not null,
    sender_email TEXT,
    language TEXT not null,
    message TEXT,
    reminders TEXT,
    expires_at TEXT,
    expires_after_hours INT,
    title TEXT not null,
    title_folded TEXT not null,
    external_id TEXT,
    metadata TEXT not null,
    status TEXT,
    completed_at TEXT,
    certificate_sha256 TEXT,
    error TEXT,
    created_at TEXT not null
);
create index packets_shown on packets (workspace_id, id) where lone = 0;
create index packets_by_status on packets (workspace_id, status, id) where lone = 0;
create index packets_by_external_id on packets (workspace_id, external_id, id) where lone = 0;
create table documents (
    id TEXT primary key,
    workspace_id TEXT not null references workspaces (id),
    packet_id TEXT not null references packets (id),
    position INT not null,
    title TEXT not null,
    title_folded TEXT not null,
    status TEXT not null,
    source TEXT not null,
    external_id TEXT,
    metadata TEXT not null,
    template_id TEXT,
    template_version INT,
    bulk_send_id TEXT,
    files TEXT not null,
    paper_sha256 TEXT,
    asked_fields TEXT not null,
    asked_values TEXT not null default '{}',
    require_timestamp INT not null,
    signed_input TEXT not null,
    asks_all INT not null,
    seal TEXT,
    created_at TEXT not null,
    updated_at TEXT not null,
    sent_at TEXT,
    completed_at TEXT,
    declined_at TEXT,
    voided_at TEXT,
    expired_at TEXT,
    decline TEXT,
    void TEXT,
    archive_status TEXT not null,
    archive_attempts INT not null,
    archived_at TEXT,
    archive_receipt TEXT,
    archive_error TEXT,
    verification_code TEXT unique,
    error TEXT,
    attachments TEXT not null
);
create index documents_with_title on documents (workspace_id, id, title_folded);
create index documents_by_status on documents (workspace_id, status, id);
create index documents_by_external_id on documents (workspace_id, external_id, id);
create index documents_by_packet on documents (packet_id, id, title_folded);
create index documents_by_template on documents (workspace_id, template_id, id) where template_id is not null;
create index documents_by_bulk_send on documents (workspace_id, bulk_send_id, id) where bulk_send_id is not null;
create index documents_by_paper on documents (paper_sha256);
create index documents_never_archived on documents (completed_at, id)
    where status = 'completed' and archive_status = 'disabled';
create table templates (
    id TEXT primary key,
    workspace_id TEXT not null references workspaces (id),
    name_folded TEXT not null,
    version INT not null,
    created_at TEXT not null
);
create index templates_with_name on templates (workspace_id, id, name_folded);
create table template_versions (
    template_id TEXT not null references templates (id),
    version INT not null,
    name TEXT not null,
    status TEXT not null,
    error TEXT,
    content TEXT not null,
    paper_sha256 TEXT,
    created_at TEXT not null,
    primary key (template_id, version)
);
create index template_versions_by_paper on template_versions (paper_sha256);
create table parties (
    id TEXT primary key,
    packet_id TEXT not null references packets (id),
    position INT not null,
    name TEXT not null,
    turn INT not null,
    rule TEXT not null,
    quorum INT,
    on_decline TEXT not null,
    declared INT not null,
    status TEXT not null,
    completed_at TEXT
);
create index parties_of_packet on parties (packet_id, position);
create table signers (
    id TEXT primary key,
    workspace_id TEXT not null references workspaces (id),
    packet_id TEXT not null references packets (id),
    party_id TEXT not null references parties (id),
    position INT not null,
    name TEXT not null,
    email TEXT not null,
    language TEXT not null,
    time_zone TEXT,
    role TEXT not null,
    delegation INT not null,
    delegated_to TEXT,
    auth TEXT not null,
    access_code_hash TEXT,
    status TEXT not null,
    notified_at TEXT,
    reminded_at TEXT,
    reminders INT not null,
    timer_reminded_at TEXT,
    viewed_at TEXT,
    signed_at TEXT,
    declined_at TEXT,
    decline_reason TEXT,
    signature TEXT,
    initials TEXT,
    identity TEXT,
    notes INT not null default 0
);
create index signers_of_packet on signers (packet_id, position);
create index signers_of_party on signers (party_id);
create index signers_by_email on signers (workspace_id, email, substr(packet_id, 5, 10), packet_id);
create index signers_whose_turn on signers (workspace_id, email, substr(packet_id, 5, 10), packet_id)
    where status in ('notified', 'viewed') and role <> 'cc';
create table fields (
    id TEXT primary key,
    document_id TEXT not null references documents (id),
    position INT not null,
    file_id TEXT not null,
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
    value TEXT,
    font_size REAL,
    read_only INT not null,
    max_length INT,
    pattern TEXT,
    group_name TEXT,
    show_if TEXT,
    hint TEXT
);
create index fields_of_document on fields (document_id, position);
create index fields_of_signer on fields (signer_id);
create index fields_of_party on fields (party_id);
create table field_values (
    field_id TEXT not null references fields (id),
    signer_id TEXT not null references signers (id),
    value TEXT not null,
    primary key (field_id, signer_id)
);
create index field_values_of_signer on field_values (signer_id);
create table kept_attachments (
    field_id TEXT not null references fields (id),
    signer_id TEXT not null references signers (id),
    attachment TEXT not null,
    primary key (field_id, signer_id)
);
create index kept_attachments_of_signer on kept_attachments (signer_id);
create table sketches (
    subject_id TEXT primary key,
    workspace_id TEXT not null references workspaces (id),
    version INT not null,
    content TEXT not null,
    updated_at TEXT not null
);
create table signing_links (
    token_hash BYTES primary key,
    signer_id TEXT not null references signers (id),
    kind TEXT not null,
    voucher_id TEXT,
    voucher_name TEXT,
    created_at TEXT not null,
    expires_at TEXT,
    used_at TEXT
);
create index signing_links_of_signer on signing_links (signer_id);
create table signer_sessions (
    token_hash BYTES primary key,
    signer_id TEXT not null references signers (id),
    link_hash BYTES not null references signing_links (token_hash),
    created_at TEXT not null,
    expires_at TEXT not null,
    checked_at TEXT,
    viewed_at TEXT,
    consent TEXT,
    consented_at TEXT,
    language TEXT,
    unsigned TEXT
);
create index signer_sessions_of_signer on signer_sessions (signer_id);
create index signer_sessions_of_link on signer_sessions (link_hash);
create index signer_sessions_by_end on signer_sessions (expires_at);
create table page_views (
    session_hash BYTES not null references signer_sessions (token_hash),
    file_id TEXT not null,
    page INT not null,
    primary key (session_hash, file_id, page)
);
create table signer_codes (
    signer_id TEXT primary key references signers (id),
    code_hash TEXT not null,
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
create index sealed_files_by_hash on sealed_files (sha256);
create table sealed_hashes (
    workspace_id TEXT not null references workspaces (id),
    sha256 TEXT not null,
    primary key (workspace_id, sha256)
)
"""
"""Titles are searched in an index that holds nothing else, a fraction of what the table is."""

BULK_SENDS = """
create table bulk_sends (
    id TEXT primary key,
    workspace_id TEXT not null references workspaces (id),
    name TEXT not null,
    template_id TEXT not null,
    template_version INT not null,
    status TEXT not null,
    common TEXT not null,
    rows_per_minute INT,
    actor TEXT not null,
    round INT not null,
    next_at REAL not null,
    total INT not null,
    queued INT not null,
    sent INT not null,
    failed INT not null,
    canceled INT not null,
    created_at TEXT not null,
    updated_at TEXT not null,
    completed_at TEXT,
    canceled_at TEXT
);
create index bulk_sends_of_workspace on bulk_sends (workspace_id, id);
create unique index bulk_sends_by_name on bulk_sends (workspace_id, template_id, name);
create table bulk_rows (
    bulk_send_id TEXT not null references bulk_sends (id),
    number INT not null,
    row_key TEXT not null,
    digest TEXT not null,
    status TEXT not null,
    content BYTES,
    document_id TEXT,
    error TEXT,
    primary key (bulk_send_id, number)
);
create unique index bulk_rows_by_key on bulk_rows (bulk_send_id, row_key);
create index bulk_rows_by_status on bulk_rows (bulk_send_id, status, number);
create table bulk_uploads (
    id TEXT primary key,
    workspace_id TEXT not null references workspaces (id),
    template_id TEXT not null,
    file_name TEXT not null,
    content BYTES not null,
    choice TEXT,
    report TEXT,
    created_at TEXT not null
);
create index bulk_uploads_of_workspace on bulk_uploads (workspace_id, id);
create index bulk_uploads_by_age on bulk_uploads (created_at)
"""
"""`content` may hold access codes: it is encrypted, and gone once the row is sent."""

CERTIFICATES = """
create table certificates (
    id TEXT primary key,
    slot TEXT not null,
    issuer_id TEXT,
    serial TEXT not null,
    certificate BYTES not null,
    chain BYTES not null,
    private_key BYTES,
    created_at TEXT not null,
    not_after TEXT not null,
    ended_at TEXT,
    revoked_at TEXT,
    revocation_reason TEXT,
    crl BYTES,
    crl_number INT not null,
    crl_stale_at TEXT
);
create unique index certificate_in_slot on certificates (slot) where ended_at is null;
create index certificates_revoked_by on certificates (issuer_id, id) where revoked_at is not null
"""
"""A slot (`root`, `issuing`, `timestamp`, `seal:<workspace>`) has one certificate in use: the index makes it so."""

MAIL = """
create table mails (
    id TEXT primary key,
    workspace_id TEXT not null references workspaces (id),
    kind TEXT not null,
    about TEXT,
    to_address TEXT not null,
    to_name TEXT not null,
    message_id TEXT not null,
    status TEXT not null,
    data BYTES,
    attachments TEXT not null,
    attempts INT not null,
    last_error TEXT,
    created_at TEXT not null,
    tried_at TEXT,
    sent_at TEXT
);
create index mails_of_workspace on mails (workspace_id, id);
create index mails_about on mails (workspace_id, about, id) where about is not null;
create index mails_by_age on mails (status, created_at)
"""
"""`data` holds links and codes: it is encrypted, and gone once the mail is sent."""

WEBHOOKS = """
create table hooks (
    id TEXT primary key,
    workspace_id TEXT not null references workspaces (id),
    target_url TEXT not null,
    events TEXT not null,
    status TEXT not null,
    managed_by TEXT not null,
    signature_scheme TEXT not null,
    description TEXT,
    created_at TEXT not null,
    disabled_reason TEXT,
    last_success_at TEXT,
    last_failure_at TEXT,
    consecutive_failures INT not null,
    failing_since TEXT,
    likeness TEXT not null,
    secrets BYTES
);
create index hooks_of_workspace on hooks (workspace_id, id);
create unique index hooks_by_likeness on hooks (likeness) where status <> 'deleted';
create table hook_events (
    workspace_id TEXT not null,
    kind TEXT not null,
    hook_id TEXT not null references hooks (id),
    primary key (workspace_id, kind, hook_id)
);
create index hook_events_of_hook on hook_events (hook_id);
create table deliveries (
    number COUNTER primary key,
    id TEXT not null unique,
    workspace_id TEXT not null references workspaces (id),
    hook_id TEXT not null references hooks (id),
    event_id TEXT not null,
    kind TEXT not null,
    line TEXT not null,
    body TEXT not null,
    status TEXT not null,
    attempts INT not null,
    due_at REAL not null,
    claims INT not null,
    worker TEXT,
    lease_until REAL,
    created_at TEXT not null,
    ended_at TEXT,
    response_status INT,
    error TEXT
);
create index deliveries_of_hook on deliveries (hook_id, id);
create index deliveries_of_workspace on deliveries (workspace_id, id);
create index deliveries_of_event on deliveries (event_id, hook_id);
create index deliveries_pending on deliveries (hook_id, due_at, id) where status = 'pending';
create index deliveries_sending on deliveries (hook_id, lease_until) where status = 'sending';
create index deliveries_untried on deliveries (hook_id, line, number)
    where attempts = 0 and status in ('pending', 'sending');
create index deliveries_ended on deliveries (ended_at) where ended_at is not null;
create table delivery_attempts (
    delivery_id TEXT not null references deliveries (id),
    number INT not null,
    started_at TEXT not null,
    duration_ms INT not null,
    request_headers TEXT not null,
    response_status INT,
    response_headers TEXT,
    response_body BYTES,
    response_truncated INT not null,
    error TEXT,
    target_url TEXT,
    primary key (delivery_id, number)
);
create index delivery_attempts_by_age on delivery_attempts (started_at)
"""

ARCHIVE = """
create table archive_trees (
    number INT primary key,
    day TEXT not null,
    size INT not null,
    root TEXT not null,
    previous TEXT,
    token BYTES,
    published_at TEXT,
    location TEXT,
    degraded INT not null default 0,
    error TEXT
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
create unique index archives_in_tree on archives (tree, leaf) where tree is not null;
create index archives_begun on archives (created_at);
create index archives_of_workspace on archives (workspace_id, status, archived_at)
"""

SEARCH = """
create table uploads (
    id TEXT primary key,
    workspace_id TEXT not null references workspaces (id),
    filename TEXT not null,
    filename_folded TEXT not null,
    media_type TEXT not null,
    size_bytes INT not null,
    sha256 TEXT not null,
    text_length INT not null,
    pages INT,
    status TEXT not null,
    status_before TEXT,
    error TEXT,
    revision INT not null,
    created_at TEXT not null,
    indexed_at TEXT,
    document_id TEXT references documents (id),
    collection TEXT not null default 'default',
    metadata TEXT not null default '{}',
    hidden_length INT not null default 0
);
create index uploads_of_workspace on uploads (workspace_id, id);
create index uploads_unindexed on uploads (workspace_id) where status = 'uploaded';
create index uploads_by_content on uploads (workspace_id, sha256);
create index uploads_for_documents on uploads (workspace_id) where document_id is not null;
create unique index uploads_of_document on uploads (document_id) where document_id is not null;
create index uploads_of_collection on uploads (workspace_id, collection, id, document_id);
create table answering_files (
    upload_id TEXT primary key references uploads (id) on delete cascade,
    workspace_id TEXT not null references workspaces (id),
    filename TEXT not null,
    filename_folded TEXT not null,
    media_type TEXT not null,
    size_bytes INT not null,
    sha256 TEXT not null,
    text_length INT not null,
    pages INT,
    revision INT not null
);
create index answering_files_by_content on answering_files (workspace_id, sha256);
create table upload_values (
    upload_id TEXT not null references uploads (id) on delete cascade,
    workspace_id TEXT not null references workspaces (id),
    name TEXT not null,
    kind TEXT not null,
    text TEXT,
    number REAL,
    primary key (upload_id, name)
);
create index upload_values_by_name on upload_values (workspace_id, name);
create table extractions (
    workspace_id TEXT not null references workspaces (id),
    sha256 TEXT not null,
    media_type TEXT not null,
    text_sha256 TEXT not null,
    primary key (workspace_id, sha256, media_type)
);
create table libraries (
    workspace_id TEXT primary key references workspaces (id),
    recipe TEXT not null
);
create table chunk_sets (
    id TEXT primary key,
    workspace_id TEXT not null references workspaces (id),
    sha256 TEXT not null,
    media_type TEXT not null,
    recipe TEXT not null,
    chunks INT not null,
    created_at TEXT not null,
    unique (workspace_id, sha256, media_type, recipe)
);
create table chunks (
    chunk_set_id TEXT not null references chunk_sets (id),
    number INT not null,
    text TEXT not null,
    char_start INT not null,
    char_end INT not null,
    page INT,
    heading TEXT,
    ocr INT not null default 0,
    vector BYTES not null,
    primary key (chunk_set_id, number)
);
create table scanned_pages (
    workspace_id TEXT not null references workspaces (id),
    sha256 TEXT not null,
    media_type TEXT not null,
    page INT not null,
    text TEXT not null,
    words BYTES not null,
    char_start INT,
    primary key (workspace_id, sha256, media_type, page)
);
create table section_titles (
    chunk_set_id TEXT not null references chunk_sets (id) on delete cascade,
    number INT not null,
    folded TEXT not null,
    primary key (chunk_set_id, number)
);
create table index_log (
    workspace_id TEXT not null references workspaces (id),
    recipe TEXT not null,
    number INT not null,
    upload_id TEXT not null,
    chunk_set_id TEXT,
    primary key (workspace_id, recipe, number),
    unique (workspace_id, recipe, upload_id)
);
create index index_log_by_set on index_log (chunk_set_id);
create table index_snapshots (
    id TEXT primary key,
    workspace_id TEXT not null,
    recipe TEXT not null,
    format INT not null,
    watermark INT not null,
    chunks INT not null,
    size_bytes INT not null,
    contents TEXT not null,
    made_at TEXT not null,
    unique (workspace_id, recipe)
);
create table query_counts (
    workspace_id TEXT primary key references workspaces (id),
    queries INT not null
)
"""

USAGE = """
create table query_days (
    workspace_id TEXT not null references workspaces (id),
    day TEXT not null,
    bucket INT not null,
    queries INT not null,
    primary key (workspace_id, day, bucket)
);
create index query_days_by_age on query_days (day);
create table storage_days (
    workspace_id TEXT not null references workspaces (id),
    day TEXT not null,
    document_bytes INT not null,
    library_bytes INT not null,
    measured_at TEXT not null,
    primary key (workspace_id, day)
);
create index storage_days_by_age on storage_days (day);
create table document_days (
    workspace_id TEXT not null references workspaces (id),
    day TEXT not null,
    sent INT not null,
    sign_seconds TEXT not null,
    primary key (workspace_id, day)
);
create index document_days_by_age on document_days (day);
create index documents_by_sending on documents (workspace_id, sent_at) where sent_at is not null;
create index documents_by_completion on documents (workspace_id, completed_at, sent_at) where completed_at is not null
"""

PARTS = {
    "documents": ("title_folded", "{row}.title_folded", "true"),
    "packets": ("title_folded", "{row}.title_folded", "{row}.lone = 0"),
    "templates": ("name_folded", "{row}.name_folded", "true"),
    "uploads": ("filename_folded", "{row}.filename_folded", "true"),
    "mails": ("to_address", "lower({row}.to_address)", "true"),
}
"""What is searched by any part of it: the column, how it is compared, and of which rows."""


def upgrade() -> None:
    for script in (ACCOUNTS, WORK, LIMITS, SIGNING, BULK_SENDS, CERTIFICATES, MAIL, WEBHOOKS, ARCHIVE, SEARCH, USAGE):
        ddl.apply(op.get_bind(), script)
    ddl.index_parts(op.get_bind(), PARTS)

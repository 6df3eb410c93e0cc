"""Subscriptions, deliveries, attempts, and the order of events in the feed."""

from alembic import op

from deedbox.kernel.db.migrations import ddl

revision = "0010"
down_revision = "0009"

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
    id TEXT primary key,
    workspace_id TEXT not null references workspaces (id),
    hook_id TEXT not null references hooks (id),
    event_id TEXT not null,
    kind TEXT not null,
    subject_id TEXT not null,
    sequence INT not null,
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
create index deliveries_of_event on deliveries (event_id, hook_id);
create index deliveries_pending on deliveries (hook_id, due_at, id) where status = 'pending';
create index deliveries_sending on deliveries (hook_id, lease_until) where status = 'sending';
create index deliveries_untried on deliveries (hook_id, subject_id, sequence)
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
    primary key (delivery_id, number)
);
create index delivery_attempts_by_age on delivery_attempts (started_at);
alter table events add column position INT;
create unique index events_by_position on events (workspace_id, position) where position is not null;
create index events_unplaced on events (workspace_id) where position is null
"""


def upgrade() -> None:
    ddl.apply(op.get_bind(), WEBHOOKS)

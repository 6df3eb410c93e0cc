"""Events are numbered in the order in which they are written, whatever their subjects and ids."""

from alembic import op

from deedbox.kernel.db.migrations import ddl

revision = "0016"
down_revision = "0015"

NUMBERS = """
create table numbered_events (
    number COUNTER primary key,
    id TEXT not null unique,
    workspace_id TEXT not null references workspaces (id),
    kind TEXT not null,
    subject_id TEXT not null,
    sequence INT not null,
    data TEXT not null,
    created_at TEXT not null,
    position INT,
    unique (subject_id, sequence)
);
insert into numbered_events (id, workspace_id, kind, subject_id, sequence, data, created_at, position)
    select id, workspace_id, kind, subject_id, sequence, data, created_at, position from events
    order by substr(id, 1, 14), subject_id, sequence;
drop table events;
alter table numbered_events rename to events;
create index events_of_workspace on events (workspace_id, id);
create unique index events_by_position on events (workspace_id, position) where position is not null;
create index events_unplaced on events (workspace_id, number) where position is null
"""


def upgrade() -> None:
    ddl.apply(op.get_bind(), NUMBERS)

"""Jobs that are done are found by their age when they are forgotten."""

from alembic import op

from deedbox.kernel.db.migrations import ddl

revision = "0014"
down_revision = "0013"

DONE = "create index jobs_done on jobs (finished_at) where state = 'done'"


def upgrade() -> None:
    ddl.apply(op.get_bind(), DONE)

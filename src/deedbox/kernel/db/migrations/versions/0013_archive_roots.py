"""Where a root of the archive was published, who stamped it, and what is in the way of one that was not."""

from alembic import op

from deedbox.kernel.db.migrations import ddl

revision = "0013"
down_revision = "0012"

# A root without location was published before names had a hash in them.
ROOTS = """
alter table archive_trees add column location TEXT;
alter table archive_trees add column degraded INT not null default 0;
alter table archive_trees add column error TEXT
"""


def upgrade() -> None:
    ddl.apply(op.get_bind(), ROOTS)

"""What the archive was never told of is found without a look at every document, and so is when it began."""

from alembic import op

from deedbox.kernel.db.migrations import ddl

revision = "0015"
down_revision = "0014"

NEVER = """
create index documents_never_archived on documents (completed_at, id)
    where status = 'completed' and substr(archive, 1, 20) = '{"status":"disabled"';
create index archives_begun on archives (created_at)
"""


def upgrade() -> None:
    ddl.apply(op.get_bind(), NEVER)

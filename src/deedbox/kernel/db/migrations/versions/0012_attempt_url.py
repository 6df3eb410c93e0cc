"""Each attempt at a delivery keeps the URL that it was made at; of earlier ones it is not known."""

from alembic import op

from deedbox.kernel.db.migrations import ddl

revision = "0012"
down_revision = "0011"

URL = "alter table delivery_attempts add column target_url TEXT"


def upgrade() -> None:
    ddl.apply(op.get_bind(), URL)

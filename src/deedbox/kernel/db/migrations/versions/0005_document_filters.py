"""What the list of documents is filtered by: one look, however many documents there are."""

from alembic import op

from deedbox.kernel.db.migrations import ddl

revision = "0005"
down_revision = "0004"

FILTERS = """
create index documents_by_packet on documents (workspace_id, packet_id, id) where packet_id is not null;
create index documents_by_template on documents (workspace_id, template_id, id) where template_id is not null;
create index documents_by_bulk_send on documents (workspace_id, bulk_send_id, id) where bulk_send_id is not null;
create index documents_with_title on documents (workspace_id, id, title_folded);
drop index documents_of_workspace
"""
"""The words of a title are looked for in an index that holds nothing else, a fraction of what the table is."""


def upgrade() -> None:
    ddl.apply(op.get_bind(), FILTERS)

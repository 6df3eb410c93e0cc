"""What a draft was asked for, why a document is stuck, and what was taken out of its files."""

from alembic import op

from deedbox.kernel.db.migrations import ddl

revision = "0009"
down_revision = "0008"

PAPERS = """
alter table documents add column wanted TEXT not null default '[]';
alter table documents add column error TEXT;
alter table documents add column demand_timestamp INT not null default 0;
alter table document_files add column removed TEXT not null default '[]';
create index document_files_by_paper on document_files (prepared_sha256);
create index fields_of_file on fields (file_id);
create index fields_of_signer on fields (signer_id);
create index fields_of_party on fields (party_id);
create index signers_of_party on signers (party_id);
create index field_values_of_signer on field_values (signer_id)
"""


def upgrade() -> None:
    ddl.apply(op.get_bind(), PAPERS)

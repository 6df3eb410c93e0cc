"""The installation's certificates: root, issuing, time-stamp unit, and one seal for each workspace."""

from alembic import op

from deedbox.kernel.db.migrations import ddl

revision = "0006"
down_revision = "0005"

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


def upgrade() -> None:
    ddl.apply(op.get_bind(), CERTIFICATES)

"""Indexes in a PostgreSQL database of the tests."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from deedbox.kernel.db.postgres import PostgresDatabase
from deedbox.search.index.postgres.indexes import PostgresIndexes

OFFERED = "select 1 from pg_available_extensions where name = 'vector'"


def need_pgvector(url: str) -> None:
    """Skips the test where the database server has no pgvector; in CI it must be there."""
    with psycopg.connect(url) as connection:
        if connection.execute(OFFERED).fetchone() is None:
            assert not os.environ.get("CI"), "pgvector is missing: run scripts/test-deps"
            pytest.skip("pgvector is missing: run scripts/test-deps")


@contextmanager
def postgres_indexes(url: str) -> Iterator[PostgresIndexes]:
    need_pgvector(url)
    db = PostgresDatabase(url)
    indexes = PostgresIndexes(db, url)
    try:
        yield indexes
    finally:
        indexes.close()
        db._threads.shutdown()
        db._pool.close()

"""The column types of the schema, in the spelling of each database."""

import re

import sqlalchemy

_TYPES = {
    "sqlite": {"TEXT": "TEXT", "INT": "INTEGER", "REAL": "REAL", "BYTES": "BLOB"},
    # Collation C: text order is byte order, as in SQLite, so that ids and times sort the same on both.
    "postgresql": {"TEXT": 'TEXT COLLATE "C"', "INT": "BIGINT", "REAL": "DOUBLE PRECISION", "BYTES": "BYTEA"},
}


def apply(connection: sqlalchemy.Connection, script: str) -> None:
    """Runs statements separated by `;`, with TEXT, INT, REAL and BYTES as the column types."""
    types = _TYPES[connection.dialect.name]
    for statement in script.split(";"):
        sql = re.sub(r"\b(TEXT|INT|REAL|BYTES)\b", lambda word: types[word[0]], statement.strip())
        if sql.startswith("create table") and connection.dialect.name == "sqlite":
            sql += " strict"
        connection.exec_driver_sql(sql)

"""The indexes of all workspaces in PostgreSQL."""

import functools
from typing import TYPE_CHECKING

import psycopg

from deedbox.kernel.db import Tx
from deedbox.kernel.errors import SetupError
from deedbox.search import limits
from deedbox.search.chunks.store import LOGGED, watermark
from deedbox.search.index import Index, Place
from deedbox.search.index.postgres.graphs import Graphs
from deedbox.search.index.postgres.store import graphs as graph_indexes
from deedbox.search.index.postgres.store import indexes as index_rows
from deedbox.search.index.postgres.store import tables

if TYPE_CHECKING:
    from deedbox.kernel.db.postgres import PostgresDatabase

_LEAST = (0, 8)
"""From this version on pgvector goes on with a scan until enough is found."""


class PostgresIndexes:
    """Shared by all processes on the database: what one has indexed, the next question on any of them finds."""

    def __init__(self, db: "PostgresDatabase", url: str) -> None:
        self._db = db
        self._url = url
        prepare(db)
        self._graphs = Graphs(db, url)
        db.listeners.add(LOGGED, _follow)

    def open(self, place: Place, dimensions: int) -> Index:
        from deedbox.search.index.postgres.index import PostgresIndex

        if self._db.write_here(lambda tx: index_rows.abandon_older(tx, place, watermark(tx, *place))):
            self._sweep_abandoned()
        return PostgresIndex(self._db, place, dimensions, self._graphs, functools.partial(self.discard, place))

    def watermark(self, place: Place, dimensions: int) -> int:
        index = self._db.read_here(lambda tx: index_rows.find(tx, place))
        return index.watermark if index and index.dimensions == dimensions else 0

    def discard(self, place: Place) -> None:
        """What it holds goes in steps, and what an earlier call left too."""
        self._db.write_here(lambda tx: index_rows.abandon(tx, place))
        self._sweep_abandoned()

    def size_bytes(self, workspace_id: str) -> int:
        return self._db.read_here(lambda tx: index_rows.share_bytes(tx, "workspace_id", workspace_id))

    def close(self) -> None:
        self._graphs.close()

    def _sweep_abandoned(self) -> None:
        for index_id in self._db.read_here(index_rows.list_abandoned):
            self._sweep(index_id)

    def _sweep(self, index_id: int) -> None:
        graph_indexes.drop_graph(self._url, index_id)

        def some(tx: Tx) -> bool:
            return index_rows.sweep(tx, index_id, limits.INDEX_DISCARD_ROWS)

        while self._db.write_here(some, isolation="read committed"):
            pass


def prepare(db: "PostgresDatabase") -> None:
    """Makes the extension and the tables; SetupError says what is missing."""
    if db.read_here(_prepared):
        return
    try:
        db.write_here(_make)
    except psycopg.errors.InsufficientPrivilege as error:
        raise SetupError(
            "The search index in PostgreSQL needs the extension pgvector, which this database user may not create.",
            'Have a superuser run "create extension vector" in the database once, or unset DEEDBOX_INDEX.',
        ) from error


def _prepared(tx: Tx) -> bool:
    offered, installed = tables.extension_version(tx)
    if offered is None:
        raise SetupError(
            "The setting DEEDBOX_INDEX=postgres needs the extension pgvector, which the database server does not have.",
            "Install it there (Debian 13 and later: apt-get install postgresql-17-pgvector; docs/how-to/"
            "postgres-and-s3.md says more), or unset DEEDBOX_INDEX to keep indexes in the data folder.",
        )
    version = installed or offered
    if tuple(map(int, version.split(".")[:2])) < _LEAST:
        raise SetupError(
            f"The database has pgvector {version}; the search index needs 0.8 or newer.",
            'Install a newer one on the server and run "alter extension vector update", or unset DEEDBOX_INDEX.',
        )
    return installed is not None and tables.ready(tx)


def _make(tx: Tx) -> None:
    tables.make_extension(tx)
    tables.make_tables(tx)


def _follow(tx: Tx, logged: object) -> None:
    # Imported here: only processes that index need it.
    from deedbox.search.index.postgres.write import follow

    follow(tx, logged)  # type: ignore[arg-type]

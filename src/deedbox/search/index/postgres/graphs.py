"""Graphs of the vectors of large indexes (HNSW, by pgvector): made once, beside reads and writes, by one process."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import psycopg

from deedbox.kernel import log
from deedbox.kernel.db import Row
from deedbox.kernel.db.postgres import connect
from deedbox.kernel.errors import ServiceError
from deedbox.search.index.postgres.store import graphs as graph_indexes
from deedbox.search.index.postgres.store import indexes as index_rows

if TYPE_CHECKING:
    from deedbox.kernel.db.postgres import PostgresDatabase


class Graphs:
    """The graphs that this process makes. Until one is there, vectors are compared one by one: slower, and exact."""

    def __init__(self, db: "PostgresDatabase", url: str) -> None:
        self._db = db
        self._url = url
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="graph")
        self._wanted: set[int] = set()
        self._lock = threading.Lock()
        self._connection: psycopg.Connection[Row] | None = None
        self._closed = False

    def want(self, index_id: int, dimensions: int) -> None:
        """Has the graph made in the background; asked for again while it waits, nothing more is done."""
        with self._lock:
            if self._closed or index_id in self._wanted:
                return
            self._wanted.add(index_id)
            self._thread.submit(self._make, index_id, dimensions)

    def close(self) -> None:
        """Gives up what is being made: it begins again after the next start."""
        with self._lock:
            self._closed = True
            if self._connection is not None:
                self._connection.cancel()
        self._thread.shutdown(cancel_futures=True)

    def _make(self, index_id: int, dimensions: int) -> None:
        try:
            self._make_alone(index_id, dimensions)
        except (psycopg.Error, ServiceError) as error:
            if not self._closed:
                log.warning("the graph of an index cannot be made: its searches take longer", reason=str(error))
        finally:
            with self._lock:
                self._wanted.discard(index_id)

    def _make_alone(self, index_id: int, dimensions: int) -> None:
        with connect(self._url) as connection:
            with self._lock:
                if self._closed:
                    return
                self._connection = connection
            try:
                if graph_indexes.take_graph_lock(connection, index_id):
                    graph_indexes.make_graph(connection, index_id, dimensions)
                    self._db.write_here(lambda tx: index_rows.note_graph(tx, index_id))
            finally:
                with self._lock:
                    self._connection = None

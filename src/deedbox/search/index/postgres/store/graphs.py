"""The graphs of the indexes' vectors, made outside of transactions."""

from typing import TypeAlias

import psycopg

from deedbox.kernel import log
from deedbox.kernel.db import Row, postgres
from deedbox.search import limits

Connection: TypeAlias = psycopg.Connection[Row]

_GRAPH_LOCK = 0xDEED2
_ENOUGH_MEMORY = """
select set_config('maintenance_work_mem', greatest(setting::bigint, %s)::text, false)
from pg_settings where name = 'maintenance_work_mem'
"""


def take_graph_lock(connection: Connection, index_id: int) -> bool:
    """Whether this connection may make the graph: no other does, and it is still wanted."""
    connection.execute(f"set statement_timeout = '{limits.GRAPH_SECONDS}s'".encode())
    row = connection.execute("select pg_try_advisory_lock(%s, %s)", [_GRAPH_LOCK, index_id]).fetchone()
    wanted = "select 1 from search_indexes where id = %s and graph = 0 and gone = 0"
    return bool(row and row[0]) and connection.execute(wanted, [index_id]).fetchone() is not None


def make_graph(connection: Connection, index_id: int, dimensions: int) -> None:
    """Makes the graph beside reads and writes; one that was left unfinished goes first."""
    connection.execute(_ENOUGH_MEMORY, [limits.GRAPH_MEMORY_MB * 1024])
    connection.add_notice_handler(_warn_of_little_memory)
    connection.execute(_without_graph(index_id))
    # By the inner product: the vectors have length 1, and those without a length are in it too.
    connection.execute(
        f"create index concurrently search_index_graph_{index_id} on search_index_chunks using hnsw"
        f" ((cast(vector as halfvec({dimensions}))) halfvec_ip_ops)"
        f" with (m = {limits.GRAPH_NEIGHBOURS}, ef_construction = {limits.GRAPH_CANDIDATES})"
        f" where index_id = {index_id}".encode()
    )
    connection.execute("analyze search_index_chunks")


def _warn_of_little_memory(notice: psycopg.errors.Diagnostic) -> None:
    """pgvector tells when a graph outgrows the memory it is made in."""
    told = notice.message_primary or ""
    if "maintenance_work_mem" in told:
        log.warning("PostgreSQL has too little memory to make a graph: it takes much longer", reason=told)


def drop_graph(url: str, index_id: int) -> None:
    with postgres.connect(url) as connection:
        connection.execute(_without_graph(index_id))


def _without_graph(index_id: int) -> bytes:
    return f"drop index concurrently if exists search_index_graph_{index_id}".encode()

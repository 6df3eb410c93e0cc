"""Uploads, their chunks, and which chunks are near."""

from collections.abc import Collection, Iterable, Mapping

import msgspec

from deedbox.kernel.db import Tx, Value
from deedbox.search import limits
from deedbox.search.index.postgres.store.arrays import numbers, texts
from deedbox.search.index.postgres.store.indexes import IndexRow


class UploadRow(msgspec.Struct, frozen=True):
    upload_id: str
    begins: int
    """The ordinal of its first chunk; the others follow."""
    chunks: int
    words: int
    """The number of terms of all its chunks together."""
    said: bytes
    """The ids of its words, of 32 bits each."""


class ChunkRow(msgspec.Struct, frozen=True):
    ordinal: int
    upload_id: str
    number: int
    vector: bytes
    """As pgvector sends it."""


_CHUNK = "c.ordinal, c.upload_id, c.number, vector_send(c.vector)"


def uploads(tx: Tx, index: IndexRow, upload_ids: Collection[str]) -> list[UploadRow]:
    rows = tx.all_raw(
        "select upload_id, begins, chunks, words, said from search_index_uploads"
        f" where index_id = {index.id} and upload_id = any(cast(:ids as text[]))",
        ids=texts(upload_ids),
    )
    return [UploadRow(*row) for row in rows]


def ranges(tx: Tx, index: IndexRow, upload_ids: Collection[str]) -> list[tuple[int, int]]:
    """The first ordinal of each of these uploads, and how many chunks it has."""
    rows = tx.all(
        f"select begins, chunks from search_index_uploads where index_id = {index.id}"
        " and upload_id = any(cast(:ids as text[])) order by begins",
        ids=texts(upload_ids),
    )
    return [(row[0], row[1]) for row in rows]


def add_uploads(tx: Tx, index: IndexRow, rows: Iterable[UploadRow]) -> None:
    tx.many(
        "insert into search_index_uploads (index_id, upload_id, begins, chunks, words, said)"
        f" values ({index.id}, :upload_id, :begins, :chunks, :words, :said)",
        [msgspec.structs.asdict(row) for row in rows],
    )


def add_chunks(tx: Tx, index: IndexRow, rows: list[Mapping[str, Value]]) -> None:
    """Chunks by ordinal, upload, number and vector, which is written as text."""
    tx.many(
        "insert into search_index_chunks (index_id, ordinal, upload_id, number, vector)"
        f" values ({index.id}, :ordinal, :upload_id, :number, cast(:vector as vector))",
        rows,
    )


def remove_uploads(tx: Tx, index: IndexRow, rows: Collection[UploadRow]) -> None:
    tx.many(
        f"delete from search_index_chunks where index_id = {index.id} and ordinal >= :begin and ordinal < :end",
        [{"begin": row.begins, "end": row.begins + row.chunks} for row in rows],
    )
    tx.run(
        f"delete from search_index_uploads where index_id = {index.id} and upload_id = any(cast(:ids as text[]))",
        ids=texts([row.upload_id for row in rows]),
    )


def near(tx: Tx, index: IndexRow, asked: str, most: int, only: Collection[str] | None) -> list[ChunkRow]:
    """The nearest chunks by their inner product with a vector that is written as text; `only` of these uploads."""
    chosen = "search_index_chunks c where c.index_id = " + str(index.id)
    if only is not None:
        chosen = (
            "search_index_uploads u join search_index_chunks c on c.index_id = u.index_id and c.ordinal >= u.begins"
            f" and c.ordinal < u.begins + u.chunks where u.index_id = {index.id}"
            " and u.upload_id = any(cast(:only as text[]))"
        )
    # Vectors that are the same have the same product: of those, the first by upload and number are taken.
    best = (
        f"select c.ordinal from {chosen} order by c.vector <#> cast(:asked as vector),"
        ' c.upload_id collate "C", c.number limit :most'
    )
    return _chunks_of(tx, index, best, asked=asked, most=most, only=texts(only or ()))


def near_by_graph(tx: Tx, index: IndexRow, asked: str, most: int, only: Collection[str] | None) -> list[ChunkRow]:
    """The same, of very many: some that are nearer may be missed."""
    looked_at = min(limits.GRAPH_SEARCH_MAX, max(limits.GRAPH_SEARCH_MIN, most))
    tx.one(
        "select set_config('hnsw.ef_search', :looked_at, true),"
        " set_config('hnsw.iterative_scan', 'strict_order', true)",
        looked_at=str(looked_at),
    )
    half = f"halfvec({index.dimensions})"
    allowed = "" if only is None else " and c.upload_id = any(cast(:only as text[]))"
    rows = tx.all_raw(
        f"select {_CHUNK} from search_index_chunks c where c.index_id = {index.id}{allowed}"
        f" order by cast(c.vector as {half}) <#> cast(cast(:asked as vector) as {half}) limit :most",
        asked=asked,
        most=most,
        only=texts(only or ()),
    )
    return [ChunkRow(*row) for row in rows]


def chunks(tx: Tx, index: IndexRow, ordinals: Collection[int]) -> list[ChunkRow]:
    return _chunks_of(tx, index, "select unnest(cast(:ordinals as bigint[])) as ordinal", ordinals=numbers(ordinals))


def names(tx: Tx, index: IndexRow, ordinals: Collection[int], most: int) -> list[tuple[int, str, int]]:
    """Ordinal, upload and number of these chunks: the first by upload and number."""
    rows = tx.all(
        "select c.ordinal, c.upload_id, c.number from unnest(cast(:ordinals as bigint[])) as b(ordinal)"
        f" join search_index_chunks c on c.index_id = {index.id} and c.ordinal = b.ordinal"
        ' order by c.upload_id collate "C", c.number limit :most',
        ordinals=numbers(ordinals),
        most=most,
    )
    return [(row[0], row[1], row[2]) for row in rows]


def _chunks_of(tx: Tx, index: IndexRow, ordinals: str, /, **values: Value) -> list[ChunkRow]:
    rows = tx.all_raw(
        f"select {_CHUNK} from ({ordinals}) as b"
        f" join search_index_chunks c on c.index_id = {index.id} and c.ordinal = b.ordinal",
        **values,
    )
    return [ChunkRow(*row) for row in rows]

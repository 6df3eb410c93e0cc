"""The rows of the indexes: how far each goes, and how much it holds."""

import msgspec

from deedbox.kernel.db import Tx, Value
from deedbox.search.index import ANALYSIS, Place
from deedbox.search.index.postgres.store.arrays import numbers
from deedbox.search.index.postgres.store.tables import TABLES


class IndexRow(msgspec.Struct, frozen=True):
    id: int
    dimensions: int
    watermark: int
    chunks: int
    words: int
    """The number of terms of all chunks together."""
    next: int
    """The ordinal of the next chunk."""
    graph: int
    """1 once the graph of the vectors can be used."""


def empty(dimensions: int) -> IndexRow:
    """The row of an index that nothing was written into."""
    return IndexRow(0, dimensions, 0, 0, 0, 0, 0)


_ROW = "id, dimensions, watermark, chunks, words, next, graph"


def _stored(place: Place, analysis: int = ANALYSIS) -> str:
    """The recipe as it is kept: with how terms are made of text, so that two versions beside each other have an index
    each."""
    return place[1] if analysis == 1 else f"{place[1]} terms:{analysis}"


def find(tx: Tx, place: Place) -> IndexRow | None:
    row = tx.one(
        f"select {_ROW} from search_indexes where workspace_id = :workspace_id and recipe = :recipe and gone = 0",
        workspace_id=place[0],
        recipe=_stored(place),
    )
    return IndexRow(*row) if row else None


def add(tx: Tx, place: Place, dimensions: int) -> IndexRow:
    [row] = tx.all(
        "insert into search_indexes (workspace_id, recipe, dimensions) values (:workspace_id, :recipe, :dimensions)"
        f" returning {_ROW}",
        workspace_id=place[0],
        recipe=_stored(place),
        dimensions=dimensions,
    )
    return IndexRow(*row)


def move(tx: Tx, index: IndexRow, since: int, watermark: int) -> bool:
    """Whether the index goes as far as the watermark now: not if it was elsewhere than at `since`."""
    return bool(
        tx.run(
            "update search_indexes set watermark = :watermark where id = :id and watermark = :since and gone = 0",
            id=index.id,
            since=since,
            watermark=watermark,
        )
    )


def count(tx: Tx, index: IndexRow, chunks: int, words: int, following: int) -> None:
    """So many chunks and terms more, or fewer; the next ordinal is told."""
    tx.run(
        "update search_indexes set chunks = chunks + :chunks, words = words + :words, next = :following where id = :id",
        id=index.id,
        chunks=chunks,
        words=words,
        following=following,
    )


def note_graph(tx: Tx, index_id: int) -> None:
    tx.run("update search_indexes set graph = 1 where id = :id", id=index_id)


def abandon(tx: Tx, place: Place) -> None:
    """The index is none any more; what it holds goes by and by."""
    tx.run(
        "update search_indexes set gone = 1 where workspace_id = :workspace_id and recipe = :recipe and gone = 0",
        workspace_id=place[0],
        recipe=_stored(place),
    )


def abandon_older(tx: Tx, place: Place, mark: int) -> bool:
    """Whether there was an index of an older version that lacks something of the log, which goes up to this number: one
    that an older version still asks lacks nothing for long."""
    sql = (
        "update search_indexes set gone = 1 where workspace_id = :workspace_id and recipe = :recipe and gone = 0"
        " and watermark < :mark"
    )
    older = [_stored(place, analysis) for analysis in range(1, ANALYSIS)]
    return sum(tx.run(sql, workspace_id=place[0], recipe=recipe, mark=mark) for recipe in older) > 0


def list_abandoned(tx: Tx) -> list[int]:
    return [row[0] for row in tx.all("select id from search_indexes where gone = 1 order by id")]


def sweep(tx: Tx, index_id: int, most: int) -> bool:
    """Removes so many rows of an index that is none any more; whether there may be others."""
    for table in TABLES[1:]:
        some = f"select ctid from {table} where index_id = {index_id} limit :most"
        if tx.run(f"delete from {table} where ctid = any(array({some}))", most=most):
            return True
    tx.run("delete from search_indexes where id = :id", id=index_id)
    return False


def share_bytes(tx: Tx, column: str, value: Value) -> int:
    """The room of all tables and their indexes, by the part of the chunks that belong to these indexes."""
    row = tx.one(
        "select coalesce((select sum(chunks) from search_indexes where gone = 0 and " + column + " = :value)"
        " * (select sum(pg_total_relation_size(cast(name as regclass)))"
        " from unnest(cast(:tables as text[])) as t(name))"
        " / nullif((select sum(chunks) from search_indexes), 0), 0)",
        value=value,
        tables=numbers(TABLES),
    )
    return int(row[0]) if row else 0

"""The terms of each chunk, as numbers of 32 bits, each as often as it occurs."""

from collections.abc import Collection, Mapping

from deedbox.kernel.db import Row, Tx, Value
from deedbox.search.index.postgres.store.arrays import numbers
from deedbox.search.index.postgres.store.chunks import UploadRow
from deedbox.search.index.postgres.store.indexes import IndexRow


def add_terms(tx: Tx, index: IndexRow, rows: list[Mapping[str, Value]]) -> None:
    """The terms of chunks, by ordinal."""
    tx.many(f"insert into search_index_terms (index_id, ordinal, terms) values ({index.id}, :ordinal, :terms)", rows)


def terms(tx: Tx, index: IndexRow, ordinals: Collection[int]) -> list[Row]:
    """Ordinal and terms of these chunks."""
    return tx.all_raw(
        "select t.ordinal, t.terms from unnest(cast(:ordinals as bigint[])) as b(ordinal)"
        f" join search_index_terms t on t.index_id = {index.id} and t.ordinal = b.ordinal",
        ordinals=numbers(ordinals),
    )


def terms_of_uploads(tx: Tx, index: IndexRow, uploads: Collection[UploadRow]) -> list[Row]:
    """Ordinal and terms of all chunks of these uploads."""
    return terms(tx, index, [ordinal for row in uploads for ordinal in range(row.begins, row.begins + row.chunks)])


def remove_terms(tx: Tx, index: IndexRow, uploads: Collection[UploadRow]) -> None:
    tx.many(
        f"delete from search_index_terms where index_id = {index.id} and ordinal >= :begin and ordinal < :end",
        [{"begin": row.begins, "end": row.begins + row.chunks} for row in uploads],
    )

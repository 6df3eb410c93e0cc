"""The postings of terms, block by block."""

from collections.abc import Collection, Sequence

from deedbox.kernel.db import Row, Tx
from deedbox.search.index.postgres.store.arrays import numbers, quote
from deedbox.search.index.postgres.store.indexes import IndexRow


def postings(tx: Tx, index: IndexRow, terms: Collection[int]) -> list[Row]:
    """Term, block and postings of each of these terms."""
    return tx.all_raw(
        f"select term, block, postings from search_index_postings where index_id = {index.id}"
        " and term = any(cast(:terms as bigint[]))",
        terms=numbers(terms),
    )


def posting_bytes(tx: Tx, index: IndexRow, terms: Collection[int]) -> dict[int, int]:
    """How long all postings of each of these terms are; the postings themselves are not read."""
    rows = tx.all(
        f"select term, sum(octet_length(postings)) from search_index_postings where index_id = {index.id}"
        " and term = any(cast(:terms as bigint[])) group by term",
        terms=numbers(terms),
    )
    return {term: int(length) for term, length in rows}


def postings_at(tx: Tx, index: IndexRow, terms: Sequence[int], blocks: Sequence[int]) -> list[Row]:
    """Term, block and postings: each term in the block of the same place."""
    return tx.all_raw(
        "select p.term, p.block, p.postings from unnest(cast(:terms as bigint[]), cast(:blocks as bigint[]))"
        f" as k(term, block) join search_index_postings p on p.index_id = {index.id}"
        " and p.term = k.term and p.block = k.block",
        terms=numbers(terms),
        blocks=numbers(blocks),
    )


def append_postings(
    tx: Tx, index: IndexRow, terms: Sequence[int], blocks: Sequence[int], written: Sequence[str]
) -> None:
    """Adds postings, in hexadecimal, behind those that the term has in the block."""
    tx.run(
        "insert into search_index_postings (index_id, term, block, postings)"
        f" select {index.id}, n.term, n.block, decode(n.written, 'hex') from unnest(cast(:terms as bigint[]),"
        " cast(:blocks as bigint[]), cast(:written as text[])) as n(term, block, written)"
        " on conflict (index_id, term, block) do update"
        " set postings = search_index_postings.postings || excluded.postings",
        terms=numbers(terms),
        blocks=numbers(blocks),
        written=numbers(written),
    )


def replace_postings(
    tx: Tx, index: IndexRow, terms: Sequence[int], blocks: Sequence[int], written: Sequence[str]
) -> None:
    """Puts these postings, in hexadecimal, in place of those that were there; where none are left, the row goes."""
    named = (
        "from unnest(cast(:terms as bigint[]), cast(:blocks as bigint[]), cast(:written as text[]))"
        " as n(term, block, written)"
    )
    there = f"p.index_id = {index.id} and p.term = n.term and p.block = n.block"
    values = {"terms": numbers(terms), "blocks": numbers(blocks), "written": quote(written)}
    tx.run(
        "update search_index_postings p set postings = decode(n.written, 'hex') "
        + named
        + f" where {there} and n.written <> ''",
        **values,
    )
    tx.run(
        "delete from search_index_postings p using "
        + named.removeprefix("from ")
        + f" where {there} and n.written = ''",
        **values,
    )

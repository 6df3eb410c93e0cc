"""The words of the uploads as they are written, folded and not stemmed. Which uploads have one tell the postings of the
term with its id, below zero: each upload stands there with the ordinal of its first chunk."""

from collections.abc import Collection, Sequence

from deedbox.kernel.db import Tx
from deedbox.search.index.postgres.store.arrays import numbers, texts
from deedbox.search.index.postgres.store.indexes import IndexRow
from deedbox.search.index.spelling import letters


def add(tx: Tx, index: IndexRow, words: Sequence[str]) -> dict[str, int]:
    """The ids of these words, known or new."""
    # Only those that are not there: a conflict would use up an id each time.
    tx.run(
        f"insert into search_index_words (index_id, word, size, letters) select {index.id}, n.word, n.size, n.letters"
        " from unnest(cast(:words as text[]), cast(:sizes as bigint[]), cast(:letters as bigint[]))"
        " as n(word, size, letters) where not exists (select 1 from search_index_words w"
        f" where w.index_id = {index.id} and w.word = n.word)",
        words=texts(words),
        sizes=numbers(map(len, words)),
        letters=numbers(map(letters, words)),
    )
    rows = tx.all(
        f"select word, id from search_index_words where index_id = {index.id} and word = any(cast(:words as text[]))",
        words=texts(words),
    )
    return {row[0]: row[1] for row in rows}


def remove_unsaid(tx: Tx, index: IndexRow, ids: Collection[int]) -> None:
    """Removes those of the words that no upload has any more."""
    tx.run(
        f"delete from search_index_words w where w.index_id = {index.id} and w.id = any(cast(:ids as bigint[]))"
        " and not exists (select 1 from search_index_postings p where p.index_id = w.index_id and p.term = -w.id)",
        ids=numbers(ids),
    )


def find_by_prefix(tx: Tx, index: IndexRow, start: str) -> dict[str, int]:
    """The words that begin so, and their ids."""
    rows = tx.all(
        f"select word, id from search_index_words where index_id = {index.id} and word >= :start and word < :end",
        start=start,
        end=start + chr(0x10FFFF),
    )
    return {row[0]: row[1] for row in rows}


def perhaps_alike(tx: Tx, index: IndexRow, word: str, most: int) -> dict[str, int]:
    """Words, and their ids, among which are all that differ from this one in at most so many letters."""
    rows = tx.all(
        f"select word, id from search_index_words where index_id = {index.id} and size between :least and :most"
        " and bit_count(cast(letters # cast(:letters as bigint) as bit(64))) <= :bits",
        least=len(word) - most,
        most=len(word) + most,
        letters=letters(word),
        bits=2 * most,
    )
    return {row[0]: row[1] for row in rows}

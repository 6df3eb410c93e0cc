"""Frequent words in an index in PostgreSQL: most of their postings are never read, and the answer is the same."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from deedbox.kernel.db import Row, Tx
from deedbox.search import limits
from deedbox.search.index import Index, IndexChange
from deedbox.search.index.local import LocalIndex
from deedbox.search.index.postgres.store import postings as posting_rows
from deedbox.search.index.postgres.store.indexes import IndexRow
from deedbox.search.index.terms import number
from tests.search.index.model import DIMENSIONS, entry, vector
from tests.search.index.on_postgres import postgres_indexes

WORDS = ["the", "of", "lease", "tenant", "deposit", "seal", "annex", "garden", "roof", "meadow"]
"""Each in half as many chunks as the one before it."""
GERMAN = " die und der nicht für"
"""Makes a chunk one in German."""


def changes(random_: random.Random) -> list[IndexChange]:
    """Chunks of 2 to 60 words, some in uploads of several."""
    odds = [2.0**-rank for rank in range(len(WORDS))]
    return [
        IndexChange(
            f"upl_{upload:03d}",
            [
                entry(
                    at,
                    " ".join(random_.choices(WORDS, odds, k=random_.randint(2, 60))) + GERMAN * (5 * (upload % 4 == 1)),
                    vector(random_),
                )
                for at in range(1 + upload % 3)
            ],
        )
        for upload in range(200)
    ]


@pytest.fixture
def both(postgres_url: str, tmp_path: Path) -> Iterator[tuple[Index, Index]]:
    """The local index and the one in PostgreSQL, with the same chunks after the same changes."""
    local = LocalIndex(tmp_path / "index", DIMENSIONS, "recipe")
    with postgres_indexes(postgres_url) as indexes:
        other = indexes.open(("wsp", "recipe"), DIMENSIONS)
        for index in (local, other):
            random_ = random.Random(4)
            index.apply(changes(random_), 200)
            index.apply([IndexChange(f"upl_{upload:03d}", []) for upload in range(0, 200, 7)], 229)
        yield local, other
        other.close()
    local.close()


@pytest.mark.parametrize("cost", [0, 1, 1_000_000])
def test_both_indexes_score_frequent_and_rare_words_alike(
    both: tuple[Index, Index], cost: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Where the terms of a chunk cost nothing to read they are read as soon as that can do; where they cost much, never.
    monkeypatch.setattr(limits, "TERMS_ROW_POSTINGS", cost)
    monkeypatch.setattr(limits, "POSTINGS_AT_ONCE", 1)
    (local, other), random_ = both, random.Random(5)
    for _ in range(40):
        query = " ".join(random_.choices(WORDS, k=random_.randint(1, 8)))
        only = random_.choice([None, [f"upl_{upload:03d}" for upload in range(0, 200, random_.randint(1, 20))]])
        top = random_.choice([1, 5, 30, 1000])
        assert other.words(query, top, only) == local.words(query, top, only)


def test_postings_of_a_word_that_nearly_all_have_are_not_read_if_few_chunks_can_be_the_best(
    both: tuple[Index, Index], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "TERMS_ROW_POSTINGS", 1)
    monkeypatch.setattr(limits, "POSTINGS_AT_ONCE", 1)
    postings, read = posting_rows.postings, list[int]()

    def noted(tx: Tx, index: IndexRow, terms: list[int]) -> list[Row]:
        read.extend(terms)
        return postings(tx, index, terms)

    monkeypatch.setattr(posting_rows, "postings", noted)
    local, other = both
    assert other.words("the meadow of the lease", 3) == local.words("the meadow of the lease", 3)
    assert number("meadow") in read
    assert number("the") not in read

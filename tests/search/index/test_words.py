"""BM25 by words: rarer words weigh more, and no query needs a syntax."""

import math
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from deedbox.kernel.errors import Unavailable
from deedbox.search import limits
from deedbox.search.index.analysis import of_text, query_terms
from deedbox.search.index.terms import Counts, Numbers, number
from deedbox.search.index.word_search import Match, WordSearch
from deedbox.search.index.words import WordIndex


class Words:
    """A word index, and the texts that can be found in it."""

    def __init__(self, folder: Path) -> None:
        self.index = WordIndex(folder)
        self.texts: dict[tuple[int, int], list[str]] = {}

    def add(self, upload: int, number: int, text: str) -> None:
        self.texts[upload, number] = of_text(text)
        self.index.add(upload, number, self.texts[upload, number])

    def drop(self, upload: int) -> None:
        self.index.drop(upload)
        self.texts = {place: said for place, said in self.texts.items() if place[0] != upload}

    def search(self, uploads: int = 10) -> WordSearch:
        return WordSearch(self.index.searcher(), Said(dict(self.texts)), uploads)


class Said:
    def __init__(self, texts: dict[tuple[int, int], list[str]]) -> None:
        self._texts = texts

    def __len__(self) -> int:
        return len(self._texts)

    @property
    def words(self) -> int:
        return sum(map(len, self._texts.values()))

    def said(self, uploads: Numbers, numbers: Numbers, wanted: Numbers) -> tuple[Counts, Numbers]:
        texts = [self._texts[place] for place in zip(uploads.tolist(), numbers.tolist(), strict=True)]
        counts = [[sum(number(term) == each for term in text) for each in wanted.tolist()] for text in texts]
        return np.array(counts, np.int64), np.array([len(text) for text in texts], np.uint32)


@pytest.fixture
def words(tmp_path: Path) -> Iterator[Words]:
    opened = Words(tmp_path / "words")
    yield opened
    opened.index.close()


def fill(words: Words, *texts: str) -> None:
    for number_, text in enumerate(texts):
        words.add(number_, 0, text)
    words.index.commit()


def best(words: Words, query: str, top: int = 10, only: set[int] | None = None, uploads: int = 10) -> list[Match]:
    return words.search(uploads).best(query, top, only)


def found(words: Words, query: str, top: int = 10) -> list[int]:
    return [upload for _, upload, _ in best(words, query, top)]


def test_a_rare_word_weighs_more_than_a_frequent_one(words: Words) -> None:
    fill(words, "lease lease", "lease seal", "lease annex", "notary annex", "lease tenant")
    assert found(words, "lease notary")[0] == 3


def test_a_short_chunk_with_the_word_beats_a_long_one(words: Words) -> None:
    fill(words, "seal " + "filler " * 60, "seal here", "nothing")
    assert found(words, "seal") == [1, 0]


def test_a_chunk_with_more_of_the_words_comes_first(words: Words) -> None:
    fill(words, "deposit of the tenant", "deposit of the owner", "the keys")
    assert found(words, "tenant deposit") == [0, 1]


def test_a_word_that_is_said_twice_counts_twice(words: Words) -> None:
    fill(words, "deposit", "garden", "deposit", "garden", "keys")
    once, twice = best(words, "deposit garden"), best(words, "garden deposit, the whole deposit")
    assert len({score for score, _, _ in once}) == 1
    assert {upload for _, upload, _ in twice[:2]} == {0, 2}
    assert twice[0][0] == pytest.approx(2 * twice[2][0], abs=1e-3)


def test_a_word_that_is_said_without_end_counts_no_more_than_the_bound(words: Words) -> None:
    fill(words, "deposit", "garden")
    once, often = best(words, "deposit"), best(words, "deposit " * 500)
    assert often[0][0] == pytest.approx(limits.QUERY_TERM_COUNT * once[0][0], abs=1e-2)


def test_a_stop_word_of_the_querys_language_counts_half(words: Words) -> None:
    fill(words, "die", "miete", "garden")
    assert [upload for _, upload, _ in best(words, "die Miete für das Haus")] == [1, 0]
    german = {upload: score for score, upload, _ in best(words, "die Miete für das Haus")}
    english = {upload: score for score, upload, _ in best(words, "die miete")}
    assert german[0] == pytest.approx(english[0] / 2, abs=1e-3)
    assert german[1] == english[1]


def test_operators_of_query_languages_are_plain_words(words: Words) -> None:
    fill(words, "lease and not seal", "body of the text")
    assert sorted(found(words, "NOT body:lease")) == [0, 1]
    assert found(words, '"text lease"~2^9 -body')


def test_a_page_as_query_is_cut_to_its_rarest_terms(words: Words, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "QUERY_TERMS", 2)
    fill(words, "lease rarity", "lease seal", "lease seal", "lease oddity")
    assert sorted(found(words, "unheard of lease seal rarity oddity")) == [0, 3]


def test_an_upload_that_was_dropped_is_not_in_the_next_searcher(words: Words) -> None:
    fill(words, "lease", "lease")
    before = words.search()
    words.drop(0)
    words.index.commit()
    assert found(words, "lease") == [1]
    assert len(before.best("lease", 10)) == 2


def test_dropping_takes_what_was_added_before_it_and_nothing_after(words: Words) -> None:
    words.add(7, 0, "lease")
    words.drop(7)
    words.add(7, 1, "lease")
    words.index.commit()
    assert [(upload, number) for _, upload, number in best(words, "lease")] == [(7, 1)]


def test_what_is_not_committed_is_forgotten_on_reopening(words: Words) -> None:
    fill(words, "lease")
    words.index.add(1, 0, ["leas"])
    words.index.drop(0)
    words.index.reopen()
    words.index.commit()
    assert found(words, "lease") == [0]


def test_uploads_from_an_ordinal_on_can_be_forgotten(words: Words) -> None:
    fill(words, "lease", "lease", "lease", "lease")
    words.index.forget_from(2)
    assert sorted(found(words, "lease")) == [0, 1]
    opstamp = words.index.opstamp
    words.index.forget_from(2)
    assert words.index.opstamp == opstamp


def test_the_stamp_grows_with_commits_and_is_kept(tmp_path: Path) -> None:
    words = WordIndex(tmp_path / "words")
    assert words.opstamp == 0
    words.add(0, 0, ["leas"])
    words.commit()
    opstamp = words.opstamp
    assert opstamp > 0
    words.close()
    again = WordIndex(tmp_path / "words")
    assert again.opstamp == opstamp
    again.close()


def test_no_second_writer_opens_the_same_words(words: Words, tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="open in another process"):
        WordIndex(tmp_path / "words")


@pytest.mark.parametrize("filter_uploads", [0, limits.FILTER_UPLOADS])
def test_both_ways_of_filtering_find_the_best_of_the_allowed(
    words: Words, filter_uploads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "FILTER_UPLOADS", filter_uploads)
    monkeypatch.setattr(limits, "TIED_HITS", 1)
    fill(words, *("seal " * (1 + number % 5) + "filler " * (number % 7) for number in range(300)))
    everything = best(words, "seal", 300, uploads=300)
    for step in (3, 50, 299):
        allowed = set(range(0, 300, step))
        expected = [match for match in everything if match[1] in allowed]
        answer = best(words, "seal", 4, allowed, 300)
        assert [score for score, _, _ in answer[:4]] == [score for score, _, _ in expected[:4]]
        # All that tie with the last one asked for are there, so that the caller can choose among them.
        assert set(answer) >= {match for match in expected if match[0] >= expected[:4][-1][0]}


def test_scores_of_the_same_text_are_the_same(words: Words) -> None:
    fill(words, *["the seal of the tenant under the lease"] * 200)
    assert len({score for score, _, _ in best(words, "lease seal tenant", 200)}) == 1


def bm25(texts: dict[tuple[int, int], list[str]], query: str) -> dict[tuple[int, int], float]:
    """The scores by the book, of the chunks that have any of the words."""
    average = sum(map(len, texts.values())) / len(texts)
    scores: dict[tuple[int, int], float] = {}
    for (term,), said, _ in query_terms(query):
        having = sum(term in text for text in texts.values())
        weight = said * 2.2 * math.log(1 + (len(texts) - having + 0.5) / (having + 0.5))
        for place, text in texts.items():
            if count := text.count(term):
                damped = count / (count + 1.2 * (0.25 + 0.75 * len(text) / average))
                scores[place] = scores.get(place, 0) + weight * damped
    return scores


@pytest.mark.parametrize("seed", range(4))
def test_scores_are_those_of_the_chunks_that_are_there_whatever_there_was_before(words: Words, seed: int) -> None:
    """Long chunks come and go: tantivy goes on counting them, and by its own scores other chunks would be the best."""
    chance = random.Random(seed)
    vocabulary = ["the", "of", *(f"word{at}x" for at in range(28))]

    def text(most: int) -> str:
        return " ".join(chance.choices(vocabulary, range(30, 0, -1), k=chance.randint(1, most)))

    for upload in range(200):
        words.add(upload, 0, text(35))
    for upload in range(200, 320):
        words.add(upload, 0, text(900) + " word3x" * 50)
    words.index.commit()
    for upload in range(200, 320):
        words.drop(upload)
    words.index.commit()
    for _ in range(20):
        query = " ".join(chance.choices(vocabulary, k=chance.randint(1, 6)))
        exact = bm25(words.texts, query)
        for top in (1, 10, 50):
            found = words.search().best(query, top)
            expected = sorted((round(score, 4) for score in exact.values()), reverse=True)
            assert len(found) >= min(top, len(exact))
            assert [score for score, _, _ in found] == pytest.approx(expected[: len(found)], abs=1.01e-4)
            for score, upload, number_ in found:
                assert score == pytest.approx(exact[upload, number_], abs=1e-4)

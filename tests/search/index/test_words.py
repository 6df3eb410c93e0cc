"""BM25 by words: rarer words weigh more, and no query needs a syntax."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from deedbox.kernel import limits
from deedbox.search.index import IndexInUse
from deedbox.search.index.words import Match, WordIndex


@pytest.fixture
def words(tmp_path: Path) -> Iterator[WordIndex]:
    opened = WordIndex(tmp_path / "words")
    yield opened
    opened.close()


def fill(words: WordIndex, *texts: str) -> None:
    for number, text in enumerate(texts):
        words.add(number, 0, text)
    words.commit()


def best(words: WordIndex, query: str, top: int = 10, only: set[int] | None = None, uploads: int = 10) -> list[Match]:
    return words.best(words.searcher(), query, top, only, uploads)


def found(words: WordIndex, query: str, top: int = 10) -> list[int]:
    return [upload for _, upload, _ in best(words, query, top)]


def test_a_rare_word_weighs_more_than_a_frequent_one(words: WordIndex) -> None:
    fill(words, "lease lease", "lease seal", "lease annex", "notary annex", "lease tenant")
    assert found(words, "lease notary")[0] == 3


def test_a_short_chunk_with_the_word_beats_a_long_one(words: WordIndex) -> None:
    fill(words, "seal " + "filler " * 60, "seal here", "nothing")
    assert found(words, "seal") == [1, 0]


def test_a_chunk_with_more_of_the_words_comes_first(words: WordIndex) -> None:
    fill(words, "deposit of the tenant", "deposit of the owner", "the keys")
    assert found(words, "tenant deposit") == [0, 1]


def test_operators_of_query_languages_are_plain_words(words: WordIndex) -> None:
    fill(words, "lease and not seal", "body of the text")
    assert sorted(found(words, "NOT body:lease")) == [0, 1]
    assert found(words, '"text lease"~2^9 -body')


def test_a_page_as_query_is_cut_to_its_rarest_terms(words: WordIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "QUERY_TERMS", 2)
    fill(words, "lease rarity", "lease seal", "lease seal", "lease oddity")
    assert sorted(found(words, "unheard of lease seal rarity oddity")) == [0, 3]


def test_an_upload_that_was_dropped_is_not_in_the_next_searcher(words: WordIndex) -> None:
    fill(words, "lease", "lease")
    before = words.searcher()
    words.drop(0)
    words.commit()
    assert found(words, "lease") == [1]
    assert len(words.best(before, "lease", 10, None, 2)) == 2


def test_dropping_takes_what_was_added_before_it_and_nothing_after(words: WordIndex) -> None:
    words.add(7, 0, "lease")
    words.drop(7)
    words.add(7, 1, "lease")
    words.commit()
    assert [(upload, number) for _, upload, number in best(words, "lease")] == [(7, 1)]


def test_what_is_not_committed_is_forgotten_on_reopening(words: WordIndex) -> None:
    fill(words, "lease")
    words.add(1, 0, "lease")
    words.drop(0)
    words.reopen()
    words.commit()
    assert found(words, "lease") == [0]


def test_uploads_from_an_ordinal_on_can_be_forgotten(words: WordIndex) -> None:
    fill(words, "lease", "lease", "lease", "lease")
    words.forget_from(2)
    assert sorted(found(words, "lease")) == [0, 1]
    opstamp = words.opstamp
    words.forget_from(2)
    assert words.opstamp == opstamp


def test_the_stamp_grows_with_commits_and_is_kept(tmp_path: Path) -> None:
    words = WordIndex(tmp_path / "words")
    assert words.opstamp == 0
    fill(words, "lease")
    opstamp = words.opstamp
    assert opstamp > 0
    words.close()
    again = WordIndex(tmp_path / "words")
    assert again.opstamp == opstamp
    again.close()


def test_no_second_writer_opens_the_same_words(words: WordIndex, tmp_path: Path) -> None:
    with pytest.raises(IndexInUse):
        WordIndex(tmp_path / "words")


@pytest.mark.parametrize("filter_uploads", [0, limits.FILTER_UPLOADS])
def test_both_ways_of_filtering_find_the_best_of_the_allowed(
    words: WordIndex, filter_uploads: int, monkeypatch: pytest.MonkeyPatch
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


def test_scores_of_the_same_text_are_the_same(words: WordIndex) -> None:
    fill(words, *["the seal of the tenant under the lease"] * 200)
    assert len({score for score, _, _ in best(words, "lease seal tenant", 200)}) == 1

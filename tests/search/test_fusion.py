"""Two rankings become one, the same one every time."""

import math
import random
from collections.abc import Mapping

import pytest

from deedbox.search import limits
from deedbox.search.index import Candidate, Hit
from deedbox.search.query.fusion import DENSE_WEIGHT, WORDS_WEIGHT, fuse


def candidates(scores: Mapping[str, tuple[float, float | None]]) -> list[Candidate]:
    return [Candidate(name, 0, cosine, bm25) for name, (cosine, bm25) in scores.items()]


def order(found: list[Hit]) -> list[str]:
    return [hit.upload_id for hit in found]


def scores(found: list[Hit]) -> dict[str, float]:
    return {hit.upload_id: hit.score for hit in found}


def test_nothing_gives_nothing() -> None:
    assert fuse([]) == []


def test_weights_add_up_to_one() -> None:
    assert math.isclose(DENSE_WEIGHT + WORDS_WEIGHT, 1)


def test_without_words_the_cosine_decides() -> None:
    assert order(fuse(candidates({"a": (0.2, None), "b": (0.9, None), "c": (0.5, None)}))) == ["b", "c", "a"]


def test_of_the_same_cosine_the_words_decide() -> None:
    assert order(fuse(candidates({"a": (0.5, 0.2), "b": (0.5, 9.0), "c": (0.5, 3.0)}))) == ["b", "c", "a"]


def test_what_both_legs_like_beats_what_one_likes() -> None:
    legs = {"near": (0.81, None), "both": (0.8, 9.0), "said": (0.1, 9.1), "less": (0.1, 1.0)}
    assert order(fuse(candidates(legs)))[0] == "both"


def test_a_score_is_the_weighted_sum_of_two_z_scores() -> None:
    found = scores(fuse(candidates({"a": (0.9, 1.0), "b": (0.5, 3.0), "c": (0.1, 5.0)})))
    spread = math.sqrt(1.5)  # of the mean, one and minus one
    assert found == pytest.approx({"a": (0.55 - 0.45) * spread, "b": 0, "c": (0.45 - 0.55) * spread})


def test_the_scale_of_a_leg_does_not_matter() -> None:
    legs = {"a": (0.9, 1.0), "b": (0.5, 2.0), "c": (0.1, 3.0)}
    small = fuse(candidates(legs))
    large = fuse(candidates({name: (cosine, bm25 * 1000) for name, (cosine, bm25) in legs.items()}))
    assert order(small) == order(large)
    assert scores(small) == pytest.approx(scores(large))


def test_a_chunk_missing_from_a_full_list_counts_as_half_of_its_least() -> None:
    found = scores(fuse(candidates({"a": (0.5, 8.0), "b": (0.5, 4.0), "c": (0.5, None), "d": (0.5, 2.0)}), asked=3))
    assert found["a"] - found["b"] == pytest.approx(4 * (found["d"] - found["c"]))


def test_a_chunk_missing_from_a_list_that_is_not_full_has_none_of_the_words() -> None:
    found = scores(fuse(candidates({"a": (0.5, 8.0), "b": (0.5, 4.0), "c": (0.5, None), "d": (0.5, 2.0)}), asked=4))
    assert found["a"] - found["b"] == pytest.approx(2 * (found["d"] - found["c"]))


def test_the_only_chunk_with_the_words_comes_first() -> None:
    """An invoice number stands in one place: a list with a single hit says a lot."""
    near = {f"near{number:02}": (0.6 - number / 200, None) for number in range(60)}
    assert order(fuse(candidates({**near, "named": (0.25, 7.5)})))[0] == "named"


def test_a_leg_whose_scores_are_all_the_same_decides_nothing() -> None:
    assert order(fuse(candidates({"a": (0.3, 4.0), "b": (0.9, 4.0), "c": (0.6, 4.0)}))) == ["b", "c", "a"]
    # They differ by rounding alone.
    assert order(fuse(candidates({"a": (0.3, None), "b": (0.1 + 0.2, None)}))) == ["a", "b"]


def test_a_single_hit_is_found() -> None:
    assert fuse(candidates({"a": (0.7, None)})) == [Hit("a", 0, 0.0, 0.7)]
    assert fuse(candidates({"a": (0.7, 3.0)})) == [Hit("a", 0, 0.0, 0.7)]


def test_a_full_list_of_one_is_no_error() -> None:
    assert order(fuse(candidates({"a": (0.7, 3.0), "b": (0.7, None)}), asked=1)) == ["a", "b"]


def test_chunks_of_one_upload_are_told_apart() -> None:
    found = fuse([Candidate("a", 0, 0.9, None), Candidate("a", 1, 0.1, None), Candidate("a", 2, 0.2, 1.0)])
    assert sorted(hit.number for hit in found) == [0, 1, 2]


def test_ties_stand_in_the_order_of_upload_and_chunk() -> None:
    tied = [("b", 2), ("b", 10), ("a", 3)]
    found = fuse([Candidate(*place, 0.5, None) for place in tied] + [Candidate("c", 0, 0.9, None)])
    assert [(hit.upload_id, hit.number) for hit in found] == [("c", 0), ("a", 3), ("b", 2), ("b", 10)]


def test_the_order_in_which_the_candidates_came_changes_no_bit() -> None:
    chance = random.Random(5)
    legs = [
        Candidate(f"d{number}", number % 3, chance.random(), chance.choice([None, chance.random() * 20]))
        for number in range(2 * limits.LEG_CANDIDATES)
    ]
    expected = fuse(legs)
    for _ in range(20):
        chance.shuffle(legs)
        assert fuse(legs) == expected


def test_scores_of_two_candidates_are_one_and_minus_one() -> None:
    draw = random.Random(4)
    for _ in range(500):
        first, second = sorted((draw.random() * 30, draw.random() * 30))
        found = fuse(candidates({"a": (draw.uniform(-1, 0), first), "b": (draw.uniform(0.1, 1), second)}))
        assert [hit.score for hit in found] == [1.0, -1.0]

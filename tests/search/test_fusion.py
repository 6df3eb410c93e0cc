"""Two rankings become one, the same one every time."""

import math
import random

import pytest

from deedbox.kernel import limits
from deedbox.search.fusion import DENSE_WEIGHT, WORDS_WEIGHT, fused, ranked
from deedbox.search.index import Hit


def hits(scores: dict[str, float]) -> list[Hit]:
    return [Hit(name, 0, score) for name, score in scores.items()]


def order(found: list[Hit]) -> list[str]:
    return [hit.upload_id for hit in found]


def full(best: str, other: str) -> list[Hit]:
    """A list as long as a leg gets, with these two on top."""
    names = [best, other, *(f"filler{number:03}" for number in range(limits.LEG_CANDIDATES - 2))]
    return [Hit(name, 0, 100.0 - place) for place, name in enumerate(names)]


def test_nothing_gives_nothing() -> None:
    assert fused([], []) == []


def test_weights_add_up_to_one() -> None:
    assert math.isclose(DENSE_WEIGHT + WORDS_WEIGHT, 1)


def test_one_leg_alone_keeps_its_order() -> None:
    leg = hits({"a": 0.2, "b": 0.9, "c": 0.5})
    assert order(fused(leg, [])) == ["b", "c", "a"]
    assert order(fused([], leg)) == ["b", "c", "a"]


def test_what_both_legs_like_beats_what_one_likes() -> None:
    dense = hits({"both": 0.8, "near": 0.81, "far": 0.1})
    words = hits({"both": 9.0, "said": 9.1, "less": 1.0})
    assert order(fused(dense, words))[0] == "both"


def test_the_scale_of_a_leg_does_not_matter() -> None:
    dense, words = {"a": 0.9, "b": 0.5, "c": 0.1}, {"c": 3.0, "b": 2.0, "a": 1.0}
    small = fused(hits(dense), hits(words))
    large = fused(hits(dense), hits({name: score * 1000 for name, score in words.items()}))
    assert order(small) == order(large)
    assert [hit.score for hit in small] == pytest.approx([hit.score for hit in large])


def test_a_chunk_missing_from_a_full_list_gets_that_lists_minimum() -> None:
    words = full("a", "b")
    last = words[-1].upload_id
    found = {hit.upload_id: hit.score for hit in fused(hits({"unsaid": 0.5, last: 0.5}), words)}
    assert found["unsaid"] == pytest.approx(found[last])


def test_a_chunk_missing_from_the_near_ones_gets_their_minimum() -> None:
    found = {hit.upload_id: hit.score for hit in fused(hits({"a": 0.9, "b": 0.1}), hits({"b": 5.0, "c": 5.0}))}
    assert found["b"] == pytest.approx(found["c"])


def test_the_only_chunk_with_the_words_comes_first() -> None:
    """An invoice number stands in one place: a list with a single hit says a lot."""
    dense = [Hit(f"near{number:02}", 0, 0.6 - number / 200) for number in range(60)] + [Hit("named", 0, 0.25)]
    assert order(fused(dense, hits({"named": 7.5})))[0] == "named"


def test_a_leg_whose_scores_are_all_the_same_decides_nothing() -> None:
    dense = hits({"a": 0.3, "b": 0.9, "c": 0.6})
    assert order(fused(dense, hits({"a": 4.0, "b": 4.0, "c": 4.0}))) == ["b", "c", "a"]
    assert order(fused(hits({"a": 0.1 + 0.2, "b": 0.3}), [])) == ["a", "b"]


def test_a_single_hit_is_found() -> None:
    assert fused(hits({"a": 0.7}), []) == [Hit("a", 0, 0.0)]
    assert fused(hits({"a": 0.7}), hits({"a": 3.0})) == [Hit("a", 0, 0.0)]


def test_no_chunk_comes_twice_and_none_is_lost() -> None:
    dense, words = hits({"a": 0.5, "b": 0.4}), hits({"b": 2.0, "c": 1.0})
    assert sorted(order(fused(dense, words))) == ["a", "b", "c"]


def test_chunks_of_one_upload_are_told_apart() -> None:
    found = fused([Hit("a", 0, 0.9), Hit("a", 1, 0.1)], [Hit("a", 2, 1.0)])
    assert sorted(hit.number for hit in found) == [0, 1, 2]


def test_ties_stand_in_the_order_of_upload_and_chunk() -> None:
    tied = [Hit("b", 2, 1.0), Hit("b", 10, 1.0), Hit("a", 3, 1.0), Hit("c", 0, 2.0)]
    assert [(hit.upload_id, hit.number) for hit in ranked(tied)] == [("c", 0), ("a", 3), ("b", 2), ("b", 10)]


def test_the_order_in_which_the_legs_came_changes_no_bit() -> None:
    chance = random.Random(5)
    dense = [Hit(f"d{number}", number % 3, chance.random()) for number in range(100)]
    words = [Hit(f"d{chance.randrange(200)}", number % 3, chance.random() * 20) for number in range(100)]
    words = list({(hit.upload_id, hit.number): hit for hit in words}.values())
    expected = fused(dense, words)
    for _ in range(20):
        chance.shuffle(dense)
        chance.shuffle(words)
        assert fused(dense, words) == expected

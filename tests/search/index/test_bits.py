"""Bits find candidates, floats rank them: almost as an exact search, and in any case exactly what was scored."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from deedbox.search import limits
from deedbox.search.index import IndexUnusable, bits, terms
from deedbox.search.index.analysis import of_text
from deedbox.search.index.bits import Vectors, code_bytes, distances, empty, pack, unit
from deedbox.search.index.terms import ChunkTerms

DIMENSIONS = 384
Floats = NDArray[np.float32]


def clustered(count: int, seed: int) -> Floats:
    """Vectors around 50 centres that share a direction, as embeddings do."""
    random = np.random.default_rng(7)
    centres = random.standard_normal((50, DIMENSIONS)) + 2 * random.standard_normal(DIMENSIONS)
    random = np.random.default_rng(seed)
    return unit(centres[random.integers(0, 50, count)] + 0.8 * random.standard_normal((count, DIMENSIONS)))


def vectors(rows: Floats, per_upload: int = 4) -> Vectors:
    order = np.arange(len(rows), dtype=np.uint32)
    return Vectors(pack(rows), order // per_upload, order % per_upload, order, rows, wordless(len(rows)))


def wordless(count: int) -> ChunkTerms:
    return ChunkTerms(np.zeros(count, np.int64), np.zeros(count, np.uint32), np.zeros(0, np.uint32))


def recall(index: Vectors, rows: Floats, queries: Floats, only: NDArray[np.uint32] | None = None) -> float:
    """The share of the exact ten best that are found."""
    hits = wanted = 0
    allowed = np.arange(len(rows)) if only is None else np.flatnonzero(np.isin(index.uploads, only))
    for query in queries:
        exact = allowed[np.argsort(-(rows[allowed] @ query), kind="stable")[:10]]
        found = index.near(query, 10, only)
        hits += len(set(exact.tolist()) & set((found.uploads * 4 + found.numbers).tolist()))
        wanted += len(exact)
    return hits / wanted


def test_ten_best_are_those_of_an_exact_search() -> None:
    rows = clustered(20_000, 1)
    assert recall(vectors(rows), rows, clustered(40, 2)) >= 0.99


def test_ten_best_of_some_uploads_are_those_of_an_exact_search_among_them() -> None:
    rows = clustered(20_000, 1)
    for count in (1, 20, 400, 3000):
        only = np.random.default_rng(count).choice(5000, count, replace=False).astype(np.uint32)
        assert recall(vectors(rows), rows, clustered(10, 3), only) >= 0.99


def test_bits_of_all_the_code_find_more_than_one_for_each_component(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CANDIDATES_MIN", 100)
    monkeypatch.setattr(limits, "CANDIDATES_PER_HIT", 1)
    rows, queries = clustered(20_000, 1), clustered(40, 2)
    found = recall(vectors(rows), rows, queries)
    monkeypatch.setattr(bits, "pack", lambda rows: np.packbits(np.pad(rows > 0, ((0, 0), (0, 128))), axis=1))
    plain = dataclasses.replace(vectors(rows), codes=bits.pack(rows))
    assert found > recall(plain, rows, queries)


def test_scores_are_cosines() -> None:
    rows = clustered(3_000, 4)
    query = clustered(1, 5)[0] * 3
    found = vectors(rows).near(query, 20)
    exact = rows[found.uploads * 4 + found.numbers].astype(float) @ query / np.linalg.norm(query)
    np.testing.assert_allclose(found.scores, exact, atol=1e-6)


def test_a_score_does_not_depend_on_what_else_is_scored() -> None:
    rows = clustered(9_000, 6)
    query = clustered(1, 7)[0]
    everywhere = vectors(rows).near(query, 9_000)
    scores = dict(zip(zip(everywhere.uploads, everywhere.numbers, strict=True), everywhere.scores, strict=True))
    few = vectors(rows).near(query, 5, np.array([3, 700, 2000], np.uint32))
    assert len(few.scores) >= 5
    for score, *place in zip(few.scores, few.uploads, few.numbers, strict=True):
        assert scores[tuple(place)] == score


def test_cosines_of_chosen_chunks_are_those_that_a_search_finds() -> None:
    rows = clustered(3_000, 4)
    index, query = vectors(rows), clustered(1, 5)[0]
    found = index.near(query, 50)
    assert index.cosines(query, found.uploads, found.numbers).tolist() == found.scores.tolist()


def test_no_chunks_have_no_cosines() -> None:
    none = np.zeros(0, np.uint32)
    assert vectors(clustered(10, 1)).cosines(clustered(1, 2)[0], none, none).shape == (0,)


@pytest.mark.parametrize("place", [(0, 4), (2, 2), (3, 0), (9, 9)])
def test_a_chunk_without_a_vector_makes_the_index_unusable(place: tuple[int, int]) -> None:
    index = vectors(clustered(10, 1))  # the last of its three uploads has two chunks
    uploads, numbers = np.array([[1, place[0]], [3, place[1]]], np.uint32)
    with pytest.raises(IndexUnusable):
        index.cosines(clustered(1, 2)[0], uploads, numbers)


def test_all_that_tie_with_the_last_are_found() -> None:
    rows = np.repeat(clustered(3, 8), 2_000, axis=0)
    found = vectors(rows).near(rows[0], 10)
    assert set(found.uploads.tolist()) == set(range(500))
    assert len(found.scores) == 2_000


@given(st.integers(1, 40), st.integers(0, 2**32))
def test_distances_count_the_bits_that_differ(count: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    codes = random.integers(0, 256, (count + 1, code_bytes(int(random.integers(1, 300)))), np.uint8)
    expected = np.unpackbits(codes[1:] ^ codes[0], axis=1).sum(axis=1)
    assert distances(codes[1:], codes[:1]).tolist() == expected.tolist()


@pytest.mark.parametrize("dimensions", [1, 3, 64, 65, 384, 500, 768, 1000])
def test_bits_are_the_signs_along_directions_at_right_angles(dimensions: int) -> None:
    rows = np.random.default_rng(dimensions).standard_normal((200, dimensions)).astype(np.float32)
    codes = pack(rows)
    assert codes.shape == (200, code_bytes(dimensions))
    np.testing.assert_array_equal(pack(-rows), ~codes)
    np.testing.assert_array_equal(pack(rows * 3), codes)
    # A row is near itself, and two that have nothing in common differ in about half of their bits.
    if dimensions >= 64:
        away = np.array([distances(codes, codes[at : at + 1]) for at in range(20)]) / (8 * code_bytes(dimensions))
        assert np.diag(away).tolist() == [0] * 20
        assert abs(away[~np.eye(20, 200, dtype=bool)].mean() - 0.5) < 0.05


def test_bits_and_scores_do_not_depend_on_the_rows_beside() -> None:
    rows = unit(clustered(100, 12))
    alone = [pack(rows[at : at + 1])[0].tolist() for at in range(100)]
    assert pack(rows).tolist() == alone
    assert unit(rows * 7)[5].tolist() == unit(rows[5:6] * 7)[0].tolist()


def test_a_score_is_the_same_in_whatever_order_the_components_are_added() -> None:
    rows, query = clustered(500, 13), clustered(1, 14)[0]
    order = np.random.default_rng(1).permutation(DIMENSIONS)
    everything = np.arange(500, dtype=np.uint32)
    scores = vectors(rows).cosines(unit(query[np.newaxis])[0], everything // 4, everything % 4)
    turned = dataclasses.replace(vectors(rows), floats=np.ascontiguousarray(rows[:, order]))
    again = turned.cosines(unit(query[np.newaxis])[0][order], everything // 4, everything % 4)
    assert scores.tolist() == again.tolist()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 3e38, 1e-45])
def test_unit_rows_are_finite_and_of_length_one_or_zero(value: float) -> None:
    rows = unit(np.array([[value, 1, 0], [value, value, value], [0, 0, 0]], np.float32))
    lengths = np.linalg.norm(rows.astype(float), axis=1)
    assert np.isfinite(rows).all()
    assert all(abs(length - 1) < 1e-6 or length == 0 for length in lengths)
    assert lengths[0] > 0


def test_a_float_that_went_bad_ranks_last() -> None:
    rows = clustered(10, 9)
    rows[3] = np.nan
    found = vectors(rows).near(rows[0], 10)
    assert found.scores.min() == -1
    assert (int(found.uploads[found.scores.argmin()]), int(found.numbers[found.scores.argmin()])) == (0, 3)


def test_a_change_takes_out_the_dead_and_puts_in_the_new() -> None:
    rows = clustered(24, 10)
    stream = np.arange(48, dtype=np.uint32)
    all_terms = ChunkTerms(np.arange(0, 48, 2), np.full(24, 2, np.uint32), stream)
    before = dataclasses.replace(
        vectors(rows[:16]), terms=ChunkTerms(all_terms.begins[:16], all_terms.lengths[:16], stream[:32])
    )
    new = Vectors(
        pack(rows[16:]),
        np.full(8, 9, np.uint32),
        np.arange(8, dtype=np.uint32),
        np.arange(16, 24, dtype=np.uint32),
        rows,
        ChunkTerms(all_terms.begins[16:], all_terms.lengths[16:], stream),
    )
    after = before.changed([1, 3], new)
    kept = [0, 1, 2, 3, 8, 9, 10, 11, *range(16, 24)]
    assert after.uploads.tolist() == [0] * 4 + [2] * 4 + [9] * 8
    np.testing.assert_array_equal(after.floats[after.positions], rows[kept])
    assert after.terms.of_rows(np.arange(16)).tolist() == [term for row in kept for term in (2 * row, 2 * row + 1)]
    assert (before.words, after.words) == (32, 32)
    assert before.uploads.tolist() == [0] * 4 + [1] * 4 + [2] * 4 + [3] * 4


def test_nothing_has_no_neighbours_and_no_words() -> None:
    nothing = empty(8)
    assert len(nothing.near(np.ones(8, np.float32), 3).scores) == 0
    assert nothing.words == 0


def test_chunks_tell_how_often_they_have_a_term() -> None:
    said = [terms.numbers(of_text(text)) for text in ("lease of a lease", "", "seal; LEASES")]
    lengths = np.array([len(each) for each in said], np.uint32)
    index = dataclasses.replace(
        vectors(clustered(3, 1)), terms=ChunkTerms(np.array([0, 4, 4]), lengths, np.concatenate(said))
    )
    wanted = np.array([terms.number("leas"), terms.number("seal"), terms.number("never")], np.uint32)
    counts, found = index.said(np.zeros(3, np.uint32), np.array([2, 0, 1], np.uint32), wanted)
    assert counts.tolist() == [[1, 1, 0], [2, 0, 0], [0, 0, 0]]
    assert found.tolist() == [2, 4, 0]


def test_every_neighbour_is_found_up_to_the_documented_number_of_chunks() -> None:
    draw = np.random.default_rng(3)
    rows = bits.unit(draw.normal(size=(limits.INDEX_EXACT_CHUNKS, 384)))  # the hardest: no vector is near another
    index = vectors(rows)
    for query in bits.unit(draw.normal(size=(10, 384))):
        found = index.near(query, 100)
        best = np.argsort(-(rows.astype(np.float64) @ query.astype(np.float64)))[:100]
        assert set((found.uploads * 4 + found.numbers).tolist()) == set(best.tolist())

"""What every index promises; each implementation runs all of these."""

import os
import random
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deedbox.kernel import limits
from deedbox.search import limits as search_limits
from deedbox.search.index import Hit, Index, IndexChange, Sieve
from deedbox.search.index.local import LocalIndex
from tests.faults import FULL
from tests.postgres import Cluster
from tests.search.index.model import DIMENSIONS, Model, assert_same, change, entry, in_order, places, vector
from tests.search.index.on_postgres import postgres_indexes

Opener = Callable[[Path], Index]
IMPLEMENTATIONS = ["local", "postgres"]
ODD = [
    "",
    "   \n\t",
    "?!… — “”",
    'title:(lease AND "tenant',
    "body:* OR NOT [a TO b] {x} ^2 ~1 /re/ \\",
    "+lease -tenant",
    "😀👩‍👩‍👧 🏳️‍🌈",
    "契約の終了",
    "\x00 lease \x00",
    "\ud800 lease",
    "a" * limits.QUERY_CHARS,
    "lease " * (limits.QUERY_CHARS // 6),
    " ".join(f"w{number}" for number in range(1500)),
    "ﷺ" * 400,
]


@pytest.fixture(scope="module", params=IMPLEMENTATIONS)
def opener(request: pytest.FixtureRequest) -> Iterator[Opener]:
    """Opens the index of a folder; in PostgreSQL, that of a workspace with the folder's name."""
    if request.param == "local":
        yield lambda folder: LocalIndex(folder, DIMENSIONS, "recipe")
        return
    cluster: Cluster = request.getfixturevalue("cluster")
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
    with cluster.database(f"contract_{worker}") as url, postgres_indexes(url) as indexes:
        yield lambda folder: indexes.open((str(folder), "recipe"), DIMENSIONS)


@pytest.fixture
def index(opener: Opener, tmp_path: Path) -> Iterator[Index]:
    opened = opener(tmp_path / "index")
    yield opened
    opened.close()


def filled(index: Index, uploads: int, seed: int = 1) -> Model:
    """An index and a model with the same uploads."""
    random_, model = random.Random(seed), Model()
    changes = [change(f"upl_{number:03d}", random_) for number in range(uploads)]
    model.apply(changes)
    index.apply(iter(changes), uploads)
    return model


def one(text: str, number: int = 0, seed: int = 0) -> IndexChange:
    return IndexChange("upl_one", [entry(number, text, vector(random.Random(seed)))])


def test_words_are_found_in_the_language_of_their_chunk_whatever_the_question_is_in(index: Index) -> None:
    texts = [
        "Die Kündigung der Wohnung ist für beide Mieter und auch für das Haus schriftlich",
        "Il contratto e le clausole della locazione sono nulli se non sono firmati",
        "The notice of termination is given to the tenant in writing",
    ]
    index.apply(
        [IndexChange("upl_one", [entry(at, text, vector(random.Random(at))) for at, text in enumerate(texts)])], 1
    )
    for query, number in (("Kündigungen", 0), ("clausola", 1), ("tenants", 2)):
        assert [hit.number for hit in index.words(query, 5)] == [number]
    index.apply([IndexChange("upl_one", [])], 2)
    index.apply([IndexChange("upl_two", [entry(0, texts[2], vector(random.Random(0)))])], 3)
    assert [hit.upload_id for hit in index.words("tenants", 5)] == ["upl_two"]
    assert index.words("Kündigungen clausola", 5) == []


def test_a_new_index_is_empty_and_answers_nothing(index: Index) -> None:
    assert (index.watermark, index.size) == (0, 0)
    assert index.near(vector(random.Random(0)), 5) == []
    assert index.words("lease", 5) == []


def test_what_was_applied_is_found_by_the_next_search(index: Index) -> None:
    index.apply([one("The tenant pays the deposit")], 1)
    assert places(index.words("deposits", 5)) == [("upl_one", 0)]
    assert places(index.near(vector(random.Random(0)), 5)) == [("upl_one", 0)]
    assert (index.watermark, index.size) == (1, 1)
    assert index.size_bytes > 0


@pytest.mark.parametrize("seed", range(3))
def test_an_index_answers_as_the_naive_model_does(index: Index, seed: int) -> None:
    model = filled(index, 40, seed)
    for turn in range(10):
        assert_same(index, model, random.Random(turn))


@pytest.mark.parametrize("seed", range(3))
def test_a_sieve_loses_nothing_and_lets_nothing_else_through(index: Index, seed: int) -> None:
    filled(index, 40, seed)
    chance, everything = random.Random(seed), "lease tenant deposit seal witness notary clause annex Kündigung договор"
    for _ in range(20):
        required, excluded = chance.sample(everything.split(), 2)
        sieve = Sieve((required,), (excluded,))
        having, without = (places(index.words(word, 500)) for word in (required, excluded))
        only = chance.choice([None, [f"upl_{number:03d}" for number in range(0, 40, 3)]])
        found = index.words(everything, 500, only, sieve)
        wanted = {place for place in having if place not in without and (only is None or place[0] in only)}
        assert set(places(found)) == wanted
        scores = {hit: hit.score for hit in index.words(everything, 500)}
        assert all(scores[hit] == hit.score for hit in found)
        assert index.words(everything, 3, only, sieve) == found[:3]


def test_entries_replace_those_that_the_upload_had(index: Index) -> None:
    index.apply([one("lease", 0), IndexChange("upl_two", [entry(0, "seal", vector(random.Random(2)))])], 1)
    index.apply([one("annex", 3)], 2)
    assert index.words("lease", 5) == []
    assert sorted(places(index.words("annex seal", 5))) == [("upl_one", 3), ("upl_two", 0)]
    assert index.size == 2


def test_the_last_change_of_an_upload_in_one_call_is_the_true_one(index: Index) -> None:
    index.apply([one("lease", 0), one("annex", 1), IndexChange("upl_one", []), one("seal", 2)], 4)
    assert index.words("lease annex", 5) == []
    assert places(index.words("seal", 5)) == [("upl_one", 2)]
    assert places(index.near(vector(random.Random(0)), 5)) == [("upl_one", 2)]


def test_a_deleted_upload_is_gone_from_the_very_next_search(index: Index) -> None:
    model = filled(index, 30)
    for number, gone in enumerate(sorted(model.entries)):
        index.apply([IndexChange(gone, [])], 31 + number)
        model.apply([IndexChange(gone, [])])
        assert gone not in {hit.upload_id for hit in index.near(vector(random.Random(number)), 200)}
        assert gone not in {hit.upload_id for hit in index.words("lease tenant deposit seal", 200)}
        assert_same(index, model, random.Random(number))
    assert index.size == 0


def test_deleting_what_is_not_there_is_harmless(index: Index) -> None:
    model = filled(index, 5)
    index.apply([IndexChange("upl_never", []), IndexChange("upl_never", [])], 6)
    assert index.watermark == 6
    assert_same(index, model, random.Random(1))


def test_applying_a_change_again_changes_nothing(index: Index) -> None:
    random_ = random.Random(3)
    changes = [change(f"upl_{number}", random_) for number in range(12)]
    model = Model()
    model.apply(changes)
    for _ in range(3):
        index.apply(changes, 12)
        assert_same(index, model, random.Random(4))


def test_no_change_still_moves_the_watermark(opener: Opener, tmp_path: Path) -> None:
    index = opener(tmp_path / "index")
    index.apply([], 17)
    index.close()
    index = opener(tmp_path / "index")
    assert index.watermark == 17
    index.close()


def test_what_was_applied_is_there_after_reopening(opener: Opener, tmp_path: Path) -> None:
    index = opener(tmp_path / "index")
    model = filled(index, 25)
    for turn in range(4):
        index.apply([IndexChange(f"upl_{turn:03d}", [])], 26 + turn)
        model.apply([IndexChange(f"upl_{turn:03d}", [])])
        index.close()
        index = opener(tmp_path / "index")
        assert index.watermark == 26 + turn
        assert_same(index, model, random.Random(turn))
    index.close()


@pytest.mark.parametrize("filter_uploads", [0, search_limits.FILTER_UPLOADS])
def test_a_filter_loses_nothing_and_adds_nothing(
    index: Index, filter_uploads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Few uploads are filtered by the engine, many by asking for more: both ways must be exact.
    monkeypatch.setattr(search_limits, "FILTER_UPLOADS", filter_uploads)
    monkeypatch.setattr(search_limits, "CANDIDATES_MIN", 4)
    monkeypatch.setattr(search_limits, "CANDIDATES_PER_HIT", 4)
    model = filled(index, 60)
    random_ = random.Random(5)
    for count in (0, 1, 2, 20, 59):
        only = random_.sample(sorted(model.entries), count)
        found = index.words("lease", 500, only)
        assert set(places(found)) == model.having("lease", only)
        assert {hit.upload_id for hit in index.near(vector(random_), 500, only)} <= set(only)
        assert len(index.near(vector(random_), 500, only)) == len(model.cosines(vector(random_), only))
        assert len(index.words("lease", 1, only)) == min(1, len(found))


def test_a_filter_does_not_change_scores(index: Index) -> None:
    model = filled(index, 30)
    everywhere = {(hit.upload_id, hit.number): hit.score for hit in index.words("lease seal", 500)}
    only = sorted(model.entries)[::3]
    assert {(hit.upload_id, hit.number): hit.score for hit in index.words("lease seal", 500, only)} == {
        place: score for place, score in everywhere.items() if place[0] in only
    }


def test_a_filter_of_unknown_uploads_finds_nothing(index: Index) -> None:
    filled(index, 5)
    assert index.near(vector(random.Random(0)), 5, ["upl_unknown"]) == []
    assert index.words("lease", 5, ["upl_unknown"]) == []


@pytest.mark.parametrize("only", [None, [f"upl_{number:03d}" for number in range(0, 60, 3)]])
def test_candidates_are_what_both_legs_find_each_with_its_exact_cosine(index: Index, only: list[str] | None) -> None:
    model, random_ = filled(index, 60), random.Random(6)
    for top in (1, 7, 30, 500):
        asked, query = vector(random_), "lease seal"
        near = places(index.near(asked, top, only))
        said = {(hit.upload_id, hit.number): hit.score for hit in index.words(query, top, only)}
        found = {(each.upload_id, each.number): each for each in index.candidates(asked, query, top, only)}
        assert found.keys() == set(near) | said.keys()
        assert {place: each.bm25 for place, each in found.items() if each.bm25 is not None} == said
        exact = model.cosines(asked, only)
        np.testing.assert_allclose([found[p].cosine for p in found], [exact[p] for p in found], atol=1e-5)


def test_candidates_come_once_each(index: Index) -> None:
    filled(index, 30)
    found = [(each.upload_id, each.number) for each in index.candidates(vector(random.Random(1)), "lease", 20)]
    assert len(set(found)) == len(found)


def test_candidates_of_entries_in_any_order_have_their_own_cosines(index: Index) -> None:
    random_ = random.Random(8)
    numbers = [7, 2, 900, 0, 41]
    vectors = {number: vector(random_) for number in numbers}
    index.apply([IndexChange("upl_a", [entry(number, "lease", vectors[number]) for number in numbers]), one("seal")], 1)
    asked = vectors[900]
    found = {each.number: each.cosine for each in index.candidates(asked, "lease", 5, ["upl_a"])}
    # One is near; the others are there for their words.
    few = {each.number: each.cosine for each in index.candidates(asked, "lease", 5) if each.bm25 is not None}
    assert found == few == pytest.approx({number: float(vectors[number] @ asked) for number in numbers}, abs=1e-5)


def test_without_words_candidates_are_the_near_ones(index: Index) -> None:
    filled(index, 20)
    found = index.candidates(vector(random.Random(2)), "?!", 5)
    assert len(found) == 5
    assert {each.bm25 for each in found} == {None}


def test_nothing_has_no_candidates(index: Index) -> None:
    assert index.candidates(vector(random.Random(0)), "lease", 5) == []
    filled(index, 5)
    assert index.candidates(vector(random.Random(0)), "lease", 5, ["upl_unknown"]) == []
    assert index.candidates(vector(random.Random(0)), "lease", 0) == []


def test_ties_are_broken_by_upload_and_number(index: Index) -> None:
    same = vector(random.Random(9))
    names = [f"upl_{letter}" for letter in "qjzacbkx"]
    index.apply([IndexChange(name, [entry(n, "the same lease", same) for n in (2, 0, 1)]) for name in names], 1)
    expected = [(name, number) for name in sorted(names) for number in (0, 1, 2)]
    for top in (1, 4, 7, 24):
        assert places(index.near(same, top)) == expected[:top]
        assert places(index.words("lease", top)) == expected[:top]
        found = index.candidates(same, "lease", top)
        assert sorted((each.upload_id, each.number) for each in found) == expected[:top]


def test_many_ties_are_broken_alike_whatever_the_order_of_arrival(opener: Opener, tmp_path: Path) -> None:
    same = vector(random.Random(9))
    names = [f"upl_{number:04d}" for number in range(1500)]
    answers = []
    for seed in (1, 2):
        random.Random(seed).shuffle(names)
        index = opener(tmp_path / str(seed))
        index.apply([IndexChange(name, [entry(0, "the same lease", same)]) for name in names], 1)
        answers.append((places(index.near(same, 3)), places(index.words("lease", 3))))
        index.close()
    assert answers[0] == answers[1] == ([(f"upl_{n:04d}", 0) for n in range(3)],) * 2


@pytest.mark.parametrize("query", ODD, ids=range(len(ODD)))
def test_no_query_raises(index: Index, query: str) -> None:
    filled(index, 10)
    for only in (None, ["upl_001"], []):
        assert in_order(index.words(query, 5, only))


@given(st.text(max_size=200))
@settings(max_examples=300 if FULL else 25, deadline=None)
def test_no_text_and_no_query_of_any_letters_raises(opener: Opener, text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        index = opener(Path(folder))
        index.apply([one(text), IndexChange("upl_two", [entry(0, "lease " + text, vector(random.Random(1)))])], 1)
        found = index.words(text, 5)
        # What has any term finds itself.
        assert not found or ("upl_one", 0) in places(found)
        index.close()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 0.0, 3e38, 1e-45])
def test_no_vector_makes_a_score_that_is_not_a_number(index: Index, value: float) -> None:
    odd = np.full(DIMENSIONS, value, np.float32)
    index.apply([IndexChange("upl_odd", [entry(0, "odd", odd)]), one("fine")], 1)
    for asked in (odd, vector(random.Random(1))):
        hits = index.near(asked, 5)
        assert len(hits) == 2
        assert all(-1 <= hit.score <= 1 for hit in hits)


def test_a_vector_of_other_dimensions_is_refused_and_changes_nothing(index: Index) -> None:
    model = filled(index, 10)
    short = entry(0, "lease", vector(random.Random(0))[:5])
    with pytest.raises(ValueError, match="dimensions"):
        index.apply([one("lease"), IndexChange("upl_short", [short])], 99)
    with pytest.raises(ValueError, match="dimensions"):
        index.near(vector(random.Random(0))[:5], 5)
    assert index.watermark == 10
    assert_same(index, model, random.Random(1))
    index.apply([one("annex")], 11)
    model.apply([one("annex")])
    assert_same(index, model, random.Random(2))


def test_searches_beside_changes_see_whole_states_and_nothing_deleted(index: Index) -> None:
    """Upload A is replaced over and over: each search finds one version of it, entire; B is gone once it is deleted."""
    gone = threading.Event()
    stop = threading.Event()
    wrong: list[object] = []

    def versions(hits: list[Hit]) -> set[int]:
        return {hit.number // 10 for hit in hits if hit.upload_id == "upl_a"}

    def search() -> None:
        while not stop.is_set():
            deleted = gone.is_set()
            for only in (None, ["upl_a", "upl_b"]):
                for hits in (index.words("lease", 50, only), index.near(vector(random.Random(0)), 50, only)):
                    mine = [hit for hit in hits if hit.upload_id == "upl_a"]
                    if len(mine) != 3 or len(versions(hits)) != 1:
                        wrong.append(hits)
                    if deleted and any(hit.upload_id == "upl_b" for hit in hits):
                        wrong.append("a deleted upload answered")

    def version(number: int) -> IndexChange:
        return IndexChange("upl_a", [entry(10 * number + n, "lease", vector(random.Random(n))) for n in range(3)])

    index.apply([version(0), IndexChange("upl_b", [entry(0, "lease", vector(random.Random(5)))])], 1)
    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(1, 25):
        index.apply([version(number)], 1 + number)
        if number == 12:
            index.apply([IndexChange("upl_b", [])], 2 + number)
            gone.set()
    stop.set()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert versions(index.words("lease", 50)) == {24}


Batches = list[list[tuple[int, int]]]


@given(
    batches=st.lists(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 10_000)), max_size=5), max_size=7),
    seed=st.integers(0, 1000),
)
@settings(max_examples=200 if FULL else 12, deadline=None)
def test_any_history_leaves_the_index_as_the_model(opener: Opener, batches: Batches, seed: int) -> None:
    """Batches of (upload, seed of its content), with the index reopened in between."""
    with tempfile.TemporaryDirectory() as folder:
        index, model, random_ = opener(Path(folder)), Model(), random.Random(seed)
        for number, batch in enumerate(batches, 1):
            changes = [change(f"upl_{upload}", random.Random(content)) for upload, content in batch]
            index.apply(changes, number)
            model.apply(changes)
            if random_.random() < 0.3:
                index.close()
                index = opener(Path(folder))
            assert index.watermark == number
            assert_same(index, model, random_)
            assert_same(index, model, random_, only=["upl_1", "upl_2", "upl_9"])
        index.close()


def said(upload_id: str, text: str, name: str = "") -> IndexChange:
    first, *others = (entry(number, part, vector(random.Random(number))) for number, part in enumerate(text.split("|")))
    return IndexChange(upload_id, [msgspec.structs.replace(first, name=name), *others])


def test_a_star_stands_for_the_words_that_most_documents_have(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    index.apply([said("a", "lease|leasing LEASE"), said("b", "leaseholder lease"), said("c", "léas")], 1)
    index.apply([said("d", "release"), said("e", "lea leanest"), said("e", "other")], 2)
    assert set(places(index.words("lea*", 9))) == {("a", 0), ("a", 1), ("b", 0), ("c", 0)}
    assert set(places(index.words("LÉA*", 9, ["c", "d"]))) == {("c", 0)}
    assert index.words("lea*", 9, ["d"]) == []
    assert set(places(index.words("leaseh* other", 9))) == {("b", 0), ("e", 0)}
    monkeypatch.setattr(search_limits, "PREFIX_WORDS", 1)
    assert set(places(index.words("lea*", 9))) == {("a", 0), ("a", 1), ("b", 0)}, "of all, most have this word"
    assert places(index.words("lea*", 9, ["c"])) == [("c", 0)], "what others have does not count"


def test_words_that_occur_nowhere_are_mended(index: Index) -> None:
    index.apply([said("a", "contract lease|contracts"), said("b", "contrast contract termination 12345 about")], 1)
    index.apply([said("c", "contrary kontracts"), said("d", "seldom")], 2)
    meant = {
        "contarct": "contract",  # most have it
        "Contrst": "contrast",
        "ontract": "contract",
        "kontractz": "kontracts",
        "terminatino": "termination",
        "tremniation": "termination",
    }
    assert index.corrected([*meant, "contracted", "lesae", "laese", "12346", "leas", "abuot", "while"]) == dict(
        list(meant.items())[: search_limits.TYPO_WORDS]
    )
    assert index.corrected(["tremniation", "abuot", "12346", "leas", "while", "contracting"]) == {
        "tremniation": "termination",
        "abuot": "about",
    }
    assert index.corrected(["contarct"], ["b"]) == {"contarct": "contract"}
    assert index.corrected(["contarct"], ["d"]) == {}, "of what a reader may not see, no word is told"
    assert index.corrected(["kontract"], ["a"]) == {"kontract": "contract"}, "nor is what stands there known"
    index.apply([IndexChange("b", []), IndexChange("c", [])], 3)
    assert index.corrected(["contrst", "terminatino"]) == {}


def test_the_name_of_a_document_finds_its_first_chunk(index: Index) -> None:
    index.apply([said("a", "rent|of the garage", "Mietvertrag_2024 Garage"), said("b", "garage")], 1)
    assert places(index.words("mietvertrag", 9)) == [("a", 0)]
    assert places(index.words("2024 garage", 9))[0] == ("a", 0)
    assert places(index.words("garage", 9, sieve=Sieve(excluded=("garage",)))) == [("a", 0)], "not in its text"
    assert set(places(index.words("miet*", 9))) == {("a", 0)}
    assert index.corrected(["mietvertrga"]) == {"mietvertrga": "mietvertrag"}
    index.apply([said("a", "rent|of the garage", "Other")], 2)
    assert index.words("mietvertrag", 9) == []

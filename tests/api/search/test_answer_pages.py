"""Pages of an answer, passages grouped by document, how relevant they are, and counts beside them."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from deedbox.kernel import limits
from deedbox.search import limits as search_limits
from deedbox.search.indexing.embedders import Embedders
from deedbox.web import limits as web_limits
from tests.api.answers import faults
from tests.api.conftest import opened
from tests.api.search.conftest import Search
from tests.conftest import HandClock
from tests.search.hashing import HashingEmbedder

pytestmark = pytest.mark.anyio

MODES = ["keyword", "semantic", "hybrid"]
BODIES: list[dict[str, Any]] = [{}, {"offset": 90}, {"group_by": "document"}, {"min_relevance": 0.2, "offset": 3}]
LEASE = "The tenant pays the rent."


async def filed(search: Search, text: str, collection: str = "default", **metadata: Any) -> str:
    data = {"collection": collection, "metadata": json.dumps(metadata)}
    return await search.upload(text, f"{collection}.txt", data=data)


def clauses(many: int) -> str:
    return "\n\n".join(f"Clause {number} speaks of rent {'and rent ' * (number % 5)}." for number in range(many))


async def answer(search: Search, query: str, **body: Any) -> Any:
    found = await search.api.post("/query", {"query": query, **body})
    assert found.status_code == 200, found.text
    return found.json()


@pytest.mark.parametrize("mode", MODES)
async def test_a_lone_exact_hit_is_relevant(search: Search, mode: str) -> None:
    await search.indexed(LEASE)
    [hit] = await search.ask("tenant pays rent", mode=mode)
    assert hit["relevance"] > 0.4
    [hit] = await search.ask(LEASE, mode=mode)
    assert hit["relevance"] == 1


@pytest.mark.parametrize("mode", MODES)
async def test_relevance_grows_with_words_and_does_not_depend_on_what_else_is_found(search: Search, mode: str) -> None:
    texts = ["rent", "rent deposit", "rent deposit garden", "rent deposit garden stairs"]
    alone = []
    for text in texts:
        doc_id = await search.indexed(text)
        alone.append((await search.ask(texts[-1], mode=mode, doc_ids=[doc_id]))[0]["relevance"])
    assert alone == sorted(alone)
    assert len(set(alone)) == len(texts)
    assert all(0 <= each <= 1 for each in alone)
    together = {hit["text"]: hit["relevance"] for hit in await search.ask(texts[-1], mode=mode)}
    assert together == dict(zip(texts, alone, strict=True))


@pytest.mark.parametrize("mode", MODES)
async def test_what_is_less_relevant_than_asked_for_is_left_out(search: Search, mode: str) -> None:
    for number in range(6):
        await search.upload(" ".join(["rent", "deposit", "garden", "stairs", "key", "door"][: number + 1]))
    await search.index()
    query = "rent deposit garden stairs key door"
    whole = await search.ask(query, mode=mode, top_k=100)
    least = sorted(hit["relevance"] for hit in whole)[3]
    expected = [hit for hit in whole if hit["relevance"] >= least]
    assert len(expected) == 3
    assert await search.ask(query, mode=mode, top_k=100, min_relevance=least) == expected
    assert await search.ask(query, mode=mode, top_k=1, offset=1, min_relevance=least) == expected[1:2]


@pytest.mark.parametrize("mode", MODES)
async def test_pages_put_together_are_the_whole_answer(search: Search, mode: str) -> None:
    await search.indexed(clauses(60))
    whole = await search.ask("rent of clause 7", mode=mode, top_k=60)
    pages = [await search.ask("rent of clause 7", mode=mode, top_k=20, offset=offset) for offset in (0, 20, 40, 60)]
    assert [len(page) for page in pages] == [20, 20, 20, 0]
    assert [hit for page in pages for hit in page] == whole


async def test_pages_far_down_fit_together(search: Search) -> None:
    await search.indexed(clauses(300))
    pages = [await search.ask("rent of clause 7", top_k=50, offset=offset) for offset in range(100, 300, 50)]
    ids = [hit["chunk_id"] for page in pages for hit in page]
    assert len(ids) == len(set(ids)) == 200
    scores = [hit["score"] for page in pages for hit in page]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("mode", MODES)
async def test_grouped_by_document_each_answers_with_its_best_passage(search: Search, mode: str) -> None:
    for name in ("one", "two", "three"):
        await search.upload("\n\n".join(f"Clause {number} of {name} speaks of rent." for number in range(20)))
    await search.index()
    grouped = await search.ask("rent clause 7", mode=mode, group_by="document", top_k=10)
    best: dict[str, Any] = {}
    for hit in await search.ask("rent clause 7", mode=mode, top_k=60):
        best.setdefault(hit["metadata"]["doc_id"], hit)
    assert len(grouped) == 3
    assert [hit["chunk_id"] for hit in grouped] == [hit["chunk_id"] for hit in best.values()]
    assert await search.ask("rent clause 7", mode=mode, group_by="document", top_k=1, offset=1) == grouped[1:2]


@pytest.mark.all_in_folder("it is compared with what has its rows and its index in PostgreSQL")
async def test_an_index_in_postgresql_gives_the_same_answers(
    search: Search, postgres_url: str, tmp_path: Path, clock: HandClock
) -> None:
    async with opened(postgres_url, tmp_path / "other", clock, index="postgres") as api:
        await api.settle()
        other = Search(api, HashingEmbedder())
        api.deedbox.search.embedders = Embedders(lambda: other.embedder, lambda _: None)
        await api.deedbox.start()
        try:
            for many in (30, 50, 70):
                for each in (search, other):
                    await each.upload(clauses(many), f"{many}.txt")
                clock.forward(1)  # so that ties are broken alike
            await search.index()
            await other.index()
            for body in BODIES:
                for mode in MODES:
                    asked = {"top_k": 40, "mode": mode, **body}
                    here, there = [_told(await one.ask("rent of clause 7", **asked)) for one in (search, other)]
                    assert here == there, asked
                    assert here
        finally:
            await api.deedbox.stop()


def _told(results: list[Any]) -> list[tuple[Any, ...]]:
    return [(one["text"], one["document"]["filename"], one["relevance"], round(one["score"], 9)) for one in results]


async def test_a_result_tells_of_its_document(search: Search) -> None:
    await filed(search, LEASE, "leases", year=2026)
    await search.index()
    [hit] = await search.ask("rent")
    expected = {"filename": "leases.txt", "collection": "leases", "metadata": {"year": 2026}, "signed": False}
    assert hit["document"] == expected


async def test_facets_count_the_documents_that_may_answer(search: Search) -> None:
    filings: list[tuple[str, dict[str, Any]]] = [
        ("a", {"year": 2026, "kind": "lease"}),
        ("a", {"year": 2026.5, "kind": "lease", "until": "2026-05-01T02:00:00+02:00"}),
        ("b", {"year": "2026", "open": True}),
        ("b", {"year": 2026, "open": False, "until": "2026-05-01"}),
        ("c", {}),
    ]
    ids = [await filed(search, f"{LEASE} {number}", place, **values) for number, (place, values) in enumerate(filings)]
    await search.index()
    names = ["collection", "media_type", "signed", "metadata.year", "metadata.open", "metadata.until", "metadata.none"]
    facets = (await answer(search, "rent", top_k=1, facets=names))["facets"]
    assert list(facets) == names

    def counted(name: str) -> dict[Any, int]:
        return {json.dumps(one["value"]): one["documents"] for one in facets[name]}

    assert counted("collection") == {'"a"': 2, '"b"': 2, '"c"': 1}
    assert [one["value"] for one in facets["collection"]] == ["a", "b", "c"]
    assert (counted("media_type"), counted("signed")) == ({'"text/plain"': 5}, {"false": 5})
    assert counted("metadata.year") == {"2026": 2, "2026.5": 1, '"2026"': 1}
    assert counted("metadata.open") == {"true": 1, "false": 1}
    assert counted("metadata.until") == {'"2026-05-01T00:00:00Z"': 2}
    assert facets["metadata.none"] == []
    leases = {"filter": {"field": "metadata.kind", "op": "eq", "value": "lease"}, "facets": ["collection"]}
    assert (await answer(search, "rent", **leases))["facets"] == {"collection": [{"value": "a", "documents": 2}]}
    some = await answer(search, "rent", doc_ids=ids[1:3], facets=["collection"])
    assert {one["value"]: one["documents"] for one in some["facets"]["collection"]} == {"a": 1, "b": 1}
    key = await search.api.make_key(collections=["c"])
    theirs = (await search.api.post("/query", {"query": "rent", "facets": ["collection"]}, key=key)).json()
    assert theirs["facets"] == {"collection": [{"value": "c", "documents": 1}]}
    assert "facets" not in await answer(search, "rent")


async def test_facets_count_the_hits_or_all_that_the_filter_admits(search: Search) -> None:
    for place, text in (("a", LEASE), ("a", LEASE), ("b", LEASE), ("b", "A bicycle."), ("c", "A tin of paint.")):
        await filed(search, text, place)
    await search.index()

    async def counted(query: str, **wanted: Any) -> dict[str, int]:
        found = await answer(search, query, facets=["collection"], **wanted)
        return {one["value"]: one["documents"] for one in found["facets"]["collection"]}

    words = {"mode": "keyword", "top_k": 1}
    assert await counted("rent", **words) == {"a": 2, "b": 1}
    assert await counted("rent", **words, facets_scope="hits") == {"a": 2, "b": 1}
    assert await counted("rent", **words, offset=2) == {"a": 2, "b": 1}
    assert await counted("rent", **words, group_by="document") == {"a": 2, "b": 1}
    assert await counted('"bicycle"', top_k=1) == {"b": 1}
    assert await counted("rent", **words, collections=["b", "c"]) == {"b": 1}
    assert await counted("zebra", **words) == {}
    assert await counted("rent", top_k=1) == {"a": 2, "b": 2, "c": 1}
    assert await counted("rent", top_k=1, min_relevance=0.3) == {"a": 2, "b": 1}
    assert await counted("rent", **words, facets_scope="all") == {"a": 2, "b": 2, "c": 1}
    assert await counted("zebra", **words, facets_scope="all", collections=["b", "c"]) == {"b": 2, "c": 1}


async def test_a_facet_counts_the_most_frequent_values(search: Search, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_limits, "FACET_VALUES", 2)
    kinds = ["x", "y", "y", "z", "z", "z"]
    for number, kind in enumerate(kinds):
        await filed(search, f"{LEASE} {number}", kind=kind)
    await search.index()
    counts = (await answer(search, "rent", facets=["metadata.kind"]))["facets"]["metadata.kind"]
    assert [(one["value"], one["documents"]) for one in counts] == Counter(kinds).most_common(2)


@pytest.mark.parametrize(
    "body",
    [
        {"offset": -1},
        {"offset": limits.QUERY_OFFSET_MAX + 1},
        {"group_by": "page"},
        {"min_relevance": 1.1},
        {"min_relevance": -0.1},
        {"facets": []},
        {"facets_scope": "page"},
        {"facets": ["colour"]},
        {"facets": ["metadata."]},
        {"facets": ["created_at"]},
        {"facets": ["collection"] * (web_limits.QUERY_FACETS + 1)},
    ],
    ids=str,
)
async def test_what_is_out_of_bounds_is_refused(search: Search, body: dict[str, Any]) -> None:
    assert faults("/query", await search.api.post("/query", {"query": "rent", **body}), 400) == []

"""POST /query: ranked passages of the caller's documents."""

from typing import Any

import pytest

from deedbox.kernel import limits
from deedbox.kernel.errors import Unavailable
from deedbox.search import limits as search_limits
from deedbox.search.indexing.embedders import Embedders
from tests.api.answers import faults
from tests.api.conftest import Api
from tests.api.search.conftest import Search
from tests.search.hashing import HashingEmbedder

pytestmark = pytest.mark.anyio

LEASE = "The tenant pays the rent on the first day of each month.\n\nThe deposit is three months of rent."
POTATOES = "Boil the potatoes for twenty minutes."
RECIPE = f"{POTATOES}\n\nAdd salt, butter and a little milk."


async def test_the_passage_that_answers_comes_first_with_its_place(search: Search) -> None:
    lease = await search.indexed(LEASE, "lease.txt")
    await search.indexed(RECIPE, "recipe.txt")
    best = (await search.ask("how many months is the deposit?"))[0]
    record = await search.record(lease)
    start = LEASE.index("The deposit")
    assert best["chunk_id"] == f"{lease}_chunk_1"
    assert best["text"] == "The deposit is three months of rent."
    assert best["metadata"] == {
        "doc_id": lease,
        "filename": "lease.txt",
        "chunk_index": 1,
        "page": None,
        "char_start": start,
        "char_end": len(LEASE),
        "sha256": record["sha256"],
        "version": 1,
        "heading": None,
        "highlights": best["metadata"]["highlights"],
        "signed": False,
        "document_id": None,
        "ocr": False,
    }
    marked = [best["text"][begin:end] for begin, end in best["metadata"]["highlights"]]
    assert "deposit" in marked
    assert "months" in marked


async def test_the_answer_has_the_fields_of_the_contract(search: Search) -> None:
    await search.indexed(LEASE)
    answer = (await search.api.post("/query", {"query": "  rent  "})).json()
    assert list(answer) == ["query", "count", "elapsed_ms", "results"]
    assert (answer["query"], answer["count"]) == ("rent", len(answer["results"]))
    scores = [result["score"] for result in answer["results"]]
    assert scores == sorted(scores, reverse=True)


async def test_before_anything_is_indexed_the_answer_says_what_to_do(search: Search) -> None:
    for _ in range(2):
        answer = await search.api.post("/query", {"query": "rent"})
        assert faults("/query", answer, 400) == []
        assert answer.json() == {"error": "No documents indexed. Call /documents/index first."}
        await search.upload(LEASE)


async def test_after_the_last_document_is_deleted_nothing_is_indexed_again(search: Search) -> None:
    doc_id = await search.indexed(LEASE)
    await search.api.call("DELETE", f"/documents/{doc_id}")
    answer = await search.api.post("/query", {"query": "rent"})
    assert (answer.status_code, answer.json()["error"]) == (400, "No documents indexed. Call /documents/index first.")


async def test_top_k_passages_are_answered_and_five_by_default(search: Search) -> None:
    await search.indexed("\n\n".join(f"Clause {number} speaks of rent." for number in range(30)))
    assert len(await search.ask("rent")) == limits.TOP_K_DEFAULT
    assert len(await search.ask("rent", top_k=None)) == limits.TOP_K_DEFAULT
    assert len(await search.ask("rent", top_k=7)) == 7
    assert len(await search.ask("rent", top_k=limits.TOP_K_MAX)) == 30
    wide = await search.ask("rent clause 12", top_k=30)
    assert (await search.ask("rent clause 12", top_k=3)) == wide[:3]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"query": ""},
        {"query": " \n\t "},
        {"query": None},
        {"query": 5},
        {"query": "x" * (limits.QUERY_CHARS + 1)},
        {"query": "a\0b"},
        {"query": "a", "top_k": 0},
        {"query": "a", "top_k": -1},
        {"query": "a", "top_k": limits.TOP_K_MAX + 1},
        {"query": "a", "top_k": 1.5},
        {"query": "a", "top_k": "5"},
        {"query": "a", "top_k": True},
        {"query": "a", "mode": "fuzzy"},
        {"query": "a", "mode": None},
        {"query": "a", "doc_ids": []},
        {"query": "a", "doc_ids": "upl_1"},
        {"query": "a", "doc_ids": [1]},
        {"query": "a", "filter": {"colour": "red"}},
        {"query": "a", "filter": {"signed": "yes"}},
        {"query": "a", "filter": {"created_after": "yesterday"}},
        {"query": "a", "filter": {"created_after": "2026-03-01T12:00:00"}},
        {"query": "a", "filter": {"created_before": "0001-01-01T00:00:00+14:00"}},
        {"query": "a", "limit": 5},
    ],
    ids=str,
)
@pytest.mark.one_database
async def test_anything_else_is_refused_and_never_bent(search: Search, body: dict[str, Any]) -> None:
    await search.indexed(LEASE)
    assert faults("/query", await search.api.post("/query", body), 400) == []


async def test_spaces_around_the_question_do_not_count(search: Search) -> None:
    await search.indexed(LEASE)
    longest = "rent " * (limits.QUERY_CHARS // 5)
    assert await search.ask(longest + " " * 500)


async def test_the_same_question_gets_the_same_bytes(search: Search) -> None:
    for number in range(12):
        await search.indexed(LEASE.replace("tenant", f"tenant {number % 3}"), f"{number}.txt")
    answers = [(await search.api.post("/query", {"query": "rent of the tenant", "top_k": 20})).json() for _ in range(3)]
    for answer in answers:
        del answer["elapsed_ms"]
    assert answers[0] == answers[1] == answers[2]
    assert len(answers[0]["results"]) == 20


async def test_equal_passages_stand_in_the_order_of_their_ids(search: Search) -> None:
    doc_ids = [await search.indexed(LEASE, f"{number}.txt") for number in range(4)]
    found = await search.ask("deposit", top_k=4, mode="keyword")
    assert [result["metadata"]["doc_id"] for result in found] == sorted(doc_ids)


async def test_keyword_finds_words_only_and_semantic_everything(search: Search) -> None:
    await search.indexed(LEASE)
    await search.indexed(RECIPE)
    assert [result["text"] for result in await search.ask("potatoes", mode="keyword")] == [POTATOES]
    assert await search.ask("parsley", mode="keyword") == []
    assert len(await search.ask("potatoes", mode="semantic", top_k=10)) == 4
    assert (await search.ask("potatoes", mode="semantic"))[0]["text"] == POTATOES


async def test_only_the_named_documents_answer(search: Search) -> None:
    first, second, third = [await search.indexed(LEASE, f"{number}.txt") for number in range(3)]
    for mode in ("hybrid", "semantic", "keyword"):
        found = await search.ask("rent", mode=mode, top_k=50, doc_ids=[first, third])
        assert {result["metadata"]["doc_id"] for result in found} == {first, third}
        assert len(found) == (4 if mode != "keyword" else len(found))
    for wrong in (["upl_unknown"], [first, "upl_unknown", third]):
        answer = await search.api.post("/query", {"query": "rent", "doc_ids": wrong})
        assert faults("/query", answer, 404) == []
        assert answer.json()["error"] == "Document upl_unknown does not exist"
    assert second
    assert (await search.api.get("/stats")).json()["queries"] == 3


async def test_filters_choose_documents_by_name_type_and_time(search: Search) -> None:
    early = await search.indexed(LEASE, "early.txt")
    search.api.clock.forward(3600)
    late = await search.indexed(LEASE, "late.md")

    async def found(**wanted: Any) -> set[str]:
        return {result["metadata"]["doc_id"] for result in await search.ask("rent", top_k=50, filter=wanted)}

    created = (await search.record(late))["created_at"]
    assert await found() == {early, late}
    assert await found(filename="early.txt") == {early}
    assert await found(filename="EARLY.TXT") == set()
    assert await found(media_type="text/markdown") == {late}
    assert await found(created_after=created) == {late}
    assert await found(created_before=created) == {early}
    assert await found(created_after="2026-03-01T13:30:00+01:00") == {late}
    assert await found(signed=False) == {early, late}
    assert await found(signed=True) == set()
    assert await found(filename="late.md", media_type="text/plain") == set()


async def test_a_filter_and_named_documents_hold_together(search: Search) -> None:
    first, second = [await search.indexed(LEASE, "same.txt") for _ in range(2)]
    found = await search.ask("rent", doc_ids=[second], filter={"filename": "same.txt"})
    assert {result["metadata"]["doc_id"] for result in found} == {second}
    assert first


async def test_every_answered_question_is_counted(search: Search) -> None:
    await search.api.post("/query", {"query": "rent"})
    await search.indexed(LEASE)
    for _ in range(3):
        await search.ask("rent")
    await search.api.post("/query", {"query": ""})
    assert (await search.api.get("/stats")).json()["queries"] == 3


async def test_a_question_that_cannot_be_embedded_is_not_counted(search: Search) -> None:
    await search.indexed(LEASE)

    class Away(HashingEmbedder):
        async def embed(self, *_: Any, **__: Any) -> Any:
            raise Unavailable("The endpoint does not answer.")

    search.api.deedbox.search.embedders = Embedders(Away, lambda _: None)
    answer = await search.api.post("/query", {"query": "rent"})
    assert faults("/query", answer, 503) == []
    assert (await search.api.get("/stats")).json()["queries"] == 0
    assert await search.ask("rent", mode="keyword")
    assert (await search.api.get("/stats")).json()["queries"] == 1


async def test_the_next_page_and_the_same_question_again_are_not_embedded_anew(search: Search) -> None:
    api, embedder = search.api, search.embedder
    theirs = await api.make_key(workspace=api.other_workspace)
    await search.indexed(LEASE)
    await search.indexed(LEASE, key=theirs)
    calls = embedder.calls
    first, again = await search.ask("rent", top_k=1), await search.ask("rent", top_k=2)
    second = await search.ask("rent", top_k=1, offset=1)
    assert embedder.calls == calls + 1
    assert [*first, *second] == again
    assert (await api.post("/query", {"query": "rent"}, key=theirs)).status_code == 200
    await search.ask("deposit")
    assert embedder.calls == calls + 3


async def test_the_questions_asked_longest_ago_are_embedded_again(
    search: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_limits, "KNOWN_QUESTIONS", 2)
    await search.indexed(LEASE)
    calls = search.embedder.calls
    for word, embedded in (("a", 1), ("b", 2), ("a", 2), ("c", 3), ("a", 3), ("b", 4)):
        await search.ask(word)
        assert search.embedder.calls == calls + embedded


async def test_a_retry_with_the_same_key_is_answered_alike_and_counted_once(search: Search) -> None:
    await search.indexed(LEASE)
    headers = {"Idempotency-Key": "q1"}
    first = await search.api.post("/query", {"query": "rent"}, headers=headers)
    again = await search.api.post("/query", {"query": "rent"}, headers=headers)
    assert (again.content, again.headers["Idempotency-Replayed"]) == (first.content, "true")
    other = await search.api.post("/query", {"query": "deposit"}, headers=headers)
    assert faults("/query", other, 409) == []
    assert (await search.api.get("/stats")).json()["queries"] == 1


async def test_another_workspace_sees_and_changes_nothing(search: Search) -> None:
    api = search.api
    mine = await search.indexed(LEASE)
    before = await search.ask("rent")
    theirs = await api.make_key(workspace=api.other_workspace)
    empty = await api.post("/query", {"query": "rent"}, key=theirs)
    assert (empty.status_code, empty.json()["error"]) == (400, "No documents indexed. Call /documents/index first.")
    for number in range(5):
        await search.indexed(LEASE + f"\n\nrent rent rent {number}", key=theirs)
    assert await search.ask("rent") == before
    answer = await api.post("/query", {"query": "rent", "top_k": 100, "doc_ids": [mine]}, key=theirs)
    assert faults("/query", answer, 404) == []
    assert (await api.get("/stats")).json()["queries"] == 2


async def test_without_a_model_the_answer_says_what_to_run(api: Api) -> None:
    api.deedbox.search.embedders = Embedders(lambda: None, lambda _: None)
    answer = await api.post("/query", {"query": "rent"})
    assert faults("/query", answer, 503) == []
    assert answer.json()["error"] == "No embedding model is installed. Run: deedbox model install"
    assert answer.headers["X-Service-Error-Code"] == "model_missing"
    assert (await api.get("/api/v1/documents")).status_code == 200


async def test_a_question_that_takes_too_long_is_408(search: Search, monkeypatch: pytest.MonkeyPatch) -> None:
    await search.indexed(LEASE)
    monkeypatch.setattr(limits, "QUERY_SECONDS", -1)
    answer = await search.api.post("/query", {"query": "rent"})
    assert faults("/query", answer, 408) == []
    assert answer.json()["error"] == "Request took too long"

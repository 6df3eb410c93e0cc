"""POST /documents/index: what is uploaded becomes searchable, once, whatever happens meanwhile."""

import asyncio
from typing import Any

import pytest

from deedbox.search.indexing.embedders import Embedders
from deedbox.search.library.upload import Chunk, Extraction
from deedbox.web import limits
from tests.api.answers import faults
from tests.api.conftest import Api
from tests.api.search.conftest import Search

pytestmark = pytest.mark.anyio

TEXT = "The tenant pays the rent.\n\nThe deposit is three months of rent."


class Gate:
    """Holds every document that is being split until it is opened."""

    def __init__(self, search: Search) -> None:
        self.reached = asyncio.Event()
        self.opened = asyncio.Event()
        self._split = search.embedder.split
        search.embedder.split = self.split  # type: ignore[method-assign]

    async def split(self, extraction: Extraction) -> list[Chunk]:
        self.reached.set()
        await self.opened.wait()
        return await self._split(extraction)


async def test_no_body_an_empty_body_and_an_empty_object_index_everything(search: Search) -> None:
    api = search.api
    typed = {"content": b"{}", "headers": {"Content-Type": "application/json"}}
    requests: list[dict[str, Any]] = [{}, {"content": b""}, {"json": {}}, typed]
    for request in requests:
        doc_id = await search.upload(TEXT)
        answer = await api.call("POST", "/documents/index", **request)
        assert answer.status_code == 200
        assert (await search.record(doc_id))["status"] == "indexed"


async def test_the_answer_has_the_fields_of_the_contract(search: Search) -> None:
    await search.upload(TEXT)
    await search.upload(TEXT + " More.")
    answer = await search.index()
    assert answer.pop("elapsed_seconds") >= 0
    assert answer.pop("message") == "2 of 2 documents are indexed."
    assert answer == {
        "status": "success",
        "documents_processed": 2,
        "documents_skipped": 0,
        "total_chunks": 4,
        "index_size": 4,
    }
    assert (await search.api.get("/stats")).json()["index_size"] == 4


async def test_nothing_to_index_is_a_success(search: Search) -> None:
    answer = await search.index()
    assert (answer["status"], answer["documents_processed"], answer["index_size"]) == ("success", 0, 0)


async def test_only_the_named_documents_are_indexed(search: Search) -> None:
    first, second = await search.upload(TEXT), await search.upload(TEXT)
    answer = await search.index(second, second)
    assert (answer["documents_processed"], answer["index_size"]) == (1, 2)
    assert [(await search.record(doc_id))["status"] for doc_id in (first, second)] == ["uploaded", "indexed"]


async def test_an_unknown_document_is_404_and_nothing_is_indexed(search: Search) -> None:
    mine = await search.upload(TEXT)
    theirs = await search.upload(TEXT, key=await search.api.make_key(workspace=search.api.other_workspace))
    for unknown in ("upl_01JD0000000000000000000000", "x", theirs):
        answer = await search.api.post("/documents/index", {"doc_ids": [mine, unknown]})
        assert faults("/documents/index", answer, 404) == []
    assert (await search.record(mine))["status"] == "uploaded"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'{"doc_ids": []}', "application/json"),
        (b'{"doc_ids": null}', "application/json"),
        (b'{"doc_ids": "upl_1"}', "application/json"),
        (b'{"doc_ids": [5]}', "application/json"),
        (b'{"doc_ids": [""]}', "application/json"),
        (b'{"ids": ["upl_1"]}', "application/json"),
        (b"[]", "application/json"),
        (b"null", "application/json"),
        (b'{"doc_ids":', "application/json"),
        (b'{"doc_ids": ["a\\u0000"]}', "application/json"),
        (b"{}", "text/plain"),
        (b"{}", ""),
    ],
)
@pytest.mark.one_database
async def test_a_wrong_body_is_400_and_nothing_is_indexed(search: Search, body: bytes, kind: str) -> None:
    doc_id = await search.upload(TEXT)
    answer = await search.api.call("POST", "/documents/index", content=body, headers={"Content-Type": kind})
    assert faults("/documents/index", answer, 400) == []
    assert (await search.record(doc_id))["status"] == "uploaded"


async def test_what_is_indexed_and_unchanged_costs_nothing(search: Search) -> None:
    await search.indexed(TEXT)
    texts = search.embedder.texts
    answer = await search.index()
    assert (answer["documents_processed"], answer["documents_skipped"], answer["total_chunks"]) == (1, 1, 2)
    assert search.embedder.texts == texts


async def test_equal_bytes_are_embedded_once(search: Search) -> None:
    await search.indexed(TEXT)
    texts = search.embedder.texts
    twin = await search.indexed(TEXT, "twin.txt")
    assert search.embedder.texts == texts
    assert (await search.record(twin))["chunks"] == 2
    assert len(await search.ask("deposit", top_k=10, mode="keyword")) == 2


async def test_a_document_without_text_fails_and_the_others_are_indexed(search: Search) -> None:
    good, empty = await search.upload(TEXT), await search.upload("<html><body></body></html>", "empty.html")
    answer = await search.index()
    assert (answer["status"], answer["documents_processed"]) == ("partial", 1)
    assert answer["failed"] == [{"doc_id": empty, "error": "No extractable text"}]
    assert [(await search.record(doc_id))["status"] for doc_id in (good, empty)] == ["indexed", "failed"]
    assert (await search.record(empty))["error"] == "No extractable text"


async def test_a_replaced_document_answers_with_its_old_text_until_it_is_indexed_again(search: Search) -> None:
    doc_id = await search.indexed(TEXT)
    files = {"file": ("new.txt", b"The landlord repairs the roof.")}
    assert (await search.api.call("PUT", f"/documents/{doc_id}", files=files)).status_code == 200
    assert (await search.record(doc_id))["status"] == "uploaded"
    assert (await search.ask("deposit", mode="keyword"))[0]["text"].startswith("The deposit")
    answer = await search.index()
    assert (answer["documents_skipped"], answer["index_size"]) == (0, 1)
    assert await search.ask("deposit", mode="keyword") == []
    assert (await search.ask("roof", mode="keyword"))[0]["metadata"]["filename"] == "new.txt"


async def test_a_document_replaced_while_it_is_indexed_is_indexed_as_it_is_now(search: Search) -> None:
    gate = Gate(search)
    doc_id = await search.upload(TEXT)
    running = asyncio.create_task(search.index())
    await gate.reached.wait()
    assert (await search.record(doc_id))["status"] == "indexing"
    files = {"file": ("new.txt", b"The landlord repairs the roof.")}
    assert (await search.api.call("PUT", f"/documents/{doc_id}", files=files)).status_code == 200
    gate.opened.set()
    assert (await running)["documents_processed"] == 1
    assert await search.ask("deposit", mode="keyword") == []
    assert len(await search.ask("roof", mode="keyword")) == 1


async def test_a_document_deleted_while_it_is_indexed_stays_deleted(search: Search) -> None:
    gate = Gate(search)
    kept, gone = await search.upload("Something else about roofs."), await search.upload(TEXT)
    running = asyncio.create_task(search.index())
    await gate.reached.wait()
    assert (await search.api.call("DELETE", f"/documents/{gone}")).status_code == 204
    gate.opened.set()
    answer = await running
    assert (answer["status"], answer["documents_processed"], answer["index_size"]) == ("success", 1, 1)
    assert await search.ask("deposit", mode="keyword") == []
    assert await search.api.rows("select id from chunk_sets where chunks = 2") == []
    assert kept


async def test_a_second_call_joins_the_running_one(search: Search) -> None:
    gate = Gate(search)
    await search.upload(TEXT)
    first = asyncio.create_task(search.index())
    await gate.reached.wait()
    second = asyncio.create_task(search.index())
    while not await search.api.rows("select id from jobs where kind = 'index'"):
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.05)
    gate.opened.set()
    one, two = await first, await second
    for answer in (one, two):
        del answer["elapsed_seconds"]
    assert one == two
    assert len(await search.api.rows("select id from jobs where kind = 'index'")) == 1
    assert search.embedder.texts == 2


async def test_two_runs_that_want_the_same_document_embed_it_once(search: Search) -> None:
    gate = Gate(search)
    doc_id = await search.upload(TEXT)
    everything = asyncio.create_task(search.index())
    await gate.reached.wait()
    one = asyncio.create_task(search.index(doc_id))
    await asyncio.sleep(0.05)
    gate.opened.set()
    assert [(await run)["documents_processed"] for run in (everything, one)] == [1, 1]
    assert search.embedder.texts == 2


async def test_prefer_respond_async_answers_at_once_with_the_job(search: Search) -> None:
    gate = Gate(search)
    doc_id = await search.upload(TEXT)
    answer = await search.api.call("POST", "/documents/index", headers={"Prefer": "respond-async"})
    assert answer.status_code == 202
    assert answer.headers["Location"] == f"/jobs/{answer.json()['id']}"
    assert answer.json()["status"] in ("waiting", "running")
    gate.opened.set()
    assert (await search.index())["documents_processed"] == 1
    assert (await search.record(doc_id))["status"] == "indexed"


async def test_a_run_that_takes_too_long_is_408_and_goes_on(search: Search, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate(search)
    doc_id = await search.upload(TEXT)
    monkeypatch.setattr(limits, "INDEX_SECONDS", 0.05)
    answer = await search.api.post("/documents/index", {})
    assert faults("/documents/index", answer, 408) == []
    assert answer.json() == {"error": "Request took too long"}
    gate.opened.set()
    job = answer.headers["Location"]
    while (run := (await search.api.get(job)).json())["status"] != "done":
        await asyncio.sleep(0.01)
    assert run["result"]["documents_processed"] == 1
    assert (await search.record(doc_id))["status"] == "indexed"


async def test_a_retry_with_the_same_key_starts_no_second_run(search: Search) -> None:
    await search.upload(TEXT)
    headers = {"Idempotency-Key": "index-1"}
    first = await search.index(headers=headers)
    later = await search.upload(TEXT + " Later.")
    answer = await search.api.post("/documents/index", {}, headers=headers)
    assert answer.headers["Idempotency-Replayed"] == "true"
    assert answer.json()["documents_processed"] == first["documents_processed"] == 1
    assert (await search.record(later))["status"] == "uploaded"
    other = await search.api.post("/documents/index", {"doc_ids": [later]}, headers=headers)
    assert faults("/documents/index", other, 409) == []


async def test_replays_of_an_index_request_are_byte_identical(search: Search) -> None:
    await search.upload(TEXT)
    request: dict[str, Any] = {"headers": {"Idempotency-Key": "index-1"}}
    first = await search.api.post("/documents/index", {}, **request)
    await search.indexed(TEXT + " Later, so that the index has grown.")
    answers = [await search.api.post("/documents/index", {}, **request) for _ in range(2)]
    assert [answer.content for answer in answers] == [first.content] * 2
    assert {answer.headers.get("Idempotency-Replayed") for answer in answers} == {"true"}
    assert first.status_code == answers[0].status_code == 200


async def test_replays_of_an_asynchronous_index_request_are_byte_identical(search: Search) -> None:
    await search.upload(TEXT)
    request: dict[str, Any] = {"headers": {"Idempotency-Key": "index-1", "Prefer": "respond-async"}}
    first = await search.api.post("/documents/index", {}, **request)
    location = first.headers["Location"]
    while (await search.api.get(location)).json()["status"] != "done":
        await asyncio.sleep(0.01)
    again = await search.api.post("/documents/index", {}, **request)
    assert (again.status_code, again.content, again.headers["Location"]) == (202, first.content, location)


async def test_an_embedder_that_fails_leaves_no_document_stuck(search: Search) -> None:
    doc_id = await search.upload(TEXT)
    usual = search.embedder.embed

    async def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("out of order")

    search.embedder.embed = broken  # type: ignore[method-assign]
    answer = await search.index()
    assert (answer["status"], answer["failed"][0]["doc_id"]) == ("partial", doc_id)
    assert "out of order" not in answer["failed"][0]["error"]
    search.embedder.embed = usual  # type: ignore[method-assign]
    assert (await search.index())["status"] == "success"
    assert (await search.record(doc_id))["error"] is None


async def test_workspaces_index_only_their_own(search: Search) -> None:
    theirs = await search.api.make_key(workspace=search.api.other_workspace)
    mine = await search.upload(TEXT)
    their_doc = await search.upload(TEXT, key=theirs)
    assert (await search.index(key=theirs))["index_size"] == 2
    assert (await search.record(mine))["status"] == "uploaded"
    assert (await search.api.get(f"/documents/{their_doc}", key=theirs)).json()["status"] == "indexed"
    assert search.embedder.texts == 2


async def test_without_a_model_the_answer_says_what_to_run(api: Api) -> None:
    api.deedbox.search.embedders = Embedders(lambda: None, lambda _: None)
    answer = await api.post("/documents/index", {})
    assert faults("/documents/index", answer, 503) == []
    assert answer.json()["error"] == "No embedding model is installed. Run: deedbox model install"

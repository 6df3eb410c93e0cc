"""Keys that are limited to collections: others do not exist for them. And what is hidden is hidden from every count."""

from typing import Any

import pytest

from tests.api.answers import faults
from tests.api.conftest import Key
from tests.api.search.conftest import Search
from tests.api.search.test_completed import entry
from tests.api.signing.conftest import Office

pytestmark = pytest.mark.anyio

TEXT = "The tenant pays the rent."


class Shelves:
    """A document in each of two collections, and a key for one of them."""

    def __init__(self, search: Search, mine: str, other: str, key: Key) -> None:
        self.search, self.mine, self.other, self.key = search, mine, other, key
        self.api = search.api

    async def get(self, path: str) -> Any:
        return (await self.api.get(path, key=self.key)).json()


@pytest.fixture
async def shelves(search: Search) -> Shelves:
    mine = await search.upload(TEXT, "mine.txt", data={"collection": "a"})
    other = await search.upload(f"{TEXT} And the heating.", "other.txt", data={"collection": "b"})
    await search.index()
    return Shelves(search, mine, other, await search.api.make_key(collections=["a", "empty"]))


async def test_a_key_lists_asks_and_counts_its_collections_only(shelves: Shelves) -> None:
    assert [one["doc_id"] for one in (await shelves.get("/documents"))["documents"]] == [shelves.mine]
    assert (await shelves.get("/documents?collection=b&limit=5"))["documents"] == []
    assert (await shelves.get("/collections"))["collections"] == [{"name": "a", "documents": 1}]
    stats, whole = await shelves.get("/stats"), (await shelves.api.get("/stats")).json()
    assert (stats["documents"], stats["chunks"], stats["index_size"], stats["storage_bytes"]) == (1, 1, 1, len(TEXT))
    assert (whole["documents"], whole["chunks"]) == (2, 2)
    for mode in ("keyword", "semantic", "hybrid"):
        for narrowed in ({}, {"collections": ["a", "b"]}, {"filter": {"not": {"filename": "none"}}}):
            asked = {"query": "rent", "mode": mode, **narrowed}
            results = (await shelves.api.post("/query", asked, key=shelves.key)).json()["results"]
            assert [one["metadata"]["doc_id"] for one in results] == [shelves.mine], asked


async def test_what_lies_elsewhere_does_not_exist_whatever_leads_to_it(shelves: Shelves) -> None:
    there = f"/documents/{shelves.other}"
    file = {"files": {"file": ("other.txt", b"Mine now.")}}
    calls: list[tuple[str, str, dict[str, Any]]] = [
        *(("GET", there + part, {}) for part in ("", "/content", "/text", "/chunks", "/pages/1.webp")),
        ("PATCH", there, {"json": {"collection": "a"}}),
        ("PUT", there, file),
        ("DELETE", there, {}),
        ("POST", "/documents/index", {"json": {"doc_ids": [shelves.other]}}),
        ("POST", "/query", {"json": {"query": "rent", "doc_ids": [shelves.other]}}),
    ]
    for method, path, request in calls:
        answer = await shelves.api.call(method, path, key=shelves.key, **request)
        assert faults(path, answer, 404) == [], (method, path)
    assert (await shelves.search.record(shelves.other))["collection"] == "b"


async def test_a_key_puts_documents_into_its_collections_only(shelves: Shelves) -> None:
    async def put(**parts: str) -> Any:
        file = {"file": ("a.txt", b"Another one.")}
        return await shelves.api.call("POST", "/documents/upload", key=shelves.key, files=file, data=parts)

    refused = await put(collection="b")
    assert faults("/documents/upload", refused, 403) == []
    assert refused.json()["error"] == "This API key is limited to other collections. Name one of: a, empty"
    assert (await shelves.search.record((await put()).json()["doc_id"]))["collection"] == "a"
    assert (await shelves.search.record((await put(collection="empty")).json()["doc_id"]))["collection"] == "empty"
    moved = await shelves.api.call("PATCH", f"/documents/{shelves.mine}", json={"collection": "b"}, key=shelves.key)
    assert (moved.status_code, (await shelves.search.record(shelves.mine))["collection"]) == (403, "a")
    moved = await shelves.api.call("PATCH", f"/documents/{shelves.mine}", json={"collection": "empty"}, key=shelves.key)
    assert (moved.status_code, moved.json()["collection"]) == (200, "empty")
    assert (await shelves.api.call("DELETE", f"/documents/{shelves.mine}", key=shelves.key)).status_code == 204


async def test_a_limited_key_indexes_its_collections_and_sees_its_own_runs(shelves: Shelves) -> None:
    waiting = await shelves.search.upload("Not yet indexed.", "later.txt", data={"collection": "b"})
    await shelves.search.upload("Not yet indexed either.", "soon.txt", data={"collection": "a"})
    indexed = await shelves.search.index(key=shelves.key)
    assert (indexed["documents_processed"], indexed["index_size"]) == (2, 2)
    assert (await shelves.search.record(waiting))["status"] == "uploaded"
    [mine] = (await shelves.get("/jobs"))["jobs"]
    everyone = (await shelves.api.get("/jobs")).json()["jobs"]
    assert mine in everyone
    for job in everyone:
        expected = 200 if job["id"] == mine["id"] else 404
        for path in (f"/jobs/{job['id']}", f"/jobs/{job['id']}/events"):
            assert (await shelves.api.get(path, key=shelves.key)).status_code == expected
        assert (await shelves.api.call("DELETE", f"/jobs/{job['id']}", key=shelves.key)).status_code == expected


async def test_pages_of_runs_are_whole_although_others_lie_between(
    shelves: Shelves, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deedbox.kernel.limits.LIST_BATCH", 2)
    for _ in range(3):
        await shelves.search.index(key=shelves.key)
        for _ in range(3):
            await shelves.search.index()
    first = await shelves.get("/jobs?limit=2")
    rest = await shelves.get(f"/jobs?limit=2&cursor={first['next_cursor']}")
    assert (first["count"], first["has_more"], rest["count"], rest["has_more"]) == (2, True, 1, False)


async def test_no_key_reaches_beyond_the_collections_of_its_maker(shelves: Shelves) -> None:
    for wanted in ({}, {"collections": ["a", "b"]}):
        answer = await shelves.api.post("/api/v1/keys", {"name": "more", **wanted}, key=shelves.key)
        assert answer.status_code == 403
        assert answer.json()["error"].endswith("Set collections to some of: a, empty"), answer.text
    made = await shelves.api.post("/api/v1/keys", {"name": "less", "collections": ["a", "a"]}, key=shelves.key)
    assert (made.status_code, made.json()["collections"]) == (201, ["a"])
    assert (await shelves.api.get("/api/v1/me", key=shelves.key)).json()["key"]["collections"] == ["a", "empty"]
    for names in ([], [" a"], ["n" * 101], [str(number) for number in range(51)]):
        answer = await shelves.api.post("/api/v1/keys", {"name": "odd", "collections": names})
        assert answer.status_code == 400, names


async def test_signed_documents_are_in_no_count_and_no_run_of_who_may_not_read_them(search: Search) -> None:
    key = await search.api.make_key("search:read", "search:write", "search:query")
    before = (await search.api.get("/stats", key=key)).json()
    await search.indexed(TEXT, "mine.txt", key=key)
    own = (await search.api.get("/jobs", key=key)).json()["jobs"]
    signed = await entry(search.api, await Office(search.api).sealed())
    stats = (await search.api.get("/stats", key=key)).json()
    assert (stats["documents"], stats["chunks"]) == (before["documents"] + 1, before["chunks"] + 1)
    assert stats["storage_bytes"] == len(TEXT)
    collections = (await search.api.get("/collections", key=key)).json()["collections"]
    assert collections == [{"name": "default", "documents": 1}]
    assert (await search.api.get("/jobs", key=key)).json()["jobs"] == own
    everyone = (await search.api.get("/jobs")).json()["jobs"]
    assert len(everyone) > len(own)
    assert (await search.index(key=key))["documents_processed"] == 1, f"{signed['doc_id']} is not theirs to index"


async def test_collections_are_listed_by_name_with_their_counts(search: Search) -> None:
    for name in ("b", "Ä", "a", "b"):
        await search.upload(TEXT, data={"collection": name})
    whole = (await search.api.get("/collections")).json()
    assert whole["collections"] == [
        {"name": "a", "documents": 1},
        {"name": "b", "documents": 2},
        {"name": "Ä", "documents": 1},
    ]
    first = (await search.api.get("/collections?limit=2")).json()
    assert (first["has_more"], first["next_cursor"]) == (True, "b")
    rest = (await search.api.get("/collections?limit=2&cursor=b")).json()
    assert first["collections"] + rest["collections"] == whole["collections"]

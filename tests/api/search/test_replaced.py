"""PUT /documents/{id}: until the new file is indexed, everything about an answer names the file that answered."""

from pathlib import Path
from typing import Any

import pytest

from tests.api.search.conftest import Search
from tests.api.search.files import pdf, replace, rows, stored
from tests.api.search.test_receipts import proven, statement, verdict
from tests.api.signing.conftest import Office, signer

pytestmark = [pytest.mark.anyio, pytest.mark.both_databases]
RENT, HARBOUR = b"The rent is due on the first day of the month.", b"The harbour closes at noon."


def named(place: Any) -> tuple[str, str, int]:
    return place["filename"], place["sha256"], place["version"]


async def old_and_new(search: Search) -> tuple[str, Any, Any]:
    """A document that answers with its old text, and its records before and after the new file came."""
    doc_id = await search.indexed(RENT.decode(), "lease.txt")
    before = await search.record(doc_id)
    assert (await replace(search.api, doc_id, HARBOUR, "harbour.md")).status_code == 200
    return doc_id, before, await search.record(doc_id)


async def test_results_and_receipt_name_the_replaced_file_until_indexing(search: Search) -> None:
    doc_id, before, after = await old_and_new(search)
    assert named(after)[0::2] == ("harbour.md", 2)
    shown = await proven(search, query="rent")
    [best] = shown["results"]
    assert (best["text"], named(best["metadata"])) == (RENT.decode(), named(before))
    assert best["document"]["filename"] == "lease.txt"
    assert (statement(shown)["results"][0]["file_sha256"], await verdict(search, shown)) == (
        before["sha256"],
        "authentic",
    )
    await search.index(doc_id)
    [best] = await search.ask("harbour")
    assert (best["text"], named(best["metadata"])) == (HARBOUR.decode(), named(after))


async def test_answers_name_the_replaced_file_until_indexing(search: Search) -> None:
    _, before, _ = await old_and_new(search)
    answer = (await search.api.post("/answer", {"query": "When is the rent due?"})).json()
    assert [named(one["metadata"]) for one in answer["passages"]] == [named(before)]


@pytest.mark.parametrize(
    ("query", "body", "found"),
    [
        ("rent", {"filter": {"filename": "lease.txt"}}, 1),
        ("rent", {"filter": {"filename": "harbour.md"}}, 0),
        ("rent", {"filter": {"media_type": "text/plain"}}, 1),
        ("rent filename:lease", {}, 1),
        ("rent filename:harbour", {}, 0),
    ],
)
async def test_filters_see_the_replaced_file_until_indexing(search: Search, query: str, body: Any, found: int) -> None:
    await old_and_new(search)
    assert len(await search.ask(query, **body)) == found


async def test_a_new_name_is_searchable_after_indexing_the_same_bytes(search: Search) -> None:
    doc_id = await search.indexed(RENT.decode(), "lease.txt")
    await replace(search.api, doc_id, RENT, "tenancy.txt")
    assert await search.ask("tenancy", mode="keyword") == []
    await search.index(doc_id)
    [best] = await search.ask("tenancy", mode="keyword")
    assert named(best["metadata"])[0::2] == ("tenancy.txt", 2)


async def test_an_unsigned_text_has_no_code_when_a_signed_file_replaces_it(search: Search) -> None:
    document = await Office(search.api).sealed(signers=[signer("ann")])
    sealed = (await search.api.get(f"/api/v1/documents/{document['id']}/signed")).content
    doc_id = await search.indexed(RENT.decode(), "lease.txt")
    assert (await replace(search.api, doc_id, sealed, "lease.pdf")).status_code == 200
    shown = await proven(search, query="rent is due", doc_ids=[doc_id])
    [best] = shown["results"]
    assert (best["metadata"]["signed"], statement(shown)["results"][0]["verification_code"]) == (False, None)
    assert await search.ask("rent", doc_ids=[doc_id], filter={"signed": True}) == []


async def test_page_pictures_show_the_replaced_file_until_indexing(search: Search, tmp_path: Path) -> None:
    api = search.api
    answer = await api.call("POST", "/documents/upload", files={"file": ("a.pdf", pdf("The rent is due"))})
    doc_id = answer.json()["doc_id"]
    await search.index(doc_id)
    picture = await api.get(f"/documents/{doc_id}/pages/1.webp")
    assert (await replace(api, doc_id, pdf("The harbour closes", "at noon"), "b.pdf")).status_code == 200
    [best] = await search.ask("rent")
    old, new = best["metadata"]["sha256"], (await search.record(doc_id))["sha256"]
    waiting = await api.get(f"/documents/{doc_id}/pages/1.webp")
    assert (waiting.status_code, waiting.content) == (200, picture.content)
    assert (await api.get(f"/documents/{doc_id}/pages/1.webp?sha256={old}")).content == picture.content
    fresh = await api.get(f"/documents/{doc_id}/pages/1.webp?sha256={new}")
    assert (fresh.status_code, fresh.content == picture.content) == (200, False)
    assert "rent" in (await api.get(f"/documents/{doc_id}/text?sha256={old}")).text
    assert "harbour" in (await api.get(f"/documents/{doc_id}/text")).text
    page = (await api.get(f"/documents/{doc_id}/content?sha256={old}")).content
    assert page == pdf("The rent is due")
    await search.index(doc_id)
    assert (await api.get(f"/documents/{doc_id}/pages/1.webp")).content == fresh.content
    assert (await api.get(f"/documents/{doc_id}/pages/1.webp?sha256={old}")).status_code == 404
    counts = await rows(api)
    assert (counts["blobs"], counts["extractions"], counts["chunk_sets"]) == (2, 1, 1)


async def test_a_replaced_file_goes_with_its_document(search: Search, tmp_path: Path) -> None:
    api = search.api
    doc_id, *_ = await old_and_new(search)
    await replace(api, doc_id, b"A third text.", "third.txt")
    assert (await rows(api))["extractions"] == 2, "the second text never answered"
    assert named((await search.ask("rent"))[0]["metadata"])[0::2] == ("lease.txt", 1)
    assert (await api.call("DELETE", f"/documents/{doc_id}")).status_code == 204
    assert set((await rows(api)).values()) == {0}
    await api.deedbox.blobs.sweep(api.deedbox.db, api.clock.now())
    assert stored(tmp_path) == []


async def test_a_new_file_without_text_ends_the_answers_of_the_old(search: Search) -> None:
    doc_id = await search.indexed(RENT.decode(), "lease.txt")
    await search.indexed(HARBOUR.decode(), "other.txt")
    await replace(search.api, doc_id, pdf(), "empty.pdf")
    await replace(search.api, doc_id, b"\n", "empty.txt")
    assert named((await search.ask("rent", doc_ids=[doc_id]))[0]["metadata"])[0::2] == ("lease.txt", 1)
    answer = await search.api.post("/documents/index", {"doc_ids": [doc_id]})
    assert [one["error"] for one in answer.json()["failed"]] == ["No extractable text"]
    assert await search.ask("rent", doc_ids=[doc_id]) == []
    assert (await rows(search.api))["extractions"] == 2


async def test_facets_leave_out_a_document_that_changes_after_the_search(
    search: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    await search.indexed(f"{RENT.decode()} Also here.", "other.txt")
    changing, database = await search.indexed(RENT.decode(), "lease.txt"), search.api.deedbox.db
    usual, changed = database.read_aside, list[str]()

    async def after_a_change(act: Any) -> Any:
        if not changed:
            changed.append(changing)
            assert (await replace(search.api, changing, HARBOUR, "harbour.md")).status_code == 200
            await search.index(changing)
        return await usual(act)

    # The index was searched by then; what it found is read, and counted, after that.
    monkeypatch.setattr(database, "read_aside", after_a_change)
    asked = {"query": "rent", "mode": "keyword", "facets": ["media_type"]}
    answer = (await search.api.post("/query", asked)).json()
    assert changed
    assert [one["document"]["filename"] for one in answer["results"]] == ["other.txt"]
    assert answer["facets"] == {"media_type": [{"value": "text/plain", "documents": 1}]}

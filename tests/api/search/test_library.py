"""The documents of a workspace: listed, shown, replaced and deleted, and never seen from another one."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deedbox.kernel import limits
from deedbox.kernel.db import Tx
from deedbox.kernel.ids import new_id
from deedbox.search.chunks import store as chunk_store
from deedbox.search.library import store
from tests.api.answers import faults
from tests.api.conftest import Api
from tests.api.search.files import TEXT, doc_id, index_as, pdf, replace, rows, stored, upload

pytestmark = pytest.mark.anyio

FIELDS = [
    "doc_id", "filename", "size_bytes", "text_length", "hidden_length", "status", "error", "sha256", "version",
    "media_type", "pages", "chunks", "created_at", "indexed_at", "stale", "document_id", "collection", "metadata",
]  # fmt: skip
MISSING = "upl_01JD0000000000000000000000"
PARTS = ("", "/content", "/text", "/chunks", "/pages/1.webp")


async def listed(api: Api, **request: Any) -> list[dict[str, Any]]:
    body = (await api.get("/documents", **request)).json()
    assert list(body) == ["documents", "count", "has_more", "next_cursor"]
    assert (body["has_more"], body["next_cursor"]) == (False, None)
    assert body["count"] == len(body["documents"])
    return list(body["documents"])


async def test_an_empty_library_is_an_empty_list(api: Api) -> None:
    assert await listed(api) == []


async def test_the_list_shows_every_document_with_its_fields_oldest_first(api: Api) -> None:
    names = ["c.txt", "a.txt", "b.txt"]
    for name in names:
        api.clock.forward(1)
        await doc_id(api, TEXT + name.encode(), name)
    found = await listed(api)
    assert [document["filename"] for document in found] == names
    assert all(list(document) == FIELDS for document in found)
    first = found[0]
    assert (first["status"], first["error"], first["chunks"], first["stale"]) == ("uploaded", None, 0, False)
    assert (first["size_bytes"], first["text_length"], first["pages"]) == (len(TEXT) + 5, len(TEXT) + 5, None)
    assert (first["created_at"], first["indexed_at"]) == ("2026-03-01T12:00:01Z", None)


@pytest.mark.parametrize("number", [0, 1, 3, 4, 6])
async def test_the_whole_list_comes_in_pieces_of_a_few_documents_and_is_one(
    api: Api, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    made = []
    for one in range(number):
        api.clock.forward(1)
        made.append(await doc_id(api, TEXT + bytes([65 + one]), f"{one}.txt"))
    monkeypatch.setattr(limits, "LIST_BATCH", 3)
    read, reads = api.deedbox.db.read_aside, 0

    async def counted(fn: Callable[[Tx], Any]) -> Any:
        nonlocal reads
        reads += 1
        return await read(fn)

    monkeypatch.setattr(api.deedbox.db, "read_aside", counted)
    assert [one["doc_id"] for one in await listed(api)] == made
    assert reads >= -(-number // 3) + 1
    monkeypatch.undo()
    if made:
        rest = (await api.get("/documents", params={"cursor": made[0]})).json()
        assert ([one["doc_id"] for one in rest["documents"]], rest["count"]) == (made[1:], number - 1)


async def test_a_record_is_what_the_list_shows(api: Api) -> None:
    found = await doc_id(api, pdf("one", "two"), "a.pdf")
    record = (await api.get(f"/documents/{found}")).json()
    assert [record] == await listed(api)
    assert record["pages"] == 2


async def test_a_document_is_stale_when_another_recipe_made_its_chunks(api: Api, monkeypatch: Any) -> None:
    found = await doc_id(api)
    await index_as(api, found, "The tenant", " pays", recipe="old")
    for recipe, stale in (("old", False), ("new", True), (None, False)):
        monkeypatch.setattr(type(api.deedbox.search), "recipe", recipe)
        record = (await api.get(f"/documents/{found}")).json()
        assert (record["stale"], record["chunks"], record["status"]) == (stale, 2, "indexed")


async def test_what_is_not_there_is_404(api: Api) -> None:
    for name in (MISSING, "x", "doc_01JD0000000000000000000000", "%27", "a" * 500):
        for part in PARTS:
            answer = await api.get(f"/documents/{name}{part}")
            assert faults(part, answer, 404) == []
        assert faults("", await api.call("DELETE", f"/documents/{name}"), 404) == []
        assert faults("", await replace(api, name, TEXT), 404) == []


async def test_a_delete_takes_everything_with_it_at_once(api: Api, tmp_path: Path) -> None:
    found = await doc_id(api)
    await index_as(api, found, "The tenant", " pays")
    answer = await api.call("DELETE", f"/documents/{found}")
    assert (answer.status_code, answer.content) == (204, b"")
    assert set((await rows(api)).values()) == {0}
    assert await api.rows("select upload_id, chunk_set_id from index_log") == [(found, None)]
    assert await listed(api) == []
    for part in PARTS:
        assert (await api.get(f"/documents/{found}{part}")).status_code == 404
    assert (await api.call("DELETE", f"/documents/{found}")).status_code == 404
    await api.deedbox.blobs.sweep(api.deedbox.db, api.clock.now())
    assert stored(tmp_path) == []


async def test_a_delete_leaves_what_a_twin_needs(api: Api) -> None:
    one, two = await doc_id(api, name="a.txt"), await doc_id(api, name="b.txt")
    await index_as(api, one, "The tenant")
    await api.deedbox.db.write(lambda tx: chunk_store.log_change(tx, api.workspace, "recipe", two, f"set_{one}_1"))
    assert (await api.call("DELETE", f"/documents/{one}")).status_code == 204
    assert (await api.get(f"/documents/{two}/content")).content == TEXT
    assert (await api.get(f"/documents/{two}/text")).content == TEXT
    assert (await api.get(f"/documents/{two}/chunks")).json()["count"] == 1
    assert (await api.call("DELETE", f"/documents/{two}")).status_code == 204
    assert set((await rows(api)).values()) == {0}


async def test_a_delete_takes_chunks_that_another_model_has_made_meanwhile(api: Api) -> None:
    found = await doc_id(api)
    await index_as(api, found, "old", recipe="old")

    def renew(tx: Tx) -> None:
        chunk_store.add_chunk_set(tx, "set_new", store.uploads(tx, api.workspace)[0], "new", [], "2026-03-01T12:00:00Z")
        chunk_store.log_change(tx, api.workspace, "new", found, "set_new")

    await api.deedbox.db.write(renew)
    await api.call("DELETE", f"/documents/{found}")
    assert (await rows(api))["chunk_sets"] == 0


@pytest.mark.both_databases
async def test_one_of_two_deletes_at_once_wins(api: Api) -> None:
    found = await doc_id(api)
    answers = await asyncio.gather(*(api.call("DELETE", f"/documents/{found}") for _ in range(5)))
    assert sorted(answer.status_code for answer in answers) == [204, 404, 404, 404, 404]


async def test_a_document_deleted_while_it_is_indexed_does_not_come_back(api: Api) -> None:
    found = await doc_id(api)
    [before] = await api.deedbox.db.read(lambda tx: store.uploads(tx, api.workspace))
    await api.call("DELETE", f"/documents/{found}")
    expected = {"revision": before.revision}
    finished = await api.deedbox.db.write(lambda tx: store.change_upload(tx, found, expected, {"status": "indexed"}))
    assert finished is False
    assert await listed(api) == []


async def test_replaced_content_keeps_the_id_and_the_old_chunks_answer_on(api: Api, tmp_path: Path) -> None:
    found = await doc_id(api)
    await index_as(api, found, "The tenant")
    answer = await replace(api, found, b"# The landlord", "b.md")
    body = answer.json()
    assert (answer.status_code, body["doc_id"], body["filename"]) == (200, found, "b.md")
    assert (body["status"], body["size_bytes"], body["text_length"]) == ("success", 14, 14)
    [record] = await listed(api)
    assert (record["status"], record["media_type"], record["chunks"]) == ("uploaded", "text/markdown", 1)
    assert (await api.get(f"/documents/{found}/text")).text == "# The landlord"
    assert (await api.get(f"/documents/{found}/content")).content == b"# The landlord"
    assert (await api.get(f"/documents/{found}/chunks")).json()["chunks"][0]["text"] == "The tenant"
    counts = await rows(api)
    assert (counts["blobs"], counts["blob_refs"], counts["extractions"], counts["chunk_sets"]) == (4, 4, 2, 1)
    assert await api.rows("select revision from uploads") == [(2,)]
    await api.deedbox.blobs.sweep(api.deedbox.db, api.clock.now())
    assert len(stored(tmp_path)) == 4, "the old file still answers"


async def test_content_may_be_replaced_by_itself_and_by_that_of_another(api: Api) -> None:
    one, two = await doc_id(api), await doc_id(api, b"other words")
    assert (await replace(api, one, TEXT)).status_code == 200
    assert (await replace(api, one, b"other words")).status_code == 200
    counts = await rows(api)
    assert (counts["blobs"], counts["blob_refs"], counts["extractions"]) == (2, 3, 1)
    await api.call("DELETE", f"/documents/{two}")
    assert (await api.get(f"/documents/{one}/text")).text == "other words"


async def test_content_replaced_by_itself_as_another_type_has_the_text_of_that_type(api: Api, tmp_path: Path) -> None:
    found = await doc_id(api, b"<p>words</p>", "a.txt")
    assert (await replace(api, found, b"<p>words</p>", "a.html")).status_code == 200
    assert (await api.get(f"/documents/{found}/text")).text.strip() == "words"
    assert (await api.get(f"/documents/{found}/content")).content == b"<p>words</p>"
    counts = await rows(api)
    assert (counts["blobs"], counts["blob_refs"], counts["extractions"]) == (2, 2, 1)
    await api.deedbox.blobs.sweep(api.deedbox.db, api.clock.now())
    assert len(stored(tmp_path)) == 2


async def test_a_text_stays_until_the_last_document_of_its_bytes_and_type_is_gone(api: Api, tmp_path: Path) -> None:
    data = b"<p>words</p>"
    plain, page, other = [await doc_id(api, data, name) for name in ("a.txt", "a.html", "b.html")]
    left = []
    for gone in (page, plain, other):
        await api.call("DELETE", f"/documents/{gone}")
        await api.deedbox.blobs.sweep(api.deedbox.db, api.clock.now())
        left.append(((await rows(api))["extractions"], len(stored(tmp_path))))
        if gone != other:
            assert (await api.get(f"/documents/{other}/text")).text.strip() == "words"
    assert left == [(2, 3), (1, 2), (0, 0)]
    assert set((await rows(api)).values()) == {0}


@pytest.mark.parametrize(("name", "data"), [("a.exe", TEXT), ("a.pdf", b"no PDF"), ("a.txt", b"")])
async def test_a_refused_replacement_changes_nothing(api: Api, tmp_path: Path, name: str, data: bytes) -> None:
    found = await doc_id(api)
    before = await listed(api)
    assert faults("", await replace(api, found, data, name), 400) == []
    assert await listed(api) == before
    assert len(stored(tmp_path)) == 2


async def test_a_run_over_the_old_content_loses(api: Api) -> None:
    found = await doc_id(api)
    await replace(api, found, b"new words")
    finished = await api.deedbox.db.write(
        lambda tx: store.change_upload(tx, found, {"revision": 1}, {"status": "indexed"})
    )
    assert finished is False


async def test_a_workspace_sees_nothing_of_another(api: Api) -> None:
    mine = await doc_id(api)
    theirs = await api.make_key(workspace=api.other_workspace)
    their_id = await doc_id(api, b"their words", key=theirs)
    await index_as(api, their_id, "their words", workspace=api.other_workspace)
    assert [document["doc_id"] for document in await listed(api)] == [mine]
    assert [document["doc_id"] for document in await listed(api, key=theirs)] == [their_id]
    for part in PARTS:
        hidden, missing = await api.get(f"/documents/{their_id}{part}"), await api.get(f"/documents/{MISSING}{part}")
        assert (hidden.status_code, hidden.json()) == (404, missing.json())
    assert (await api.call("DELETE", f"/documents/{their_id}")).status_code == 404
    assert (await replace(api, their_id, b"mine now")).status_code == 404
    assert (await api.get(f"/documents/{their_id}/text", key=theirs)).text == "their words"


async def test_a_file_shared_by_two_workspaces_survives_the_delete_in_one(api: Api) -> None:
    theirs = await api.make_key(workspace=api.other_workspace)
    mine, their_id = await doc_id(api), await doc_id(api, key=theirs)
    await api.call("DELETE", f"/documents/{mine}")
    await api.deedbox.blobs.sweep(api.deedbox.db, api.clock.now())
    assert (await api.get(f"/documents/{their_id}/content", key=theirs)).content == TEXT
    assert (await api.get(f"/documents/{their_id}/text", key=theirs)).content == TEXT


@pytest.mark.both_databases
async def test_many_uploads_at_once_all_arrive(api: Api) -> None:
    answers = await asyncio.gather(*(upload(api, TEXT + b"%d" % (number % 3), f"{number}.txt") for number in range(12)))
    assert [answer.status_code for answer in answers] == [200] * 12
    counts = await rows(api)
    assert (len(await listed(api)), counts["blobs"], counts["extractions"]) == (12, 6, 3)


async def test_others_get_their_turn_while_the_whole_list_is_told(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LIST_BATCH", 1)
    many = 200
    records = [{"id": new_id("upl", api.clock.now()), "workspace": api.workspace} for _ in range(many)]
    sql = (
        "insert into uploads (id, workspace_id, filename, filename_folded, media_type, size_bytes, sha256, text_length,"
        " status, revision, created_at) values (:id, :workspace, 'a.txt', 'a.txt', 'text/plain', 1, 'a', 1, 'uploaded',"
        " 1, '2026-03-01T12:00:00Z')"
    )
    await api.deedbox.db.write(lambda tx: tx.many(sql, list(records)))
    turns = 0

    async def take_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    others = asyncio.create_task(take_turns())
    try:
        assert (await api.get("/documents")).json()["count"] == many
    finally:
        others.cancel()
    assert turns > many

"""Completed documents are searchable: taken into the library once, with who signed them as filters."""

import asyncio
import io
from typing import Any

import pikepdf
import pytest

from deedbox.kernel.jobs import AUTOMATIC, PATIENT
from deedbox.kernel.outbox import Event
from deedbox.search.indexing.embedders import Embedders
from tests.api.conftest import Api, Key
from tests.api.search.conftest import Search
from tests.api.signing.conftest import Office, signer
from tests.kinds import kinds
from tests.search.hashing import HashingEmbedder

pytestmark = pytest.mark.anyio
SENTENCE = "The tenant pays the rent."


async def entry(api: Api, document: Any, status: str = "indexed") -> Any:
    """The record of the library that stands for the document, once it has this status."""
    async with asyncio.timeout(60):
        while True:
            records = (await api.get("/documents")).json()["documents"]
            found = [one for one in records if one["document_id"] == document["id"] and one["status"] == status]
            if found:
                [record] = found
                return record
            await asyncio.sleep(0.05)


async def test_a_sentence_of_a_completed_document_is_found_with_its_page(search: Search) -> None:
    document = await Office(search.api).sealed(title="Lease of the harbour", signers=[signer("ann")])
    record = await entry(search.api, document)
    assert (record["filename"], record["media_type"]) == ("Lease of the harbour.pdf", "application/pdf")
    said = {"signed": True, "signer": "ann@example.com", "verification_code": document["verification_code"]}
    assert (record["collection"], record["metadata"]) == ("signed", said)
    by_code = {"field": "metadata.verification_code", "op": "eq", "value": document["verification_code"]}
    assert {one["metadata"]["document_id"] for one in await search.ask(SENTENCE, filter=by_code)} == {document["id"]}
    [best, *_] = await search.ask(SENTENCE, filter={"signed": True})
    assert SENTENCE in best["text"]
    place = best["metadata"]
    assert (place["page"], place["signed"], place["document_id"]) == (1, True, document["id"])
    content = await search.api.get(f"/documents/{record['doc_id']}/content")
    sealed = await search.api.get(f"/api/v1/documents/{document['id']}/signed")
    assert content.content == sealed.content


async def test_people_and_source_are_filters(search: Search) -> None:
    office = Office(search.api)
    lease = await entry(search.api, await office.sealed())
    loan = await office.create(send=True, title="Loan", signers=[signer("ben")])
    assert (await office.sign(loan, "ben")).status_code == 200
    other = await entry(search.api, await office.completed(loan))
    by_hand = await search.indexed("A lease that nobody signed.", "note.txt")

    async def found(**wanted: Any) -> set[str]:
        return {one["metadata"]["doc_id"] for one in await search.ask(SENTENCE, top_k=50, filter=wanted)}

    assert await found(signer="Ann@example.com") == {lease["doc_id"]}
    assert await found(signer="ben@example.com") == {other["doc_id"]}
    assert await found(signer="nobody@example.com") == set()
    not_ann = {"field": "signer", "op": "ne", "value": "ann@example.com"}
    assert await found(**not_ann) == {other["doc_id"], by_hand}
    assert await found(**{"not": not_ann, "signed": True}) == {lease["doc_id"]}
    assert await found(source="document") == {lease["doc_id"], other["doc_id"]}
    assert await found(source="upload") == {by_hand}
    assert await found(source="upload", signed=True) == set()


async def test_the_workspace_can_keep_its_documents_out(search: Search) -> None:
    office = Office(search.api)
    kept = await office.sealed()
    await entry(search.api, kept)
    answer = await search.api.call("PATCH", "/api/v1/workspace", json={"search_documents": False})
    assert answer.json()["search_documents"] is False
    await office.sealed(title="Private")
    records = (await search.api.get("/documents")).json()["documents"]
    assert [one["document_id"] for one in records] == [kept["id"]], "what was searchable stays so"


async def test_what_is_deleted_from_the_library_stays_out_of_it(search: Search) -> None:
    document = await Office(search.api).sealed()
    record = await entry(search.api, document)
    await search.indexed("Something else.", "note.txt")
    assert (await search.api.call("DELETE", f"/documents/{record['doc_id']}")).status_code == 204
    assert all(one["metadata"]["document_id"] is None for one in await search.ask(SENTENCE, top_k=50))
    assert (await search.api.get(f"/api/v1/documents/{document['id']}/signed")).status_code == 200


async def test_what_was_completed_while_there_was_no_model_is_indexed_with_it(api: Api) -> None:
    deedbox = api.deedbox
    await deedbox.start()
    document = await Office(api).sealed()
    waiting = await entry(api, document, "uploaded")
    sealed = await api.get(f"/api/v1/documents/{document['id']}/signed")
    pages = len(pikepdf.open(io.BytesIO(sealed.content)).pages)
    assert (waiting["pages"], waiting["text_length"]) == (pages, 0), "nothing is read for nobody"
    deedbox.search.embedders = Embedders(HashingEmbedder, lambda _: None)
    await deedbox.completed_documents.catch_up()
    indexed = await entry(api, document, "indexed")
    assert indexed["pages"] == pages
    assert indexed["text_length"] == len((await api.get(f"/documents/{indexed['doc_id']}/text")).text) > 0
    deedbox.search.embedders = Embedders(lambda: None, lambda _: None)
    between = await Office(api).sealed()
    await entry(api, between, "uploaded")
    deedbox.search.embedders = Embedders(HashingEmbedder, lambda _: None)
    await deedbox.completed_documents.catch_up()
    await entry(api, between, "indexed")
    await deedbox.stop()


async def test_a_completed_document_is_indexed_automatically_and_an_upload_is_not(search: Search) -> None:
    """At its completion, and when there is a model again."""
    api, deedbox, office = search.api, search.api.deedbox, Office(search.api)
    priorities = "select priority from jobs where kind = 'index' order by priority"
    await entry(api, await office.sealed())
    assert await api.rows(priorities) == [(AUTOMATIC,)]
    await search.indexed("A note.", "note.txt")
    assert await api.rows(priorities) == [(PATIENT,), (AUTOMATIC,)]
    deedbox.search.embedders = Embedders(lambda: None, lambda _: None)
    waiting = await office.sealed()
    deedbox.search.embedders = Embedders(HashingEmbedder, lambda _: None)
    await deedbox.completed_documents.catch_up()
    await entry(api, waiting)
    assert await api.rows(priorities) == [(PATIENT,), (AUTOMATIC,), (AUTOMATIC,)]


async def test_the_entry_is_there_with_the_completion_and_only_once(search: Search) -> None:
    deedbox = search.api.deedbox
    document = await Office(search.api).sealed()
    [(upload_id,)] = await search.api.rows("select id from uploads")
    assert (await entry(search.api, document))["doc_id"] == upload_id
    told = Event("evt_1", search.api.workspace, "document.completed", document["id"], 1, "{}", document["created_at"])
    await deedbox.db.write(lambda tx: deedbox.completed_documents.react(tx, [told]))
    assert await search.api.rows("select id from uploads") == [(upload_id,)]


async def test_what_cannot_be_read_fails_with_the_reason_and_harms_no_other(search: Search) -> None:
    office, deedbox = Office(search.api), search.api.deedbox
    deedbox.search.embedders = Embedders(lambda: None, lambda _: None)
    document = await office.sealed()
    of_upload = "select location, blobs.size_bytes from blobs join uploads on uploads.sha256 = blobs.sha256"
    [(location, size)] = await search.api.rows(of_upload)
    kinds.damage(deedbox.settings.data_dir, location, b"%PDF-1.7 and no more".ljust(size))
    deedbox.search.embedders = Embedders(HashingEmbedder, lambda _: None)
    await deedbox.completed_documents.catch_up()
    assert "damaged" in (await entry(search.api, document, "failed"))["error"]
    await entry(search.api, await office.sealed(title="Another"))


async def test_signed_documents_do_not_exist_for_who_may_not_read_documents(search: Search) -> None:
    api = search.api
    signed = (await entry(api, await Office(api).sealed()))["doc_id"]
    by_hand = await search.indexed("The tenant pays nothing.", "note.txt")
    searching = await api.make_key("search:read", "search:write", "search:query")
    reading = await api.make_key("search:read", "search:query", "documents:read")

    async def asked(key: Key, **wanted: Any) -> Any:
        body = {"query": SENTENCE, "top_k": 50, **wanted}
        return await api.call("POST", "/query", key=key, json=body)

    async def found(key: Key, **wanted: Any) -> set[str]:
        return {one["metadata"]["doc_id"] for one in (await asked(key, **wanted)).json()["results"]}

    assert await found(reading) == {signed, by_hand}
    assert await found(searching) == {by_hand}
    assert await found(searching, mode="keyword") == {by_hand}
    assert await found(searching, filter={"source": "document"}) == set()
    assert (await asked(searching, doc_ids=[signed])).status_code == 404
    for path in ("/documents", "/documents?limit=10"):
        assert [one["doc_id"] for one in (await api.get(path, key=searching)).json()["documents"]] == [by_hand]
        assert len((await api.get(path, key=reading)).json()["documents"]) == 2
    for part in ("", "/content", "/text", "/chunks", "/pages/1.webp"):
        assert (await api.get(f"/documents/{signed}{part}", key=searching)).status_code == 404, part
        assert (await api.get(f"/documents/{signed}{part}", key=reading)).status_code == 200, part
    index = await api.call("POST", "/documents/index", key=searching, json={"doc_ids": [signed]})
    assert index.status_code == 404
    assert (await api.call("DELETE", f"/documents/{signed}", key=searching)).status_code == 404
    assert signed in await found(reading)


async def test_what_stands_for_a_document_is_never_replaced(search: Search) -> None:
    record = await entry(search.api, await Office(search.api).sealed())
    path, file = f"/documents/{record['doc_id']}", {"file": ("other.txt", b"Something else.")}
    answer = await search.api.call("PUT", path, files=file)
    assert answer.status_code == 409
    assert (await search.api.get(path)).json() == record


async def test_the_collection_of_completed_documents_takes_no_others(search: Search) -> None:
    api, said = search.api, "reserved for documents that were completed here"
    file = {"file": ("a.txt", b"A note.", "text/plain")}
    refused = await api.call("POST", "/documents/upload", files=file, data={"collection": "signed"})
    assert (refused.status_code, said in refused.json()["error"]) == (400, True)
    assert (await api.get("/documents")).json()["documents"] == []
    note = await search.indexed("A note.", "note.txt")
    moved = await api.call("PATCH", f"/documents/{note}", json={"collection": "signed"})
    assert (moved.status_code, said in moved.json()["error"]) == (400, True)


async def test_what_a_completed_document_says_of_itself_cannot_be_changed(search: Search) -> None:
    record = await entry(search.api, await Office(search.api).sealed())
    path, kept = f"/documents/{record['doc_id']}", record["metadata"]
    forged = await search.api.call("PATCH", path, json={"metadata": {**kept, "verification_code": "AAAA-BBBB-CCCC"}})
    assert (forged.status_code, "verification_code" in forged.json()["error"]) == (400, True)
    for given in ({"year": 2026}, {**kept, "year": 2026}):
        filed = await search.api.call("PATCH", path, json={"metadata": given})
        assert (filed.status_code, filed.json()["metadata"]) == (200, {**kept, "year": 2026})
    elsewhere = await search.api.call("PATCH", path, json={"collection": "leases"})
    back = await search.api.call("PATCH", path, json={"collection": "signed"})
    assert (elsewhere.json()["collection"], back.json()["collection"]) == ("leases", "signed")

"""The filter `signed` knows what was sealed here by its bytes."""

import hashlib
from typing import Any

import pytest

from deedbox.signing.store import sealed
from tests.api.conftest import Key
from tests.api.search.conftest import Search
from tests.api.signing.conftest import Office

pytestmark = pytest.mark.anyio


async def upload(search: Search, name: str, content: bytes, **request: Any) -> str:
    files = {"file": (name, content)}
    answer = await search.api.call("POST", "/documents/upload", files=files, **request)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["doc_id"])


async def by_hand_only(search: Search) -> Office:
    """An office whose documents do not come into the library by themselves."""
    answer = await search.api.call("PATCH", "/api/v1/workspace", json={"search_documents": False})
    assert answer.status_code == 200, answer.text
    return Office(search.api)


async def found(search: Search, key: Key | None = None, **wanted: Any) -> set[str]:
    body = {"query": "lease", "top_k": 100, "mode": "semantic", "filter": wanted}
    answer = await search.api.post("/query", body, **({"key": key} if key else {}))
    assert answer.status_code == 200, answer.text
    return {result["metadata"]["doc_id"] for result in answer.json()["results"]}


async def test_sealed_files_and_certificates_are_signed_and_only_here(search: Search) -> None:
    office = await by_hand_only(search)
    early = await search.indexed("A lease that nobody signed.", "other.txt")
    document = await office.sealed()
    path = f"/api/v1/documents/{document['id']}"
    made = {name: (await search.api.get(f"{path}/{name}")).content for name in ("signed", "certificate", "file")}
    doc_ids = {name: await upload(search, f"{name}.pdf", content) for name, content in made.items()}
    await search.index()
    assert await found(search, signed=True) == {doc_ids["signed"], doc_ids["certificate"]}
    assert await found(search, signed=False) == {early, doc_ids["file"]}

    elsewhere = await search.api.make_key(workspace=await search.api.add_workspace("Elsewhere"))
    theirs = await upload(search, "signed.pdf", made["signed"], key=elsewhere)
    await search.index(key=elsewhere)
    assert await found(search, elsewhere, signed=True) == set(), "it was not sealed in that workspace"
    assert await found(search, elsewhere, signed=False) == {theirs}


async def test_a_sealed_file_stays_signed_when_its_seal_gets_another_time_stamp(search: Search) -> None:
    office = await by_hand_only(search)
    document = await office.sealed()
    content = (await search.api.get(f"/api/v1/documents/{document['id']}/signed")).content
    doc_id = await upload(search, "early.pdf", content)
    await search.index()
    new = sealed.Restamped("0" * 64, "1" * 64, "2" * 64)
    was = hashlib.sha256(content).hexdigest()
    assert await search.api.deedbox.db.write(lambda tx: sealed.replace(tx, document["id"], was, new))
    assert await found(search, signed=True) == {doc_id}, "it is authentic as before"

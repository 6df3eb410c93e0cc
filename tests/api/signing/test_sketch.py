"""The sketch of a draft: versions, what it is made of, and that drawing leaves no trace but its one row."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from tests.api.conftest import Api
from tests.api.signing.conftest import Office, signer
from tests.api.test_mail_page import owner

pytestmark = pytest.mark.anyio


@pytest.fixture
async def browser(office: Office) -> AsyncIterator[httpx.AsyncClient]:
    async with owner(office.api) as client:
        yield client


def field(who: str, key: str = "f1", **more: Any) -> dict[str, Any]:
    return {"key": key, "type": "text", "page": 1, "x": 0.1, "y": 0.2, "w": 0.3, "h": 0.05, "who": who, **more}


async def traces(api: Api, document_id: str) -> list[Any]:
    """What a change of the draft itself would leave behind."""
    paper = await api.rows(f"select paper_sha256, updated_at from documents where id = '{document_id}'")
    trail = await api.rows(f"select count(*) from audit where document_id = '{document_id}'")
    return [paper, trail, await api.rows("select count(*) from blobs"), await api.rows("select count(*) from events")]


async def test_a_draft_made_by_the_api_is_drawn_with_the_ids_it_has(office: Office, browser: httpx.AsyncClient) -> None:
    draft = await office.create(signers=[signer("ann"), signer("ben", order=2)])
    sketch = (await browser.get(f"/app/documents/{draft['id']}/sketch")).json()
    assert [party["signers"][0]["key"] for party in sketch["parties"]] == [
        party["signers"][0]["id"] for party in draft["parties"]
    ]
    assert [one["key"] for one in sketch["fields"]] == [one["id"] for one in draft["fields"]]
    assert {one["who"] for one in sketch["fields"]} == {one["signer"] for one in draft["fields"]}
    assert sketch["title"] == "Lease"
    assert await office.api.rows("select count(*) from sketches") == [(0,)], "reading kept something"


async def test_another_version_is_a_conflict_and_nothing_is_lost(office: Office, browser: httpx.AsyncClient) -> None:
    draft = await office.create()
    path, ann = f"/app/documents/{draft['id']}/sketch", draft["parties"][0]["signers"][0]["id"]
    first = (await browser.get(path)).json()["version"]
    kept = await browser.put(path, json={"version": first, "fields": [field(ann)]})
    assert (kept.status_code, kept.json()) == (200, {"version": first + 1})
    late = await browser.put(path, json={"version": first, "fields": []})
    assert late.status_code == 409
    assert "another tab" in late.text
    again = await browser.put(path, json={"version": first + 1, "fields": [field(ann, x=0.5)]})
    assert again.json() == {"version": first + 2}
    found = (await browser.get(path)).json()
    assert (found["version"], [one["x"] for one in found["fields"]]) == (first + 2, [0.5])


async def test_moving_a_field_writes_no_audit_row_and_makes_no_paper(
    office: Office, browser: httpx.AsyncClient
) -> None:
    draft = await office.create()
    path, ann = f"/app/documents/{draft['id']}/sketch", draft["parties"][0]["signers"][0]["id"]
    before = await traces(office.api, draft["id"])
    version = (await browser.get(path)).json()["version"]
    for step in range(3):
        answer = await browser.put(path, json={"version": version + step, "fields": [field(ann, x=step / 10)]})
        assert answer.status_code == 200, answer.text
    assert await traces(office.api, draft["id"]) == before
    assert await office.api.rows("select count(*) from sketches") == [(1,)]


async def test_a_sketch_goes_with_its_draft_and_with_what_the_api_changes(
    office: Office, browser: httpx.AsyncClient
) -> None:
    draft = await office.create()
    path, ann = f"/app/documents/{draft['id']}/sketch", draft["parties"][0]["signers"][0]["id"]

    async def drawn() -> None:
        version = (await browser.get(path)).json()["version"]
        assert (await browser.put(path, json={"version": version, "fields": [field(ann)]})).status_code == 200
        assert await office.api.rows("select count(*) from sketches") == [(1,)]

    await drawn()
    changed = await office.api.call("PATCH", f"/api/v1/documents/{draft['id']}", json={"fields": []})
    assert changed.status_code == 200, changed.text
    assert await office.api.rows("select count(*) from sketches") == [(0,)]
    await drawn()
    assert (await office.api.call("DELETE", f"/api/v1/documents/{draft['id']}")).status_code == 204
    assert await office.api.rows("select count(*) from sketches") == [(0,)]
    assert (await browser.get(path)).status_code == 404


async def test_what_cannot_be_drawn_is_refused(office: Office, browser: httpx.AsyncClient) -> None:
    draft, sent = await office.create(), await office.create(send=True)
    path, ann = f"/app/documents/{draft['id']}/sketch", draft["parties"][0]["signers"][0]["id"]
    version = (await browser.get(path)).json()["version"]
    for fields in ([field("sgn_nobody")], [field(ann), field(ann)], [field(ann, x=2)], [field(ann)] * 1001):
        assert (await browser.put(path, json={"version": version, "fields": fields})).status_code == 400
    large = {"version": version, "fields": [field(ann, f"f{n}", default="a" * 2000) for n in range(600)]}
    refused = await browser.put(path, json=large)
    assert (refused.status_code, "too large" in refused.text) == (400, True)
    assert (await browser.get(f"/app/documents/{sent['id']}/sketch")).status_code == 409
    assert (await browser.get("/app/documents/doc_unknown/sketch")).status_code == 404

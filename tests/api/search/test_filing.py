"""Documents are filed: with a collection and metadata when they are uploaded, and otherwise later."""

import json
from typing import Any

import httpx
import pytest

from deedbox.kernel import limits
from deedbox.web import limits as web_limits
from tests.api.conftest import Api
from tests.api.search.conftest import Search
from tests.api.search.files import TEXT, doc_id, form, part, replace, send

pytestmark = pytest.mark.anyio

METADATA = {"year": 2026, "rent": 812.5, "kind": "lease", "open": True, "signed on": "2026-02-01"}
TOO_MANY = json.dumps({str(number): 1 for number in range(limits.UPLOAD_VALUES + 1)})


async def filed(api: Api, name: str = "a.txt", **parts: str) -> httpx.Response:
    return await api.call("POST", "/documents/upload", files={"file": (name, TEXT)}, data=parts)


async def record(api: Api, of: str) -> dict[str, Any]:
    found: dict[str, Any] = (await api.get(f"/documents/{of}")).json()
    return found


async def values(api: Api) -> list[tuple[Any, ...]]:
    """The rows that filters read."""
    rows = await api.deedbox.db.read(lambda tx: tx.all("select name, kind, text, number from upload_values"))
    return sorted(tuple(row) for row in rows)


async def test_an_upload_lies_in_its_collection_with_its_metadata(api: Api) -> None:
    text = '{"year": 2026, "rent": 812.5, "kind": "lease", "open": true, "signed on": "2026-02-01"}'
    answer = await filed(api, collection="Leases 2026", metadata=text)
    shown = await record(api, answer.json()["doc_id"])
    assert (shown["collection"], shown["metadata"]) == ("Leases 2026", METADATA)
    assert await values(api) == [
        ("kind", "text", "lease", None),
        ("open", "boolean", None, 1.0),
        ("rent", "number", None, 812.5),
        ("signed on", "date", "2026-02-01T00:00:00.000000", None),
        ("year", "number", None, 2026.0),
    ]


async def test_of_which_nothing_is_said_lies_in_the_default_collection(api: Api) -> None:
    shown = await record(api, await doc_id(api))
    assert (shown["collection"], shown["metadata"]) == ("default", {})


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"collection": ""}, "collection: must not be empty"),
        ({"collection": "a" * (limits.COLLECTION_CHARS + 1)}, "collection: at most 100 characters"),
        ({"collection": "a\n"}, "collection: "),
        ({"collection": " a"}, "collection: "),
        ({"metadata": "[]"}, "metadata: must be an object"),
        ({"metadata": "{"}, "metadata: it is not a JSON object"),
        ({"metadata": '{"a": null}'}, "metadata"),
        ({"metadata": '{"a": [1]}'}, "metadata"),
        ({"metadata": '{"": 1}'}, "metadata"),
        ({"metadata": '{"a": "\\u0000"}'}, "NUL"),
        ({"metadata": '{"a": 9007199254740993}'}, "metadata"),
        ({"metadata": '{"a": 1e999}'}, "metadata"),
        ({"metadata": '{"%s": 1}' % ("n" * (limits.UPLOAD_VALUE_NAME_CHARS + 1))}, "metadata"),
        ({"metadata": '{"a": "%s"}' % ("n" * (limits.UPLOAD_VALUE_CHARS + 1))}, "metadata"),
        ({"metadata": TOO_MANY}, "at most 50"),
        ({"metadata": '{"a": "%s"}' % ("n" * web_limits.SIGNING_FORM_BYTES)}, "The form is too large"),
        ({"folder": "a"}, "a part that is not named 'file'"),
    ],
)
async def test_what_is_out_of_bounds_is_refused_and_leaves_nothing(
    api: Api, parts: dict[str, str], reason: str
) -> None:
    answer = await filed(api, **parts)
    assert answer.status_code in (400, 413), answer.text
    assert reason in answer.json()["error"]
    assert (await api.get("/documents")).json()["count"] == 0


async def test_a_part_that_comes_twice_is_refused(api: Api) -> None:
    one = part(b"a", 'form-data; name="collection"')
    answer = await send(api, form(part(), one, one))
    assert (answer.status_code, answer.json()["error"]) == (400, "The form has two parts named 'collection'")


async def test_a_repeated_key_with_other_metadata_is_another_request(api: Api) -> None:
    request: dict[str, Any] = {"headers": {"Idempotency-Key": "once"}, "files": {"file": ("a.txt", TEXT)}}
    first = await api.call("POST", "/documents/upload", data={"collection": "a"}, **request)
    again = await api.call("POST", "/documents/upload", data={"collection": "a"}, **request)
    other = await api.call("POST", "/documents/upload", data={"collection": "b"}, **request)
    assert (first.status_code, again.json(), other.status_code) == (200, first.json(), 409)


async def test_name_collection_and_metadata_change_without_reading_anything_again(search: Search) -> None:
    known = await search.indexed("The tenant pays the rent.")
    before, read = await search.record(known), search.embedder.texts
    wanted = {"filename": "lease.txt", "collection": "leases", "metadata": {"year": 2027}}
    answer = await search.api.call("PATCH", f"/documents/{known}", json=wanted)
    assert (answer.status_code, answer.json()) == (200, {**before, **wanted})
    assert await search.record(known) == {**before, **wanted}
    assert search.embedder.texts == read
    assert (await search.ask("rent", mode="keyword"))[0]["metadata"]["filename"] == "lease.txt"
    assert await values(search.api) == [("year", "number", None, 2027.0)]


async def test_what_is_not_given_stays(api: Api) -> None:
    known = (await filed(api, collection="a", metadata='{"n": 1}')).json()["doc_id"]
    await api.call("PATCH", f"/documents/{known}", json={"filename": "b.txt"})
    shown = await record(api, known)
    assert (shown["filename"], shown["collection"], shown["metadata"]) == ("b.txt", "a", {"n": 1})
    assert (await replace(api, known, b"Another text.", "c.txt")).status_code == 200
    shown = await record(api, known)
    assert (shown["filename"], shown["collection"], shown["metadata"]) == ("c.txt", "a", {"n": 1})


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({}, "No changes were given"),
        ({"filename": "a.pdf"}, "filename: its extension must stay that of a file of the same kind"),
        ({"filename": "a"}, "Unsupported file type"),
        ({"collection": "a\u0001"}, "collection: "),
        ({"metadata": {"a": {}}}, "metadata"),
        ({"status": "indexed"}, "status: cannot be changed"),
        ({"folder": "a"}, "folder: there is no such field"),
    ],
)
async def test_what_cannot_be_changed_is_refused(api: Api, change: dict[str, Any], reason: str) -> None:
    known = await doc_id(api)
    before = await record(api, known)
    answer = await api.call("PATCH", f"/documents/{known}", json=change)
    assert (answer.status_code, await record(api, known)) == (400, before)
    assert reason in answer.json()["error"]


async def test_another_workspaces_document_cannot_be_filed(api: Api) -> None:
    known, elsewhere = await doc_id(api), await api.make_key(workspace=await api.add_workspace("Elsewhere"))
    answer = await api.call("PATCH", f"/documents/{known}", json={"collection": "mine"}, key=elsewhere)
    assert (answer.status_code, (await record(api, known))["collection"]) == (404, "default")


async def test_values_go_with_their_document(api: Api) -> None:
    known = (await filed(api, metadata='{"n": 1}')).json()["doc_id"]
    assert (await api.call("DELETE", f"/documents/{known}")).status_code == 204
    assert await values(api) == []


async def test_the_list_of_one_collection_has_no_others_whole_or_in_pages(api: Api) -> None:
    for number in range(3):
        await filed(api, f"{number}.txt", collection="a")
        await filed(api, f"{number}.txt", collection="b")
    whole = (await api.get("/documents?collection=a")).json()
    assert (whole["count"], {one["collection"] for one in whole["documents"]}) == (3, {"a"})
    first = (await api.get("/documents?collection=a&limit=2")).json()
    rest = (await api.get(f"/documents?collection=a&limit=2&cursor={first['next_cursor']}")).json()
    assert first["documents"] + rest["documents"] == whole["documents"]
    assert (await api.get("/documents?collection=none")).json()["documents"] == []

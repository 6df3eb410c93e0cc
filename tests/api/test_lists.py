"""Every list of both APIs has one shape and is paged to its end; an unknown query parameter is 400."""

import asyncio
import base64
import re
from collections.abc import AsyncIterator
from ipaddress import ip_network
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from deedbox.kernel import limits
from deedbox.kernel.settings import Networks
from deedbox.search.indexing.embedders import Embedders
from tests.api.answers import faults, reason, routes
from tests.api.conftest import Api, opened
from tests.api.description import description
from tests.api.search.files import pdf
from tests.api.test_envelopes import place_of, signers_cookie
from tests.conftest import HandClock
from tests.search.hashing import HashingEmbedder

pytestmark = [pytest.mark.anyio, pytest.mark.both_databases]

SHAPE = ["count", "has_more", "next_cursor"]
PARAGRAPHS = "\n\n".join(f"{number}. {'The tenant pays the rent on the first day. ' * 30}" for number in range(12))


class Filled(NamedTuple):
    """An installation in which every list has at least three records."""

    api: Api
    ids: dict[str, str]
    """What stands for each parameter of a path."""


@pytest.fixture
async def filled(database_url: str, tmp_path: Path, clock: HandClock) -> AsyncIterator[Filled]:
    loopback = Networks([ip_network("127.0.0.0/8")])
    async with opened(database_url, tmp_path, clock, egress_allow=loopback) as api:
        await api.settle()
        embedder = HashingEmbedder()
        api.deedbox.search.embedders = Embedders(lambda: embedder, lambda _: None)
        await api.deedbox.start()
        try:
            yield Filled(api, {**await _signing(api), **await _search(api)})
        finally:
            await api.deedbox.stop()


async def _signing(api: Api) -> dict[str, str]:
    file = {"name": "a.pdf", "content_base64": base64.b64encode(pdf("one page")).decode()}
    signers, made = [{"name": "Ann", "email": "ann@example.com"}], []
    for number in range(3):
        hook = {"target_url": f"http://127.0.0.1:9/{number}", "event": "packet.sent"}
        made.append(await _posted(api, "/api/v1/hooks", hook))
        await api.make_key("search:read")
        await _posted(api, "/api/v1/members", {"role": "viewer"})
        api.clock.forward(1)
    for hook in made:  # so that no delivery changes while its list is read
        await _posted(api, f"/api/v1/hooks/{hook['id']}/pause")
    paused = made[0]["id"]
    for number in range(3):
        await _posted(api, f"/api/v1/hooks/{paused}/test")
        new = {"title": f"Lease {number}", "file": file, "signers": signers, "send": True}
        document = await _posted(api, "/api/v1/documents", new)
        packet = {"title": f"Papers {number}", "documents": [{"title": "Lease", "file": file}], "signers": signers}
        await _posted(api, "/api/v1/packets", {**packet, "send": True})
        api.clock.forward(1)
        new = {"name": f"Lease {number}", "file": file, "roles": [{"name": "Tenant"}]}
        template = await _posted(api, "/api/v1/templates", new)
    for number in range(2):
        await api.call("PATCH", f"/api/v1/templates/{template['id']}", json={"name": f"Lease, changed {number}"})
    sent = await _bulk_send(api, template["id"])
    await api.call("PATCH", f"/api/v1/documents/{document['id']}", json={"metadata": {"a": "b"}})
    await _posted(api, f"/api/v1/documents/{document['id']}/void")
    return {
        "document_id": document["id"],
        "hook_id": paused,
        "template_id": template["id"],
        "bulk_send_id": sent,
    }


async def _bulk_send(api: Api, template_id: str) -> str:
    """The last of three bulk sends, once all rows of all of them are sent."""
    rows = [{"key": f"{n}", "roles": {"Tenant": {"name": "Ann", "email": "ann@example.com"}}} for n in range(3)]
    for number in range(3):
        new = {"name": f"Leases {number}", "template_id": template_id, "rows": rows}
        made = await _posted(api, "/api/v1/bulk-sends", new)
        async with asyncio.timeout(60):
            while (await api.get(f"/api/v1/bulk-sends/{made['id']}")).json()["status"] != "completed":
                await asyncio.sleep(0.01)
        api.clock.forward(1)
    return str(made["id"])


async def _search(api: Api) -> dict[str, str]:
    for number in range(3):
        text = f"{number} {PARAGRAPHS}".encode()
        file, filed = (f"{number}.txt", text), {"collection": str(number)}
        upload = await api.call("POST", "/documents/upload", files={"file": file}, data=filed)
        found = upload.json()["doc_id"]
        assert (await _posted(api, "/documents/index", {"doc_ids": [found]}))["status"] == "success"
        api.clock.forward(1)
    return {"doc_id": found}


async def _posted(api: Api, path: str, body: Any = None) -> Any:
    answer = await (api.call("POST", path) if body is None else api.post(path, body))
    assert answer.is_success, answer.text
    return answer.json()


def _properties(operation: dict[str, Any]) -> dict[str, Any]:
    """The properties of an operation's good answer, if that is a JSON object."""
    schema = operation["responses"].get("200", {}).get("content", {}).get("application/json", {}).get("schema", {})
    name = schema.get("$ref", "").rpartition("/")[2]
    return dict(description()["components"]["schemas"].get(name, schema).get("properties", {}))


def lists() -> list[tuple[str, str, dict[str, Any]]]:
    """Path, name of the records and operation of every list: what answers GET with records first, or counts them."""
    found = []
    for path, operations in description()["paths"].items():
        properties = _properties(operations.get("get", {"responses": {}}))
        first = next(iter(properties), "")
        if set(SHAPE) & set(properties) or properties.get(first, {}).get("type") == "array":
            found.append((path, first, operations["get"]))
    return found


def test_every_list_has_the_one_shape_and_takes_limit_and_cursor() -> None:
    assert len(lists()) >= 11
    for path, records, operation in lists():
        assert list(_properties(operation)) == [records, *SHAPE], path
        taken = {one["name"]: one["schema"] for one in operation["parameters"] if one["in"] == "query"}
        assert (taken["limit"]["minimum"], taken["limit"]["maximum"]) == (1, limits.PAGE_MAX), path
        assert "cursor" in taken, path


async def test_every_list_is_paged_to_its_end_with_a_limit_of_one(filled: Filled) -> None:
    for path, records, _ in lists():
        there = path.format(**filled.ids)
        whole = (await filled.api.get(there, params={"limit": limits.PAGE_MAX})).json()
        assert (whole["has_more"], whole["next_cursor"]) == (False, None), path
        assert whole["count"] == len(whole[records]) >= 3, path
        seen: list[Any] = []
        cursor: dict[str, str] = {}
        for _ in whole[records]:
            page = (await filled.api.get(there, params={"limit": 1, **cursor})).json()
            assert page["count"] == len(page[records]) == 1, path
            seen += page[records]
            assert page["has_more"] == (page["next_cursor"] is not None) == (len(seen) < whole["count"]), path
            cursor = {"cursor": page["next_cursor"]}
        assert seen == whole[records], path


async def test_a_list_of_another_workspace_shows_nothing_of_this_one(filled: Filled) -> None:
    theirs = await filled.api.make_key(workspace=filled.api.other_workspace)
    for path, records, _ in lists():
        answer = await filled.api.get(path.format(**filled.ids), key=theirs)
        if "{" in path:
            assert answer.status_code == 404, path
        elif path == "/api/v1/members":  # their own owner, whom this workspace does not know
            theirs_alone = {one["id"] for one in answer.json()[records]}
            here = {one["id"] for one in (await filled.api.get(path)).json()[records]}
            assert theirs_alone.isdisjoint(here)
        elif path not in ("/api/v1/keys", "/api/v1/changes", "/api/v1/hooks/events"):  # their own, and everybody's
            assert answer.json()[records] == [], path


@pytest.mark.one_database
async def test_a_query_parameter_that_a_route_does_not_know_is_400_and_named(api: Api) -> None:
    cookie = await signers_cookie(api)
    operations = [
        (path, method, {one["name"] for one in operation.get("parameters", []) if one["in"] == "query"})
        for path, each in description()["paths"].items()
        for method, operation in each.items()
    ]
    names = sorted(set().union(*(known for _, _, known in operations)))
    assert len(operations) > 40
    for number, (path, method, known) in enumerate(operations):
        there = path.replace("/sign/{signer_id}", place_of(cookie))
        there = re.sub(r"\{\w+\}", "key_01JD0000000000000000000000", there)
        # Of the names that other routes know, each is tried at some.
        for name in {"no_such_thing", "", "Limit", *names[number % 5 :: 5]} - known:
            answer = await api.call(method.upper(), there, params={name: "1"}, headers={"Cookie": cookie})
            assert faults(there, answer, 400) == [], (method, path, name)
        assert reason(answer).startswith(f"{name}: this route has no such query parameter"), (method, path)


async def test_no_route_reads_query_parameters_in_another_way(api: Api) -> None:
    """What is a parameter of the function and not in the path would be one of the query, to the framework."""
    for route in routes(api.guard):
        named = set(route.handler.parsed_fn_signature.parameters) - {"request", "data"}
        assert all(f"{{{name}:" in path for path in route.handler.paths for name in named), route.path


async def test_the_refusal_names_what_the_route_takes_and_shortens_what_it_was_given(api: Api) -> None:
    answer = await api.get("/api/v1/keys?Limit=5")
    assert answer.json()["error"] == "Limit: this route has no such query parameter. It takes limit, cursor"
    answer = await api.get("/stats?" + "x" * 5000)
    named, _, said = answer.json()["error"].partition(": ")
    assert (named, said) == ("x" * limits.MISTAKE_CHARS, "this route has no such query parameter. It takes none")


@pytest.mark.parametrize("query", ["limit=1&limit=2", "limit=1&limit=1", "cursor=a&cursor=b", "limit=%ff", "q=%ff"])
@pytest.mark.one_database
async def test_a_value_given_twice_for_once_or_not_in_utf_8_is_400(api: Api, query: str) -> None:
    for path in ("/api/v1/documents", "/documents"):
        assert faults(path, await api.get(f"{path}?{query}"), 400) == []


async def test_what_hangs_on_the_address_of_a_page_for_people_does_not_matter(api: Api) -> None:
    assert (await api.get("/login?utm_source=mail", key=None)).status_code == 200


async def test_repeated_statuses_add_up(filled: Filled) -> None:
    async def found(path: str, records: str, *statuses: str) -> set[str]:
        answer = await filled.api.get(path, params={"status": list(statuses)})
        assert answer.status_code == 200, answer.text
        return {one["status"] for one in answer.json()[records]}

    documents, deliveries = ("/api/v1/documents", "documents"), ("/api/v1/deliveries", "deliveries")
    assert await found(*documents, "sent") == {"sent"}
    assert await found(*documents, "voided", "sent", "sent") == {"sent", "voided"}
    assert await found(*documents, "expired", "draft") == set()
    assert await found(*deliveries, "pending", "failed") == {"pending"}
    assert await found(*deliveries, "delivered", "failed") == set()
    answer = await filled.api.get("/api/v1/documents?status=sent&status=gone")
    assert faults("/api/v1/documents", answer, 400) == []
    assert "status[1]: must be one of" in answer.json()["error"]

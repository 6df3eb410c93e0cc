"""R8: every error has its envelope, every answer its three rate headers."""

import asyncio
import base64
import itertools
import re
from collections.abc import AsyncIterator
from typing import Any

import httpx
import msgspec
import pytest
from litestar import Litestar, get, post
from litestar.params import JSONBody

from deedbox.kernel.db import Tx
from deedbox.mail import Mail
from deedbox.search.indexing.embedders import Embedders
from deedbox.web import limits
from deedbox.web.app import ROUTES
from deedbox.web.http import openapi
from deedbox.web.http.auth import requires
from tests.api.answers import Route, faults, keyed, routes
from tests.api.conftest import Api
from tests.api.description import description
from tests.api.search.files import pdf
from tests.mail.letters import LETTERS, READER
from tests.search.hashing import HashingEmbedder

pytestmark = pytest.mark.anyio

SECRET = "the password is hunter2"


def new_document(title: str) -> dict[str, Any]:
    """A document to be sent to one signer."""
    content = base64.b64encode(pdf("one page")).decode()
    signers = [{"name": "Ann", "email": "ann@example.com"}]
    return {"title": title, "file": {"name": "a.pdf", "content_base64": content}, "signers": signers}


def new_hook(event: str) -> dict[str, Any]:
    return {"target_url": "https://hooks.example.com/a", "event": event}


async def waiting_delivery(api: Api) -> tuple[str, str]:
    """A hook that is paused, and a delivery to it, which therefore cannot be on its way."""
    hook = (await api.post("/api/v1/hooks", new_hook("packet.sent"))).json()["id"]
    await api.call("POST", f"/api/v1/hooks/{hook}/pause")
    return hook, (await api.call("POST", f"/api/v1/hooks/{hook}/test")).json()["id"]


async def failed_mail(api: Api) -> str:
    """A mail that was given up."""
    now, invitation = api.clock.now(), Mail(to=READER, letter=LETTERS["invitation"])

    def make(tx: Tx) -> str:
        mail_id = api.deedbox.mailer.queue(tx, api.workspace, invitation, now=now)
        tx.run("update mails set status = 'failed' where id = :id", id=mail_id)
        return mail_id

    return await api.deedbox.db.write(make)


def named(path: str) -> str:
    short = path.replace("{document_id:str}", "{id}").replace("{signer_id:str}", "{signer}")
    short = short.replace("{hook_id:str}", "{hook}").replace("{delivery_id:str}", "{delivery}")
    short = short.replace("{mail_id:str}", "{mail}")
    return short.replace("{bulk_send_id:str}", "{bulk}").replace("{packet_id:str}", "{packet}")


def new_template(name: str) -> dict[str, Any]:
    return {"name": name, "file": new_document("")["file"], "roles": [{"name": "Tenant"}]}


def new_packet(title: str) -> dict[str, Any]:
    file, signers = new_document("")["file"], [{"name": "Ann", "email": "ann@example.com"}]
    return {"title": title, "documents": [{"title": one, "file": file} for one in "ab"], "signers": signers}


def new_bulk_send(name: str) -> dict[str, Any]:
    """A bulk send so slow that there is time to pause it; `{template}` stands for the template's id."""
    people = [{"name": "Ann", "email": f"ann{number}@example.com"} for number in range(3)]
    rows = [{"roles": {"Tenant": person}} for person in people]
    return {"name": name, "template_id": "{template}", "rows": rows, "rows_per_minute": 1}


def filled(request: dict[str, Any], template: str) -> dict[str, Any]:
    """The request with the template's id where it stands for it."""
    if request.get("json", {}).get("template_id") != "{template}":
        return request
    return {"json": {**request["json"], "template_id": template}}


async def started_bulk_send(api: Api) -> tuple[str, str]:
    """A template, and a bulk send of it."""
    template = (await api.post("/api/v1/templates", new_template("Lease"))).json()["id"]
    body = {**new_bulk_send("Slow"), "template_id": template}
    return template, (await api.post("/api/v1/bulk-sends", body)).json()["id"]


BODIES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "/api/v1/keys": ({"json": {"name": "a"}}, {"json": {"name": "b"}}),
    "/api/v1/members": ({"json": {"role": "viewer"}}, {"json": {"role": "sender"}}),
    "/documents/upload": ({"files": {"file": ("a.txt", b"a text")}}, {"files": {"file": ("a.txt", b"b")}}),
    "/documents/index": ({}, {"json": {"doc_ids": ["a"]}}),
    "/query": ({"json": {"query": "text"}}, {"json": {"query": "other"}}),
    "/embed": ({"json": {"text": "a"}}, {"json": {"text": "b"}}),
    "/embed_and_quantize": ({"json": {"text": "a"}}, {"json": {"text": "b"}}),
    "/v1/embeddings": ({"json": {"input": "a"}}, {"json": {"input": "b"}}),
    "/api/v1/documents": ({"json": new_document("One")}, {"json": new_document("Two")}),
    "/api/v1/templates": ({"json": new_template("One")}, {"json": new_template("Two")}),
    "/api/v1/bulk-sends": ({"json": new_bulk_send("One")}, {"json": new_bulk_send("Two")}),
    "/api/v1/bulk-sends/{bulk}/pause": ({}, {"content": b"other"}),
    "/api/v1/bulk-sends/{bulk}/resume": ({}, {"content": b"other"}),
    "/api/v1/bulk-sends/{bulk}/retry": ({}, {"content": b"other"}),
    "/api/v1/bulk-sends/{bulk}/cancel": ({}, {"content": b"other"}),
    "/api/v1/packets": ({"json": new_packet("One")}, {"json": new_packet("Two")}),
    "/api/v1/packets/{packet}/send": ({}, {"content": b"other"}),
    "/api/v1/packets/{packet}/remind": ({}, {"content": b"other"}),
    "/api/v1/packets/{packet}/signers/{signer}/link": ({}, {"content": b"other"}),
    "/api/v1/packets/{packet}/void": ({}, {"json": {"reason": "other"}}),
    "/api/v1/documents/{id}/send": ({}, {"content": b"other"}),
    "/api/v1/documents/{id}/remind": ({}, {"content": b"other"}),
    "/api/v1/documents/{id}/signers/{signer}/link": ({}, {"content": b"other"}),
    "/api/v1/documents/{id}/void": ({}, {"json": {"reason": "other"}}),
    "/api/v1/hooks": ({"json": new_hook("document.sent")}, {"json": new_hook("document.voided")}),
    "/api/v1/hooks/{hook}/pause": ({}, {"content": b"other"}),
    "/api/v1/hooks/{hook}/test": ({}, {"json": {"type": "party.completed"}}),
    "/api/v1/hooks/{hook}/rotate": ({}, {"json": {"at_once": True}}),
    "/api/v1/hooks/{hook}/recover": (
        {"json": {"since": "2026-03-01T00:00:00Z"}},
        {"json": {"since": "2026-02-28T00:00:00Z"}},
    ),
    "/api/v1/deliveries/{delivery}/redeliver": ({}, {"content": b"other"}),
    "/api/v1/hooks/{hook}/resume": ({}, {"content": b"other"}),
    "/api/v1/mails/{mail}/resend": ({}, {"content": b"other"}),
    "/api/v1/verify": ({"files": {"file": ("a.pdf", pdf("one"))}}, {"files": {"file": ("a.pdf", pdf("two"))}}),
}
"""A valid request for each POST, and another one."""
WRONG_BODIES: list[tuple[str, bytes]] = [
    ("nothing", b""),
    ("bad JSON", b'{"name":'),
    ("no object", b"[]"),
    ("null", b"null"),
    ("missing field", b"{}"),
    ("wrong type", b'{"name": 5, "role": 5}'),
    ("unknown field", b'{"name": "a", "nmae": "b"}'),
    ("NUL", b'{"name": "a\\u0000"}'),
    ("half a surrogate", b'{"name": "\\ud800"}'),
    ("no UTF-8", b'{"name": "\xff"}'),
    ("deep", b'{"name": ' + b"[" * 50_000),
    ("huge number", b'{"name": "a", "rate_limit": {"per_minute": 1' + b"0" * 400 + b"}}"),
]


UNKNOWN = (
    "/nothing",
    "/api/v1",
    "/api/v1/",
    "/api/v1/nothing",
    "//api/v1/nothing",
    "/api/v1/keys/a/b",
    "/api/v1x",
    "/API/v1/x",
)


class Planted(msgspec.Struct, forbid_unknown_fields=True):
    name: str


async def _fail() -> None:
    raise RuntimeError(SECRET)


async def _sleep() -> None:
    await asyncio.sleep(60)


async def _read(data: JSONBody[Planted]) -> None:
    del data


def planted() -> list[Any]:
    """Routes in both APIs that fail, that never answer, and that read a body."""
    need = requires("search:read")
    return [
        route
        for root in ("/planted", "/api/v1/planted")
        for route in (
            get(f"{root}/failing", opt=need)(_fail),
            get(f"{root}/sleeping", opt=need)(_sleep),
            post(f"{root}/reading", opt=need, status_code=204)(_read),
        )
    ]


async def all_faults(api: Api, table: list[Route], status: int, **request: Any) -> list[str]:
    found = []
    for route in table:
        found += faults(route.path, await api.call(route.method, route.path, **request), status)
    return found


@pytest.mark.one_database
async def test_a_request_without_a_good_key_gets_401_in_its_envelope_on_every_route(api: Api) -> None:
    revoked, expired = await api.make_key(), await api.make_key(seconds=5)
    await api.revoke(revoked)
    api.clock.forward(5)
    for key in (None, " ", "x", "deed_live_" + "0" * 32, revoked, expired):
        assert await all_faults(api, keyed(api.guard), 401, key=key) == []


@pytest.mark.one_database
async def test_a_key_without_the_scope_gets_403_in_its_envelope_on_every_route(api: Api) -> None:
    for route in [route for route in keyed(api.guard) if route.need]:
        key = await api.make_key("archive:read" if route.need != "archive:read" else "verify:read")
        assert await all_faults(api, [route], 403, key=key) == []


@pytest.mark.one_database
async def test_a_key_that_is_used_up_gets_429_in_its_envelope_on_every_route(api: Api) -> None:
    key = await api.make_key(per_minute=1, per_day=10)
    assert (await api.get("/health", key=key)).status_code == 200
    assert await all_faults(api, keyed(api.guard), 429, key=key) == []


@pytest.mark.one_database
async def test_an_unknown_route_is_404_in_the_envelope_of_its_api(api: Api) -> None:
    for method, path in itertools.product(("GET", "POST", "HEAD", "PROPFIND"), UNKNOWN):
        async with api.client() as client:
            url = httpx.URL("http://deedbox.test").copy_with(raw_path=path.encode())
            response = await client.request(method, url, headers={"Authorization": f"Bearer {api.key.plain}"})
        assert faults(path, response, 404) == []


@pytest.mark.one_database
@pytest.mark.parametrize("path", ["/wp-login", "/api/v1/nothing", "/documentz/1"])
async def test_browser_at_unknown_address_gets_a_page_others_json(api: Api, path: str) -> None:
    async with api.client() as client:
        page = await client.get(path, headers={"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
        others = [await client.get(path, headers=headers) for headers in ({}, {"Accept": "application/json"})]
        known = await client.get("/api/v1/documents", headers={"Accept": "text/html"})
    assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "This page does not exist." in page.text
    assert [(one.status_code, one.headers["content-type"]) for one in (*others, known)] == [
        (401, "application/json")
    ] * 3


@pytest.mark.one_database
async def test_a_wrong_method_is_405_and_names_the_right_ones_on_every_path(api: Api) -> None:
    table = routes(api.guard)
    for path in {route.path for route in table}:
        right = {route.method for route in table if route.path == path} | {"OPTIONS"}
        for method in {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND"} - right:
            response = await api.call(method, path)
            assert faults(path, response, 405) == []
            assert {name.strip() for name in response.headers["Allow"].split(",")} == right, path


@pytest.mark.one_database
async def test_options_names_every_method_of_every_path(api: Api) -> None:
    table = routes(api.guard)
    for path in {route.path for route in table}:
        response = await api.call("OPTIONS", path)
        right = {route.method for route in table if route.path == path} | {"OPTIONS"}
        assert (response.status_code, {name.strip() for name in response.headers["Allow"].split(",")}) == (204, right)


@pytest.mark.one_database
async def test_a_wrong_body_is_400_in_the_envelope_of_its_api(api: Api) -> None:
    api.plant(*planted(), alone=True)
    table = [route for route in keyed(api.guard) if route.has_body]
    assert {route.signing for route in table} == {True, False}
    for name, body in WRONG_BODIES:
        found = await all_faults(api, table, 400, content=body, headers={"Content-Type": "application/json"})
        assert found == [], name


@pytest.mark.one_database
async def test_a_body_of_another_type_is_415_and_in_the_search_api_400(api: Api) -> None:
    api.plant(*planted())
    cookie = await signers_cookie(api)
    described = openapi.document([*ROUTES, *planted()])["paths"]
    taking = [(path, method) for path, each in described.items() for method in each if "requestBody" in each[method]]
    assert len(taking) > 20
    for (path, method), kind in itertools.product(
        taking, ("text/plain", "application/xml", "application/json5", "multipart/mixed; boundary=x", "")
    ):
        there = path.replace("/sign/{signer_id}", place_of(cookie))
        there = re.sub(r"\{\w+\}", "key_01JD0000000000000000000000", there)
        headers = {"Content-Type": kind, "Cookie": cookie}
        response = await api.call(method.upper(), there, content=b"{}", headers=headers)
        searching = not path.startswith(("/api/v1/", "/sign/", "/tsa"))
        assert faults(there, response, 400 if searching else 415) == [], kind


async def _pieces(size: int) -> AsyncIterator[bytes]:
    for _ in range(size // 65536):
        yield b" " * 65536


@pytest.mark.parametrize("announced", [True, False], ids=["content-length", "chunked"])
@pytest.mark.one_database
async def test_a_body_that_is_too_large_is_413_and_at_the_root_400(api: Api, announced: bool) -> None:
    api.plant(*planted(), alone=True)
    size = limits.JSON_BODY_BYTES + 65536
    for route in [route for route in keyed(api.guard) if route.has_body]:
        content: Any = b" " * size if announced else _pieces(size)
        response = await api.call(
            route.method, route.path, content=content, headers={"Content-Type": "application/json"}
        )
        assert faults(route.path, response, 413 if route.signing else 400) == []


def _wrong_values(schema: dict[str, Any]) -> list[str]:
    schema = schema.get("items", schema)
    if schema["type"] == "integer":
        return ["x", "", "null", "1.5", str(schema["minimum"] - 1), str(schema["maximum"] + 1), "9" * 40]
    if schema.get("format") == "date-time":
        return [
            "123",
            "",
            "null",
            "2026-03-01",
            "2026-03-01T12:00:00",
            "0001-01-01T00:00:00+01:00",
            "9999-12-31T23:59:59-01:00",
        ]
    if "enum" in schema:
        return ["null", "", "x", schema["enum"][0].upper()]
    return ["", "x" * 300, "a\0b"]


async def signers_cookie(api: Api) -> str:
    """The cookie of a signer whose document was sent."""
    made = (await api.post("/api/v1/documents", {**new_document("One"), "send": True})).json()
    signer = made["parties"][0]["signers"][0]["id"]
    link = await api.call("POST", f"/api/v1/documents/{made['id']}/signers/{signer}/link")
    opened = await api.get(httpx.URL(link.json()["url"]).path, key=None)
    return str(opened.headers["set-cookie"]).split(";")[0]


def place_of(cookie: str) -> str:
    """The address of the session that a signer's cookie is for."""
    return "/sign/" + cookie.partition("=")[0].removeprefix("deedbox_signer_")


async def test_a_bad_query_value_is_400_on_every_route_that_takes_it(api: Api) -> None:
    cookie = await signers_cookie(api)
    tried, headers = 0, {"Cookie": cookie}
    for path, operations in description()["paths"].items():
        for parameter in operations.get("get", {}).get("parameters", []):
            if parameter["in"] != "query":
                continue
            for value in _wrong_values(parameter["schema"]):
                there = path.replace("/sign/{signer_id}", place_of(cookie))
                response = await api.get(there, params={parameter["name"]: value}, headers=headers)
                assert faults(path, response, 400) == [], (parameter["name"], value)
                tried += 1
    assert tried > 20


async def test_a_conflict_is_409_in_the_envelope_on_every_post(api: Api) -> None:
    embedder = HashingEmbedder()
    api.deedbox.search.embedders = Embedders(lambda: embedder, lambda _: None)
    await api.deedbox.start()
    try:
        for path in ("/documents/upload", "/documents/index"):
            assert (await api.call("POST", path, **BODIES[path][0])).status_code == 200
        made = (await api.call("POST", "/api/v1/documents", **BODIES["/api/v1/documents"][0])).json()
        signer = made["parties"][0]["signers"][0]["id"]
        hook, delivery = await waiting_delivery(api)
        template, bulk = await started_bulk_send(api)
        mail = await failed_mail(api)
        packet = (await api.post("/api/v1/packets", new_packet("Papers"))).json()
        kept = [route for route in keyed(api.guard) if route.method == "POST" and not route.door.repeats]
        posts = {route.handler.paths.copy().pop() for route in kept}
        assert {named(path) for path in posts} == set(BODIES), "add two valid requests of each POST to BODIES"
        for path, (first, other) in BODIES.items():
            whose = packet["parties"][0]["signers"][0]["id"] if "{packet}" in path else signer
            there = path.replace("{id}", made["id"]).replace("{signer}", whose).replace("{packet}", packet["id"])
            there = there.replace("{hook}", hook).replace("{delivery}", delivery).replace("{bulk}", bulk)
            there = there.replace("{mail}", mail)
            headers = {"Idempotency-Key": path}
            assert (await api.call("POST", there, headers={**headers}, **filled(first, template))).is_success, path
            response = await api.call("POST", there, headers={**headers}, **filled(other, template))
            assert faults(there, response, 409) == []
    finally:
        await api.deedbox.stop()


@pytest.mark.one_database
async def test_a_failing_route_is_500_and_tells_nothing(api: Api) -> None:
    api.plant(*planted(), alone=True)
    for root in ("/planted", "/api/v1/planted"):
        response = await api.get(f"{root}/failing")
        assert faults(f"{root}/failing", response, 500) == []
        assert SECRET not in response.text


async def test_a_broken_database_is_500_on_every_route_and_tells_nothing(api: Api) -> None:
    await api.deedbox.db.write(lambda tx: tx.run("drop table api_keys"))
    assert await all_faults(api, keyed(api.guard), 500) == []


@pytest.mark.one_database
async def test_a_request_that_takes_too_long_is_408(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    api.plant(*planted(), alone=True)
    monkeypatch.setattr(limits, "REQUEST_SECONDS", 0.05)
    for root in ("/planted", "/api/v1/planted"):
        response = await api.get(f"{root}/sleeping")
        assert faults(f"{root}/sleeping", response, 408) == []
        assert response.json()["error"] == "Request took too long"


@pytest.mark.one_database
async def test_a_server_that_stops_is_503_on_every_route_but_the_probes(api: Api) -> None:
    api.guard.draining = True
    assert await all_faults(api, keyed(api.guard), 503) == []
    assert (await api.get("/livez", key=None)).status_code == 200


async def test_every_good_answer_carries_the_headers_too(api: Api) -> None:
    for path in (
        "/livez",
        "/readyz",
        "/metrics",
        "/openapi.json",
        "/health",
        "/api/v1/documents",
        "/login",
        "/account",
    ):
        response = await api.get(path)
        assert response.status_code in (200, 303)
        assert all(response.headers[name].isdigit() for name in ("X-RateLimit-Limit", "X-RateLimit-Remaining"))
        assert response.headers["X-RateLimit-Reset"].isdigit()
        assert response.headers["X-Request-Id"]


@pytest.mark.one_database
async def test_a_harmless_request_id_is_kept_and_another_replaced(api: Api) -> None:
    for sent, kept in (("abc-1", True), ("x" * 65, False), ("a b", False), ("a\u00e9", False)):
        response = await api.get("/health", headers={"X-Request-Id": sent.encode()})
        assert (response.headers["X-Request-Id"] == sent) is kept


@pytest.mark.one_database
async def test_a_hostile_host_header_does_not_change_the_envelope(api: Api) -> None:
    for host in ("x/api/v1/", "[", "a b", "@", ""):
        for path in ("/nothing", "/api/v1/nothing"):
            response = await api.get(path, headers={"Host": host})
            assert faults(path, response) == []
            assert response.status_code in (400, 404)


@pytest.mark.one_database
async def test_the_check_sees_the_frameworks_own_404(api: Api) -> None:
    """The seeded bug: the same routes without guard and envelope."""
    bare = Litestar(route_handlers=list(ROUTES), openapi_config=None)
    transport = httpx.ASGITransport(app=bare)  # type: ignore[arg-type]
    async with httpx.AsyncClient(transport=transport, base_url="http://deedbox.test") as client:
        for path in ("/nothing", "/api/v1/nothing"):
            found = "\n".join(faults(path, await client.get(path), 404))
            assert "the envelope is" in found
            assert "X-RateLimit-Limit" in found
            assert "no X-Request-Id" in found

"""Doors: each opens to its own kind of caller, and before a byte of the body is read."""

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import httpx
import msgspec
import pytest
from litestar import get, post
from litestar.params import JSONBody

from deedbox.kernel import limits
from deedbox.web import limits as web_limits
from deedbox.web.http import auth, context
from deedbox.web.http.auth import CHECK, LINK, LOGIN, PERSON, PUBLIC, SIGNER, STATIC, Requirement, requires
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.static import static
from tests.api.answers import RATE_HEADERS, faults, routes
from tests.api.conftest import Api, opened
from tests.api.test_authorisation import Named
from tests.api.test_envelopes import new_document, place_of, signers_cookie
from tests.api.test_login import link
from tests.conftest import HandClock

pytestmark = pytest.mark.anyio

EIGHT_MB = b"[" + b"[]," * (8 * limits.MB // 3) + b"[]]"
FOREIGN = [{"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "https://evil.example"}]


class Cookies(NamedTuple):
    person: str
    signer: str


@pytest.fixture
async def cookies(api: Api) -> Cookies:
    async with api.client() as client:
        signed_in = await client.post(await link(api))
    return Cookies(signed_in.headers["set-cookie"].split(";")[0], await signers_cookie(api))


async def _shown(request: AnyRequest) -> dict[str, str]:
    return {"subject": context.of(request).subject}


async def _read(data: JSONBody[Named]) -> None:
    del data


def planted(wanted: Requirement | str) -> list[Any]:
    """A route of both kinds behind the door, which does nothing for its protection."""
    opt, path = requires(wanted), "/planted/{signer_id:str}"
    return [get(path, opt=opt)(_shown), post(path, opt=opt, status_code=200)(_shown)]


def planted_at(cookies: Cookies) -> str:
    """The planted route's address for the signer whose cookie it is."""
    return place_of(cookies.signer).replace("/sign/", "/planted/")


@pytest.mark.parametrize(
    ("wanted", "opens"),
    [
        ("search:read", {"key"}),
        (PERSON, {"person"}),
        (SIGNER, {"signer"}),
        (PUBLIC, {"key", "person", "signer", "nobody"}),
        (LOGIN, {"key", "person", "signer", "nobody"}),
        (STATIC, {"key", "person", "signer", "nobody"}),
    ],
    ids=["scope", "person", "signer", "public", "login", "static"],
)
@pytest.mark.one_database
async def test_each_door_opens_to_its_own_callers(
    api: Api, cookies: Cookies, wanted: Requirement | str, opens: set[str]
) -> None:
    api.plant(*planted(wanted), alone=True)
    callers: dict[str, dict[str, Any]] = {
        "key": {},
        "person": {"key": None, "headers": {"Cookie": cookies.person}},
        "signer": {"key": None, "headers": {"Cookie": cookies.signer}},
        "nobody": {"key": None},
    }
    for method in ("GET", "POST"):
        for name, caller in callers.items():
            answer = await api.call(method, planted_at(cookies), **caller)
            if name in opens:
                assert answer.status_code == 200, name
            elif wanted == PERSON:
                assert (answer.status_code, answer.headers["Location"]) == (303, "/login"), name
                assert all(answer.headers[header].isdigit() for header in RATE_HEADERS)
            else:
                assert faults("/planted", answer, 401) == [], name


@pytest.mark.one_database
async def test_the_route_learns_who_opened_its_door(api: Api, cookies: Cookies) -> None:
    api.plant(
        get("/person", opt=requires(PERSON))(_shown),
        get("/planted/{signer_id:str}", opt=requires(SIGNER))(_shown),
        alone=True,
    )
    person = await api.get("/person", key=None, headers={"Cookie": cookies.person})
    signer = await api.get(planted_at(cookies), key=None, headers={"Cookie": cookies.signer})
    assert person.json()["subject"].startswith("per_")
    assert signer.json()["subject"].startswith("sgn_")


@pytest.mark.parametrize("wanted", [PERSON, SIGNER, LOGIN], ids=["person", "signer", "login"])
@pytest.mark.parametrize("headers", FOREIGN)
@pytest.mark.one_database
async def test_a_route_that_does_nothing_is_closed_to_forms_of_other_sites(
    api: Api, cookies: Cookies, wanted: Requirement, headers: dict[str, str]
) -> None:
    api.plant(*planted(wanted), alone=True)
    sent = {**headers, "Cookie": f"{cookies.person}; {cookies.signer}"}
    assert faults("/planted", await api.call("POST", planted_at(cookies), key=None, headers=sent), 403) == []
    assert (await api.call("GET", planted_at(cookies), key=None, headers=sent)).status_code == 200


@pytest.mark.one_database
async def test_every_route_that_a_cookie_opens_is_closed_to_forms_of_other_sites(api: Api, cookies: Cookies) -> None:
    own = [route for route in routes(api.guard) if route.door.own_site and route.method not in ("GET", "HEAD")]
    table = [route for route in own if not route.keyed]
    assert {route.path for route in own if route.keyed} == {"/mcp"}
    assert {route.method for route in table} == {"POST", "PUT", "DELETE"}
    opened = {msgspec.structs.replace(route.door, scope="") for route in table}
    assert opened == {PERSON, SIGNER, LOGIN, LINK, CHECK}
    document = (await api.post("/api/v1/documents", {**new_document("Two"), "send": True})).json()
    signer_id = document["parties"][0]["signers"][0]["id"]
    link = await api.call("POST", f"/api/v1/documents/{document['id']}/signers/{signer_id}/link")
    for route in table:
        path = re.sub("^/sign/[^/]+", place_of(cookies.signer), route.path)
        path = httpx.URL(link.json()["url"]).path if route.door == LINK else path
        for headers in FOREIGN:
            sent = {**headers, "Cookie": f"{cookies.person}; {cookies.signer}"}
            assert faults(path, await api.call(route.method, path, key=None, headers=sent), 403) == []


@pytest.mark.one_database
async def test_no_byte_is_read_of_a_body_that_comes_without_key_or_cookie(api: Api) -> None:
    read = []

    async def body() -> AsyncIterator[bytes]:
        read.append(len(EIGHT_MB))
        yield EIGHT_MB

    headers = {"Content-Type": "application/json", "Content-Length": str(len(EIGHT_MB))}
    for path in (
        "/sign/sgn_x/complete",
        "/sign/sgn_x/decline",
        "/api/v1/documents",
        "/api/v1/keys",
        "/query",
        "/nothing",
    ):
        answer = await api.call("POST", path, key=None, content=body(), headers=headers)
        assert faults(path, answer, 401) == []
    away = await api.call("POST", "/account", key=None, content=body(), headers=headers)
    assert (away.status_code, read) == (303, [])


@pytest.mark.one_database
async def test_a_key_without_the_scope_is_refused_unread(api: Api) -> None:
    read = []

    async def body() -> AsyncIterator[bytes]:
        read.append(1)
        yield b"{}"

    key = await api.make_key("archive:read")
    answer = await api.call("POST", "/query", key=key, content=body(), headers={"Content-Type": "application/json"})
    assert (answer.status_code, read) == (403, [])


@pytest.mark.one_database
async def test_static_files_are_never_counted(database_url: str, tmp_path: Path, clock: HandClock) -> None:
    async with opened(database_url, tmp_path, clock, anonymous_per_minute=1) as api:
        for _ in range(3):
            answer = await api.get(static("deedbox.css"), key=None)
            assert (answer.status_code, answer.headers["X-RateLimit-Remaining"]) == (200, "1")


async def test_a_session_has_its_own_budget_whatever_the_address(
    database_url: str, tmp_path: Path, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(database_url, tmp_path, clock, anonymous_per_minute=4) as api:
        await api.settle()
        async with api.client() as client:
            person = (await client.post(await link(api))).headers["set-cookie"].split(";")[0]
        signer = await signers_cookie(api)
        for path, cookie, limit in (
            ("/account", person, limits.PERSON_PER_MINUTE),
            (f"{place_of(signer)}/session", signer, web_limits.SIGNER_PER_MINUTE),
        ):
            answers = [
                await api.get(path, key=None, headers={"Cookie": cookie}, address=f"127.0.0.{n}") for n in (1, 2)
            ]
            assert [answer.status_code for answer in answers] == [200, 200]
            assert [answer.headers["X-RateLimit-Limit"] for answer in answers] == [str(limit)] * 2
            assert [answer.headers["X-RateLimit-Remaining"] for answer in answers] == [str(limit - 1), str(limit - 2)]
        # One request of this address was counted: the login link. What a session or a signing link asked for was not.
        paths = ("/account", "/sign/sgn_x/session", "/account", "/account")
        strangers = [(await api.get(path, key=None)).status_code for path in paths]
        assert strangers == [303, 401, 303, 429]
        assert (await api.get("/account", key=None, headers={"Cookie": person})).status_code == 200


async def test_a_session_that_is_used_up_gets_429(api: Api, cookies: Cookies) -> None:
    sent, path = {"Cookie": cookies.signer}, f"{place_of(cookies.signer)}/session"
    for _ in range(web_limits.SIGNER_PER_MINUTE):
        await api.call("OPTIONS", path, key=None, headers=sent)  # no method of the signer's: not counted
    assert (await api.get(path, key=None, headers=sent)).status_code == 200
    for _ in range(web_limits.SIGNER_PER_MINUTE - 1):
        await api.call("HEAD", f"{place_of(cookies.signer)}/files/x/pages/x", key=None, headers=sent)
    assert faults(path, await api.get(path, key=None, headers=sent), 429) == []


@pytest.mark.one_database
async def test_a_path_without_a_route_and_a_method_without_one_keep_their_order_of_checks(api: Api) -> None:
    for method, path, without, with_key in (
        ("GET", "/nothing", 401, 404),
        ("GET", "/api/v1/keys/a/b", 401, 404),
        ("PUT", "/api/v1/keys", 401, 405),
        ("OPTIONS", "/api/v1/keys", 401, 204),
        ("DELETE", "/login", 405, 405),
        ("DELETE", "/account", 405, 405),
        ("DELETE", "/sign/sgn_x/complete", 405, 405),
        ("OPTIONS", "/sign/sgn_x/complete", 204, 204),
        ("POST", "/livez", 405, 405),
    ):
        answers = (await api.call(method, path, key=None), await api.call(method, path))
        assert [answer.status_code for answer in answers] == [without, with_key], (method, path)


@pytest.mark.one_database
async def test_a_door_that_the_guard_did_not_open_stays_closed(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """The seeded bug: a guard that takes every path for a public one."""
    monkeypatch.setattr(auth.Authenticator, "at", lambda *_: auth.FoundKey(PUBLIC))
    assert faults("/api/v1/keys", await api.get("/api/v1/keys", key=None), 500) == []
    assert (await api.get("/login", key=None)).status_code == 200


@pytest.mark.one_database
async def test_one_session_takes_only_some_of_the_places(api: Api, cookies: Cookies) -> None:
    go_on = asyncio.Event()

    async def waiting() -> None:
        await go_on.wait()

    api.plant(get("/planted/{signer_id:str}", opt=requires(SIGNER))(waiting))
    headers, path = {"Cookie": cookies.signer}, planted_at(cookies)
    under_way = [
        asyncio.create_task(api.get(path, key=None, headers=headers)) for _ in range(web_limits.IN_FLIGHT_PER_SESSION)
    ]
    while api.guard.metrics.in_flight < web_limits.IN_FLIGHT_PER_SESSION:
        await asyncio.sleep(0)
    assert faults(path, await api.get(path, key=None, headers=headers), 503) == []
    assert (await api.get("/health")).status_code == 200
    go_on.set()
    assert {answer.status_code for answer in await asyncio.gather(*under_way)} == {200}
    assert not api.guard.in_flight_limit.held


async def test_a_stranger_without_a_credential_of_the_right_shape_costs_no_look_into_the_database(
    api: Api, cookies: Cookies, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = 0
    usual = api.deedbox.db.read

    async def counted(fn: Any) -> Any:
        nonlocal reads
        reads += 1
        return await usual(fn)

    monkeypatch.setattr(api.deedbox.db, "read", counted)
    person, signer = (cookie.partition("=")[0] for cookie in cookies)
    place = f"/sign/{signer.removeprefix('deedbox_signer_')}/session"
    for value in ("", "x", "deed_session_", "deed_session_" + "x" * 44, "deed_session_" + "x" * 31 + "!", "é" * 45):
        headers = {"Cookie": f"{person}={value}; {signer}={value}".encode()}
        assert (await api.get("/account", key=None, headers=headers)).status_code in (302, 303)
        assert (await api.get(place, key=None, headers=headers)).status_code == 401
        assert (await api.get("/health", key=value.replace("é", "e") or None)).status_code == 401
        assert (await api.get(f"/s/{quote(value or 'x')}", key=None)).status_code == 404
    assert reads == 0
    assert (await api.get(place, key=None, headers={"Cookie": f"{signer}=deed_session_{'x' * 32}"})).status_code == 401
    assert reads == 1

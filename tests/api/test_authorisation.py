"""R13: authorisation has no holes."""

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
import pytest
from litestar import Litestar, get, post
from litestar.params import FromPath, JSONBody

from deedbox.accounts.scopes import SCOPES
from deedbox.kernel.db import Database, Dialect, Isolation, Tx
from deedbox.kernel.errors import NotFound
from deedbox.web import limits
from deedbox.web.app import ROUTES
from deedbox.web.http import auth, head
from tests.api.answers import keyed, reason, routes
from tests.api.conftest import Api

pytestmark = pytest.mark.anyio
T = TypeVar("T")

MALFORMED = (
    "",
    "x",
    "deed_live_",
    "deed_live_" + "0" * 31,
    "deed_live_" + "0" * 33,
    "deed_live_" + "A" * 32,
    "deed_live_" + "g" * 32,
    "deed_test_" + "0" * 32,
    "deed_live_" + "0" * 32 + "\n",
    "deed_live_" + "0" * 31 + "\u0660",
    "'; drop table api_keys; --",
    "x" * 10_000,
)


class Named(msgspec.Struct):
    name: str


class CountingDatabase:
    """Passes everything on to the real database, and counts what was asked."""

    def __init__(self, real: Database) -> None:
        self.real = real
        self.dialect: Dialect = real.dialect
        self.listeners = real.listeners
        self.reads = 0

    async def read(self, fn: Callable[[Tx], T]) -> T:
        self.reads += 1
        return await self.real.read(fn)

    async def read_aside(self, fn: Callable[[Tx], T]) -> T:
        return await self.read(fn)

    async def write(self, fn: Callable[[Tx], T], *, isolation: Isolation = "serializable") -> T:
        return await self.real.write(fn, isolation=isolation)

    async def listen(self) -> None:
        await self.real.listen()

    async def close(self) -> None:
        await self.real.close()


def authorization(value: str) -> dict[str, Any]:
    return {"key": None, "headers": {"Authorization": value.encode("utf-8")}}


@pytest.mark.one_database
async def test_no_route_opens_without_a_good_key(api: Api) -> None:
    revoked, expired = await api.make_key(), await api.make_key(seconds=60)
    await api.revoke(revoked)
    api.clock.forward(60)
    unknown = "deed_live_" + "ab" * 16
    for route in keyed(api.guard):
        answers = [await api.call(route.method, route.path, key=key) for key in (None, unknown, revoked, expired)]
        assert [answer.status_code for answer in answers] == [401] * 4, route


@pytest.mark.one_database
async def test_every_malformed_key_is_refused_before_any_query(api: Api) -> None:
    counting = CountingDatabase(api.deedbox.db)
    api.deedbox.db = counting
    good = api.key.plain
    values = [f"Bearer {key}" for key in MALFORMED]
    values += [
        good,
        f"bearer {good}x",
        f"Basic {good}",
        f"Bearer  {good}",
        f"Bearer {good} ",
        "Bearer",
        "Bearer\t" + good,
    ]
    for value in values:
        for route in keyed(api.guard):
            answer = await api.call(route.method, route.path, **authorization(value))
            assert (answer.status_code, answer.headers["X-Service-Error-Code"]) == (401, "invalid_key"), value
    assert counting.reads == 0
    assert (await api.get("/health")).status_code == 200
    assert counting.reads > 0


@pytest.mark.one_database
async def test_the_word_bearer_may_be_written_in_any_case(api: Api) -> None:
    for word in ("Bearer", "bearer", "BEARER"):
        answer = await api.call("GET", "/health", **authorization(f"{word} {api.key.plain}"))
        assert answer.status_code == 200, word


@pytest.mark.one_database
async def test_every_route_refuses_a_key_with_every_scope_but_its_own_and_names_it(api: Api) -> None:
    for need in {route.need for route in keyed(api.guard) if route.need}:
        others = [scope for scope in SCOPES if scope != need and (need, scope) != ("documents:write", "documents:send")]
        key = await api.make_key(*others)
        for route in keyed(api.guard):
            if route.need == need:
                answer = await api.call(route.method, route.path, key=key)
                assert answer.status_code == 403, route
                if route.method != "HEAD":
                    assert need in reason(answer)
                assert answer.headers["X-Service-Error-Code"] == "missing_scope"


@pytest.mark.one_database
async def test_every_route_opens_with_its_own_scope_alone(api: Api) -> None:
    for route in keyed(api.guard):
        answer = await api.call(route.method, route.path, key=await api.make_key(route.need or "verify:read"))
        assert answer.status_code not in (401, 403), route


@pytest.mark.one_database
async def test_only_pages_and_probes_open_without_a_key_and_signing_in(api: Api) -> None:
    """A list to be kept by hand: whoever opens another route to everybody must say so here."""
    pages = {"/", "/login", "/login/{token}", "/join/{token}", "/login/forgot", "/login/reset/{token}"}
    pages |= {"/login/passkey", "/login/passkey/options", "/docs/api", "/docs/api/{subject}"}
    pages |= {"/static/{digest}/{name}", "/brand/{digest}/{name}", "/brand/{name}", "/static/embed.js"}
    probes = {"/livez", "/readyz", "/metrics", "/openapi.json"}
    proof = {"/ca.pem", "/crl/{name}", "/ca/{name}", "/api/v1/verify/{code}", "/verify", "/verify/{code}"}
    acts = {"", "/session", "/code", "/fields", "/complete", "/decline", "/delegate", "/download"}
    acts |= {
        "/files/{file_id}/pages/{page}",
        "/attachments/{field_id}",
        "/attachments/{field_id}/upload",
        "/attachments/{field_id}/pages/{page}",
        "/hand.svg",
        "/photo.png",
        "/text",
        "/ways/decline",
        "/ways/delegate",
        "/paper.pdf",
    }
    signer = {"/s/{token}", *(f"/sign/{{signer_id}}{act}" for act in acts)}
    app = api.guard.app
    assert isinstance(app, Litestar)
    opened = {path for path, handler in auth.list_routes(app) if auth.of(handler).opener not in ("key", "person")}
    assert opened == pages | probes | proof | signer


@pytest.mark.one_database
async def test_only_who_asks_for_itself_or_for_health_needs_no_scope(api: Api) -> None:
    # Behind /mcp every tool asks for that of its own route.
    assert {route.path for route in keyed(api.guard) if not route.need} == {"/api/v1/me", "/health", "/mcp"}


@pytest.mark.one_database
async def test_only_time_stamps_answers_and_tools_are_made_anew_for_the_same_idempotency_key(api: Api) -> None:
    assert {route.path for route in keyed(api.guard) if route.door.repeats} == {"/tsa", "/answer", "/mcp"}


async def test_revoking_holds_for_the_very_next_request(api: Api) -> None:
    key = await api.make_key()
    assert (await api.get("/health", key=key)).status_code == 200
    assert (await api.call("DELETE", f"/api/v1/keys/{key.id}")).status_code == 204
    assert (await api.get("/health", key=key)).status_code == 401


async def test_a_key_may_revoke_itself_and_is_gone_at_once(api: Api) -> None:
    key = await api.make_key("keys:write")
    assert (await api.call("DELETE", f"/api/v1/keys/{key.id}", key=key)).status_code == 204
    assert (await api.call("DELETE", f"/api/v1/keys/{key.id}", key=key)).status_code == 401


async def test_a_key_dies_in_the_second_of_its_expiry(api: Api) -> None:
    key = await api.make_key(seconds=10)
    api.clock.forward(9.9)
    assert (await api.get("/health", key=key)).status_code == 200
    api.clock.forward(0.1)
    assert (await api.get("/health", key=key)).status_code == 401


async def test_another_workspaces_key_is_not_there_at_all(api: Api) -> None:
    theirs = await api.make_key(workspace=api.other_workspace)
    answer = await api.call("DELETE", f"/api/v1/keys/{theirs.id}")
    missing = await api.call("DELETE", "/api/v1/keys/key_01JD0000000000000000000000")
    assert (answer.status_code, answer.json()) == (404, missing.json())
    assert theirs.id not in (await api.get("/api/v1/keys")).text
    assert (await api.get("/health", key=theirs)).status_code == 200


@pytest.mark.parametrize(
    ("mine", "wanted"),
    [
        (["keys:write"], ["documents:read"]),
        (["keys:write"], ["*"]),
        (["keys:write"], ["documents:*"]),
        (["keys:write"], None),
        (["keys:write", "search:read", "search:write", "search:query"], None),
        (["keys:write", "documents:*"], ["*"]),
        (["keys:write", "documents:*"], ["documents:read", "hooks:read"]),
        (["keys:write", "documents:read", "documents:write", "documents:send"], ["documents:*"]),
        (["keys:write", "documents:write"], ["documents:send"]),
        (list(SCOPES), ["*"]),
    ],
)
@pytest.mark.one_database
async def test_a_key_cannot_grant_what_it_lacks(api: Api, mine: list[str], wanted: list[str] | None) -> None:
    key = await api.make_key(*mine)
    answer = await api.post("/api/v1/keys", {"name": "more", "scopes": wanted}, key=key)
    assert answer.status_code == 403
    assert answer.headers["X-Service-Error-Code"] == "missing_scope"


async def test_a_key_can_grant_what_it_has_also_through_shorthands(api: Api) -> None:
    key = await api.make_key("keys:write", "documents:*")
    for wanted in (["documents:*"], ["documents:void"], ["documents:send", "keys:write"]):
        made = await api.post("/api/v1/keys", {"name": "same", "scopes": wanted}, key=key)
        assert made.status_code == 201
        more = await api.post("/api/v1/keys", {"name": "more", "scopes": ["hooks:read"]}, key=made.json()["key"])
        assert more.status_code == 403


async def _find(data: JSONBody[Named], thing: FromPath[str]) -> None:
    raise NotFound(f"{thing} {data.name} does not exist")


@pytest.mark.one_database
async def test_checks_run_in_their_order(api: Api) -> None:
    api.plant(post("/api/v1/planted/{thing:str}", opt=auth.requires("hooks:read"))(_find), alone=True)
    path = "/api/v1/planted/x"
    bad: dict[str, Any] = {"content": b"{", "headers": {"Content-Type": "application/json"}}
    lacking = await api.make_key("search:read", per_minute=1, per_day=1)
    assert (await api.call("POST", path, key=lacking, **bad)).status_code == 403
    assert (await api.call("POST", path, key=lacking, **bad)).status_code == 429
    await api.revoke(lacking)
    assert (await api.call("POST", path, key=lacking, **bad)).status_code == 401
    assert (await api.call("POST", path, **bad)).status_code == 400
    assert (await api.post(path, {"name": "a"})).status_code == 404


@pytest.mark.one_database
async def test_a_key_without_the_scope_learns_nothing_about_body_or_query(api: Api) -> None:
    one, other = await api.make_key("archive:read"), await api.make_key("verify:read")
    large = b" " * (limits.JSON_BODY_BYTES + 1)
    for route in [route for route in keyed(api.guard) if route.need]:
        for content, kind in ((b"{", "application/json"), (b"", "text/plain"), (large, "application/json")):
            answer = await api.call(
                route.method,
                f"{route.path}?limit=x&cursor=%00",
                key=other if route.need == "archive:read" else one,
                content=content,
                headers={"Content-Type": kind},
            )
            assert answer.status_code == 403, route


@pytest.mark.one_database
async def test_a_slash_more_or_less_opens_nothing(api: Api) -> None:
    for route in keyed(api.guard):
        for path in (f"/{route.path}", f"{route.path}/", f"/login/..{route.path}", f"/livez/..{route.path}"):
            answer = await api.call(route.method, f"http://deedbox.test{path}", key=None)
            assert answer.status_code in (401, 404, 405), path


async def _nothing() -> None:
    return None


@pytest.mark.one_database
async def test_a_route_without_a_door_cannot_be_built(api: Api) -> None:
    """The seeded bug."""
    with pytest.raises(TypeError, match="/api/v1/forgotten declares no door"):
        api.plant(get("/api/v1/forgotten")(_nothing))
    with pytest.raises(ValueError, match="unknown scope documents:raed"):
        auth.requires("documents:raed")


@pytest.mark.one_database
async def test_the_table_of_routes_holds_every_route(api: Api) -> None:
    listed = {(route.method, route.handler.handler_name) for route in routes(api.guard)}
    served = head.routes(ROUTES)
    assert listed == {(str(method), handler.handler_name) for handler in served for method in handler.http_methods}
    assert {("GET", name) for method, name in listed if method == "HEAD"} < listed

"""A key never makes or changes a key beyond itself: not in scopes, tier, rate or end."""

import asyncio
from datetime import timedelta
from typing import Any, NamedTuple

import httpx
import msgspec
import pytest

from deedbox.accounts import keys, workspaces
from deedbox.kernel.clock import instant
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import Unauthorized
from tests.api.conftest import Api, Key

pytestmark = pytest.mark.anyio

SCOPES = ["keys:read", "keys:write", "documents:read"]
RATE = {"per_minute": 100, "per_day": 5000}
END = "2026-03-02T12:00:00Z"
"""A day after the clock's first moment."""
WITHIN: dict[str, Any] = {"name": "child", "scopes": SCOPES, "tier": "starter", "expires_at": END}
LATER = "2026-03-02T12:00:01Z"


class Way(NamedTuple):
    """One attempt of a key to become more; `{maker}`, `{child}` and `{owner}` name keys."""

    what: str
    method: str
    path: str
    body: dict[str, Any]


def making(what: str, **wish: Any) -> Way:
    return Way(what, "POST", "/api/v1/keys", {**WITHIN, **wish})


def without(what: str, left_out: str) -> Way:
    return Way(what, "POST", "/api/v1/keys", {name: value for name, value in WITHIN.items() if name != left_out})


def changing(what: str, whose: str, **wish: Any) -> Way:
    return Way(what, "PATCH", f"/api/v1/keys/{{{whose}}}", wish)


WAYS = [
    making("a scope that it lacks", scopes=[*SCOPES, "documents:void"]),
    making("every scope", scopes=["*"]),
    making("a shorthand of which it has a part", scopes=["documents:*"]),
    without("the usual scopes, which it lacks", "scopes"),
    making("a higher tier", tier="professional"),
    making("the highest tier", tier="enterprise"),
    making("the highest tier, held down by a rate", tier="enterprise", rate_limit={"per_minute": 1, "per_day": 1}),
    without("the usual tier, which is higher", "tier"),
    making("a higher rate", rate_limit={"per_minute": 101, "per_day": 5000}),
    making("a higher rate by the day", rate_limit={"per_minute": 100, "per_day": 5001}),
    without("no end", "expires_at"),
    making("no end, said outright", expires_at=None),
    making("a later end", expires_at=LATER),
    making("a later end, in another zone", expires_at="2026-03-02T13:30:00+01:00"),
    changing("its own rate", "maker", rate_limit={"per_minute": 101, "per_day": 5000}),
    changing("its own end", "maker", expires_at=LATER),
    changing("no end for itself", "maker", expires_at=None),
    changing("its own scopes", "maker", scopes=["*"]),
    changing("its own tier", "maker", tier="enterprise"),
    changing("a child's rate", "child", rate_limit={"per_minute": 61, "per_day": 5000}),
    changing("a child's rate, by dropping its own", "slow child", rate_limit=None),
    changing("a child's end", "child", expires_at=LATER),
    changing("a child without end", "child", expires_at=None),
    changing("a revoked key's life", "revoked", status="active", revoked_at=None),
    changing("the name of a greater key", "owner", name="mine"),
    changing("the end of a greater key", "owner", expires_at=LATER),
    changing("a key of another workspace", "stranger", name="mine"),
    Way("the end of a greater key's life", "DELETE", "/api/v1/keys/{owner}", {}),
    Way("the end of another workspace's key", "DELETE", "/api/v1/keys/{stranger}", {}),
]
REFUSED = {"its own scopes": 400, "its own tier": 400, "a revoked key's life": 400, "a key of another workspace": 404,
    "the end of another workspace's key": 404,
}  # fmt: skip
"""What cannot change at all is 400, what is not there 404; the rest is 403."""


async def maker(api: Api) -> Key:
    return await api.make_key(*SCOPES, tier="starter", seconds=86_400, per_minute=100, per_day=5000)


async def made(api: Api, by: Key | str, **wish: Any) -> dict[str, Any]:
    answer = await api.post("/api/v1/keys", {**WITHIN, **wish}, key=by)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


async def patch(api: Api, key_id: str, body: Any, key: Key | str = "") -> httpx.Response:
    return await api.call("PATCH", f"/api/v1/keys/{key_id}", json=body, key=key)


async def snapshot(api: Api) -> list[Any]:
    columns = "id, name, scopes, tier, per_minute, per_day, expires_at, revoked_at"
    return await api.rows(f"select {columns} from api_keys order by id")


@pytest.mark.parametrize("way", WAYS, ids=[way.what for way in WAYS])
async def test_a_key_cannot_become_more(api: Api, way: Way) -> None:
    mine = await maker(api)
    known = {
        "maker": mine.id,
        "child": (await made(api, mine))["id"],
        "slow child": (await made(api, mine, tier="starter", rate_limit={"per_minute": 5, "per_day": 50}))["id"],
        "revoked": (await made(api, mine))["id"],
        "owner": api.key.id,
        "stranger": (await api.make_key(workspace=api.other_workspace)).id,
    }
    assert (await api.call("DELETE", f"/api/v1/keys/{known['revoked']}", key=mine)).status_code == 204
    before = await snapshot(api)
    path = way.path
    for name, key_id in known.items():
        path = path.replace(f"{{{name}}}", key_id)
    answer = await api.call(way.method, path, json=way.body, key=mine)
    assert answer.status_code == REFUSED.get(way.what, 403), answer.text
    assert await snapshot(api) == before


async def test_a_key_makes_and_lowers_what_lies_within_it(api: Api) -> None:
    mine = await maker(api)
    same = await made(api, mine, tier="starter", rate_limit=RATE)
    assert (same["rate_limit"], same["expires_at"], same["created_by"]) == (RATE, END, mine.id)
    child = await made(api, mine, scopes=["documents:read"])
    wish = {"name": "less", "rate_limit": {"per_minute": 60, "per_day": 999}, "expires_at": "2026-03-01T13:00:00Z"}
    lowered = await patch(api, child["id"], wish, mine)
    assert (lowered.status_code, {name: lowered.json()[name] for name in wish}) == (200, wish)
    assert (await api.get("/api/v1/me", key=child["key"])).headers["X-RateLimit-Limit"] == "60"
    assert (await patch(api, mine.id, {"expires_at": "2026-03-01T14:00:00Z"}, mine)).status_code == 200
    for key_id in (child["id"], mine.id):
        assert (await api.call("DELETE", f"/api/v1/keys/{key_id}", key=mine)).status_code == 204


async def test_an_owner_changes_a_key_freely(api: Api) -> None:
    key, now = await maker(api), api.clock.now()
    owner = workspaces.operator(api.workspace)
    wish = keys.KeyChange(name="more", rate_limit=keys.RateLimit(5000, 500_000), expires_at=None)
    changed = await api.deedbox.db.write(lambda tx: keys.change(tx, owner, key.id, wish, now=now))
    assert (changed.name, changed.expires_at, changed.rate_limit) == ("more", None, keys.RateLimit(5000, 500_000))
    assert (await api.get("/health", key=key)).headers["X-RateLimit-Limit"] == "5000"
    later = keys.KeyChange(expires_at=now + timedelta(days=900), rate_limit=None)
    changed = await api.deedbox.db.write(lambda tx: keys.change(tx, owner, key.id, later, now=now))
    assert (changed.expires_at, changed.rate_limit) == (instant(now + timedelta(days=900)), None)


async def test_what_was_read_can_be_written_back_and_what_cannot_change_is_named(api: Api) -> None:
    mine = await maker(api)
    child = await made(api, mine, rate_limit={"per_minute": 5, "per_day": 50})
    revoked = await made(api, mine)
    await api.call("DELETE", f"/api/v1/keys/{revoked['id']}")
    for key_id in (mine.id, child["id"], revoked["id"], api.key.id):
        read = (await api.get(f"/api/v1/keys/{key_id}")).json()
        before = await snapshot(api)
        back = await patch(api, key_id, read)
        assert (back.status_code, back.json(), await snapshot(api)) == (200, read, before), back.text
        for name in set(read) - {"name", "rate_limit", "expires_at"}:
            other = {"scopes": ["*", "keys:read"], "tier": "professional", "status": "expired"}.get(name, END)
            wrong = await patch(api, key_id, {**read, name: other})
            assert (wrong.status_code, name in wrong.json()["error"]) == (400, True), (name, wrong.text)
    assert (await patch(api, revoked["id"], {"name": "again"})).status_code == 409
    assert (await patch(api, child["id"], {})).status_code == 400


async def test_a_key_that_was_used_since_it_was_read_can_still_be_written_back(api: Api) -> None:
    read = (await api.get(f"/api/v1/keys/{api.key.id}")).json()
    assert read["last_used_at"] is None
    await api.deedbox.db.write(lambda tx: tx.run("update api_keys set last_used_at = '2026-03-01T12:00:00Z'"))
    assert (await patch(api, api.key.id, read)).status_code == 200


@pytest.mark.parametrize(
    ("field", "named"),
    [
        ({"expires_at": "2026-03-01T12:00:00Z"}, "expires_at"),
        ({"expires_at": "9999-12-31T23:59:59-01:00"}, "expires_at"),
        ({"name": ""}, "name"),
        ({"rate_limit": {"per_day": 1}}, "per_minute"),
        ({"nmae": "x"}, "nmae"),
    ],
)
@pytest.mark.one_database
async def test_a_change_that_cannot_be_is_400(api: Api, field: dict[str, Any], named: str) -> None:
    answer = await patch(api, api.key.id, field)
    assert (answer.status_code, named in answer.json()["error"]) == (400, True), answer.text


async def test_one_key_is_shown_and_another_workspaces_is_not_there(api: Api) -> None:
    key, theirs = await maker(api), await api.make_key(workspace=api.other_workspace)
    shown = await api.get(f"/api/v1/keys/{key.id}")
    assert (shown.status_code, shown.json()) == (200, msgspec.to_builtins(key.record))
    missing = await api.get("/api/v1/keys/key_01JD0000000000000000000000")
    hidden = await api.get(f"/api/v1/keys/{theirs.id}")
    assert (missing.status_code, hidden.status_code, hidden.json()) == (404, 404, missing.json())


async def test_what_a_key_has_made_ends_with_it(api: Api) -> None:
    mine = await maker(api)
    child = await made(api, mine)
    grandchild = await made(api, child["key"])
    beside = await made(api, await maker(api))
    assert (await api.call("DELETE", f"/api/v1/keys/{mine.id}")).status_code == 204
    codes = [(await api.get("/health", key=key["key"])).status_code for key in (child, grandchild, beside)]
    assert codes == [401, 401, 200]
    assert (await api.get(f"/api/v1/keys/{grandchild['id']}")).json()["revoked_at"] == "2026-03-01T12:00:00Z"


async def test_what_a_key_has_made_is_lowered_with_it(api: Api) -> None:
    mine = await maker(api)
    child = await made(api, mine, rate_limit=RATE)
    grandchild = await made(api, child["key"], rate_limit={"per_minute": 3, "per_day": 900})
    less = {"expires_at": "2026-03-01T13:00:00Z", "rate_limit": {"per_minute": 10, "per_day": 800}}
    assert (await patch(api, mine.id, less)).status_code == 200
    shown = [(await api.get(f"/api/v1/keys/{key['id']}")).json() for key in (child, grandchild)]
    assert [key["expires_at"] for key in shown] == ["2026-03-01T13:00:00Z"] * 2
    assert [key["rate_limit"] for key in shown] == [
        {"per_minute": 10, "per_day": 800},
        {"per_minute": 3, "per_day": 800},
    ]


async def test_a_key_that_was_revoked_on_the_way_makes_nothing(api: Api) -> None:
    """The guard had let it pass: the revocation came between the look-up and the transaction."""
    mine = await maker(api)
    caller = await api.deedbox.db.read(lambda tx: keys.authenticate(tx, mine.plain, instant(api.clock.now())))
    await api.revoke(mine)

    def late(tx: Tx) -> None:
        keys.create(tx, caller, keys.NewKey(name="late", scopes=["keys:read"], tier="starter"), now=api.clock.now())

    with pytest.raises(Unauthorized):
        await api.deedbox.db.write(late)


@pytest.mark.both_databases
async def test_revoked_while_it_makes_keys_it_leaves_none_that_works(api: Api) -> None:
    mine = await maker(api)
    making_keys = [api.post("/api/v1/keys", WITHIN, key=mine) for _ in range(8)]
    ending = api.call("DELETE", f"/api/v1/keys/{mine.id}")
    answers = await asyncio.gather(*making_keys[:4], ending, *making_keys[4:])
    plain = [answer.json()["key"] for answer in answers if answer.status_code == 201]
    assert [(await api.get("/health", key=key)).status_code for key in plain] == [401] * len(plain)

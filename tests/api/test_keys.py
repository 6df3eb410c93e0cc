"""API keys: fields, the one look at the plain text, tiers and their rate limits."""

import hashlib
import re
from pathlib import Path

import pytest

from deedbox.kernel import limits
from tests.api.conftest import Api

pytestmark = pytest.mark.anyio

FIELDS = [
    "id",
    "name",
    "prefix",
    "last4",
    "scopes",
    "tier",
    "status",
    "created_at",
    "created_by",
    "expires_at",
    "last_used_at",
    "revoked_at",
    "rate_limit",
    "collections",
]
SEARCH = ["search:read", "search:write", "search:query", "embeddings:create"]


async def test_a_new_key_has_the_fields_of_the_contract_and_its_plain_text(api: Api) -> None:
    made = await api.post(
        "/api/v1/keys",
        {
            "name": "Büro",
            "scopes": ["documents:read", "documents:read"],
            "tier": "enterprise",
            "expires_at": "2027-01-01T01:00:00.9+01:00",
            "rate_limit": {"per_minute": 7, "per_day": 70},
        },
    )
    body = made.json()
    assert made.status_code == 201
    assert list(body) == [*FIELDS, "key"]
    assert re.fullmatch("deed_live_[0-9a-f]{32}", body["key"])
    assert re.fullmatch("key_[0-9A-HJKMNP-TV-Z]{26}", body["id"])
    assert body == {
        "id": body["id"],
        "name": "Büro",
        "prefix": "deed_live_",
        "last4": body["key"][-4:],
        "scopes": ["documents:read"],
        "tier": "enterprise",
        "status": "active",
        "created_at": "2026-03-01T12:00:00Z",
        "created_by": api.key.id,
        "expires_at": "2027-01-01T00:00:00Z",
        "last_used_at": None,
        "revoked_at": None,
        "rate_limit": {"per_minute": 7, "per_day": 70},
        "collections": None,
        "key": body["key"],
    }


async def test_a_key_made_without_wishes_gets_every_search_scope_and_the_usual_tier(api: Api) -> None:
    body = (await api.post("/api/v1/keys", {"name": "a"})).json()
    assert (body["scopes"], body["tier"], body["rate_limit"]) == (SEARCH, "professional", None)


async def test_the_plain_text_appears_only_once_and_is_stored_as_its_hash_alone(api: Api) -> None:
    made = (await api.post("/api/v1/keys", {"name": "a"})).json()
    for path in ("/api/v1/keys", "/api/v1/me"):
        text = (await api.get(path)).text
        assert made["key"] not in text
        assert '"key_hash"' not in text
    [row] = await api.rows(f"select * from api_keys where id = '{made['id']}'")
    assert hashlib.sha256(made["key"].encode()).digest() in [bytes(cell) for cell in row if isinstance(cell, bytes)]
    assert made["key"] not in repr(row)
    assert made["key"].removeprefix("deed_live_") not in repr(row)


async def test_the_database_files_never_hold_the_plain_text(api: Api, tmp_path: Path) -> None:
    plain = (await api.post("/api/v1/keys", {"name": "a"}, headers={"Idempotency-Key": "k"})).json()["key"]
    secret = plain.removeprefix("deed_live_").encode()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    assert [
        path.name
        for path in files
        if secret in path.read_bytes() or bytes.fromhex(secret.decode()) in path.read_bytes()
    ] == []


async def test_a_key_is_noted_as_used(api: Api) -> None:
    key = await api.make_key("search:read")
    await api.deedbox.start()
    api.clock.forward(90)
    await api.get("/health", key=key)
    await api.deedbox.stop()
    [row] = await api.rows(f"select last_used_at from api_keys where id = '{key.id}'")
    assert row == ("2026-03-01T12:01:30Z",)


async def test_status_tells_active_revoked_and_expired(api: Api) -> None:
    revoked, expired = await api.make_key(), await api.make_key(seconds=5)
    await api.call("DELETE", f"/api/v1/keys/{revoked.id}")
    api.clock.forward(5)
    listed = {key["id"]: key for key in (await api.get("/api/v1/keys")).json()["keys"]}
    assert listed[api.key.id]["status"] == "active"
    assert (listed[revoked.id]["status"], listed[revoked.id]["revoked_at"]) == ("revoked", "2026-03-01T12:00:00Z")
    assert (listed[expired.id]["status"], listed[expired.id]["expires_at"]) == ("expired", "2026-03-01T12:00:05Z")
    assert all(list(key) == FIELDS for key in listed.values())


async def test_revoking_again_changes_nothing(api: Api) -> None:
    key = await api.make_key()
    await api.call("DELETE", f"/api/v1/keys/{key.id}")
    api.clock.forward(100)
    again = await api.call("DELETE", f"/api/v1/keys/{key.id}")
    assert (again.status_code, again.content) == (204, b"")
    [row] = await api.rows(f"select revoked_at from api_keys where id = '{key.id}'")
    assert row == ("2026-03-01T12:00:00Z",)


@pytest.mark.parametrize(
    "key_id", ["x", "key_", "key_01JD0000000000000000000000", "doc_01JD0000000000000000000000", "%25"]
)
async def test_revoking_what_is_not_there_is_404(api: Api, key_id: str) -> None:
    answer = await api.call("DELETE", f"/api/v1/keys/{key_id}")
    assert (answer.status_code, answer.json()["error"]) == (404, "API key does not exist")


async def test_pages_walk_through_all_keys_newest_first(api: Api) -> None:
    for _ in range(6):
        api.clock.forward(1)
        await api.make_key()
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = (await api.get("/api/v1/keys", params={"limit": 3, **({"cursor": cursor} if cursor else {})})).json()
        assert list(page) == ["keys", "count", "has_more", "next_cursor"]
        assert page["count"] == len(page["keys"]) <= 3
        assert page["has_more"] == (page["next_cursor"] is not None)
        seen += [key["id"] for key in page["keys"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert len(seen) == 7
    assert seen == sorted(set(seen), reverse=True)


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"name": ""}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"name": "a", "scopes": []}, "scopes"),
        ({"name": "a", "scopes": ["documents:raed"]}, "documents:raed"),
        ({"name": "a", "scopes": ["search:read"] * 65}, "scopes"),
        ({"name": "a", "tier": "gold"}, "tier"),
        ({"name": "a", "rate_limit": {"per_minute": 0, "per_day": 1}}, "per_minute"),
        ({"name": "a", "rate_limit": {"per_minute": "5", "per_day": 1}}, "per_minute"),
        ({"name": "a", "rate_limit": {"per_minute": 5}}, "per_day"),
        ({"name": "a", "rate_limit": {"per_minute": 5.5, "per_day": 6}}, "per_minute"),
        ({"name": "a", "rate_limit": {"per_minute": 1e300, "per_day": 6}}, "per_minute"),
        ({"name": "a", "rate_limit": {"per_minute": True, "per_day": 6}}, "per_minute"),
        ({"name": "a", "rate_limit": "null"}, "rate_limit"),
        ({"name": "a", "expires_at": "2026-03-01T12:00:00Z"}, "expires_at"),
        ({"name": "a", "expires_at": "2026-03-01T12:00:00.5Z"}, "expires_at"),
        ({"name": "a", "expires_at": "2027-03-01T12:00:00"}, "expires_at"),
        ({"name": "a", "expires_at": "9999-12-31T23:59:59-01:00"}, "expires_at"),
        ({"name": "a", "expires_at": 1999999999}, "expires_at"),
    ],
)
@pytest.mark.one_database
async def test_a_wrong_wish_is_400_and_names_the_field(api: Api, body: dict[str, object], named: str) -> None:
    answer = await api.post("/api/v1/keys", body)
    assert (answer.status_code, named in answer.json()["error"]) == (400, True), answer.text


async def test_a_whole_number_may_be_written_with_a_point(api: Api) -> None:
    body = b'{"name": "a", "rate_limit": {"per_minute": 5.0, "per_day": 1e2}}'
    made = await api.call("POST", "/api/v1/keys", content=body, headers={"Content-Type": "application/json"})
    assert (made.status_code, made.json()["rate_limit"]) == (201, {"per_minute": 5, "per_day": 100})


async def test_an_escaped_backslash_is_no_nul(api: Api) -> None:
    made = await api.post("/api/v1/keys", {"name": "\\u0000"})
    assert (made.status_code, made.json()["name"]) == (201, "\\u0000")


async def test_a_workspace_has_a_bounded_number_of_keys_that_work(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    await api.make_key(seconds=5)
    monkeypatch.setattr(limits, "KEYS_PER_WORKSPACE", 2)
    assert (await api.post("/api/v1/keys", {"name": "a"})).status_code == 409
    api.clock.forward(5)  # an expired key takes no room
    assert (await api.post("/api/v1/keys", {"name": "a"})).status_code == 201


async def test_the_headers_tell_the_limits_of_the_tier(api: Api) -> None:
    own = await api.make_key(tier="enterprise", per_minute=7, per_day=70)
    for key, limit in (
        (await api.make_key(tier="starter"), 60),
        (await api.make_key(tier="professional"), 300),
        (await api.make_key(tier="enterprise"), 6000),
        (own, 7),
    ):
        headers = (await api.get("/health", key=key)).headers
        assert (headers["X-RateLimit-Limit"], headers["X-RateLimit-Remaining"]) == (str(limit), str(limit - 1))
        assert int(headers["X-RateLimit-Reset"]) == int(api.clock.now().timestamp()) + 60


async def test_a_refused_request_does_not_consume(api: Api) -> None:
    key = await api.make_key(per_minute=2, per_day=100)
    codes = [(await api.get("/health", key=key)).status_code for _ in range(6)]
    assert codes == [200, 200, 429, 429, 429, 429]
    refused = await api.get("/health", key=key)
    assert (refused.headers["X-RateLimit-Remaining"], refused.headers["Retry-After"]) == ("0", "60")
    api.clock.forward(60)
    assert (await api.get("/health", key=key)).headers["X-RateLimit-Remaining"] == "1"


async def test_both_apis_share_one_budget_and_every_admitted_answer_counts(api: Api) -> None:
    key = await api.make_key(per_minute=10, per_day=100)
    paths = ["/health", "/api/v1/me", "/nothing", "/api/v1/nothing", "/api/v1/keys?limit=x"]
    left = [(await api.get(path, key=key)).headers["X-RateLimit-Remaining"] for path in paths]
    assert left == ["9", "8", "7", "6", "5"]


async def test_the_day_is_limited_beside_the_minute(api: Api) -> None:
    key = await api.make_key(per_minute=2, per_day=3)
    for _ in range(3):
        assert (await api.get("/health", key=key)).status_code == 200
        api.clock.forward(61)
    refused = await api.get("/health", key=key)
    assert (refused.status_code, refused.headers["X-RateLimit-Limit"]) == (429, "3")
    assert int(refused.headers["Retry-After"]) == 86_400 - 3 * 61

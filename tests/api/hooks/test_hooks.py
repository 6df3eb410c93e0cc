"""Subscriptions through the API: made once, shown without their secret, changed, deleted."""

from pathlib import Path
from typing import Any

import pytest

from deedbox.kernel import limits
from deedbox.webhooks import catalogue
from tests.api.answers import repeated
from tests.api.conftest import Api
from tests.api.hooks.conftest import Desk
from tests.conftest import HandClock
from tests.webhooks.sink import answering

pytestmark = pytest.mark.anyio

URL = "https://hooks.example.com/deedbox"
FIELDS = {
    "id", "target_url", "events", "status", "managed_by", "signature_scheme", "description", "created_at",
    "disabled_reason", "last_success_at", "last_failure_at", "consecutive_failures",
}  # fmt: skip


async def made(api: Api, **more: Any) -> Any:
    answer = await api.post("/api/v1/hooks", {"target_url": URL, "event": "document.sent", **more})
    assert answer.status_code == 201, answer.text
    return answer.json()


async def test_a_new_hook_is_timestamped_and_shows_its_secret_only_now(api: Api) -> None:
    hook = await made(api, description="Orders")
    assert set(hook) == FIELDS | {"secret"}
    assert hook["secret"].startswith("whsec_")
    assert (hook["managed_by"], hook["signature_scheme"], hook["status"]) == ("api", "timestamped", "active")
    assert (hook["events"], hook["target_url"], hook["description"]) == (["document.sent"], URL, "Orders")
    shown = (await api.get(f"/api/v1/hooks/{hook['id']}")).json()
    assert shown == {name: value for name, value in hook.items() if name != "secret"}
    assert hook["secret"] not in (await api.get("/api/v1/hooks")).text


async def test_the_same_target_and_events_again_give_the_existing_one_without_its_secret(api: Api) -> None:
    body: dict[str, Any] = {"target_url": URL, "events": ["document.sent", "document.completed"]}
    first = await api.post("/api/v1/hooks", body)
    turned = {**body, "events": ["document.completed", "document.sent", "document.sent"]}
    again = await api.post("/api/v1/hooks", turned)
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json() == {name: value for name, value in first.json().items() if name != "secret"}
    other = await api.post("/api/v1/hooks", {"target_url": URL, "event": "document.sent"})
    assert (other.status_code, other.json()["id"] != first.json()["id"]) == (201, True)
    assert (await api.get("/api/v1/hooks")).json()["count"] == 2


async def test_every_kind_of_the_catalogue_can_be_subscribed_to(api: Api) -> None:
    for kind in catalogue.KINDS:
        assert (await made(api, event=kind))["events"] == [kind]
    everything = await api.post("/api/v1/hooks", {"target_url": URL, "events": list(catalogue.KINDS)})
    assert everything.json()["events"] == list(catalogue.KINDS)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"target_url": URL, "event": "document.opened"}, "Unknown event 'document.opened'"),
        ({"target_url": URL, "events": ["document.sent", "x"]}, "Unknown event 'x'"),
        ({"target_url": URL, "events": []}, "events"),
        ({"target_url": URL}, "Send exactly one of `event` and `events`."),
        (
            {"target_url": URL, "event": "document.sent", "events": ["document.sent"]},
            "Send exactly one of `event` and `events`.",
        ),
        ({"event": "document.sent"}, "target_url"),
        ({"target_url": 5, "event": "document.sent"}, "target_url"),
        ({"target_url": URL, "event": "document.sent", "secret": "mine"}, "secret"),
        ({"target_url": URL, "event": "document.sent", "description": "x" * 501}, "description"),
        ({"target_url": "ftp://example.com/", "event": "document.sent"}, "must begin with http:// or https://"),
        ({"target_url": "//example.com/", "event": "document.sent"}, "must begin with http:// or https://"),
        ({"target_url": "", "event": "document.sent"}, "must begin with http:// or https://"),
        ({"target_url": "https://", "event": "document.sent"}, "no host"),
        ({"target_url": "https://user@example.com/", "event": "document.sent"}, "user name or password"),
        ({"target_url": "https://u:p@example.com/", "event": "document.sent"}, "user name or password"),
        ({"target_url": "https://example.com:99999/", "event": "document.sent"}, "URL"),
        ({"target_url": "https://example.com/" + "x" * 2048, "event": "document.sent"}, "target_url"),
    ],
)
@pytest.mark.one_database
async def test_a_hook_that_cannot_be_is_refused_with_the_reason(api: Api, body: Any, reason: str) -> None:
    answer = await api.post("/api/v1/hooks", body)
    assert (answer.status_code, set(answer.json())) == (400, {"error", "status"})
    assert reason in answer.json()["error"]
    assert (await api.get("/api/v1/hooks")).json()["count"] == 0


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "10.0.0.1", "169.254.169.254", "[::1]", "[::ffff:10.0.0.1]", "0x7f.1", "2130706433"],
)
@pytest.mark.one_database
async def test_an_address_that_is_not_public_is_refused_at_once(api: Api, host: str) -> None:
    hook = await made(api)
    for method, path, more in (
        ("POST", "/api/v1/hooks", {"event": "document.sent"}),
        ("PATCH", f"/api/v1/hooks/{hook['id']}", {}),
    ):
        answer = await api.call(method, path, json={"target_url": f"http://{host}:8080/x", **more})
        assert (answer.status_code, "not public" in answer.json()["error"]) == (400, True), answer.text


async def test_networks_that_the_operator_allows_are_accepted(desk: Desk) -> None:
    assert (await desk.subscribe(url="http://127.0.0.1:9/x"))["status"] == "active"
    refused = await desk.api.post("/api/v1/hooks", {"target_url": "http://10.0.0.1/", "event": "document.sent"})
    assert refused.status_code == 400


async def test_a_hook_is_changed_in_part(api: Api) -> None:
    hook = await made(api)
    path = f"/api/v1/hooks/{hook['id']}"
    changed = await api.call("PATCH", path, json={"description": "Now with a purpose"})
    assert (changed.status_code, changed.json()["description"]) == (200, "Now with a purpose")
    changed = await api.call("PATCH", path, json={"events": ["party.completed"], "target_url": f"{URL}/2"})
    assert (changed.json()["events"], changed.json()["target_url"]) == (["party.completed"], f"{URL}/2")
    assert (await api.call("PATCH", path, json={"description": None})).json()["description"] is None
    assert "secret" not in changed.json()
    assert (await api.call("PATCH", path, json={"status": "paused"})).status_code == 400
    assert (await api.call("PATCH", path, json={"events": ["nothing"]})).status_code == 400


async def test_a_change_that_makes_two_hooks_the_same_is_a_conflict(api: Api) -> None:
    first, second = await made(api), await made(api, event="document.voided")
    answer = await api.call("PATCH", f"/api/v1/hooks/{second['id']}", json={"events": ["document.sent"]})
    assert (answer.status_code, first["id"] in answer.json()["error"]) == (409, True)


async def test_a_deleted_hook_is_gone_and_can_be_made_anew(api: Api) -> None:
    hook = await made(api)
    gone = await api.call("DELETE", f"/api/v1/hooks/{hook['id']}")
    assert (gone.status_code, gone.content) == (204, b"")
    for method, path in (
        ("GET", ""), ("DELETE", ""), ("GET", "/deliveries"), ("POST", "/test"), ("POST", "/rotate"), ("POST", "/pause"),
    ):  # fmt: skip
        assert (await api.call(method, f"/api/v1/hooks/{hook['id']}{path}")).status_code == 404
    anew = await made(api)
    assert anew["id"] != hook["id"]
    assert anew["secret"] != hook["secret"]


async def test_another_workspaces_hook_is_not_there_at_all(api: Api) -> None:
    theirs = await api.make_key(workspace=api.other_workspace)
    hook = await made(api)
    path = f"/api/v1/hooks/{hook['id']}"
    since = {"since": "2026-03-01T00:00:00Z"}
    for method, where, body in (
        ("GET", path, None), ("PATCH", path, {"description": "x"}), ("DELETE", path, None),
        ("POST", f"{path}/test", None), ("POST", f"{path}/rotate", None), ("POST", f"{path}/pause", None),
        ("POST", f"{path}/resume", None), ("POST", f"{path}/recover", since), ("GET", f"{path}/deliveries", None),
    ):  # fmt: skip
        answer = await (api.call(method, where, key=theirs, json=body) if body else api.call(method, where, key=theirs))
        assert (answer.status_code, answer.json()["error"]) == (404, "Webhook does not exist"), (method, where)
    assert (await api.get("/api/v1/hooks", key=theirs)).json()["hooks"] == []
    same = await api.post("/api/v1/hooks", {"target_url": URL, "event": "document.sent"}, key=theirs)
    assert (same.status_code, same.json()["id"] != hook["id"]) == (201, True)
    assert (await api.get(path)).status_code == 200


async def test_a_bad_body_is_told_before_a_hook_that_is_not_there(api: Api) -> None:
    path = "/api/v1/hooks/hook_01JD0000000000000000000000"
    for method, where, body in (
        ("PATCH", path, {"events": ["document.opened"]}), ("POST", f"{path}/test", {"type": "document.opened"}),
        ("POST", f"{path}/recover", {"since": "2020-01-01T00:00:00Z"}),
    ):  # fmt: skip
        assert (await api.call(method, where, json=body)).status_code == 400, where


async def test_reading_and_writing_are_scopes_of_their_own(api: Api) -> None:
    reader, writer = await api.make_key("hooks:read"), await api.make_key("hooks:write")
    hook = await made(api)
    path = f"/api/v1/hooks/{hook['id']}"
    for where in ("/api/v1/hooks", path, f"{path}/deliveries", "/api/v1/hooks/events", "/api/v1/events"):
        assert (await api.get(where, key=reader)).status_code == 200, where
        assert (await api.get(where, key=writer)).status_code == 403, where
    for verb in ("test", "rotate", "pause", "resume"):
        assert (await api.call("POST", f"{path}/{verb}", key=reader)).status_code == 403, verb
        assert (await api.call("POST", f"{path}/{verb}", key=writer)).is_success, verb
    assert (await api.call("DELETE", path, key=reader)).status_code == 403
    assert (await api.call("DELETE", path, key=writer)).status_code == 204


async def test_the_list_goes_from_the_newest_to_the_oldest_in_pages(api: Api, clock: HandClock) -> None:
    ids = []
    for number in range(5):
        ids.append((await made(api, target_url=f"{URL}/{number}"))["id"])
        clock.forward(1)
    first = (await api.get("/api/v1/hooks?limit=2")).json()
    assert ([one["id"] for one in first["hooks"]], first["count"], first["has_more"]) == (ids[:2:-1], 2, True)
    rest = (await api.get(f"/api/v1/hooks?limit=100&cursor={first['next_cursor']}")).json()
    assert [one["id"] for one in rest["hooks"]] == ids[2::-1]
    assert (rest["has_more"], rest["next_cursor"]) == (False, None)
    for query in ("limit=0", "limit=101", "cursor=x", "cursor=doc_01JD0000000000000000000000"):
        assert (await api.get(f"/api/v1/hooks?{query}")).status_code == 400, query


async def test_a_workspace_has_so_many_hooks_and_no_more(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "HOOKS_PER_WORKSPACE", 2)
    await made(api)
    await made(api, event="document.voided")
    answer = await api.post("/api/v1/hooks", {"target_url": URL, "event": "party.completed"})
    assert (answer.status_code, "Delete one first" in answer.json()["error"]) == (409, True)
    assert (await api.post("/api/v1/hooks", {"target_url": URL, "event": "document.sent"})).status_code == 200


async def test_a_retried_request_makes_one_hook_and_gives_no_secret_again(api: Api) -> None:
    body, headers = {"target_url": URL, "event": "document.sent"}, {"Idempotency-Key": "one"}
    first = await api.post("/api/v1/hooks", body, headers=dict(headers))
    again = await api.post("/api/v1/hooks", body, headers=dict(headers))
    assert (again.status_code, again.content) == (201, repeated(first))
    assert (again.json()["secret"], first.json()["secret"][:6]) == (None, "whsec_")
    assert again.headers["Idempotency-Replayed"] == "true"
    other = await api.post("/api/v1/hooks", {**body, "description": "x"}, headers=dict(headers))
    assert other.status_code == 409
    existing = await api.post("/api/v1/hooks", body, headers={"Idempotency-Key": "two"})
    replayed = await api.post("/api/v1/hooks", body, headers={"Idempotency-Key": "two"})
    assert (existing.status_code, replayed.status_code, existing.content) == (200, 200, replayed.content)


async def test_a_retried_request_is_answered_also_when_the_address_is_no_longer_public(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    body, headers = {"target_url": "https://moved.example.com/", "event": "document.sent"}, {"Idempotency-Key": "one"}
    first = await api.post("/api/v1/hooks", body, headers=dict(headers))

    async def inside(_host: str, _port: int) -> list[str]:
        return ["10.0.0.1"]

    monkeypatch.setattr(api.deedbox.egress._doubtful, "_resolve", inside)
    again = await api.post("/api/v1/hooks", body, headers=dict(headers))
    assert (again.status_code, again.content) == (201, repeated(first))
    anew = await api.post("/api/v1/hooks", body)
    assert (anew.status_code, "not public" in anew.json()["error"]) == (400, True)


async def test_secrets_are_nowhere_in_clear(api: Api, tmp_path: Path) -> None:
    first = await api.post(
        "/api/v1/hooks", {"target_url": URL, "event": "document.sent"}, headers={"Idempotency-Key": "one"}
    )
    path = f"/api/v1/hooks/{first.json()['id']}/rotate"
    second = await api.call("POST", path, headers={"Idempotency-Key": "two"})
    secrets = [answer.json()["secret"] for answer in (first, second)]
    stored = repr(await api.rows("select * from hooks")) + repr(await api.rows("select * from idempotency"))
    files = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    for caller, name, kept in await api.rows("select caller, idempotency_key, exchange from idempotency"):
        stored += repr(api.deedbox.box.decrypt(bytes(kept), f"idempotency.exchange:{caller}/{name}"))
    for secret in secrets:
        assert secret not in stored
        assert secret.encode() not in files
        assert secret.removeprefix("whsec_")[:20].encode() not in files


async def test_an_automation_platform_subscribes_receives_and_unsubscribes(desk: Desk) -> None:
    """As Zapier does it: target_url and event, an id in the answer, DELETE by that id."""
    answer = await desk.api.post("/api/v1/hooks", {"target_url": desk.sink.url, "event": "document.sent"})
    assert answer.status_code == 201
    await desk.create(send=True)
    [received] = await desk.arrived(1)
    assert received.headers["x-service-event"] == "document.sent"
    assert (await desk.api.call("DELETE", f"/api/v1/hooks/{answer.json()['id']}")).status_code == 204
    await desk.create(send=True)
    assert await desk.api.rows("select id from deliveries where status in ('pending', 'sending')") == []


async def test_410_unsubscribes(desk: Desk) -> None:
    hook = await desk.subscribe()
    desk.sink.rule = answering(410)
    await desk.create(send=True)
    [delivery] = await desk.deliveries(hook)
    ended = await desk.ended(delivery)
    assert (ended["status"], ended["response_status"], ended["attempts"]) == ("failed", 410, 1)
    shown = await desk.hook(hook)
    assert (shown["status"], "410" in shown["disabled_reason"]) == ("disabled", True)
    await desk.create(send=True)
    assert len(await desk.deliveries(hook)) == 1
    for verb in ("test", "pause"):
        assert (await desk.do(hook, verb, status=409))["status"] == 409
    desk.sink.rule = answering(200)
    assert (await desk.do(hook, "resume"))["status"] == "active"
    await desk.create(send=True)
    await desk.arrived(2)


async def test_subscribing_again_to_a_disabled_hook_brings_it_back(desk: Desk) -> None:
    hook = await desk.subscribe()
    desk.sink.rule = answering(410)
    [delivery] = [await desk.do(hook, "test", status=202)]
    await desk.ended(delivery)
    again = await desk.api.post("/api/v1/hooks", {"target_url": desk.sink.url, "events": ["document.sent"]})
    assert (again.status_code, again.json()["id"], again.json()["status"]) == (200, hook["id"], "active")

"""Deliveries through the API: what was sent and what came back, tests, rotation, pauses, and once more."""

import asyncio
from datetime import timedelta

import pytest

from deedbox.kernel.clock import instant, moment
from deedbox.webhooks import limits
from tests.api.answers import repeated
from tests.api.hooks.conftest import Desk
from tests.faults.signatures import Delivery, accepts
from tests.webhooks.sink import Received, Reply, answering

pytestmark = pytest.mark.anyio

HEADERS = {
    "Host", "User-Agent", "Accept-Encoding", "Content-Length",
    "Content-Type", "X-Service-Event", "X-Service-Event-Id", "X-Service-Delivery", "X-Service-Attempt",
    "X-Service-Signature", "X-Service-Timestamp", "webhook-id", "webhook-timestamp", "webhook-signature",
}  # fmt: skip


def is_signed_by(secret: str, received: Received, desk: Desk, header: str = "x-service-signature") -> bool:
    headers = received.headers | {"x-service-signature": received.headers.get(header, "")}
    return accepts(Delivery(secret, received.body, headers, desk.api.clock.now()))


async def test_a_delivery_shows_its_request_its_response_and_the_time_it_took(desk: Desk) -> None:
    hook = await desk.subscribe()
    desk.sink.rule = lambda _: Reply(201, {"X-Trace": "abc"}, "gut – 好".encode())
    document = await desk.create(send=True)
    [received] = await desk.arrived(1)
    [listed] = await desk.deliveries(hook)
    shown = await desk.ended(listed)
    assert (shown["status"], shown["attempts"], shown["response_status"]) == ("delivered", 1, 201)
    assert shown["request_body"].encode() == received.body
    assert (shown["hook_id"], shown["type"], shown["target_url"]) == (hook["id"], "document.sent", desk.sink.url)
    assert shown["event_id"] == received.event_id
    [attempt] = shown["attempts_made"]
    assert set(attempt["request_headers"]) == HEADERS
    sent = {name.lower(): value for name, value in attempt["request_headers"].items()}
    assert sent == received.headers
    assert (sent["x-service-delivery"], sent["x-service-attempt"]) == (shown["id"], "1")
    assert (attempt["number"], attempt["response_status"], attempt["error"]) == (1, 201, None)
    assert (attempt["response_headers"]["x-trace"], attempt["response_body"]) == ("abc", "gut – 好")
    assert (attempt["response_truncated"], attempt["duration_ms"] >= 0) == (False, True)
    assert document["id"] in shown["request_body"]
    assert (await desk.hook(hook))["last_success_at"] == instant(desk.api.clock.now())


async def test_only_the_first_16_kib_of_a_response_are_kept(desk: Desk) -> None:
    hook = await desk.subscribe()
    desk.sink.rule = lambda _: Reply(200, body=b"x" * 20_000)
    [attempt] = (await desk.ended(await desk.do(hook, "test", status=202)))["attempts_made"]
    assert (len(attempt["response_body"]), attempt["response_truncated"]) == (16 * 1024, True)


async def test_a_failed_attempt_is_shown_and_made_again_with_the_same_bytes(desk: Desk) -> None:
    hook = await desk.subscribe()
    desk.sink.rule = answering(500)
    await desk.create(send=True)
    [delivery] = await desk.deliveries(hook)
    shown = await desk.attempted(delivery)
    assert (shown["status"], shown["response_status"]) == ("pending", 500)
    assert "500" in shown["error"]
    assert moment(shown["next_attempt_at"]) > desk.api.clock.now()
    failing = await desk.hook(hook)
    assert (failing["consecutive_failures"], failing["last_failure_at"] is not None) == (1, True)
    desk.sink.rule = answering(200)
    desk.api.clock.forward(7)
    ended = await desk.ended(delivery)
    assert (ended["status"], [one["response_status"] for one in ended["attempts_made"]]) == ("delivered", [500, 200])
    first, second = desk.sink.received
    assert first.body == second.body
    assert (first.headers["x-service-attempt"], second.headers["x-service-attempt"]) == ("1", "2")
    assert first.headers["x-service-timestamp"] != second.headers["x-service-timestamp"]
    assert is_signed_by(hook["secret"], second, desk)
    assert (await desk.hook(hook))["consecutive_failures"] == 0


async def test_a_target_that_is_not_there_is_named_in_the_attempt(desk: Desk) -> None:
    hook = await desk.subscribe(url="http://127.0.0.1:1/x")
    shown = await desk.attempted(await desk.do(hook, "test", status=202))
    [attempt] = shown["attempts_made"]
    assert (attempt["response_status"], attempt["response_headers"], attempt["response_body"]) == (None, None, None)
    assert "127.0.0.1" in attempt["error"]


async def test_a_test_sends_the_sample_of_the_kind_and_says_that_it_is_one(desk: Desk) -> None:
    hook = await desk.subscribe("document.sent", "document.declined")
    await desk.ended(await desk.do(hook, "test", status=202))
    await desk.ended(await desk.do(hook, "test", {"type": "document.declined"}, status=202))
    await desk.ended(await desk.do(hook, "test", {"type": "bulk_send.completed"}, status=202))
    kinds = [one.json["type"] for one in desk.sink.received]
    assert kinds == ["document.sent", "document.declined", "bulk_send.completed"]
    assert all(one.json["data"]["test"] is True for one in desk.sink.received)
    assert all(is_signed_by(hook["secret"], one, desk) for one in desk.sink.received)
    assert (await desk.do(hook, "test", {"type": "document.opened"}, status=400))["status"] == 400
    assert (await desk.api.get("/api/v1/events")).json()["events"] == []


async def test_an_ended_delivery_is_sent_again_with_the_same_event_and_bytes(desk: Desk) -> None:
    hook = await desk.subscribe()
    await desk.create(send=True)
    [delivery] = await desk.deliveries(hook)
    await desk.ended(delivery)
    headers = {"Idempotency-Key": "again"}
    path = f"/api/v1/deliveries/{delivery['id']}/redeliver"
    again = await desk.api.call("POST", path, headers=dict(headers))
    assert (again.status_code, again.json()["id"] != delivery["id"]) == (202, True)
    assert (await desk.api.call("POST", path, headers=dict(headers))).content == again.content
    await desk.ended(again.json())
    first, second = await desk.arrived(2)
    assert (first.body, first.event_id) == (second.body, second.event_id)
    assert first.headers["x-service-delivery"] != second.headers["x-service-delivery"]
    assert len(await desk.deliveries(hook)) == 2


async def test_a_delivery_that_waits_is_tried_at_once_when_it_is_asked_for(desk: Desk) -> None:
    hook = await desk.subscribe()
    desk.sink.rule = answering(503)
    await desk.create(send=True)
    [delivery] = await desk.deliveries(hook)
    await desk.attempted(delivery)
    desk.sink.rule = answering(200)
    answer = await desk.api.call("POST", f"/api/v1/deliveries/{delivery['id']}/redeliver")
    assert (answer.status_code, answer.json()["id"]) == (202, delivery["id"])
    assert (await desk.ended(delivery))["attempts"] == 2


async def test_another_workspaces_delivery_is_not_there_at_all(desk: Desk) -> None:
    hook = await desk.subscribe()
    delivery = await desk.do(hook, "test", status=202)
    theirs = await desk.api.make_key(workspace=desk.api.other_workspace)
    for method, path in (("GET", ""), ("POST", "/redeliver")):
        answer = await desk.api.call(method, f"/api/v1/deliveries/{delivery['id']}{path}", key=theirs)
        assert (answer.status_code, answer.json()["error"]) == (404, "Delivery does not exist")


async def test_deliveries_are_listed_in_pages_and_by_status(desk: Desk) -> None:
    hook = await desk.subscribe()
    good = []
    for _ in range(3):
        good.append((await desk.ended(await desk.do(hook, "test", status=202)))["id"])
        desk.api.clock.forward(1)
    desk.sink.rule = answering(500)
    bad = await desk.attempted(await desk.do(hook, "test", status=202))
    assert [one["id"] for one in await desk.deliveries(hook)] == [bad["id"], *reversed(good)]
    assert [one["id"] for one in await desk.deliveries(hook, status="delivered", limit=2)] == good[:0:-1]
    assert [one["id"] for one in await desk.deliveries(hook, cursor=good[1])] == good[:1]
    assert [one["id"] for one in await desk.deliveries(hook, status="pending")] == [bad["id"]]
    for query in ("status=lost", "status=null", "limit=101", "cursor=hook_01JD0000000000000000000000"):
        answer = await desk.api.get(f"/api/v1/hooks/{hook['id']}/deliveries?{query}")
        assert answer.status_code == 400, query


async def test_a_paused_hook_gets_nothing_until_it_is_resumed_and_then_everything(desk: Desk) -> None:
    hook = await desk.subscribe("document.sent", "document.voided")
    assert (await desk.do(hook, "pause"))["status"] == "paused"
    document = await desk.create(send=True)
    desk.api.clock.forward(1)
    await desk.api.call("POST", f"/api/v1/documents/{document['id']}/void")
    waiting = await desk.deliveries(hook)
    assert [one["status"] for one in waiting] == ["pending", "pending"]
    await asyncio.sleep(0.1)  # time enough for a sender that does not heed the pause
    assert desk.sink.received == []
    assert (await desk.do(hook, "resume"))["status"] == "active"
    received = await desk.arrived(2)
    assert [one.json["sequence"] for one in received] == [1, 2]


async def test_a_rotated_secret_takes_over_after_a_day_with_both_sent_meanwhile(desk: Desk) -> None:
    hook = await desk.subscribe()
    rotated = await desk.do(hook, "rotate")
    old, new = hook["secret"], rotated["secret"]
    assert moment(rotated["effective_at"]) == desk.api.clock.now() + timedelta(hours=24)
    assert old != new
    await desk.ended(await desk.do(hook, "test", status=202))
    before = desk.sink.received[-1]
    assert is_signed_by(old, before, desk)
    assert is_signed_by(new, before, desk, "x-service-signature-next")
    desk.api.clock.forward(24 * 3600)
    await desk.ended(await desk.do(hook, "test", status=202))
    after = desk.sink.received[-1]
    assert is_signed_by(new, after, desk)
    assert is_signed_by(old, after, desk, "x-service-signature-previous")
    desk.api.clock.forward(24 * 3600)
    await desk.ended(await desk.do(hook, "test", status=202))
    last = desk.sink.received[-1]
    assert is_signed_by(new, last, desk)
    assert not {"x-service-signature-next", "x-service-signature-previous"} & set(last.headers)


async def test_a_leaked_secret_is_replaced_at_once(desk: Desk) -> None:
    hook = await desk.subscribe()
    rotated = await desk.do(hook, "rotate", {"at_once": True})
    assert moment(rotated["effective_at"]) == desk.api.clock.now()
    await desk.ended(await desk.do(hook, "test", status=202))
    [received] = desk.sink.received
    assert is_signed_by(rotated["secret"], received, desk)
    assert is_signed_by(hook["secret"], received, desk, "x-service-signature-previous")


async def test_a_retried_rotation_is_one_rotation(desk: Desk) -> None:
    hook = await desk.subscribe()
    path, headers = f"/api/v1/hooks/{hook['id']}/rotate", {"Idempotency-Key": "rotate"}
    first = await desk.api.call("POST", path, headers=dict(headers))
    again = await desk.api.call("POST", path, headers=dict(headers))
    assert (again.status_code, again.content, again.json()["secret"]) == (200, repeated(first), None)


async def test_what_never_reached_a_hook_is_sent_again_since_a_time(desk: Desk) -> None:
    hook = await desk.subscribe()
    early = await desk.create(send=True)
    await desk.arrived(1)
    desk.api.clock.forward(3600)
    since = instant(desk.api.clock.now())
    desk.sink.rule = answering(410)
    missed = await desk.create(send=True)
    [lost, _] = await desk.deliveries(hook)
    await desk.ended(lost)
    desk.api.clock.forward(60)
    unheard = await desk.create(send=True)
    assert (await desk.do(hook, "recover", {"since": since}, status=409))["status"] == 409
    desk.sink.rule = answering(200)
    await desk.do(hook, "resume")
    assert await desk.do(hook, "recover", {"since": since}, status=202) == {"planned": 2, "has_more": False}
    await desk.arrived(4)
    told = [one.json["data"]["document_id"] for one in desk.sink.received]
    assert told[:2] == [early["id"], missed["id"]]
    assert sorted(told[2:]) == sorted([missed["id"], unheard["id"]])
    assert desk.sink.received[1].body in [one.body for one in desk.sink.received[2:]]
    for delivery in await desk.deliveries(hook, status="pending"):
        await desk.ended(delivery)
    assert await desk.do(hook, "recover", {"since": since}, status=202) == {"planned": 0, "has_more": False}


async def test_a_recovery_reaches_back_so_far_and_no_farther(desk: Desk) -> None:
    hook = await desk.subscribe()
    now = desk.api.clock.now()
    edge = now - timedelta(days=limits.WEBHOOK_KEEP_DAYS)
    await desk.do(hook, "recover", {"since": instant(edge)}, status=202)
    for since in (instant(edge - timedelta(seconds=1)), "yesterday", "2026-03-01T00:00:00", None, 5):
        assert (await desk.do(hook, "recover", {"since": since}, status=400))["status"] == 400, since
    later = instant(now + timedelta(days=1))
    assert await desk.do(hook, "recover", {"since": later}, status=202) == {"planned": 0, "has_more": False}

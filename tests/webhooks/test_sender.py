"""What is sent, when, how often, and what each answer leads to."""

from datetime import timedelta

import pytest

from deedbox.kernel import limits
from deedbox.kernel.clock import instant
from deedbox.webhooks import limits as webhooks_limits
from deedbox.webhooks import signature
from deedbox.webhooks.hook import HookChange
from tests.webhooks.conftest import Office
from tests.webhooks.sink import BREAK_OFF, RESET, Reply, answering

pytestmark = pytest.mark.anyio

HOUR = 3600.0


async def test_an_event_arrives_with_its_headers_and_a_true_signature(office: Office) -> None:
    hook, secret = await office.make()
    event = await office.emit(title="Ünïcode")
    now = office.clock.now()
    assert await office.send() == 1
    [got] = office.sink.received
    assert got.body.decode() == (
        f'{{"id":"{event.id}","type":"document.sent","timestamp":"{event.created_at}","api_version":"v1",'
        '"sequence":1,"data":{"title":"Ünïcode"}}'
    )
    [delivery] = await office.deliveries(hook)
    assert got.headers["content-type"] == "application/json"
    assert got.headers["x-service-event"] == "document.sent"
    assert got.headers["x-service-event-id"] == event.id
    assert got.headers["x-service-delivery"] == delivery.id
    assert got.headers["x-service-attempt"] == "1"
    assert got.headers["x-service-timestamp"] == instant(now)
    assert got.headers["x-service-signature"] == signature.digest(secret, got.body, instant(now))
    assert (delivery.status, delivery.attempts, delivery.response_status) == ("delivered", 1, 200)


async def test_a_dashboard_s_hook_signs_the_body_alone_and_sends_no_timestamp(office: Office) -> None:
    _, secret = await office.make(managed_by="dashboard")
    await office.emit()
    await office.send()
    [got] = office.sink.received
    assert got.headers["x-service-signature"] == signature.digest(secret, got.body, None)
    assert not {"x-service-timestamp", "webhook-id", "webhook-timestamp", "webhook-signature"} & set(got.headers)


async def test_ten_attempts_in_75_hours_with_the_same_bytes_and_then_it_has_failed(office: Office) -> None:
    hook, _ = await office.make()
    office.sink.rule = answering(500)
    await office.emit(metadata={"a": "b"})
    begun = office.clock.now()
    for number, wait in enumerate(limits.WEBHOOK_RETRY_SECONDS, 1):
        if wait:
            office.clock.forward(wait - 1)
            assert await office.send() == 0
            office.clock.forward(1)
        assert await office.send() == 1
        assert office.sink.received[-1].headers["x-service-attempt"] == str(number)
    assert (office.clock.now() - begun).total_seconds() / HOUR == pytest.approx(75.585, abs=0.01)
    office.clock.forward(200 * HOUR)
    assert await office.send() == 0
    assert len({(got.body, got.event_id) for got in office.sink.received}) == 1
    [delivery] = await office.deliveries(hook)
    assert (delivery.status, delivery.attempts, delivery.next_attempt_at) == ("failed", 10, None)


async def test_a_failed_delivery_can_be_sent_again_with_the_same_event_and_bytes(office: Office) -> None:
    hook, _ = await office.make()
    office.sink.rule = answering(500)
    await office.emit()
    for wait in limits.WEBHOOK_RETRY_SECONDS:
        office.clock.forward(wait)
        await office.send()
    [failed] = await office.deliveries(hook)
    office.sink.rule = answering(200)
    again = await office.redeliver(failed)
    assert (again.status, again.event_id) == ("pending", failed.event_id)
    assert again.id != failed.id
    assert await office.send() == 1
    assert len({got.body for got in office.sink.received}) == 1
    assert (await office.detail(again)).status == "delivered"


async def test_one_that_waits_for_its_retry_is_sent_now_when_asked(office: Office) -> None:
    hook, _ = await office.make()
    office.sink.rule = answering(503)
    await office.emit()
    await office.send()
    [waiting] = await office.deliveries(hook)
    office.sink.rule = answering(204)
    assert (await office.redeliver(waiting)).id == waiting.id
    assert await office.send() == 1
    assert [one.status for one in await office.deliveries(hook)] == ["delivered"]


@pytest.mark.parametrize(
    ("asked", "wait"), [("1", 5.0), ("7", 7.0), ("60", 10.0), ("nonsense", 5.0), ("-3", 5.0), ("9" * 400, 10.0),
                        ("Sun, 01 Mar 2026 12:00:08 +99999999999999", 5.0)]
)  # fmt: skip
async def test_retry_after_is_honoured_between_the_base_and_twice_the_base(
    office: Office, asked: str, wait: float
) -> None:
    hook, _ = await office.make()
    office.sink.rule = answering(429, Retry_After=asked)
    await office.emit()
    await office.send()
    office.clock.forward(wait - 0.5)
    assert await office.send() == 0
    office.clock.forward(0.5)
    assert await office.send() == 1
    assert (await office.hook(hook)).consecutive_failures == 2


async def test_retry_after_may_be_a_date(office: Office) -> None:
    await office.make()
    office.sink.rule = answering(503, Retry_After="Sun, 01 Mar 2026 12:00:08 GMT")
    await office.emit()
    await office.send()
    office.clock.forward(7.5)
    assert await office.send() == 0
    office.clock.forward(0.6)
    assert await office.send() == 1


@pytest.mark.parametrize("factor", [0.8, 1.2])
async def test_the_wait_has_jitter(office: Office, factor: float) -> None:
    await office.make()
    office.jitter = factor
    office.sink.rule = answering(500)
    await office.emit()
    await office.send()
    office.clock.forward(5 * factor - 0.1)
    assert await office.send() == 0
    office.clock.forward(0.2)
    assert await office.send() == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.one_database
async def test_a_redirect_is_a_failure_and_is_not_followed(office: Office, status: int) -> None:
    hook, _ = await office.make()
    office.sink.rule = answering(status, Location=f"http://127.0.0.1:{office.sink.port}/elsewhere")
    await office.emit()
    await office.send()
    assert [got.path for got in office.sink.received] == ["/hook"]
    [delivery] = await office.deliveries(hook)
    assert (delivery.status, delivery.response_status) == ("pending", status)
    assert delivery.error == f"The endpoint answered {status}; redirects are not followed."


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
@pytest.mark.one_database
async def test_every_2xx_is_success(office: Office, status: int) -> None:
    hook, _ = await office.make()
    office.sink.rule = answering(status)
    await office.emit()
    await office.send()
    assert [one.status for one in await office.deliveries(hook)] == ["delivered"]
    assert (await office.hook(hook)).last_success_at == instant(office.clock.now())


async def test_410_disables_the_hook_at_once(office: Office) -> None:
    hook, _ = await office.make()
    office.sink.rule = answering(410)
    await office.emit(subject="doc_1")
    await office.emit(subject="doc_2")
    assert await office.send() == 1
    gone = await office.hook(hook)
    assert (gone.status, gone.disabled_reason) == ("disabled", "The endpoint answered 410 Gone.")
    office.clock.forward(200 * HOUR)
    assert await office.send() == 0
    await office.resume(hook)
    # Another process, whose clock was ahead, has noted a failure before.
    ahead = instant(office.clock.now() + timedelta(seconds=5))
    await office.db.write(lambda tx: tx.run("update hooks set failing_since = :at, last_failure_at = :at", at=ahead))
    assert await office.send() == 1
    assert (await office.hook(hook)).status == "disabled"
    await office.emit(subject="doc_3")
    assert len(await office.deliveries(hook)) == 2


async def test_five_days_of_nothing_but_failures_disable_the_hook(office: Office) -> None:
    hook, _ = await office.make()
    office.sink.rule = answering(500)
    for day in range(6):
        await office.emit(subject=f"doc_{day}")
        await office.send()
        status = (await office.hook(hook)).status
        assert status == ("active" if day < 5 else "disabled")
        office.clock.forward(24 * HOUR)
    assert (await office.hook(hook)).disabled_reason == "Every attempt has failed for 5 days."


async def test_days_without_an_attempt_are_no_days_of_failures(office: Office) -> None:
    hook, _ = await office.make()
    office.sink.rule = answering(500)
    await office.emit(subject="doc_1")
    for wait in limits.WEBHOOK_RETRY_SECONDS:
        office.clock.forward(wait)
        await office.send()
    office.clock.forward(60 * HOUR)
    await office.emit(subject="doc_2")
    await office.send()
    idle = await office.hook(hook)
    assert (idle.status, idle.consecutive_failures) == ("active", 11)
    for wait in limits.WEBHOOK_RETRY_SECONDS:  # but those before and after count together
        office.clock.forward(wait)
        await office.send()
    assert (await office.hook(hook)).status == "disabled"


@pytest.mark.parametrize("paused", [True, False])
async def test_a_resumed_hook_has_five_days_again(office: Office, paused: bool) -> None:
    hook, _ = await office.make()
    office.sink.rule = answering(500)
    for day in range(5):
        await office.emit(subject=f"doc_{day}")
        await office.send()
        office.clock.forward(24 * HOUR)
    if paused:
        await office.pause(hook)
    assert (await office.resume(hook)).consecutive_failures == 0
    await office.send()
    assert (await office.hook(hook)).status == "active"


async def test_one_success_in_five_days_keeps_the_hook_active(office: Office) -> None:
    hook, _ = await office.make()
    for day in range(9):
        office.sink.rule = answering(200 if day == 3 else 500)
        await office.emit(subject=f"doc_{day}")
        await office.send()
        office.clock.forward(24 * HOUR)
    assert (await office.hook(hook)).status == "active"


async def test_a_disabled_hook_sends_what_waits_once_it_is_resumed(office: Office) -> None:
    hook, _ = await office.make()
    office.sink.rule = answering(410)
    await office.emit(subject="doc_1")
    await office.emit(subject="doc_2")
    await office.send()
    office.sink.rule = answering(200)
    resumed = await office.resume(hook)
    assert (resumed.status, resumed.disabled_reason, resumed.consecutive_failures) == ("active", None, 0)
    assert await office.send() == 1
    assert [one.status for one in await office.deliveries(hook)] == ["failed", "delivered"]


async def test_a_paused_hook_keeps_its_deliveries_and_sends_them_in_order_after_resume(office: Office) -> None:
    hook, _ = await office.make()
    await office.pause(hook)
    for _ in range(3):
        await office.emit()
    office.clock.forward(HOUR)
    assert await office.send() == 0
    await office.resume(hook)
    assert await office.send() == 3
    assert [got.json["sequence"] for got in office.sink.received] == [1, 2, 3]


async def test_the_attempts_are_kept_with_request_response_and_timing(office: Office) -> None:
    hook, secret = await office.make()
    big = b"\xff\x00" + b"x" * 20_000
    office.sink.rule = lambda _: Reply(500, {"X-Trace": "abc"}, big)
    await office.emit()
    await office.send()
    await office.change(hook, HookChange(target_url=f"{office.sink.url}/moved"))
    office.sink.rule = answering(200)
    office.clock.forward(5)
    await office.send()
    [delivery] = await office.deliveries(hook)
    detail = await office.detail(delivery)
    first, second = detail.attempts_made
    assert (first.number, first.response_status, second.number, second.response_status) == (1, 500, 2, 200)
    assert first.response_headers is not None
    assert first.response_headers["x-trace"] == "abc"
    assert first.response_body is not None
    assert first.response_body.startswith("\ufffd\x00xxx")
    assert len(first.response_body) == webhooks_limits.WEBHOOK_RESPONSE_BYTES
    assert first.response_truncated
    assert first.duration_ms >= 0
    assert first.request_headers["X-Service-Attempt"] == "1"
    assert (first.target_url, second.target_url) == (office.sink.url, f"{office.sink.url}/moved")
    assert secret.reveal() not in str(detail)
    assert detail.request_body.encode() == office.sink.received[0].body


async def test_a_connection_that_is_refused_or_reset_is_a_failure_that_says_so(office: Office) -> None:
    refused, _ = await office.make("http://127.0.0.1:1/")
    reset, _ = await office.make()
    office.sink.rule = lambda _: Reply(instead=RESET)
    await office.emit()
    await office.send()
    [first], [second] = await office.deliveries(refused), await office.deliveries(reset)
    assert (first.status, first.error) == ("pending", "The host 127.0.0.1 cannot be reached on port 1")
    assert (second.status, second.error) == ("pending", "The host 127.0.0.1 broke off or did not keep to the protocol")


async def test_an_address_that_is_not_public_is_refused_at_every_attempt(office: Office) -> None:
    hook, _ = await office.make("http://10.0.0.1/")
    await office.emit()
    await office.send()
    [delivery] = await office.deliveries(hook)
    assert delivery.error == "The host 10.0.0.1 is at an address that is not public"


async def test_an_endpoint_is_sent_to_over_connections_that_are_used_again(office: Office) -> None:
    await office.make()
    for number in range(40):
        await office.emit(subject=f"doc_{number}")
    assert await office.send() == 40
    # And the one from before the first success, when the endpoint was doubtful.
    assert office.sink.connections <= webhooks_limits.WEBHOOK_PER_ENDPOINT + 1


async def test_a_secret_that_cannot_be_opened_is_a_failure_and_not_a_loss(office: Office) -> None:
    hook, _ = await office.make()
    await office.db.write(lambda tx: tx.run("update hooks set secrets = :bad", bad=b"\x01" + b"0" * 40))
    await office.emit()
    assert await office.send() == 1
    [delivery] = await office.deliveries(hook)
    assert (delivery.status, delivery.error) == ("pending", "Deedbox could not make the request; its log says why.")


async def test_a_2xx_whose_body_never_ends_is_a_success_and_a_410_a_farewell(office: Office) -> None:
    hook, _ = await office.make()
    office.sink.rule = lambda _: Reply(200, body=b"thanks", instead=BREAK_OFF)
    await office.emit(subject="doc_1")
    await office.send()
    office.sink.rule = lambda _: Reply(410, instead=BREAK_OFF)
    await office.emit(subject="doc_2")
    await office.send()
    good, gone = await office.deliveries(hook)
    assert (good.status, good.response_status, good.error) == ("delivered", 200, None)
    [attempt] = (await office.detail(good)).attempts_made
    assert (attempt.response_body, attempt.response_truncated) == ("thanks", True)
    assert (gone.status, (await office.hook(hook)).status) == ("failed", "disabled")


async def test_what_was_due_is_sent_although_the_clock_was_set_back(office: Office) -> None:
    hook, _ = await office.make()
    assert await office.send() == 0
    await office.emit()
    office.clock.forward(-HOUR)
    assert await office.send() == 1
    [delivery] = await office.deliveries(hook)
    assert delivery.status == "delivered"


async def test_a_retry_goes_on_waiting_when_the_clock_was_set_back(office: Office) -> None:
    await office.make()
    office.sink.rule = answering(500)
    await office.emit()
    assert await office.send() == 1
    office.clock.forward(-HOUR)
    assert await office.send() == 0
    office.clock.forward(HOUR + limits.WEBHOOK_RETRY_SECONDS[1])
    assert await office.send() == 1

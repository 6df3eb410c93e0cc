"""Order, concurrency, leases: what the loop does with many deliveries, many endpoints and many processes."""

import asyncio
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from deedbox.kernel import limits, outbox
from deedbox.kernel.db import Tx
from deedbox.webhooks import feed
from deedbox.webhooks import limits as webhooks_limits
from deedbox.webhooks.hook import HookChange
from deedbox.webhooks.queue import AttemptSlots, Claim, store
from tests.kernel.test_egress import stalling
from tests.webhooks.conftest import WORKSPACE, Office
from tests.webhooks.sink import STALL, Received, Reply, answering

pytestmark = pytest.mark.anyio

ROOM = AttemptSlots(100, 100)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.005)


async def claim(office: Office, worker: str, hook_id: str) -> list[Claim]:
    now = office.clock.now()
    return await office.db.write(lambda tx: store.claim(tx, worker, hook_id, ROOM, now), isolation="read committed")


def sequences(received: list[Received], subject: str) -> list[int]:
    return [got.json["sequence"] for got in received if got.json["data"]["of"] == subject]


async def test_a_running_sender_delivers_by_itself_and_in_order_per_document(office: Office) -> None:
    await office.make(events=["document.sent", "document.signed"])
    await office.sender.start(alone=True)
    for number in range(60):
        subject = f"doc_{number % 3}"
        await office.emit(("document.sent", "document.signed")[number % 2], subject, of=subject)
    await until(lambda: len(office.sink.received) >= 60)
    assert len(office.sink.received) == 60
    for subject in ("doc_0", "doc_1", "doc_2"):
        assert sequences(office.sink.received, subject) == list(range(1, 21))


async def test_a_later_event_waits_for_the_first_attempt_at_an_earlier_one_but_not_for_its_retries(
    office: Office,
) -> None:
    await office.make()

    def bad_first(got: Received) -> Reply:
        return Reply(500 if got.json["sequence"] == 1 else 200)

    office.sink.rule = bad_first
    for _ in range(4):
        await office.emit(of="doc_1")
    assert await office.send() == 4
    assert sequences(office.sink.received, "doc_1") == [1, 2, 3, 4]
    office.sink.rule = answering(200)
    office.clock.forward(5)
    assert await office.send() == 1
    assert sequences(office.sink.received, "doc_1") == [1, 2, 3, 4, 1]


async def test_events_of_several_subjects_in_one_line_are_fed_and_delivered_in_the_order_of_their_emission(
    office: Office,
) -> None:
    wanted = [("packet.sent", "pkt_1"), *(("document.sent", f"doc_{number}") for number in (9, 3, 7))] * 3
    await office.make(events=["document.sent", "packet.sent"])
    await office.sender.start(alone=True)

    def write(tx: Tx) -> None:
        news = [outbox.NewEvent(kind, subject, {"of": subject}, line="pkt_1") for kind, subject in wanted]
        outbox.emit_all(tx, WORKSPACE, news, now=office.clock.now())

    await office.db.write(write)
    await until(lambda: len(office.sink.received) == len(wanted))
    assert [(got.json["type"], got.json["data"]["of"]) for got in office.sink.received] == wanted
    assert sequences(office.sink.received, "doc_3") == [1, 2, 3]
    fed = await feed.page(office.db, WORKSPACE, after=None, limit=100)
    assert [one.type for one in fed] == [kind for kind, _ in wanted]


async def test_at_most_four_at_a_time_go_to_an_endpoint_that_works(office: Office) -> None:
    await office.make()
    await office.emit(subject="doc_first")
    await office.send()
    office.sink.gate.clear()
    await office.sender.start(alone=True)
    for number in range(20):
        await office.emit(subject=f"doc_{number}")
    await until(lambda: len(office.sink.received) == 5)
    await asyncio.sleep(0.05)
    assert len(office.sink.received) == 5
    office.sink.gate.set()
    await until(lambda: len(office.sink.received) == 21)
    assert office.sink.most_at_a_time == webhooks_limits.WEBHOOK_PER_ENDPOINT


async def test_one_at_a_time_goes_to_an_endpoint_that_fails(office: Office) -> None:
    await office.make()
    office.sink.rule = answering(500)
    for number in range(5):
        await office.emit(subject=f"doc_{number}")
    await office.send()
    assert office.sink.most_at_a_time == webhooks_limits.WEBHOOK_PER_FAILING_ENDPOINT


async def test_a_sender_remembers_only_so_many_failing_endpoints(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks_limits, "WEBHOOK_FAILING_KNOWN", 2)
    office.sink.rule = answering(500)
    for number in range(4):
        await office.make(f"{office.sink.url}/{number}")
    await office.emit()
    assert await office.send() == 4
    assert len(office.sender._failing) == 2
    office.clock.forward(5)
    assert await office.send() == 4


async def test_the_bound_of_an_endpoint_holds_over_all_processes(office: Office) -> None:
    hook, _ = await office.make()
    await office.emit(subject="doc_first")
    await office.send()
    for number in range(20):
        await office.emit(subject=f"doc_{number}")
    taken = await asyncio.gather(*(claim(office, f"worker {number}", hook.id) for number in range(6)))
    assert sum(map(len, taken)) == webhooks_limits.WEBHOOK_PER_ENDPOINT
    assert await claim(office, "late", hook.id) == []


async def test_stalled_endpoints_starve_nobody(office: Office) -> None:
    office.sink.rule = lambda got: Reply(instead=STALL) if got.path.startswith("/stalls") else Reply()
    for number in range(100):
        await office.make(f"http://127.0.0.1:{office.sink.port}/stalls/{number}")
    await office.make(events=["document.signed"])
    for _ in range(3):
        await office.emit(of="doc_1")
    await office.sender.start(alone=True)
    await until(lambda: len(office.sink.received) >= 100)
    for _ in range(50):
        await office.emit("document.signed", "doc_2", of="doc_2")
    await until(lambda: len(office.sink.to("/hook")) == 50)
    assert sequences(office.sink.to("/hook"), "doc_2") == list(range(1, 51))


async def test_names_whose_look_up_stalls_cost_other_endpoints_nothing(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    office.sink.rule = lambda _: Reply(headers={"Connection": "close"})
    with stalling(monkeypatch) as asked:
        good, _ = await office.make(f"http://works.example:{office.sink.port}/hook", ["document.sent", "packet.sent"])
        await office.emit("packet.sent", "pkt_1")
        assert await office.send() == 1
        for number in range(limits.EGRESS_RESOLVERS + 1):
            await office.make(f"http://stalls.example/{number}")
        for _ in range(3):
            await office.emit()
        await office.sender.start(alone=True)
        await until(lambda: asked.count("stalls.example") > limits.EGRESS_RESOLVERS)
        await office.emit("packet.sent", "pkt_2")
        await until(lambda: len(office.sink.received) == 5)
        assert (await office.hook(good)).consecutive_failures == 0
        await office.sender.stop(0)


async def test_a_delivery_whose_sender_died_is_sent_by_another_after_its_lease(office: Office) -> None:
    hook, _ = await office.make()
    await office.emit(of="doc_1")
    await office.emit(of="doc_1")
    [dead] = await claim(office, "dead", hook.id)
    assert await office.send() == 0
    office.clock.forward(webhooks_limits.WEBHOOK_LEASE_SECONDS + 1)
    assert await office.send() == 2
    assert sequences(office.sink.received, "doc_1") == [1, 2]
    assert office.sink.received[0].headers["x-service-attempt"] == "1"
    assert office.sink.received[0].body.decode() == dead.body


async def test_a_sender_whose_lease_has_lapsed_changes_nothing(office: Office) -> None:
    hook, _ = await office.make()
    await office.emit()
    [late] = await claim(office, "late", hook.id)
    outcome = await office.sender._attempts.make(late)
    office.clock.forward(webhooks_limits.WEBHOOK_LEASE_SECONDS + 1)
    await office.send()
    now = office.clock.now()
    assert not await office.db.write(lambda tx: store.end(tx, "late", outcome, now))
    [delivery] = await office.deliveries(hook)
    assert (delivery.status, delivery.attempts) == ("delivered", 1)
    assert len((await office.detail(delivery)).attempts_made) == 1


@pytest.mark.parametrize("status", [410, 500, 200])
async def test_an_attempt_at_the_former_target_says_nothing_of_the_new_one(office: Office, status: int) -> None:
    hook, _ = await office.make()
    office.sink.rule = answering(status)
    await office.emit()
    [under_way] = await claim(office, "one", hook.id)
    outcome = await office.sender._attempts.make(under_way)
    await office.change(hook, HookChange(target_url=f"{office.sink.url}/new"))
    now = office.clock.now()
    assert await office.db.write(lambda tx: store.end(tx, "one", outcome, now))
    found = await office.hook(hook)
    assert (found.status, found.consecutive_failures, found.last_success_at) == ("active", 0, None)


async def test_a_sender_that_stops_hands_back_what_it_could_not_end(office: Office) -> None:
    hook, _ = await office.make()
    office.sink.rule = lambda _: Reply(instead=STALL)
    await office.emit()
    await office.sender.start(alone=True)
    await until(lambda: len(office.sink.received) == 1)
    await office.sender.stop(0)
    [delivery] = await office.deliveries(hook)
    assert (delivery.status, delivery.attempts) == ("pending", 0)
    office.sink.rule = answering(200)
    assert await office.new_sender("two").run_due() == 1


async def test_a_claim_under_way_at_the_stop_leaves_no_delivery_behind(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook, _ = await office.make()
    await office.emit()
    looking, may_look, looked = threading.Event(), threading.Event(), asyncio.Event()
    claim = store.claim

    def claim_late(tx: Tx, *args: Any) -> list[Claim]:
        tx.on_commit(looked.set)
        looking.set()
        may_look.wait(30)
        return claim(tx, *args)

    monkeypatch.setattr(store, "claim", claim_late)
    await office.sender.start(alone=False)
    await asyncio.to_thread(looking.wait, 30)
    stopping = asyncio.create_task(office.sender.stop(0))
    await asyncio.sleep(0.05)
    may_look.set()
    await asyncio.gather(stopping, looked.wait())
    [delivery] = await office.deliveries(hook)
    assert (delivery.status, delivery.attempts) == ("pending", 0)
    assert office.sink.received == []


async def test_a_server_that_starts_alone_takes_over_at_once(office: Office) -> None:
    hook, _ = await office.make()
    await office.emit()
    assert len(await claim(office, "killed", hook.id)) == 1
    await office.sender.start(alone=True)
    await until(lambda: len(office.sink.received) == 1)


async def test_two_senders_send_each_delivery_once(office: Office) -> None:
    hook, _ = await office.make()
    other = office.new_sender("two")
    await asyncio.gather(office.sender.start(alone=False), other.start(alone=False))
    for number in range(60):
        await office.emit(subject=f"doc_{number}")
    await until(lambda: len(office.sink.received) >= 60)
    await other.stop()
    await office.sender.stop()
    assert len({got.event_id for got in office.sink.received}) == len(office.sink.received) == 60
    assert {one.status for one in await office.deliveries(hook)} == {"delivered"}


async def test_a_deleted_or_paused_hook_gets_nothing_that_was_planned_before(office: Office) -> None:
    deleted, _ = await office.make(f"{office.sink.url}/deleted")
    paused, _ = await office.make(f"{office.sink.url}/paused")
    await office.emit()
    await office.delete(deleted)
    await office.pause(paused)
    assert await office.send() == 0


async def test_no_event_is_planned_without_its_change_and_none_is_missed_with_it(office: Office) -> None:
    hook, _ = await office.make()

    def doomed(tx: Tx) -> None:
        from deedbox.kernel import outbox

        outbox.emit(tx, "wsp_1", "document.sent", "doc_1", {}, now=office.clock.now())
        raise LookupError

    with pytest.raises(LookupError):
        await office.db.write(doomed)
    assert await office.deliveries(hook) == []
    await office.emit()
    [planned] = await office.deliveries(hook)
    assert planned.status == "pending"
    assert await office.db.read(lambda tx: store.due_hooks(tx, office.clock.now() - timedelta(hours=1))) == []
    assert await office.db.read(lambda tx: store.due_hooks(tx, office.clock.now())) == [hook.id]


@pytest.mark.parametrize(
    ("broken", "mended", "told"),
    [
        ("table deliveries rename to away", "table away rename to deliveries", "cannot be looked for"),
        ("table hooks rename secrets to away", "table hooks rename away to secrets", "cannot be claimed"),
        ("table delivery_attempts rename to away", "table away rename to delivery_attempts", "cannot be saved"),
    ],
)
async def test_an_error_of_the_database_that_nobody_foresaw_does_not_end_the_sending(
    office: Office, broken: str, mended: str, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    hook, _ = await office.make()
    await office.emit()
    await office.db.write(lambda tx: tx.run(f"alter {broken}"))
    await office.sender.start(alone=False)
    await until(lambda: told in caplog.text)
    await office.db.write(lambda tx: tx.run(f"alter {mended}"))
    office.clock.forward(webhooks_limits.WEBHOOK_LEASE_SECONDS + 1)
    async with asyncio.timeout(60):
        while [one.status for one in await office.deliveries(hook)] != ["delivered"]:
            await asyncio.sleep(0.02)

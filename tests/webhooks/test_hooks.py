"""Subscriptions: made once, changed, paused, rotated, tested, recovered, and each in its own workspace."""

import asyncio
import re
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from deedbox.kernel import limits
from deedbox.kernel.crypto import ValueCipher
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest, Conflict, NotFound
from deedbox.kernel.prune import prune_in_parts
from deedbox.kernel.rotation import rotate
from deedbox.webhooks import catalogue, deliveries, hooks, signature
from deedbox.webhooks import limits as webhooks_limits
from deedbox.webhooks.hook import DeliveryPart, Hook, HookChange, Recovery
from tests.webhooks.conftest import WORKSPACE, Office, doer
from tests.webhooks.sink import answering

pytestmark = pytest.mark.anyio

DAY = 24 * 3600.0


def _count(table: str, tx: Tx) -> int:
    row = tx.one(f"select count(*) from {table}")
    return int(row[0]) if row else 0


async def recover(office: Office, hook: Hook, hours: float) -> Recovery:
    now = office.clock.now()
    since = now - timedelta(hours=hours)
    return await office.db.write(lambda tx: hooks.recover(tx, WORKSPACE, hook.id, since, now=now))


async def test_a_new_hook_is_active_and_shows_its_secret_once(office: Office) -> None:
    made = await office.create(events=["document.signed", "document.sent", "document.signed"])
    hook = made.hook
    assert re.fullmatch(r"hook_[0-9A-Z]{26}", hook.id)
    assert (hook.status, hook.managed_by, hook.signature_scheme) == ("active", "api", "timestamped")
    assert hook.events == ["document.sent", "document.signed"]
    assert (hook.consecutive_failures, hook.last_success_at, hook.disabled_reason) == (0, None, None)
    assert made.secret is not None
    assert await office.hook(hook) == hook
    assert made.secret.reveal() not in repr(made)


async def test_a_dashboard_s_hook_signs_the_body_alone(office: Office) -> None:
    hook, _ = await office.make(managed_by="dashboard")
    assert (hook.managed_by, hook.signature_scheme) == ("dashboard", "body")


async def test_the_same_target_and_events_again_give_the_one_there_is(office: Office) -> None:
    first = await office.create(events=["document.sent", "document.signed"])
    again = await office.create(events=["document.signed", "document.sent"])
    assert (again.hook, again.secret) == (first.hook, None)
    other = await office.create(events=["document.sent"])
    elsewhere = await office.create(events=["document.sent", "document.signed"], workspace="wsp_2")
    from_dashboard = await office.create(events=["document.sent", "document.signed"], managed_by="dashboard")
    assert len({made.hook.id for made in (first, other, elsewhere, from_dashboard)}) == 4


async def test_a_hook_that_was_deleted_can_be_made_again_with_another_secret(office: Office) -> None:
    hook, secret = await office.make()
    await office.delete(hook)
    with pytest.raises(NotFound):
        await office.hook(hook)
    again, other = await office.make()
    assert again.id != hook.id
    assert other != secret


async def test_subscribing_again_to_a_disabled_hook_makes_it_active(office: Office) -> None:
    hook, _ = await office.make()
    office.sink.rule = answering(410)
    await office.emit()
    await office.send()
    assert (await office.hook(hook)).status == "disabled"
    again = await office.create()
    assert (again.hook.id, again.hook.status, again.secret) == (hook.id, "active", None)


async def test_an_unknown_event_is_refused_by_name(office: Office) -> None:
    with pytest.raises(BadRequest, match=r"Unknown event 'document\.read'"):
        await office.create(events=["document.sent", "document.read"])


async def test_another_workspace_s_hook_does_not_exist(office: Office) -> None:
    hook, _ = await office.make(workspace="wsp_2")
    await office.emit(workspace="wsp_2")
    [delivery] = await office.db.read(lambda tx: deliveries.page(tx, "wsp_2", DeliveryPart(5, hook_id=hook.id)))
    for attempt in (office.hook(hook), office.pause(hook), office.delete(hook), office.deliveries(hook)):
        with pytest.raises(NotFound):
            await attempt
    for act in (office.detail(delivery), office.redeliver(delivery)):
        with pytest.raises(NotFound):
            await act


async def test_only_the_workspace_and_the_kinds_subscribed_to_are_planned(office: Office) -> None:
    hook, _ = await office.make(events=["document.signed"])
    await office.emit("document.sent")
    await office.emit("document.signed", workspace="wsp_2", subject="doc_2")
    assert await office.deliveries(hook) == []
    await office.emit("document.signed")
    assert [one.type for one in await office.deliveries(hook)] == ["document.signed"]


async def test_hooks_are_listed_newest_first_in_pages(office: Office) -> None:
    made = []
    for number in range(5):
        made.append((await office.make(f"http://127.0.0.1/{number}"))[0])
        office.clock.forward(1)
    first = await office.db.read(lambda tx: hooks.page(tx, WORKSPACE, limit=3, cursor=None))
    rest = await office.db.read(lambda tx: hooks.page(tx, WORKSPACE, limit=3, cursor=first[-1].id))
    assert first + rest == made[::-1]


async def test_target_events_and_description_can_be_changed(office: Office) -> None:
    hook, _ = await office.make()
    changed = await office.change(hook, HookChange(target_url=f"{office.sink.url}/new", events=["document.voided"]))
    assert (changed.target_url, changed.events) == (f"{office.sink.url}/new", ["document.voided"])
    assert (await office.change(hook, HookChange(description="for the books"))).description == "for the books"
    assert (await office.change(hook, HookChange(description=None))).description is None
    await office.emit("document.sent")
    await office.emit("document.voided")
    await office.send()
    assert [(got.path, got.headers["x-service-event"]) for got in office.sink.received] == [
        ("/hook/new", "document.voided")
    ]


async def test_another_target_begins_without_the_failures_of_the_one_before(office: Office) -> None:
    hook, _ = await office.make()
    office.sink.rule = answering(500)
    await office.emit()
    await office.send()
    assert (await office.change(hook, HookChange(description="for the books"))).consecutive_failures == 1
    changed = await office.change(hook, HookChange(target_url=f"{office.sink.url}/new"))
    assert (changed.consecutive_failures, changed.last_failure_at, changed.last_success_at) == (0, None, None)
    office.clock.forward(6 * DAY)
    await office.send()
    assert (await office.hook(hook)).status == "active"


async def test_many_who_subscribe_the_same_at_once_get_one_hook(office: Office) -> None:
    made = await asyncio.gather(*(office.create() for _ in range(8)))
    assert len({one.hook.id for one in made}) == 1
    assert sum(one.secret is not None for one in made) == 1


async def test_many_who_change_a_hook_at_once_all_succeed(office: Office) -> None:
    hook, _ = await office.make()
    for _ in range(3):
        await asyncio.gather(office.pause(hook), office.resume(hook), office.change(hook, HookChange(description="x")))
    assert (await office.hook(hook)).description == "x"


async def test_a_hook_cannot_become_the_same_as_another(office: Office) -> None:
    first, _ = await office.make()
    second, _ = await office.make(events=["document.voided"])
    with pytest.raises(Conflict, match=first.id):
        await office.change(second, HookChange(events=["document.sent"]))


async def test_a_test_sends_a_sample_to_this_hook_alone(office: Office) -> None:
    hook, secret = await office.make()
    other, _ = await office.make(f"{office.sink.url}/other", ["document.completed"])
    now = office.clock.now()
    await office.db.write(lambda tx: hooks.test(tx, WORKSPACE, hook.id, "document.completed", now=now))
    await office.send()
    [got] = office.sink.received
    assert got.path == "/hook"
    assert got.json["type"] == "document.completed"
    assert got.json["data"] == {**catalogue.KINDS["document.completed"].sample, "test": True}
    timestamp = got.headers["x-service-timestamp"]
    assert got.headers["x-service-signature"] == signature.digest(secret, got.body, timestamp)
    assert await office.deliveries(other) == []


async def test_recover_plans_what_never_arrived_and_nothing_twice(office: Office) -> None:
    await office.emit(subject="doc_old", of="doc_old")
    office.clock.forward(7200)
    hook, _ = await office.make()
    office.sink.rule = answering(410)
    await office.emit(of="doc_1")
    await office.send()
    await office.emit(of="doc_1")
    office.sink.rule = answering(200)
    await office.resume(hook)
    await office.emit(of="doc_1")
    await office.send()
    assert await recover(office, hook, 1) == Recovery(2, has_more=False)
    assert await recover(office, hook, 1) == Recovery(0, has_more=False)
    await office.send()
    assert [got.json["sequence"] for got in office.sink.received] == [1, 3, 1, 2]
    assert await recover(office, hook, 3) == Recovery(1, has_more=False)
    with pytest.raises(BadRequest, match="30 days"):
        await recover(office, hook, 24 * 31)


async def test_recover_does_not_let_what_waits_for_a_retry_wait_on(office: Office) -> None:
    hook, _ = await office.make()
    office.sink.rule = answering(500)
    await office.emit(of="doc_1")
    await office.send()
    office.sink.rule = answering(200)
    await office.send()
    assert len(office.sink.received) == 1
    assert await recover(office, hook, 1) == Recovery(1, has_more=False)
    await office.send()
    assert [got.json["sequence"] for got in office.sink.received] == [1, 1]


async def test_recover_goes_in_parts(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhooks_limits, "RECOVER_EVENTS", 2)
    for _ in range(5):
        await office.emit()
    hook, _ = await office.make()
    assert [await recover(office, hook, 1) for _ in range(3)] == [
        Recovery(2, has_more=True),
        Recovery(2, has_more=True),
        Recovery(1, has_more=False),
    ]
    assert await office.send() == 5
    assert [got.json["sequence"] for got in office.sink.received] == [1, 2, 3, 4, 5]


async def test_what_a_disabled_hook_cannot_do_says_so(office: Office) -> None:
    hook, _ = await office.make()
    office.sink.rule = answering(410)
    await office.emit()
    await office.send()
    [failed] = await office.deliveries(hook)
    now = office.clock.now()
    for attempt in (
        office.pause(hook),
        office.redeliver(failed),
        recover(office, hook, 1),
        office.db.write(lambda tx: hooks.test(tx, WORKSPACE, hook.id, None, now=now)),
    ):
        with pytest.raises(Conflict, match="disabled"):
            await attempt


async def test_a_rotated_secret_signs_from_its_time_on(office: Office) -> None:
    hook, old = await office.make(managed_by="dashboard")
    now = office.clock.now()
    rotated = await office.db.write(lambda tx: hooks.rotate(tx, office.box, doer(), hook.id, at_once=False, now=now))
    assert rotated.effective_at == now + timedelta(hours=24)
    await office.emit()
    await office.send()
    office.clock.forward(24 * 3600)
    await office.emit()
    await office.send()
    before, after = office.sink.received
    assert before.headers["x-service-signature"] == signature.digest(old, before.body, None)
    assert before.headers["x-service-signature-next"] == signature.digest(rotated.secret, before.body, None)
    assert after.headers["x-service-signature"] == signature.digest(rotated.secret, after.body, None)
    assert after.headers["x-service-signature-previous"] == signature.digest(old, after.body, None)


async def test_a_secret_is_encrypted_at_rest_and_follows_a_new_master_key(office: Office, tmp_path: Path) -> None:
    hook, secret = await office.make()
    stored = await office.db.read(lambda tx: tx.one("select secrets from hooks"))
    assert stored is not None
    assert secret.reveal().encode() not in bytes(stored[0])
    result = await rotate(office.db, tmp_path / "master.key", [hooks.ENCRYPTED_SECRETS], lambda _done, _of: None)
    assert (result.reencrypted, result.unreadable) == (1, 0)
    now = office.clock.now()
    kept = await office.db.read(
        lambda tx: hooks.current_secret(tx, ValueCipher(tmp_path / "master.key"), WORKSPACE, hook.id, now=now)
    )
    assert kept == secret


async def test_a_deleted_hook_leaves_no_secret_behind(office: Office) -> None:
    hook, _ = await office.make()
    await office.delete(hook)
    assert await office.db.read(lambda tx: tx.all("select secrets, target_url from hooks")) == [(None, "")]


async def test_a_workspace_has_a_bounded_number_of_hooks(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "HOOKS_PER_WORKSPACE", 2)
    await office.make("http://127.0.0.1/1")
    await office.make("http://127.0.0.1/2")
    with pytest.raises(Conflict, match="2 webhooks already"):
        await office.make("http://127.0.0.1/3")


async def test_attempts_and_ended_deliveries_are_forgotten_after_thirty_days(office: Office) -> None:
    hook, _ = await office.make()
    paused, _ = await office.make(f"{office.sink.url}/paused")
    await office.pause(paused)
    await office.emit()
    await office.send()
    office.clock.forward(29 * 24 * 3600)
    assert await prune_in_parts(office.db, partial(deliveries.prune, now=office.clock.now())) == 0
    await office.emit()
    await office.send()
    office.clock.forward(2 * 24 * 3600)
    assert await prune_in_parts(office.db, partial(deliveries.prune, now=office.clock.now())) > 0
    [kept] = await office.deliveries(hook)
    assert len((await office.detail(kept)).attempts_made) == 1
    [waiting] = await office.deliveries(paused)
    assert (waiting.status, waiting.event_id) == ("pending", kept.event_id)


async def test_a_deleted_hook_s_deliveries_go_with_the_next_housekeeping(office: Office) -> None:
    hook, _ = await office.make()
    await office.emit()
    await office.send()
    await office.emit()
    await office.delete(hook)
    await prune_in_parts(office.db, partial(deliveries.prune, now=office.clock.now()))
    for table in ("hooks", "deliveries", "delivery_attempts", "hook_events"):
        assert await office.db.read(partial(_count, table)) == 0

"""Webhooks by their pages: made, signed over the body alone, tested, sent again, paused, rotated, deleted."""

import hashlib
import hmac
import re
from html import unescape
from typing import Any

import httpx
import pytest

from deedbox.web.dashboard.settings.hooks import CHECKS, PRESETS
from deedbox.webhooks import catalogue
from tests.api.hooks.conftest import Desk
from tests.api.test_mail_page import owner
from tests.webhooks.sink import Reply, answering

pytestmark = pytest.mark.anyio

HOOKS = "/app/settings/hooks"


def secret_in(text: str) -> str:
    found = re.search(r"whsec_[A-Za-z0-9+/=]+", unescape(text))
    assert found, text
    return found[0]


def filled(desk: Desk, *events: str, **more: str) -> dict[str, str]:
    ticked = {f"events.{number}": event for number, event in enumerate(events or ["document.sent"])}
    return {"once": "first", "target_url": desk.sink.url, **ticked, **more}


async def made(desk: Desk, client: httpx.AsyncClient, *events: str) -> tuple[str, str]:
    """The path of the new webhook's page, and its secret."""
    answer = await client.post(HOOKS, data=filled(desk, *events))
    assert answer.status_code == 200, answer.text
    found = re.search(rf'href="({HOOKS}/hook_\w+)"', answer.text)
    assert found
    return found[1], secret_in(answer.text)


async def deliveries(desk: Desk, page: str) -> list[Any]:
    return await desk.deliveries({"id": page.rpartition("/")[2]})


async def did(client: httpx.AsyncClient, path: str, **form: str) -> str:
    """What the page then says was done."""
    answer = await client.post(path, data={"once": path, **form})
    assert answer.status_code == 303, answer.text
    return answer.headers["Location"].partition("done=")[2]


async def test_a_sink_verifies_the_signature_of_a_webhook_made_on_the_page(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with owner(desk.api) as client:
        page, secret = await made(desk, client)
        assert await did(client, f"{page}/test") == "tested"
        await desk.ended((await deliveries(desk, page))[0])
    [received] = desk.sink.received
    assert "x-service-timestamp" not in received.headers
    signed = hmac.new(secret.encode(), received.body, hashlib.sha256).hexdigest()
    assert received.headers["x-service-signature"] == f"sha256={signed}"
    # What the page gives to check it by does check it.
    known: dict[str, Any] = {}
    exec(CHECKS["body"], known)
    monkeypatch.setenv("WEBHOOK_SECRET", secret)
    assert known["is_from_deedbox"](received.body, received.headers["x-service-signature"])
    assert not known["is_from_deedbox"](received.body + b" ", received.headers["x-service-signature"])


async def test_a_failing_sink_shows_red_and_redelivered_green_with_the_same_bytes(desk: Desk) -> None:
    desk.sink.rule = lambda _: Reply(503, {"X-Why": "asleep"}, b"<b>closed</b>")
    async with owner(desk.api) as client:
        page, _ = await made(desk, client)
        await did(client, f"{page}/test")
        [delivery] = await deliveries(desk, page)
        await desk.attempted(delivery)
        shown = (await client.get(page)).text
        assert 'class="pill bad"' in shown
        assert "Failed, retrying" in shown
        assert "Failing" in shown
        assert ">503<" in shown
        assert "Failing" in (await client.get(HOOKS)).text
        later = (await client.get(f"{page}?status=pending&cursor={delivery['id']}")).text
        assert f'href="{page}?status=pending">Back to the newest' in later, "the filter is kept"
        assert f'href="{page}">Back to the newest' in (await client.get(f"{page}?cursor={delivery['id']}")).text
        path = f"/app/settings/deliveries/{delivery['id']}"
        told = (await client.get(path)).text
        assert "X-Service-Signature: sha256=" in told
        assert "x-why: asleep" in told.lower()
        assert "<b>closed</b>" not in told
        assert "&lt;b&gt;closed&lt;/b&gt;" in told
        desk.sink.rule = answering(200)
        assert await did(client, f"{path}/redeliver") == "again"
        await desk.ended(delivery)
        after = await client.get(path)
        assert 'class="pill good"' in after.text
        assert "Delivered" in after.text
        assert "Working" in (await client.get(page)).text
    first, second = desk.sink.received
    assert first.body == second.body
    assert unescape(after.text).count(first.body.decode()) == 1


async def test_the_secret_is_in_no_page_but_once(desk: Desk) -> None:
    async with owner(desk.api) as client:
        page, secret = await made(desk, client)
        again = await client.post(HOOKS, data=filled(desk))
        assert (again.status_code, again.headers["Location"]) == (303, page)
        same = await client.post(HOOKS, data=filled(desk, once="another"))
        assert same.headers["Location"] == f"{page}?done=same"
        rotated = await client.post(f"{page}/rotate", data={"once": "r", "when": "now"})
        assert rotated.status_code == 200
        new = secret_in(rotated.text)
        assert new != secret
        assert (await client.post(f"{page}/rotate", data={"once": "r", "when": "now"})).headers["Location"] == page
        await did(client, f"{page}/test")
        [delivery] = await deliveries(desk, page)
        await desk.ended(delivery)
        paths = [HOOKS, page, f"{page}/change", f"/app/settings/deliveries/{delivery['id']}", "/app/settings/audit"]
        for path in paths:
            shown = await client.get(path)
            assert shown.status_code == 200, path
            assert "whsec_" not in shown.text, path
        [received] = desk.sink.received
        signed = hmac.new(new.encode(), received.body, hashlib.sha256).hexdigest()
        assert received.headers["x-service-signature"] == f"sha256={signed}"


async def test_a_webhook_is_paused_resumed_changed_recovered_and_deleted_and_the_changes_say_who(desk: Desk) -> None:
    async with owner(desk.api) as client:
        page, _ = await made(desk, client)
        desk.api.clock.forward(1)
        assert await did(client, f"{page}/pause") == "paused"
        assert "Paused" in (await client.get(page)).text
        await did(client, f"{page}/test")
        desk.api.clock.forward(1)
        assert await did(client, f"{page}/resume") == "resumed"
        await desk.ended((await deliveries(desk, page))[0])
        assert await did(client, f"{page}/recover", hours="24") == "nothing"
        desk.api.clock.forward(1)
        changed = filled(desk, "document.completed", "document.declined", description="Ledger")
        assert await did(client, f"{page}/change", **changed) == "saved"
        desk.api.clock.forward(1)
        assert await did(client, f"{page}/delete") == "deleted"
        assert (await client.get(page)).status_code == 404
        told = unescape((await client.get("/app/settings/audit?kind=hook")).text)
    said = re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", told))
    acts = ["created", "paused", "resumed"]
    for act in (*(f"{verb} the webhook to 127.0.0.1" for verb in acts), "changed the webhook to Ledger"):
        assert f"Owner {act}" in said, said
    assert "Owner deleted the webhook to Ledger" in said


async def test_what_cannot_be_called_is_said_beside_the_address(desk: Desk) -> None:
    async with owner(desk.api) as client:
        wrong = await client.post(HOOKS, data=filled(desk, target_url="http://169.254.1.1/x"))
        assert wrong.status_code == 400
        assert 'id="target_url-error"' in wrong.text
        assert 'value="document.sent" checked' in wrong.text
        none = await client.post(HOOKS, data={"once": "b", "target_url": desk.sink.url})
        assert none.status_code == 400
        assert "Select at least one event" in none.text
        assert await desk.api.rows("select count(*) from hooks") == [(0,)]


def test_presets_tick_events_that_there_are() -> None:
    assert {event for preset in PRESETS.values() for event in preset} == set(catalogue.KINDS)

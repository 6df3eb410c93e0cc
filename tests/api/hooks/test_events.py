"""Every kind of event that exists today, from its real cause to a real receiver; the catalogue; the pull feed."""

import base64
import json
from datetime import timedelta
from typing import Any

import jsonschema_rs
import pytest

from deedbox.kernel import limits
from deedbox.kernel.clock import instant
from deedbox.webhooks import catalogue
from tests.api.conftest import Api
from tests.api.hooks.conftest import Desk
from tests.api.signing.conftest import LEASE, signer
from tests.faults.signatures import Delivery, accepts
from tests.webhooks.sink import Received
from tests.webhooks.test_feed import MEANINGS

pytestmark = pytest.mark.anyio

ALL = list(catalogue.KINDS)


def told(received: list[Received], hook: Any, desk: Desk) -> list[dict[str, Any]]:
    """The bodies in the order of their sequence, once each delivery has been looked at."""
    for one in received:
        schema = catalogue.KINDS[one.json["type"]].schema
        assert not [str(error) for error in jsonschema_rs.validator_for(schema).iter_errors(one.json)]
        assert one.headers["x-service-event"] == one.json["type"]
        assert one.event_id == one.json["id"]
        assert one.headers["content-type"] == "application/json"
        assert len(one.body) <= limits.WEBHOOK_BODY_BYTES
        assert accepts(Delivery(hook["secret"], one.body, one.headers, desk.api.clock.now()))
        minified = json.dumps(one.json, ensure_ascii=False, separators=(",", ":")).encode()
        assert one.body == minified
    bodies = sorted((one.json for one in received), key=lambda body: int(body["sequence"]))
    assert [body["sequence"] for body in bodies] == list(range(1, len(bodies) + 1))
    return bodies


async def test_a_document_that_two_parties_sign_tells_its_whole_life(desk: Desk) -> None:
    hook = await desk.subscribe(*ALL)
    parties = [
        {"name": "Tenant", "order": 1, "signers": [signer("ann")]},
        {"name": "Landlord", "order": 2, "signers": [signer("bob")]},
    ]
    file = {"name": "lease.pdf", "content_base64": base64.b64encode(LEASE).decode()}
    metadata = {"order": "Nr. 5 – ünïcode"}
    answer = await desk.api.post(
        "/api/v1/documents",
        {"title": "Überlassung", "file": file, "parties": parties, "metadata": metadata, "send": True},
    )
    assert answer.status_code == 201, answer.text
    document = answer.json()
    for name in ("ann", "bob"):
        assert (await desk.sign(document, name)).status_code == 200
    completed = await desk.completed(document)
    bodies = told(await desk.arrived(6), hook, desk)
    assert [body["type"] for body in bodies] == [
        "document.sent", "document.signed", "party.completed", "document.signed", "party.completed",
        "document.completed",
    ]  # fmt: skip
    assert {body["data"]["document_id"] for body in bodies} == {document["id"]}
    assert all((body["data"]["title"], body["data"]["metadata"]) == ("Überlassung", metadata) for body in bodies)
    assert [body["data"]["signer"]["email"] for body in bodies if body["type"] == "document.signed"] == [
        "ann@example.com",
        "bob@example.com",
    ]
    assert [body["data"]["party"]["name"] for body in bodies if body["type"] == "party.completed"] == [
        "Tenant",
        "Landlord",
    ]
    assert bodies[-1]["data"]["status"] == completed["status"] == "completed"
    sealed = await desk.api.get(f"/api/v1/documents/{document['id']}/signed")
    assert sealed.status_code == 200


async def test_a_decline_is_told_with_its_reason(desk: Desk) -> None:
    hook = await desk.subscribe("document.sent", "document.declined")
    document = await desk.create(send=True)
    async with desk.session(document, "ann") as browser:
        assert (await browser.post("/decline", json={"reason": "Too expensive"})).status_code == 200
    last = told(await desk.arrived(2), hook, desk)[-1]
    assert (last["type"], last["data"]["reason"], last["data"]["status"]) == (
        "document.declined",
        "Too expensive",
        "declined",
    )
    assert last["data"]["signer"]["email"] == "ann@example.com"


async def test_a_void_is_told_if_the_document_had_been_sent(desk: Desk) -> None:
    hook = await desk.subscribe("document.sent", "document.voided")
    draft, document = await desk.create(), await desk.create(send=True)
    for one in (draft, document):
        answer = await desk.api.post(f"/api/v1/documents/{one['id']}/void", {"reason": "A mistake"})
        assert answer.status_code == 200
    last = told(await desk.arrived(2), hook, desk)[-1]
    assert (last["type"], last["data"]["reason"]) == ("document.voided", "A mistake")
    assert {body.json["data"]["document_id"] for body in desk.sink.received} == {document["id"]}


async def test_an_expiry_is_told_when_the_time_is_over(desk: Desk) -> None:
    hook = await desk.subscribe("document.sent", "document.expired")
    document = await desk.create(send=True, expires_at=instant(desk.api.clock.now() + timedelta(hours=1)))
    await desk.arrived(1)
    at = desk.sink.received[0]
    told([at], hook, desk)
    desk.api.clock.forward(3601)
    desk.api.deedbox.jobs.wake()
    received = (await desk.arrived(2))[1]
    assert (received.json["type"], received.json["sequence"]) == ("document.expired", 2)
    assert accepts(Delivery(hook["secret"], received.body, received.headers, desk.api.clock.now()))
    assert (await desk.document(document["id"]))["status"] == "expired"


async def test_a_hook_gets_only_the_kinds_that_it_asked_for(desk: Desk) -> None:
    await desk.subscribe("document.voided", url=f"http://127.0.0.1:{desk.sink.port}/voided")
    await desk.subscribe("document.sent", url=f"http://127.0.0.1:{desk.sink.port}/sent")
    document = await desk.create(send=True)
    await desk.arrived(1, "/sent")
    await desk.api.call("POST", f"/api/v1/documents/{document['id']}/void")
    await desk.arrived(1, "/voided")
    kinds = {(one.path, one.json["type"]) for one in desk.sink.received}
    assert kinds == {("/sent", "document.sent"), ("/voided", "document.voided")}


async def test_another_workspaces_hook_hears_nothing(desk: Desk) -> None:
    theirs = await desk.api.make_key(workspace=desk.api.other_workspace)
    made = await desk.api.post(
        "/api/v1/hooks", {"target_url": f"http://127.0.0.1:{desk.sink.port}/theirs", "events": ALL}, key=theirs
    )
    assert made.status_code == 201
    await desk.subscribe(*ALL)
    await desk.create(send=True)
    await desk.arrived(1)
    assert await desk.api.rows(f"select id from deliveries where hook_id = '{made.json()['id']}'") == []
    assert (await desk.api.get("/api/v1/events", key=theirs)).json()["events"] == []


async def test_the_catalogue_is_the_seeds_and_each_sample_fits_its_schema(api: Api) -> None:
    found = (await api.get("/api/v1/hooks/events")).json()
    assert {one["type"]: one["meaning"] for one in found["events"]} == MEANINGS
    assert (found["count"], found["has_more"], found["next_cursor"]) == (len(MEANINGS), False, None)
    for one in found["events"]:
        validator = jsonschema_rs.validator_for(one["schema"])
        assert validator.is_valid(one["sample"]), one["type"]
        assert one["sample"]["type"] == one["type"]
        assert not validator.is_valid({**one["sample"], "data": {}})
        assert not validator.is_valid({**one["sample"], "type": "document.opened"})
        del one["sample"]["sequence"]
        assert not validator.is_valid(one["sample"])


async def test_the_feed_gives_each_event_once_in_order_as_it_was_delivered(desk: Desk) -> None:
    hook = await desk.subscribe(*ALL)
    documents = []
    for _ in range(3):
        documents.append(await desk.create(send=True))
        desk.api.clock.forward(1)
    for document in documents:
        await desk.api.call("POST", f"/api/v1/documents/{document['id']}/void")
        desk.api.clock.forward(1)
    delivered = {one.json["id"]: one.json for one in await desk.arrived(6)}
    found, after = [], ""
    while True:
        page = (await desk.api.get(f"/api/v1/events?limit=2{after}")).json()
        assert page["count"] == len(page["events"]) <= 2
        found += page["events"]
        after = f"&after={page['events'][-1]['id']}"
        assert page["next_cursor"] == (page["events"][-1]["id"] if page["has_more"] else None)
        if not page["has_more"]:
            break
    assert [one["data"]["document_id"] for one in found] == [document["id"] for document in (*documents, *documents)]
    assert found == [delivered[one["id"]] for one in found]
    empty = (await desk.api.get(f"/api/v1/events?after={found[-1]['id']}")).json()
    assert (empty["events"], empty["has_more"], empty["next_cursor"]) == ([], False, None)
    assert (await desk.api.get(f"/api/v1/events?cursor={found[0]['id']}")).json()["events"] == found[1:]
    await desk.create(send=True)
    [fresh] = (await desk.api.get(f"/api/v1/events?after={found[-1]['id']}")).json()["events"]
    assert fresh["type"] == "document.sent"
    assert hook["status"] == "active"


async def test_the_feed_needs_no_hook_and_refuses_an_event_that_it_has_not_given(desk: Desk) -> None:
    await desk.create(send=True)
    [event] = (await desk.api.get("/api/v1/events")).json()["events"]
    assert event["api_version"] == "v1"
    nothing = (
        await desk.api.get("/api/v1/events", key=await desk.api.make_key(workspace=desk.api.other_workspace))
    ).json()
    assert (nothing["events"], nothing["next_cursor"]) == ([], None)
    for query in ("after=x", "after=doc_01JD0000000000000000000000", "after=evt_01JD0000000000000000000000", "limit=0",
                  "cursor=x", f"cursor={event['id']}&after={event['id']}"):  # fmt: skip
        assert (await desk.api.get(f"/api/v1/events?{query}")).status_code == 400, query
    theirs = await desk.api.make_key(workspace=desk.api.other_workspace)
    assert (await desk.api.get(f"/api/v1/events?after={event['id']}", key=theirs)).status_code == 400


async def test_the_feed_filtered_by_type_pages_through_those_kinds_only(desk: Desk) -> None:
    for number in range(3):
        document = await desk.create(send=True)
        if number != 1:
            await desk.api.call("POST", f"/api/v1/documents/{document['id']}/void")
    everything = (await desk.api.get("/api/v1/events")).json()["events"]
    kinds = [event["type"] for event in everything]
    assert (kinds.count("document.sent"), kinds.count("document.voided")) == (3, 2)
    sent = [event for event in everything if event["type"] == "document.sent"]
    found: list[dict[str, Any]] = []
    after = ""
    while len(found) < 10:
        page = (await desk.api.get(f"/api/v1/events?type=document.sent&limit=2{after}")).json()
        found += page["events"]
        if not page["has_more"]:
            break
        after = f"&after={page['next_cursor']}"
    assert found == sent
    both = await desk.api.get("/api/v1/events?type=document.voided&type=document.sent&type=document.sent")
    assert both.json()["events"] == everything
    [voided] = [event for event in everything if event["type"] == "document.voided"][1:]
    later = await desk.api.get(f"/api/v1/events?type=document.voided&after={sent[-1]['id']}")
    assert later.json()["events"] == [voided]
    assert (await desk.api.get("/api/v1/events?type=document.completed")).json()["events"] == []


async def test_the_feed_refuses_a_type_that_does_not_exist(desk: Desk) -> None:
    answer = await desk.api.get("/api/v1/events?type=document.opened")
    assert answer.status_code == 400
    assert "document.opened" in answer.json()["error"]

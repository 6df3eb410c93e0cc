"""Every POST of the signing API, each on an object of its own, and how its effects are counted."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import msgspec

from tests.faults.signers import (
    PAPER,
    Doors,
    at_turn,
    batch_wanted,
    packet_wanted,
    person,
    signature,
    template_wanted,
    wanted,
)
from tests.webhooks.sink import Sink

NONE = "select 1"
"""Counts the effects of what has none: always as many as there should be."""

Shot = Callable[[Doors], Awaitable[httpx.Response]]


class Case(msgspec.Struct):
    """One request to be repeated, and how its effects are counted."""

    route: str
    shoot: Shot
    effects: str
    """SQL that counts them."""
    answers: list[httpx.Response] = []
    single: bool = False
    """A signer's act: without a key, so that the first wins and the others are told so."""


async def prepared(doors: Doors, name: str, sink: Sink) -> list[Case]:
    """Each POST on a document or a webhook of its own."""
    made = {act: await _made(doors, f"{name} {act}", send=act != "send", **people) for act, people in _ACTS.items()}
    cases = [_created(f"{name} draft", send=False), _created(f"{name} sent", send=True), _uploaded(f"{name} form")]
    cases += [_sender_acts(act, made[act], f"{name} {act}") for act in ("send", "void", "remind")]
    cases += [
        _link(made["link"], f"{name} link"),
        _key(f"{name} key"),
        _member(f"{name} member"),
        _verified(f"{name} verify"),
    ]
    cases += [await _signer_acts(doors, act, made[act]) for act in ("complete", "decline", "delegate")]
    cases += [_template(f"{name} template"), await _from_template(doors, f"{name} from a template")]
    cases += [*await _of_packets(doors, f"{name} packet"), *await _of_batches(doors, f"{name} batch")]
    return [*cases, _hook(f"{name} hook", sink), *await _hook_acts(doors, name, sink)]


_ACTS: dict[str, dict[str, Any]] = {
    "send": {}, "void": {}, "remind": {}, "link": {}, "complete": {}, "decline": {},
    "delegate": {"signers": [person(1, delegation=True)]},
}  # fmt: skip


async def _made(doors: Doors, title: str, *, send: bool, **people: Any) -> Any:
    return await _asked(doors, "documents", **wanted(title, send=send, **people))


def posting(key: str, path: str, **request: Any) -> Shot:
    async def shoot(doors: Doors) -> httpx.Response:
        return await doors.sender.post(path, headers={"Idempotency-Key": key}, **request)

    return shoot


def _titled(title: str) -> str:
    return f"select count(*) from documents where title = '{title}'"


def _created(title: str, *, send: bool) -> Case:
    shoot = posting(title, "/api/v1/documents", json=wanted(title, send=send))
    events = f"select count(*) from events e join documents d on d.id = e.subject_id where d.title = '{title}'"
    return Case("/api/v1/documents", shoot, events if send else _titled(title))


def _uploaded(title: str) -> Case:
    document = msgspec.json.encode({"title": title, "signers": [person(1)]})
    files = {"document": (None, document, "application/json"), "file": ("deed.pdf", PAPER, "application/pdf")}
    return Case("/api/v1/documents", posting(title, "/api/v1/documents", files=files), _titled(title))


def _template(name: str) -> Case:
    shoot = posting(name, "/api/v1/templates", json=template_wanted(name))
    return Case("/api/v1/templates", shoot, f"select count(*) from template_versions where name = '{name}'")


async def _from_template(doors: Doors, title: str) -> Case:
    template = await _asked(doors, "templates", **template_wanted(f"{title} itself"))
    body = {"title": title, "template_id": template["id"], "roles": {"Buyer": person(1)}, "send": True}
    return Case("/api/v1/documents", posting(title, "/api/v1/documents", json=body), _titled(title))


def _recorded(document: Any, act: str) -> str:
    return f"select count(*) from audit where document_id = '{document['id']}' and act = '{act}'"


_RECORDED = {
    "send": "document.sent", "void": "document.voided", "remind": "signer.reminded", "complete": "signer.signed",
    "decline": "signer.declined", "delegate": "signer.delegated",
}  # fmt: skip
"""What an audit trail has of each act."""


def _sender_acts(act: str, document: Any, key: str) -> Case:
    shoot = posting(key, f"/api/v1/documents/{document['id']}/{act}")
    return Case(f"/api/v1/documents/{{document_id}}/{act}", shoot, _recorded(document, _RECORDED[act]))


def _link(document: Any, key: str) -> Case:
    [signer_id] = at_turn(document)
    shoot = posting(key, f"/api/v1/documents/{document['id']}/signers/{signer_id}/link")
    return Case("/api/v1/documents/{document_id}/signers/{signer_id}/link", shoot, _embedded(signer_id))


def _embedded(signer_id: str) -> str:
    return f"select count(*) from signing_links where kind = 'embedded' and signer_id = '{signer_id}'"


async def _of_packets(doors: Doors, name: str) -> list[Case]:
    """What can be done with packets, each with one of its own."""
    told = f"select count(*) from events where kind = 'packet.sent' and data like '%\"{name} sent\"%'"
    sent = posting(f"{name} sent", "/api/v1/packets", json=packet_wanted(f"{name} sent", send=True))
    cases = [Case("/api/v1/packets", sent, told)]
    for act in ("send", "void", "remind", "link", "complete", "decline"):
        packet = await _asked(doors, "packets", **packet_wanted(f"{name} {act}", send=act != "send"))
        place, key = f"/api/v1/packets/{packet['id']}", f"{name} {act}"
        last = packet["documents"][-1]
        if act == "link":
            [signer_id] = at_turn(packet)
            shoot, effects = posting(key, f"{place}/signers/{signer_id}/link"), _embedded(signer_id)
            cases.append(Case("/api/v1/packets/{packet_id}/signers/{signer_id}/link", shoot, effects))
        elif act in ("complete", "decline"):
            cases.append(await _signer_acts(doors, act, {**packet, "id": last["id"]}))
        else:
            shoot, effects = posting(key, f"{place}/{act}"), _recorded(last, _RECORDED[act])
            cases.append(Case(f"/api/v1/packets/{{packet_id}}/{act}", shoot, effects))
    return cases


async def _of_batches(doors: Doors, name: str) -> list[Case]:
    """What can be done with bulk sends, each with one of its own."""
    template_id = (await _asked(doors, "templates", **template_wanted(name)))["id"]
    body = batch_wanted(f"{name} itself", template_id, 2)
    rows = (
        "select count(*) from bulk_rows r join bulk_sends b on b.id = r.bulk_send_id where r.row_key = 'row 1'"
        f" and b.name = '{body['name']}'"
    )
    cases = [Case("/api/v1/bulk-sends", posting(body["name"], "/api/v1/bulk-sends", json=body), rows)]
    for act, effects in _BATCH_EFFECTS.items():
        # So slow that it does not end meanwhile.
        slow = batch_wanted(f"{name} {act}", template_id, 9, rows_per_minute=1)
        batch = await (_failed(doors, slow) if act == "retry" else _asked(doors, "bulk-sends", **slow))
        if act == "resume":
            await _asked(doors, f"bulk-sends/{batch['id']}/pause")
        shoot = posting(f"{name} {act}", f"/api/v1/bulk-sends/{batch['id']}/{act}")
        cases.append(Case(f"/api/v1/bulk-sends/{{bulk_send_id}}/{act}", shoot, effects.format(id=batch["id"])))
    return cases


async def _failed(doors: Doors, slow: dict[str, Any]) -> Any:
    """A bulk send whose rows, but for the first perhaps, have failed: its template is gone."""
    own = (await _asked(doors, "templates", **template_wanted(slow["name"])))["id"]
    body = {**slow, "template_id": own}
    batch = await _asked(doors, "bulk-sends", **body)
    place = f"bulk-sends/{batch['id']}"
    await _asked(doors, f"{place}/pause")
    await _asked(doors, "bulk-sends", **{**body, "rows_per_minute": None})
    assert (await doors.sender.delete(f"/api/v1/templates/{own}")).status_code == 204
    await _asked(doors, f"{place}/resume")
    while (await doors.sender.get(f"/api/v1/{place}")).json()["status"] != "completed":
        await asyncio.sleep(0.02)
    return batch


_BATCH_EFFECTS = {
    "pause": "select count(*) from bulk_sends where id = '{id}' and status = 'paused'",
    "resume": "select count(*) from bulk_sends where id = '{id}' and status in ('queued', 'sending') and round = 2",
    "cancel": "select count(*) from events where subject_id = '{id}' and kind = 'bulk_send.completed'",
    "retry": "select count(*) from bulk_sends where id = '{id}' and round = 3",
}
"""`round` counts how often the work began anew."""


def _key(name: str) -> Case:
    shoot = posting(name, "/api/v1/keys", json={"name": name})
    return Case("/api/v1/keys", shoot, f"select count(*) from api_keys where name = '{name}'")


def _member(name: str) -> Case:
    wish = {"role": "viewer", "email": f"{name.replace(' ', '-').lower()}@example.com"}
    shoot = posting(name, "/api/v1/members", json=wish)
    return Case("/api/v1/members", shoot, f"select count(*) from invitations where email = '{wish['email']}'")


def _hooked(title: str, sink: Sink) -> dict[str, str]:
    # A kind that nothing here causes: each delivery is one that was asked for.
    return {"target_url": f"{sink.url}/{title.replace(' ', '-')}", "event": "document.expired"}


def _hook(title: str, sink: Sink) -> Case:
    wish = _hooked(title, sink)
    effects = f"select count(*) from hooks where target_url = '{wish['target_url']}'"
    return Case("/api/v1/hooks", posting(title, "/api/v1/hooks", json=wish), effects)


async def _hook_acts(doors: Doors, name: str, sink: Sink) -> list[Case]:
    """What can be done with a webhook and its deliveries, each with one of its own."""
    ids = {act: (await _asked(doors, "hooks", **_hooked(f"{name} {act}", sink)))["id"] for act in _HOOK_EFFECTS}
    await _asked(doors, f"hooks/{ids['resume']}/pause")
    delivery = await _asked(doors, f"hooks/{ids['redeliver']}/test")
    while (await doors.sender.get(f"/api/v1/deliveries/{delivery['id']}")).json()["status"] != "delivered":
        await asyncio.sleep(0.01)
    bodies = {"recover": {"since": delivery["created_at"]}}
    paths = {act: f"hooks/{hook_id}/{act}" for act, hook_id in ids.items()}
    paths["redeliver"] = f"deliveries/{delivery['id']}/redeliver"
    return [
        Case(
            f"/api/v1/deliveries/{{delivery_id}}/{act}" if act == "redeliver" else f"/api/v1/hooks/{{hook_id}}/{act}",
            posting(f"{name} {act} hook", f"/api/v1/{paths[act]}", json=bodies.get(act)),
            effects.format(hook_id=ids[act]),
        )
        for act, effects in _HOOK_EFFECTS.items()
    ]


_HOOK_EFFECTS = {
    "test": "select count(*) from deliveries where hook_id = '{hook_id}'",
    "rotate": NONE,
    "pause": "select count(*) from hooks where id = '{hook_id}' and status = 'paused'",
    "resume": "select count(*) from hooks where id = '{hook_id}' and status = 'active'",
    "recover": NONE,
    "redeliver": "select count(*) - 1 from deliveries where hook_id = '{hook_id}'",
}


async def _asked(doors: Doors, path: str, **body: Any) -> Any:
    answer = await doors.sender.post(f"/api/v1/{path}", json=body)
    assert answer.is_success, answer.text
    return answer.json()


def _verified(key: str) -> Case:
    shoot = posting(key, "/api/v1/verify", files={"file": ("deed.pdf", PAPER)})
    return Case("/api/v1/verify", shoot, NONE)


async def _signer_acts(doors: Doors, act: str, document: Any) -> Case:
    [signer_id] = at_turn(document)
    cookie = await doors.enter(document["id"], signer_id)
    bodies = {"complete": signature("Ann"), "delegate": {"name": "Signer 2", "email": "signer2@example.com"}}
    body = bodies.get(act, {})

    async def shoot(doors: Doors) -> httpx.Response:
        return await doors.act(cookie, act, body, **{"Idempotency-Key": f"{document['id']} {act}"})

    return Case(f"/sign/{{signer_id}}/{act}", shoot, _recorded(document, _RECORDED[act]), single=True)

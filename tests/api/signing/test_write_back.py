"""What is read can be written back: PATCH takes what GET gave; what cannot change must be as it is."""

import base64
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.api.answers import faults
from tests.api.description import description
from tests.api.signing.conftest import Office, signer
from tests.pdf.papers import lines, paper

pytestmark = pytest.mark.anyio

HOOKS, DOCUMENTS, KEYS, TEMPLATES = "/api/v1/hooks", "/api/v1/documents", "/api/v1/keys", "/api/v1/templates"
PACKETS = "/api/v1/packets"
PLACE = {"page": 1, "x": 0.1, "y": 0.1, "w": 0.3, "h": 0.05}
PARTIES = [
    {"name": "Tenant", "signers": [signer("ann", language="de", time_zone="Europe/Berlin"), signer("bob")], "order": 2},
    {"name": "Landlord", "signers": [signer("cem", auth="access_code", access_code="open sesame")]},
]
FIELDS = [
    {"type": "text", "party": "Tenant", "label": "Rent", "default": "500", **PLACE},
    {"type": "signature", "signer": "CEM@example.com", **PLACE, "y": 0.3},
    {"type": "select", "signer": "Bob", "options": ["a", "b"], **PLACE, "y": 0.5, "file": 0},
    {"type": "text", "signer": "Ann", "label": "Code", "max_length": 9, "pattern": "[a-z]+", **PLACE, "y": 0.6},
    {"type": "radio", "signer": "Ann", "label": "Yes", "group": "Pets", "required": False, **PLACE, "y": 0.7},
    {"type": "text", "signer": "Ann", "show_if": {"field": "Pets", "equals": "Yes"}, **PLACE, "y": 0.8},
    {"type": "text", "signer": "Ann", "read_only": True, "default": "fixed", **PLACE, "y": 0.9},
]
WHOLE: dict[str, Any] = {
    "parties": PARTIES,
    "signers": [],
    "fields": FIELDS,
    "message": {"subject": "Please", "body": "sign"},
    "metadata": {"a": "1", "b": "2"},
    "external_id": "e-1",
    "reminders": {"first_after_hours": 1, "every_hours": 2, "max": 3},
    "expires_at": "2026-04-01T00:00:00Z",
}
TAGGED = paper(lines("Place: {{text:Ann:Place}} and on", x=60, y=600) + lines("{{signature:Ann}}", x=60, y=300))
FULL = paper(lines(*(f"Line {number}" for number in range(47))))
"""No room for a signature: those who have no field get a page after it."""


async def _workspace(_: Office) -> list[str]:
    return ["/api/v1/workspace"]


async def _hooks(office: Office) -> list[str]:
    """One that is paused, and one with a description."""
    made = []
    for more in ({}, {"description": "One"}):
        new = {"target_url": f"https://hooks.example.com/{len(more)}", "event": "document.sent", **more}
        made.append((await office.api.post(HOOKS, new)).json())
    await office.api.call("POST", f"{HOOKS}/{made[0]['id']}/pause")
    return [f"{HOOKS}/{one['id']}" for one in made]


async def _keys(office: Office) -> list[str]:
    """One with bounds, and one that was revoked."""
    rate = {"per_minute": 5, "per_day": 50}
    made = [
        (await office.api.post(KEYS, {"name": "One", "expires_at": "2026-04-01T00:00:00Z", "rate_limit": rate})).json()
        for _ in range(2)
    ]
    await office.api.call("DELETE", f"{KEYS}/{made[1]['id']}")
    return [f"{KEYS}/{one['id']}" for one in made]


async def _members(office: Office) -> list[str]:
    """The owner, and one who is invited."""
    await office.api.post("/api/v1/members", {"role": "viewer"})
    found = (await office.api.get("/api/v1/members")).json()["members"]
    return [f"/api/v1/members/{one['id']}" for one in found]


async def _documents(office: Office) -> list[str]:
    """One in each status that can be reached at once."""
    draft, sent, voided = [await office.create(**WHOLE, send=send) for send in (False, True, True)]
    await office.api.call("POST", f"{DOCUMENTS}/{voided['id']}/void")
    expired = await office.create(send=True, expires_at="2026-03-01T12:00:01Z")
    office.api.clock.forward(2)
    sealed = await office.sealed()
    return [f"{DOCUMENTS}/{one['id']}" for one in (draft, sent, voided, expired, sealed)]


async def _templates(office: Office) -> list[str]:
    """One with all that a template has, and one from tags."""
    roles = [{"name": "Tenant", "rule": "quorum", "quorum": 1, "signers": 2}, {"name": "Landlord", "order": 2}]
    fields = [{"type": "text", "party": "Tenant", "label": "Rent", "default": "500", **PLACE}]
    whole = {name: WHOLE[name] for name in ("message", "metadata", "reminders")}
    file = {"name": "tags.pdf", "content_base64": base64.b64encode(TAGGED).decode()}
    made = []
    for more in ({"roles": roles, "fields": fields, **whole, "file": office.body()["file"]}, {"file": file}):
        made.append((await office.api.post(TEMPLATES, {"name": "Lease", **more})).json())
    return [f"{TEMPLATES}/{one['id']}" for one in made]


async def _packets(office: Office) -> list[str]:
    """A draft and one that was sent, with all that a packet has, and one that is over."""
    whole = {name: WHOLE[name] for name in WHOLE if name != "fields"}
    one = {"title": "Lease", "file": office.body()["file"], "metadata": {"c": "3"}, "external_id": "e-2"}
    documents = [{**one, "fields": FIELDS}, {**one, "title": "All sign"}]
    made = []
    for send in (False, True, True):
        new = {"title": "Papers", "documents": documents, **whole, "send": send}
        made.append((await office.api.post(PACKETS, new)).json())
    await office.api.call("POST", f"{PACKETS}/{made[2]['id']}/void")
    return [f"{PACKETS}/{one['id']}" for one in made]


async def _uploads(office: Office) -> list[str]:
    """One of which nothing is said, and one with a collection and metadata."""
    made = []
    for parts in ({}, {"collection": "leases", "metadata": '{"year": 2026, "open": true, "kind": "lease"}'}):
        file = {"file": ("a.txt", b"The tenant pays the rent.")}
        answer = await office.api.call("POST", "/documents/upload", files=file, data=parts)
        made.append(f"/documents/{answer.json()['doc_id']}")
    return made


MADE: dict[str, Callable[[Office], Awaitable[list[str]]]] = {
    "/api/v1/workspace": _workspace,
    "/api/v1/hooks/{hook_id}": _hooks,
    "/api/v1/documents/{document_id}": _documents,
    "/api/v1/keys/{key_id}": _keys,
    "/api/v1/members/{member_id}": _members,
    "/api/v1/packets/{packet_id}": _packets,
    "/api/v1/templates/{template_id}": _templates,
    "/documents/{doc_id}": _uploads,
}
"""What makes records of each kind that can be read and changed."""


def test_every_record_that_can_be_read_and_changed_is_tried() -> None:
    both = {path for path, each in description()["paths"].items() if {"get", "patch"} <= each.keys()}
    assert set(MADE) == both, "add to MADE what makes a record of this kind"


@pytest.mark.parametrize("kind", MADE)
async def test_what_get_gives_goes_back_unchanged(office: Office, kind: str) -> None:
    for path in await MADE[kind](office):
        shown = (await office.api.get(path)).json()
        answer = await office.api.call("PATCH", path, json=shown)
        assert (answer.status_code, answer.json()) == (200, shown), answer.text
        for name, value in shown.items():
            answer = await office.api.call("PATCH", path, json={name: value})
            assert (answer.status_code, answer.json()) == (200, shown), (name, answer.text)
        assert (await office.api.get(path)).json() == shown


@pytest.mark.parametrize("kind", MADE)
@pytest.mark.one_database
async def test_what_cannot_change_is_400_and_named(office: Office, kind: str) -> None:
    schema = description()["paths"][kind]["patch"]["requestBody"]["content"]["application/json"]["schema"]
    taken = description()["components"]["schemas"][schema["$ref"].rpartition("/")[2]]["properties"]
    path = (await MADE[kind](office))[0]
    shown = (await office.api.get(path)).json()
    assert shown.keys() <= taken.keys(), "the description names every field of the record"
    fixed = [name for name in shown if "cannot be changed" in taken[name].get("description", "")]
    assert fixed
    for name in fixed:
        for other in ("other", 7, True, None, ["x"], {"x": 1}):
            if other != shown[name] or type(other) is not type(shown[name]):
                answer = await office.api.call("PATCH", path, json={**shown, name: other})
                assert faults(path, answer, 400) == [], (name, other)
                assert answer.json()["error"] == f"{name}: cannot be changed"
    answer = await office.api.call("PATCH", path, json={**shown, "colour": "red"})
    assert (answer.status_code, answer.json()["error"]) == (400, "colour: there is no such field")
    assert faults(path, await office.api.call("PATCH", path, json={}), 400) == []


async def test_a_draft_is_read_changed_inside_and_written_back(office: Office) -> None:
    draft = await office.create(**WHOLE)
    path = f"{DOCUMENTS}/{draft['id']}"
    landlord, tenant = draft["parties"]
    tenant["name"], tenant["signers"][0]["email"] = "Lodger", "ANNE@example.com"
    del draft["fields"][2]
    draft["fields"][0] |= {"x": 0.2, "label": "Rent in euros", "signer": "Ann", "party": None}
    file_id, signer_id = draft["files"][0]["id"], landlord["signers"][0]["id"]
    draft["fields"].append({"type": "text", "file": file_id, "signer": signer_id, **PLACE, "y": 0.7})
    answer = await office.api.call("PATCH", path, json=draft)
    assert answer.status_code == 200, answer.text
    changed = answer.json()
    tenant["signers"][0]["email"] = "anne@example.com"
    assert changed["parties"] == [landlord, tenant]
    kept = [field["id"] for field in draft["fields"][:-1]]
    assert [field["id"] for field in changed["fields"]][: len(kept)] == kept
    assert changed["fields"][0] == {**draft["fields"][0], "signer": tenant["signers"][0]["id"]}
    assert (changed["fields"][len(kept)]["signer"], changed["fields"][len(kept)]["file"]) == (signer_id, file_id)
    assert (await office.api.get(path)).json() == changed
    assert (await office.api.call("PATCH", path, json=changed)).json() == changed


async def test_fields_follow_a_person_whose_address_or_name_is_changed_in_a_draft(office: Office) -> None:
    draft = await office.create(**WHOLE)
    landlord, tenant = draft["parties"]
    landlord["signers"][0]["email"], tenant["signers"][1]["name"] = "cemal@example.com", "Robert"
    answer = await office.api.call("PATCH", f"{DOCUMENTS}/{draft['id']}", json={"parties": [tenant, landlord]})
    assert answer.status_code == 200, answer.text
    whose = [(field["type"], field["signer"], field["party"]) for field in answer.json()["fields"]]
    assert whose == [(field["type"], field["signer"], field["party"]) for field in draft["fields"]]
    assert (await office.api.call("POST", f"{DOCUMENTS}/{draft['id']}/send")).status_code == 200


@pytest.mark.parametrize(
    ("place", "change", "said"),
    [
        ("parties", {"status": "completed"}, "parties[0].status: cannot be changed"),
        ("parties", {"id": "pty_x"}, "parties[0].id: there is none with this id, or it is given twice"),
        ("parties", {"colour": "red"}, "parties[0].colour: there is no such field"),
        ("fields", {"value": "600"}, "fields[0].value: cannot be changed"),
        ("fields", {"file": "fil_x"}, "A field names the file fil_x, which the document does not have"),
        ("fields", {"party": "nobody"}, "A field names nobody, who is not among signers and parties"),
        ("files", {"sha256": "0", "password": "x"}, "files[0].sha256: cannot be changed"),
    ],
)
@pytest.mark.one_database
async def test_what_cannot_change_inside_a_record_is_named_with_its_place(
    office: Office, place: str, change: dict[str, Any], said: str
) -> None:
    draft = await office.create(**WHOLE)
    path = f"{DOCUMENTS}/{draft['id']}"
    draft[place][0] |= change
    answer = await office.api.call("PATCH", path, json=draft)
    assert faults(path, answer, 400) == []
    assert answer.json()["error"] == said


async def test_a_record_that_is_given_twice_is_400(office: Office) -> None:
    draft = await office.create(**WHOLE)
    for place in ("parties", "fields"):
        answer = await office.api.call("PATCH", f"{DOCUMENTS}/{draft['id']}", json={place: draft[place] * 2})
        assert (answer.status_code, "given twice" in answer.json()["error"]) == (400, True)


async def test_after_sending_an_address_in_the_record_is_corrected_and_nothing_else(office: Office) -> None:
    sent = await office.create(**WHOLE, send=True)
    path = f"{DOCUMENTS}/{sent['id']}"
    sent["parties"][0]["signers"][0]["email"] = "cemal@example.com"
    answer = await office.api.call("PATCH", path, json=sent)
    assert answer.status_code == 200, answer.text
    assert answer.json()["parties"] == sent["parties"]
    acts = [row["act"] for row in (await office.api.get(f"{path}/audit")).json()["audit"]]
    assert acts.count("signer.corrected") == 1
    sent["parties"][0]["name"] = "Owner"
    assert faults(path, await office.api.call("PATCH", path, json=sent), 409) == []


async def test_whom_two_share_a_name_with_must_be_told_apart(office: Office) -> None:
    signers = [signer("ann"), {**signer("ann"), "email": "other@example.com"}]
    fields = [{"type": "text", "signer": "Ann", **PLACE}]
    answer = await office.api.post(DOCUMENTS, office.body(signers=signers, fields=fields))
    assert (answer.status_code, "as several are called" in answer.json()["error"]) == (400, True)


async def test_a_field_that_a_tag_has_placed_is_written_back_once_and_stays_where_it_is(office: Office) -> None:
    content = base64.b64encode(TAGGED).decode()
    draft = await office.create(file={"name": "a.pdf", "content_base64": content})
    path = f"{DOCUMENTS}/{draft['id']}"
    assert len(draft["fields"]) == 2
    draft["fields"][0]["label"] = "Here"
    for change in ({"fields": draft["fields"]}, {"signed_input": "flatten"}):
        changed = await office.api.call("PATCH", path, json=change)
        assert changed.status_code == 200, changed.text
        assert [field["label"] for field in changed.json()["fields"]] == ["Here", None]
        assert changed.json()["fields"] == draft["fields"]
    draft["fields"][0]["x"] += 0.1
    moved = await office.api.call("PATCH", path, json={"fields": draft["fields"]})
    assert (moved.status_code, "text tag" in moved.json()["error"]) == (400, True)


def _moved(draft: Any, *ids: str | None) -> list[dict[str, Any]]:
    """The draft's parties, and a new one of people with these ids."""
    people = [signer(f"eve{number}", id=one) for number, one in enumerate(ids)]
    return [*draft["parties"], {"name": "Guests", "signers": people}]


async def test_the_id_of_a_signer_in_a_new_party_is_one_of_the_draft_and_given_once(office: Office) -> None:
    draft, other = await office.create(**WHOLE), await office.create()
    path, stranger = f"{DOCUMENTS}/{draft['id']}", other["parties"][0]["signers"][0]["id"]
    mine = draft["parties"][0]["signers"][0]["id"]
    for ids in ([stranger], ["x"], [""], ["a\r\nSet-Cookie: b"], [mine], ["sgn_1", "sgn_1"]):
        answer = await office.api.call("PATCH", path, json={"parties": _moved(draft, *ids)})
        assert faults(path, answer, 400) == [], ids
        assert "there is none with this id, or it is given twice" in answer.json()["error"]
    assert (await office.api.get(path)).json() == draft


async def test_a_person_of_a_draft_moves_to_a_new_party_and_keeps_their_id_and_fields(office: Office) -> None:
    draft = await office.create(**WHOLE)
    bob = draft["parties"][1]["signers"].pop()
    guests = {"name": "Guests", "signers": [signer("bob", id=bob["id"])]}
    change = {"parties": [*draft["parties"], guests]}
    answer = await office.api.call("PATCH", f"{DOCUMENTS}/{draft['id']}", json=change)
    assert answer.status_code == 200, answer.text
    [moved] = [party for party in answer.json()["parties"] if party["name"] == "Guests"]
    assert [one["id"] for one in moved["signers"]] == [bob["id"]]
    assert [one["signer"] for one in answer.json()["fields"] if one["type"] == "select"] == [bob["id"]]


async def test_fields_on_the_page_that_was_added_for_signatures_are_written_back(office: Office) -> None:
    file = {"name": "a.pdf", "content_base64": base64.b64encode(FULL).decode()}
    draft = await office.create(file=file, signers=[signer("ann"), signer("bob")])
    path, fields = f"{DOCUMENTS}/{draft['id']}", draft["fields"]
    assert (draft["files"][0]["pages"], [one["page"] for one in fields]) == (2, [2, 2])
    fields[0]["label"] = "Here"
    for change in ({"fields": fields}, {"signed_input": "flatten"}):
        changed = await office.api.call("PATCH", path, json=change)
        assert changed.status_code == 200, changed.text
        assert (changed.json()["fields"], changed.json()["files"]) == (fields, draft["files"])
    more = {"type": "text", "signer": "Bob", **PLACE, "page": 2, "y": 0.5}
    beyond = await office.api.call("PATCH", path, json={"fields": [*fields, {**more, "page": 3}]})
    assert (beyond.status_code, "stands on page 3" in beyond.json()["error"]) == (400, True)
    changed = await office.api.call("PATCH", path, json={"fields": [fields[0], more]})
    assert changed.status_code == 200, changed.text
    kept, _, anew = changed.json()["fields"]
    assert (kept, anew["page"], anew["x"] != kept["x"]) == (fields[0], 2, True)
    signatures = [{**one, "page": 1} for one in (kept, anew)]
    first = await office.api.call("PATCH", path, json={"fields": signatures})
    assert (first.status_code, first.json()["files"][0]["pages"]) == (200, 1)
    again = await office.api.call("PATCH", path, json={"fields": [*signatures, more]})
    assert (again.status_code, "stands on page 2" in again.json()["error"]) == (400, True)


async def test_a_draft_whose_address_was_corrected_keeps_its_fields_and_can_still_be_changed(office: Office) -> None:
    draft = await office.create(**WHOLE)
    path, cem = f"{DOCUMENTS}/{draft['id']}", draft["parties"][0]["signers"][0]
    correction = {"signers": [{"id": cem["id"], "email": "cemal@example.com"}]}
    assert (await office.api.call("PATCH", path, json=correction)).status_code == 200
    changed = await office.api.call("PATCH", path, json={"signed_input": "flatten"})
    assert changed.status_code == 200, changed.text
    before, after = (
        [one["type"] for one in each["fields"] if one["signer"] == cem["id"]] for each in (draft, changed.json())
    )
    assert after == before


@pytest.mark.parametrize("send", [False, True])
async def test_two_people_share_an_address_only_if_their_names_differ(office: Office, send: bool) -> None:
    home, twin = "home@example.com", {"name": "ANN", "email": "HOME@example.com"}
    people = [{"name": "Ann", "email": home}, {"name": "Bob", "email": home}, signer("ann")]
    same = await office.api.post(DOCUMENTS, office.body(signers=[people[0], twin]))
    assert faults(DOCUMENTS, same, 400) == []
    assert "the same e-mail address and the same name" in same.json()["error"]
    document = await office.create(signers=people, send=send)
    path = f"{DOCUMENTS}/{document['id']}"
    last = document["parties"][2]["signers"][0]
    clash = await office.api.call("PATCH", path, json={"signers": [{"id": last["id"], "email": "Home@example.com"}]})
    assert faults(path, clash, 400) == []
    assert "the same e-mail address and the same name" in clash.json()["error"]
    bob = document["parties"][1]["signers"][0]
    other = {"signers": [{"id": bob["id"], "email": last["email"]}]}
    changed = await office.api.call("PATCH", path, json=other)
    assert changed.status_code == 200, changed.text
    back = await office.api.call("PATCH", path, json=changed.json())
    assert (back.status_code, back.json()) == (200, changed.json())


async def test_signers_of_a_draft_are_replaced_as_post_takes_them(office: Office) -> None:
    draft = await office.create(signers=[signer("ann"), signer("bob")])
    path, ann = f"{DOCUMENTS}/{draft['id']}", draft["parties"][0]
    people = [signer("ann", language="de", order=2), signer("cem")]
    answer = await office.api.call("PATCH", path, json={"signers": people})
    assert answer.status_code == 200, answer.text
    changed = answer.json()
    assert [(one["name"], one["order"]) for one in changed["parties"]] == [("Cem", 1), ("Ann", 2)]
    kept = changed["parties"][1]
    assert (kept["id"], kept["signers"][0]["id"]) == (ann["id"], ann["signers"][0]["id"])
    assert kept["signers"][0]["language"] == "de"
    assert {one["signer"] for one in changed["fields"]} == {one["signers"][0]["id"] for one in changed["parties"]}
    assert (await office.api.call("PATCH", path, json=changed)).json() == changed
    sent = await office.api.call("POST", f"{path}/send")
    assert sent.status_code in (200, 202), sent.text
    late = await office.api.call("PATCH", path, json={"signers": [signer("eve")]})
    assert faults(path, late, 409) == []


async def test_signers_of_a_packet_are_replaced_as_post_takes_them(office: Office) -> None:
    one = {"title": "Lease", "file": office.body()["file"]}
    new = {"title": "Papers", "documents": [one, one], "signers": [signer("ann")]}
    packet = (await office.api.post(PACKETS, new)).json()
    path = f"{PACKETS}/{packet['id']}"
    answer = await office.api.call("PATCH", path, json={"signers": [signer("ann"), signer("bob")]})
    assert answer.status_code == 200, answer.text
    assert [party["name"] for party in answer.json()["parties"]] == ["Ann", "Bob"]
    assert answer.json()["parties"][0]["id"] == packet["parties"][0]["id"]


@pytest.mark.parametrize(
    ("people", "why"),
    [
        ([{"email": "ann@example.com"}], "signers[0]: Send at least one of `name` and `id`."),
        ([signer("ann"), {"id": "ANN", "email": "eve@example.com"}], "give ids"),
        ([{"id": "ANN", "email": "eve@example.com", "name": "Eve"}], "nothing but `email`"),
        ([signer("ann"), signer("ann")], "the same e-mail address"),
    ],
)
async def test_signers_that_are_neither_new_nor_corrected_are_400(
    office: Office, people: list[dict[str, Any]], why: str
) -> None:
    draft = await office.create(signers=[signer("ann"), signer("bob")])
    path, ann = f"{DOCUMENTS}/{draft['id']}", draft["parties"][0]["signers"][0]["id"]
    given = [{**one, "id": ann} if "id" in one else one for one in people]
    answer = await office.api.call("PATCH", path, json={"signers": given})
    assert faults(path, answer, 400) == []
    assert why in answer.json()["error"]

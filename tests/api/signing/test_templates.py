"""Templates: made once, changed in versions, and documents made from them without a look at a file."""

import asyncio
import base64
from pathlib import Path
from typing import Any

import pytest
from pikepdf import Array, Name, String

from tests.api.search.files import pdf
from tests.api.signing.conftest import LEASE, Office, signer
from tests.pdf.annotated import annotation
from tests.pdf.annotated import file as annotated

pytestmark = pytest.mark.anyio

TAGGED = pdf("{{signature:Tenant}}", "{{text:Tenant:City}}", "{{signature:Landlord}}", size=(595, 842))


def file(content: bytes = LEASE, name: str = "lease.pdf") -> dict[str, str]:
    return {"name": name, "content_base64": base64.b64encode(content).decode()}


async def create(office: Office, content: bytes = LEASE, **more: Any) -> Any:
    body = {"name": "Lease", "file": file(content), "roles": [{"name": "Tenant"}], **more}
    answer = await office.api.post("/api/v1/templates", {key: one for key, one in body.items() if one is not None})
    assert answer.status_code == 201, answer.text
    return answer.json()


async def make(office: Office, template: Any, status: int = 201, **more: Any) -> Any:
    body = {"template_id": template["id"], "roles": {"Tenant": signer("ann")}, **more}
    answer = await office.api.post("/api/v1/documents", body)
    assert answer.status_code == status, answer.text
    return answer.json() if status == 201 else answer.json()["error"]


async def change(office: Office, template: Any, given: dict[str, Any], status: int = 200) -> Any:
    answer = await office.api.call("PATCH", f"/api/v1/templates/{template['id']}", json=given)
    assert answer.status_code == status, answer.text
    return answer.json() if status == 200 else answer.json()["error"]


async def test_a_document_made_from_a_template_is_signed_and_sealed(office: Office) -> None:
    field = {"type": "text", "party": "Tenant", "label": "City", "page": 1, "x": 0.1, "y": 0.5, "w": 0.3, "h": 0.03}
    template = await create(
        office,
        fields=[field],
        metadata={"kind": "lease"},
        expires_after_hours=48,
        message={"subject": "S", "body": "B"},
    )
    assert (template["status"], template["version"], template["files"][0]["pages"]) == ("ready", 1, 2)
    document = await make(office, template, values={"City": "Bern"}, metadata={"flat": "4"}, send=True)
    assert document["status"] == "sent"
    assert (document["source"], document["template_id"]) == ("template", template["id"])
    assert (document["template_version"], document["title"]) == (1, "Lease")
    assert document["metadata"] == {"kind": "lease", "flat": "4"}
    assert document["message"] == {"subject": "S", "body": "B"}
    assert document["expires_at"] > document["sent_at"]
    assert [party["name"] for party in document["parties"]] == ["Tenant"]
    assert {one["type"]: one["default"] for one in document["fields"]} == {"text": "Bern", "signature": None}
    assert (await office.sign(document, "ann")).status_code == 200
    assert (await office.completed(document))["seal"]
    listed = (await office.api.get(f"/api/v1/documents?template_id={template['id']}")).json()
    assert [one["id"] for one in listed["documents"]] == [document["id"]]


async def test_tags_name_the_roles_and_place_the_fields(office: Office) -> None:
    template = await create(office, TAGGED, roles=None)
    assert [role["name"] for role in template["roles"]] == ["Tenant", "Landlord"]
    assert [(one["party"], one["type"], one["found"]) for one in template["fields"]] == [
        ("Tenant", "signature", True),
        ("Tenant", "text", True),
        ("Landlord", "signature", True),
    ]
    roles = {"Tenant": signer("ann"), "Landlord": [signer("bob"), signer("cem")]}
    document = await make(office, template, roles=roles, values={"City": "Bern"})
    assert [len(party["signers"]) for party in document["parties"]] == [1, 2]
    assert len(document["fields"]) == 3
    nobody = await office.api.post("/api/v1/templates", {"name": "Lease", "file": file()})
    assert (nobody.status_code, nobody.json()["error"][:14]) == (400, "roles: missing")


async def test_what_does_not_fit_the_template_is_named(office: Office) -> None:
    template = await create(office, roles=[{"name": "Tenant", "signers": 1}, {"name": "Landlord"}])
    both = {"Tenant": signer("ann"), "Landlord": signer("bob")}
    assert "no role 'Guest'" in await make(office, template, 400, roles={**both, "Guest": signer("eve")})
    assert "Landlord is missing" in await make(office, template, 400)
    two = [signer("cem"), signer("dan")]
    assert "Tenant takes 1 people, but 2" in await make(office, template, 400, roles={**both, "Tenant": two})
    assert "too few signature fields" in await make(office, template, 400, roles={**both, "Landlord": two})
    assert "label 'City'" in await make(office, template, 400, roles=both, values={"City": "Bern"})
    assert "Send exactly one of `file`, `files` and `template_id`." in await make(
        office, template, 400, roles=both, file=file()
    )
    assert "Do not send `parties`, `signers`, `fields` or `signed_input` with `template_id`." in await make(
        office, template, 400, parties=[{"name": "A", "signers": [signer("ann")]}]
    )
    assert await make(office, {"id": "tpl_1"}, 404) == "Template does not exist"
    none = await office.api.post("/api/v1/documents", {"title": "A", "file": file(), "roles": both})
    assert none.status_code == 400


async def test_a_change_makes_a_version_and_leaves_what_was_sent(office: Office) -> None:
    template = await create(office)
    document = await make(office, template, send=True)
    same = await change(office, template, template)
    assert same == template
    second = await change(office, template, {"name": "Lease, new", "roles": [{"name": "Renter"}]})
    assert (second["version"], second["name"], second["roles"][0]["name"]) == (2, "Lease, new", "Renter")
    other = pdf("Another lease.", "More.", size=(595, 842))
    third = await change(office, template, {"files": [file(other, "other.pdf")]})
    assert (third["version"], third["files"][0]["name"]) == (3, "other.pdf")
    later = await make(office, template, roles={"Renter": signer("ann")})
    assert (later["template_version"], later["files"][0]["name"]) == (3, "other.pdf")
    found = await office.document(document["id"])
    assert (found["template_version"], found["files"]) == (1, document["files"])
    versions = (await office.api.get(f"/api/v1/templates/{template['id']}/versions?limit=2")).json()
    assert [one["version"] for one in versions["versions"]] == [3, 2]
    rest = (
        await office.api.get(f"/api/v1/templates/{template['id']}/versions?cursor={versions['next_cursor']}")
    ).json()
    assert rest["versions"] == [template]
    first = (await office.api.get(f"/api/v1/templates/{template['id']}?version=1")).json()
    assert first == template
    assert (await office.sign(document, "ann")).status_code == 200
    await office.completed(document)


async def test_a_deleted_template_leaves_its_documents(office: Office) -> None:
    template = await create(office)
    document = await make(office, template, send=True)
    address = f"/api/v1/templates/{template['id']}"
    picture = await office.api.get(f"{address}/pages/1.webp")
    assert (picture.status_code, picture.content[:4]) == (200, b"RIFF")
    assert (await office.api.call("DELETE", address)).status_code == 204
    assert (await office.api.get(address)).status_code == 404
    assert await make(office, template, 404) == "Template does not exist"
    assert await office.api.rows(f"select count(*) from blob_refs where owner = '{template['id']}'") == [(0,)]
    assert (await office.sign(document, "ann")).status_code == 200
    await office.completed(document)


async def test_a_template_from_a_document_needs_no_file(office: Office) -> None:
    party = {"name": "Owners", "rule": "quorum", "quorum": 1, "signers": [signer("bob"), signer("cem")], "order": 2}
    tenant = {"name": "Tenant", "signers": [signer("ann")]}
    document = await office.create(signers=[], parties=[tenant, party], send=True)
    template = await create(office, roles=None, file=None, document_id=document["id"])
    assert [(one["name"], one["order"], one["quorum"], one["signers"]) for one in template["roles"]] == [
        ("Tenant", 1, None, 1),
        ("Owners", 2, 1, 2),
    ]
    roles = {"Tenant": signer("dan"), "Owners": [signer("eve"), signer("fay")]}
    made = await make(office, template, roles=roles)
    assert [(one["type"], one["x"], one["y"]) for one in made["fields"]] == [
        (one["type"], one["x"], one["y"]) for one in document["fields"]
    ]
    assert len({one["signer"] for one in made["fields"]}) == 3


async def test_people_of_one_name_make_roles_of_their_own(office: Office) -> None:
    twins = [{"name": "Ann", "email": f"ann{number}@example.com"} for number in range(2)]
    document = await office.create(signers=twins)
    template = await create(office, roles=None, file=None, document_id=document["id"])
    assert [role["name"] for role in template["roles"]] == ["Ann", "Ann 2"]
    assert [field["party"] for field in template["fields"]] == ["Ann", "Ann 2"]


async def test_a_field_on_a_file_that_there_is_not_is_refused(office: Office, word_processor: Path) -> None:
    field = {"type": "text", "party": "Tenant", "file": 1, "page": 1, "x": 0.1, "y": 0.5, "w": 0.3, "h": 0.03}
    word = file(b"PK\x03\x04 word/document.xml", "lease.docx")
    new = {"name": "Lease", "file": word, "roles": [{"name": "Tenant"}], "fields": [field]}
    answer = await office.api.post("/api/v1/templates", new)
    assert (answer.status_code, answer.json()["error"][:20]) == (400, "A field names file 1")
    template = await create(office, file=None, files=[file(), file()], fields=[field])
    assert "A field names file 1" in await change(office, template, {"files": [file()]}, 400)


async def test_the_draft_from_a_template_can_be_changed(office: Office) -> None:
    template = await create(office, TAGGED, roles=None)
    draft = await make(office, template, roles={"Tenant": signer("ann"), "Landlord": signer("bob")})
    parties = draft["parties"]
    parties[0]["signers"][0]["name"] = "Anna"
    answer = await office.api.call("PATCH", f"/api/v1/documents/{draft['id']}", json={"parties": parties})
    assert answer.status_code == 200, answer.text
    assert answer.json()["parties"][0]["signers"][0]["name"] == "Anna"
    assert [one["id"] for one in answer.json()["fields"]] == [one["id"] for one in draft["fields"]]


def fillable() -> bytes:
    """A form of two roles: one is named by its signature field, the other not at all."""
    widgets: list[dict[str, Any]] = [
        {"FT": Name.Sig, "T": "Tenant.sign here"},
        {"FT": Name.Sig, "T": "Landlord.sign here"},
        {"FT": Name.Tx, "T": "Landlord.Bank", "V": "Alpha"},
        {"FT": Name.Ch, "T": "Floor", "Opt": Array([String("1"), String("2")])},
    ]
    made = [
        annotation("Widget", **{"Rect": [60, 100 + 60 * at, 260, 140 + 60 * at], **one})
        for at, one in enumerate(widgets)
    ]
    return annotated(lambda _: made, form={})


async def test_the_fields_of_a_form_become_fields_of_roles_and_can_be_corrected(office: Office) -> None:
    template = await create(office, fillable(), roles=None)
    assert [role["name"] for role in template["roles"]] == ["Tenant", "Landlord"]
    assert [(one["party"], one["label"], one["type"], one["default"]) for one in template["fields"]] == [
        ("Tenant", "sign here", "signature", None),
        ("Landlord", "sign here", "signature", None),
        ("Landlord", "Bank", "text", "Alpha"),
        ("Tenant", "Floor", "select", None),
    ]
    template["fields"][3] |= {"party": "Landlord", "x": 0.5}
    changed = await change(office, template, template)
    assert (changed["version"], changed["fields"][3]["party"], changed["fields"][3]["x"]) == (2, "Landlord", 0.5)
    assert [one["id"] for one in changed["fields"]] == [one["id"] for one in template["fields"]]
    roles = {"Tenant": signer("ann"), "Landlord": signer("bob")}
    document = await make(office, template, roles=roles, values={"Bank": "Beta", "Floor": "2"}, send=True)
    assert {one["label"]: one["default"] for one in document["fields"]} == {
        "sign here": None, "Bank": "Beta", "Floor": "2",
    }  # fmt: skip
    assert (await office.sign(document, "ann")).status_code == 200
    assert (await office.sign(document, "bob")).status_code == 200
    await office.completed(document)


async def test_a_word_file_is_converted_before_documents_can_be_made(office: Office, word_processor: Path) -> None:
    template = await create(office, roles=None, file=file(b"PK\x03\x04 word/document.xml", "lease.docx"))
    assert template["status"] == "processing"
    assert "still being converted" in await make(office, template, 409)
    assert "still being converted" in await change(office, template, {"name": "Other"}, 409)
    word_processor.write_bytes(TAGGED)
    template = await settled(office, template)
    assert (template["status"], [role["name"] for role in template["roles"]]) == ("ready", ["Tenant", "Landlord"])
    document = await make(office, template, roles={"Tenant": signer("ann"), "Landlord": signer("bob")}, send=True)
    assert document["files"][0]["pages"] == 3
    word_processor.write_bytes(b"no PDF")
    await change(office, template, {"files": [file(b"PK\x03\x04 word/document.xml", "other.docx")]})
    failed = await settled(office, template)
    assert (failed["status"], failed["version"]) == ("failed", 2)
    assert failed["error"]
    assert "could not be converted" in await make(office, template, 409)
    mended = await change(office, template, {"files": [file(TAGGED)]})
    assert (mended["status"], mended["version"], mended["error"]) == ("ready", 3, None)


async def settled(office: Office, template: Any) -> Any:
    """The template once its conversion has ended."""
    async with asyncio.timeout(60):
        while (found := (await office.api.get(f"/api/v1/templates/{template['id']}")).json())["status"] == "processing":
            await asyncio.sleep(0.05)
    return found


@pytest.mark.both_databases
async def test_of_changes_at_once_each_makes_its_version_or_is_refused(office: Office) -> None:
    template = await create(office)
    address = f"/api/v1/templates/{template['id']}"
    answers = await asyncio.gather(
        *(office.api.call("PATCH", address, json={"name": f"Lease {number}"}) for number in range(8))
    )
    won = [answer.json() for answer in answers if answer.status_code == 200]
    assert {answer.status_code for answer in answers} <= {200, 409}
    assert sorted(one["version"] for one in won) == list(range(2, 2 + len(won)))
    versions = (await office.api.get(f"{address}/versions")).json()["versions"]
    assert {one["version"]: one["name"] for one in versions} == {
        1: "Lease",
        **{one["version"]: one["name"] for one in won},
    }


async def test_a_role_may_approve_or_get_a_copy(office: Office) -> None:
    roles: list[dict[str, Any]] = [
        {"name": "Tenant"},
        {"name": "Lawyer", "role": "approver", "order": 2},
        {"name": "File", "role": "cc"},
    ]
    template = await create(office, roles=roles)
    people = {"Tenant": signer("ann"), "Lawyer": signer("bob"), "File": signer("cem")}
    document = await make(office, template, roles=people, send=True)
    acts = {one["name"]: one["role"] for party in document["parties"] for one in party["signers"]}
    assert acts == {"Ann": "signer", "Bob": "approver", "Cem": "cc"}
    assert [field["type"] for field in document["fields"]] == ["signature"]
    again = await create(office, roles=None, file=None, document_id=document["id"])
    assert {role["name"]: role["role"] for role in again["roles"]} == {
        one["name"]: one.get("role", "signer") for one in roles
    }


async def test_conditions_follow_into_every_document(office: Office) -> None:
    place = {"party": "Tenant", "page": 1, "x": 0.1, "w": 0.3, "h": 0.03}
    pets = {"type": "checkbox", "label": "Pets", "y": 0.1, "required": False, **place}
    name = {"type": "text", "label": "Name", "y": 0.2, "show_if": {"field": "Pets", "equals": "true"}, **place}
    template = await create(office, fields=[pets, name])
    template["fields"][1]["show_if"]["field"] = template["fields"][0]["id"]
    assert (await change(office, template, template))["version"] == 2
    documents = [await make(office, template) for _ in range(2)]
    again = await create(office, roles=None, file=None, document_id=documents[0]["id"])
    for one in (*documents, again):
        assert one["fields"][1]["show_if"] == {"field": one["fields"][0]["id"], "equals": "true"}
    assert documents[0]["fields"][0]["id"] != documents[1]["fields"][0]["id"]


async def test_more_people_than_places_make_another_paper(office: Office) -> None:
    template = await create(office)
    changed = await change(office, template, {"roles": [{"name": "Tenant", "signers": 3}]})
    assert changed["version"] == 2
    people = [signer("ann"), signer("bob"), signer("cem")]
    document = await make(office, template, roles={"Tenant": people})
    assert len({one["signer"] for one in document["fields"] if one["type"] == "signature"}) == 3


async def test_another_workspace_has_no_part_in_it(office: Office) -> None:
    template = await create(office)
    theirs = await office.api.make_key(workspace=office.api.other_workspace)
    address = f"/api/v1/templates/{template['id']}"
    for method, path, body in (
        ("GET", address, None),
        ("GET", f"{address}/versions", None),
        ("GET", f"{address}/pages/1.webp", None),
        ("PATCH", address, {"name": "Mine"}),
        ("DELETE", address, None),
        ("POST", "/api/v1/documents", {"template_id": template["id"], "roles": {"Tenant": signer("ann")}}),
    ):
        answer = await office.api.call(method, path, json=body, key=theirs)
        assert (answer.status_code, answer.json()["error"]) == (404, "Template does not exist"), (method, path)
    listed = (await office.api.get("/api/v1/templates?q=LEAS")).json()["templates"]
    assert [one["id"] for one in listed] == [template["id"]]
    assert (await office.api.get("/api/v1/templates?q=none")).json()["templates"] == []
    assert (await office.api.get("/api/v1/templates", key=theirs)).json()["templates"] == []


async def test_people_who_approve_beside_signers_or_have_passed_it_on_make_a_template_too(office: Office) -> None:
    people = [signer("ann", delegation=True), signer("app", role="approver"), signer("cc", role="cc")]
    document = await office.create(signers=[], parties=[{"name": "Tenant", "signers": people}], send=True)
    async with office.session(document, "ann") as browser:
        to = {"name": "Dan", "email": "dan@example.com"}
        assert (await browser.post("/delegate", json=to)).status_code < 300
    template = await create(office, roles=None, file=None, document_id=document["id"])
    assert [(one["name"], one["role"], one["signers"]) for one in template["roles"]] == [
        ("Tenant", "signer", 1), ("Tenant (approver)", "approver", 1), ("Tenant (cc)", "cc", 1),
    ]  # fmt: skip
    roles = {"Tenant": signer("eve"), "Tenant (approver)": signer("fay"), "Tenant (cc)": signer("gus")}
    made = await make(office, template, roles=roles, send=True)
    assert [one["type"] for one in made["fields"]] == ["signature"]


async def test_fields_that_are_given_with_files_are_all_there_are(office: Office) -> None:
    template = await create(office, TAGGED, roles=None)
    assert len(template["fields"]) == 3
    template["fields"][1]["label"] = "Town"
    changed = await change(office, template, {"files": [file(TAGGED)], "fields": template["fields"]})
    assert [one["label"] for one in changed["fields"]] == [one["label"] for one in template["fields"]]
    again = await change(office, template, {"files": [file(TAGGED)]})
    assert len(again["fields"]) == 3


async def test_a_template_keeps_a_role(office: Office) -> None:
    template = await create(office)
    assert (await change(office, template, {"roles": []}, 400)).startswith("roles: missing")


@pytest.mark.parametrize("gone", [False, True])
async def test_a_person_of_a_draft_from_a_template_can_be_replaced(office: Office, gone: bool) -> None:
    city = {"type": "text", "label": "City", "party": "Tenant", "page": 1, "x": 0.1, "y": 0.5, "w": 0.3, "h": 0.03}
    template = await create(office, fields=[city])
    draft = await make(office, template)
    if gone:
        assert (await office.api.call("DELETE", f"/api/v1/templates/{template['id']}")).status_code == 204
    address = f"/api/v1/documents/{draft['id']}"
    other = {"parties": [{"name": "Tenant", "signers": [signer("bob")]}]}
    answer = await office.api.call("PATCH", address, json=other)
    assert answer.status_code == 200, answer.text
    bob = answer.json()["parties"][0]["signers"][0]["id"]
    assert [(one["type"], one["signer"]) for one in answer.json()["fields"]] == [("text", bob), ("signature", bob)]
    same = await office.api.call("PATCH", address, json={"fields": answer.json()["fields"]})
    assert [one["id"] for one in same.json()["fields"]] == [one["id"] for one in answer.json()["fields"]]
    asked = await office.api.call("PATCH", address, json={"fields": answer.json()["fields"][:1]})
    assert [one["type"] for one in asked.json()["fields"]] == ["text", "signature"], asked.text


async def test_the_end_that_a_draft_has_from_its_template_is_shown_and_can_be_changed(office: Office) -> None:
    template = await create(office, expires_after_hours=48)
    draft = await make(office, template)
    address = f"/api/v1/documents/{draft['id']}"

    async def ends(given: dict[str, Any]) -> Any:
        answer = await office.api.call("PATCH", address, json=given)
        assert answer.status_code == 200, answer.text
        return answer.json()["expires_at"], answer.json()["expires_after_hours"]

    assert (draft["expires_at"], draft["expires_after_hours"]) == (None, 48)
    assert await ends({"expires_after_hours": 24}) == (None, 24)
    assert await ends({"expires_at": "2036-03-01T12:00:00Z"}) == ("2036-03-01T12:00:00Z", None)
    assert await ends({"expires_after_hours": 12}) == (None, 12)
    assert await ends({"expires_after_hours": None}) == (None, None)
    both = {"expires_after_hours": 12, "expires_at": "2036-03-01T12:00:00Z"}
    assert (await office.api.call("PATCH", address, json=both)).status_code == 400
    assert (await office.api.call("POST", f"{address}/send")).status_code == 200
    late = await office.api.call("PATCH", address, json={"expires_after_hours": 12})
    assert (late.status_code, "After sending" in late.json()["error"]) == (400, True)
    assert (await office.document(draft["id"]))["expires_at"] is None

"""Templates by the pages: made of files or a document, used for one document, changed in versions."""

import asyncio
import io
import re
from pathlib import Path
from typing import Any

import httpx
import pikepdf
import pytest

from deedbox.pdf.intake import convert
from deedbox.web.dashboard.templates import format_duration
from deedbox.web.http.page_files import ACCEPT, title_from_name
from tests.api.search.files import pdf
from tests.api.signing.conftest import LEASE, Office
from tests.api.signing.pages import once, owner, shown, upload, went, words
from tests.api.signing.test_templates import TAGGED, create, make
from tests.pdf.test_convert import docx

pytestmark = pytest.mark.anyio

CITY = {"type": "text", "party": "Tenant", "label": "City", "page": 1, "x": 0.1, "y": 0.5, "w": 0.3, "h": 0.03}


def locked() -> bytes:
    made = io.BytesIO()
    with pikepdf.open(io.BytesIO(LEASE)) as pdf:
        pdf.save(made, encryption=pikepdf.Encryption(owner="o", user="u"))
    return made.getvalue()


async def test_a_template_is_made_of_files_whose_tags_name_the_roles(office: Office) -> None:
    async with owner(office.api) as client:
        assert "No templates yet." in shown(await client.get("/app/templates"))
        form = {"once": once(await client.get("/app/templates/new"))}
        path = went(await upload(client, "/app/templates/new", [("lease.pdf", TAGGED)], **form)).partition("?")[0]
        again = await upload(client, "/app/templates/new", [("lease.pdf", TAGGED)], **form)
        assert went(again).partition("?")[0] == path, "a second press makes no second template"
        page = await client.get(path)
        told = shown(page)
        assert "lease Version 1 · Not used yet" in told
        assert "Tenant Stage 1 · signs · one or more people, all of them 2 fields" in told
        assert "Landlord Stage 1 · signs" in told
        whole = await client.get(path, headers={"X-Part": "whole"})
        assert ["1.webp" in whole.text, "Place fields" in words(whole)] == [True, True], "they come without a reload"
        assert "Use template" in words(await client.get(path, headers={"X-Part": "acts"}))
        assert "lease" in shown(await client.get("/app/templates?q=LEA"))
        assert "No template name contains this" in shown(await client.get("/app/templates?q=other"))
        [template] = (await office.api.get("/api/v1/templates")).json()["templates"]
        picture = f"/app/templates/{template['id']}/files/{template['files'][0]['id']}/pages/1.webp"
        shot = await client.get(f"{picture}?width=480")
        assert (shot.status_code, shot.headers["content-type"]) == (200, "image/webp")
        assert (await client.get(picture, headers={"If-None-Match": shot.headers["etag"]})).status_code == 200
        assert (await client.get(picture.replace("1.webp", "9.webp"))).status_code == 404
        press = {"once": once(await client.get(path))}
        assert went(await client.post(f"{path}/delete", data=press)) == "/app/templates?done=deleted"
        assert went(await client.post(f"{path}/delete", data=press)) == "/app/templates?done=deleted", "a second press"
        assert (await client.get(path)).status_code == 404


@pytest.mark.one_database
async def test_what_is_wrong_with_a_file_or_a_role_is_said_beside_it_and_all_that_was_typed_stays(
    office: Office,
) -> None:
    async with owner(office.api) as client:
        roles = {"roles.0.name": "Tenant", "roles.0.rule": "quorum", "roles.0.quorum": "0", "roles.3.name": "Landlord"}
        none = await upload(client, "/app/templates/new", [], name="Lease", **roles)
        assert (none.status_code, "Choose a file." in words(none)) == (400, True)
        wrong = await upload(client, "/app/templates/new", [("a.pdf", LEASE)], name="Lease", **roles)
        assert "At least 1" in words(wrong)
        assert ['value="Landlord"' in wrong.text, 'value="Lease"' in wrong.text] == [True, True]
        bare = await upload(client, "/app/templates/new", [("a.pdf", LEASE)], name="Lease")
        assert "Give them, or name them in the files by text tags" in words(bare)
        shut = await upload(client, "/app/templates/new", [("a.pdf", locked())], name="Lease", **{"roles.0.name": "T"})
        assert "a.pdf" in words(shut)
        assert "password" in words(shut)
        opened = {"password": "u", "roles.0.name": "T"}
        assert went(await upload(client, "/app/templates/new", [("a.pdf", locked())], name="Open", **opened))
        client.headers["Accept"] = "application/json"
        script = await upload(client, "/app/templates/new", [("a.pdf", locked())], **{"roles.0.name": "T"})
        assert script.json()["wrong"]["file"].startswith("a.pdf: ")
        bare = await upload(client, "/app/templates/new", [("a.pdf", LEASE)], name="Lease")
        assert bare.json()["wrong"] == {}, "what is about no file stands at none"


@pytest.mark.one_database
async def test_a_template_is_made_of_a_document(office: Office) -> None:
    document = await office.create()
    async with owner(office.api) as client:
        page = await client.get(f"/app/templates/new?document={document['id']}")
        assert f'value="{document["id"]}" selected' in page.text
        path = went(await upload(client, "/app/templates/new", [], name="Flat", document_id=document["id"]))
        assert "Flat Version 1" in shown(await client.get(path))
        nameless = await upload(client, "/app/templates/new", [], document_id=document["id"])
        assert "Enter a name" in words(nameless)


@pytest.mark.one_database
async def test_a_template_is_used_for_a_document_that_is_sent_or_kept(office: Office) -> None:
    template = await create(office, fields=[CITY], roles=[{"name": "Tenant", "signers": 2}, {"name": "Landlord"}])
    path = f"/app/templates/{template['id']}/use"
    people: dict[str, Any] = {
        "roles.0.people.0.name": "Ann",
        "roles.0.people.0.email": "ann@example.com",
        "roles.0.people.3.name": "Ben",
        "roles.0.people.3.email": "ben@example.com",
        "roles.1.people.0.name": "Mara",
        "roles.1.people.0.email": "mara",
    }
    values = {"values.0.label": "City", "values.0.value": "Bern", "title": "Your lease", "expires_days": "7"}
    async with owner(office.api) as client:
        page = await client.get(path)
        form = {**people, **values, "once": once(page), "body": "Hello", "remind_after": "2"}
        wrong = await client.post(path, data=form)
        assert (wrong.status_code, "Not an e-mail address" in words(wrong)) == (400, True)
        assert 'name="roles.0.people.1.email" type="email" value="ben@example.com"' in wrong.text
        lone = await client.post(path, data={**form, "roles.1.people.0.name": "", "roles.1.people.0.email": ""})
        assert "Landlord is missing" in words(lone)
        form["roles.1.people.0.email"] = "mara@example.com"
        sent = went(await client.post(path, data=form))
        assert went(await client.post(path, data=form)) == sent
        kept = went(await client.post(path, data={**form, "act": "draft"}))
    documents = {one["id"]: one for one in (await office.api.get("/api/v1/documents")).json()["documents"]}
    assert len(documents) == 2
    made = documents[sent.removeprefix("/app/documents/").partition("?")[0]]
    assert (made["status"], made["title"], made["source"]) == ("sent", "Your lease", "template")
    assert [[one["name"] for one in party["signers"]] for party in made["parties"]] == [["Ann", "Ben"], ["Mara"]]
    assert made["reminders"]["first_after_hours"] == 48
    whole = await office.document(made["id"])
    assert [one["default"] for one in whole["fields"] if one["label"] == "City"] == ["Bern"]
    assert documents[kept.removeprefix("/app/documents/").partition("?")[0]]["status"] == "draft"


@pytest.mark.one_database
async def test_changing_a_template_leaves_sent_documents_as_they_were(office: Office) -> None:
    template = await create(office, fields=[CITY])
    document = await make(office, template, values={"City": "Bern"}, send=True)
    before = await office.document(document["id"])
    path = f"/app/templates/{template['id']}"
    async with owner(office.api) as client:
        same = {"name": "Lease", "roles.0.name": "Tenant", "roles.0.was": "Tenant", "roles.0.order": "1"}
        assert went(await client.post(f"{path}/edit", data=same)) == f"{path}?done=same"
        renamed = {**same, "name": "Rent", "roles.0.name": "Renter", "roles.1.name": "Owner", "expires_days": "3"}
        renamed |= {"remind_after": "1", "once": once(await client.get(f"{path}/edit"))}
        wrong = await client.post(f"{path}/edit", data={**renamed, "roles.1.name": "renter"})
        assert "two are called" in words(wrong)
        assert went(await client.post(f"{path}/edit", data=renamed)) == f"{path}?done=saved"
        assert went(await client.post(f"{path}/edit", data=renamed)) == f"{path}?done=saved", "a second press"
        whole = words(await client.get(path, headers={"X-Part": "whole"}))
        assert "Can be signed for 3 days Reminders first after 1 day, then every 1 day, at most 3" in whole
        now = (await office.api.get(f"/api/v1{path.removeprefix('/app')}")).json()
        assert (now["version"], now["name"], now["expires_after_hours"]) == (2, "Rent", 72)
        assert [role["name"] for role in now["roles"]] == ["Renter", "Owner"]
        assert [(one["label"], one["party"]) for one in now["fields"]] == [("City", "Renter")]
        assert "Version 1 of 2" in shown(await client.get(f"{path}?version=1"))
        assert "City" in (await client.get(f"{path}/use")).text
    assert await office.document(document["id"]) == before
    assert (await office.sign(document, "ann", values={})).status_code in (200, 400)


async def test_fields_are_drawn_in_a_sketch_and_laid_out_as_the_next_version(office: Office) -> None:
    template = await create(office, fields=[CITY], roles=[{"name": "Tenant"}, {"name": "Landlord", "order": 2}])
    document = await make(office, template, roles={"Tenant": ann(), "Landlord": ann("ben")}, send=True)
    before = await office.document(document["id"])
    path = f"/app/templates/{template['id']}"
    async with owner(office.api) as client:
        sketch = (await client.get(f"{path}/sketch")).json()
        assert [(one["key"], one["name"]) for one in sketch["parties"]] == [("r0", "Tenant"), ("r1", "Landlord")]
        [city] = sketch["fields"]
        assert (city["key"], city["who"]) == (template["fields"][0]["id"], "r0")
        sign = {"key": "new-1", "type": "signature", "page": 2, "x": 0.1, "y": 0.2, "w": 0.3, "h": 0.06, "who": "r1"}
        depends = {"field": "City", "equals": "Bern"}
        note = {**sign, "key": "new-2", "type": "text", "y": 0.5, "who": "r1", "label": "Note", "show_if": depends}
        drawn = {"version": sketch["version"], "fields": [{**city, "x": 0.4}, sign, note]}
        kept = await client.put(f"{path}/sketch", json=drawn)
        assert (kept.status_code, kept.json()["version"]) == (200, sketch["version"] + 1)
        assert (await client.put(f"{path}/sketch", json=drawn)).status_code == 409
        assert (await office.api.get(f"/api/v1{path[4:]}")).json()["version"] == 1
        assert "Landlord 0 fields, now 2" in shown(await client.get(f"{path}/save"))
        drawn = (await client.get(f"{path}/sketch")).json()["version"]
        press = {"once": once(await client.get(f"{path}/save")), "version": str(drawn)}
        assert went(await client.post(f"{path}/save", data=press)) == f"{path}?done=saved"
        assert went(await client.post(f"{path}/save", data=press)) == f"{path}?done=saved", "a second press"
        now = (await office.api.get(f"/api/v1{path[4:]}")).json()
        assert now["version"] == 2
        assert [(one["type"], one["party"], one["x"]) for one in now["fields"]] == [
            ("text", "Tenant", 0.4),
            ("signature", "Landlord", 0.1),
            ("text", "Landlord", 0.1),
        ]
        assert now["fields"][2]["show_if"] == depends
        fresh = (await client.get(f"{path}/sketch")).json()
        same = await client.post(f"{path}/save", data={"version": str(fresh["version"])})
        assert went(same) == f"{path}?done=same"
        nobody = {"version": fresh["version"], "fields": [{**city, "who": ""}]}
        assert (await client.put(f"{path}/sketch", json=nobody)).status_code == 200
        refused = await saved(client, path)
        assert (refused.status_code, "City is nobody's" in words(refused)) == (400, True)
        assert went(await client.post(f"{path}/forget")) == f"{path}?done=forgotten"
        assert "No changes since" in shown(await client.get(f"{path}/save"))
        page = await client.get(f"{path}/fields")
        assert [f'data-key="r{number}"' in page.text for number in (0, 1, 2)] == [True, True, False]
        file_id = template["files"][0]["id"]
        assert (await client.get(f"{path}/lines/{file_id}/1")).status_code == 200
        assert (await client.get(f"{path}/lines/{file_id}/9")).status_code == 404
    assert await office.document(document["id"]) == before


async def saved(client: httpx.AsyncClient, path: str) -> httpx.Response:
    """What is answered to the form that saves what was drawn, as it stands."""
    page = await client.get(f"{path}/save")
    [version] = re.findall(r'name="version" value="(\d+)"', page.text)
    return await client.post(f"{path}/save", data={"version": version})


@pytest.mark.one_database
async def test_what_was_drawn_meanwhile_is_never_dropped(office: Office) -> None:
    template = await create(office, fields=[CITY])
    path = f"/app/templates/{template['id']}"
    async with owner(office.api) as client:
        sketch = (await client.get(f"{path}/sketch")).json()
        drawn = {"version": sketch["version"], "fields": [{**sketch["fields"][0], "x": 0.4}]}
        seen = (await client.put(f"{path}/sketch", json=drawn)).json()["version"]
        drawn = {"version": seen, "fields": [{**sketch["fields"][0], "x": 0.6}]}
        assert (await client.put(f"{path}/sketch", json=drawn)).status_code == 200
        late = await client.post(f"{path}/save", data={"version": str(seen)})
        assert (late.status_code, "changed elsewhere" in words(late)) == (409, True)
        office.api.clock.forward(5)
        form = {"name": "Rent", "roles.0.name": "Tenant", "roles.0.was": "Tenant", "roles.0.order": "1"}
        assert went(await client.post(f"{path}/edit", data=form)) == f"{path}?done=saved"
        kept = (await client.get(f"{path}/sketch")).json()
        assert [one["x"] for one in kept["fields"]] == [0.6], "another name has taken what was drawn"
        renamed = await client.post(f"{path}/edit", data={**form, "roles.0.name": "Renter"})
        assert (renamed.status_code, "not saved yet" in words(renamed)) == (409, True)
        assert 'value="Renter"' in renamed.text
        assert went(await saved(client, path)) == f"{path}?done=saved"
        now = (await office.api.get(f"/api/v1{path[4:]}")).json()
        assert (now["version"], now["name"], now["fields"][0]["x"]) == (3, "Rent", 0.6)


async def test_what_is_drawn_on_an_older_version_is_refused_within_the_same_second(office: Office) -> None:
    template = await create(office, fields=[CITY])
    path = f"/app/templates/{template['id']}"
    async with owner(office.api) as client:

        async def drawn(version: int, x: float) -> httpx.Response:
            return await client.put(f"{path}/sketch", json={"version": version, "fields": [{**city, "x": x}]})

        first = (await client.get(f"{path}/sketch")).json()
        [city] = first["fields"]
        assert (await drawn(first["version"], 0.4)).status_code == 200
        assert went(await saved(client, path)) == f"{path}?done=saved"
        second = (await client.get(f"{path}/sketch")).json()["version"]
        # The clock stands still: nothing but what they say tells the versions apart.
        assert [(await drawn(stale, 0.2)).status_code for stale in (first["version"], first["version"] + 1)] == [
            409,
            409,
        ]
        assert (await drawn(second, 0.6)).status_code == 200
        assert went(await saved(client, path)) == f"{path}?done=saved"
        changed = await office.api.call("PATCH", f"/api/v1{path[4:]}", json={"name": "Rent"})
        assert (changed.status_code, changed.json()["fields"][0]["x"]) == (200, 0.6), changed.text
        assert (await drawn(second, 0.2)).status_code == 409
        versions = await office.api.rows("select version from template_versions order by version")
        assert versions == [(1,), (2,), (3,), (4,)]


@pytest.mark.one_database
async def test_other_files_keep_the_fields_that_have_a_page_in_them_and_name_the_others(
    office: Office, word_processor: Path
) -> None:
    rent = {**CITY, "label": "Rent", "page": 2}
    deposit = {**CITY, "label": "Deposit", "y": 0.7, "show_if": {"field": "Rent", "equals": "5"}}
    template = await create(office, fields=[CITY, rent, deposit])
    path = f"/app/templates/{template['id']}"
    short = pdf("One page.", size=(595, 842))
    async with owner(office.api) as client:
        assert "Replace files" in shown(await client.get(path))
        form = {"once": once(await client.get(f"{path}/files"))}
        none = await upload(client, f"{path}/files", [], **form)
        assert (none.status_code, "Choose a file." in words(none)) == (400, True)
        shut = await upload(client, f"{path}/files", [("short.pdf", locked())], **form)
        assert (shut.status_code, "short.pdf: " in words(shut)) == (400, True)
        assert went(await upload(client, f"{path}/files", [("short.pdf", short)], **form)) == f"{path}?done=saved"
        assert went(await upload(client, f"{path}/files", [("short.pdf", short)], **form)) == f"{path}?done=saved"
        now = (await office.api.get(f"/api/v1{path[4:]}")).json()
        assert (now["version"], [one["label"] for one in now["fields"]]) == (2, ["City"])
        assert "did not fit the new files and were removed: Rent, Deposit." in shown(await client.get(path))
        assert "were removed" not in shown(await client.get(f"{path}?version=1"))
        word_processor.write_bytes(short)
        assert went(await upload(client, f"{path}/files", [("lease.docx", docx("Lease"))])) == f"{path}?done=saved"
        async with asyncio.timeout(60):
            while (now := (await office.api.get(f"/api/v1{path[4:]}")).json())["status"] == "processing":
                await asyncio.sleep(0.05)
        assert (now["status"], [one["label"] for one in now["fields"]]) == ("ready", ["City"]), now["error"]
        assert "were removed" not in shown(await client.get(path))
        sketch = (await client.get(f"{path}/sketch")).json()
        drawn = {"version": sketch["version"], "fields": []}
        assert (await client.put(f"{path}/sketch", json=drawn)).status_code == 200
        unsaved = await upload(client, f"{path}/files", [("short.pdf", short)])
        assert (unsaved.status_code, "not saved yet" in words(unsaved)) == (409, True)


def ann(name: str = "ann") -> dict[str, str]:
    return {"name": name.title(), "email": f"{name}@example.com"}


def test_times_are_told_in_days_where_they_are_whole_ones() -> None:
    assert [format_duration(hours) for hours in (1, 24, 36, 48)] == ["1 hour", "1 day", "36 hours", "2 days"]


def test_what_has_no_name_is_called_as_its_file() -> None:
    names = ("Lease_2026.final.pdf", "Mr. Smith lease", ".pdf", "a\u00a0 b.docx")
    assert [title_from_name(name, 400) for name in names] == ["Lease 2026.final", "Mr. Smith lease", ".pdf", "a b"]


def test_the_boxes_offer_what_can_be_converted() -> None:
    pictures = {".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff"}  # known by their bytes alone
    offered = {*ACCEPT.split(",")}
    assert pictures < offered
    assert {convert.source(f"a{ending}", b"PK\x03\x04") for ending in offered - pictures} == {"pdf", "docx", "html"}

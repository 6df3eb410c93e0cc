"""Packets by the pages: files become a draft, with people and fields, which is reviewed, sent, followed and ended."""

import io
import re
import zipfile
from pathlib import Path

import httpx
import pytest

from tests.api.search.files import pdf
from tests.api.signing.conftest import LEASE, LINK, Mailing, Office, signer
from tests.api.signing.dashboard import signed_in
from tests.api.signing.packets import ANNEX, RULES, Packets
from tests.api.signing.pages import BROWSER, once, owner, shown, upload, went, words
from tests.api.signing.test_drafting import left, named, review
from tests.api.signing.test_incoming import LOCKED, PASSWORD
from tests.api.signing.test_sketch import field
from tests.pdf.test_convert import docx

pytestmark = pytest.mark.anyio

FILES = [("Lease.pdf", LEASE), ("House_rules.pdf", RULES), ("Annex.pdf", ANNEX)]


async def begun(client: httpx.AsyncClient, *files: tuple[str, bytes], **typed: str) -> str:
    """The path of the first document of a packet of these files."""
    form = {"kind": "packet", "title": "Move", "once": once(await client.get("/app/new?as=packet")), **typed}
    return went(await upload(client, "/app/new", [*files] or FILES, **form)).removesuffix("/people")


async def test_a_packet_is_made_of_files_drawn_on_reviewed_and_sent(office: Office) -> None:
    async with owner(office.api) as client:
        assert "No packets yet." in shown(await client.get("/app/packets"))
        assert "New packet" in shown(await client.get("/app/new?as=packet"))
        first = await begun(client)
        people = named([signer("ann")], [signer("ben")])
        assert went(await client.post(f"{first}/people", data=people)) == f"{first}/fields"
        captions = re.findall(r'class="leaf" aria-label="([^"]*)"', (await client.get(f"{first}/fields")).text)
        assert captions == ["Page 1 of 2", "Page 2 of 2", "Page 1 of 1", "Page 1 of 1"]
        sketch = (await client.get(f"{first}/sketch")).json()
        ann = sketch["parties"][0]["signers"][0]["key"]
        drawn = [field(ann, "f1", type="signature", y=0.1), field(ann, "f2", file=2, label="Keys", required=False)]
        kept = await client.put(f"{first}/sketch", json={"version": sketch["version"], "fields": drawn})
        assert kept.status_code == 200, kept.text
        [packet] = (await office.api.get("/api/v1/packets")).json()["packets"]
        other = f"/app/documents/{packet['documents'][1]['id']}"
        assert (await client.get(f"{other}/sketch")).json()["version"] == kept.json()["version"], "one for all"
        page = shown(await client.get(f"{first}/review"))
        assert "Lease 2 pages · 1 field House rules 1 page · 0 fields Annex 1 page · 1 field" in page
        assert "Ben ben@example.com" in page
        assert "A signature field will be added at the end of each document." in page
        view = await client.get(f"{first}/preview", params={"as": ann})
        assert (view.text.count('class="mine"'), '<h2 dir="auto">House rules</h2>' in view.text) == (2, True)
        assert await left(office.api) == [[(0,)], [(0,)]]
        path = f"/app/packets/{packet['id']}"
        wanted = await review(client, first, days="30", body="Thanks")
        assert went(await client.post(f"{first}/review", data=wanted)) == f"{path}?done=changed"
        documents = [await office.document(one["id"]) for one in packet["documents"]]
        names = {one["id"]: one["name"] for party in documents[0]["parties"] for one in party["signers"]}
        assert [[(one["type"], names[one["signer"]]) for one in each["fields"]] for each in documents] == [
            [("signature", "Ann"), ("signature", "Ben")],
            [("signature", "Ben")],
            [("text", "Ann"), ("signature", "Ben")],
        ], "whoever has no place in any document has one in each"
        now = (await office.api.get(f"/api/v1/packets/{packet['id']}")).json()
        assert (now["expires_after_hours"], now["message"]["body"]) == (720, "Thanks")
        draft = shown(await client.get(f"{path}?done=changed"))
        assert [one in draft for one in ("Review and send", "Lease Lease.pdf Draft", "Saved.")] == [True] * 3
        form = await review(client, first)
        assert went(await client.post(f"{first}/send", data=form)) == f"{path}?done=sent"
        assert went(await client.post(f"{first}/send", data=form)) == f"{path}?done=sent", "a second press"
        assert [one["source"] for one in documents] == ["dashboard"] * 3
        assert "Withdraw" in words(await client.get(path, headers={"X-Part": "standing"}))
        await _followed(client, path)


async def _followed(client: httpx.AsyncClient, path: str) -> None:
    """What is done with a packet that was sent."""
    page = await client.get(path)
    told = shown(page)
    assert "Waiting for Ann since today" in told
    assert "Ann ann@example.com Asked to sign" in told
    press = {"once": once(page)}
    assert went(await client.post(f"{path}/remind", data=press)) == f"{path}?done=reminded"
    assert went(await client.post(f"{path}/remind", data=press)) == f"{path}?done=reminded"
    assert once(await client.get(path)) != press["once"]
    soon = await client.post(f"{path}/remind", data={"once": once(await client.get(path))})
    assert (soon.status_code, "reminded within the last hour" in words(soon)) == (429, True)
    with zipfile.ZipFile(io.BytesIO((await client.get(f"{path}/packet.zip")).content)) as packed:
        assert len(packed.namelist()) == 3
    assert (await client.get(f"{path}/certificate.pdf")).status_code == 409
    without = await client.post(f"{path}/withdraw", data={"reason": " "})
    assert (without.status_code, "Give a reason of at most" in words(without)) == (400, True)
    assert went(await client.post(f"{path}/withdraw", data={"reason": "Wrong flat"})) == f"{path}?done=withdrawn"
    assert "Withdrawn" in shown(await client.get(path))
    assert "Move 3 documents" in shown(await client.get("/app/packets?q=mov"))


@pytest.mark.one_database
async def test_files_of_a_packet_are_refused_and_opened_each_by_itself(office: Office) -> None:
    files = [("Lease.pdf", LEASE), ("Secret.pdf", LOCKED), ("notes.xyz", b"hello")]
    async with owner(office.api) as client:
        client.headers["Accept"] = "application/json"
        told = (await upload(client, "/app/new", files, kind="packet")).json()["files"]
        assert {at: one["code"] for at, one in told.items()} == {"1": "locked", "2": "refused"}
        assert await office.api.rows("select count(*) from documents") == [(0,)]
        client.headers.update(BROWSER)
        first = await begun(client, *files[:2], **{"unlock.1": PASSWORD})
        assert (await client.post(f"{first}/people", data=named([signer("ann")]))).status_code == 303
        locked = await client.post(f"{first}/send", data=await review(client, first))
        assert (locked.status_code, 'name="unlock.1"' in locked.text) == (400, True), "asked for once more"
        assert "Secret.pdf Enter the password again" in words(locked)
        opened = {"unlock.1": PASSWORD}
        assert went(await client.post(f"{first}/send", data=await review(client, first) | opened))
        [packet] = (await office.api.get("/api/v1/packets")).json()["packets"]
        packets = Packets(office.api)
        assert (await packets.sign(packet, "ann")).status_code == 200
        sealed = await packets.reached(packet, "completed")
        assert [one["title"] for one in sealed["documents"]] == ["Lease", "Secret"]


async def test_what_documents_of_a_packet_bring_along_is_drawn_once_they_are_converted(
    office: Office, word_processor: Path
) -> None:
    tagged = pdf("{{signature:Tenant}} {{text:Tenant:Rent}}", size=(595, 842))
    async with owner(office.api) as client:
        first = await begun(client, ("Lease.pdf", tagged), ("Rules.docx", docx("Rules")))
        assert "still being converted" in shown(await client.get(f"{first}/fields"))
        sketch = (await client.get(f"{first}/sketch")).json()
        [tenant] = sketch["parties"]
        rows = named([{"key": tenant["signers"][0]["key"], **signer("ann")}], [signer("ben")])
        rows |= {"parties.0.key": tenant["key"], "parties.0.name": "Tenant"}
        assert (await client.post(f"{first}/people", data=rows)).status_code == 303
        early = await client.post(f"{first}/send", data=await review(client, first))
        assert (early.status_code, "still being converted" in words(early)) == (409, True)
        word_processor.write_bytes(pdf("{{signature:Tenant}} {{signature:Landlord}}", size=(595, 842)))
        [packet] = (await office.api.get("/api/v1/packets")).json()["packets"]
        await Packets(office.api).reached(packet, "draft")
        sketch = (await client.get(f"{first}/sketch")).json()
        assert [one["name"] for one in sketch["parties"]] == ["Tenant", "Ben", "Landlord"], "one Tenant for both"
        assert [(one["file"], one["type"], one["who"]) for one in sketch["fields"]] == [
            (0, "signature", tenant["signers"][0]["key"]),
            (0, "text", tenant["signers"][0]["key"]),
            (1, "signature", tenant["signers"][0]["key"]),
            (1, "signature", sketch["parties"][2]["signers"][0]["key"]),
        ]
        assert (await client.get(f"{first}/fields")).text.count('class="paper"') == 2


@pytest.mark.one_database
async def test_a_packet_of_the_api_is_drawn_on_with_the_ids_it_has_and_its_sketch_goes_with_a_change(
    office: Office,
) -> None:
    packets = Packets(office.api)
    packet = await packets.create()
    async with owner(office.api) as client:
        path = f"/app/documents/{packet['documents'][2]['id']}/sketch"
        sketch = (await client.get(path)).json()
        documents = [await office.document(one["id"]) for one in packet["documents"]]
        assert [one["key"] for one in sketch["fields"]] == [one["id"] for each in documents for one in each["fields"]]
        assert [one["file"] for one in sketch["fields"]][-1] == 2
        there = sketch["fields"][-1]
        moved = [*sketch["fields"][:-1], {**there, "y": 0.5}]
        kept = await client.put(path, json={"version": sketch["version"], "fields": moved})
        assert kept.status_code == 200, kept.text
        assert went(await client.post(f"{path[:-7]}/review", data=await review(client, path[:-7])))
        annex = await office.document(documents[2]["id"])
        assert [(one["id"], one["y"]) for one in annex["fields"]] == [(there["key"], 0.5)]
        assert (await office.document(documents[1]["id"]))["fields"] == [], "who signs elsewhere reads it still"
        kept = (await client.get(path)).json()
        assert (await client.put(path, json={"version": kept["version"], "fields": []})).status_code == 200
        changed = await packets.change(packet, parties=(await packets.now(packet))["parties"][:1])
        assert changed.status_code == 400, "its fields name the landlord"
        assert await office.api.rows("select count(*) from sketches") == [(1,)]
        people = (await packets.now(packet))["parties"]
        people[0]["signers"][0]["name"] = "Anna"
        assert (await packets.change(packet, parties=people)).status_code == 200
        assert await office.api.rows("select count(*) from sketches") == [(0,)]


@pytest.mark.one_database
async def test_a_packet_s_events_stand_in_order_each_once(office: Office) -> None:
    packets = Packets(office.api)
    packet = await packets.create(send=True)
    await packets.sign(packet, "ann")
    await packets.sign(packet, "bob")
    async with owner(office.api) as client:
        told = shown(await client.get(f"/app/packets/{packet['id']}")).partition("Activity")[2]
    said = [
        "Document created",
        "Sent",
        "Ann was asked to sign",
        "Ann signed",
        "Bob signed",
        "Eve was asked to sign",
    ]
    places = [told.index(one) for one in said]
    assert places == sorted(places)
    assert [told.count(one) for one in ("Ann signed", "Document created")] == [1, 1], "what concerns all stands once"


async def test_packet_page_corrects_a_signer_links_and_terms(mailing: Mailing) -> None:
    packets = Packets(mailing.api)
    packet = await packets.create(send=True)
    await mailing.read(LINK, "ann", "Papers for a move")
    async with signed_in(mailing.api) as client:
        path = f"/app/packets/{packet['id']}"
        [row] = re.findall(rf'href="({path}/signers/[^"]+)" dir="auto">Ann<', (await client.get(path)).text)
        beside = shown(await client.get(f"/app/documents/{packet['documents'][0]['id']}"))
        assert "Send reminders, edit and withdraw on the packet's page: Open the packet" in beside
        person = await client.get(row)
        assert [f'action="{row}{one}"' in person.text for one in ("", "/link", "/in-person")] == [True] * 3
        right = {"name": "Ann", "email": "wrong@", "language": "en", "once": once(person)}
        wrong = await client.post(row, data=right)
        assert (wrong.status_code, 'id="email-error"' in wrong.text) == (400, True)
        long = await client.post(row, data={**right, "name": "Anna " * 39, "email": "ann@example.com"})
        assert (long.status_code, 'id="name-error"' in long.text) == (400, True)
        assert went(await client.post(row, data={**right, "email": "new@example.com"})) == f"{path}?done=corrected"
        assert (await packets.now(packet))["parties"][0]["signers"][0]["email"] == "new@example.com"
        assert await mailing.read(LINK, "new", "Papers for a move"), "invited at the right address"
        trails = [await mailing.api.get(f"/api/v1/documents/{one['id']}/audit") for one in packet["documents"]]
        assert ["signer.corrected" in each.text for each in trails] == [True] * 3
        made = await client.post(f"{row}/link")
        assert re.search(r"/s/deed_sign_\w+", made.text)
        terms = {"expires_at": "2031-01-01T10:00", "reminds": "yes", "first": "1", "every": "2", "max": "4"}
        assert went(await client.post(f"{path}/terms", data=terms)) == f"{path}?done=changed"
        now = await packets.now(packet)
        assert (now["expires_at"], now["reminders"]["max"]) == ("2031-01-01T10:00:00Z", 4)
        past = await client.post(f"{path}/terms", data={**terms, "expires_at": "2001-01-01T10:00"})
        assert (past.status_code, 'value="2001-01-01T10:00"' in past.text) == (400, True)


async def test_completed_packet_page_offers_every_sealed_file(office: Office) -> None:
    packets = Packets(office.api)
    packet = await packets.create(send=True)
    for name in ("ann", "bob", "eve"):
        await packets.sign(packet, name)
    await packets.approve(packet, "kim")
    await packets.reached(packet, "completed")
    async with owner(office.api) as client:
        path = f"/app/packets/{packet['id']}"
        page = (await client.get(path)).text
        sealed = [f"/app/documents/{one['id']}/signed.pdf" for one in packet["documents"]]
        for one in (f"{path}/packet.zip", f"{path}/certificate.pdf", *sealed):
            assert f'href="{one}"' in page
            assert (await client.get(one)).status_code == 200


@pytest.mark.one_database
async def test_people_of_a_document_without_their_fields_are_shown(office: Office) -> None:
    packets = Packets(office.api)
    packet = await packets.create(send=True)
    assert (await packets.sign(packet, "ann")).status_code == 200
    lease, rules, _ = packet["documents"]
    async with owner(office.api) as client:
        assert re.search(
            r"Ann ann@example.com .{0,40}?Signed", shown(await client.get(f"/app/documents/{lease['id']}"))
        )
        page = shown(await client.get(f"/app/documents/{rules['id']}"))
        assert re.search(r"Ann ann@example.com .{0,40}?Shown", page), page
        rows = (await client.get("/app/documents")).text
        assert re.search(r"Ann\W{1,3}Shown", rows), rows


async def test_a_draft_is_deleted(office: Office) -> None:
    packet = await Packets(office.api).create()
    async with owner(office.api) as client:
        path = f"/app/packets/{packet['id']}"
        press = {"once": once(await client.get(path))}
        assert went(await client.post(f"{path}/delete", data=press)) == "/app/packets?done=deleted"
        assert went(await client.post(f"{path}/delete", data=press)) == "/app/packets?done=deleted", "a second press"
        assert (await client.get(path)).status_code == 404

"""Packets by the pages: files and people become a draft, which is looked through, sent, followed and ended."""

import io
import zipfile
from typing import Any

import pytest

from tests.api.signing.conftest import LEASE, Office
from tests.api.signing.packets import ANNEX, RULES, Packets
from tests.api.signing.pages import BROWSER, once, owner, shown, upload, went, words

pytestmark = pytest.mark.anyio

FILES = [("Lease.pdf", LEASE), ("Rules.pdf", RULES), ("Annex.pdf", ANNEX)]
PEOPLE: dict[str, Any] = {
    "people.0.name": "Ann",
    "people.0.email": "ann@example.com",
    "people.0.order": "1",
    "people.2.name": "Ben",
    "people.2.email": "ben@example.com",
    "people.2.order": "2",
    "people.3.order": "3",
}


async def test_a_packet_is_made_looked_through_and_sent(office: Office) -> None:
    async with owner(office.api) as client:
        assert "No packet yet." in shown(await client.get("/app/packets"))
        form = {"title": "Move", "once": once(await client.get("/app/packets/new")), **PEOPLE}
        bare = await upload(client, "/app/packets/new", [], **form)
        assert (bare.status_code, "Choose the files." in words(bare)) == (400, True)
        lone = await upload(client, "/app/packets/new", FILES, title="Move")
        assert "Fill this in." in words(lone)
        wrong = await upload(client, "/app/packets/new", FILES, **form | {"people.2.email": "ben"})
        assert "Not an e-mail address." in words(wrong)
        assert 'name="people.1.name" value="Ben"' in wrong.text, "rows are numbered without the empty ones"
        client.headers["Accept"] = "application/json"
        script = await upload(client, "/app/packets/new", [], **form | {"people.2.email": "ben"})
        assert script.json()["wrong"] == {"people.1.email": "Not an e-mail address.", "file": "Choose the files."}
        client.headers.update(BROWSER)
        path = went(await upload(client, "/app/packets/new", FILES, **form)).partition("?")[0]
        draft = shown(await client.get(f"{path}?done=drafted"))
        assert "Nothing leaves before you press Send." in draft
        assert ["Send to 2 people" in draft, "Lease Lease.pdf Draft" in draft] == [True, True]
        assert await office.api.rows("select 1 from mails") == []
        acts = await client.get(path, headers={"X-Part": "acts"})
        assert "Send to 2 people" in words(acts), "the acts follow without a reload"
        press = {"once": once(acts)}
        assert went(await client.post(f"{path}/send", data=press)) == f"{path}?done=sent"
        assert went(await client.post(f"{path}/send", data=press)) == f"{path}?done=sent", "a second press"
        assert "Withdraw" in words(await client.get(path, headers={"X-Part": "acts"}))
        page = await client.get(path)
        told = shown(page)
        assert "Waiting for Ann since today" in told
        assert "Ann ann@example.com Their turn" in told
        [packet] = (await office.api.get("/api/v1/packets")).json()["packets"]
        assert [f"/app/documents/{one['id']}" in page.text for one in packet["documents"]] == [True] * 3
        press = {"once": once(page)}
        assert went(await client.post(f"{path}/remind", data=press)) == f"{path}?done=reminded"
        assert went(await client.post(f"{path}/remind", data=press)) == f"{path}?done=reminded"
        assert once(await client.get(path)) != press["once"]
        soon = await client.post(f"{path}/remind", data={"once": once(await client.get(path))})
        assert (soon.status_code, "reminded within the last hour" in words(soon)) == (429, True)
        with zipfile.ZipFile(io.BytesIO((await client.get(f"{path}/packet.zip")).content)) as packed:
            assert len(packed.namelist()) == 3
        assert (await client.get(f"{path}/certificate.pdf")).status_code == 409
        without = await client.post(f"{path}/void", data={"reason": " "})
        assert (without.status_code, "Reason: Fill this in." in words(without)) == (400, True)
        assert went(await client.post(f"{path}/void", data={"reason": "Wrong flat"})) == f"{path}?done=voided"
        assert "Withdrawn" in shown(await client.get(path))
        assert "Move 3 documents" in shown(await client.get("/app/packets?q=mov"))


@pytest.mark.one_database
async def test_a_packet_s_events_stand_in_order_each_once(office: Office) -> None:
    packets = Packets(office.api)
    packet = await packets.create(send=True)
    await packets.sign(packet, "ann")
    await packets.sign(packet, "bob")
    async with owner(office.api) as client:
        told = shown(await client.get(f"/app/packets/{packet['id']}")).partition("What happened")[2]
    said = [
        "Document made",
        "Sent",
        "Ann asked to sign",
        "Ann signed",
        "Bob signed",
        "Eve asked to sign",
    ]
    places = [told.index(one) for one in said]
    assert places == sorted(places)
    assert [told.count(one) for one in ("Ann signed", "Document made")] == [1, 1], "what concerns all stands once"


@pytest.mark.one_database
async def test_a_draft_is_deleted(office: Office) -> None:
    packet = await Packets(office.api).create()
    async with owner(office.api) as client:
        path = f"/app/packets/{packet['id']}"
        assert went(await client.post(f"{path}/delete")) == "/app/packets?done=deleted"
        assert (await client.get(path)).status_code == 404

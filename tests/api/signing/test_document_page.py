"""The page of a document: a sentence for each state, its people, its timeline with the chain, and what can be done."""

import asyncio
import re
from datetime import timedelta
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pytest

import deedbox
from deedbox.i18n.dashboard import WORDS
from deedbox.kernel import limits
from deedbox.signing.completion import verify_sealed
from deedbox.web import limits as web_limits
from deedbox.web.dashboard import device, initials
from tests.api.conftest import opened
from tests.api.signing.conftest import Office, signer
from tests.api.signing.dashboard import signed_in
from tests.api.signing.packets import three
from tests.api.signing.test_papers import sent_as
from tests.conftest import HandClock
from tests.pdf.test_convert import docx

pytestmark = pytest.mark.anyio


def place(document: Any) -> str:
    return f"/app/documents/{document['id']}"


def person(document: Any, name: str) -> str:
    """The page of someone of the document."""
    people = [one for party in document["parties"] for one in party["signers"]]
    [signer_id] = [one["id"] for one in people if one["email"].startswith(f"{name}@")]
    return f"{place(document)}/signers/{signer_id}"


async def sentence(client: httpx.AsyncClient, document: Any) -> str:
    page = await client.get(place(document))
    assert page.status_code == 200, page.text
    assert "As API" in page.text
    found = re.search(r'<p class="sentence" dir="auto">(.*?)</p>', page.text)
    assert found
    return unescape(found[1])


async def follows_until_there_are_pages(client: httpx.AsyncClient, word: Any, ready: Any) -> None:
    """While files are being prepared, the page and the editor look every second, and go on by themselves."""
    assert re.search(r'data-live="pages">\s*<p class="small" data-live-busy>', (await client.get(place(word))).text)
    part, waits = {"X-Part": "converting"}, await client.get(f"{place(word)}/fields")
    assert (waits.status_code, "still being converted" in waits.text) == (200, True)
    assert "data-live-busy" in (await client.get(f"{place(word)}/fields", headers=part)).text
    assert (await client.get(f"{place(ready)}/fields", headers=part)).status_code == 409, "so the page is loaded anew"


async def test_every_state_has_its_sentence(
    database_url: str, tmp_path: Path, clock: HandClock, word_processor: Path
) -> None:
    async with opened(database_url, tmp_path, clock) as api:
        await api.settle()
        office = Office(api)
        draft, sent = await office.create(), await office.create(send=True)
        ended = {name: await office.create(send=True) for name in ("declined", "voided", "expired")}
        owners = {"name": "Owners", "rule": "any", "signers": [signer("ann"), signer("ben")]}
        both = await office.create(signers=[], parties=[owners], send=True)
        word = await office.create(file=sent_as("lease.docx", docx("Lease")))
        signed = await office.create(send=True)
        assert (await office.sign(signed, "ann")).status_code == 200
        async with office.session(ended["declined"], "ann") as browser:
            assert (await browser.post("/decline", json={"reason": "Too dear"})).status_code == 200
        await api.post(f"/api/v1/documents/{ended['voided']['id']}/void", {"reason": "Two of them"})
        when = {"expires_at": (clock.now() + timedelta(hours=1)).isoformat()}
        assert (await api.call("PATCH", f"/api/v1/documents/{ended['expired']['id']}", json=when)).status_code == 200
        async with signed_in(api) as client:
            assert await sentence(client, draft) == "This is a draft. Nobody has been asked to sign yet."
            assert await sentence(client, sent) == "Waiting for Ann since today"
            assert await sentence(client, both) == "Waiting for Ann or Ben since today"
            assert await sentence(client, word) == "The files are being prepared. This takes a moment."
            await follows_until_there_are_pages(client, word, draft)
            assert await sentence(client, signed) == "Everyone has signed. The document is being sealed."
            assert await sentence(client, ended["declined"]) == "Ann declined to sign today."
            assert "Too dear" in (await client.get(place(ended["declined"]))).text
            assert await sentence(client, ended["voided"]) == "Withdrawn today. Nobody can sign it any more."
            word_processor.write_bytes(b"no pdf at all")
            await api.deedbox.start()
            try:
                await office.completed(signed)
                async with asyncio.timeout(60):
                    while (await office.document(word["id"]))["status"] == "processing":
                        await asyncio.sleep(0.05)
            finally:
                await api.deedbox.stop()
            assert "The files could not be turned into a document: lease.docx" in await sentence(client, word)
            sealed = "Completed today: everyone has signed, and the document is sealed."
            assert await sentence(client, signed) == sealed
            clock.forward(3 * 86400)
            weekday = (clock.now() - timedelta(days=3)).strftime("%A")
            assert await sentence(client, sent) == f"Waiting for Ann since {weekday}"
            assert await sentence(client, ended["expired"]) == "Expired today, before everyone had signed."
            clock.forward(7 * 86400)
            day = clock.now() - timedelta(days=10)
            assert (await sentence(client, signed)).startswith(f"Completed on {day.day} {day:%B %Y}: ")


async def test_the_timeline_tells_who_did_what_from_where_and_that_the_chain_is_whole(office: Office) -> None:
    document = await office.create(send=True, signers=[signer("ann")])
    agent = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1 Version/17.4 Mobile Safari/604.1"
    async with office.api.client(address="203.0.113.9") as browser:
        browser.headers["User-Agent"] = agent
        own = (await browser.get(await office.link(document, "ann"))).headers["location"]
        assert (await browser.get(f"{own}/session")).status_code == 200
    rows = (await office.api.get(f"/api/v1/documents/{document['id']}/audit")).json()["audit"]
    async with signed_in(office.api) as client:
        page = (await client.get(place(document))).text
    assert f"All {len(rows)} entries are unchanged" in page
    assert all(row["hash"][:16] in page for row in rows)
    for said in (
        "Ann viewed the document",
        "Signing link created for Ann",
        "203.0.113.9",
        "Safari on iPhone",
        "Document created",
    ):
        assert said in page, said
    assert page.index("Ann viewed the document") < page.index("Document created"), "the newest first"


async def test_a_broken_chain_is_shown_with_its_row(office: Office) -> None:
    document = await office.create(send=True)
    rows = (await office.api.get(f"/api/v1/documents/{document['id']}/audit")).json()["audit"]
    await office.api.deedbox.db.write(
        lambda tx: tx.run(
            "update audit set at = '2020-01-01T00:00:00Z' where document_id = :id and number = 2", id=document["id"]
        )
    )
    async with signed_in(office.api) as client:
        page = (await client.get(place(document))).text
        assert "The chain is broken at entry 2" in page
        assert page.count("Changed after it was written") == 1
        assert page.count('class="broken"') == 1
        part = await client.get(place(document), headers={"X-Part": "timeline"})
        assert "The chain is broken at entry 2" in part.text
    assert len(rows) > 2


async def test_rows_that_were_cut_off_after_the_seal_are_missed(office: Office) -> None:
    document = await office.sealed()
    await office.api.deedbox.db.write(
        lambda tx: tx.run("delete from audit where document_id = :id and number > 2", id=document["id"])
    )
    async with signed_in(office.api) as client:
        assert "Entries are missing at the end" in (await client.get(place(document))).text


async def test_a_long_timeline_comes_in_pages_and_is_checked_whole(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web_limits, "TIMELINE_ROWS", 2)
    document = await office.create(send=True)
    async with signed_in(office.api) as client:
        first = (await client.get(place(document))).text
        second = (await client.get(f"{place(document)}?before=2")).text
    assert ("Ann was asked to sign" in first, "Document created" in first) == (True, False)
    assert f'href="{place(document)}?before=2"' in first
    assert ("Document created" in second, "Older" in second) == (True, False)


async def test_void_asks_why_and_tells_it(office: Office) -> None:
    document = await office.create(send=True)
    path = f"{place(document)}/withdraw"
    async with signed_in(office.api) as client:
        page = (await client.get(place(document))).text
        assert ("Reason (shown to everyone who was asked)" in page, 'name="reason"' in page) == (True, True)
        for reason in ("", "  ", "x" * (limits.REASON_CHARS + 1)):
            refused = await client.post(path, data={"reason": reason})
            assert (refused.status_code, "Give a reason of at most" in refused.text) == (400, True)
            assert reason.strip() in refused.text
        assert (await office.document(document["id"]))["status"] == "sent"
        done = await client.post(path, data={"reason": "Wrong rent"})
        assert (done.status_code, done.headers["location"]) == (303, f"{place(document)}?done=withdrawn")
        after = (await client.get(done.headers["location"])).text
        assert ("Withdrawn. No mail server is set" in after, "Wrong rent" in after) == (True, True)
        again = await client.post(path, data={"reason": "Wrong rent"})
        assert (again.status_code, "was voided" in again.text) == (409, True)
    assert (await office.document(document["id"]))["void"]["reason"] == "Wrong rent"


async def test_buttons_come_with_their_questions_and_pages_once_they_are_there(office: Office) -> None:
    document = await office.create()
    async with signed_in(office.api) as client:
        part = {"X-Part": "standing"}
        draft = await client.get(place(document), headers=part)
        again = await client.get(place(document), headers={**part, "If-None-Match": draft.headers["etag"]})
        assert again.status_code == 304
        assert ('data-opens="delete" hidden' in draft.text, '<dialog id="delete"' in draft.text) == (True, True)
        assert (await office.api.post(f"/api/v1/documents/{document['id']}/send")).status_code == 200
        sent = (await client.get(place(document), headers=part)).text
        assert ('data-opens="withdraw" hidden' in sent, '<dialog id="withdraw"' in sent) == (True, True)
        assert "delete" not in sent
        assert "/pages/1.webp" in (await client.get(place(document), headers={"X-Part": "pages"})).text


@pytest.mark.parametrize(
    ("name", "letters"),
    [("Ana María Núñez", "AN"), ("ann", "A"), ("Ann Lee", "AL"), ("王小明", "王"), ("Ben (ACME)", "BA"), ("", "?")],
)
def test_a_dot_has_the_letters_of_the_first_and_the_last_word(name: str, letters: str) -> None:
    assert initials.initials(name) == letters


async def test_those_whose_turn_it_is_are_reminded_once_an_hour(office: Office) -> None:
    document = await office.create(send=True, signers=[signer("ann"), signer("ben")])
    async with signed_in(office.api) as client:
        assert "Remind 2 people" in (await client.get(place(document))).text
        path = f"{place(document)}/remind"
        assert (await client.post(path)).headers["location"] == f"{place(document)}?done=reminded"
        office.api.clock.forward(60)
        soon = await client.post(path)
        assert (soon.status_code, "You can send another reminder in 59 minutes." in soon.text) == (429, True)
        # The form's own address answers no GET: the page names the one that does.
        assert f'<body class="desk" data-page="{place(document)}">' in soon.text
        assert "data-page" not in (await client.get(f"{place(document)}?before=2")).text
    acts = [row["act"] for row in (await office.api.get(f"/api/v1/documents/{document['id']}/audit")).json()["audit"]]
    assert acts.count("signer.reminded") == 2


async def test_someone_who_has_not_acted_is_corrected_and_what_is_wrong_is_said_beside_it(office: Office) -> None:
    document = await office.create(send=True, signers=[signer("ann"), signer("ben")])
    path = person(document, "ann")
    async with signed_in(office.api) as client:
        assert 'value="ann@example.com"' in (await client.get(path)).text
        wrong = await client.post(path, data={"name": "Anna", "email": "nowhere", "language": "de"})
        assert (wrong.status_code, 'value="nowhere"' in wrong.text, 'value="Anna"' in wrong.text) == (400, True, True)
        assert 'id="email-error"' in wrong.text
        empty = await client.post(path, data={"name": " ", "email": "a@b.example", "language": "de"})
        assert 'id="name-error"' in empty.text
        long = await client.post(path, data={"name": "Anna " * 39, "email": "ann@example.com", "language": "de"})
        assert (long.status_code, 'id="name-error"' in long.text, "Make it at least" in long.text) == (400, True, True)
        right = await client.post(path, data={"name": "Anna", "email": "anna@example.com", "language": "de"})
        assert right.headers["location"] == f"{place(document)}?done=corrected"
        found = (await office.document(document["id"]))["parties"][0]["signers"][0]
        assert (found["name"], found["email"], found["language"]) == ("Anna", "anna@example.com", "de")
        assert (await office.sign(document, "anna")).status_code == 200
        late = await client.get(path)
        assert ("details cannot be edited" in late.text, 'name="email"' in late.text) == (True, False)


async def test_a_signing_link_is_shown_once_and_the_timeline_names_who_made_it(office: Office) -> None:
    document = await office.create(send=True)
    async with signed_in(office.api) as client:
        made = await client.post(f"{person(document, 'ann')}/link")
        assert made.status_code == 200
        assert "Anyone with the link can act for Ann" in made.text
        found = re.search(r'value="[^"]*(/s/deed_sign_[\w-]+)"', made.text)
        assert found
        assert found[1] not in (await client.get(person(document, "ann"))).text
        timeline = (await client.get(place(document))).text
        assert "Signing link created for Ann" in timeline
        async with office.api.client() as browser:
            assert (await browser.get(found[1])).status_code == 303
        assert "Mara" in timeline
    async with signed_in(office.api, "viewer", "vic@example.com") as viewer:
        assert (await viewer.post(f"{person(document, 'ann')}/link")).status_code == 403


async def test_expiry_and_reminders_are_changed_and_kept_as_typed_where_they_cannot_be(office: Office) -> None:
    document = await office.create(send=True)
    path, until = f"{place(document)}/terms", office.api.clock.now() + timedelta(days=9)
    form = {"expires_at": f"{until:%Y-%m-%dT%H:%M}", "reminds": "yes", "first": 5, "every": 6}
    async with signed_in(office.api) as client:
        assert (await client.post(path, data={**form, "max": 2})).headers["location"].endswith("?done=changed")
        found = await office.document(document["id"])
        assert found["expires_at"] == f"{until:%Y-%m-%dT%H:%M}:00Z"
        assert found["reminders"] == {"first_after_hours": 120, "every_hours": 144, "max": 2, "at_night": False}
        page = (await client.get(place(document))).text
        assert f'value="{until:%Y-%m-%dT%H:%M}"' in page
        past = await client.post(path, data={**form, "max": 2, "expires_at": "2001-01-01T00:00"})
        assert (past.status_code, 'value="2001-01-01T00:00"' in past.text) == (400, True)
        assert 'id="expires_at-error"' in past.text
        many = await client.post(path, data={**form, "max": 1000})
        assert (many.status_code, 'id="max-error"' in many.text, 'value="1000"' in many.text) == (400, True, True)
        assert (await client.post(path, data={**form, "max": 2})).status_code == 303, "nothing differs"
        assert (await client.post(path, data={"expires_at": ""})).status_code == 303
        found = await office.document(document["id"])
        assert (found["expires_at"], found["reminders"]) == (None, None)


async def test_a_draft_leads_to_its_next_step_and_can_be_deleted(office: Office) -> None:
    document = await office.create()
    async with signed_in(office.api) as client:
        assert f'href="{place(document)}/people"' in (await client.get(place(document))).text
        gone = await client.post(f"{place(document)}/delete")
        assert gone.headers["location"] == "/app/documents?done=deleted"
        assert "Draft deleted." in (await client.get(gone.headers["location"])).text
        assert (await client.get(place(document))).status_code == 404


async def test_another_workspace_s_document_is_a_page_that_says_it_is_not_there(office: Office) -> None:
    other = await office.api.make_key(workspace=office.api.other_workspace)
    theirs = (await office.api.post("/api/v1/documents", office.body(title="Theirs", send=True), key=other)).json()
    async with signed_in(office.api) as client:
        for path in (place(theirs), person(theirs, "ann")):
            missing = await client.get(path)
            assert (missing.status_code, "Theirs" in missing.text) == (404, False)
            assert missing.headers["Content-Type"].startswith("text/html")
        for act in ("remind", "withdraw", "delete", "terms"):
            assert (await client.post(f"{place(theirs)}/{act}", data={"reason": "Mine"})).status_code == 404, act
        for act in ("", "/link", "/in-person"):
            data = {"name": "X", "email": "x@example.com", "language": "en"}
            assert (await client.post(f"{person(theirs, 'ann')}{act}", data=data)).status_code == 404, act


async def test_a_viewer_sees_no_button_that_they_may_not_press(office: Office) -> None:
    documents = [await office.create(), await office.create(send=True)]
    async with signed_in(office.api, "viewer") as client:
        for document in documents:
            for path in (place(document), person(document, "ann")):
                page = (await client.get(path)).text
                forms = re.findall(r'<form[^>]*method="post"[^>]*action="([^"]+)"', page)
                assert forms == ["/logout"], path
                assert "data-opens" not in page
                assert f"{place(document)}/people" not in page
        for act in ("remind", "withdraw", "delete", "terms"):
            refused = await client.post(f"{place(documents[1])}/{act}", headers={"Accept": "text/html"})
            assert (refused.status_code, "Go to Documents" in refused.text) == (403, True), act


async def test_a_document_in_a_packet_leads_to_the_packet(office: Office) -> None:
    made = (await office.api.post("/api/v1/packets", three(send=True))).json()
    document = await office.document(made["documents"][0]["id"])
    async with signed_in(office.api) as client:
        page = (await client.get(place(document))).text
        assert f'href="/app/packets/{made["id"]}"' in page
        assert f"{place(document)}/packet.zip" in page
        assert ("data-opens" in page, f"{place(document)}/remind" in page) == (False, False)
        assert "2 of 3 must sign" in page
        assert "Stage 2" in page
        refused = await client.post(f"{place(document)}/remind")
        assert (refused.status_code, made["id"] in refused.text) == (409, True)


async def test_what_people_wrote_is_shown_and_never_obeyed(office: Office) -> None:
    hostile = "<script>alert(1)</script>"
    document = await office.create(title=hostile, send=True, signers=[{**signer("ann"), "name": hostile}])
    async with signed_in(office.api) as client:
        for path in ("/app/documents", place(document), person(document, "ann")):
            page = (await client.get(path)).text
            assert (hostile in page, hostile in unescape(page)) == (False, True), path


def test_every_act_of_a_trail_has_its_words() -> None:
    """By the acts that the code records, so that none is shown by its name."""
    code = "".join(path.read_text() for path in Path(deedbox.__file__).parent.glob("signing/**/*.py"))
    acts = set(re.findall(r'record\([\w.]+, "([a-z.]+_?[a-z_]*)"', code)) | set(
        re.findall(r'"(signer\.code_\w+)"', code)
    )
    acts |= {verify_sealed.COMPLETED, verify_sealed.RESTAMPED, verify_sealed.PACKET_CERTIFIED, "document.sealing"}
    assert len(acts) > 20
    assert {act for act in acts if f"act_{act.replace('.', '_')}" not in WORDS} == set()


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        ("Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537 Chrome/120.0 Safari/537 Edg/120.0", "Edge on Windows"),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 14) AppleWebKit/605 Version/17 Safari/605", "Safari on Mac"),
        ("Mozilla/5.0 (Linux; Android 14; Pixel) AppleWebKit/537 Chrome/120.0 Mobile Safari/537", "Chrome on Android"),
        ("Mozilla/5.0 (X11; Linux x86_64; rv:121.0) Gecko/20100101 Firefox/121.0", "Firefox on Linux"),
        ("curl/8.4.0", "curl"),
        ("", ""),
    ],
)
def test_a_device_is_named_in_a_few_words(agent: str, said: str) -> None:
    assert device.describe(agent) == said

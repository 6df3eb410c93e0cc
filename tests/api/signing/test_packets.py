"""Packets through the API: one link, one consent and one act for several documents, and one end for all of them."""

import asyncio
import io
import json
import zipfile
from datetime import timedelta
from typing import Any

import pytest

from deedbox.archive import stored_zip
from deedbox.kernel.clock import instant
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import Unavailable
from deedbox.signing.actions import convert
from deedbox.signing.completion.certify import Certifier
from tests.api.signing.conftest import LEASE, Office, signer
from tests.api.signing.packets import ANNEX, RULES, Packets, file, place, three
from tests.api.signing.test_mails import mails, named
from tests.api.signing.test_mails import told as told_by_mail
from tests.conftest import HandClock
from tests.pdf.test_certificate import told
from tests.pdf.test_convert import docx

pytestmark = pytest.mark.anyio
TITLE, ALL = "Papers for a move", ("Lease", "Rules", "Annex")
SENT = [("packet.sent", TITLE), *(("document.sent", title) for title in ALL)]
SIGNED = [("document.signed", "Lease")]
BY_EVE = [("document.signed", title) for title in ("Lease", "Annex")]
"""The tenants have a field in the lease alone, the landlord in the annex as well."""


@pytest.fixture
def packets(office: Office) -> Packets:
    return Packets(office.api)


async def test_a_packet_of_three_for_two_ordered_parties_completes_as_the_contract_says(
    office: Office, packets: Packets
) -> None:
    await named(office)
    packet = await packets.create(send=True)
    assert (packet["status"], packet["progress"]["signers_total"]) == ("sent", 5)
    await _read_by_ann(packets, packet)
    assert (await packets.sign(packet, "ann")).json() == {"status": "signed", "document_status": "sent"}
    assert (await packets.sign(packet, "bob")).status_code == 200
    assert (await packets.sign(packet, "eve")).json()["document_status"] == "sent"
    assert (await packets.approve(packet, "kim")).json() == {"status": "approved", "document_status": "finalizing"}
    done = await packets.reached(packet, "completed")
    assert [one["status"] for one in done["documents"]] == ["completed"] * 3
    events, party = await packets.events(packet), ("party.completed", TITLE)
    approved = [("document.approved", title) for title in ALL]
    assert events[:13] == [*SENT, *SIGNED, *SIGNED, party, *BY_EVE, *approved, party]
    assert sorted(events[13:16]) == sorted(("document.completed", title) for title in ALL)
    assert events[16:] == [("packet.completed", TITLE)]
    await _check_files(packets, done)
    assert await told_by_mail(office) == [
        ("ann", "completion"),
        ("bob", "completion"),
        ("cem", "not_needed"),
        ("eve", "completion"),
        ("kim", "completion"),
        ("mara", "completion"),
    ]
    [mail] = [one for one in await mails(office, "completion") if one.listed.to.startswith("ann@")]
    assert len(mail.attachments) == 7, "three sealed files, their certificates, and one for all"
    [invitation] = [one for one in await mails(office, "invitation") if one.listed.to.startswith("ann@")]
    assert "Documents: Lease, Rules, Annex" in invitation.text
    await _download_by(packets, done, invitation.text)


async def _read_by_ann(packets: Packets, packet: Any) -> None:
    """One link leads through all documents, in their order."""
    async with packets.session(packet, "ann") as browser:
        session = (await browser.get("/session")).json()
        shown = session["packet"]["documents"]
        assert session["consent_text"].startswith("I agree to sign these documents electronically")
        assert [(one["title"], one["to_read"]) for one in shown] == [("Lease", False), ("Rules", True), ("Annex", True)]
        assert [one["id"] for one in session["files"]] == [file_id for one in shown for file_id in one["files"]]
        page = (await browser.get("", headers={"Accept": "text/html"})).text
        assert page.index("1. Lease") < page.index("2. Rules") < page.index("3. Annex") < page.index('name="consent"')
        assert page.count("nothing to fill in") == 4, "under the title of each, and as a step of the flow"
        assert session["consent_text"] in page
        assert (await browser.get(f"/files/{shown[1]['files'][0]}/pages/1.webp")).status_code == 200


async def _check_files(packets: Packets, done: Any) -> None:
    address = f"/api/v1/packets/{done['id']}"
    answer = await packets.api.get(f"{address}/zip")
    assert answer.headers["content-length"] == str(len(answer.content))
    with zipfile.ZipFile(io.BytesIO(answer.content)) as everything:
        assert everything.testzip() is None
        assert len(everything.namelist()) == 1 + 3 * 4
        assert everything.read("02-Rules/original/01-rules.pdf") == RULES
        certificate, sealed = everything.read("certificate.pdf"), everything.read("01-Lease/01-Lease.pdf")
        evidence = json.loads(everything.read("02-Rules/evidence.json"))
    pages = {one["name"]: one["seen_pages"] for one in evidence["signers"]}
    assert pages == {"Ann": [1], "Bob": [], "Cem": [], "Eve": [], "Kim": []}, (
        "what was served of the rules, and of nothing else"
    )
    await _check_names(packets, done)
    again = await packets.api.get(f"{address}/zip", headers={"If-None-Match": answer.headers["etag"]})
    assert again.status_code == 304
    assert (await packets.api.get(f"{address}/certificate")).content == certificate
    text = told(certificate)
    for document in done["documents"]:
        assert document["verification_code"] in text
    for name in ("ann", "bob", "cem", "eve", "kim"):
        assert text.count(f"{name}@example.com") == 1
    assert "People (5)" in text, "one of them approves"
    assert text.count("I agree to sign these documents") == 3, "one consent for each who signed"
    assert text.count("I have read these documents") == 1
    for content in (certificate, sealed):
        report = (await packets.api.call("POST", "/api/v1/verify", files={"file": ("a.pdf", content)})).json()
        assert (report["verdict"], report["document_id"]) == ("authentic", done["documents"][0]["id"])
        assert report["checks"]["known_to_us"]
        assert report["checks"]["audit_chain"]


async def _check_names(packets: Packets, done: Any) -> None:
    """No two files have one name, on no system, whatever the documents are called."""

    async def named(title: str) -> None:
        sql, first = "update documents set title = :title where id = :id", done["documents"][0]
        await packets.api.deedbox.db.write(lambda tx: tx.run(sql, title=title, id=first["id"]))

    await named("Certificate")
    content = (await packets.api.get(f"/api/v1/packets/{done['id']}/zip")).content
    with zipfile.ZipFile(io.BytesIO(content)) as everything:
        assert len({name.casefold() for name in everything.namelist()}) == 1 + 3 * 4
    await named("Lease")


async def _download_by(packets: Packets, done: Any, text: str) -> None:
    """The one link of the invitation leads to all that was sealed."""
    [path] = {word[word.index("/s/") :] for word in text.split() if "/s/deed_sign_" in word}
    async with packets.followed(path) as browser:
        with zipfile.ZipFile(io.BytesIO((await browser.get("/download")).content)) as sealed:
            assert len(sealed.namelist()) == 7
        page = (await browser.get("", headers={"Accept": "text/html"})).text
        for document in done["documents"]:
            assert f"/download?document={document['id']}" in page
            assert (await browser.get(f"/download?document={document['id']}")).content.startswith(b"%PDF")
        assert (await browser.get("/download?document=doc_other")).status_code == 404


async def test_a_decline_by_one_ends_all_documents_and_the_packet_says_so_last(packets: Packets) -> None:
    packet = await packets.create(send=True)
    await packets.sign(packet, "ann")
    answer = await packets.decline(packet, "bob")
    assert answer.json() == {"status": "declined", "document_status": "declined"}
    ended = [("document.declined", title) for title in ALL]
    assert await packets.events(packet) == [*SENT, *SIGNED, *ended, ("packet.declined", TITLE)]
    found = await packets.now(packet)
    assert (found["status"], found["decline"]["reason"]) == ("declined", "Too dear")
    assert {one["status"] for one in found["documents"]} == {"declined"}
    late = await packets.api.get(f"/api/v1/packets/{packet['id']}/certificate")
    assert (late.status_code, late.json()["error"]) == (409, "The packet is not completed: it is declined")


async def test_a_decline_that_the_party_can_do_without_ends_nothing(packets: Packets) -> None:
    parties = three()["parties"]
    parties[0]["on_decline"] = "continue_while_possible"
    packet = await packets.create(send=True, parties=parties)
    await packets.decline(packet, "bob")
    events = await packets.events(packet)
    assert events[4:] == [("document.declined", title) for title in ALL]
    assert (await packets.now(packet))["status"] == "sent"
    assert (await packets.sign(packet, "ann")).status_code == 200
    assert (await packets.sign(packet, "cem")).status_code == 200


async def test_void_expiry_and_reminders_are_for_the_whole(office: Office, packets: Packets, clock: HandClock) -> None:
    packet = await packets.create(send=True)
    assert (await packets.move(packet, "remind")).status_code == 200
    assert len(await mails(office, "reminder")) == 3, "one for each whose turn it is, not one for each document"
    voided = await packets.move(packet, "void", reason="Another flat")
    assert (voided.json()["status"], voided.json()["void"]) == ("voided", {"reason": "Another flat"})
    assert (await packets.events(packet))[4:] == [("document.voided", title) for title in ALL]
    assert (await packets.move(packet, "send")).status_code == 409
    soon = instant(clock.now() + timedelta(hours=1))
    other = await packets.create(send=True, title="Another", expires_at=soon)
    clock.forward(3601)
    found = await packets.now(other)
    assert (found["status"], {one["status"] for one in found["documents"]}) == ("expired", {"expired"})


async def test_what_belongs_to_the_packet_is_not_done_to_one_of_its_documents(packets: Packets) -> None:
    packet = await packets.create()
    document = f"/api/v1/documents/{packet['documents'][0]['id']}"
    shared = [{"message": None}, {"reminders": {"first_after_hours": 1, "every_hours": 1, "max": 1}}, {"parties": []}]
    shared[0] = {"message": {"subject": "s", "body": "b"}}
    answers = [await packets.api.post(f"{document}/{what}") for what in ("send", "void", "remind")]
    answers += [await packets.api.call("DELETE", document)]
    ann = f"signers/{packet['parties'][0]['signers'][0]['id']}"
    answers += [await packets.api.call("PATCH", f"{document}/{ann}", json={"email": "ann@example.org"})]
    answers += [await packets.api.call("PATCH", document, json=body) for body in shared]
    for answer in answers:
        assert (answer.status_code, packet["id"] in answer.json()["error"]) == (409, True), answer.text
    corrected = await packets.api.call(
        "PATCH", f"/api/v1/packets/{packet['id']}/{ann}", json={"email": "ann@example.org"}
    )
    assert (corrected.status_code, corrected.json()["email"]) == (200, "ann@example.org")
    renamed = await packets.api.call("PATCH", document, json={"title": "Lease of 4", "fields": [place("Tenants")]})
    assert renamed.status_code == 200
    assert (renamed.json()["title"], renamed.json()["packet_id"]) == ("Lease of 4", packet["id"])
    alone = await packets.api.post(f"/api/v1/packets/{packet['id']}/send")
    assert alone.status_code == 200, "the landlord signs the annex"


async def test_a_draft_is_changed_listed_sent_back_and_deleted(packets: Packets) -> None:
    packet = await packets.create(external_id="move-1", metadata={"flat": "4"})
    assert (await packets.change(packet, **packet)).json() == packet, "what is read can be written back"
    parties = packet["parties"]
    parties[0]["signers"][2]["name"] = "Cem B"
    parties[0]["quorum"] = 3
    changed = await packets.change(packet, title="Moving", parties=parties, message={"subject": "Hi", "body": "Sign"})
    assert changed.status_code == 200, changed.text
    found = changed.json()
    assert (found["title"], found["parties"][0]["quorum"]) == ("Moving", 3)
    signatures = [[field["type"] for field in one["fields"]] for one in found["documents"]]
    assert signatures == [["signature"] * 4, [], ["signature"]]
    assert (await packets.change(packet, status="sent")).status_code == 400
    for query, titles in (
        ("", ["Moving"]), ("?status=draft&q=MOV", ["Moving"]), ("?external_id=move-1", ["Moving"]),
        ("?status=sent", []), ("?q=lease", []),
    ):  # fmt: skip
        page = (await packets.api.get(f"/api/v1/packets{query}")).json()
        assert ([one["title"] for one in page["packets"]], page["has_more"]) == (titles, False)
    mine = (await packets.api.get(f"/api/v1/documents?packet_id={packet['id']}")).json()["documents"]
    assert {one["title"] for one in mine} == set(ALL)
    assert (await packets.api.call("DELETE", f"/api/v1/packets/{packet['id']}")).status_code == 204
    assert (await packets.api.get(f"/api/v1/packets/{packet['id']}")).status_code == 404
    assert (await packets.api.get("/api/v1/documents")).json()["count"] == 0


async def test_files_that_no_zip_file_holds_are_refused_before_the_first_byte(
    packets: Packets, monkeypatch: pytest.MonkeyPatch
) -> None:
    packet = await packets.create()
    monkeypatch.setattr(stored_zip, "_LARGEST", 1000)
    answer = await packets.api.get(f"/api/v1/packets/{packet['id']}/zip")
    assert (answer.status_code, "one by one" in answer.json()["error"]) == (413, True)


async def test_the_sender_sees_why_the_whole_is_not_certified(
    packets: Packets, monkeypatch: pytest.MonkeyPatch, clock: HandClock
) -> None:
    documents = [{"title": "Lease", "file": file()}]
    packet = await packets.create(documents=documents, parties=[], signers=[signer("ann")], send=True)

    async def full(*_: Any) -> Any:
        raise Unavailable("The disk is full")

    with monkeypatch.context() as broken:
        broken.setattr(Certifier, "packet_certificate", full)
        await packets.sign(packet, "ann")
        async with asyncio.timeout(90):
            while (await packets.now(packet))["error"] is None:
                await asyncio.sleep(0.05)
    found = await packets.now(packet)
    assert (found["status"], found["error"]) == ("finalizing", "Certifying has failed so far: The disk is full")
    clock.forward(3600)
    assert (await packets.reached(packet, "completed"))["error"] is None


async def test_a_lone_document_is_no_packet_and_another_workspace_s_is_not_there(
    office: Office, packets: Packets
) -> None:
    document = await office.create()
    [row] = await office.api.rows(f"select packet_id from documents where id = '{document['id']}'")
    assert document["packet_id"] is None
    assert (await packets.api.get(f"/api/v1/packets/{row[0]}")).status_code == 404
    assert (await packets.api.get("/api/v1/packets")).json()["packets"] == []
    packet = await packets.create()
    stranger = await packets.api.make_key(workspace=packets.api.other_workspace)
    assert (await packets.api.get(f"/api/v1/packets/{packet['id']}", key=stranger)).status_code == 404
    writer = await packets.api.make_key("documents:write")
    assert (await packets.api.post("/api/v1/packets", three(), key=writer)).status_code == 403


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"documents": []}, "documents"),
        ({"documents": [{"title": "A", "file": file()}] * 21}, "documents"),
        ({"documents": [{"title": "A"}]}, "documents[0]: Send exactly one of `file`, `files` and `template_id`."),
        (
            {"documents": [{"title": "A", "file": file(), "files": [file()]}]},
            "documents[0]: Send exactly one of `file`, `files` and `template_id`.",
        ),
        ({"documents": [{"title": "A", "file": file(), "fields": []}]}, "Ann has no signature field in any document"),
        ({"parties": [], "documents": [{"title": "A", "file": file()}]}, "has no signers"),
        ({"documents": [{"title": "A", "file": file(), "values": {"Rent": "9"}}]}, "Rent"),
        (
            {"documents": [{"title": "A", "file": file()}, {"file": file()}]},
            "documents[1]: Send at least one of `title` and `template_id`.",
        ),
    ],
)
async def test_a_packet_that_cannot_be_is_refused_with_its_reason(
    packets: Packets, body: dict[str, Any], said: str
) -> None:
    answer = await packets.api.post("/api/v1/packets", three(send=True, **body))
    assert (answer.status_code, said in answer.json()["error"]) == (400, True), answer.text
    assert (await packets.api.get("/api/v1/packets")).json()["count"] == 0


async def test_a_form_names_the_parts_of_each_document(packets: Packets) -> None:
    parts = [("file", ("rules.pdf", RULES)), ("file", ("annex.pdf", ANNEX)), ("file", ("lease.pdf", LEASE))]
    wanted = {"title": "Form", "signers": [signer("ann")]}
    documents = [
        {"title": "Lease", "files": [{"name": "lease.pdf"}, {"name": "annex.pdf"}]},
        {"title": "Rules", "files": [{"name": "rules.pdf"}], "fields": []},
    ]

    async def post(documents: list[dict[str, Any]]) -> Any:
        told = ("document", (None, json.dumps({**wanted, "documents": documents}).encode()))
        return await packets.api.call("POST", "/api/v1/packets", files=[told, *parts])

    made = await post(documents)
    assert made.status_code == 201, made.text
    files = [[file["name"] for file in one["files"]] for one in made.json()["documents"]]
    assert files == [["lease.pdf", "annex.pdf"], ["rules.pdf"]]
    for wrong in (documents[:1], [*documents, documents[1]], [{"title": "A", "files": [{"name": "other.pdf"}]}]):
        answer = await post(wrong)
        assert (answer.status_code, "must be one each" in answer.json()["error"]) == (400, True), answer.text


async def test_the_parts_of_a_form_are_the_documents_in_their_order_where_none_names_its_own(packets: Packets) -> None:
    async def post(*names: str) -> Any:
        documents = [{"title": "Lease"}, {"title": "Rules"}]
        told = {"title": "Form", "signers": [signer("ann")], "documents": documents}
        parts = [("file", (name, RULES)) for name in names]
        return await packets.api.call(
            "POST", "/api/v1/packets", files=[("document", (None, json.dumps(told).encode())), *parts]
        )

    made = await post("one.pdf", "one.pdf")
    assert made.status_code == 201, made.text
    assert [[file["name"] for file in one["files"]] for one in made.json()["documents"]] == [["one.pdf"], ["one.pdf"]]
    answer = await post("one.pdf", "two.pdf", "three.pdf")
    assert answer.status_code == 400
    assert answer.json()["error"] == (
        "The form has 3 parts `file` for 2 documents. Send one for each, in their order, or name in `files` of each"
        " document the parts that are its files."
    )


@pytest.mark.usefixtures("word_processor")
async def test_a_packet_with_word_documents_is_sent_when_the_last_is_converted(
    packets: Packets, word_processor: Any
) -> None:
    documents = [
        {"title": "Lease", "file": file()},
        {"title": "Word", "file": file("a.docx", docx("A"))},
        {"title": "More", "file": file("b.docx", docx("B"))},
    ]
    packet = await packets.create(documents=documents, parties=[], signers=[signer("ann")], send=True)
    assert [one["status"] for one in packet["documents"]] == ["draft", "processing", "processing"]
    assert packet["status"] == "processing"
    word_processor.write_bytes(RULES)
    sent = await packets.reached(packet, "sent")
    assert {one["status"] for one in sent["documents"]} == {"sent"}
    assert [kind for kind, _ in await packets.events(packet)] == ["packet.sent", *["document.sent"] * 3]


async def test_a_packet_that_failed_meanwhile_stays_failed_and_can_be_deleted(
    packets: Packets, word_processor: Any
) -> None:
    documents = [{"title": name, "file": file(f"{name}.docx", docx(name))} for name in ("Good", "Bad")]
    packet = await packets.create(documents=documents, parties=[], signers=[signer("ann")], send=True)
    deedbox, address = packets.api.deedbox, f"/api/v1/packets/{packet['id']}"

    async def unfinished() -> list[str]:
        sql = "select state from jobs where kind = 'convert' and state != 'done'"
        return [row[0] for row in await packets.api.rows(sql)]

    async with asyncio.timeout(90):  # it has read what it converts
        while "running" not in await unfinished():
            await asyncio.sleep(0.05)

    def fail(tx: Tx) -> None:
        with deedbox.services.action(tx, packets.api.workspace) as desk:
            found = desk.packet(packet["id"])
            convert.fail(desk, found, found.documents[1], "It is damaged.")

    await deedbox.db.write(fail)
    word_processor.write_bytes(RULES)
    async with asyncio.timeout(90):
        while await unfinished():
            await asyncio.sleep(0.05)
    found = await packets.now(packet)
    assert [one["status"] for one in found["documents"]] == ["failed", "failed"]
    assert (await packets.api.call("DELETE", address)).status_code == 204
    assert (await packets.api.get(address)).status_code == 404


async def test_a_document_of_a_packet_is_made_from_a_template_whose_roles_are_its_parties(packets: Packets) -> None:
    flat = {**place("Tenants"), "type": "text", "y": 0.5, "label": "Flat"}
    template = {
        "name": "House rules",
        "metadata": {"house": "4"},
        "file": file("rules.pdf", RULES),
        "roles": [{"name": "Tenants"}, {"name": "Landlord"}],
        "fields": [{**place("Tenants"), "x": 0.5}, place("Landlord"), flat],
    }
    made = await packets.api.post("/api/v1/templates", template)
    assert made.status_code == 201, made.text
    ready = made.json()
    documents = [
        {"title": "Lease", "file": file()},
        {"template_id": ready["id"], "values": {"Flat": "4"}, "metadata": {"a": "b"}},
    ]
    packet = await packets.create(documents=documents, send=True)
    rules = packet["documents"][1]
    assert (rules["title"], rules["template_id"], rules["status"]) == ("House rules", ready["id"], "sent")
    assert [field["default"] for field in rules["fields"] if field["type"] == "text"] == ["4"]
    parties = {party["name"]: party["id"] for party in packet["parties"]}
    assert parties["Tenants"] in {field["party"] for field in rules["fields"]}
    many = {**documents[1], "metadata": {str(number): "x" for number in range(50)}}
    answer = await packets.api.post("/api/v1/packets", three(documents=[many]))
    assert (answer.status_code, "with that of the template" in answer.json()["error"]) == (400, True), answer.text
    both = await packets.api.post("/api/v1/packets", three(documents=[{**documents[1], "file": file()}]))
    assert (both.status_code, "documents[0]: Send exactly one of" in both.json()["error"]) == (400, True)
    other = three(documents=[documents[1]], parties=[{"name": "Others", "signers": [signer("ann")]}])
    answer = await packets.api.post("/api/v1/packets", other)
    assert (answer.status_code, "Tenants" in answer.json()["error"]) == (400, True), answer.text
    gone = await packets.api.post("/api/v1/packets", three(documents=[{"template_id": "tpl_other"}]))
    assert gone.status_code == 404


async def test_who_has_no_role_in_a_template_reads_its_document_and_a_role_without_a_field_gets_a_place(
    packets: Packets,
) -> None:
    template = {"name": "House rules", "file": file("rules.pdf", RULES), "roles": [{"name": "Landlord"}]}
    ready = (await packets.api.post("/api/v1/templates", template)).json()
    documents = [{"title": "Lease", "file": file()}, {"template_id": ready["id"]}]
    packet = await packets.create(documents=documents)
    eve = packet["parties"][1]["signers"][0]["id"]
    assert [field["signer"] for field in packet["documents"][1]["fields"]] == [eve]
    async with packets.session((await packets.move(packet, "send")).json(), "ann") as browser:
        shown = (await browser.get("/session")).json()["packet"]["documents"]
    assert [one["to_read"] for one in shown] == [False, True]
    tenant = [{"name": "Tenant", "signers": [signer("ann")]}]
    answer = await packets.api.post("/api/v1/packets", three(documents=documents, parties=tenant))
    assert answer.status_code == 400
    assert answer.json()["error"] == (
        "House rules: its role Landlord is no party of the packet. Give a party this name, with its people."
    )


async def test_a_document_without_a_field_is_shown_and_not_signed(packets: Packets) -> None:
    packet = await packets.create(send=True)
    for name in ("ann", "bob", "eve"):
        assert (await packets.sign(packet, name)).status_code == 200
    assert (await packets.approve(packet, "kim")).status_code == 200
    done = await packets.reached(packet, "completed")
    _, rules, annex = done["documents"]
    await _check_said(packets, rules, {"Ann": "shown", "Bob": "shown", "Eve": "shown", "Kim": "approved"})
    await _check_said(packets, annex, {"Ann": "shown", "Bob": "shown", "Eve": "signed", "Kim": "approved"})
    whole = told((await packets.api.get(f"/api/v1/packets/{packet['id']}/certificate")).content)
    assert whole.count("Shown, not signed: Rules") == 3
    assert whole.count("Shown, not signed: Annex") == 2
    assert "Shown, not signed: Lease" not in whole
    assert whole.count("I agree to sign these documents") == 3


async def _check_said(packets: Packets, document: Any, wanted: dict[str, str]) -> None:
    """Trail, evidence, certificate and verification code say of each person what they did with this document."""
    path = f"/api/v1/documents/{document['id']}"
    trail = (await packets.api.get(f"{path}/audit?limit=100")).json()["audit"]
    parties = (await packets.api.get(path)).json()["parties"]
    people = {one["id"]: one["name"] for party in parties for one in party["signers"]}
    acts = {"shown": "document.viewed", "signed": "signer.signed", "approved": "signer.approved"}
    rows = {people[row["actor"]]: row for row in trail if row["act"] in acts.values()}
    assert {name: row["act"] for name, row in rows.items()} == {name: acts[how] for name, how in wanted.items()}
    evidence = (await packets.api.get(f"{path}/evidence")).json()
    for one in evidence["signers"]:
        how = wanted.get(one["name"])
        if how == "shown":
            claims = [one[claim] for claim in ("consent", "signed_at", "signed_sha256", "marks", "values")]
            assert (one["status"], claims) == ("shown", [None, None, None, [], {}])
            assert "consent" not in rows[one["name"]]["detail"]
        elif how:
            assert one["status"] == "signed"
            assert one["consent"]
            assert one["signed_at"]
    certificate = told((await packets.api.get(f"{path}/certificate")).content)
    shown = [name for name, how in wanted.items() if how == "shown"]
    assert certificate.count("Shown, not signed") == 2 * len(shown), "with the time, and in place of a signature"
    assert certificate.count("I agree to sign these documents") == list(wanted.values()).count("signed")
    vouched = (await packets.api.get(f"/api/v1/verify/{document['verification_code']}")).json()["signers"]
    said = {one["name"]: (one["status"], one["signed_at"]) for one in vouched if one["name"] in wanted}
    assert {name for name, one in said.items() if one == ("shown", None)} == set(shown)

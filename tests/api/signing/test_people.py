"""Approvers, copies, delegation, corrections and signing in person, over HTTP, up to mail, evidence and certificate."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from deedbox.accounts import workspaces
from deedbox.signing.actions import change
from tests.api.answers import faults
from tests.api.signing.conftest import Office, signer
from tests.api.signing.test_attachments import PASSPORT, attach, field, ids
from tests.api.signing.test_entry import HTML, entered, mailed, people, trail
from tests.api.signing.test_mails import mails
from tests.pdf.test_certificate import told

pytestmark = pytest.mark.anyio

HOST = {"name": "Hal", "email": "hal@example.com", "password": "a long password"}
SIGNED = {"consent": True, "signature": {"kind": "typed", "text": "Ann"}}


async def proofs(office: Office, document: Any) -> tuple[dict[str, Any], str]:
    """What the evidence says of each person, by name, and the certificate's text."""
    path = f"/api/v1/documents/{document['id']}"
    evidence = (await office.api.get(f"{path}/evidence")).json()
    certificate = (await office.api.get(f"{path}/certificate")).content
    return {one["name"]: one for one in evidence["signers"]}, told(certificate)


async def host(office: Office) -> httpx.AsyncClient:
    """The browser of a signed-in person of the workspace."""
    now = office.api.clock.now()
    token = await office.api.deedbox.db.write(lambda tx: workspaces.owner_link(tx, office.api.workspace, now=now))
    browser = office.api.client()
    assert (await browser.post(f"/login/{token.reveal()}")).status_code == 303
    named = await browser.post("/account", data=HOST)
    assert named.status_code == 303, named.text
    return browser


async def test_an_approver_approves_on_the_page_and_a_copy_comes_at_the_end(office: Office) -> None:
    people_ = [signer("ann"), signer("bob", role="approver", language="de"), signer("cem", role="cc")]
    document = await office.create(send=True, signers=people_)
    assert sorted([mail.listed.subject or "" for mail in await mails(office)]) == [
        "Main asks you to sign: Lease",
        "Main bittet um Ihre Zustimmung: Lease",
    ], "who gets a copy is told at the end"
    async with office.session(document, "bob") as browser:
        shown = (await browser.get("/session")).json()
        assert (shown["signer"]["role"], shown["fields"]) == ("approver", [])
        page = await browser.get("", headers=HTML)
        assert ('value="approve"' in page.text, 'name="signature"' in page.text) == (True, False)
        leaving = await browser.get("/ways/decline", headers=HTML)
        assert ("Zustimmung ablehnen" in leaving.text, "Unterschrift ablehnen" in leaving.text) == (True, False)
        refused = await browser.post("/complete", json=SIGNED)
        assert (refused.status_code, "leaves no signature" in refused.json()["error"]) == (400, True)
        assert (await browser.post("", data={"act": "approve"})).status_code == 400
        assert (await browser.post("", data={"act": "approve", "consent": "yes"})).status_code == 303
        assert "Sie haben diesem Dokument zugestimmt" in (await browser.get("", headers=HTML)).text
    unsigned = await office.sign(document, "ann", signature=None)
    assert (unsigned.status_code, unsigned.json()["error"]) == (400, "Type your name as your signature")
    assert (await office.sign(document, "ann")).json()["status"] == "signed"
    done = await office.completed(document)
    assert await office.events(document) == [
        "document.sent",
        "document.approved",
        "document.signed",
        "document.completed",
    ]
    assert [one["signers"][0]["status"] for one in done["parties"]] == ["signed", "signed", "notified"]
    proved, certificate = await proofs(office, document)
    assert (proved["Bob"]["role"], proved["Bob"]["marks"], proved["Bob"]["identity"]) == (
        "approver",
        [],
        "embedded_link",
    )
    assert proved["Bob"]["consent"]["text"].startswith("Ich habe dieses Dokument gelesen")
    assert (proved["Cem"]["role"], proved["Cem"]["consent"]) == ("cc", None)
    assert all(words in certificate for words in ("Asked to approve", "Approved", "Receives a copy"))
    [path] = await mailed(office, "completion", to="cem@example.com")
    async with office.api.client() as browser:
        own = await entered(browser, path)
        assert "complete and sealed" in (await browser.get(own, headers=HTML)).text
        assert (await browser.get(f"{own}/download")).content.startswith(b"%PDF")
        assert (await browser.post(f"{own}/complete", json={"consent": True})).status_code == 409


async def test_only_approvals_seal_a_document(office: Office) -> None:
    document = await office.create(send=True, signers=[signer("ann", role="approver")])
    async with office.session(document, "ann") as browser:
        await browser.get("/session")
        approved = await browser.post("/complete", json={"consent": True})
    assert approved.json() == {"status": "approved", "document_status": "finalizing"}
    assert (await office.completed(document))["seal"]["level"]


async def test_a_document_is_passed_on_and_everyone_is_told(office: Office) -> None:
    document = await office.create(send=True, signers=[signer("ann", delegation=True)])
    sender = {"sender_email": "mara@harbour.example", "sender_name": "Mara"}
    assert (await office.api.call("PATCH", "/api/v1/workspace", json=sender)).status_code == 200
    [path] = await mailed(office)
    async with office.api.client() as browser:
        own = await entered(browser, path)
        assert f'href="{own}/ways/delegate"' in (await browser.get(own, headers=HTML)).text
        assert 'value="delegate"' in (await browser.get(f"{own}/ways/delegate", headers=HTML)).text
        wrong = await browser.post(own, data={"act": "delegate", "name": "Eve", "email": "nobody"})
        assert (wrong.status_code, "name and an email address such as" in wrong.text) == (400, True)
        body = {"name": "Eve", "email": "Eve@example.com", "reason": "Eve signs leases"}
        answer = await browser.post(f"{own}/delegate", json=body)
        assert answer.json() == {"status": "delegated", "document_status": "sent"}
        again = await browser.post(f"{own}/delegate", json=body)
        assert (again.status_code, faults(f"{own}/delegate", again, 409)) == (409, [])
        assert "You have delegated this document to Eve" in (await browser.get(own, headers=HTML)).text
        assert (await browser.get(path, headers=HTML)).status_code == 200, "the old link says what happened"
    letters = {(mail.listed.to.partition("@")[0], mail.listed.kind): mail.text for mail in await mails(office)}
    assert "Ann has delegated this document to Eve (eve@example.com)" in letters["mara", "delegated"]
    assert "Eve signs leases" in letters["mara", "delegated"]
    assert "If this was not you" in letters["ann", "delegated"]
    assert "Ann was asked to do this and delegated it to you" in letters["eve", "invitation"]
    [row] = await trail(office, document, "signer.delegated")
    assert (row["actor"], row["detail"]["email"]) == (people(document)["Ann"], "eve@example.com")
    assert (row["detail"]["reason"], row["detail"]["identity"]) == ("Eve signs leases", "kept_link")
    now = await office.document(document["id"])
    assert (await office.sign(now, "eve")).status_code == 200
    done = await office.completed(document)
    assert done["progress"] == {"signers_total": 1, "signers_signed": 1, "parties_total": 1, "parties_completed": 1}
    proved, certificate = await proofs(office, document)
    assert proved["Ann"]["delegated_to"] == proved["Eve"]["id"]
    assert all(words in certificate for words in ("Delegated to Eve", "Delegated by Ann", "Eve signs leases"))
    assert [mail.listed.to for mail in await mails(office, "completion")].count("ann@example.com") == 0


async def test_a_signer_is_corrected_by_who_may_send(office: Office) -> None:
    document = await office.create(send=True, signers=[signer("ann"), signer("bob")])
    path = f"/api/v1/documents/{document['id']}"
    one = f"{path}/signers/{people(document)['Ann']}"
    writer = await office.api.make_key("documents:read", "documents:write")
    for place, body in (
        (one, {"name": "Anna"}),
        (path, {"signers": [{"id": people(document)["Ann"], "email": "a@b.de"}]}),
    ):
        refused = await office.api.call("PATCH", place, key=writer, json=body)
        assert (refused.status_code, "documents:send" in refused.json()["error"]) == (403, True)
    shown = document["parties"][0]["signers"][0]
    same = await office.api.call("PATCH", one, json=shown)
    assert (same.status_code, same.json()) == (200, shown), "what is read can be written back"
    [old] = await mailed(office, to="ann@example.com")
    change = {**shown, "name": "Anna", "email": "Anna@Example.com", "language": "fr", "auth": "access_code"}
    answer = await office.api.call("PATCH", one, json={**change, "access_code": "open sesame"})
    assert answer.status_code == 200, answer.text
    right = answer.json()
    assert (right["name"], right["email"], right["auth"]) == ("Anna", "anna@example.com", "access_code")
    assert (await office.api.get(old, key=None, headers=HTML)).status_code == 404
    [row] = await trail(office, document, "signer.corrected")
    assert row["detail"]["access_code"] == "another"
    assert "open sesame" not in str(row)
    [new] = await mailed(office, to="anna@example.com")
    async with office.api.client() as browser:
        own = await entered(browser, new)
        assert (await browser.get(f"{own}/session")).json()["needs"] == "code"
        assert (await browser.post(f"{own}/code", json={"code": "open sesame"})).status_code == 200
        await browser.get(f"{own}/session")
        assert (await browser.post(f"{own}/complete", json=SIGNED)).status_code == 200
    late = await office.api.call("PATCH", one, json={"name": "Ann"})
    assert (late.status_code, "has already signed" in late.json()["error"]) == (409, True)


async def test_whoever_has_the_corrected_address_begins_anew(office: Office) -> None:
    fields = [field("attachment", 0, label="Passport", required=False), field("text", 1, label="Town", required=False)]
    document = await office.create(send=True, signers=[signer("ann")], fields=fields)
    known, ann = ids(document), people(document)["Ann"]
    async with office.session(document, "ann") as browser:
        assert (await browser.get("/session")).status_code == 200
        assert (await browser.get(f"/files/{document['files'][0]['id']}/pages/1.webp?width=100")).status_code == 200
        assert (await attach(browser, known["Passport"], PASSPORT)).status_code == 200
        assert (await browser.put("/fields", json={"values": {known["Town"]: "Ghent"}})).status_code == 200
    path = f"/api/v1/documents/{document['id']}/signers/{ann}"
    right = (await office.api.call("PATCH", path, json={"name": "Eve", "email": "eve@example.com"})).json()
    assert (right["status"], right["viewed_at"]) == ("notified", None)
    for table in ("kept_attachments", "field_values", "blob_refs where owner like 'attachment:%'"):
        assert await office.api.rows(f"select * from {table}") == []
    document = await office.document(document["id"])
    assert (await office.sign(document, "eve")).status_code == 200
    await office.completed(document)
    proved, certificate = await proofs(office, document)
    assert (proved["Eve"]["seen_pages"], proved["Eve"]["seen_sha256"], proved["Eve"]["values"]) == ([], None, {})
    assert "Ann" in certificate, "who it was then opened the link and looked at it"


@pytest.mark.parametrize(
    ("body", "said"),
    [({"status": "signed"}, "status: cannot be changed"), ({"role": "cc"}, "role: cannot be changed"),
     ({}, "No changes"),
     ({"time_zone": "Mars/Base"}, "not a time zone"), ({"email": "nobody"}, "e-mail"), ({"extra": 1}, "no such field"),
     ({"access_code": "1234"}, "Send `access_code` only with")],
)  # fmt: skip
@pytest.mark.one_database
async def test_what_cannot_be_corrected_is_named(office: Office, body: Any, said: str) -> None:
    document = await office.create(send=True)
    one = f"/api/v1/documents/{document['id']}/signers/{people(document)['Ann']}"
    refused = await office.api.call("PATCH", one, json=body)
    assert (refused.status_code, said in refused.json()["error"]) == (400, True), refused.text
    nobody = await office.api.call("PATCH", one[:-3] + "000", json={"name": "Anna"})
    assert nobody.status_code == 404


async def test_a_device_is_handed_over_and_the_host_is_signed_out_on_it(office: Office) -> None:
    document = await office.create(send=True, signers=[signer("ann")])
    ann = people(document)["Ann"]
    browser = await host(office)
    page = await browser.get(f"/app/documents/{document['id']}/signers/{ann}")
    form = f"/app/documents/{document['id']}/signers/{ann}/in-person"
    assert (page.status_code, f'action="{form}"' in page.text) == (200, True)
    foreign = await browser.post(form, headers={"Origin": "https://evil.example"})
    assert foreign.status_code == 403
    opened = await browser.post(form)
    assert (opened.status_code, opened.headers["location"]) == (303, f"/sign/{ann}")
    for path in ("/account", f"/app/documents/{document['id']}"):
        assert (await browser.get(path)).headers["location"] == "/login", "the signer holds no login"
    assert await office.api.rows("select count(*) from login_sessions") == [(0,)]
    own = f"/sign/{ann}"
    assert (await browser.get(f"{own}/session")).json()["needs"] is None
    assert (await browser.post(f"{own}/complete", json=SIGNED)).status_code == 200
    for path in ("session", "download"):
        assert (await browser.get(f"{own}/{path}")).status_code == 401, "the next one with the device is not let in"
    done = await office.completed(document)
    [(person, name)] = await office.api.rows(
        f"select p.id, p.name from people p join memberships m on m.person_id = p.id"
        f" where m.workspace_id = '{office.api.workspace}'"
    )
    assert done["parties"][0]["signers"][0]["identity"] == "in_person"
    [given, opened_row, signed] = await trail(
        office, document, "signer.handed_over", "signer.link_opened", "signer.signed"
    )
    assert given["actor"] == person
    assert {str(row["detail"]["host"]) for row in (given, opened_row, signed)} == {str({"id": person, "name": name})}
    proved, certificate = await proofs(office, document)
    assert (proved["Ann"]["identity"], proved["Ann"]["vouched_by"]) == ("in_person", None)
    assert proved["Ann"]["hosted_by"] == {"person_id": person, "name": name}
    assert f"In person, host: {name}" in certificate


@pytest.mark.parametrize(
    ("form", "said"),
    [({"act": "sign", "consent": "yes", "signature": "Ann"}, "You have signed"), ({"act": "decline"}, "have declined")],
)
async def test_what_became_of_it_is_shown_once_on_the_device_of_another(
    office: Office, form: dict[str, str], said: str
) -> None:
    document = await office.create(send=True, signers=[signer("ann"), signer("bob")])
    ann, browser = people(document)["Ann"], await host(office)
    await browser.post(f"/app/documents/{document['id']}/signers/{ann}/in-person")
    name = HOST["name"]
    for _ in range(2):  # a look changes nothing
        first = await browser.get(f"/sign/{ann}", headers=HTML)
        assert ("please read and sign" in first.text, f"{name} (Main) has handed you" in first.text) == (True, True)
    assert (await office.document(document["id"]))["parties"][0]["signers"][0]["viewed_at"] is None
    assert (await browser.post(f"/sign/{ann}", data={"act": "begin"}, headers=HTML)).status_code == 303
    for _ in range(2):  # a reload goes on
        assert 'id="sheet"' in (await browser.get(f"/sign/{ann}", headers=HTML)).text
    page = await browser.post(f"/sign/{ann}", data=form, headers=HTML)
    assert (page.status_code, said in page.text, ".webp" in page.text) == (200, True, False), page.text
    assert f"give this device back to {name}" in page.text
    again = await browser.post(f"/sign/{ann}", data=form, headers=HTML)  # a reload
    for answer in (again, await browser.get(f"/sign/{ann}", headers=HTML)):
        assert (answer.status_code, f"give this device back to {name}" in answer.text) == (401, True)


async def test_a_host_has_a_name(office: Office) -> None:
    document = await office.create(send=True, signers=[signer("ann")])
    now = office.api.clock.now()
    token = await office.api.deedbox.db.write(lambda tx: workspaces.owner_link(tx, office.api.workspace, now=now))
    async with office.api.client() as browser:
        await browser.post(f"/login/{token.reveal()}")
        path = f"/app/documents/{document['id']}/signers/{people(document)['Ann']}/in-person"
        refused = await browser.post(path)
        assert (refused.status_code, "Add one on the account page" in refused.text) == (409, True)
    assert await trail(office, document, "signer.handed_over") == []


async def test_a_device_is_handed_over_for_an_hour_and_only_at_one_s_turn(office: Office) -> None:
    people_ = [signer("ann", auth="access_code", access_code="open sesame"), signer("bob", order=2)]
    document = await office.create(send=True, signers=people_)
    ids, browser = people(document), await host(office)
    early = await browser.post(f"/app/documents/{document['id']}/signers/{ids['Bob']}/in-person")
    assert (early.status_code, "not Bob&#39;s turn" in early.text) == (409, True)
    assert (await browser.get("/account")).status_code == 200, "nothing happened, so the host stays signed in"
    for path in ("/app/documents/doc_nothing", f"/app/documents/{document['id']}x"):
        assert (await browser.get(path)).status_code == 404
    assert (await browser.post(f"/app/documents/{document['id']}/signers/{ids['Ann']}/in-person")).status_code == 303
    own = f"/sign/{ids['Ann']}"
    assert (await browser.get(f"{own}/session")).json()["needs"] == "code", "the host does not stand for the code"
    office.api.clock.forward(3599)
    assert (await browser.get(f"{own}/session")).status_code == 200
    office.api.clock.forward(1)
    assert (await browser.get(f"{own}/session")).status_code == 401


async def test_what_a_colleague_has_signed_with_stays_and_is_told_of_them_alone(office: Office) -> None:
    party = {"name": "Tenants", "signers": [signer("ann"), signer("bob")]}
    shared: dict[str, Any] = {"signer": None, "party": "Tenants", "required": False}
    fields = [field("text", 0, label="Town", **shared), field("text", 1, label="Job", **shared)]
    document = await office.create(send=True, signers=[], parties=[party], fields=fields)
    known = ids(document)
    assert (await office.sign(document, "ann", values={known["Town"]: "Bern"})).status_code == 200
    async with office.session(document, "bob") as browser:
        shown = {one["id"]: one for one in (await browser.get("/session")).json()["fields"]}
        assert [shown[known[name]]["read_only"] for name in ("Town", "Job")] == [True, False]
        assert shown[known["Town"]]["value"] == "Bern"
        page = await browser.get("", headers=HTML)
        assert (f'name="{known["Town"]}"' in page.text, "Bern" in page.text) == (False, True)
        late = await browser.put("/fields", json={"values": {known["Town"]: "Rome"}})
        assert (late.status_code, "already signed with this value" in late.text) == (400, True)
    refused = await office.sign(document, "bob", values={known["Town"]: "Rome"})
    assert (refused.status_code, "already signed with this value" in refused.text) == (400, True)
    assert (await office.sign(document, "bob", values={known["Job"]: "Cook"})).status_code == 200
    await office.completed(document)
    proved, _ = await proofs(office, document)
    assert proved["Ann"]["values"] == {known["Town"]: "Bern"}
    assert proved["Bob"]["values"] == {known["Job"]: "Cook"}


async def test_who_may_not_send_corrects_nobody_of_a_document_that_is_sent_meanwhile(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = await office.create(signers=[signer("ann")])
    path, prepared = f"/api/v1/documents/{document['id']}", change.prepare

    @asynccontextmanager
    async def sent_meanwhile(*given: Any) -> AsyncIterator[Any]:
        assert (await office.api.call("POST", f"{path}/send")).status_code == 200
        async with prepared(*given) as make:
            yield make

    monkeypatch.setattr(change, "prepare", sent_meanwhile)
    writer = await office.api.make_key("documents:read", "documents:write")
    body = {"signers": [{"id": people(document)["Ann"], "email": "eve@example.com"}]}
    refused = await office.api.call("PATCH", path, key=writer, json=body)
    assert (refused.status_code, "documents:send" in refused.text) == (403, True)


@pytest.mark.parametrize("name", [" ", "Ann\nBob", "Ann\n", "\u200b", "\u2028Ann"])
@pytest.mark.one_database
async def test_a_name_can_be_seen_and_has_one_line(office: Office, name: str) -> None:
    for more in (
        {"signers": [{**signer("ann"), "name": name}]},
        {"signers": [], "parties": [{"name": name, "signers": [signer("ann")]}]},
    ):
        refused = await office.api.call("POST", "/api/v1/documents", json=office.body(**more))
        assert (refused.status_code, "not a name" in refused.text) == (400, True), refused.text


async def test_what_someone_had_filled_in_is_not_passed_on(office: Office) -> None:
    fields = [field("attachment", 0, label="Passport"), field("text", 1, label="Town", required=False)]
    document = await office.create(send=True, signers=[signer("ann", delegation=True)], fields=fields)
    known = ids(document)
    async with office.session(document, "ann") as browser:
        assert (await attach(browser, known["Passport"], PASSPORT)).status_code == 200
        assert (await browser.put("/fields", json={"values": {known["Town"]: "Ghent"}})).status_code == 200
        assert (await browser.post("/delegate", json={"name": "Eve", "email": "eve@example.com"})).status_code == 200
    for table in ("kept_attachments", "field_values", "blob_refs where owner like 'attachment:%'"):
        assert await office.api.rows(f"select * from {table}") == []
    async with office.session(await office.document(document["id"]), "eve") as browser:
        shown = (await browser.get("/session")).json()
        assert (shown["attachments"], [one["value"] for one in shown["fields"]]) == ([], [None] * 3)

"""The ways in: a link that is opened by a press, sessions that never mix, and a trail that tells of each."""

import re
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from deedbox.kernel import limits
from deedbox.kernel.db import Tx
from deedbox.signing import limits as signing_limits
from deedbox.web import limits as web_limits
from tests.api.answers import faults
from tests.api.signing.conftest import Office, signer
from tests.pdf.test_certificate import told

pytestmark = pytest.mark.anyio

HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
SIGNED = {"consent": True, "signature": {"kind": "typed", "text": "Ann"}}


async def mailed(office: Office, kind: str = "invitation", **about: str) -> list[str]:
    """The addresses in the mails of this kind that stayed here; `about` a document or `to` someone."""
    kept, place, db = office.api.deedbox.inbox, office.api.workspace, office.api.deedbox.db
    listed = await db.read(lambda tx: kept.page(tx, place, status="inbox", limit=100))
    letters: list[Any] = [
        (await db.read(lambda tx, id=mail.id: kept.show(tx, place, id))).mail.letter  # type: ignore[misc]
        for mail in listed
        if mail.kind == kind and all(getattr(mail, name) == wanted for name, wanted in about.items())
    ]
    return [urlsplit(letter.link).path for letter in letters]


async def trail(office: Office, document: Any, *acts: str) -> list[Any]:
    found = (await office.api.get(f"/api/v1/documents/{document['id']}/audit?limit=100")).json()["audit"]
    return [row for row in found if row["act"] in acts]


def people(document: Any) -> dict[str, str]:
    return {one["name"]: one["id"] for party in document["parties"] for one in party["signers"]}


async def entered(browser: httpx.AsyncClient, path: str) -> str:
    """The address of the session that a press on the opening page leads to."""
    pressed = await browser.post(path, headers=HTML)
    assert pressed.status_code == 303, pressed.text
    return str(pressed.headers["location"])


async def signed(browser: httpx.AsyncClient, own: str) -> httpx.Response:
    assert (await browser.get(f"{own}/session")).status_code == 200
    return await browser.post(f"{own}/complete", json=SIGNED)


# the link


async def test_a_scanner_changes_nothing_then_phone_and_laptop_come_in_and_the_first_to_sign_wins(
    office: Office,
) -> None:
    document = await office.create(send=True)
    [path] = await mailed(office)
    counts = "select (select count(*) from audit), (select count(*) from signer_sessions), (select count(*) from mails)"
    before = await office.api.rows(counts)
    async with office.api.client(address="127.0.0.9") as scanner:
        pages = [await scanner.get(path, headers=HTML) for _ in range(20)]
    assert {page.status_code for page in pages} == {200}
    assert await office.api.rows(counts) == before
    async with office.api.client() as phone, office.api.client() as laptop:
        one, two = await entered(phone, path), await entered(laptop, path)
        assert one == two
        assert (await laptop.get(f"{two}/session")).json()["needs"] is None
        assert (await signed(phone, one)).status_code == 200
        late = await laptop.post(f"{two}/complete", json=SIGNED)
        assert faults(two, late, 409) == []
        assert late.json()["error"] == "You have already signed this document"
        shown = await laptop.get(two, headers=HTML)
        assert (shown.status_code, 'name="act" value="sign"' in shown.text) == (200, False)
    await office.completed(document)
    assert len(await trail(office, document, "signer.link_opened")) == 2
    assert len(await trail(office, document, "signer.signed")) == 1


async def test_the_opening_page_says_who_asks_for_what_and_sends_no_token_on(office: Office) -> None:
    message = {"subject": "Your <b>lease</b>", "body": "Please & thanks"}
    await office.create(send=True, message=message, title="<Lease>", language="de", expires_at="2026-05-03T14:05:00Z")
    [path] = await mailed(office)
    shown = await office.api.get(path, key=None, headers=HTML)
    assert shown.headers["content-type"].startswith("text/html")
    told = ("&lt;Lease&gt;", "Your &lt;b&gt;lease&lt;/b&gt;", "Please &amp; thanks", "3. Mai 2026", 'lang="de"', "Ann")
    assert [said for said in told if said not in shown.text] == []
    assert "set-cookie" not in shown.headers
    assert (shown.headers["referrer-policy"], shown.headers["cache-control"]) == ("no-referrer", "no-store")
    assert "default-src 'none'; script-src 'self';" in shown.headers["content-security-policy"]
    assert not re.search(r"<script|style=| on\w+=|https?://", shown.text)


@pytest.mark.parametrize("accept", ["*/*", "application/json", "", "text/html;q=0, */*"])
@pytest.mark.one_database
async def test_who_does_not_ask_for_html_is_let_in_at_once(office: Office, accept: str) -> None:
    await office.create(send=True)
    [path] = await mailed(office)
    assert (await office.api.get(path, key=None, headers={"Accept": accept})).status_code == 303


async def test_a_press_on_a_page_of_another_site_opens_nothing(office: Office) -> None:
    await office.create(send=True)
    [path] = await mailed(office)
    for foreign in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}):
        assert (await office.api.call("POST", path, key=None, headers={**HTML, **foreign})).status_code == 403
    assert await office.api.rows("select 1 from signer_sessions") == []


async def test_a_reminders_link_and_the_first_one_live_side_by_side_until_the_address_is_corrected(
    office: Office,
) -> None:
    document = await office.create(send=True)
    assert (await office.api.post(f"/api/v1/documents/{document['id']}/remind")).status_code == 200
    paths = await mailed(office, "invitation") + await mailed(office, "reminder")
    assert len(set(paths)) == 2
    async with office.api.client() as browser:
        for path in [*paths, *paths]:
            own = await entered(browser, path)
        correction = {"signers": [{"id": people(document)["Ann"], "email": "anna@example.com"}]}
        changed = await office.api.call("PATCH", f"/api/v1/documents/{document['id']}", json=correction)
        assert changed.status_code == 200, changed.text
        assert [(await browser.get(path, headers=HTML)).status_code for path in paths] == [404, 404]
        assert (await browser.get(f"{own}/session")).status_code == 401
    [new] = await mailed(office, to="anna@example.com")
    assert (await office.api.get(new, key=None, headers=HTML)).status_code == 200


async def test_an_embedded_link_opens_once_and_not_by_looking(office: Office) -> None:
    document = await office.create(send=True)
    path, late = await office.link(document, "ann"), await office.link(document, "ann")
    async with office.api.client() as browser:
        assert [(await browser.get(path, headers=HTML)).status_code for _ in range(3)] == [200] * 3
        await entered(browser, path)
        for again in (await browser.post(path, headers=HTML), await browser.get(path, headers=HTML)):
            assert (again.status_code, "already been used" in again.text) == (409, True)
            assert again.headers["content-type"].startswith("text/html")
        assert faults(path, await browser.get(path), 409) == []
        office.api.clock.forward(signing_limits.EMBEDDED_LINK_SECONDS)
        assert (await browser.get(late)).status_code == 409


async def test_after_the_end_a_mailed_link_shows_the_outcome_and_the_sealed_file_for_90_days(office: Office) -> None:
    document = await office.create(send=True)
    [path] = await mailed(office)
    async with office.api.client() as browser:
        assert (await signed(browser, await entered(browser, path))).status_code == 200
    await office.completed(document)
    office.api.clock.forward(timedelta(days=signing_limits.ENDED_LINK_DAYS - 1).total_seconds())
    async with office.api.client() as browser:
        assert "complete and sealed" in (await browser.get(path, headers=HTML)).text
        own = await entered(browser, path)
        shown = (await browser.get(f"{own}/session")).json()
        assert (shown["files"], shown["fields"], "can download it" in shown["outcome"]) == ([], [], True)
        assert f'href="{own}/download"' in (await browser.get(own, headers=HTML)).text
        assert (await browser.get(f"{own}/download")).content.startswith(b"%PDF-")
        file_id = document["files"][0]["id"]
        assert (await browser.get(f"{own}/files/{file_id}/pages/1.webp")).status_code == 409
        assert (await browser.post(f"{own}/complete", json=SIGNED)).status_code == 409
    office.api.clock.forward(timedelta(days=1).total_seconds())
    assert faults(path, await office.api.get(path, key=None), 409) == []
    assert "for the file" in (await office.api.get(path, key=None, headers=HTML)).text


async def test_each_end_has_its_own_sentence(office: Office) -> None:
    async def link(document: Any, name: str) -> str:
        [path] = await mailed(office, about=document["id"], to=f"{name}@example.com")
        return path

    async def outcome(document: Any, name: str) -> str:
        async with office.api.client() as browser:
            own = await entered(browser, await link(document, name))
            shown = (await browser.get(f"{own}/session")).json()
            assert shown["outcome"] in (await browser.get(own, headers=HTML)).text
            return str(shown["outcome"])

    both, found = [signer("ann"), signer("bob")], {}
    made = await office.create(send=True, signers=both)
    async with office.api.client() as browser:
        assert (await signed(browser, await entered(browser, await link(made, "ann")))).status_code == 200
        found["signed"] = await outcome(made, "ann")
        own = await entered(browser, await link(made, "bob"))
        assert (await browser.post(f"{own}/decline", json={})).status_code == 200
    found |= {"you declined": await outcome(made, "bob"), "declined": await outcome(made, "ann")}
    made = await office.create(send=True)
    await office.api.post(f"/api/v1/documents/{made['id']}/void")
    found["voided"] = await outcome(made, "ann")
    made = await office.create(send=True, expires_at="2026-03-02T12:00:00Z")
    office.api.clock.forward(2 * 86400)
    found["expired"] = await outcome(made, "ann")
    made = await office.create(send=True, parties=[{"name": "Board", "rule": "any", "signers": both}], signers=[])
    async with office.api.client() as browser:
        assert (await signed(browser, await entered(browser, await link(made, "ann")))).status_code == 200
    await office.completed(made)
    found |= {"completed": await outcome(made, "ann"), "not needed": await outcome(made, "bob")}
    assert len(set(found.values())) == len(found), found
    assert "no longer needed" in found["not needed"]
    assert "withdrawn" in found["voided"]
    assert "2 March 2026" in found["expired"]


# the session


async def test_two_documents_in_one_cookie_jar_never_mix(office: Office) -> None:
    lease, sale = await office.create(send=True), await office.create(send=True, title="Sale")
    async with office.api.client() as browser:
        owns = []
        for document in (lease, sale):
            owns.append((await browser.get(await office.link(document, "ann"))).headers["location"])
        assert owns[0] != owns[1]
        titles = [(await browser.get(f"{own}/session")).json()["document"]["title"] for own in owns]
        assert titles == ["Lease", "Sale"]
        assert (await browser.post(f"{owns[0]}/complete", json=SIGNED)).status_code == 200
        assert (await office.document(sale["id"]))["progress"]["signers_signed"] == 0
        cookies = dict(browser.cookies.items())
    first, second = (f"deedbox_signer_{own.removeprefix('/sign/')}" for own in owns)
    assert set(cookies) == {first, second}
    stolen = {"Cookie": f"{second}={cookies[first]}"}
    assert faults(owns[1], await office.api.get(f"{owns[1]}/session", key=None, headers=stolen), 401) == []
    only = {"Cookie": f"{first}={cookies[first]}"}
    assert (await office.api.get(f"{owns[1]}/session", key=None, headers=only)).status_code == 401


async def test_over_tls_the_cookie_is_bound_to_the_host(office: Office) -> None:
    document = await office.create(send=True)
    async with office.api.client(scheme="https") as browser:
        arrived = await browser.get(await office.link(document, "ann"))
    cookie = arrived.headers["set-cookie"]
    assert cookie.startswith(f"__Host-deedbox_signer_{people(document)['Ann']}=deed_session_")
    assert all(part in cookie for part in ("HttpOnly", "Secure", "Path=/", "SameSite=lax"))
    assert "Domain" not in cookie


async def test_whoever_has_no_session_gets_a_page_that_says_what_to_do(office: Office) -> None:
    for path in ("/sign/sgn_01JD0000000000000000000000", "/sign/sgn_01JD0000000000000000000000/download"):
        answer = await office.api.get(path, key=None, headers={**HTML, "Accept-Language": "de-AT,en;q=0.5"})
        assert (answer.status_code, "Öffnen Sie den Link" in answer.text) == (401, True)
        assert answer.headers["x-request-id"] in answer.text
    unknown = await office.api.get("/s/deed_sign_unknown", key=None, headers=HTML)
    assert (unknown.status_code, "copied the whole link" in unknown.text) == (404, True)


async def test_readers_behind_one_address_do_not_use_up_each_others_budget(office: Office) -> None:
    await office.create(send=True)
    [path] = await mailed(office)
    for _ in range(web_limits.LINK_PER_MINUTE):
        assert (await office.api.get(path, key=None, headers=HTML)).status_code == 200
    answer = await office.api.get(path, key=None, headers=HTML)
    assert (answer.status_code, "Retry-After" in answer.headers) == (429, True)
    other_document = await office.create(send=True)
    [other] = await mailed(office, about=other_document["id"])
    assert (await office.api.get(other, key=None, headers=HTML)).status_code == 200


# what the trail tells


async def test_the_trail_tells_of_each_link_each_opening_and_each_page(office: Office) -> None:
    document = await office.create(send=True)
    ann, file_id = people(document)["Ann"], document["files"][0]["id"]
    async with office.session(document, "ann") as browser:
        await browser.get("/session")
        await browser.get("/session")
        for page in (2, 2, 1):
            await browser.get(f"/files/{file_id}/pages/{page}.webp", params={"width": 100})
    [made] = await trail(office, document, "signer.link_made")
    key = {"id": office.api.key.id, "name": "test"}
    assert (made["actor"], made["detail"]["signer"], made["detail"]["key"]) == (office.api.key.id, ann, key)
    [opened] = await trail(office, document, "signer.link_opened")
    told = {"address": "127.0.0.1", "link": "embedded", "key": key}
    assert opened["actor"] == ann
    assert told.items() <= opened["detail"].items()
    assert "identity" not in opened["detail"]
    assert len(await trail(office, document, "signer.viewed")) == 1
    pages = await trail(office, document, "signer.page_viewed")
    assert [(row["detail"]["file"], row["detail"]["page"]) for row in pages] == [(file_id, 2), (file_id, 1)]


async def test_the_rows_of_looking_are_bounded_and_keep_nobody_out(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signing_limits, "SIGNER_VIEW_ROWS", 2)
    monkeypatch.setattr(signing_limits, "SIGNER_ROWS", 3)
    document = await office.create(send=True)
    file_id = document["files"][0]["id"]
    async with office.session(document, "ann") as browser:
        await browser.get("/session")
        for page in (1, 2):
            assert (await browser.get(f"/files/{file_id}/pages/{page}.webp", params={"width": 100})).status_code == 200
    assert len(await trail(office, document, "signer.page_viewed")) == 1
    async with office.api.client() as another:
        answers = [(await another.get(await office.link(document, "ann"))).status_code for _ in range(2)]
    assert answers == [303, 409]


async def test_nobody_keeps_a_document_from_being_sealed_by_opening_it_often(office: Office) -> None:
    document = await office.create(send=True)
    ann = people(document)["Ann"]

    def open_often(tx: Tx) -> None:
        with office.api.deedbox.services.action(tx, office.api.workspace, ann) as desk:
            [one] = desk.packet_of(document["id"]).documents
            for _ in range(limits.CERTIFICATE_EVENTS):
                desk.record(one, "signer.link_opened", {"address": "127.0.0.1", "link": "mail"})

    await office.api.deedbox.db.write(open_often)
    assert (await office.sign(document, "ann")).status_code == 200
    await office.completed(document)


async def test_the_evidence_names_what_was_served_and_who_vouched(office: Office) -> None:
    document = await office.create(signers=[signer("ann", language="de"), signer("bob")], send=True)
    file_id = document["files"][0]["id"]
    async with office.session(document, "ann") as browser:
        assert "elektronisch" in (await browser.get("/session")).json()["consent_text"]
        await browser.get(f"/files/{file_id}/pages/2.webp", params={"width": 100})
        assert (await browser.post("/complete", json=SIGNED)).status_code == 200
    assert (await office.sign(document, "bob")).status_code == 200
    found = await office.completed(document)
    records = {one["name"]: one for party in found["parties"] for one in party["signers"]}
    assert {one["identity"] for one in records.values()} == {"embedded_link"}
    told = (await office.api.get(f"/api/v1/documents/{document['id']}/evidence")).json()
    ann, bob = told["signers"]
    assert (ann["seen_sha256"], ann["seen_pages"]) == (told["document"]["prepared"]["sha256"], [2])
    assert (bob["seen_sha256"], bob["seen_pages"]) == (None, [])
    assert "elektronisch" in ann["consent"]["text"]
    assert ann["vouched_by"] == {"key_id": office.api.key.id, "key_name": "test"}


async def test_a_link_to_embed_needs_a_scope_of_its_own(office: Office) -> None:
    document = await office.create(send=True)
    path = f"/api/v1/documents/{document['id']}/signers/{people(document)['Ann']}/link"
    for scopes, status in ((("documents:send",), 403), (("documents:embed",), 201), (("documents:*",), 201)):
        key = await office.api.make_key(*scopes)
        assert (await office.api.call("POST", path, key=key)).status_code == status, scopes


# reminders and codes


async def test_a_signer_is_reminded_on_demand_once_an_hour(office: Office) -> None:
    document = await office.create(signers=[signer("ann"), signer("bob")], send=True)
    path = f"/api/v1/documents/{document['id']}/remind"
    assert (await office.api.post(path)).status_code == 200
    office.api.clock.forward(600)
    refused = await office.api.post(path)
    assert faults(path, refused, 429) == []
    assert (refused.headers["Retry-After"], len(await mailed(office, "reminder"))) == ("3000", 2)
    office.api.clock.forward(3000)
    assert (await office.api.post(path)).status_code == 200
    assert len(await mailed(office, "reminder")) == 4


async def test_the_reminders_of_the_plan_come_whenever_someone_was_reminded_by_hand(office: Office) -> None:
    plan = {"first_after_hours": 1, "every_hours": 1, "max": 2}
    document = await office.create(send=True, reminders=plan)
    office.api.clock.forward(3599)
    assert (await office.api.post(f"/api/v1/documents/{document['id']}/remind")).status_code == 200
    office.api.clock.forward(1)
    await office.api.deedbox.jobs.run_due()
    assert len(await mailed(office, "reminder")) == 2
    refused = await office.api.post(f"/api/v1/documents/{document['id']}/remind")
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "3600")


async def test_a_code_by_mail_is_refused_where_no_mail_can_leave(office: Office) -> None:
    coded = [signer("ann", auth="email_code")]
    refused = await office.api.post("/api/v1/documents", office.body(signers=coded))
    assert faults("/api/v1/documents", refused, 400) == []
    assert "needs a mail server" in refused.json()["error"]
    draft = await office.create()
    path = f"/api/v1/documents/{draft['id']}"
    change = {"parties": [{"name": "Ann", "signers": coded}]}
    assert faults(path, await office.api.call("PATCH", path, json=change), 400) == []
    await office.api.deedbox.db.write(lambda tx: tx.run("update signers set auth = 'email_code'"))
    sent = await office.api.post(f"{path}/send")
    assert faults(path, sent, 400) == []
    assert "DEEDBOX_SMTP_URL" in sent.json()["error"]


async def test_a_corrected_address_gives_no_new_tries_at_the_code(office: Office) -> None:
    coded = signer("ann", auth="access_code", access_code="open sesame")
    document = await office.create(signers=[coded], send=True)
    async with office.session(document, "ann") as browser:
        for _ in range(limits.SIGNER_CODE_TRIES):
            assert (await browser.post("/code", json={"code": "guess"})).status_code == 403
    correction = {"signers": [{"id": people(document)["Ann"], "email": "anna@example.com"}]}
    assert (await office.api.call("PATCH", f"/api/v1/documents/{document['id']}", json=correction)).status_code == 200
    async with office.session(document, "anna") as browser:
        assert (await browser.post("/code", json={"code": "open sesame"})).status_code == 429
    assert len(await trail(office, document, "signer.code_wrong")) == limits.SIGNER_CODE_TRIES


async def test_sessions_that_are_over_are_forgotten_and_their_rows_stay(office: Office) -> None:
    document = await office.create(send=True)
    file_id = document["files"][0]["id"]
    async with office.session(document, "ann") as browser:
        assert (await browser.get(f"/files/{file_id}/pages/3.webp")).status_code == 404
        assert await trail(office, document, "signer.viewed") == []
        await browser.get(f"/files/{file_id}/pages/1.webp", params={"width": 100})
        assert len(await trail(office, document, "signer.viewed")) == 1
        office.api.clock.forward(limits.SIGNER_SESSION_SECONDS)
        assert (await browser.get("/session")).status_code == 401
    await office.api.deedbox.jobs.run_due()
    assert len(await office.api.rows("select 1 from signer_sessions")) == 1, "its page still says whose document it was"
    office.api.clock.forward(limits.SIGNER_SESSION_TOLD_SECONDS)
    await office.api.deedbox.jobs.run_due()
    assert await office.api.rows("select 1 from signer_sessions") == []
    assert await office.api.rows("select 1 from page_views") == []
    assert len(await trail(office, document, "signer.page_viewed")) == 1


async def test_evidence_and_certificate_agree_on_a_link_that_was_not_mailed(office: Office) -> None:
    document = await office.create(send=True)
    [path] = await mailed(office)
    async with office.api.client() as browser:
        own = await entered(browser, path)
        await browser.get(f"{own}/session")
        assert (await signed(browser, own)).status_code == 200
    found = await office.completed(document)
    assert found["parties"][0]["signers"][0]["identity"] == "kept_link"
    evidence = (await office.api.get(f"/api/v1/documents/{document['id']}/evidence")).json()
    assert evidence["signers"][0]["identity"] == "kept_link"
    text = told((await office.api.get(f"/api/v1/documents/{document['id']}/certificate")).content)
    assert "link that was not emailed" in text
    assert "sent to the email address" not in text
    assert "Pages shown 0 / 2" in text


async def test_a_key_vouches_for_who_came_by_its_link_also_where_a_code_was_given(office: Office) -> None:
    coded = signer("ann", auth="access_code", access_code="open sesame")
    document = await office.create(signers=[coded], send=True)
    async with office.session(document, "ann") as browser:
        assert (await browser.post("/code", json={"code": "open sesame"})).status_code == 200
        await browser.get("/session")
        assert (await browser.post("/complete", json=SIGNED)).status_code == 200
    found = await office.completed(document)
    assert found["parties"][0]["signers"][0]["identity"] == "access_code"
    proved = (await office.api.get(f"/api/v1/documents/{document['id']}/evidence")).json()["signers"][0]
    assert proved["vouched_by"] == {"key_id": office.api.key.id, "key_name": "test"}
    text = told((await office.api.get(f"/api/v1/documents/{document['id']}/certificate")).content)
    for words in ("Access code agreed with the sender", "the sender vouches for the person"):
        assert words in text, words


@pytest.mark.one_database
async def test_the_opening_page_counts_what_must_be_filled_in(office: Office) -> None:
    def field(kind: str, y: float, **more: Any) -> dict[str, Any]:
        at = {"page": 1, "x": 0.1, "y": y, "w": 0.3, "h": 0.03, "signer": "ann@example.com"}
        return {"type": kind, **at, **more}

    fields = [
        field("text", 0.1, label="City"),
        field("text", 0.2, label="Nickname", required=False),
        field("radio", 0.3, label="Yes", group="Pets"),
        field("radio", 0.35, label="No", group="Pets"),
        field("name", 0.4),
        field("checkbox", 0.5, required=False),
        field("signature", 0.6),
    ]
    await office.create(send=True, fields=fields)
    [path] = await mailed(office)
    shown = await office.api.get(path, key=None, headers=HTML)
    assert re.search(r"<dt>Fields to fill in</dt><dd[^>]*>2</dd>", shown.text)
    async with office.api.client() as browser:
        page = (await browser.get(await entered(browser, path), headers=HTML)).text
    assert ("Checkbox" in page, 'data-name="I agree"' in page) == (True, False)

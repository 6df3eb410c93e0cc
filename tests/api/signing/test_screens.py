"""The screens before and after the document, as a browser without script gets them."""

import re
from typing import Any

import pytest

from deedbox.kernel import limits
from deedbox.signing import limits as signing_limits
from tests.api.signing.conftest import CODE, LINK, Mailing, Office, signer
from tests.api.signing.test_entry import HTML, entered, mailed, people, trail
from tests.pdf.test_certificate import told

pytestmark = pytest.mark.anyio
CONSENT = "I agree to sign this document electronically"
ASKED = r'<input type="checkbox"[^>]* name="consent"'


async def test_consent_ticked_on_the_opening_page_is_evidence_with_its_own_time(office: Office) -> None:
    document = await office.create(send=True)
    [path] = await mailed(office)
    async with office.api.client() as browser:
        assert CONSENT in (await browser.get(path, headers=HTML)).text
        opened = await browser.post(path, headers=HTML, data={"consent": "yes"})
        own, at = opened.headers["location"], office.api.clock.now()
        assert not re.search(ASKED, (await browser.get(own, headers=HTML)).text), "it is not asked twice"
        office.api.clock.forward(90)
        done = await browser.post(own, headers=HTML, data={"act": "sign", "signature": "Ann"})
        assert done.status_code == 303, done.text
    await office.completed(document)
    evidence = (await office.api.get(f"/api/v1/documents/{document['id']}/evidence")).json()
    [ann] = evidence["signers"]
    assert (ann["consent"]["at"], ann["consent"]["text"].startswith(CONSENT)) == (f"{at:%Y-%m-%dT%H:%M:%SZ}", True)
    assert ann["signed_at"] > ann["consent"]["at"]
    certificate = told((await office.api.get(f"/api/v1/documents/{document['id']}/certificate")).content)
    assert "Consented 1 March 2026, 12:00:00 UTC" in certificate


async def test_consent_left_unticked_is_asked_again_above_sign(office: Office) -> None:
    await office.create(send=True)
    [path] = await mailed(office)
    async with office.api.client() as browser:
        own = await entered(browser, path)
        assert re.search(ASKED, (await browser.get(own, headers=HTML)).text)
        refused = await browser.post(own, headers=HTML, data={"act": "sign", "signature": "Ann"})
        assert (refused.status_code, "only if you agree" in refused.text) == (400, True)


@pytest.mark.one_database
async def test_consent_is_recorded_in_the_language_in_which_it_was_shown(office: Office) -> None:
    document = await office.create(send=True, signers=[signer("ann", language="de"), signer("bob")])
    [path] = await mailed(office, to="ann@example.com")
    async with office.api.client() as browser:
        own = await entered(browser, path)
        [shown] = re.findall(r'name="consent" value="(\w+)"', (await browser.get(own, headers=HTML)).text)
        await browser.post(own, headers=HTML, data={"language": "ja"})  # in another tab
        typed = {"act": "sign", "signature": "", "consent": shown}
        again = (await browser.post(own, headers=HTML, data=typed)).text
        assert 'name="consent" value="ja" required>' in again, "what was ticked was another sentence"
        assert (await browser.post(own, headers=HTML, data={**typed, "signature": "Ann"})).status_code == 303
    [row] = await trail(office, document, "signer.signed")
    assert row["detail"]["consent"].startswith("Ich bin damit einverstanden")
    [path] = await mailed(office, to="bob@example.com")
    async with office.api.client() as browser:
        await browser.post(path, headers=HTML, data={"consent": "fr"})  # before the sender corrected the language
    assert "électronique" in (await trail(office, document, "signer.link_opened"))[-1]["detail"]["consent"]


async def test_a_sentence_runs_as_its_language_does_whatever_the_names_in_it(office: Office) -> None:
    await office.create(send=True, signers=[signer("ann", language="ar")])
    [path] = await mailed(office)
    shown = (await office.api.get(path, key=None, headers=HTML)).text
    assert 'dir="rtl"' in shown
    assert "<h1><bdi>Ann</bdi>" in shown


async def test_nobody_agrees_before_the_code_has_shown_who_they_are(office: Office) -> None:
    code = {"auth": "access_code", "access_code": "open sesame"}
    document = await office.create(signers=[signer("ann", **code)], send=True, message={"subject": "Rent", "body": "x"})
    [path] = await mailed(office)
    async with office.api.client() as browser:
        shown = (await browser.get(path, headers=HTML)).text
        assert [said for said in (CONSENT, "Rent") if said in shown] == []
        opened = await browser.post(path, headers=HTML, data={"consent": "yes"})
        own = opened.headers["location"]
        await browser.post(own, headers=HTML, data={"act": "code", "code": "open sesame"})
        assert CONSENT in (await browser.get(own, headers=HTML)).text
    [row] = await trail(office, document, "signer.link_opened")
    assert "consent" not in row["detail"]


@pytest.mark.one_database
async def test_who_has_only_the_link_learns_nothing_of_what_was_signed(office: Office) -> None:
    code = {"auth": "access_code", "access_code": "open sesame"}
    document = await office.create(signers=[signer("ann", **code), signer("bob")], send=True)
    async with office.session(document, "ann") as browser:
        await browser.post("/code", json={"code": "open sesame"})
        await browser.get("/session")
        body = {"consent": True, "signature": {"kind": "typed", "text": "Ann"}}
        assert (await browser.post("/complete", json=body)).status_code == 200

    [path] = await mailed(office, to="ann@example.com")

    async def shown() -> str:
        async with office.api.client() as finder:
            return (await finder.get(await entered(finder, path), headers=HTML)).text

    page = await shown()
    assert [said for said in ("ann@example.com", "Bob") if said in page] == []
    assert 'name="code"' in page
    async with office.session(document, "bob") as bob:
        assert (await bob.post("/decline", json={"reason": "The price"})).status_code == 200
    page = await shown()
    assert ("was declined" in page, "The price" in page) == (True, False)


async def test_a_done_page_hears_that_it_is_another_by_now(office: Office) -> None:
    document = await office.create(signers=[signer("ann"), signer("bob")], send=True)
    async with office.session(document, "ann") as ann, office.session(document, "bob") as bob:
        await ann.get("/session")
        body = {"consent": True, "signature": {"kind": "typed", "text": "Ann"}}
        assert (await ann.post("/complete", json=body)).status_code == 200
        part = {"X-Part": "state"}
        assert (await ann.get("", headers=part)).status_code == 200
        await bob.post("/decline", json={})
        assert (await ann.get("", headers=part)).status_code == 409


@pytest.mark.one_database
async def test_who_has_read_much_can_still_be_sent_a_code(mailing: Mailing) -> None:
    document = await mailing.create(signers=[signer("ann", auth="email_code")], send=True)
    async with mailing.api.client() as browser:
        own = await entered(browser, await mailing.read(LINK, "ann", "Lease"))
        read = f"update signers set notes = {signing_limits.SIGNER_VIEW_ROWS} where id = '{people(document)['Ann']}'"
        await mailing.api.deedbox.db.write(lambda tx: tx.run(read))
        mailing.api.clock.forward(signing_limits.SIGNER_CODE_AGAIN_SECONDS)
        assert (await browser.post(own, headers=HTML, data={"act": "code_again"})).status_code == 303


async def test_wrong_old_and_sixth_code_each_have_their_sentence_and_send_again_waits_half_a_minute(
    mailing: Mailing,
) -> None:
    document = await mailing.create(signers=[signer("ann", auth="email_code")], send=True)
    path = await mailing.read(LINK, "ann", "Lease")
    async with mailing.api.client() as browser:
        own = await entered(browser, path)
        code = await mailing.read(CODE, "ann", "Lease")

        async def pressed(act: str, given: str = "") -> tuple[int, str]:
            answer = await browser.post(own, headers=HTML, data={"act": act, "code": given})
            return answer.status_code, answer.text

        status, text = await pressed("code_again")
        assert (status, "in 30 s" in text) == (429, True), text
        status, text = await pressed("code", "wrong!")
        assert (status, "The code is wrong. Attempts left: 4." in text) == (403, True), text
        mailing.api.clock.forward(signing_limits.SIGNER_CODE_AGAIN_SECONDS)
        assert (await pressed("code_again"))[0] == 303
        assert await mailing.api.rows("select count(*) from mails where kind = 'code'") == [(2,)]
        assert "Attempts left: 4" in (await browser.get(own, headers=HTML)).text, "another code gives no other tries"
        mailing.api.clock.forward(limits.SIGNER_CODE_SECONDS - signing_limits.SIGNER_CODE_AGAIN_SECONDS + 30)
        status, text = await pressed("code", code)
        assert (status, "This code has expired" in text) == (403, True), text
        found = [await pressed("code", "wrong!") for _ in range(5)]
        assert [one for one, _ in found] == [403] * 4 + [429]
        assert "Too many attempts. Wait 15 minutes" in found[-1][1]
    rows = await trail(mailing, document, "signer.code_mailed")
    assert [row["detail"]["link"] for row in rows] == ["mail"]


async def test_decline_and_delegation_are_pages_that_say_what_follows(office: Office) -> None:
    board = [signer("ann", delegation=True), signer("bob"), signer("cleo")]
    goes_on = {"name": "Board", "rule": "quorum", "quorum": 1, "on_decline": "continue_while_possible"}
    alone = await office.create(send=True)
    several = await office.create(send=True, parties=[{**goes_on, "signers": board}], signers=[])
    found = {}
    for document in (alone, several):
        [path] = await mailed(office, about=document["id"], to="ann@example.com")
        async with office.api.client() as browser:
            own = await entered(browser, path)
            found[document["id"]] = [
                await browser.get(f"{own}/ways/{way}", headers=HTML) for way in ("decline", "delegate")
            ]
            assert (await browser.post(f"{own}/decline", json={})).status_code == 200
            over = await browser.get(f"{own}/ways/decline", headers=HTML)
            assert (over.status_code, over.headers["location"]) == (303, own), "which says that it is over"
    [ends, not_allowed], [not_the_end, to_whom] = found.values()
    assert ("nobody can sign the document any more" in ends.text, "without you" in not_the_end.text) == (True, True)
    assert (not_allowed.status_code, "does not allow" in not_allowed.text) == (409, True)
    assert (to_whom.status_code, "acts on your behalf" in to_whom.text) == (200, True)


async def test_a_reason_that_is_too_long_comes_back_with_all_that_was_typed(office: Office) -> None:
    document = await office.create(send=True)
    async with office.session(document, "ann") as browser:
        own = f"/sign/{people(document)['Ann']}"
        typed = {"act": "decline", "reason": "no " * limits.REASON_CHARS}
        answer = await browser.post(f"http://deedbox.test{own}", headers=HTML, data=typed)
        assert (answer.status_code, typed["reason"] in answer.text) == (413, True)
    assert (await office.document(document["id"]))["status"] == "sent"


async def test_looking_at_the_ways_out_and_at_what_is_closed_changes_nothing(office: Office) -> None:
    document: Any = await office.create(signers=[signer("ann", delegation=True)], send=True)
    counts = "select (select count(*) from audit), (select count(*) from mails), (select count(*) from events)"
    async with office.session(document, "ann") as browser:
        await browser.get("", headers=HTML)
        before = await office.api.rows(counts)
        for way in ("/ways/decline", "/ways/delegate"):
            for _ in range(20):
                assert (await browser.get(way, headers=HTML)).status_code == 200
        assert await office.api.rows(counts) == before

"""The screens before and after the document, in a real browser: opening, code, the ways out, done, what is closed."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page

from deedbox.kernel import limits
from deedbox.signing import sessions
from tests.api.signing.conftest import CODE, LINK, Mailing, Office, signer
from tests.api.signing.test_entry import mailed, people, trail
from tests.browser.screens import accepted

pytestmark = pytest.mark.anyio
PHONE: Any = {"width": 390, "height": 760}
PLACE = {"page": 1, "x": 0.1, "y": 0.3, "w": 0.3, "h": 0.04, "signer": "ann@example.com"}


async def link(office: Office, document: Any, name: str = "ann") -> str:
    [path] = await mailed(office, about=document["id"], to=f"{name}@example.com")
    return office.address + path


async def opened(page: Page, address: str) -> None:
    await page.goto(address)
    async with page.expect_navigation():  # with its script
        await page.locator("form button.main").click()


async def test_opening_says_who_asks_for_what_needs_no_script_and_keeps_the_consent(
    browser: Browser, office: Office
) -> None:
    message = {"subject": "Your lease", "body": "The keys are ready.\nBen"}
    fields = [{"type": "text", "label": "City", **PLACE, "required": False}]
    document = await office.create(send=True, message=message, fields=fields, expires_at="2026-05-03T14:05:00Z")
    context = await browser.new_context(viewport=PHONE, java_script_enabled=False)
    page, looking = await context.new_page(), await (await browser.new_context(viewport=PHONE)).new_page()
    address = await link(office, document)
    await looking.goto(address)
    await accepted(looking, "opening")
    await page.goto(address)
    told = await page.locator("main").inner_text()
    for said in ("Ann, please read and sign “Lease”", "The keys are ready.", "Pages\n2", "3 May 2026, 14:05 UTC"):
        assert said in told, said
    await page.get_by_label("I agree to sign").check()
    await page.get_by_role("button", name="Open the document").click()
    await page.locator("img").first.wait_for()
    assert await page.get_by_label("I agree to sign").count() == 0, "it is not asked twice"
    [row] = await trail(office, document, "signer.link_opened")
    assert row["detail"]["consent"].startswith("I agree to sign this document electronically")


async def test_a_code_is_typed_into_one_box_sent_again_and_refused_when_wrong_old_or_the_sixth(
    browser: Browser, mailing: Mailing
) -> None:
    await mailing.create(signers=[signer("ann", auth="email_code")], send=True)
    address = mailing.address + await mailing.read(LINK, "ann", "Lease")
    page = await (await browser.new_context(viewport=PHONE)).new_page()
    await page.clock.install()
    await opened(page, address)
    box, again = page.get_by_label("Your code"), page.get_by_role("button", name="Resend")
    assert await box.get_attribute("autocomplete") == "one-time-code"
    assert await again.is_disabled()
    assert re.fullmatch(r"Resend in \d+ s", await again.inner_text())
    await accepted(page, "code")
    await page.clock.run_for(31_000)
    assert (await again.is_disabled(), await again.inner_text()) == (False, "Resend")
    await again.click()
    await page.get_by_role("alert").wait_for()  # the server's clock stands still
    assert "A code was sent a moment ago" in await page.get_by_role("alert").inner_text()
    code = await mailing.read(CODE, "ann", "Lease")
    await box.fill("000 000" if code != "000000" else "111111")
    await box.press("Enter")
    assert await page.get_by_role("alert").inner_text() == "The code is wrong. Attempts left: 4."
    await accepted(page, "code-wrong")
    for _ in range(limits.SIGNER_CODE_TRIES - 1):
        await box.fill("wrong!")
        async with page.expect_navigation():
            await box.press("Enter")
    assert "Too many attempts. Wait 15 minutes" in await page.get_by_role("alert").inner_text()
    assert await page.locator("#code, [name=act]").count() == 0, "there is nothing to type into"
    await accepted(page, "code-closed")
    mailing.api.clock.forward(limits.SIGNER_CODE_SECONDS + 1)
    await page.get_by_role("link", name="Reload this page").click()
    await box.fill(code)
    async with page.expect_navigation():
        await box.press("Enter")
    assert "This code has expired" in await page.get_by_role("alert").inner_text()
    mailing.room.taken.clear()
    async with page.expect_navigation():
        await again.click()
    code = await mailing.read(CODE, "ann", "Lease")
    await box.fill(f" {code[:3]} {code[3:]} ")
    await box.press("Enter")
    await page.locator("img").first.wait_for()


async def test_a_decline_says_what_follows_and_is_done_without_script(browser: Browser, office: Office) -> None:
    document = await office.create(send=True)
    context = await browser.new_context(viewport=PHONE, java_script_enabled=False)
    page, looking = await context.new_page(), await (await browser.new_context(viewport=PHONE)).new_page()
    for one in (page, looking):
        await opened(one, await link(office, document))
        await one.goto(f"{office.address}/sign/{people(document)['Ann']}/ways/decline")
    await accepted(looking, "decline")
    assert "nobody can sign the document any more" in await page.locator("main").inner_text()
    await page.get_by_label("Reason").fill("Too dear")
    await page.get_by_role("button", name="Decline to sign").click()
    await page.get_by_role("heading", name="You have declined").wait_for()
    found = await office.document(document["id"])
    assert (found["status"], found["decline"]["reason"]) == ("declined", "Too dear")
    kept, place = office.api.deedbox.inbox, office.api.workspace
    mails = await office.api.deedbox.db.read(lambda tx: kept.page(tx, place, status="inbox", limit=20))
    assert any(mail.kind.startswith("declined") for mail in mails), [mail.kind for mail in mails]


@pytest.mark.one_database
async def test_passing_it_on_keeps_what_was_typed(browser: Browser, office: Office) -> None:
    document = await office.create(signers=[signer("ann", delegation=True)], send=True)
    page = await (await browser.new_context(viewport=PHONE)).new_page()
    await opened(page, await link(office, document))
    await page.goto(f"{office.address}/sign/{people(document)['Ann']}/ways/delegate")
    await accepted(page, "delegate")
    await page.get_by_label("Their name").fill("Ann")  # who is asked already
    await page.get_by_label("Their email address").fill("ann@example.com")
    await page.get_by_role("button", name="Delegate").click()
    await page.get_by_role("alert").wait_for()
    assert await page.get_by_label("Their email address").input_value() == "ann@example.com"
    await page.get_by_label("Their name").fill("Ben")
    await page.get_by_label("Their email address").fill("ben@example.com")
    await page.get_by_role("button", name="Delegate").click()
    await page.get_by_role("heading", name="You have delegated this document").wait_for()
    await accepted(page, "closed-delegated")


async def test_done_shows_finalizing_and_then_the_sealed_file_without_reload(browser: Browser, office: Office) -> None:
    document = await office.create(send=True, signers=[signer("ann"), signer("bob")])
    page = await (await browser.new_context(viewport=PHONE)).new_page()
    address = await link(office, document)
    await opened(page, address)
    await page.locator("img").first.wait_for()
    own, jobs = page.url, office.api.deedbox.jobs
    body = {"consent": True, "signature": {"kind": "typed", "text": "Ann"}}
    assert (await page.request.post(f"{own}/complete", data=body)).ok
    await page.goto(own)
    await page.get_by_role("heading", name="Thank you, Ann.").wait_for()
    assert "Next\nBob" in await page.locator("main").inner_text()
    await accepted(page, "done-waiting")
    await jobs.stop()  # the document waits for its seal
    assert (await office.sign(document, "bob")).status_code == 200
    await page.get_by_text("is being sealed").wait_for()
    await page.evaluate("window.sameOne = true")
    await accepted(page, "done-finalizing")
    await jobs.start(alone=False)
    await page.get_by_role("link", name="Download the sealed document").wait_for(timeout=60_000)
    assert await page.evaluate("window.sameOne"), "the page was not loaded anew"
    await accepted(page, "done-sealed")
    async with page.expect_download() as arriving:
        await page.get_by_role("link", name="Download").click()
    assert Path(await (await arriving.value).path()).read_bytes().startswith(b"%PDF-")
    code = (await office.document(document["id"]))["verification_code"]
    assert await page.get_by_role("link", name=code).get_attribute("href") == f"/verify/{code}"


@pytest.mark.one_database
async def test_a_done_page_that_is_over_loads_itself_anew(browser: Browser, office: Office) -> None:
    document = await office.create(send=True, signers=[signer("ann"), signer("bob")])
    await office.sign(document, "ann")
    page = await (await browser.new_context(viewport=PHONE)).new_page()
    await opened(page, await link(office, document))
    await page.get_by_role("heading", name="Thank you, Ann.").wait_for()
    async with office.session(document, "bob") as bob:
        assert (await bob.post("/decline", json={})).status_code == 200
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # which looks at once
    await page.get_by_role("heading", name="This document was declined").wait_for()


async def closed(office: Office, page: Page) -> dict[str, tuple[str, str]]:
    """Each state in which a signer finds nothing to sign: where it is seen, and what its page is called."""
    both, found = [signer("ann"), signer("bob")], {}

    async def enter(document: Any, name: str = "ann") -> str:
        await opened(page, await link(office, document, name))
        return page.url

    made = await office.create(send=True)
    await office.api.post(f"/api/v1/documents/{made['id']}/void", {"reason": "Another tenant"})
    found["withdrawn"] = (await enter(made), "This document was withdrawn")
    made = await office.create(send=True, signers=both)
    async with office.session(made, "bob") as bob:
        assert (await bob.post("/decline", json={"reason": "The price"})).status_code == 200
    found["declined"] = (await enter(made), "This document was declined")
    made = await office.create(send=True, signers=both)
    await office.sign(made, "ann")
    found["signed"] = (await enter(made), "Thank you, Ann.")
    made = await office.create(send=True, parties=[{"name": "Board", "rule": "any", "signers": both}], signers=[])
    await office.sign(made, "bob")
    found["not needed"] = (await enter(made), "Your signature is no longer needed")
    orders = [{"name": name, "order": at, "signers": [signer(name)]} for at, name in enumerate(("bob", "ann"), 1)]
    made = await office.create(send=True, parties=orders, signers=[])
    now, ann = office.api.clock.now(), people(made)["Ann"]
    token = await office.api.deedbox.db.write(lambda tx: sessions.new_link(tx, ann, "mail", now=now))
    await opened(page, f"{office.address}/s/{token.reveal()}")
    found["not your turn"] = (page.url, "It is not your turn yet")
    made = await office.create(send=True, expires_at="2026-03-02T12:00:00Z")
    found["expired"] = (await enter(made), "The deadline for signing has passed")
    found["link unknown"] = (f"{office.address}/s/deed_sign_{'x' * 32}", "We do not recognise this link")
    return found


@pytest.mark.one_database
async def test_all_eight_closed_states_have_a_page_each_that_names_sender_and_next_step(
    browser: Browser, office: Office
) -> None:
    context = await browser.new_context(viewport=PHONE)
    page = await context.new_page()
    name = (await office.api.get("/api/v1/workspace")).json()["name"]
    pages = await closed(office, page)
    office.api.clock.forward(86_400)
    over = await office.create(send=True, title="Sale")
    await opened(page, await link(office, over))
    pages["session over"] = (page.url, "Your session has ended")
    for state, (address, heading) in pages.items():
        if state != "link unknown":
            await _again(office, page, address)
        if state == "session over":
            office.api.clock.forward(limits.SIGNER_SESSION_SECONDS)
        await page.goto(address)
        await page.get_by_role("heading", name=heading).wait_for()
        told = await page.locator("main").inner_text()
        assert (name in told) == (state != "link unknown"), state
        assert re.search("do not need to|ask |informed", told, re.IGNORECASE), (state, told)
        await accepted(page, f"closed-{state.replace(' ', '-')}")


async def _again(office: Office, page: Page, address: str) -> None:
    """A new session of the signer whom the address names: those of before are over after a day."""
    signer_id, now = address.rsplit("/", 1)[1], office.api.clock.now()
    token = await office.api.deedbox.db.write(lambda tx: sessions.new_link(tx, signer_id, "mail", now=now))
    await opened(page, f"{office.address}/s/{token.reveal()}")

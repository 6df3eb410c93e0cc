"""The list of documents and the page of one in a real browser: they follow what happens, and keep to their bounds."""

import re

import pytest
from playwright.async_api import Browser, Page, expect

from tests.api.signing.conftest import Office, signer
from tests.browser.screens import accepted
from tests.browser.test_frame import signed_in

pytestmark = [pytest.mark.anyio, pytest.mark.one_database]

HEAVIEST = 150_000


async def desk(browser: Browser, office: Office) -> Page:
    page = await (await browser.new_context(viewport={"width": 1320, "height": 860})).new_page()
    await signed_in(office, page)
    return page


async def shows(page: Page, text: str | re.Pattern[str]) -> None:
    """Once the clock of the page has gone on, without a reload."""
    await page.clock.run_for(10_000)
    await expect(page.get_by_text(text).first).to_be_visible()


async def times_are_exact_on_hover_and_focus(page: Page, title: str) -> None:
    """Above the time that is told, within the screen; nothing moves for it."""
    row, link = page.get_by_role("row").filter(has_text=title), page.get_by_role("link", name=title)
    exact, before = row.locator(".exact"), await row.bounding_box()
    assert re.search(r"20\d\d.*UTC", await row.inner_text()), "for those who listen it is always there"

    async def width() -> float:
        box = await exact.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= 1320
        return box["width"]

    assert await width() == 1
    await link.hover()
    assert await width() > 100
    await page.mouse.move(0, 0)
    assert await width() == 1
    await page.keyboard.press("Tab")
    await link.focus()
    assert await width() > 100
    assert await row.bounding_box() == before


async def test_documents_are_live_and_filters_are_in_the_address(browser: Browser, office: Office) -> None:
    page = await desk(browser, office)
    await page.clock.install()
    await page.goto(f"{office.address}/app/documents")
    await accepted(page, "documents-empty")
    both = [signer("ann"), signer("ben", order=2)]
    lease = await office.create(title="Lease of the house at the harbour", signers=both, send=True)
    await shows(page, "Lease of the house at the harbour")
    await office.create(title="Offer")
    many = [signer(name) for name in ("cem", "dora", "emil", "fay", "gus", "hal")]
    await office.create(title="Rules of the house", signers=many, send=True)
    await office.api.post(f"/api/v1/documents/{(await office.create(send=True))['id']}/void", {"reason": "Twice"})
    assert (await office.sign(lease, "ann")).status_code == 200
    await shows(page, "Ann signed")
    await accepted(page, "documents")
    await times_are_exact_on_hover_and_focus(page, "Rules of the house")
    await page.get_by_role("searchbox").fill("house")
    await page.get_by_role("searchbox").press("Enter")
    await expect(page).to_have_url(re.compile(r"\?q=house"))
    await page.get_by_text("More filters").click()
    await page.get_by_label("Person's email address").fill("ben@example.com")
    await page.get_by_role("button", name="Search").click()
    await expect(page.locator("tbody tr")).to_have_count(1)
    await expect(page).to_have_url(re.compile(r"q=house.*person=ben%40example.com"))
    await accepted(page, "documents-filtered")
    await page.get_by_role("link", name="Clear").click()
    await page.get_by_role("link", name=re.compile("^Drafts")).click()
    await expect(page.locator("tbody tr")).to_have_count(1)
    # By the keyboard alone: the row is one link.
    await page.get_by_role("link", name="Offer").focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="Offer")).to_be_visible()
    await accepted(page, "document-draft")


async def test_a_document_s_page_follows_it_from_sent_to_sealed(browser: Browser, office: Office) -> None:
    page = await desk(browser, office)
    weight: list[int] = []
    other: list[str] = []
    page.on("request", lambda one: other.append(one.url) if not one.url.startswith(office.address) else None)
    both = [signer("ann"), signer("ben", order=2)]
    document = await office.create(title="Lease", signers=both, send=True, external_id="lease-7")
    await page.clock.install()
    page.on("response", lambda one: weight.append(int(one.headers.get("content-length", 0))))
    await page.goto(f"{office.address}/app/documents/{document['id']}")
    await expect(page.get_by_text("Waiting for Ann since today")).to_be_visible()
    before = await page.locator(".thumbs img").first.bounding_box()
    await page.wait_for_load_state("networkidle")
    # A picture is a whole number of pixels high and its page is not: it may settle by a part of one.
    assert await page.locator(".thumbs img").first.bounding_box() == pytest.approx(before, abs=0.5), "nothing shifts"
    assert await page.locator(".thumbs img").first.evaluate("image => image.naturalWidth") == 480
    assert sum(weight) < HEAVIEST
    await accepted(page, "document-sent")
    await page.get_by_role("link", name="Ann", exact=True).click()
    await accepted(page, "document-person")
    await page.get_by_role("button", name="Create link").click()
    await expect(page.get_by_text("This link is shown only once.")).to_be_visible()
    await accepted(page, "document-link")
    await page.goto(f"{office.address}/app/documents/{document['id']}")
    await page.get_by_role("button", name="Withdraw").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
    await accepted(page, "document-withdraw")
    await dialog.get_by_role("heading").click()  # which takes the focus, and leaves the question open
    await dialog.get_by_role("textbox").evaluate("box => { box.value = 'Twice'; }")
    await page.clock.run_for(20_000)
    await expect(dialog).to_be_visible()
    await page.keyboard.press("Escape")
    await page.evaluate("document.activeElement.blur()")
    async with page.expect_response(lambda one: one.request.headers.get("x-part") == "standing"):
        await page.clock.run_for(10_000)
    await expect(page.locator("#reason")).to_have_value("Twice")
    await page.get_by_role("button", name="Remind Ann").click()
    await page.get_by_role("button", name="Remind Ann").click()
    await expect(page.get_by_text("within the last hour")).to_be_visible()
    await expect(page).to_have_url(re.compile("/remind$"))  # whence it follows all the same
    await page.evaluate("document.activeElement.blur(); window.sameDocument = true")
    assert (await office.sign(document, "ann")).status_code == 200
    await shows(page, "Waiting for Ben since today")
    await shows(page, "Ann signed")
    assert (await office.sign(document, "ben")).status_code == 200
    await office.completed(document)
    await shows(page, re.compile("everyone has signed, and the document is sealed"))
    await shows(page, "Certificate of completion")
    await shows(page, "Sealed and completed")
    assert await page.evaluate("window.sameDocument")
    await page.reload()
    await accepted(page, "document-completed")
    async with page.expect_download() as download:
        await page.get_by_role("link", name="Download the sealed PDF").click()
    assert (await download.value).suggested_filename == "Lease.pdf"
    assert other == []


async def test_state_and_timeline_of_a_document_change_together(browser: Browser, office: Office) -> None:
    page = await desk(browser, office)
    document = await office.create(title="Lease", send=True)
    await page.goto(f"{office.address}/app/documents/{document['id']}")
    assert (await office.api.post(f"/api/v1/documents/{document['id']}/void", {"reason": "Twice"})).status_code == 200
    standing, timeline = page.locator("[data-live=standing]"), page.locator("[data-live=timeline]")
    # As while a document is being sealed: its state is asked for every second, its timeline every ten.
    await standing.evaluate("part => { part.dataset.liveBusy = ''; part.dispatchEvent(new CustomEvent('live')); }")
    await expect(standing).to_contain_text("Withdrawn today")
    assert "Withdrawn" in await timeline.inner_text()


async def test_what_is_broken_or_ended_may_be_shown_to_anyone(browser: Browser, office: Office) -> None:
    page = await desk(browser, office)
    document = await office.create(title="Lease", send=True)
    async with office.session(document, "ann") as session:
        assert (await session.post("/decline", json={"reason": "The rent is too high."})).status_code == 200
    await office.api.deedbox.db.write(
        lambda tx: tx.run("update audit set actor = 'sgn_x' where document_id = :id and number = 3", id=document["id"])
    )
    await page.goto(f"{office.address}/app/documents/{document['id']}")
    await expect(page.get_by_text("The chain is broken at entry 3")).to_be_visible()
    await expect(page.get_by_text("The rent is too high.").first).to_be_visible()
    await accepted(page, "document-broken")

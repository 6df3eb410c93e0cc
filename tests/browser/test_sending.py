"""From files to signers in a real browser: New, People and Review; the fields between are the editor's."""

import asyncio
import importlib.util
from typing import Any

import pytest
from playwright.async_api import Browser, Page, Route, expect

from deedbox.pdf.intake import libreoffice
from tests.api.search.files import pdf
from tests.api.signing.conftest import LEASE, Office
from tests.api.signing.test_incoming import LOCKED, PASSWORD
from tests.browser.hands import dropped
from tests.browser.screens import accepted
from tests.browser.test_frame import signed_in
from tests.pdf.papers import scribble
from tests.pdf.test_convert import docx

pytestmark = [pytest.mark.anyio, pytest.mark.one_database]
TAGGED = pdf("Signed by both: {{signature:Tenant}}", "And here: {{signature:Landlord}}", size=(595, 842))
KEEP = """drawn => fetch('sketch', {
    method: 'PUT', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(drawn)
}).then(answer => answer.status)"""


def file(name: str, content: bytes) -> Any:
    return {"name": name, "mimeType": "application/octet-stream", "buffer": content}


async def opened(browser: Browser, office: Office, **more: Any) -> Page:
    page = await (await browser.new_context(**more)).new_page()
    await signed_in(office, page)
    return page


async def people_of(page: Page, office: Office, *files: Any) -> str:
    """The address of a draft of these files, whose people are asked for."""
    await page.goto(f"{office.address}/app/new")
    await page.get_by_label("Choose files").set_input_files([*files] or [file("lease.pdf", LEASE)])
    await page.get_by_role("button", name="Continue to people").click()
    await page.wait_for_url("**/people")
    return page.url.removesuffix("/people")


async def write(page: Page, step: int, row: int, name: str) -> None:
    place = f"parties.{step}.signers.{row}"
    await page.locator(f"[name='{place}.name']").fill(name)
    await page.locator(f"[name='{place}.email']").fill(f"{name.lower()}@example.com")


async def test_pdf_word_html_and_images_are_taken_and_an_encrypted_one_is_refused_beside_its_file(
    browser: Browser, office: Office
) -> None:
    page = await opened(browser, office)
    await page.goto(f"{office.address}/app/new")
    await accepted(page, "new-empty")
    await page.get_by_label("Choose files").set_input_files(file("scan.png", scribble(mode="RGB")))
    await dropped(page.locator("#drop"), ("secret.pdf", LOCKED), ("Lease_2026.pdf", LEASE))
    rows = page.locator("#chosen .file")
    await rows.nth(2).get_by_role("button", name="Move Lease_2026.pdf up").click()
    await rows.nth(1).get_by_role("button", name="Move Lease_2026.pdf up").click()
    await expect(page.get_by_label("Title")).to_have_value("Lease 2026")
    await page.get_by_role("button", name="Continue to people").click()
    await expect(rows.nth(2)).to_contain_text("is password-protected")
    await expect(page.locator("#chosen .wrong:visible")).to_have_count(1)
    await expect(page.locator("#chosen .password:visible")).to_have_count(1)
    await accepted(page, "new-refused")
    await rows.nth(2).get_by_label("Password of this file").fill(PASSWORD)
    await page.get_by_role("button", name="Continue to people").click()
    await page.wait_for_url("**/people")
    made = await office.document(page.url.split("/")[-2])
    assert [one["name"] for one in made["files"]] == ["Lease_2026.pdf", "scan.png", "secret.pdf"]
    later = [file("terms.docx", docx("Terms"))] if libreoffice.program() else []
    webpage = file("page.html", b"<!doctype html><title>Hello</title><p>Hello")
    if importlib.util.find_spec("weasyprint"):
        later += [webpage]
    else:
        await page.goto(f"{office.address}/app/new")
        await page.get_by_label("Choose files").set_input_files(webpage)
        await page.get_by_role("button", name="Continue to people").click()
        await expect(rows.first).to_contain_text("pip install weasyprint")
        await accepted(page, "new-no-weasyprint")
    if later:
        await people_of(page, office, *later)
        await write(page, 0, 0, "Ann")
        await page.get_by_role("button", name="Continue to fields").click()
        await expect(page.locator(".paper")).to_have_count(len(later), timeout=90_000)
        await page.locator("html[data-ready]").wait_for(state="attached")
    await page.goto(f"{office.address}/app/new")
    await page.get_by_label("Choose files").set_input_files(file("large.pdf", b"%PDF-" + b"0" * 1000))
    await page.get_by_role("button", name="Continue to people").click()
    await expect(page.locator("#chosen .wrong:visible")).to_have_count(1)


async def test_files_and_clicks_that_come_before_a_script_is_ready_count(browser: Browser, office: Office) -> None:
    page, ready = await opened(browser, office), asyncio.Event()

    async def held(route: Route) -> None:
        await ready.wait()
        await route.continue_()

    await page.route("**/js/new.js", held)
    await page.goto(f"{office.address}/app/new", wait_until="commit")
    await page.get_by_label("Choose files").set_input_files(file("lease.pdf", LEASE))
    ready.set()
    await expect(page.locator("#chosen .file")).to_have_count(1)
    await page.get_by_role("button", name="Continue to people").click()
    await write(page, 0, 0, "Ann")
    ready.clear()
    await page.route("**/sketch", held)
    await page.get_by_role("button", name="Continue to fields").click()
    await expect(page.locator(".paper").first).to_be_visible()
    await page.locator("a.main[data-keeps]").click()
    await page.wait_for_url("**/review")
    ready.set()


async def test_two_of_three_and_then_a_second_stage_duplicates_named_and_nothing_leaves_before_send(
    browser: Browser, office: Office
) -> None:
    page = await opened(browser, office)
    draft = await people_of(page, office)
    await accepted(page, "people-empty")
    await write(page, 0, 0, "Ann")
    for row, name in enumerate(("Ben", "Cy"), 1):
        await page.get_by_role("button", name="Add a person to this stage").click()
        await write(page, 0, row, name)
    await page.get_by_label("Who has to sign").select_option("Some of them")
    await page.get_by_label("How many").fill("2")
    await page.get_by_role("button", name="Add a stage").click()
    await write(page, 1, 0, "Ann")
    await page.get_by_role("button", name="Continue to fields").click()
    await expect(page.locator("[id='parties.1.signers.0.email-error']")).to_have_text(
        "Ann is already in stage 1. Remove one of the two."
    )
    await accepted(page, "people-twice")
    await write(page, 1, 0, "Dora")
    # Whoever goes back finds what was typed.
    await page.locator("a.back").click()
    await page.wait_for_url("**/app/documents")
    await page.goto(f"{draft}/people")
    await expect(page.locator("[name='parties.0.quorum']")).to_have_value("2")
    await expect(page.locator("[name='parties.1.signers.0.email']")).to_have_value("dora@example.com")
    # By drag too: the second step first, and back.
    grips = page.locator(".step-card > .row .grip")
    await grips.nth(1).drag_to(page.locator(".step-card").nth(0), target_position={"x": 40, "y": 4})
    await expect(page.locator("[name='parties.0.signers.0.name']")).to_have_value("Dora")
    await page.get_by_role("button", name="Move this stage down").first.click()
    await expect(page.locator("[name='parties.1.signers.0.name']")).to_have_value("Dora")
    # By a press as well, across the stages: into the first, and behind it into one of their own.
    await page.get_by_role("button", name="Move Dora up").click()
    await expect(page.locator("[name='parties.0.signers.3.name']")).to_have_value("Dora")
    await expect(page.locator(".step-card")).to_have_count(1)
    await page.get_by_role("button", name="Move Dora down").click()
    await expect(page.locator("[name='parties.1.signers.0.name']")).to_have_value("Dora")
    await page.get_by_role("button", name="Continue to fields").click()
    await page.wait_for_url("**/fields")
    await page.goto(f"{draft}/people")
    await expect(page.locator(".step-card")).to_have_count(2)
    sketch = await page.evaluate("fetch('sketch').then(answer => answer.json())")
    fields = [
        {
            "key": f"f{n}",
            "type": "signature",
            "page": 1,
            "x": 0.1,
            "y": 0.1 + n / 6,
            "w": 0.3,
            "h": 0.06,
            "who": one["key"],
        }
        for n, one in enumerate(sketch["parties"][0]["signers"])
    ]
    assert await page.evaluate(KEEP, {"version": sketch["version"], "fields": fields}) == 200
    await page.goto(f"{draft}/review")
    await expect(page.get_by_text("A signature field will be added")).to_have_count(1)
    await page.get_by_label("Email subject").fill("The lease")
    await accepted(page, "review")
    await page.get_by_role("link", name="Preview as Ben").click()
    await expect(page.locator(".over .mine")).to_have_count(1)
    assert (
        await page.locator(".page img").first.evaluate("image => image.decode().then(() => image.naturalWidth)") >= 480
    )
    await accepted(page, "preview")
    document_id = draft.rpartition("/")[2]
    assert (await office.document(document_id))["status"] == "draft"
    assert await office.api.rows("select count(*) from mails") == [(0,)]
    await page.goto(f"{draft}/review")
    await page.get_by_role("button", name="Send to 4 people").dblclick()
    await page.wait_for_url("**?done=sent")
    sent = await office.document(document_id)
    assert (sent["status"], [one["quorum"] for one in sent["parties"]]) == ("sent", [2, None])
    assert await office.api.rows("select count(*) from mails") == [(3,)]


CHOOSE = """(box, value) => {
    box.focus(); box.value = value;
    box.dispatchEvent(new Event('input', {bubbles: true})); box.dispatchEvent(new Event('change', {bubbles: true}));
}"""
"""What Chromium does when a suggestion of a list is chosen; without a window it does not show the list."""


async def test_only_a_chosen_suggestion_fills_in_the_other_box(browser: Browser, office: Office) -> None:
    for known, address in (("Ann Example", "ann@example.com"), ("Ben", "ben@one.example"), ("Ben", "ben@two.example")):
        await office.create(signers=[{"name": known, "email": address}], send=True)
    page = await opened(browser, office)
    await people_of(page, office)
    name = page.locator("[name='parties.0.signers.0.name']")
    email = page.locator("[name='parties.0.signers.0.email']")
    await name.press_sequentially("Ann Example")
    await email.click()
    await expect(email).to_have_value("")
    await email.press_sequentially("ann@example.com")
    await expect(email).to_have_value("ann@example.com")
    await email.fill("")
    await name.evaluate(CHOOSE, "Ann Example")
    await expect(email).to_have_value("ann@example.com")
    await email.click(position={"x": 60, "y": 10})
    await page.keyboard.type("ann@home.example")
    await expect(email).to_have_value("ann@home.example")
    await name.evaluate(CHOOSE, "Ben")  # a name that two people have
    await expect(email).to_have_value("ann@home.example")
    await name.fill("")
    await email.evaluate(CHOOSE, "ben@two.example")
    await expect(name).to_have_value("Ben")


async def test_new_people_and_review_work_without_script(browser: Browser, office: Office) -> None:
    page = await opened(browser, office, java_script_enabled=False)
    await page.goto(f"{office.address}/app/new")
    await page.locator("#file").set_input_files([file("lease.pdf", TAGGED), file("secret.pdf", LOCKED)])
    await page.get_by_role("button", name="Continue to people").click()
    await expect(page.get_by_role("alert").get_by_text("is password-protected")).to_be_visible()
    await accepted_plain(page)
    await page.locator("#file").set_input_files(file("lease.pdf", TAGGED))
    await page.get_by_role("button", name="Continue to people").click()
    await page.wait_for_url("**/people")
    await expect(page.locator(".step-card h2").first).to_contain_text("Tenant")
    await write(page, 0, 0, "Ann")
    await page.get_by_role("button", name="Add a person to this stage").first.click()
    await write(page, 0, 1, "Ben")
    await write(page, 1, 0, "Cy")
    await page.get_by_role("button", name="Move this stage up").nth(1).click()
    await expect(page.locator("[name='parties.0.signers.0.name']")).to_have_value("Cy")
    draft = page.url.removesuffix("/people")
    await page.get_by_role("button", name="Continue to fields").last.click()
    await page.goto(f"{draft}/review")
    await page.get_by_role("button", name="Send to 3 people").click()
    await page.wait_for_url("**?done=sent")


async def accepted_plain(page: Page) -> None:
    """What can be asked of a screen without script."""
    assert page.viewport_size
    await expect(page.locator("#refused li")).to_have_count(2)


async def test_a_document_is_sent_by_keyboard_alone(browser: Browser, office: Office) -> None:
    page = await opened(browser, office)
    await page.goto(f"{office.address}/app/new")
    await page.locator("#file").set_input_files([file("a.pdf", LEASE), file("b.pdf", LEASE)])
    await page.get_by_role("button", name="Move b.pdf up").focus()
    await page.keyboard.press("Enter")
    await expect(page.locator("#chosen .file .name").first).to_have_text("b.pdf")
    await page.get_by_label("Title").focus()
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/people")
    draft = page.url.removesuffix("/people")
    await page.locator("[name='parties.0.signers.0.name']").focus()
    await page.keyboard.type("Ann")
    await page.keyboard.press("Tab")
    await page.keyboard.type("ann@example.com")
    await page.get_by_role("button", name="Add a stage").focus()
    await page.keyboard.press("Enter")
    await page.keyboard.type("Ben")
    await page.keyboard.press("Tab")
    await page.keyboard.type("ben@example.com")
    await page.get_by_role("button", name="Move this stage up").last.focus()
    await page.keyboard.press("Enter")
    await expect(page.locator("[name='parties.0.signers.0.name']")).to_have_value("Ben")
    await page.locator("[name='parties.0.signers.0.name']").focus()
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/fields")
    await page.goto(f"{draft}/review")
    await page.get_by_role("button", name="Send to 2 people").focus()
    await page.keyboard.press("Enter")
    await page.wait_for_url("**?done=sent")
    found = await office.document(draft.rpartition("/")[2])
    assert [one["name"] for one in found["parties"]] == ["Ben", "Ann"]

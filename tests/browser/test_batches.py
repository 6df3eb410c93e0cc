"""Templates, packets and bulk sends in a real browser: every screen looked at, and what only a script does."""

import asyncio
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from deedbox.pdf.intake import libreoffice
from tests.api.signing import test_bulk as bulk
from tests.api.signing.conftest import LEASE, Office
from tests.api.signing.packets import RULES, Packets
from tests.api.signing.test_template_pages import CITY, locked
from tests.api.signing.test_templates import TAGGED, create
from tests.browser.screens import accepted
from tests.browser.test_frame import signed_in
from tests.browser.test_sending import write
from tests.pdf.test_convert import docx

pytestmark = [pytest.mark.anyio, pytest.mark.one_database]


async def opened(browser: Browser, office: Office) -> Page:
    page = await (await browser.new_context(viewport={"width": 1320, "height": 860})).new_page()
    await signed_in(office, page)
    return page


def files(folder: Path, **named: bytes) -> list[Path]:
    made = []
    for name, content in named.items():
        made.append(folder / f"{name}.pdf")
        made[-1].write_bytes(content)
    return made


async def test_templates_are_cards_made_of_files_edited_by_role_and_used(
    browser: Browser, office: Office, tmp_path: Path
) -> None:
    await create(office, fields=[CITY])
    page = await opened(browser, office)
    await page.goto(f"{office.address}/app/templates/new")
    await page.get_by_label("Files", exact=True).set_input_files(files(tmp_path, secret=locked(), rules=TAGGED))
    await page.get_by_label("Name", exact=True).first.fill("House rules")
    await page.get_by_role("button", name="Create template").first.click()
    refused = page.locator(".refused .wrong")
    await expect(refused).to_contain_text("password")
    await expect(page.get_by_label("Name", exact=True).first).to_have_value("House rules")
    await accepted(page, "template-new-refused")
    await page.get_by_role("button", name="Remove secret.pdf").click()
    await page.get_by_role("button", name="Create template").first.click()
    await expect(page.get_by_role("heading", name="House rules", level=1)).to_be_visible()
    await expect(page.locator(".pages img").first).to_have_js_property("complete", True)
    await accepted(page, "template")
    await page.get_by_role("link", name="Roles and messages").click()
    await page.get_by_role("button", name="Add a role").click()
    await page.locator("[name='roles.3.name']").fill("Witness")
    await accepted(page, "template-edit")
    await page.get_by_role("button", name="Save as version 2").click()
    await expect(page.get_by_text("Saved as a new version.")).to_be_visible()
    await page.get_by_role("link", name="Place fields").click()
    await expect(page.locator(".paper").first).to_be_visible()
    await page.get_by_role("link", name="Save").click()
    await accepted(page, "template-save")
    await page.get_by_role("link", name="Back to the template").click()
    await page.get_by_role("link", name="Replace files").click()
    await page.get_by_label("New files").set_input_files(files(tmp_path, short=RULES))
    await accepted(page, "template-files")
    await page.get_by_role("button", name="Save as version 3").click()
    await expect(page.get_by_text("These fields did not fit the new files")).to_be_visible()
    await accepted(page, "template-fell-off")
    await page.goto(f"{office.address}/app/templates")
    await accepted(page, "templates")
    await page.get_by_role("link", name="Lease").click()
    await page.get_by_role("link", name="Use template").click()
    await page.get_by_label("Name", exact=True).fill("Ann")
    await page.get_by_label("Email address").fill("ann@example.com")
    await page.get_by_label("Identity check").select_option("access_code")
    await page.get_by_role("textbox", name="Access code").fill("open sesame")
    await accepted(page, "template-use")
    await page.get_by_role("button", name="Send").click()
    await page.wait_for_url("**/app/documents/doc_*")


async def test_a_packet_goes_from_files_over_people_fields_and_review_and_is_followed(
    browser: Browser, office: Office, tmp_path: Path
) -> None:
    await Packets(office.api).create(send=True)
    page = await opened(browser, office)
    await page.goto(f"{office.address}/app/packets")
    await accepted(page, "packets")
    await page.get_by_role("link", name="New packet").click()
    lease, rules = files(tmp_path, Lease=LEASE, Rules=RULES)
    if libreoffice.program():
        rules = tmp_path / "Rules.docx"
        rules.write_bytes(docx("Shoes off."))
    await page.get_by_label("Choose files").set_input_files([lease, rules])
    await page.get_by_role("button", name=f"Move {rules.name} up").click()
    await page.get_by_label("Title").fill("Moving in")
    await expect(page.get_by_role("radio", name="As a packet")).to_be_checked()
    await accepted(page, "packet-new")
    await page.get_by_role("button", name="Continue to people").click()
    await page.wait_for_url("**/people")
    await write(page, 0, 0, "Dora")
    await page.get_by_role("button", name="Add a stage").click()
    await write(page, 1, 0, "Ben")
    await accepted(page, "packet-people")
    await page.get_by_role("button", name="Continue to fields").click()
    await page.wait_for_url("**/fields")  # of Word, the pages come by themselves once it is converted
    await expect(page.locator(".paper")).to_have_count(3, timeout=90_000)
    await page.locator("html[data-ready]").wait_for(state="attached")
    await page.get_by_role("button", name="Signature", exact=True).click()
    await page.locator(".paper").nth(2).click(position={"x": 200, "y": 300})
    await page.keyboard.press("Escape")
    await expect(page.get_by_text("Ben has no signature field yet. If you add none, one is placed")).to_be_visible()
    await accepted(page, "packet-fields")
    await page.get_by_role("link", name="Review and send").click()
    await expect(page.locator("section", has=page.locator("#documents"))).to_contain_text("2 pages · 1 field")
    await accepted(page, "packet-review")
    await page.get_by_role("link", name="Preview as Dora").click()
    await expect(page.locator(".over .mine")).to_have_count(1)
    await accepted(page, "packet-preview")
    await page.go_back()
    await page.get_by_role("button", name="Save as draft").click()
    await expect(page.get_by_text("Saved.")).to_be_visible()
    assert await page.locator("[data-live=documents] a.whole").all_inner_texts() == ["Rules", "Lease"]
    await accepted(page, "packet-draft")
    await page.get_by_role("link", name="Review and send").click()
    await page.get_by_role("button", name="Send to 2 people").click()
    await expect(page.get_by_text("Waiting for Dora since today")).to_be_visible()
    await accepted(page, "packet")
    await page.get_by_role("link", name="Dora").click()
    await page.get_by_label("Email address").fill("dora@right.example")
    await accepted(page, "packet-person")
    await page.get_by_role("button", name="Edit").click()
    await expect(page.get_by_text("dora@right.example")).to_be_visible()
    await page.get_by_role("button", name="Remind Dora").click()
    await expect(page.get_by_text("no mail server is set")).to_be_visible()
    await page.get_by_role("button", name="Withdraw").first.click()
    await page.get_by_label("Reason (shown to everyone who was asked)").fill("Another flat")
    await page.get_by_role("dialog").get_by_role("button", name="Withdraw").click()
    await expect(page.get_by_text("Nobody can sign it any more")).to_be_visible()


async def test_a_bulk_send_goes_from_a_table_to_a_bar_that_stays_when_it_is_closed(
    browser: Browser, office: Office, tmp_path: Path
) -> None:
    await bulk.template(office)
    table = tmp_path / "tenants.csv"
    rows = "".join(f"Ann {number},a{number}@example.com,{number}\n" for number in range(12))
    table.write_text(f"Full name,E-mail,Flat\n{rows}Ben,nowhere,1\nMara,,2\n")
    page = await opened(browser, office)
    await page.goto(f"{office.address}/app/bulk/new")
    await page.get_by_label("Template", exact=True).select_option("Lease")
    await page.get_by_label("Table of people").set_input_files(table)
    await accepted(page, "bulk-new")
    await page.get_by_role("button", name="Continue").click()
    await expect(page.get_by_label("Used as: E-mail")).to_have_value("Tenant.email")
    await accepted(page, "bulk-columns")
    await page.get_by_text("Title, message and rate").click()
    await page.get_by_label("Maximum rows per minute").fill("60")
    await page.get_by_role("button", name="Check all rows").click()
    await expect(page.get_by_text("2 of 14 rows cannot be sent.")).to_be_visible()
    await accepted(page, "bulk-check")
    await page.get_by_role("button", name="Send 12 without them").click()
    await page.wait_for_url("**/app/bulk/blk_*")
    bar = page.locator("[data-live=progress] progress")
    await expect(bar).to_have_attribute("max", "12")
    address, first = page.url.partition("?")[0], int(await bar.get_attribute("value") or 0)
    assert first < 12, "at sixty a minute it is under way"
    await page.close()
    page = await opened(browser, office)
    await page.goto(address)
    bar = page.locator("[data-live=progress] progress")
    assert first <= int(await bar.get_attribute("value") or 0) < 12
    await page.get_by_role("button", name="Pause").click()
    await expect(page.get_by_text("No more rows are sent until you resume.")).to_be_visible()
    await accepted(page, "bulk")
    await page.get_by_role("button", name="Resume").click()
    await page.evaluate("window.sameDocument = true")
    async with asyncio.timeout(60):
        while await bar.get_attribute("value") != "12":
            office.api.clock.forward(20)
            office.api.deedbox.jobs.wake()
            await asyncio.sleep(0.1)
    assert await page.evaluate("window.sameDocument"), "the bar follows without a reload"
    await page.get_by_role("link", name="All bulk sends").click()
    await accepted(page, "bulk-sends")

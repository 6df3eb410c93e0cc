"""What those who send do on pages, each once by keyboard alone."""

from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from tests.api.signing import test_bulk as bulk
from tests.api.signing.conftest import LEASE, Office
from tests.browser.hands import reached
from tests.browser.test_frame import signed_in

pytestmark = [pytest.mark.anyio, pytest.mark.one_database]


async def opened(browser: Browser, office: Office, path: str) -> Page:
    page = await (await browser.new_context()).new_page()
    await signed_in(office, page)
    await page.goto(office.address + path)
    return page


async def pressed(page: Page, name: str, key: str = "Enter") -> None:
    await reached(page, name)
    await page.keyboard.press(key)


async def typed(page: Page, name: str, text: str) -> None:
    await reached(page, name)
    await page.keyboard.press("Control+A")
    await page.keyboard.type(text)


async def chosen(page: Page, name: str, file: Path) -> None:
    """Chooses a file in the window that the browser opens."""
    page.on("filechooser", lambda _: None)  # in time: asked for together with the press, the window may open before
    await reached(page, name)
    async with page.expect_file_chooser() as choosing:
        await page.keyboard.press("Space")
    await (await choosing.value).set_files(file)


async def test_members_webhooks_and_branding_by_keyboard_alone(browser: Browser, office: Office) -> None:
    page = await opened(browser, office, "/app/settings/members")
    await typed(page, "Email address (optional)", "ben@example.com")
    await pressed(page, "Create link")
    await expect(page.locator("input[readonly], pre").first).to_be_visible()
    await page.goto(f"{office.address}/app/settings/hooks")
    await pressed(page, "New webhook")
    await page.get_by_role("heading", name="New webhook").wait_for()
    await typed(page, "URL", "https://hooks.example/in")
    await pressed(page, "Everything", "Space")
    await pressed(page, "Create webhook")
    await page.get_by_role("heading", name="Webhook created").wait_for()
    await page.goto(f"{office.address}/app/settings/branding")
    await typed(page, "Company name", "Harbour Ltd")
    await page.keyboard.press("Enter")
    await expect(page.locator(".house strong")).to_have_text("Harbour Ltd")
    members = (await office.api.get("/api/v1/members")).json()["members"]
    assert [one["email"] for one in members if one["status"] == "invited"] == ["ben@example.com"]
    assert [one["target_url"] for one in (await office.api.get("/api/v1/hooks")).json()["hooks"]] == [
        "https://hooks.example/in"
    ]


async def test_a_document_is_withdrawn_by_keyboard_alone(browser: Browser, office: Office) -> None:
    document = await office.create(send=True)
    page = await opened(browser, office, f"/app/documents/{document['id']}")
    await pressed(page, "Withdraw")
    await expect(page.get_by_role("button", name="Cancel")).to_be_focused()
    await typed(page, "Reason (shown to everyone who was asked)", "Another flat")
    await pressed(page, "Withdraw")
    await expect(page.get_by_text("Another flat").first).to_be_visible()
    assert (await office.document(document["id"]))["status"] == "voided"


async def test_a_template_a_packet_and_a_bulk_send_by_keyboard_alone(
    browser: Browser, office: Office, tmp_path: Path
) -> None:
    lease, table = tmp_path / "lease.pdf", tmp_path / "tenants.csv"
    lease.write_bytes(LEASE)
    table.write_text("Full name,E-mail\nAnn,ann@example.com\n")
    made = await bulk.template(office)
    page = await opened(browser, office, f"/app/templates/{made}/use")
    await typed(page, "Name", "Ann")
    await typed(page, "Email address", "ann@example.com")
    await pressed(page, "Send")
    await page.wait_for_url("**/app/documents/doc_*")
    await page.goto(f"{office.address}/app/new?as=packet")
    await chosen(page, "Choose files", lease)
    await typed(page, "Title", "Moving in")
    await pressed(page, "Continue to people")
    await page.wait_for_url("**/people")
    await typed(page, "Name", "Ann")
    await typed(page, "Email", "ann@example.com")
    await pressed(page, "Continue to fields")
    await page.locator("html[data-ready]").wait_for(state="attached")
    await pressed(page, "Review and send")
    await page.wait_for_url("**/review")
    await pressed(page, "Send to 1 person")
    await expect(page.get_by_text("Waiting for Ann since today")).to_be_visible()
    await page.goto(f"{office.address}/app/bulk/new")
    await reached(page, "Template", whole=True)
    await page.keyboard.type("Lease")
    await chosen(page, "Table of people", table)
    await pressed(page, "Continue")
    await page.get_by_role("button", name="Check all rows").wait_for()
    await pressed(page, "Check all rows")
    await page.get_by_role("button", name="Send 1 document").wait_for()
    await pressed(page, "Send 1 document")
    await page.wait_for_url("**/app/bulk/blk_*")


async def test_a_file_is_added_and_deleted_in_the_library_by_keyboard_alone(
    browser: Browser, office: Office, tmp_path: Path
) -> None:
    text = tmp_path / "rules.txt"
    text.write_text("From ten in the evening it is quiet.")
    page = await opened(browser, office, "/app/library")
    await chosen(page, "Choose files", text)
    await expect(page.get_by_role("link", name="rules.txt")).to_be_visible()
    await pressed(page, "rules.txt")
    await page.get_by_role("heading", name="rules.txt").wait_for()
    await pressed(page, "Delete")
    await expect(page.get_by_role("button", name="Cancel")).to_be_focused()
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/app/library?*")
    assert (await office.api.get("/documents")).json()["documents"] == []

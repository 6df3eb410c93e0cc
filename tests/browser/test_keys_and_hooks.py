"""Keys, webhooks, changes and mails of a workspace, by their pages alone, in a real browser."""

import asyncio
import shlex
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from tests.api.conftest import opened, served
from tests.api.hooks.conftest import LOOPBACK, Desk
from tests.api.signing.conftest import Mailing
from tests.browser.hands import reached
from tests.browser.screens import accepted
from tests.browser.test_frame import queued, signed_in
from tests.conftest import HandClock
from tests.webhooks.sink import answering, listening

pytestmark = [pytest.mark.anyio, pytest.mark.one_database]


@pytest.fixture
async def desk(database_url: str, tmp_path: Path, clock: HandClock) -> AsyncIterator[Desk]:
    """An office that a browser reaches, and that reaches a receiver on this machine."""
    async with listening() as sink, opened(database_url, tmp_path, clock, egress_allow=LOOPBACK) as made:
        await made.settle()
        await made.deedbox.start()
        async with served(made) as port:
            desk = Desk(made, sink)
            desk.address = f"http://127.0.0.1:{port}"
            yield desk
        await made.deedbox.stop()


async def curl(line: str) -> str:
    """The status that the line gets, run as it stands but for what it prints."""
    program, *rest = shlex.split(line)
    running = await asyncio.create_subprocess_exec(
        program, "-s", "-o", "/dev/null", "-w", "%{http_code}", *rest, stdout=asyncio.subprocess.PIPE
    )
    told, _ = await running.communicate()
    return told.decode()


async def named(page: Page, text: str) -> None:
    """Every page of settings says where it stands, and its heading is this."""
    await expect(page.get_by_role("heading", level=1)).to_contain_text(text)


async def test_the_copied_curl_answers_200_and_revoked_the_next_is_401(browser: Browser, desk: Desk) -> None:
    context = await browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = await context.new_page()
    await signed_in(desk, page)
    await page.get_by_role("link", name="Settings").click()
    await page.wait_for_url("**/app/settings/keys")
    await accepted(page, "keys")
    await page.get_by_role("link", name="New key").click()
    await page.get_by_role("button", name="Create key").click()
    assert page.url.endswith("/new"), "a key without a name"
    await page.get_by_role("textbox", name="Name").fill("Payroll")
    await page.get_by_role("button", name="Create key").click()
    await expect(page.get_by_text("Select at least one permission")).to_be_visible()
    await expect(page.get_by_role("textbox", name="Name")).to_have_value("Payroll")
    await page.get_by_role("button", name="Send documents").click()
    await expect(page.get_by_role("button", name="Send documents")).to_have_attribute("aria-pressed", "true")
    await expect(page.get_by_label("Withdraw documents")).to_be_checked()
    await page.get_by_role("checkbox", name="Search Search").check()
    await expect(page.get_by_role("button", name="Send documents")).to_have_attribute("aria-pressed", "false")
    await accepted(page, "key-new")
    await page.get_by_role("button", name="Create key").click()
    await expect(page.get_by_text("shown only once")).to_be_visible()
    await accepted(page, "key-made")
    await page.get_by_role("button", name="Copy", exact=True).click()
    await expect(page.locator("#said")).to_have_text("Copied")
    line = await page.evaluate("navigator.clipboard.readText()")
    assert line.startswith("curl ")
    assert await curl(line) == "200"
    key = line.rpartition("Bearer ")[2].rstrip("'")
    await page.reload()
    await named(page, "Payroll")
    assert key not in await page.content(), "a reload shows the key again"
    await accepted(page, "key")
    await page.get_by_role("textbox", name="Name").fill("Payroll 2")
    await page.get_by_role("button", name="Rename").click()
    await named(page, "Payroll 2")
    await page.get_by_role("button", name="Revoke key").click()
    await expect(page.get_by_role("dialog")).to_contain_text("Payroll 2")
    await expect(page.get_by_role("button", name="Cancel")).to_be_focused()
    await accepted(page, "key-revoke")
    await page.get_by_role("dialog").get_by_role("button", name="Revoke key").click()
    await expect(page.get_by_text("The next request with it is rejected")).to_be_visible()
    assert await curl(line) == "401"
    await page.get_by_role("link", name="Change log").click()
    await expect(page.get_by_role("row").filter(has_text="revoked the key Payroll 2")).to_contain_text("Owner")
    await accepted(page, "changes")


async def test_a_key_is_made_and_revoked_by_keyboard_alone(browser: Browser, desk: Desk) -> None:
    page = await (await browser.new_context()).new_page()
    await signed_in(desk, page)
    await page.goto(f"{desk.address}/app/settings/keys")
    await reached(page, "New key")
    await page.keyboard.press("Enter")
    await named(page, "New key")
    await reached(page, "Name")
    await page.keyboard.type("Night shift")
    await reached(page, "Read only")
    await page.keyboard.press("Space")
    await reached(page, "Create key")
    await page.keyboard.press("Enter")
    await named(page, "created")
    await reached(page, "I have saved it")
    await page.keyboard.press("Enter")
    await named(page, "Night shift")
    await reached(page, "Revoke key")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("button", name="Cancel")).to_be_focused()
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("The next request with it is rejected")).to_be_visible()


async def test_a_webhook_of_the_page_is_red_while_its_sink_fails_and_green_once_redelivered(
    browser: Browser, desk: Desk
) -> None:
    page = await (await browser.new_context()).new_page()
    await signed_in(desk, page)
    await page.goto(f"{desk.address}/app/settings/hooks")
    await accepted(page, "hooks-none")
    await page.get_by_role("link", name="New webhook").click()
    await page.get_by_label("URL").fill(desk.sink.url)
    await page.get_by_role("button", name="Everything").click()
    await accepted(page, "hook-new")
    await page.get_by_role("button", name="Create webhook").click()
    secret = await page.locator("pre").first.inner_text()
    assert secret.startswith("whsec_")
    await accepted(page, "hook-made")
    await page.reload()
    await named(page, desk.sink.url)
    assert "whsec_" not in await page.content()
    desk.sink.rule = answering(500)
    await page.get_by_role("button", name="Send test event").click()
    row = page.get_by_role("row").filter(has_text="document.sent")
    await expect(row).to_contain_text("Failed")  # by itself: the list is live
    await expect(row).to_contain_text("500")
    await accepted(page, "hook-failing")
    await row.get_by_role("link").click()
    await accepted(page, "delivery-failed")
    desk.sink.rule = answering(200)
    await page.get_by_role("button", name="Resend").click()
    await expect(page.locator(".pill.good")).to_contain_text("Delivered")
    await accepted(page, "delivery-arrived")
    first, second = desk.sink.received
    assert first.body == second.body
    await page.get_by_role("link", name="Back to the webhook").click()
    await expect(page.locator(".pill.good").first).to_contain_text("Working")
    for name in ("Create new secret", "Choose a start time", "Delete webhook"):
        await page.get_by_role("button", name=name, exact=True).click()
        await expect(page.get_by_role("button", name="Cancel")).to_be_focused()
        await accepted(page, f"hook-{name.split(maxsplit=1)[0].lower()}")
        await page.keyboard.press("Escape")
    await page.goto(f"{desk.address}/app/settings/hooks")
    await accepted(page, "hooks")


async def test_the_log_of_mails_shows_errors_and_sends_again(browser: Browser, mailing: Mailing) -> None:
    page = await (await browser.new_context()).new_page()
    await signed_in(mailing, page)
    mailing.room.answers = {"RCPT": ["550 no such mailbox"]}
    await queued(mailing, "invitation")
    await page.goto(f"{mailing.address}/app/mail")
    await expect(page.get_by_text("550 no such mailbox")).to_be_visible()
    await accepted(page, "mail-failed")
    await page.get_by_label("Status").select_option("failed")
    await page.wait_for_url("**/app/mail?status=failed**")
    await page.get_by_role("button", name="Resend").click()
    await expect(page.locator(".pill.good")).to_contain_text("Sent")
    await accepted(page, "mail-sent")

"""A newcomer's path: from the first start of a server to a sealed document that search finds, by pages alone."""

import asyncio
import os
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from deedbox.cli.demo.contracts import LEASE
from tests import server
from tests.browser.hands import agreed_and_signed, drawn, dropped, phone
from tests.models import models_dir

__all__ = ["models_dir"]

pytestmark = [pytest.mark.anyio, pytest.mark.one_database]

FILM = os.environ.get("SCREENS")
"""A folder for the pictures of the way, for whoever wants to look at it."""


class Film:
    """What the newcomer saw, in order."""

    def __init__(self) -> None:
        self.number = 0

    async def take(self, page: Page, name: str) -> None:
        self.number += 1
        if FILM:
            Path(FILM).mkdir(parents=True, exist_ok=True)
            await page.screenshot(path=Path(FILM) / f"newcomer-{self.number:02}-{name}.png")


async def dragged(page: Page, kind: Locator, onto: Locator, across: float, down: float) -> None:
    """Drags a kind of field onto a place of a page."""
    await onto.evaluate("element => element.scrollIntoView({ block: 'end' })")
    start, end = await kind.bounding_box(), await onto.bounding_box()
    assert start is not None
    assert end is not None
    await page.mouse.move(start["x"] + start["width"] / 2, start["y"] + start["height"] / 2)
    await page.mouse.down()
    await page.mouse.move(end["x"] + end["width"] * across / 2, end["y"] + end["height"] * down / 2, steps=4)
    await page.mouse.move(end["x"] + end["width"] * across, end["y"] + end["height"] * down, steps=4)
    await page.mouse.up()


async def first_run(page: Page, link: str, film: Film) -> None:
    await page.goto(link)
    await film.take(page, "link")
    await page.get_by_role("button", name="Sign in").click()
    await film.take(page, "account")
    await page.get_by_label("Name", exact=True).fill("Mara")
    await page.get_by_label("Email address").fill("mara@example.com")
    await page.get_by_label("New password").fill("correct horse battery")
    await page.get_by_role("button", name="Save").click()
    await page.wait_for_url("**/app/welcome*")
    await film.take(page, "welcome")


async def filed(page: Page, lease: Path, film: Film) -> None:
    await page.locator("main a[href='/app/new']").click()
    await page.wait_for_url("**/app/new")
    await dropped(page.locator("#drop"), (lease.name, lease.read_bytes()))
    await film.take(page, "files")
    await page.get_by_role("button", name="Continue to people").click()
    await page.wait_for_url("**/people")


async def named(page: Page, film: Film) -> None:
    """Two people, one after the other."""
    await page.locator("[name='parties.0.signers.0.name']").fill("Ann")
    await page.locator("[name='parties.0.signers.0.email']").fill("ann@example.com")
    if not await page.locator("[name='parties.1.signers.0.name']").count():
        await page.get_by_role("button", name="Add a stage").click()
    await page.locator("[name='parties.1.signers.0.name']").fill("Ben")
    await page.locator("[name='parties.1.signers.0.email']").fill("ben@example.com")
    await film.take(page, "people")
    await page.get_by_role("button", name="Continue to fields").click()
    await page.wait_for_url("**/fields")


async def placed(page: Page, film: Film) -> None:
    """A signature for each, by dragging."""
    paper = page.locator(".paper").last
    signature = page.locator(".kinds [data-kind=signature]")
    for person, across in (("Ann", 0.25), ("Ben", 0.7)):
        await page.locator(".people button", has_text=person).click()
        await dragged(page, signature, paper, across, 0.8)
    await expect(page.locator(".paper button")).to_have_count(2)
    await expect(page.locator("#kept")).to_contain_text("saved")
    await film.take(page, "fields")
    await page.get_by_role("link", name="Review").click()
    await page.wait_for_url("**/review")
    await film.take(page, "review")


async def signs(browser: Browser, page: Page, address: str, film: Film) -> None:
    """The newest invitation, opened from the inbox, on a phone."""
    await page.goto(f"{address}/app/mail")
    await page.get_by_role("link", name="to sign").first.click()
    await film.take(page, "invitation")
    link = await page.get_by_role("link", name="Open the link in this email").get_attribute("href")
    assert link is not None
    context = await phone(browser)
    hand = await context.new_page()
    await hand.goto(link)
    await film.take(hand, "opening")
    await hand.locator("form button.main").click()
    await hand.locator("#sheet").wait_for()
    await hand.wait_for_load_state()
    await drawn(hand)
    await film.take(hand, "signing")
    await agreed_and_signed(hand)
    await film.take(hand, "signed")
    await context.close()


async def judged(page: Page, address: str, file: Path) -> str:
    await page.goto(f"{address}/verify")
    await page.locator("input[type=file]").set_input_files(file)
    await page.locator("form:has(input[type=file]) button").first.click()
    await page.locator("h1").wait_for()
    return await page.locator("main").inner_text()


async def test_from_the_first_start_to_a_sealed_document_with_nothing_read(
    browser: Browser, tmp_path: Path, models_dir: Path
) -> None:
    lease, film = tmp_path / "lease.pdf", Film()
    lease.write_bytes(LEASE.without_fields().pdf(datetime(2026, 3, 1, tzinfo=UTC)))
    with server.running(tmp_path / "data", env={"DEEDBOX_MODELS_DIR": str(models_dir)}) as running:
        assert running.login_link is not None
        page = await (await browser.new_context(viewport={"width": 1320, "height": 860})).new_page()
        await first_run(page, running.login_link, film)
        await filed(page, lease, film)
        await named(page, film)
        await placed(page, film)
        await page.get_by_role("button", name="Send to 2 people").click()
        await page.wait_for_url(re.compile(r"/app/documents/doc_\w+\?done=sent"))
        await film.take(page, "sent")
        document = page.url.partition("?")[0]
        for _ in ("Ann", "Ben"):
            await signs(browser, page, running.address, film)
        await page.goto(document)
        sealed = page.locator("a[href$='/signed.pdf']").first
        await sealed.wait_for(timeout=60_000)
        await film.take(page, "completed")
        good, bad = tmp_path / "sealed.pdf", tmp_path / "changed.pdf"
        async with page.expect_download() as arriving:
            await sealed.click()
        await (await arriving.value).save_as(good)
        content = good.read_bytes()
        assert content.startswith(b"%PDF")
        bad.write_bytes(content[:900] + bytes([content[900] ^ 1]) + content[901:])
        assert "unchanged" in await judged(page, running.address, good)
        await film.take(page, "authentic")
        assert "changed after it was sealed" in await judged(page, running.address, bad)
        await film.take(page, "changed")
        async with asyncio.timeout(60):  # until it is indexed
            while not await page.locator("mark").count():
                await page.goto(f"{running.address}/app/search?q=when+does+Ben+give+back+the+deposit")
        await expect(page.get_by_text("Page 1").first).to_be_visible()
        await film.take(page, "found")

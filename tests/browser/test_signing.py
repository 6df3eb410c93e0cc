"""People sign in a real browser: without script, on a phone, two documents side by side."""

import asyncio
import base64
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.async_api import Browser, Page, async_playwright

from tests import server
from tests.api.search.files import pdf
from tests.rigs.installation import Installation

pytestmark = pytest.mark.anyio
PHONE = {"width": 390, "height": 760}
FIELD = {"page": 1, "x": 0.1, "y": 0.3, "w": 0.3, "h": 0.04, "signer": "ann@example.com"}


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    program = shutil.which("chromium")
    if program is None:
        assert not os.environ.get("CI"), "chromium is missing: run scripts/test-deps"
        pytest.skip("chromium is missing: run scripts/test-deps")
    async with async_playwright() as playwright:
        running = await playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield running
        await running.close()


@pytest.fixture
def sender(tmp_path: Path) -> Any:
    installation = Installation(tmp_path / "data")
    key = installation.key()
    with installation.running() as running, running.client(key) as client:
        yield running, client


def link(client: httpx.Client, title: str) -> str:
    """A new document with a field to fill in, and the link of its signer."""
    file = {"name": "lease.pdf", "content_base64": base64.b64encode(pdf("The rent.", size=(595, 842))).decode()}
    body = {
        "title": title,
        "file": file,
        "signers": [{"name": "Ann", "email": "ann@example.com"}],
        "fields": [{"type": "text", "label": "City", **FIELD}, {"type": "checkbox", "label": "Rules", **FIELD}],
        "send": True,
    }
    made = client.post("/api/v1/documents", json=body)
    assert made.status_code == 201, made.text
    signer = made.json()["parties"][0]["signers"][0]["id"]
    return str(client.post(f"/api/v1/documents/{made.json()['id']}/signers/{signer}/link").json()["url"])


async def opened(page: Page, address: str) -> None:
    await page.goto(address)
    await page.get_by_role("button", name="Open the document").click()
    await page.get_by_role("heading", name="Your part").wait_for()


async def test_two_documents_are_signed_side_by_side_without_script(
    browser: Browser, sender: tuple[server.Server, httpx.Client]
) -> None:
    _, client = sender
    context = await browser.new_context(viewport=PHONE, java_script_enabled=False)  # type: ignore[arg-type]
    lease, sale = await context.new_page(), await context.new_page()
    await opened(lease, link(client, "Lease"))
    await opened(sale, link(client, "Sale"))
    assert await lease.locator("img.sheet").evaluate_all("all => all.map(one => one.naturalWidth > 0)") == [True]
    await lease.get_by_label("City").fill("Ghent")
    await lease.get_by_label("Rules").check()
    await lease.get_by_label("I agree to sign").check()
    await lease.get_by_role("button", name="Sign").click()
    await lease.get_by_role("status").wait_for()
    titles = {one["title"]: one["progress"]["signers_signed"] for one in _documents(client)}
    assert titles == {"Lease": 1, "Sale": 0}
    async with asyncio.timeout(60):
        while not await lease.get_by_role("link", name="Download").count():
            await lease.reload()
    async with lease.expect_download() as arriving:
        await lease.get_by_role("link", name="Download").click()
    assert Path(await (await arriving.value).path()).read_bytes().startswith(b"%PDF-")
    await sale.get_by_text("I do not want to sign").click()
    await sale.get_by_label("Reason").fill("Too dear")
    await sale.get_by_role("button", name="Decline to sign").click()
    assert "You have declined" in await sale.get_by_role("status").inner_text()
    assert {one["title"]: one["status"] for one in _documents(client)} == {"Lease": "completed", "Sale": "declined"}


async def test_a_phone_shows_every_page_without_scrolling_sideways(
    browser: Browser, sender: tuple[server.Server, httpx.Client]
) -> None:
    running, client = sender
    for scheme in ("light", "dark"):
        context = await browser.new_context(viewport={"width": 320, "height": 600}, color_scheme=scheme)
        page = await context.new_page()
        address = link(client, "Lease")
        for where in (address, f"{running.address}/s/deed_sign_unknown", f"{running.address}/sign/sgn_unknown"):
            await page.goto(where)
            assert await _overflow(page) <= 0, where
        await opened(page, address)
        assert await _overflow(page) <= 0


async def _overflow(page: Page) -> int:
    """By how many pixels the page is wider than the screen."""
    return int(await page.evaluate("document.documentElement.scrollWidth - window.innerWidth"))


def _documents(client: httpx.Client) -> list[Any]:
    found: list[Any] = client.get("/api/v1/documents").json()["documents"]
    return found

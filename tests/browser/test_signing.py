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
    people = [{"name": "Ann", "email": "ann@example.com"}]
    fields = [{"type": "text", "label": "City", **FIELD}, {"type": "checkbox", "label": "Rules", **FIELD}]
    return sent(client, title=title, signers=people, fields=fields)[0]


def sent(client: httpx.Client, **body: Any) -> tuple[str, str]:
    """The link of the first signer of a new document, and the document's id."""
    file = {"name": "lease.pdf", "content_base64": base64.b64encode(pdf("The rent.", size=(595, 842))).decode()}
    made = client.post("/api/v1/documents", json={"file": file, "send": True, **body})
    assert made.status_code == 201, made.text
    signer = made.json()["parties"][0]["signers"][0]["id"]
    answer = client.post(f"/api/v1/documents/{made.json()['id']}/signers/{signer}/link")
    return str(answer.json()["url"]), str(made.json()["id"])


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


async def test_a_choice_shows_what_depends_on_it_and_a_file_is_given_without_script(
    browser: Browser, sender: tuple[server.Server, httpx.Client]
) -> None:
    _, client = sender
    fields = [
        {"type": "radio", "group": "Pets", "label": "Yes", **FIELD},
        {"type": "radio", "group": "Pets", "label": "No", **FIELD},
        {"type": "text", "label": "Which", "show_if": {"field": "Pets", "equals": "Yes"}, **FIELD},
        {"type": "text", "label": "Rent", "read_only": True, "default": "500", **FIELD},
        {"type": "attachment", "label": "Passport", **FIELD},
    ]
    people = [{"name": "Ann", "email": "ann@example.com"}]
    address, document_id = sent(client, title="Lease", signers=people, fields=fields)
    context = await browser.new_context(viewport=PHONE, java_script_enabled=False)  # type: ignore[arg-type]
    page = await context.new_page()
    await opened(page, address)
    passport = {"name": "passport.pdf", "mimeType": "application/pdf", "buffer": pdf("Passport", size=(595, 842))}
    await page.get_by_label("No", exact=True).check()
    await page.get_by_label("Passport").set_input_files(passport)  # type: ignore[arg-type]
    await page.get_by_role("button", name="Upload").click()
    await page.get_by_role("heading", name="passport.pdf, attached by Ann").wait_for()
    assert await page.get_by_label("No", exact=True).is_checked(), "what is chosen stays when a file is uploaded"
    await page.get_by_label("Yes").check()
    assert await page.get_by_label("Which").count() == 0
    await page.get_by_role("button", name="Save without signing").click()
    await page.get_by_label("Which").fill("A cat")
    assert await page.get_by_label("Yes").is_checked()
    assert await page.get_by_label("Rent").input_value() == "500"
    await page.get_by_label("I agree to sign").check()
    await page.get_by_label("Which").press("Enter")  # which signs, and uploads nothing
    await page.get_by_role("status").wait_for()
    found = client.get(f"/api/v1/documents/{document_id}").json()
    assert {one["label"]: one["value"] for one in found["fields"]}["Which"] == "A cat"
    assert [one["name"] for one in found["attachments"]] == ["passport.pdf"]


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


async def test_a_wrong_value_is_told_beside_its_field_in_the_signers_language_and_can_be_mended(
    browser: Browser, sender: tuple[server.Server, httpx.Client], tmp_path: Path
) -> None:
    _, client = sender
    rows = [("number", "Miete"), ("date", "Einzug"), ("email", "Kontakt")]
    fields = [{"type": kind, "label": label, **FIELD, "y": 0.3 + 0.05 * at} for at, (kind, label) in enumerate(rows)]
    person = {"name": "Ann", "email": "ann@example.com", "language": "de"}
    address, document_id = sent(client, title="Mietvertrag", signers=[person], fields=fields)
    context = await browser.new_context(viewport=PHONE, java_script_enabled=False)  # type: ignore[arg-type]
    page = await context.new_page()
    await page.goto(address)
    await page.get_by_role("button", name="Dokument öffnen").click()
    await page.get_by_label("Miete").fill("zwölf")
    await page.get_by_label("Einzug").fill("2026-05-03")
    await page.get_by_role("checkbox").check()
    await page.get_by_role("button", name="Unterschreiben", exact=True).click()
    told = page.get_by_text("Das ist keine Zahl; schreiben Sie sie wie 1.234,5")
    await told.wait_for()
    rent, above = await page.get_by_label("Miete").bounding_box(), await told.bounding_box()
    assert rent is not None
    assert above is not None
    assert 0 <= above["y"] - rent["y"] - rent["height"] < 30, "it stands below its field"
    assert await page.get_by_label("Miete").input_value() == "zwölf"
    assert await page.get_by_label("Einzug").input_value() == "2026-05-03"
    assert await page.get_by_text("3. Mai 2026").count() == 1
    await page.screenshot(path=tmp_path / "wrong.png", full_page=True)
    await page.get_by_label("Miete").fill("1.234,50")
    await page.get_by_role("button", name="Unterschreiben", exact=True).click()
    await page.get_by_role("status").wait_for()
    values = {one["label"]: one["value"] for one in client.get(f"/api/v1/documents/{document_id}").json()["fields"]}
    assert (values["Miete"], values["Einzug"], values["Kontakt"]) == ("1234.50", "2026-05-03", "ann@example.com")

"""The pages of verification, in a real browser: for whoever holds a file, without a workspace or an account."""

from typing import Any

import pytest
from playwright.async_api import Browser

from deedbox import i18n
from tests.api.signing.conftest import LEASE, Office
from tests.browser.hands import dropped
from tests.browser.screens import accepted
from tests.pdf.pki import Authority
from tests.pdf.sealed import document as paper
from tests.pdf.sealed import sealed as sealed_by

pytestmark = [pytest.mark.anyio, pytest.mark.one_database]
PHONE: Any = {"width": 390, "height": 760}
BESIDE = """() => {
    const at = query => document.querySelector(query).getBoundingClientRect();
    return at('.top .logo').left - at('.brand-name bdi').right;
}"""
"""How many pixels lie between the logo and the name to its left."""


def chosen(data: bytes) -> Any:
    return {"name": "lease.pdf", "mimeType": "application/pdf", "buffer": data}


async def test_a_dropped_file_is_compared_in_the_browser_and_then_checked_in_full(
    browser: Browser, office: Office
) -> None:
    document = await office.sealed()
    code = (await office.document(document["id"]))["verification_code"]
    sealed = (await office.api.get(f"/api/v1/documents/{document['id']}/signed")).content
    permissions = ["clipboard-read", "clipboard-write"]
    page = await (await browser.new_context(viewport=PHONE, permissions=permissions)).new_page()
    sent: list[str] = []
    await page.goto(f"{office.address}/verify")
    await accepted(page, "verify")
    copying = page.get_by_role("button", name="Copy")
    assert await copying.count() == 3, "no hash to compare with here"
    await copying.first.click()
    await page.get_by_role("button", name="Copied").wait_for()
    assert await page.evaluate("navigator.clipboard.readText()") == "pdfsig file.pdf"
    await page.get_by_label("Verification code").fill(code.lower())
    await page.get_by_role("button", name="Look up").click()
    await page.get_by_role("heading", name="Lease").wait_for()
    assert "sha256sum file.pdf" in await page.locator("main").inner_text()
    assert await page.locator("[data-told] [aria-live=polite]").evaluate("one => one.checkVisibility()"), "is read out"
    page.on("request", lambda request: sent.append(request.method))
    await dropped(page.locator("[data-drop]"), ("lease.pdf", sealed))
    await page.get_by_text("byte for byte. Your browser compared it").wait_for()
    await accepted(page, "verify-code")
    await dropped(page.locator("[data-drop]"), ("lease.pdf", sealed[:-1] + b" "))
    await page.get_by_text("Let the server check it").wait_for()
    assert "POST" not in sent, "the file was not sent"
    await page.get_by_role("button", name="Check the file").click()
    await page.get_by_role("heading", name="This file was changed after it was sealed. Do not rely on it.").wait_for()
    await accepted(page, "verify-altered")
    assert "Ann" not in await page.locator("main").inner_text()


async def test_without_script_a_file_gets_its_verdict_checks_signers_and_how_to_check_without_us(
    browser: Browser, office: Office
) -> None:
    document = await office.sealed()
    sealed = (await office.api.get(f"/api/v1/documents/{document['id']}/signed")).content
    context = await browser.new_context(viewport=PHONE, java_script_enabled=False)
    page = await context.new_page()
    await page.goto(f"{office.address}/verify")
    await page.get_by_label("Drop the PDF here").set_input_files(chosen(sealed))
    await page.get_by_role("button", name="Check the file").click()
    told = await page.locator("main").inner_text()
    said = "This is the document that was sealed here on 1 March 2026, unchanged."
    for part in (said, "Genuine", "Ann", "The audit trail is complete", "pdfsig file.pdf", "openssl cms -verify"):
        assert part in told, part
    assert await page.get_by_role("button", name="Copy").count() == 0, "which needs script"


async def test_the_verdicts_look_as_they_should_in_arabic_too(browser: Browser, office: Office) -> None:
    document = await office.sealed()
    sealed = (await office.api.get(f"/api/v1/documents/{document['id']}/signed")).content
    page = await (await browser.new_context(viewport=PHONE, locale="ar")).new_page()
    files = {
        "unsigned": LEASE,
        "authentic": sealed,
        "unrecognised": sealed_by(Authority("Elsewhere"), paper()),
        "unexplained": b"%PDF-1.7\nThis is no PDF.",
    }
    for name, data in files.items():
        await page.goto(f"{office.address}/verify")
        await page.locator("#file").set_input_files(chosen(data))
        await page.locator("[data-drop] button").click()
        await page.get_by_role("status").wait_for()
        assert await page.locator("html").get_attribute("dir") == "rtl"
        assert await page.evaluate(BESIDE) < 30, "the name stands beside the logo"
        assert i18n.of_use("ar", "verify")[f"word.{name}"] in await page.locator("main").inner_text()
        await accepted(page, f"verify-{name}")

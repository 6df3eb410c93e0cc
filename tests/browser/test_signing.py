"""People sign in a real browser without script: the same form stands under the pages."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page

from tests.api.signing.conftest import Office, signer
from tests.browser.hands import PASSPORT, PHONE, opened, place

pytestmark = pytest.mark.anyio
one_database = pytest.mark.one_database


async def plain(browser: Browser) -> Page:
    context = await browser.new_context(viewport=PHONE, java_script_enabled=False)
    return await context.new_page()


async def test_a_run_without_script_seals_a_typed_signature_and_two_documents_never_mix(
    browser: Browser, office: Office, tmp_path: Path
) -> None:
    fields = [place("text", 0.3, label="City"), place("checkbox", 0.4, label="Rules")]
    lease, sale = [await office.create(send=True, title=title, fields=fields) for title in ("Lease", "Sale")]
    first = await plain(browser)
    second = await first.context.new_page()
    await opened(first, office, lease)
    await opened(second, office, sale)
    shown = await first.locator(".page img").evaluate_all("all => all.map(one => one.naturalWidth > 0)")
    assert shown[0], "the first page is not lazy"
    await first.screenshot(path=tmp_path / "plain.png", full_page=True)
    await first.get_by_label("City").fill("Ghent")
    await first.get_by_label("Rules").check()
    await first.get_by_label("I agree to sign").check()
    await first.get_by_role("button", name="Sign", exact=True).click()
    await first.locator("#sheet").wait_for(state="detached")
    await office.completed(lease)
    assert (await office.document(sale["id"]))["status"] == "sent"
    async with asyncio.timeout(60):
        while not await first.get_by_role("link", name="Download").count():
            await first.reload()
    async with first.expect_download() as arriving:
        await first.get_by_role("link", name="Download").click()
    assert Path(await (await arriving.value).path()).read_bytes().startswith(b"%PDF-")
    await second.locator(".menu > summary").click()
    await second.get_by_role("link", name="I do not want to sign").click()
    await second.get_by_label("Reason").fill("Too dear")
    await second.get_by_role("button", name="Decline to sign").click()
    await second.get_by_role("heading", name="You have declined").wait_for()
    assert (await office.document(sale["id"]))["status"] == "declined"


@one_database
async def test_a_choice_shows_what_depends_on_it_and_a_file_is_given_without_script(
    browser: Browser, office: Office
) -> None:
    fields = [
        place("radio", 0.1, group="Pets", label="Yes"),
        place("radio", 0.2, group="Pets", label="No"),
        place("text", 0.3, label="Which", show_if={"field": "Pets", "equals": "Yes"}),
        place("text", 0.4, label="Rent", read_only=True, default="500"),
        place("attachment", 0.5, label="Passport"),
    ]
    document = await office.create(send=True, fields=fields)
    page = await plain(browser)
    await opened(page, office, document)
    await page.get_by_label("No", exact=True).check()
    await page.get_by_label("Passport").set_input_files(PASSPORT)
    await page.get_by_role("button", name="Upload").click()
    await page.get_by_role("heading", name="passport.pdf, attached by Ann").wait_for()
    assert await page.get_by_label("No", exact=True).is_checked(), "what is chosen stays when a file is uploaded"
    await page.get_by_label("Yes").check()
    assert not await page.get_by_label("Which").is_visible()
    await page.locator("[name=signature]").fill("Anne Bee")
    await page.locator("[name=consent]").check()
    for language, opens in (("Deutsch", "Mehr"), ("English", "More")):
        await page.locator(".menu > summary").click()
        await page.get_by_role("button", name=language).click()
        await page.locator(f".menu > summary[aria-label^={opens}]").wait_for()
        assert await page.get_by_label("Yes").is_checked(), "what is chosen stays in another language"
        assert await page.locator("[name=signature]").input_value() == "Anne Bee"
        assert await page.locator("[name=consent]").is_checked()
    await page.get_by_role("button", name="Save without signing").click()
    assert await page.locator("[name=signature]").input_value() == "Anne Bee"
    assert await page.locator("[name=consent]").is_checked()
    await page.get_by_label("Which").fill("A cat")
    assert await page.get_by_label("Yes").is_checked()
    assert await page.get_by_label("Rent").input_value() == "500"
    await page.get_by_label("Which").press("Enter")  # which signs, and uploads nothing
    await page.locator("#sheet").wait_for(state="detached")
    found = await office.document(document["id"])
    assert {one["label"]: one["value"] for one in found["fields"]}["Which"] == "A cat"
    assert [one["name"] for one in found["attachments"]] == ["passport.pdf"]


@one_database
async def test_a_wrong_value_is_told_beside_its_field_in_the_signers_language_and_can_be_mended(
    browser: Browser, office: Office
) -> None:
    rows = [("number", "Miete"), ("date", "Einzug"), ("email", "Kontakt")]
    fields = [place(kind, 0.3 + 0.05 * at, label=label) for at, (kind, label) in enumerate(rows)]
    document = await office.create(send=True, fields=fields, signers=[signer("ann", language="de")])
    page = await plain(browser)
    await opened(page, office, document)
    await page.get_by_label("Miete").fill("zwölf")
    await page.get_by_label("Einzug").fill("2026-05-03")
    await page.get_by_role("checkbox").check()
    for language, said in (("English", "This is not a number"), ("Deutsch", "Das ist keine Zahl")):
        await page.locator(".menu > summary").click()
        await page.get_by_role("button", name=language).click()
        await page.get_by_text(said).wait_for()
        assert await page.get_by_label("Miete").input_value() == "zwölf", "what is wrong stays in another language too"
        assert await page.get_by_role("checkbox").is_checked()
    await page.get_by_role("button", name="Unterschreiben", exact=True).click()
    told = page.get_by_text("Das ist keine Zahl; geben Sie sie in der Form 1.234,5 ein")
    await told.wait_for()
    rent, below = await page.get_by_label("Miete").bounding_box(), await told.bounding_box()
    assert rent is not None
    assert below is not None
    assert 0 <= below["y"] - rent["y"] - rent["height"] < 30, "it stands below its field"
    assert await page.get_by_label("Miete").input_value() == "zwölf"
    assert await page.get_by_label("Einzug").input_value() == "2026-05-03"
    assert await page.get_by_text("3. Mai 2026").count() == 1
    await page.get_by_label("Miete").fill("1.234,50")
    await page.get_by_role("button", name="Unterschreiben", exact=True).click()
    await page.locator("#sheet").wait_for(state="detached")
    found: Any = await office.document(document["id"])
    values = {one["label"]: one["value"] for one in found["fields"]}
    assert (values["Miete"], values["Einzug"], values["Kontakt"]) == ("1234.50", "2026-05-03", "ann@example.com")

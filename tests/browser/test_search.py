"""Search, library and the API's reference in a real browser."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, FilePayload, expect

from deedbox.search import limits
from deedbox.search.indexing.embedders import Embedders
from tests.api.conftest import opened, served
from tests.api.search.files import pdf
from tests.api.signing.conftest import Office
from tests.browser.screens import accepted
from tests.browser.test_frame import signed_in
from tests.conftest import HandClock
from tests.search.hashing import HashingEmbedder

pytestmark = [pytest.mark.anyio, pytest.mark.one_database]
RENT = "The tenant pays the rent on the first of each month."
DEPOSIT = "The deposit is three months of rent."


@pytest.fixture
async def place(database_url: str, tmp_path: Path, clock: HandClock) -> AsyncIterator[Office]:
    """An office with a model, which a browser reaches at `place.address`."""
    async with opened(database_url, tmp_path, clock) as made:
        await made.settle()
        made.deedbox.search.embedders = Embedders(HashingEmbedder, lambda _: None)
        await made.deedbox.start()
        async with served(made) as port:
            office = Office(made)
            office.address = f"http://127.0.0.1:{port}"
            yield office
        await made.deedbox.stop()


def lease() -> bytes:
    """Two pages, the second with the sentence that is looked for."""
    return pdf("This lease is made between the owner and the tenant.", f"{RENT} {DEPOSIT}", size=(595, 842))


async def test_files_are_dropped_become_searchable_are_found_and_deleted(browser: Browser, place: Office) -> None:
    page = await (await browser.new_context()).new_page()
    await signed_in(place, page)
    await page.goto(f"{place.address}/app/search?q=rent")
    await expect(page.get_by_text("Nothing is searchable yet")).to_be_visible()
    await accepted(page, "search-nothing-yet")
    await page.goto(f"{place.address}/app/library")
    await accepted(page, "library-empty")
    await page.evaluate("window.sameDocument = true")
    async with page.expect_file_chooser() as choosing:
        await page.get_by_role("button", name="Choose files").click()
    await (await choosing.value).set_files(
        [
            FilePayload(name="lease.pdf", mimeType="application/pdf", buffer=lease()),
            FilePayload(name="house-rules.md", mimeType="text/markdown", buffer=f"# Keys\n\n{DEPOSIT}".encode()),
            FilePayload(name="scan.pdf", mimeType="application/pdf", buffer=pdf("")),
            FilePayload(name="holiday.pdf", mimeType="application/pdf", buffer=b"no PDF"),
        ]
    )
    # Failures keep their reason: of what was refused, and of what has no text.
    refused = page.locator("[data-sent] li")
    await expect(refused).to_have_count(1)
    await expect(refused).to_contain_text("named .pdf but")
    await expect(page.locator("[data-live]").get_by_text("Searchable", exact=True)).to_have_count(2)
    await expect(page.get_by_text("No extractable text")).to_be_visible()
    assert await page.evaluate("window.sameDocument"), "all that without a reload"
    await accepted(page, "library")
    await page.get_by_role("button", name="Dismiss").click()
    await expect(page.locator("[data-sent]")).to_be_hidden()
    await page.get_by_role("link", name="scan.pdf").click()
    await accepted(page, "library-file")

    await page.goto(f"{place.address}/app/search")
    await accepted(page, "search-start")
    await page.get_by_role("searchbox").fill("when does the tenant pay the rent")
    await page.keyboard.press("Enter")
    await expect(page.locator("mark").first).to_be_visible()
    picture = page.locator(".sheet-picture img").first
    assert await picture.evaluate("image => image.decode().then(() => image.naturalWidth)") == 1240
    marked = await page.locator(".sheet-picture rect").first.bounding_box()
    sheet = await picture.bounding_box()
    assert marked
    assert sheet
    assert sheet["x"] < marked["x"] < marked["x"] + marked["width"] < sheet["x"] + sheet["width"]
    await accepted(page, "search")
    await page.get_by_role("link", name="house-rules.md").first.click()
    await expect(page.locator(".passage.chosen")).to_contain_text("house-rules.md")
    await accepted(page, "search-text")
    await page.get_by_text("Filters").click()
    await page.get_by_label("File type").select_option("csv")
    await page.locator(".filters").get_by_role("button", name="Search").click()
    await expect(page.get_by_text("No results found.")).to_be_visible()
    await accepted(page, "search-nothing-found")

    await page.goto(f"{place.address}/app/library")
    await page.get_by_role("button", name="Delete lease.pdf").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
    await accepted(page, "library-delete")
    await dialog.get_by_role("button", name="Delete").click()
    await expect(page.get_by_text("Deleted. It no longer appears in searches.")).to_be_visible()
    await page.goto(f"{place.address}/app/search?q=tenant+pays+rent")
    await expect(page.get_by_text("lease.pdf")).to_have_count(0)


async def test_while_the_index_is_being_built_the_page_says_so_and_asks_again(
    browser: Browser, place: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "INDEX_NEAR_CHUNKS", 0)
    monkeypatch.setattr(limits, "INDEX_WAIT_SECONDS", 0.01)
    api, builds, free = place.api, place.api.deedbox.search.builds, threading.Event()
    others = [asyncio.create_task(builds.run(free.wait)) for _ in range(limits.INDEX_BUILDS)]
    await api.call("POST", "/documents/upload", files={"file": ("lease.txt", RENT.encode())})
    await api.post("/documents/index", headers={"Prefer": "respond-async"})
    page = await (await browser.new_context()).new_page()
    await signed_in(place, page)
    while builds.percent is None:
        await asyncio.sleep(0.01)
    await page.goto(f"{place.address}/app/search?q=rent")
    await expect(page.get_by_text("The search index is being built.")).to_be_visible()
    await accepted(page, "search-warming")
    free.set()
    await asyncio.gather(*others)
    while builds.percent is not None:
        await asyncio.sleep(0.01)
    await page.get_by_role("link", name="Try again").click()
    await expect(page.locator("mark").first).to_be_visible()


async def test_the_reference_tries_an_operation_and_the_key_is_never_in_address_or_storage(
    browser: Browser, place: Office
) -> None:
    context = await browser.new_context()
    page = await context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    await page.goto(f"{place.address}/docs/api")
    await accepted(page, "reference")
    await page.get_by_role("link", name="The workspace of the key").click()
    await page.wait_for_url("**/docs/api/workspace#show_workspace")
    operation = page.locator("#show_workspace")
    await operation.get_by_text("Try it").click()
    await operation.get_by_role("button", name="Send request").click()
    await expect(page.get_by_label("API key")).to_be_focused()
    await page.get_by_label("API key").fill(place.api.key.plain)
    await operation.get_by_role("button", name="Send request").click()
    output = operation.get_by_role("status")
    await expect(output).to_contain_text("200")
    await expect(output).to_contain_text("x-request-id: ")
    await expect(output).to_contain_text('"name": "Main"')
    change = page.locator("#change_workspace")
    await change.get_by_text("Try it").click()
    await change.get_by_label("Body").fill('{"name": "Harbour Ltd"}')
    await change.get_by_role("button", name="Send request").click()
    await expect(change.get_by_role("status")).to_contain_text('"name": "Harbour Ltd"')
    await operation.get_by_text("Samples").click()
    await accepted(page, "reference-subject")
    secret = place.api.key.plain
    stored = await page.evaluate(
        "async () => JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, history.state,"
        " document.documentElement.outerHTML, await indexedDB.databases(), await caches.keys().catch(() => [])])"
    )
    assert secret not in stored
    assert not [address for address in asked if secret in address or not address.startswith(place.address)]
    assert await context.cookies() == []
    await page.reload()
    assert await page.get_by_label("API key").input_value() == ""

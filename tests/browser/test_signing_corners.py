"""The signing screen where it is tight or something goes wrong: small screens, close fields, slow nets."""

import asyncio
from typing import Any

import pytest
from playwright.async_api import Browser, Locator, Page, Route

from tests.api.signing.conftest import Office, signer
from tests.api.signing.packets import Packets, file
from tests.browser.hands import IN_VIEW, PHONE, agreed_and_signed, drawn, kept, opened, phone, place
from tests.browser.screens import accepted, faults
from tests.browser.test_frame import signed_in

pytestmark = [pytest.mark.anyio, pytest.mark.one_database]


async def touched(page: Page, mark: Locator) -> None:
    """A finger in the middle of a mark, whatever lies there."""
    await mark.scroll_into_view_if_needed()
    box = await mark.bounding_box()
    assert box is not None
    await page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


async def test_close_fields_are_told_apart_and_the_pages_keep_room_above_a_keyboard(
    browser: Browser, office: Office
) -> None:
    labels = ["Street", "House", "City"]
    fields = [place("text", 0.2 + 0.021 * at, label=label, h=0.02) for at, label in enumerate(labels)]
    document = await office.create(
        send=True, fields=[*fields, place("number", 0.5, label="Rent"), place("signature", 0.8)]
    )
    context = await phone(browser, reduced_motion="reduce")
    page = await context.new_page()
    sheet = await opened(page, office, document)
    for at in (1, 0, 1, 2, 1, 0):
        await touched(page, page.locator(".mark").nth(at))
        assert await sheet.get_by_label(labels[at]).is_visible(), labels[at]
    for width, height, room in ((390, 450, 130), (320, 256, 60)):
        await page.set_viewport_size({"width": width, "height": height})
        box = await page.locator(".pages").bounding_box()
        assert box is not None
        assert (box["width"], box["height"] >= room) == (width, True), box
        await page.wait_for_function(IN_VIEW)
    usual = "Saved automatically. You can close this page and come back."
    await context.set_offline(True)
    await page.wait_for_function("!navigator.onLine")
    assert await page.locator("#kept").text_content() == usual, "nothing is changed"
    await page.set_viewport_size({"width": 760, "height": 390})
    assert not await page.locator("#kept").is_visible()
    await sheet.get_by_label("Street").fill("Mill Lane")
    await page.get_by_text("Not kept yet: you are offline.").wait_for()
    await context.set_offline(False)
    await page.locator("#kept[data-usual]", has_text=usual).wait_for(state="attached")
    await page.set_viewport_size(PHONE)
    await what_the_server_finds_wrong_is_said_until_it_is_mended(page, sheet)


async def what_the_server_finds_wrong_is_said_until_it_is_mended(page: Page, sheet: Locator) -> None:
    for label, text in (("House", "7"), ("City", "Ghent"), ("Rent", "twelve")):
        await page.locator(f".mark[aria-label^={label}]").tap()
        await sheet.get_by_label(label).fill(text)
    await page.locator("#next").tap()
    await drawn(page)
    await sheet.get_by_label("I agree").check()
    await page.locator("#act").tap()
    rent = sheet.get_by_label("Rent")
    await rent.wait_for()
    await sheet.locator(".step .wrong").wait_for()
    assert await sheet.locator(".pad path").count() == 1, "the drawing has come back"
    await rent.fill("12")
    assert await sheet.locator(".wrong:visible").count() == 0
    assert (await rent.get_attribute("aria-invalid"), await rent.get_attribute("aria-describedby")) == (None, None)


async def _only_pages(route: Route) -> None:
    """The question whether a page is still the one to show gets no answer."""
    await (route.abort() if "x-part" in route.request.headers else route.continue_())


async def test_what_is_kept_arrives_in_its_order_and_an_ended_document_says_so_at_any_step(
    browser: Browser, office: Office
) -> None:
    fields = [place("text", 0.2, label="City"), place("email", 0.3, label="Contact"), place("signature", 0.8)]
    document = await office.create(send=True, fields=fields, signers=[signer("ann", language="de")])
    page = await (await phone(browser)).new_page()
    await page.clock.install()
    sheet, arrived, released = await opened(page, office, document), list[Any](), asyncio.Event()

    async def slow(route: Route) -> None:
        sent: Any = route.request.post_data_json
        arrived.extend(sent["values"].values())
        await released.wait()
        await route.continue_()

    await page.route("**/fields", slow)
    for text in ("G", "Ghent"):
        await sheet.get_by_label("City").fill(text)
        await page.clock.run_for(600)
    await page.evaluate("fetch(location.href)")  # what was sent before it has arrived
    assert arrived == ["G"]
    released.set()
    async with page.expect_response(lambda answer: "Ghent" in str(answer.request.post_data)):
        await page.clock.run_for(1000)
    assert arrived == ["G", "Ghent"]
    await page.unroute("**/fields")
    await page.locator(".mark[aria-label^=Contact]").tap()
    await sheet.get_by_label("Contact").fill("bob")
    await page.locator("#next").tap()
    told = "Das ist keine E-Mail-Adresse"
    assert (await page.locator("#problem").inner_text()).startswith(told), "in their language, not the browser's"
    await kept(page, sheet.get_by_label("Contact"), "bob@example.com")
    await page.locator("#next").tap()
    await page.route("**/sign/*", _only_pages)  # what it is told for its change comes first
    await office.api.post(f"/api/v1/documents/{document['id']}/void", {"reason": "Another tenant"})
    await page.locator(".mark").first.tap()
    await sheet.get_by_label("City").fill("Bruges")
    await page.locator("#next").tap()
    await page.clock.run_for(600)
    await page.locator("#ended", has_text="zurückgezogen").wait_for()
    assert await faults(page) == []
    await page.locator("#ended a").tap()
    await page.get_by_text("Another tenant").wait_for()


async def test_what_is_wrong_with_a_value_is_not_said_of_the_one_that_took_its_place(
    browser: Browser, office: Office
) -> None:
    document = await office.create(send=True, fields=[place("email", 0.3, label="Contact"), place("signature", 0.8)])
    page, begun, released = await (await phone(browser)).new_page(), asyncio.Event(), asyncio.Event()
    sheet = await opened(page, office, document)

    async def slow(route: Route) -> None:
        begun.set()
        await released.wait()
        await route.continue_()

    await page.route("**/fields", slow)
    await page.locator(".mark[aria-label^=Contact]").tap()
    await sheet.get_by_label("Contact").fill("bob")
    await begun.wait()
    async with page.expect_response(lambda answer: "bob@example.com" in str(answer.request.post_data)):
        await sheet.get_by_label("Contact").fill("bob@example.com")
        released.set()
    assert not await page.locator("#problem").is_visible()


async def test_of_several_signatures_the_first_is_shown_and_no_document_is_done_before_it_is_seen(
    browser: Browser, office: Office
) -> None:
    documents = [
        {"title": "Lease", "file": file(), "fields": [place("text", 0.2, label="City"), place("signature", 0.8)]},
        {
            "title": "Rules",
            "file": file("rules.pdf"),
            "fields": [place("text", 0.2, read_only=True, default="No cats")],
        },
        {"title": "Keys", "file": file("keys.pdf"), "fields": [place("signature", 0.5, page=2)]},
    ]
    parties = [{"name": "Ann", "signers": [signer("ann")]}]
    packets = Packets(office.api)
    packet = await packets.create(send=True, title="Moving in", documents=documents, parties=parties)
    page = await (await phone(browser, reduced_motion="reduce")).new_page()
    sheet = await opened(page, office, packet)
    done, now = page.locator(".documents a[data-done]"), page.locator(".documents a[aria-current]")
    assert await done.count() == 0
    await sheet.get_by_label("City").fill("Ghent")
    await page.locator("#next").tap()
    assert "nothing to fill in" in await sheet.locator(".step:visible").inner_text()
    assert await done.all_inner_texts() == ["Rules"]
    await page.locator("#next").tap()
    assert (await sheet.locator(".where:visible").inner_text()).split("\n") == ["3 of 3", "page 1"]
    assert await now.inner_text() == "1\nLease"
    marks = page.locator(".mark[data-state=now]")
    assert await marks.count() == 2
    page_box, first = await page.locator(".pages").bounding_box(), await marks.first.bounding_box()
    assert page_box is not None
    assert first is not None
    assert page_box["y"] <= first["y"] <= page_box["y"] + page_box["height"], "it is in view"
    await page.locator(".mark").first.tap()
    await page.locator(".documents a", has_text="Keys").tap()
    await drawn(page)
    assert await done.count() == 3
    await page.locator("#act").tap()
    consent = sheet.locator("input[name=consent]")
    assert await consent.get_attribute("aria-describedby") == "problem"
    assert await sheet.locator("[aria-invalid]").count() == 1, "only the consent is missing"
    await agreed_and_signed(page)


async def test_what_is_filled_in_before_the_script_has_come_is_kept_too(browser: Browser, office: Office) -> None:
    fields = [
        place("text", 0.2, label="City"),
        place("checkbox", 0.3, label="Pets"),
        place("select", 0.4, label="Floor", options=["First", "Second"]),
        place("signature", 0.8),
    ]
    document = await office.create(send=True, fields=fields)
    page, released = await (await phone(browser)).new_page(), asyncio.Event()

    async def slow(route: Route) -> None:
        await released.wait()
        await route.continue_()

    sheet = await opened(page, office, document)
    await page.route("**/js/sign.js", slow)
    await page.reload(wait_until="commit")
    await sheet.get_by_label("City").fill("Ghent")
    await sheet.get_by_label("Pets").check()
    async with page.expect_response(lambda answer: answer.url.endswith("/fields")) as arriving:
        released.set()
    sent: Any = (await arriving.value).request.post_data_json
    assert list(sent["values"].values()) == ["Ghent", "true"]


async def test_every_open_tab_shows_that_the_document_was_withdrawn(browser: Browser, office: Office) -> None:
    document = await office.create(send=True, fields=[place("text", 0.2, label="City"), place("signature", 0.8)])
    context = await phone(browser)
    page = await context.new_page()
    await opened(page, office, document)
    tabs = [page]
    for address in (f"{page.url}/text", f"{page.url}/ways/decline"):
        tabs.append(await context.new_page())
        await tabs[-1].goto(address)
    await page.locator("#sheet").get_by_label("City").fill("Ghent")
    await office.api.post(f"/api/v1/documents/{document['id']}/void", {"reason": "Another tenant"})
    for tab in tabs:
        await tab.bring_to_front()
        await tab.get_by_text("withdrawn").first.wait_for(timeout=20_000)


async def test_another_tab_shows_at_once_that_the_document_is_signed(browser: Browser, office: Office) -> None:
    signers = [signer("ann"), signer("ben", order=2)]
    document = await office.create(send=True, fields=[place("signature", 0.8)], signers=signers)
    context = await phone(browser)
    page, other = await context.new_page(), await context.new_page()
    await opened(page, office, document)
    await opened(other, office, document)
    await page.clock.install()  # no time passes there: only the other tab can tell it
    await page.reload()
    await drawn(other)
    await agreed_and_signed(other)
    await page.get_by_text("You have signed").wait_for()


async def test_in_person_the_screens_name_signer_and_host_until_the_device_is_back(
    browser: Browser, office: Office
) -> None:
    document = await office.create(send=True, fields=[place("signature", 0.5)])
    page = await (await phone(browser)).new_page()
    await signed_in(office, page)
    await office.api.deedbox.db.write(lambda tx: tx.run("update people set name = 'Ben Host'"))
    ann = document["parties"][0]["signers"][0]["id"]
    await page.goto(f"{office.address}/app/documents/{document['id']}/signers/{ann}")
    await page.get_by_role("button", name="Hand over to Ann").click()
    await page.get_by_role("heading", name="Ann, please read and sign").wait_for()
    await accepted(page, "handed-over")
    await page.get_by_role("button", name="I am Ann: open the document").click()
    await page.locator("#sheet").wait_for()
    await page.reload()
    await drawn(page)
    await agreed_and_signed(page)
    await page.get_by_text("give this device back to Ben Host").wait_for()
    await accepted(page, "given-back")
    await page.goto(page.url)
    await page.get_by_text("give this device back to Ben Host").wait_for()


async def test_each_step_begins_at_the_top_of_the_sheet_and_says_where_it_is(browser: Browser, office: Office) -> None:
    fields = [place("text", 0.2, label="City " * 19), place("text", 0.3, label="Street"), place("signature", 0.8)]
    document = await office.create(send=True, fields=fields)
    page = await (await phone(browser)).new_page()
    await page.set_viewport_size({"width": 320, "height": 330})
    sheet = await opened(page, office, document)
    described = (
        "document.getElementById(document.querySelector('.step:not([hidden])').getAttribute('aria-describedby'))"
    )
    assert await page.evaluate(f"{described}.innerText") == await page.locator(".where:visible").inner_text()
    await sheet.get_by_label("City").fill("Ghent")
    await sheet.evaluate("one => { one.scrollTop = 1000; }")
    assert await sheet.evaluate("one => one.scrollTop") > 0
    await page.locator("#next").tap()
    await sheet.get_by_label("Street").wait_for()
    assert await sheet.evaluate("one => one.scrollTop") == 0

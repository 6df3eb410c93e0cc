"""The signing screen in a real browser: phone, keyboard, another device, side by side, packets, other languages."""

import asyncio
import base64
import io
from typing import Any
from urllib.parse import urlsplit

import pikepdf
import pytest
from playwright.async_api import Browser, Page

from tests.api.search.files import pdf
from tests.api.signing.conftest import Office, signer
from tests.api.signing.packets import Packets, file
from tests.api.signing.test_entry import trail
from tests.browser.hands import (
    IN_VIEW,
    PASSPORT,
    PHONE,
    TURNED,
    agreed_and_signed,
    drawn,
    kept,
    opened,
    phone,
    place,
)
from tests.browser.screens import accepted, faults, overflow
from tests.conftest import PAGE_IMAGE_FIRST

pytestmark = pytest.mark.anyio
one_database = pytest.mark.one_database
"""For what depends on no database."""
FIELDS = [
    place("text", 0.2, label="City"),
    place("checkbox", 0.3, label="Rules"),
    place("signature", 0.8, page=2),
]


async def values(office: Office, document: Any) -> dict[str, str | None]:
    found = await office.document(document["id"])
    return {one["label"]: one["value"] for one in found["fields"] if one["label"]}


async def test_a_touch_run_seals_what_a_finger_drew_as_vectors_and_turning_keeps_the_drawing(
    browser: Browser, office: Office
) -> None:
    document = await office.create(send=True, fields=FIELDS)
    page = await (await phone(browser)).new_page()
    sheet = await opened(page, office, document)
    assert (await sheet.locator(".where:visible").inner_text()).split("\n") == ["1 of 3", "page 1"]
    await sheet.get_by_label("City").fill("Ghent")
    await page.locator("#next").tap()
    await sheet.get_by_label("Rules").tap()
    await page.locator("#next").tap()
    await drawn(page)
    before = await page.locator(".pad:visible path").get_attribute("d")
    await page.set_viewport_size(TURNED)
    assert await page.locator(".pad:visible path").get_attribute("d") == before
    pad, pages = await page.locator(".pad:visible").bounding_box(), await page.locator(".pages").bounding_box()
    assert pad is not None
    assert pages is not None
    assert pad["x"] >= pages["x"] + pages["width"], "the sheet stands beside the pages"
    await agreed_and_signed(page)
    await office.completed(document)
    assert await values(office, document) == {"City": "Ghent", "Rules": "true"}
    sealed = (await office.api.get(f"/api/v1/documents/{document['id']}/signed")).content
    with pikepdf.open(io.BytesIO(sealed)) as paper:
        pictures = [one for one in paper.objects if isinstance(one, pikepdf.Stream) and one.get("/Subtype") == "/Image"]
        assert pictures == [], "no pixels"


async def test_a_keyboard_run_seals(browser: Browser, office: Office) -> None:
    fields = [*FIELDS, place("select", 0.4, label="Floor", options=["First", "Second"])]
    document = await office.create(send=True, fields=fields)
    page = await (await browser.new_context(viewport={"width": 1320, "height": 860})).new_page()
    await opened(page, office, document)
    keys = page.keyboard
    await tabbed(page, "City")
    await keys.type("Ghent")
    await keys.press("Enter")
    assert await focused(page) == "Rules"
    await keys.press("Space")
    await tabbed(page, "Next")
    await keys.press("Enter")
    assert await focused(page) == "Floor"
    await keys.press("ArrowDown")
    await keys.press("Enter")
    await tabbed(page, "Next")
    await keys.press("Enter")
    await tabbed(page, "Draw")
    await keys.press("ArrowRight")
    await tabbed(page, "Type your name as your signature")
    assert await page.get_by_label("Type your name as your signature").input_value() == "Ann"
    await tabbed(page, "I agree to sign")
    await keys.press("Space")
    await tabbed(page, "Sign")
    await keys.press("Enter")
    await page.locator("#sheet").wait_for(state="detached")
    await office.completed(document)
    assert await values(office, document) == {"City": "Ghent", "Rules": "true", "Floor": "First"}


async def focused(page: Page) -> str:
    """What a screen reader calls the element that has the focus."""
    script = "const e = document.activeElement; (e.labels?.[0] ?? e).innerText || e.getAttribute('aria-label') || ''"
    return str(await page.evaluate(f"(() => {{ {script.replace('; (', '; return (')} }})()")).strip()


async def tabbed(page: Page, name: str) -> None:
    """Presses Tab until the element of this name has the focus."""
    for _ in range(40):
        if (await focused(page)).startswith(name):
            return
        await page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not lead to {name}")


async def test_a_reload_and_another_device_resume_with_what_was_filled_in(browser: Browser, office: Office) -> None:
    document = await office.create(send=True, fields=FIELDS)
    page = await (await phone(browser)).new_page()
    sheet = await opened(page, office, document)
    assert await page.locator(".pages").evaluate("one => one.scrollTop") == 0, "a first look begins at the top"
    await kept(page, sheet.get_by_label("City"), "Ghent")
    await page.locator("#next").tap()
    await sheet.get_by_label("Rules").tap()
    await page.locator("#next").tap()
    await drawn(page)
    await page.reload()
    await page.wait_for_function(IN_VIEW, timeout=5_000)
    assert await page.evaluate("document.activeElement === document.body"), "the focus stays where it was"
    assert await page.locator(".mark[data-state=done]").all_inner_texts() == ["Ghent", "✓"]
    assert await page.locator(".pad:visible path").count() == 1, "the drawing is there as well"
    other = await (await browser.new_context()).new_page()
    await opened(other, office, document)
    await other.wait_for_function(IN_VIEW, timeout=5_000)
    assert await other.locator(".mark[data-state=done]").all_inner_texts() == ["Ghent", "✓"]
    await page.locator(".mark").first.tap()
    await sheet.get_by_label("City").fill("Bruges")
    await page.close()  # at once: it is kept on leaving
    async with asyncio.timeout(30):
        while await other.locator("#sheet").get_by_label("City").input_value() != "Bruges":
            await other.reload()


async def test_two_tabs_never_mix(browser: Browser, office: Office) -> None:
    lease, sale = [await office.create(send=True, title=title, fields=FIELDS) for title in ("Lease", "Sale")]
    context = await phone(browser)
    first, second = await context.new_page(), await context.new_page()
    left, right = await opened(first, office, lease), await opened(second, office, sale)
    for page, sheet, city in ((first, left, "Ghent"), (second, right, "Rome")):
        await page.bring_to_front()  # a browser lets pages behind others wait
        await kept(page, sheet.get_by_label("City"), city)
        await page.locator("#next").tap()
        await sheet.get_by_label("Rules").tap()
        await page.locator("#next").tap()
    await first.bring_to_front()
    await drawn(first)
    await second.bring_to_front()
    await second.reload()
    assert await second.locator(".pad:visible path").count() == 0, "a drawing stays with its document"
    await first.bring_to_front()
    await agreed_and_signed(first)
    await office.completed(lease)
    assert (await values(office, lease))["City"] == "Ghent"
    assert (await office.document(sale["id"]))["status"] == "sent"
    assert await second.locator(".mark[data-state=done]").first.inner_text() == "Rome"


def three(**more: Any) -> dict[str, Any]:
    documents = [
        {"title": "Lease", "file": file(), "fields": [place("text", 0.2, label="City"), place("signature", 0.8)]},
        {"title": "Rules", "file": file("rules.pdf"), "fields": []},
        {"title": "Keys", "file": file("keys.pdf"), "fields": [place("number", 0.2, label="Keys")]},
    ]
    return {
        "title": "Moving in",
        "documents": documents,
        "parties": [{"name": "Ann", "signers": [signer("ann")]}],
        **more,
    }


async def test_a_packet_of_three_documents_is_signed_by_one_link_in_one_act(browser: Browser, office: Office) -> None:
    packets = Packets(office.api)
    packet = await packets.create(**three(send=True))
    page = await (await phone(browser)).new_page()
    sheet = await opened(page, office, packet)
    chips = page.locator(".documents a")
    assert await chips.all_inner_texts() == ["1\nLease", "2\nRules", "3\nKeys"]
    await sheet.get_by_label("City").fill("Ghent")
    assert await page.locator("#next").inner_text() == "Next document"
    await page.locator("#next").tap()
    assert "nothing to fill in" in await sheet.locator(".step:visible").inner_text()
    await accepted(page, "packet")
    await page.locator("#next").tap()
    await sheet.get_by_label("Keys").fill("3")
    assert await page.locator(".documents a[data-done]").all_inner_texts() == ["Rules", "Keys"]
    await page.locator("#next").tap()
    await drawn(page)
    assert await page.locator(".documents a[data-done]").count() == 3
    await agreed_and_signed(page)
    async with asyncio.timeout(60):
        while (await packets.now(packet))["status"] != "completed":
            await asyncio.sleep(0.05)


async def test_a_decline_ends_all_documents_of_a_packet(browser: Browser, office: Office) -> None:
    packets = Packets(office.api)
    packet = await packets.create(**three(send=True))
    page = await (await phone(browser)).new_page()
    await opened(page, office, packet)
    await page.locator(".menu > summary").tap()
    await page.get_by_role("link", name="I do not want to sign").tap()
    await page.get_by_text("This ends the process for everyone").wait_for()
    await page.get_by_role("button", name="Decline to sign").tap()
    await page.get_by_role("heading", name="You have declined").wait_for()
    found = await packets.now(packet)
    assert {one["status"] for one in found["documents"]} == {"declined"}


async def test_arabic_runs_from_right_to_left_and_fields_stay_where_they_are(browser: Browser, office: Office) -> None:
    people = [signer("ann", language="ar")]
    document = await office.create(send=True, fields=FIELDS, signers=people)
    page = await (await phone(browser)).new_page()
    sheet = await opened(page, office, document)
    assert await page.locator("html").get_attribute("dir") == "rtl"
    mark, paper = page.locator(".mark").first, page.locator(".page").first
    at, around = await mark.bounding_box(), await paper.bounding_box()
    assert at is not None
    assert around is not None
    assert abs(at["x"] - around["x"] - 0.1 * around["width"]) < 1
    aligned = "one => getComputedStyle(one).textAlign"
    assert await page.locator("h1").evaluate(aligned) == "right", "an English title begins where the page does"
    await page.get_by_role("button", name="تكبير").tap()
    middle = await page.locator(".pages").evaluate("one => [one.scrollLeft, (one.scrollWidth - one.clientWidth) / 2]")
    assert abs(middle[0] - middle[1]) < 20, "it grows from its middle"
    await sheet.get_by_label("City").fill("الرباط")
    await page.locator("#next").tap()
    await sheet.get_by_label("Rules").tap()
    await page.locator("#next").tap()
    await sheet.get_by_text("كتابة", exact=True).tap()
    await sheet.locator("#signature").fill("آن")
    await accepted(page, "arabic")
    await sheet.locator("input[name=consent]").check()
    await page.locator("#act").tap()
    await page.locator("#sheet").wait_for(state="detached")
    await office.completed(document)
    [row] = await trail(office, document, "signer.signed")
    assert row["detail"]["consent"].startswith("أوافق على توقيع هذا المستند")


@one_database
async def test_a_language_is_chosen_in_the_menu_and_the_consent_is_kept_as_it_was_shown(
    browser: Browser, office: Office
) -> None:
    document = await office.create(send=True, fields=FIELDS)
    page = await (await phone(browser)).new_page()
    sheet = await opened(page, office, document)
    await kept(page, sheet.get_by_label("City"), "Ghent")
    await page.locator(".menu > summary").tap()
    assert await faults(page) == []
    await page.get_by_role("link", name="Read as text").tap()
    await page.get_by_role("link", name="Rules").tap()  # which leads to its field
    await page.locator("#next").wait_for()
    assert await sheet.get_by_label("Rules").is_visible()
    await page.locator(".menu > summary").tap()
    await page.get_by_role("button", name="Deutsch").tap()
    await page.get_by_role("button", name="Weiter").wait_for()
    assert await page.locator(".mark[data-state=done]").inner_text() == "Ghent"
    await sheet.get_by_label("Rules").tap()
    await page.locator("#next").tap()
    await drawn(page)
    await sheet.get_by_label("Ich bin damit einverstanden").check()
    await page.locator("#act").tap()
    await page.locator("#sheet").wait_for(state="detached")
    [row] = await trail(office, document, "signer.signed")
    assert row["detail"]["consent"].startswith("Ich bin damit einverstanden")


@one_database
async def test_options_of_a_radio_field_show_on_the_page_as_they_are_chosen(browser: Browser, office: Office) -> None:
    fields = [
        place("radio", 0.10, label="Pets", options=["Yes", "No"], h=0.06),
        place("text", 0.20, label="Which", show_if={"field": "Pets", "equals": "Yes"}),
        place("signature", 0.80),
    ]
    document = await office.create(send=True, fields=fields)
    page = await (await phone(browser)).new_page()
    sheet, following = await opened(page, office, document), page.locator("#next")
    dots = page.locator(".mark[data-options] .dot")
    assert await page.locator(".mark[data-options] .option:not(.dot)").all_inner_texts() == ["Yes", "No"]
    assert await dots.count() == 2
    await sheet.get_by_label("No", exact=True).tap()
    assert [await one.get_attribute("data-chosen") for one in await dots.all()] == [None, ""]
    await sheet.get_by_label("Yes", exact=True).tap()
    assert [await one.get_attribute("data-chosen") for one in await dots.all()] == ["", None]
    circle, label = (page.locator(".mark[data-options] .option").nth(at) for at in (0, 1))
    of_circle, of_label = await circle.bounding_box(), await label.bounding_box()
    assert of_circle is not None
    assert of_label is not None
    assert of_circle["width"] == pytest.approx(of_circle["height"], rel=0.1)
    assert of_circle["x"] + of_circle["width"] < of_label["x"]
    assert await faults(page) == []
    await following.tap()
    await sheet.get_by_label("Which").fill("A cat")
    await following.tap()
    await drawn(page)
    await agreed_and_signed(page)
    await office.completed(document)
    assert await values(office, document) == {"Pets": "Yes", "Which": "A cat"}


@one_database
async def test_every_kind_of_field_is_filled_in_step_by_step(browser: Browser, office: Office) -> None:
    fields = [
        place("radio", 0.10, group="Pets", label="Yes"),
        place("radio", 0.15, group="Pets", label="No"),
        place("text", 0.20, label="Which", show_if={"field": "Pets", "equals": "Yes"}),
        place("number", 0.30, label="Rent"),
        place("date", 0.35, label="From"),
        place("date_signed", 0.70, label="Signed on"),
        place("email", 0.40, label="Contact"),
        place("text", 0.45, label="Street", read_only=True, default="Mill Lane"),
        place("attachment", 0.50, label="Passport"),
        place("initials", 0.60),
        place("signature", 0.80),
    ]
    document = await office.create(send=True, fields=fields, signers=[signer("ann", language="de")])
    page = await (await phone(browser)).new_page()
    sheet, following = await opened(page, office, document), page.locator("#next")
    await accepted(page, "choice")
    await sheet.get_by_label("No", exact=True).tap()
    assert await page.locator(".mark[data-state=fixed]").all_inner_texts() == ["Mill Lane", "1. März 2026"]
    await sheet.get_by_label("Yes").tap()
    await following.tap()
    await sheet.get_by_label("Which").fill("A cat")
    await following.tap()
    await sheet.get_by_label("Rent").fill("zwölf")
    await page.get_by_text("Das ist keine Zahl").wait_for()
    assert await faults(page) == []
    await kept(page, sheet.get_by_label("Rent"), "1.234,50", "1234,50")
    await following.tap()
    start = sheet.get_by_label("From")
    assert (await start.get_attribute("type"), await start.input_value()) == ("date", ""), "nobody fills it but Ann"
    await accepted(page, "date")
    await kept(page, start, "2027-01-31", "2027-01-31")
    await following.tap()
    for again in (True, False):
        await sheet.get_by_label("Passport").focus()
        await sheet.get_by_label("Passport").set_input_files(PASSPORT)
        await sheet.locator(".given", has_text="passport.pdf").wait_for()
        await sheet.locator("#kept").get_by_text("passport.pdf wurde hochgeladen").wait_for()
        assert await focused(page) == "Passport"
        if again:
            await sheet.get_by_role("button", name="Entfernen").press("Enter")
            await sheet.locator(".given").wait_for(state="hidden")
            assert await focused(page) == "Passport"
    await following.tap()
    assert "hochgeladen" not in (await sheet.locator("#kept").text_content() or ""), "it belongs to the step before"
    await sheet.locator("#initials").fill("AB")
    await page.locator(".mark[data-state=now] img").wait_for(state="attached")
    await following.tap()
    await drawn(page)
    await sheet.locator("#review summary").tap()
    assert "Rent\n1.234,50" in await sheet.locator("#review").inner_text()
    await accepted(page, "signature")
    await sheet.locator("input[name=consent]").check()
    await page.locator("#act").tap()
    await page.locator("#sheet").wait_for(state="detached")
    found = await office.completed(document)
    assert [one["name"] for one in found["attachments"]] == ["passport.pdf"]
    told = await values(office, document)
    assert (told["Yes"], told["Which"], told["Rent"]) == ("true", "A cat", "1234.50")
    assert (told["From"], told["Contact"], told["Street"]) == ("2027-01-31", "ann@example.com", "Mill Lane")
    assert told["Signed on"] == "2026-03-01"


@one_database
async def test_offline_says_that_nothing_is_kept_and_sign_waits(browser: Browser, office: Office) -> None:
    document = await office.create(send=True, fields=[FIELDS[0], FIELDS[2]])
    context = await phone(browser)
    page = await context.new_page()
    sheet = await opened(page, office, document)
    await context.set_offline(True)
    await sheet.get_by_label("City").fill("Ghent")
    await page.get_by_text("Not kept yet: you are offline.").wait_for()
    await page.locator("#next").tap()
    await drawn(page)
    await sheet.get_by_label("I agree").check()
    await page.locator("#act").tap()
    assert "You are offline" in await page.locator("#problem").inner_text()
    async with page.expect_response(lambda answer: answer.url.endswith("/fields")):
        await context.set_offline(False)
    await page.locator("#act").tap()
    await page.locator("#sheet").wait_for(state="detached")
    assert (await office.completed(document))["progress"]["signers_signed"] == 1


@one_database
async def test_what_is_missing_is_told_beside_it_and_an_approver_leaves_no_signature(
    browser: Browser, office: Office
) -> None:
    document = await office.create(send=True, signers=[signer("ann"), signer("kim", role="approver")], fields=FIELDS)
    page = await (await phone(browser)).new_page()
    sheet = await opened(page, office, document)
    await page.locator("#next").tap()
    assert await page.get_by_role("alert").filter(visible=True).inner_text() == "This field is required"
    assert await sheet.get_by_label("City").get_attribute("aria-describedby") == "problem"
    assert (await office.sign(document, "ann", values={one["id"]: v for one, v in zip(
        document["fields"], ("Ghent", "true"), strict=False)})).status_code == 200  # fmt: skip
    other = await (await phone(browser)).new_page()
    sheet = await opened(other, office, document, "kim")
    assert await other.locator(".mark[data-state=others]").all_inner_texts() == ["Ghent", "✓", "Ann"]
    assert await sheet.locator(".pad").count() == 0
    assert await other.locator("#progress").get_attribute("value") == "0"
    await accepted(other, "approver")
    await sheet.locator("input[name=consent]").check()
    await other.get_by_role("button", name="Approve").tap()
    await other.locator("#sheet").wait_for(state="detached")
    await office.completed(document)


@one_database
async def test_the_pages_zoom_alone_and_the_sheet_stays(browser: Browser, office: Office) -> None:
    document = await office.create(send=True, fields=FIELDS)
    page = await (await phone(browser)).new_page()
    sheet = await opened(page, office, document)
    before, paper = await sheet.bounding_box(), await page.locator(".page").first.bounding_box()
    await page.get_by_role("button", name="Zoom in").tap()
    after, larger = await sheet.bounding_box(), await page.locator(".page").first.bounding_box()
    assert paper is not None
    assert larger is not None
    assert (before, round(larger["width"] / paper["width"], 1)) == (after, 1.5)
    cdp = await page.context.new_cdp_session(page)
    for kind, apart in (("touchStart", 20), ("touchMove", 40), ("touchMove", 60)):
        points = [{"x": 195 - apart, "y": 250, "id": 0}, {"x": 195 + apart, "y": 250, "id": 1}]
        await cdp.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    await cdp.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    widest = await page.locator(".page").first.bounding_box()
    assert widest is not None
    assert (await sheet.bounding_box(), round(widest["width"] / paper["width"], 1)) == (before, 3.0)
    assert await overflow(page) <= 0


@one_database
async def test_at_320_px_with_text_of_200_percent_everything_can_be_reached(browser: Browser, office: Office) -> None:
    document = await office.create(send=True, fields=FIELDS)
    page = await (await phone(browser)).new_page()
    await page.set_viewport_size({"width": 320, "height": 640})
    sheet = await opened(page, office, document)
    await page.evaluate("document.documentElement.style.fontSize = '200%'")
    await sheet.get_by_label("City").fill("Ghent")
    await page.locator("#next").tap()
    await sheet.get_by_label("Rules").tap()
    await page.locator("#next").tap()
    await page.locator(".pad:visible").scroll_into_view_if_needed()
    await drawn(page)
    await page.locator("#act").scroll_into_view_if_needed()
    assert await overflow(page) <= 0
    await agreed_and_signed(page)
    await office.completed(document)


@one_database
async def test_65_pages_are_read_quickly_without_a_refusal(browser: Browser, office: Office) -> None:
    long = {"name": "long.pdf", "content_base64": base64.b64encode(pdf(*map(str, range(65)))).decode()}
    document = await office.create(send=True, file=long, fields=[place("signature", 0.5, page=65, h=0.08)])
    page = await (await phone(browser)).new_page()
    await opened(page, office, document)
    read = "Promise.all([...document.querySelectorAll('.page img')].map(async one => (await fetch(one.src)).status))"
    assert await page.evaluate(read) == [200] * 65
    assert (await page.locator(".where:visible").inner_text()).split("\n") == ["1 of 1", "page 65"]


@one_database
async def test_phones_and_desktops_ask_for_the_picture_that_was_drawn_when_it_was_sent(
    browser: Browser, office: Office
) -> None:
    document = await office.create(send=True, fields=FIELDS)
    screens: list[dict[str, Any]] = [
        {"viewport": PHONE, "device_scale_factor": 3},
        {"viewport": {"width": 412, "height": 800}, "device_scale_factor": 2.625},
        {"viewport": {"width": 1320, "height": 860}, "device_scale_factor": 1},
    ]
    for screen in screens:
        page = await (await browser.new_context(**screen)).new_page()
        await opened(page, office, document)
        picture = page.locator(".page img").first
        asked, shown, told = await picture.evaluate("one => [one.currentSrc, one.width, one.sizes]")
        assert asked.endswith(f"?width={PAGE_IMAGE_FIRST}"), (screen, shown, told)


@one_database
async def test_the_page_weighs_at_most_60_kb_and_150_with_its_first_picture_and_asks_no_other_host(
    browser: Browser, office: Office
) -> None:
    document = await office.create(send=True, fields=FIELDS)
    page = await (await phone(browser)).new_page()
    kinds, asked = dict[str, str](), dict[str, tuple[str, int]]()

    def came(told: Any) -> None:
        kinds[told["requestId"]] = told["type"]
        hosts.add(urlsplit(told["response"]["url"]).netloc)

    def ended(told: Any) -> None:
        asked[told["requestId"]] = (kinds[told["requestId"]], told["encodedDataLength"])

    hosts, cdp = set[str](), await page.context.new_cdp_session(page)
    await cdp.send("Network.enable")
    cdp.on("Network.responseReceived", came)
    cdp.on("Network.loadingFinished", ended)
    await opened(page, office, document)
    await cdp.send("Network.setCacheDisabled", {"cacheDisabled": True})  # as on a first visit
    asked.clear()
    await page.reload()
    await page.wait_for_load_state("networkidle")
    bare = sum(size for kind, size in asked.values() if kind in ("Document", "Stylesheet", "Script"))
    pictures = [size for kind, size in asked.values() if kind == "Image"]
    print(f"signing page: {bare:,} bytes of HTML, CSS and JS; pictures {pictures}")
    assert 10_000 < bare <= 60_000
    assert bare + max(pictures) <= 150_000
    assert hosts == {urlsplit(office.address).netloc}

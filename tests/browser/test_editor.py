"""The field editor in a real browser: fields by dragging, pressing and keys, kept at once, and read by the API."""

import base64
import itertools
import re
from typing import Any

import pytest
from playwright.async_api import Browser, BrowserContext, Locator, Page, expect

from deedbox.web.http.static import load_static_files
from tests.api.search.files import pdf
from tests.api.signing.conftest import Office, signer
from tests.browser.hands import phone
from tests.browser.screens import accepted
from tests.browser.test_frame import signed_in

pytestmark = pytest.mark.anyio
one_database = pytest.mark.one_database

DESK: Any = {"width": 1320, "height": 860}
A4 = (595, 842)


async def draft(office: Office, pages: int = 2, **more: Any) -> Any:
    """A draft for Ann, and Ben after her."""
    content = pdf(*(f"Page {number} of the lease." for number in range(1, pages + 1)), size=A4)
    file = {"name": "lease.pdf", "content_base64": base64.b64encode(content).decode()}
    people = [signer("ann"), signer("ben", order=2)]
    return await office.create(file=file, **{"signers": people, **more})


async def opened(office: Office, context: BrowserContext, document: Any) -> Page:
    """The editor of the draft, in a tab of its own, ready and with nothing on its pages."""
    page = await context.new_page()
    page.set_default_timeout(15_000)
    await signed_in(office, page)
    await shown(office, page, document)
    return page


async def shown(office: Office, page: Page, document: Any) -> None:
    await page.goto(f"{office.address}/app/documents/{document['id']}/fields")
    await page.locator("html[data-ready]").wait_for(state="attached")


async def emptied(page: Page) -> None:
    """The fields that a draft has by itself are removed."""
    for paper in await page.locator(".paper:has(.box)").all():
        for box in await paper.locator(".box").all():
            await box.click(modifiers=["Shift"])
    await page.keyboard.press("Delete")
    await expect(page.locator(".box")).to_have_count(0)


async def sketch(page: Page) -> Any:
    """The fields as the server has them, once the editor says that they are kept."""
    await expect(page.locator("#kept")).to_have_text("Draft · saved")
    answer = await page.request.get(page.url.replace("/fields", "/sketch"))
    assert answer.ok
    return (await answer.json())["fields"]


async def dragged(page: Page, what: Locator, to: tuple[float, float], grip: tuple[float, float] = (0.5, 0.5)) -> None:
    """Takes hold of something and lets it go at this point of the window."""
    box = await what.bounding_box()
    assert box is not None
    await page.mouse.move(box["x"] + box["width"] * grip[0], box["y"] + box["height"] * grip[1])
    await page.mouse.down()
    await page.mouse.move(to[0] - 8, to[1] - 8)
    await page.mouse.move(*to, steps=3)
    await page.mouse.up()


async def point(page: Page, number: int, x: float, y: float) -> tuple[float, float]:
    """A point of a page in the window, with the page in view."""
    paper = page.locator(".paper").nth(number - 1)
    await paper.evaluate("(node, y) => { const all = node.closest('main'); all.scrollTop +="
        " node.getBoundingClientRect().top + y * node.offsetHeight - all.clientHeight / 2; }", y)  # fmt: skip
    box = await paper.bounding_box()
    assert box is not None
    return box["x"] + x * box["width"], box["y"] + y * box["height"]


def kind(page: Page, name: str) -> Locator:
    return page.locator(".kinds").get_by_role("button", name=name, exact=True)


async def test_40_fields_on_20_pages_are_placed_by_dragging_and_pressing_and_read_back(
    browser: Browser, office: Office
) -> None:
    document = await draft(office, pages=20)
    page = await opened(office, await browser.new_context(viewport=DESK), document)
    await emptied(page)
    for number in range(1, 21):
        if number == 11:
            await page.locator(".people").get_by_role("button", name="Ben").click()
        await dragged(page, kind(page, "Signature"), await point(page, number, 0.4, 0.5))
        await kind(page, "Date").click()
        await page.mouse.click(*await point(page, number, 0.7, 0.7))
    found = await sketch(page)
    assert [(one["type"], one["page"]) for one in found] == [
        (kind, number) for number in range(1, 21) for kind in ("signature", "date")
    ]
    ann, ben = (party["signers"][0]["id"] for party in document["parties"])
    assert [one["who"] for one in found] == [ann] * 20 + [ben] * 20
    for one in found:
        middle = (one["x"] + one["w"] / 2, one["y"] + one["h"] / 2)
        assert middle == pytest.approx((0.4, 0.5) if one["type"] == "signature" else (0.7, 0.7), abs=0.012)
    await expect(page.locator(".people .count")).to_have_text(["20", "20"])
    await expect(page.locator(".box").first).to_have_attribute(
        "aria-label", re.compile(r"^Signature for Ann, page 1, 5\d mm from the left, 1\d\d mm from the top$")
    )
    await review_is_what_the_api_reads(page, office, document, found)


async def review_is_what_the_api_reads(page: Page, office: Office, document: Any, drawn: Any) -> None:
    """Laid out, the document has the fields that were drawn."""
    await page.get_by_role("link", name="Review and send").click()
    await page.wait_for_url("**/review")
    await page.locator("button[formaction$='/review']").click()
    await page.wait_for_url("**?done=changed")
    laid_out = (await office.document(document["id"]))["fields"]
    assert [(one["type"], one["page"], one["signer"]) for one in laid_out] == [
        (one["type"], one["page"], one["who"]) for one in drawn
    ]
    for one, other in zip(laid_out, drawn, strict=True):
        assert [one[name] for name in "xywh"] == pytest.approx([other[name] for name in "xywh"], abs=1e-5)


@one_database
async def test_date_signed_and_date_are_two_tools(browser: Browser, office: Office) -> None:
    page = await opened(office, await browser.new_context(viewport=DESK), await draft(office))
    await emptied(page)
    for name, y in (("Date signed", 0.3), ("Date", 0.5)):
        await kind(page, name).click()
        await page.mouse.click(*await point(page, 1, 0.4, y))
        form = page.locator("#field")
        await form.locator("details").evaluate("node => { node.open = true }")
        editable = name == "Date"
        assert await form.locator("[name=default]").is_visible() == editable
        assert await form.locator("[name=read_only]").is_visible() == editable
    assert [one["type"] for one in await sketch(page)] == ["date_signed", "date"]
    await accepted(page, "dates")
    await page.locator("#field [name=read_only]").check()
    await expect(page.locator("#wrong li")).to_have_count(1)


@one_database
async def test_steps_are_undone_100_deep_and_done_again(browser: Browser, office: Office) -> None:
    page = await opened(office, await browser.new_context(viewport=DESK), await draft(office))
    before = await sketch(page)
    await page.locator(".box").first.click()
    for _ in range(50):
        await page.keyboard.press("ArrowDown")
        await page.keyboard.press("Alt+ArrowRight")
    after = await sketch(page)
    assert after[0]["y"] - before[0]["y"] == pytest.approx(50 * 0.4 / 297.04, abs=0.001)
    assert after[0]["w"] - before[0]["w"] == pytest.approx(50 * 0.4 / 209.9, abs=0.001)
    for _ in range(100):
        await page.keyboard.press("Control+z")
    await expect(page.get_by_role("button", name="Undo")).to_be_disabled()
    assert [one["x"] for one in await sketch(page)] == pytest.approx([one["x"] for one in before], abs=1e-4)
    assert (await sketch(page))[0]["y"] == pytest.approx(before[0]["y"], abs=1e-4)
    for _ in range(100):
        await page.keyboard.press("Control+Shift+z")
    await expect(page.get_by_role("button", name="Redo")).to_be_disabled()
    assert (await sketch(page))[0] == after[0]
    # On all pages is one step.
    await page.get_by_role("button", name="On all pages").click()
    await expect(page.locator(".box")).to_have_count(3)
    await page.keyboard.press("Control+z")
    await expect(page.locator(".box")).to_have_count(2)


async def test_a_second_tab_is_told_that_it_was_changed_elsewhere_and_loads_it(
    browser: Browser, office: Office
) -> None:
    context = await browser.new_context(viewport=DESK)
    document = await draft(office)
    first = await opened(office, context, document)
    second = await context.new_page()
    await shown(office, second, document)
    await kind(first, "Text").press("Enter")
    assert len(await sketch(first)) == 3
    await kind(second, "Number").press("Enter")
    await expect(second.get_by_role("alert")).to_contain_text("Changed elsewhere. Load it?")
    await expect(second.locator("#kept")).to_have_text("Draft · changed elsewhere")
    await second.get_by_role("button", name="Load it").click()
    await expect(second.get_by_role("alert")).to_be_hidden()
    assert {one["type"] for one in await sketch(second)} == {"signature", "text"}
    await second.keyboard.press("Control+z")  # what one had done oneself is not lost
    assert {one["type"] for one in await sketch(second)} == {"signature", "number"}


@one_database
async def test_fields_are_placed_described_and_removed_by_keyboard_alone(browser: Browser, office: Office) -> None:
    page = await opened(office, await browser.new_context(viewport=DESK), await draft(office))
    press = page.keyboard.press
    for name, key in (("Ben", "Enter"), ("Choice", "Enter")):
        while not await page.evaluate("name => document.activeElement.dataset.name === name", name):
            await press("Tab")
        await press(key)
    focused = page.locator(".box:focus")
    await expect(focused).to_have_attribute("aria-label", re.compile("^Choice for Ben, page 1, "))
    await expect(page.locator("#told")).to_have_text(re.compile("^Placed: Choice for Ben"))
    before = (await sketch(page))[-1]
    await press("ArrowRight")
    await press("Shift+ArrowDown")
    await press("Shift+Alt+ArrowRight")
    moved = (await sketch(page))[-1]
    assert moved["x"] - before["x"] == pytest.approx(0.4 / 209.9, abs=1e-4)
    assert moved["y"] - before["y"] == pytest.approx(4 / 297.04, abs=1e-4)
    assert moved["w"] - before["w"] == pytest.approx(4 / 209.9, abs=1e-4)
    await press("Enter")  # the one that is chosen: on to what can be said of it
    await expect(page.get_by_label("Filled in by")).to_be_focused()
    await press("Tab")
    await press("Space")
    await press("Tab")
    await page.keyboard.type("How will you pay?")
    await press("Tab")
    await page.keyboard.type("Card\nTransfer")
    told = (await sketch(page))[-1]
    assert (told["label"], told["required"], told["options"]) == ("How will you pay?", False, ["Card", "Transfer"])
    await press("Escape")
    await expect(focused).to_have_attribute("aria-label", re.compile("^Choice “How will you pay\\?” for Ben"))
    await press("Control+d")
    assert len(await sketch(page)) == 4
    await press("Delete")
    assert len(await sketch(page)) == 3
    while not await page.evaluate("document.activeElement.matches('a.main')"):
        await press("Shift+Tab")
    await press("Enter")
    await page.wait_for_url("**/review")


@one_database
async def test_several_fields_are_chosen_moved_aligned_copied_and_taken_to_another_document(
    browser: Browser, office: Office
) -> None:
    page = await opened(office, await browser.new_context(viewport=DESK), await draft(office))
    await emptied(page)
    for name, x, y in (("Text", 0.3, 0.3), ("Number", 0.5, 0.4), ("Checkbox", 0.7, 0.5)):
        await kind(page, name).click()
        await page.mouse.click(*await point(page, 1, x, y))
    await page.keyboard.press("Escape")
    # A band around the first two, and the third by Shift.
    x, y = await point(page, 1, 0.3, 0.3)
    await page.mouse.move(x - 150, y - 60)
    await page.mouse.down()
    await page.mouse.move(x + 150, y + 110, steps=4)
    await page.mouse.up()
    await expect(page.locator(".box[aria-pressed=true]")).to_have_count(2)
    await page.locator(".box").nth(2).click(modifiers=["Shift"])
    await expect(page.locator("#what")).to_have_text("3 fields")
    await page.get_by_role("button", name="Align left").click()
    await page.get_by_role("button", name="Same size").click()
    found = await sketch(page)
    assert len({(one["x"], one["w"], one["h"]) for one in found}) == 1
    for _ in range(2):
        await page.get_by_role("button", name="Zoom out").click()
    await expect(page.locator("#percent")).to_have_text("50 %")
    await point(page, 1, 0.5, 0.9)
    below = await page.locator(".paper").nth(1).bounding_box()
    assert below is not None
    await dragged(
        page, page.locator(".box").first, (below["x"] + 0.5 * below["width"], below["y"] + 0.3 * below["height"])
    )
    moved = await sketch(page)
    assert [one["page"] for one in moved] == [2, 2, 2]
    gaps = [[other["y"] - one["y"] for one, other in itertools.pairwise(each)] for each in (found, moved)]
    assert gaps[0] == pytest.approx(gaps[1], abs=1e-3)
    await page.keyboard.press("Control+c")
    await page.keyboard.press("Control+v")
    assert len(await sketch(page)) == 6
    other = await draft(office, title="Another", signers=[signer("ben"), signer("ann")])
    await shown(office, page, other)
    await emptied(page)
    await point(page, 2, 0.5, 0.5)
    await page.locator("main").focus()
    await page.keyboard.press("Control+v")
    pasted = await sketch(page)
    ann = next(one["signers"][0]["id"] for one in other["parties"] if one["name"] == "Ann")
    assert [(one["type"], one["page"], one["who"]) for one in pasted] == [
        (kind, 2, ann) for kind in ("text", "number", "checkbox")
    ]
    assert [one["x"] for one in pasted] == pytest.approx([one["x"] for one in moved], abs=1e-3)


@one_database
async def test_edges_snap_to_other_fields_and_to_lines_of_text(browser: Browser, office: Office) -> None:
    page = await opened(office, await browser.new_context(viewport=DESK), await draft(office))
    await emptied(page)
    path = page.url.replace("/fields", "/lines/") + (
        await page.locator(".paper").first.get_attribute("data-file-id") or ""
    )
    [line] = await (await page.request.get(f"{path}/1")).json()
    await dragged(page, kind(page, "Text"), await point(page, 1, 0.5, 0.8))
    [placed] = await sketch(page)
    box = await page.locator(".paper").first.bounding_box()
    assert box is not None
    # Its left edge nearly at the line's, its bottom nearly at the line's.
    x, y = line[0] + placed["w"] / 2 + 4 / box["width"], line[3] - placed["h"] / 2 - 4 / box["height"]
    at = await point(page, 1, x, y)
    await dragged(page, page.locator(".box"), at)
    [snapped] = await sketch(page)
    assert (snapped["x"], snapped["y"] + snapped["h"]) == pytest.approx((line[0], line[3]), abs=1e-4)
    # Another one, nearly under it: both guides show while it is held, and are gone afterwards.
    await kind(page, "Signature").click()
    await page.mouse.click(*await point(page, 1, 0.6, 0.7))
    second = page.locator(".box[aria-pressed=true]")
    held = await second.bounding_box()
    assert held is not None
    aim = await point(page, 1, snapped["x"], 0.7)
    await second.hover()
    await page.mouse.down()
    await page.mouse.move(aim[0] + held["width"] / 2 + 3, aim[1] + 40, steps=4)
    await expect(page.locator(".guide.across")).to_be_visible()
    await page.mouse.up()
    await expect(page.locator(".guide")).to_have_count(0)
    assert (await sketch(page))[1]["x"] == pytest.approx(snapped["x"], abs=1e-4)


@one_database
async def test_on_a_phone_fields_are_placed_moved_and_described_by_touch(browser: Browser, office: Office) -> None:
    page = await opened(office, await phone(browser), await draft(office))
    await emptied_by_touch(page)
    await kind(page, "Signature").tap()
    at = await point(page, 1, 0.5, 0.4)
    await page.touchscreen.tap(*at)
    box = page.locator(".box")
    await expect(box).to_have_count(1)
    before = (await sketch(page))[0]
    assert (before["x"] + before["w"] / 2, before["y"] + before["h"] / 2) == pytest.approx((0.5, 0.4), abs=0.02)
    await point(page, 1, 0.5, 0.4)  # in the middle of what the sheet leaves
    place = await box.bounding_box()
    assert place is not None
    start = (place["x"] + 12, place["y"] + place["height"] / 2)
    await finger(page, start, (start[0] - 40, start[1] + 30))
    after = (await sketch(page))[0]
    paper = await page.locator(".paper").first.bounding_box()
    assert paper is not None
    assert (after["x"] - before["x"]) * paper["width"] == pytest.approx(-40, abs=8)
    assert (after["y"] - before["y"]) * paper["height"] == pytest.approx(30, abs=8)
    await expect(page.locator("#right")).to_be_visible()
    await page.get_by_label("Label").fill("Sign here")
    assert (await sketch(page))[0]["label"] == "Sign here"
    await page.get_by_role("button", name="Close").tap()
    await expect(page.locator("#right")).to_be_hidden()
    # From the kinds at the bottom up onto the page.
    chip = await kind(page, "Initials").bounding_box()
    assert chip is not None
    aim = await point(page, 1, 0.4, 0.2)
    await finger(page, (chip["x"] + 20, chip["y"] + 20), aim)
    assert [one["type"] for one in await sketch(page)] == ["signature", "initials"]


async def emptied_by_touch(page: Page) -> None:
    while await page.locator(".box").count():
        await page.locator(".box").first.tap()
        await page.get_by_role("button", name="Remove").tap()


async def finger(page: Page, start: tuple[float, float], end: tuple[float, float]) -> None:
    cdp = await page.context.new_cdp_session(page)
    for step in range(9):
        x, y = (a + (b - a) * step / 8 for a, b in zip(start, end, strict=True))
        kind = "touchMove" if step else "touchStart"
        await cdp.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y}]})
    await cdp.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


@one_database
async def test_the_editor_may_be_shown_to_anyone_and_says_when_nothing_is_kept(
    browser: Browser, office: Office
) -> None:
    context = await browser.new_context(viewport=DESK)
    page = await opened(office, context, await draft(office))
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    await expect(page.locator("#ready")).to_be_visible()
    await accepted(page, "editor-calm")
    await expect(page.locator("#ready")).to_have_text("Everyone has a signature field.")
    await emptied(page)
    await expect(page.locator("#ready")).to_contain_text("Ann and Ben have no signature field yet")
    await dragged(page, kind(page, "Signature"), await point(page, 1, 0.3, 0.4))
    await page.locator(".people").get_by_role("button", name="Ben").click()
    await dragged(page, kind(page, "Signature"), await point(page, 1, 0.7, 0.4))
    await dragged(page, kind(page, "Choice"), await point(page, 1, 0.5, 0.55))
    await expect(page.locator("#field")).to_be_visible()
    await accepted(page, "editor")
    await page.get_by_text("More settings").click()
    await accepted(page, "editor-more")
    await page.get_by_role("button", name="Close").click()
    await page.get_by_role("button", name="add its choices").click()
    await expect(page.get_by_label("Filled in by")).to_be_focused()
    await context.set_offline(True)
    await page.get_by_label("Choices, one per line").fill("Yes")
    await expect(page.locator("#kept")).to_have_text("Draft · not saved: you are offline")
    await context.set_offline(False)
    assert (await sketch(page))[-1]["options"] == ["Yes"]
    assert [address for address in asked if not address.startswith(office.address)] == []
    # What cannot be read is said, and read when one tries again.
    await page.route("**/sketch", lambda route: route.abort())
    await page.reload()
    await expect(page.locator("#kept")).to_contain_text("the server is not responding")
    await expect(page.locator("main")).to_have_attribute("inert", "")
    await page.unroute("**/sketch")
    await page.get_by_role("button", name="Try again").click()
    await expect(page.locator(".box")).to_have_count(3)
    await expect(page.get_by_role("button", name="Try again")).to_be_hidden()


@one_database
async def test_what_was_just_changed_is_kept_also_when_the_page_is_left(browser: Browser, office: Office) -> None:
    document = await draft(office)
    page = await opened(office, await browser.new_context(viewport=DESK), document)
    await kind(page, "Text").press("Enter")
    await expect(page.locator("#kept")).to_have_text("Draft · saving …")
    await page.goto(f"{office.address}/account")
    await shown(office, page, document)
    await expect(page.locator(".box")).to_have_count(3)


def test_the_editor_s_scripts_weigh_at_most_25_kb_on_the_wire() -> None:
    names = ["js/editor.js", *load_static_files().imports("js/editor.js")]
    plain, zipped = (
        sum(len(getattr(load_static_files().files[name], kind)) for name in names) for kind in ("content", "zipped")
    )
    print(f"editor: {plain:,} bytes of scripts, {zipped:,} compressed")
    assert 10_000 < zipped <= 25_000

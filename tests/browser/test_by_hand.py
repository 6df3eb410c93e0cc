"""A signature by hand in a real browser: what is drawn, typed or photographed is neither spoilt nor lost."""

import io
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from PIL import Image, ImageDraw
from playwright.async_api import Browser, Page

from tests.api.signing.conftest import Office
from tests.browser import ink
from tests.browser.hands import PHONE, agreed_and_signed, flourish, opened, phone, place, write
from tests.browser.screens import accepted

pytestmark = [pytest.mark.anyio, pytest.mark.one_database]
REMEMBERED = "() => Object.keys(sessionStorage).filter(name => name.startsWith(location.pathname)).length"


def photo(name: str, data: bytes) -> Any:
    return {"name": name, "mimeType": "image/png", "buffer": data}


def twelve_megapixels() -> bytes:
    """As a phone makes them: more pixels than are taken, in few bytes."""
    image, made = Image.new("RGBA", (4000, 3000)), io.BytesIO()
    ImageDraw.Draw(image).line([(500, 1500), (1500, 900), (3500, 2000)], fill="black", width=60)
    image.save(made, "PNG")
    return made.getvalue()


async def touched(page: Page, *events: tuple[str, list[dict[str, float]]]) -> None:
    """Fingers on the pad, each at its place in parts of it."""
    box = await page.locator(".pad:visible svg").bounding_box()
    assert box is not None
    cdp = await page.context.new_cdp_session(page)
    for kind, fingers in events:
        points = [
            {"id": one["id"], "x": box["x"] + box["width"] * one["x"], "y": box["y"] + box["height"] * one["y"]}
            for one in fingers
        ]
        await cdp.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})


async def a_stroke_beside_a_palm(page: Page) -> None:
    events: list[tuple[str, list[dict[str, float]]]] = [("touchStart", [{"id": 1, "x": 0.1, "y": 0.2}])]
    for step in range(1, 20):
        finger = {"id": 1, "x": 0.1 + step / 40, "y": 0.2}
        palm = {"id": 2, "x": 0.8 + step / 400, "y": 0.9}
        events.append(("touchMove", [finger, palm] if 5 <= step < 15 else [finger]))
    await touched(page, *events, ("touchEnd", []))
    await page.locator(".pad:visible path").first.wait_for(state="attached")


async def test_a_palm_draws_nothing_and_what_is_by_hand_outlasts_a_failed_sign_and_is_forgotten_at_the_end(
    browser: Browser, office: Office
) -> None:
    document = await office.create(send=True, fields=[place("signature", 0.8)])
    page = await (await phone(browser)).new_page()
    sheet = await opened(page, office, document)
    address = page.url
    await a_stroke_beside_a_palm(page)
    [stroke] = await page.evaluate("JSON.parse(document.forms.sheet.elements['signature-strokes'].value).strokes")
    assert (max(y for _, y, *_ in stroke) < 100, stroke[-1][0] > 500) == (True, True), "the finger's line alone"
    await sheet.get_by_role("button", name="Clear").press("Enter")
    assert await page.locator("legend.ask:focus").inner_text() == "Your signature"

    asked: list[str] = []
    page.on("request", lambda one: asked.extend(parse_qs(urlsplit(one.url).query).get("text", [])))
    await sheet.locator(".tabs").get_by_text("Type").tap()
    await sheet.locator("input[value=caveat]").check()
    # Letter by letter, quicker than the pause; and what is told at once stays, though the pause ends after it.
    problem = await page.evaluate("""async () => {
        const input = document.querySelector('#signature'), typed = text => {
            input.value = text;
            input.dispatchEvent(new InputEvent('input', { bubbles: true }));
        };
        typed('');
        document.querySelector('#next').click();
        await new Promise(done => setTimeout(done, 301));
        const said = document.querySelector('#problem').textContent;
        for (let i = 1; i <= 8; i += 1) typed('Anne Bee'.slice(0, i));
        return said;
    }""")
    assert problem == "Draw, type or photograph your signature first."
    await page.locator(".mark img[src*='text=Anne%20Bee&hand=caveat']").wait_for(state="attached")
    assert set(asked) == {"Ann", "Anne Bee"}

    await page.route("**/sign/*", lambda route: route.abort() if route.request.method == "POST" else route.continue_())
    await sheet.get_by_label("I agree").check()
    async with page.expect_event("requestfailed"):
        await page.locator("#act").click()
    await page.unroute("**/sign/*")
    await page.goto(address)
    assert await sheet.locator("#signature").input_value() == "Anne Bee"
    assert await sheet.locator("input[name=signature-kind]:checked").get_attribute("value") == "typed"
    assert await sheet.locator("input[name=signature-hand]:checked").get_attribute("value") == "caveat"

    await sheet.locator(".tabs").get_by_text("Photo").tap()
    await sheet.locator("#signature-photo").set_input_files(photo("broken.png", b"\x89PNG no picture"))
    await page.get_by_text("This image cannot be read. Choose another one, as PNG or JPEG.").wait_for()
    await sheet.locator("#signature-photo").set_input_files(photo("phone.png", twelve_megapixels()))
    await page.locator(".mark img[src^=blob]").wait_for(state="attached")
    assert await page.locator("#problem").is_hidden()
    assert await page.evaluate(REMEMBERED) == 1
    await agreed_and_signed(page)
    await page.get_by_text("Thank you").or_(page.get_by_text("signed")).first.wait_for()
    assert await page.evaluate(REMEMBERED) == 0
    found = await office.completed(document)
    assert found["status"] == "completed"


@pytest.mark.parametrize("touch", [True, False], ids=["touch", "mouse"])
async def test_the_pad_shows_the_strokes_that_are_sent_and_sealed(
    browser: Browser, office: Office, *, touch: bool
) -> None:
    document = await office.create(send=True, fields=[place("signature", 0.5, h=0.08)])
    view: Any = {"viewport": PHONE if touch else {"width": 1320, "height": 860}, "has_touch": touch, "is_mobile": touch}
    page = await (await browser.new_context(device_scale_factor=3, **view)).new_page()
    await opened(page, office, document)
    await write(page, flourish(), touch=touch)
    await page.evaluate("document.querySelectorAll('.pad > :not(svg)').forEach(one => one.hidden = true)")
    pad = ink.of_png(await page.locator(".pad:visible svg").screenshot())
    mark = ink.of_png(await page.locator(".mark[data-state=now]").screenshot())
    sent = await page.evaluate("JSON.parse(document.forms.sheet.elements['signature-strokes'].value).strokes")
    assert ink.unlike_strokes(pad, sent) == ""
    await agreed_and_signed(page)
    found = await office.completed(document)
    sealed = (await office.api.get(f"/api/v1/documents/{document['id']}/signed")).content
    field = ink.of_field(ink.of_page(sealed, 1), found["fields"][0], 842)
    assert ink.difference(pad, field) == ""
    assert (ink.difference(mark, field), ink.moved(mark, field)) == ("", "")


async def test_a_photo_shows_what_will_be_sealed_and_warns_when_its_ink_is_small(
    browser: Browser, office: Office
) -> None:
    document = await office.create(send=True, fields=[place("signature", 0.5, h=0.08)])
    page = await (await phone(browser, device_scale_factor=3)).new_page()
    sheet = await opened(page, office, document)
    await sheet.locator(".tabs").get_by_text("Photo").tap()
    warning = sheet.get_by_text("The signature is small in this photo")
    for size, small in (((1300, 1300), True), ((160, 120), False)):
        await sheet.locator("#signature-photo").set_input_files(photo("photo.png", on_paper(*size)))
        await sheet.get_by_text("This is how it will appear in the sealed document.").wait_for()
        await (warning.wait_for() if small else warning.wait_for(state="hidden"))
    await accepted(page, "photo")
    mark = ink.of_png(await page.locator(".mark[data-state=now]").screenshot())
    shown = ink.of_png(await sheet.locator(".photo img").screenshot())
    await agreed_and_signed(page)
    found = await office.completed(document)
    sealed = (await office.api.get(f"/api/v1/documents/{document['id']}/signed")).content
    field = ink.of_field(ink.of_page(sealed, 1), found["fields"][0], 842)
    assert (ink.difference(shown, field), ink.difference(mark, field), ink.moved(mark, field)) == ("", "", "")


def on_paper(width: int, height: int) -> bytes:
    """A photo of a signature on white paper, with this much paper around it and a speck in its corner."""
    picture, made = Image.new("RGB", (600 + width, 216 + height), "#fff"), io.BytesIO()
    for stroke in flourish():
        places = [(width / 2 + 600 * x, height / 2 + 216 * y) for x, y in stroke]
        ImageDraw.Draw(picture).line(places, fill="#101830", width=7, joint="curve")
    if width > 600:
        ImageDraw.Draw(picture).ellipse((20, 20, 26, 26), fill="#101830")
    picture.save(made, "PNG")
    return made.getvalue()

"""How a person signs in a browser: opens a link, goes from field to field, draws with a finger."""

import base64
import math
from typing import Any

from playwright.async_api import Browser, BrowserContext, Locator, Page, Response

from tests.api.search.files import pdf
from tests.api.signing.conftest import Office
from tests.api.signing.test_entry import mailed

PHONE: Any = {"width": 390, "height": 760}
TURNED: Any = {"width": 760, "height": 390}
PASSPORT: Any = {"name": "passport.pdf", "mimeType": "application/pdf", "buffer": pdf("Passport", size=(595, 842))}

IN_VIEW = """() => {
    const at = query => document.querySelector(query)?.getBoundingClientRect();
    const mark = at('.mark[data-state=now]'), pages = at('.pages');
    return mark && mark.top >= pages.top && mark.bottom <= pages.bottom;
}"""
"""Whether the mark of what is being filled in can be seen."""

_DROP = """(place, files) => {
    const held = new DataTransfer();
    for (const [name, data] of files) {
        held.items.add(new File([Uint8Array.from(atob(data), letter => letter.charCodeAt(0))], name));
    }
    for (const kind of ["dragover", "drop"]) {
        place.dispatchEvent(new DragEvent(kind, { dataTransfer: held, bubbles: true, cancelable: true }));
    }
}"""


async def dropped(place: Locator, *files: tuple[str, bytes]) -> None:
    """Drops the files onto a place of the page."""
    await place.evaluate(_DROP, [[name, base64.b64encode(data).decode()] for name, data in files])


def place(kind: str, y: float, page: int = 1, **more: Any) -> dict[str, Any]:
    """A field of Ann's at this height of a page."""
    return {"type": kind, "page": page, "x": 0.1, "y": y, "w": 0.3, "h": 0.04, "signer": "ann@example.com", **more}


async def phone(browser: Browser, **more: Any) -> BrowserContext:
    return await browser.new_context(viewport=PHONE, has_touch=True, is_mobile=True, **more)


async def opened(page: Page, office: Office, about: Any, name: str = "ann") -> Locator:
    """The sheet of the signing page, whose mailed link was followed; `about` is a document or a packet."""
    document = about["documents"][0] if "documents" in about else about
    [path] = await mailed(office, about=document["id"], to=f"{name}@example.com")
    await page.goto(office.address + path)
    await page.locator("form button.main").click()
    await page.locator("#sheet").wait_for()
    await page.wait_for_load_state()  # with its script
    return page.locator("#sheet")


async def drawn(page: Page) -> None:
    """A finger draws one stroke on the pad that is shown."""
    box = await page.locator(".pad:visible svg").bounding_box()
    assert box is not None
    cdp = await page.context.new_cdp_session(page)
    for step in range(31):
        x = box["x"] + box["width"] * (0.1 + 0.025 * step)
        y = box["y"] + box["height"] * (0.6 + 0.2 * math.sin(step / 2))
        kind = "touchMove" if step else "touchStart"
        await cdp.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y}]})
    await cdp.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    await page.locator(".mark[data-state=now] path").first.wait_for(state="attached")


async def agreed_and_signed(page: Page) -> None:
    await page.locator("#sheet").get_by_label("I agree").check()
    await page.locator("#act").click()
    await page.locator("#sheet").wait_for(state="detached")


async def kept(page: Page, field: Locator, text: str, sent_as: str | None = None) -> None:
    """Writes into a field and waits until the server has it, whatever else of it was on its way."""

    def of_it(answer: Response) -> bool:
        sent: Any = answer.request.post_data_json if answer.url.endswith("/fields") else {"values": {}}
        return (sent_as or text) in sent["values"].values()

    async with page.expect_response(of_it) as arriving:
        await field.fill(text)
    assert (await arriving.value).status == 200


async def reached(page: Page, name: str, *, whole: bool = False) -> None:
    """Goes on by the key Tab until what has this name, or with `whole` this and nothing more, has the focus."""
    told = "(e => (e.labels?.[0] ?? e).innerText.trim())(document.activeElement)"
    for _ in range(60):
        await page.keyboard.press("Tab")
        found = str(await page.evaluate(told))
        if found == name or (found.startswith(name) and not whole):
            return
    raise AssertionError(f"Tab does not lead to {name}")


def flourish() -> list[list[tuple[float, float]]]:
    """A signature of four strokes, in shares of the pad: a capital, a wave with loops, a dot and a line below."""
    capital = [(0.08 + 0.10 * step / 20, 0.75 - 0.5 * step / 20) for step in range(21)]
    capital += [(0.18 + 0.06 * step / 20, 0.25 + 0.5 * step / 20) for step in range(1, 21)]
    loops = [
        (0.28 + 0.45 * step / 80 + 0.025 * math.cos(step / 3), 0.55 + 0.16 * math.sin(step / 3)) for step in range(81)
    ]
    return [
        capital,
        [(0.11 + 0.11 * step / 12, 0.55) for step in range(13)],
        loops,
        [(0.78, 0.3), (0.78, 0.3)],
        [(0.2 + 0.6 * step / 30, 0.88 - 0.06 * math.sin(step / 5)) for step in range(31)],
    ]


async def write(page: Page, strokes: list[list[tuple[float, float]]], *, touch: bool) -> None:
    """Draws the strokes on the pad that is shown, with a finger or with a mouse."""
    box = await page.locator(".pad:visible svg").bounding_box()
    assert box is not None
    cdp = await page.context.new_cdp_session(page)
    for stroke in strokes:
        places = [(box["x"] + box["width"] * x, box["y"] + box["height"] * y) for x, y in stroke]
        for at, (x, y) in enumerate(places):
            if touch:
                kind = "touchMove" if at else "touchStart"
                await cdp.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y}]})
            else:
                await page.mouse.move(x, y)
                if not at:
                    await page.mouse.down()
        if touch:
            await cdp.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        else:
            await page.mouse.up()
    await page.locator(".mark[data-state=now] path").nth(len(strokes) - 1).wait_for(state="attached")

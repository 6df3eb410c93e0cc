"""R25: what is shown is what is sealed. The pixels of every mark on the page, on the review and in the sealed file."""

import io
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import cycle
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote

import pikepdf
from PIL import Image, ImageDraw
from playwright.async_api import Browser, Page, Route, async_playwright

from deedbox.web.http.static import load_static_files
from tests.api.conftest import opened, served
from tests.api.search.files import pdf
from tests.api.signing.conftest import Office, signer
from tests.api.signing.packets import file
from tests.browser import hands, ink
from tests.browser.conftest import program
from tests.browser.test_frame import signed_in
from tests.conftest import HandClock
from tests.faults.aftermath import Report

LANGUAGES = ("en", "de", "ar", "ja")
KINDS = ("touch", "mouse", "typed", "photo")
TYPED = {"signature": "Anne Bée", "initials": "AB"}
SHARP = 3
"""Pixels of a screen to one of CSS: small marks are compared too."""
_TEMPLATE = re.compile(r"(`[^`]*\}) (\$\{)")
"""A space between two values of a template literal."""


def minified(source: str) -> str:
    """The seeded bug: a minifier that drops the space between two values of a template literal."""
    broken, count = _TEMPLATE.subn(r"\1\2", source)
    assert count, "there is no space to drop"
    return broken


class Scenario:
    def __init__(self, office: Office, browser: Browser, desk: Page) -> None:
        self.office, self.browser, self.ctx = office, browser, desk
        self.faults: list[str] = []
        self.figures = {"documents": 0, "marks": 0, "pictures": 0}

    async def run(
        self, cases: list[tuple[str, str, int]], *, planted: bool = False, keep: Path | None = None
    ) -> Report:
        for language, kind, turned in cases:
            name = f"{kind}-{language}{f'-{turned}' if turned else ''}"
            await _Case(self, name, language, kind).run(turned, planted=planted, keep=keep)
            self.figures["documents"] += 1
        return Report(self.figures, self.faults)


class _Case:
    """One document, signed in one language and in one way."""

    def __init__(self, scenario: Scenario, name: str, language: str, kind: str) -> None:
        self.scenario, self.name, self.language, self.kind = scenario, name, language, kind
        self.pictures: dict[str, Image.Image] = {}
        self.height = 0
        """Of the page as it is displayed, in points."""

    async def run(self, turned: int, *, planted: bool, keep: Path | None) -> None:
        office = self.scenario.office
        fields = [
            hands.place("text", 0.30, label="Town", h=0.03),
            hands.place("checkbox", 0.40, label="Rules", w=0.03, h=0.02),
            hands.place("initials", 0.50, w=0.2, h=0.05),
            hands.place("signature", 0.70, w=0.4, h=0.08),
        ]
        document = await office.create(
            send=True,
            fields=fields,
            file=file("lease.pdf", _paper(turned)),
            signers=[signer("ann", language=self.language)],
        )
        mobile = self.kind == "touch"
        view: Any = hands.PHONE if mobile else {"width": 1320, "height": 860}
        context = await self.scenario.browser.new_context(
            viewport=view, has_touch=mobile, is_mobile=mobile, device_scale_factor=SHARP, reduced_motion="reduce"
        )
        page = await context.new_page()
        if planted:
            await page.route("**/js/pad.js", _minify)
        sent = await self._sign(page, document)
        await office.completed(document)
        sealed = (await office.api.get(f"/api/v1/documents/{document['id']}/signed")).content
        found = {one["type"]: one for one in (await office.document(document["id"]))["fields"]}
        self.height = 595 if turned % 180 else 842
        page_sealed = ink.of_page(sealed, 1)
        await self._review(document, found)
        for mark in ("signature", "initials", "checkbox", "text"):
            self.pictures[f"{mark} sealed"] = ink.of_field(page_sealed, found[mark], self.height)
        self._compare(sent)
        if keep:
            _side_by_side(self.pictures).save(keep / f"{self.name}.png")
        await context.close()

    async def _sign(self, page: Page, document: Any) -> dict[str, Any]:
        """Fills in everything, and gives the form as it was sent."""
        sheet, following = await hands.opened(page, self.scenario.office, document), page.locator("#next")
        await sheet.get_by_label("Town").fill("Ghent")
        await following.click()
        await sheet.get_by_label("Rules").check()
        await following.click()
        await self._by_hand(page, "initials")
        await following.click()
        await self._by_hand(page, "signature")
        for mark, at in (("text", 0), ("checkbox", 1)):
            self.pictures[f"{mark} on the page"] = ink.of_png(await page.locator(".mark").nth(at).screenshot())
        self.pictures["the page"] = ink.of_png(await page.screenshot())
        await sheet.locator("input[name=consent]").check()
        async with page.expect_request(lambda one: one.method == "POST" and "/sign/" in one.url) as sending:
            await page.locator("#act").click()
        await sheet.wait_for(state="detached")
        return parse_qs((await sending.value).post_data or "")

    async def _by_hand(self, page: Page, mark: str) -> None:
        way = {"touch": "drawn", "mouse": "drawn", "typed": "typed", "photo": "uploaded"}[self.kind]
        await page.locator(f"input[name={mark}-kind][value={way}]").check()
        if way == "drawn":
            await page.locator(".pad:visible").scroll_into_view_if_needed()
            strokes = hands.flourish() if mark == "signature" else hands.flourish()[:2]
            await hands.write(page, strokes, touch=self.kind == "touch")
            pad = page.locator(".pad:visible svg")
            await page.evaluate(
                "document.querySelectorAll('.pad :is(.line, .tools)').forEach(one => one.hidden = true)"
            )
            self.pictures[f"{mark} on the pad"] = ink.of_png(await pad.screenshot())
        elif way == "typed":
            await page.locator(f"#{mark}").fill(TYPED[mark])
            await page.locator(f"input[name={mark}-hand][value=dancing]").check()
        else:
            photo: Any = {"name": "photo.png", "mimeType": "image/png", "buffer": _photo()}
            await page.locator(f"#{mark}-photo").set_input_files(photo)
        shown = page.locator(".mark[data-state=now]")
        if way == "typed":
            await page.locator(f".mark[data-state=now] img[src*='text={quote(TYPED[mark])}']").wait_for()
        await shown.locator("svg, img").wait_for()
        await page.wait_for_function("document.querySelector('.mark[data-state=now] img')?.complete ?? true")
        self.pictures[f"{mark} on the page"] = ink.of_png(await shown.screenshot())

    async def _review(self, document: Any, found: dict[str, Any]) -> None:
        """The page as the sender's page of the document shows it, once it is complete."""
        file_id, office = document["files"][0]["id"], self.scenario.office
        address = f"{office.address}/app/documents/{document['id']}/files/{file_id}/pages/1.webp?width=2480"
        answer = await self.scenario.ctx.request.get(address)
        assert answer.ok, answer.status
        shown = Image.open(io.BytesIO(await answer.body()))
        self.pictures["the review"] = shown.convert("RGB")
        for mark, field in found.items():
            self.pictures[f"{mark} on the review"] = ink.of_field(shown, field, self.height)

    def _compare(self, sent: dict[str, Any]) -> None:
        drawn = self.kind in ("touch", "mouse")
        for mark in ("signature", "initials"):
            if drawn:
                strokes = json.loads(sent[f"{mark}-strokes"][0])["strokes"]
                self._note(mark, "pad and strokes", ink.unlike_strokes(self.pictures[f"{mark} on the pad"], strokes))
                self._alike(mark, "on the pad", "sealed")
            self._alike(mark, "on the page", "sealed")
            self._alike(mark, "on the review", "sealed")
        self._alike("checkbox", "on the review", "sealed")
        self._alike("text", "on the review", "sealed")
        self.scenario.figures["marks"] += 4

    def _alike(self, mark: str, one: str, other: str) -> None:
        left, right = self.pictures[f"{mark} {one}"], self.pictures[f"{mark} {other}"]
        try:
            self._note(mark, f"{one} and {other}", ink.difference(left, right))
            if one == "on the review" or (one == "on the page" and self.kind != "typed"):  # that picture has margins
                self._note(mark, f"place {one} and {other}", ink.moved(left, right))
        except AssertionError as error:
            self._note(mark, f"{one} and {other}", str(error))

    def _note(self, mark: str, between: str, fault: str) -> None:
        self.scenario.figures["pictures"] += 1
        if fault:
            self.scenario.faults.append(f"{mark}: {self.name}, {between}: {fault}")


def _paper(turned: int) -> bytes:
    made, page = io.BytesIO(), pdf("The tenant pays the rent.", size=(595, 842))
    with pikepdf.open(io.BytesIO(page)) as paper:
        paper.pages[0].rotate(turned, relative=False)
        paper.save(made)
    return made.getvalue()


def _photo() -> bytes:
    """A signature in dark ink on white paper."""
    picture = Image.new("RGB", (1000, 360), "#fff")
    for stroke in hands.flourish():
        points = [(x * 1000, y * 360) for x, y in stroke]
        ImageDraw.Draw(picture).line(points, fill="#101830", width=9, joint="curve")
    made = io.BytesIO()
    picture.save(made, "PNG")
    return made.getvalue()


async def _minify(route: Route) -> None:
    source = load_static_files().files["js/pad.js"].content.decode()
    await route.fulfill(body=minified(source), content_type="text/javascript")


def _side_by_side(pictures: dict[str, Image.Image]) -> Image.Image:
    """Pad, mark on the page, review and sealed file in a row, and the whole page below the first."""
    names = [
        f"{mark} {where}"
        for mark in ("signature", "initials")
        for where in ("on the pad", "on the page", "on the review", "sealed")
    ]
    shown = [(name, pictures[name].convert("RGB")) for name in names if name in pictures]
    shown += [(name, pictures[name].convert("RGB")) for name in ("the page", "the review")]
    cells = []
    for name, picture in shown:
        picture.thumbnail((460, 700 if name.startswith("the ") else 220))
        cells.append((name, picture))
    columns, heights = (
        cycle(range(4)),
        [max(p.height for _, p in cells[at : at + 4]) + 30 for at in range(0, len(cells), 4)],
    )
    board = Image.new("RGB", (4 * 480, sum(heights)), "#dde")
    for at, (name, picture) in enumerate(cells):
        x, y = next(columns) * 480 + 10, sum(heights[: at // 4])
        ImageDraw.Draw(board).text((x, y + 6), name, fill="#000", font_size=16)
        board.paste(picture, (x, y + 26))
    return board


@asynccontextmanager
async def scenario(database_url: str, folder: Path) -> AsyncIterator[Scenario]:
    async with opened(database_url, folder, HandClock()) as api, async_playwright() as playwright:
        await api.settle()
        await api.deedbox.start()
        try:
            async with served(api) as port:
                office = Office(api)
                office.address = f"http://127.0.0.1:{port}"
                browser = await playwright.chromium.launch(executable_path=program(), args=["--no-sandbox"])
                desk = await browser.new_page()
                await signed_in(office, desk)
                yield Scenario(office, browser, desk)
                await browser.close()
        finally:
            await api.deedbox.stop()

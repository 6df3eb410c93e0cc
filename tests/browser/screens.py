"""What is asked of every screen: nothing for axe to find, nothing wider than a small phone, light and dark."""

import os
from pathlib import Path
from typing import Any

from axe_playwright_python.base import AXE_SCRIPT  # type: ignore[import-untyped]
from playwright.async_api import Page

SHOTS = os.environ.get("SCREENS")
"""A folder for pictures of the screens, for whoever wants to look at them."""
LOOKS = True
"""Whether screens are looked at: a page is the same on every database, so that one is enough."""
SMALL = {"width": 320, "height": 640}
VIOLATIONS = "axe.run({resultTypes: ['violations']}).then(found => found.violations)"
"""What else axe tells, of each rule that a page keeps, is long and read by nobody."""
_SIZES = {"phone": (390, 760), "tablet": (820, 1100), "desk": (1320, 860)}


async def accepted(page: Page, name: str) -> None:
    """Fails unless the screen may be shown to anyone."""
    if not LOOKS:
        return
    await page.emulate_media(reduced_motion="reduce")  # colours on their way from one to another are neither
    assert await faults(page) == [], name
    before = page.viewport_size
    await page.set_viewport_size(SMALL)  # type: ignore[arg-type]
    await page.emulate_media(color_scheme="dark")
    assert await faults(page) == [], f"{name}, dark and small"
    assert await overflow(page) <= 0, name
    await page.evaluate("document.documentElement.style.fontSize = '200%'")
    assert await overflow(page) <= 0, f"{name} at 200 %"
    await page.evaluate("document.documentElement.style.fontSize = ''")
    await page.emulate_media(color_scheme="light")
    if SHOTS:
        await _pictures(page, Path(SHOTS), name)
    if before:
        await page.set_viewport_size(before)


async def faults(page: Page) -> list[Any]:
    """What axe finds: the rule, and where."""
    if not await page.evaluate("'axe' in window"):  # to load it takes as long as to look at a small page
        await page.evaluate(AXE_SCRIPT)
    found: list[Any] = await page.evaluate(VIOLATIONS)
    return [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found]


async def overflow(page: Page) -> int:
    """By how many pixels the page is wider than the screen."""
    return int(await page.evaluate("document.documentElement.scrollWidth - window.innerWidth"))


async def _pictures(page: Page, folder: Path, name: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for size, (width, height) in _SIZES.items():
        await page.set_viewport_size({"width": width, "height": height})
        for scheme in ("light", "dark"):
            await page.emulate_media(color_scheme=scheme)
            await page.screenshot(path=folder / f"{name}-{size}-{scheme}.png", full_page=True)
    await page.emulate_media(color_scheme="light")

"""Pictures of the pages of stored PDFs, in a few widths, and their text: made once, kept as long as the file."""

import asyncio

import msgspec

from deedbox.kernel.blobs import Blob, Blobs
from deedbox.kernel.blobs.stream import open_stream
from deedbox.kernel.derived import Derived
from deedbox.pdf import limits
from deedbox.pdf.pdf_sandbox import PdfSandbox
from deedbox.pdf.render.lines import kept_pages

_RECIPE = 2
"""Another number for another look: pictures that were kept are made anew."""
_TEXT = "text-2.json"


def step(width: int) -> int:
    """The width in which a picture is made of which this one is asked for: the next that is kept."""
    return next((one for one in limits.PAGE_IMAGE_STEPS if one >= width), limits.PAGE_IMAGE_STEPS[-1])


class Pictures:
    def __init__(self, blobs: Blobs, workshop: PdfSandbox, derived: Derived) -> None:
        self._blobs, self._workshop, self._derived = blobs, workshop, derived

    async def page(self, blob: Blob, number: int, width: int) -> bytes:
        """The page as WebP of the next width that is kept; NotFound if there is no such page."""
        name = name_of(number, width)
        kept = await self._derived.find(blob.sha256, name)
        if kept is not None:
            return kept
        async with open_stream(self._blobs, blob) as data:
            made = await self._workshop.render(data, number, step(width))
        await self._derived.keep(blob.sha256, name, made)
        return made

    async def text(self, blob: Blob) -> bytes:
        """The lines of each page, as JSON."""
        kept = await self._derived.find(blob.sha256, _TEXT)
        if kept is not None:
            return kept
        async with open_stream(self._blobs, blob) as data:
            lines = await self._workshop.read(data)
        made = await asyncio.to_thread(msgspec.json.encode, lines)
        await self._derived.keep(blob.sha256, _TEXT, made)
        return made

    async def lines(self, blob: Blob, number: int) -> bytes:
        """Left, top, right and bottom of each line of a page, in fractions of it, as JSON."""
        name = lines_of(number)
        kept = await self._derived.find(blob.sha256, name)
        if kept is not None:
            return kept
        text = await self.text(blob)
        made = await asyncio.to_thread(_places, text, number)
        await self._derived.keep(blob.sha256, name, made)
        return made


def _places(text: bytes, number: int) -> bytes:
    pages = kept_pages(text)
    lines = pages[number - 1] if number <= len(pages) else []
    places = [(line.left, line.top, line.right, line.bottom) for line in lines]
    return msgspec.json.encode([[round(edge, 4) for edge in one] for one in places])


def lines_of(number: int) -> str:
    """Under which the places of a page's lines are kept."""
    return f"{number}-lines-{_TEXT}"


def name_of(number: int, width: int) -> str:
    """Under which the picture is kept; another for every other look of the same file."""
    return f"{number}-{step(width)}-{_RECIPE}.webp"

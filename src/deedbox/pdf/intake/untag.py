"""Takes the text of tags out of a PDF: nobody sees it, nothing can extract it, and all else keeps its place."""

import io
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import pikepdf
import pypdfium2 as pdfium
from pikepdf import Array, Dictionary

from deedbox.kernel.errors import BadRequest
from deedbox.pdf import limits
from deedbox.pdf.intake import tags
from deedbox.pdf.intake.erase import SPOKEN, erase
from deedbox.pdf.intake.tags import FoundTag, Letter, TagLine
from deedbox.pdf.marks.marks import Tag
from deedbox.pdf.render import boxes

_ROUNDS = 3
"""Text that was set bold by drawing it twice shows its second copy once the first is gone."""
_TITLES = (*SPOKEN, "/T", "/Title")


class Untagged(NamedTuple):
    data: bytes
    tags: tuple[Tag, ...]


def remove_tags(data: bytes, found: Sequence[FoundTag], write: Callable[[pikepdf.Pdf], bytes]) -> Untagged:
    """The PDF without the text of these tags; BadRequest names a tag that cannot be taken out cleanly."""
    numbers = sorted({one.tag.place.page for one in found})
    # Where text is read in place of the letters, nobody knows where each of its letters stands: so it goes first.
    silent, heard = _erased(data, found, {number: [] for number in numbers}, write)
    if [one.tag.text for one in heard] == [one.tag.text for one in found]:
        data, found = silent, heard
    before, remaining, made = _others(data, numbers), found, data
    for _ in range(_ROUNDS):
        made, remaining = _erased(made, remaining, _by_page(remaining), write)
        if not remaining:
            break
    if remaining:
        raise BadRequest(_not_removable(remaining[0]))
    after = _others(made, numbers)
    for number in numbers:
        if not _same(before[number], after[number]):
            raise BadRequest(_not_removable(next(one for one in found if one.tag.place.page == number)))
    return Untagged(made, tuple(one.tag for one in found))


def _erased(
    data: bytes, found: Sequence[FoundTag], lines: dict[int, list[TagLine]], write: Callable[[pikepdf.Pdf], bytes]
) -> tuple[bytes, Sequence[FoundTag]]:
    """The PDF without these lines, and the tags that are still in it; before, they were those found."""
    with pikepdf.open(io.BytesIO(data)) as pdf:
        if not erase(pdf, lines):
            return data, found
        _hush(pdf)
        views = [boxes.of_page(page.obj) for page in pdf.pages]
        made = write(pdf)
    document = pdfium.PdfDocument(made)
    try:
        return made, tags.find(document, views)
    finally:
        document.close()


def _not_removable(found: FoundTag) -> str:
    return (
        f"The text tag {found.tag.text} on page {found.tag.place.page} cannot be taken out of this PDF without touching"
        " what stands around it. Take it out of the source of the PDF and say with fields where to sign."
    )


def _by_page(found: Iterable[FoundTag]) -> dict[int, list[TagLine]]:
    lines: dict[int, list[TagLine]] = defaultdict(list)
    for one in found:
        lines[one.tag.place.page] += one.lines
    return lines


def _others(data: bytes, numbers: Sequence[int]) -> dict[int, list[Letter]]:
    """What is written on these pages beside tags."""
    document = pdfium.PdfDocument(data)
    try:
        return {number: tags.outside_of_tags(document[number - 1]) for number in numbers}
    finally:
        document.close()


def _same(before: list[Letter], after: list[Letter]) -> bool:
    """Whether each letter is still there, within a point of its place; libraries round differently."""
    left = Counter(_spot(letter) for letter in after)
    for letter in before:
        text, x, y = _spot(letter)
        near = [(text, x + across, y + up) for across in (0, -1, 1) for up in (0, -1, 1)]
        spot = next((one for one in near if left[one] > 0), None)
        if spot is None:
            return False
        left[spot] -= 1
    return len(before) == len(after)


def _spot(letter: Letter) -> tuple[str, int, int]:
    return letter.text, round(letter.origin[0]), round(letter.origin[1])


def _hush(pdf: pikepdf.Pdf) -> None:
    """Takes tags out of what is read aloud instead of the page, and out of titles."""
    for thing in pdf.objects:
        _hush_one(thing, limits.FORM_DEPTH)


def _hush_one(thing: Any, depth: int) -> None:
    if not isinstance(thing, Dictionary):
        return
    for key in _TITLES:
        if isinstance(text := thing.get(key), pikepdf.String) and "{{" in str(text):
            thing[key] = tags.TAG.sub("", str(text)).strip()
    inner = thing.get("/K")
    for child in inner if isinstance(inner, Array) else [inner]:
        if depth and isinstance(child, Dictionary) and not child.is_indirect:
            _hush_one(child, depth - 1)

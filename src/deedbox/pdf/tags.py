"""Text tags: `{{signature:Buyer}}`, `{{text:Buyer:City;required=false;w=120}}`, found with their place on the page."""

import ctypes
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import pypdfium2 as pdfium
from pypdfium2 import raw

from deedbox.kernel import limits
from deedbox.kernel.errors import BadRequest
from deedbox.pdf.boxes import Box, View
from deedbox.pdf.marks import KINDS, Kind, Place, Tag

_TAG = re.compile(rf"\{{\{{\s*([a-z]+)\s*:([^{{}}]{{1,{limits.TEXT_TAG_CHARS}}})\}}\}}")
_MARGIN = 1.0
SIZES: dict[str, tuple[float, float]] = {
    "signature": (180, 48), "initials": (60, 36), "date": (90, 18), "name": (150, 18), "email": (170, 18),
    "text": (150, 18), "number": (80, 18), "checkbox": (14, 14), "select": (120, 18),
}  # fmt: skip
"""Width and height of a field in points, where its tag does not say."""


class _Asked(NamedTuple):
    kind: Kind
    role: str
    label: str
    required: bool
    options: tuple[str, ...]
    w: float
    h: float


def find(document: pdfium.PdfDocument, views: list[View]) -> tuple[Tag, ...]:
    """The tags in reading order; BadRequest if one asks for something unknown.

    A very long document is looked through at its beginning and its end only.
    """
    found: list[Tag] = []
    each_end = limits.TEXT_TAG_PAGES // 2
    for number, view in enumerate(views, 1):
        if number <= each_end or number > len(views) - each_end:
            found += _on_page(document, number, view)
        if len(found) > limits.TEXT_TAGS:
            raise BadRequest(f"This PDF has more than {limits.TEXT_TAGS:,} text tags")
    return tuple(found)


def read(text: str) -> _Asked | None:
    """What a tag asks for; None if its first word is no kind of field, so that it is no tag at all."""
    match = _TAG.fullmatch(text)
    kind = next((kind for kind in KINDS if match and kind == match[1]), None)
    if match is None or kind is None:
        return None
    head, *settings = (part.strip() for part in match[2].split(";"))
    role, _, label = (part.strip() for part in head.partition(":"))
    if not role or len(role) > limits.FIELD_LABEL_CHARS or len(label) > limits.FIELD_LABEL_CHARS:
        raise BadRequest(
            f"The text tag {text} must name a role, and names have at most {limits.FIELD_LABEL_CHARS} letters"
        )
    given = dict(_setting(text, setting) for setting in settings if setting)
    w, h = SIZES[kind]
    options = tuple(option.strip() for option in given.get("options", "").split("|") if option.strip())
    if len(options) > limits.FIELD_OPTIONS or (kind == "select") != bool(options):
        raise BadRequest(f"The text tag {text}: a select, and nothing else, has options, as in options=Yes|No")
    return _Asked(
        kind=kind,
        role=role,
        label=label,
        required=_truth(text, given.get("required", "true")),
        options=options,
        w=_points(text, given.get("w"), w),
        h=_points(text, given.get("h"), h),
    )


def _setting(text: str, setting: str) -> tuple[str, str]:
    name, sign, value = (part.strip() for part in setting.partition("="))
    if not sign or name not in ("required", "w", "h", "options"):
        raise BadRequest(
            f"The text tag {text} has an unknown setting {setting!r}: required, w, h and options are known"
        )
    return name, value


def _truth(text: str, value: str) -> bool:
    if value not in ("true", "false"):
        raise BadRequest(f"The text tag {text}: required is true or false")
    return value == "true"


def _points(text: str, value: str | None, usual: float) -> float:
    if value is None:
        return usual
    if not re.fullmatch(r"\d{1,4}(\.\d{1,3})?", value) or float(value) < limits.PAGE_POINTS_MIN:
        raise BadRequest(f"The text tag {text}: w and h are points, from {limits.PAGE_POINTS_MIN} to 9999")
    return float(value)


def _on_page(document: pdfium.PdfDocument, number: int, view: View) -> Iterator[Tag]:
    page = document[number - 1]
    shown = page.get_textpage()
    try:
        if "{{" not in shown.get_text_range():
            return
        # Character by character: only so is the place in the text the number by which PDFium knows the character.
        text = "".join(_letter(shown, index) for index in range(shown.count_chars()))
        for match in _TAG.finditer(text):
            clean = " ".join(match[0].split())
            asked = read(clean)
            if asked is not None and (lines := _lines(shown, *match.span())):
                yield _tag(clean, asked, number, view, lines)
    finally:
        shown.close()
        page.close()


def _letter(shown: Any, index: int) -> str:
    code = raw.FPDFText_GetUnicode(shown, index)
    # A tag that runs over the end of a line has a line end in it, or nothing but the mark of a parted word.
    return " " if code in (0, 2, 9, 10, 13) or code > 0x10FFFF else chr(code)


def _lines(shown: Any, start: int, end: int) -> list[Box]:
    """The box of the tag's text on each of its lines, in user space."""
    boxes = [box for index in range(start, end) if (box := _char_box(shown, index)) and box[2] > box[0]]
    lines: list[list[Box]] = []
    for box in boxes:
        if lines and _side_by_side(lines[-1][-1], box):
            lines[-1].append(box)
        else:
            lines.append([box])
    return [_around(line) for line in lines]


def _char_box(shown: Any, index: int) -> Box | None:
    edges = [ctypes.c_double() for _ in range(4)]
    if not raw.FPDFText_GetCharBox(shown, index, *(ctypes.byref(edge) for edge in edges)):
        return None
    left, right, bottom, top = (edge.value for edge in edges)
    return left, bottom, right, top


def _side_by_side(one: Box, other: Box) -> bool:
    """Letters of one line touch in both directions, but for a space between them, whichever way the page is turned."""
    reach = 1.5 * max(one[2] - one[0], one[3] - one[1], other[2] - other[0], other[3] - other[1])
    across = max(one[0], other[0]) - min(one[2], other[2])
    up = max(one[1], other[1]) - min(one[3], other[3])
    return (across <= reach and up <= 0) or (up <= reach and across <= 0)


def _around(boxes: list[Box]) -> Box:
    left, bottom, right, top = zip(*boxes, strict=True)
    return min(left) - _MARGIN, min(bottom) - _MARGIN, max(right) + _MARGIN, max(top) + _MARGIN


def _tag(text: str, asked: _Asked, number: int, view: View, lines: list[Box]) -> Tag:
    covers = [view.fractions(line) for line in lines]
    left, _, _, bottom = covers[0]
    w, h = min(asked.w / view.width, 1.0), min(asked.h / view.height, 1.0)
    # It stands on the line of its tag, and stays on the page.
    x, y = min(max(left, 0.0), 1 - w), min(max(bottom - h, 0.0), 1 - h)
    return Tag(
        text=text,
        kind=asked.kind,
        role=asked.role,
        label=asked.label,
        required=asked.required,
        options=asked.options,
        place=Place(number, x, y, w, h),
        covers=tuple(Place(number, box[0], box[1], box[2] - box[0], box[3] - box[1]) for box in covers),
    )

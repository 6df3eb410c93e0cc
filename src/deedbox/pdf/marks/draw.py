"""Runs in a sandbox: puts the marks of a document on its pages, where the signers saw the fields."""

import io
from collections.abc import Generator, Iterator, Sequence
from functools import cache
from typing import Any

import msgspec
import pikepdf
from pikepdf import Array, Dictionary, Name
from PIL import Image

from deedbox.kernel.errors import BadRequest
from deedbox.pdf import limits
from deedbox.pdf.intake.take_in import pieces, written
from deedbox.pdf.marks.field_text import ASCENT, DESCENT, FieldSpace
from deedbox.pdf.marks.fonts import families
from deedbox.pdf.marks.marks import Mark, Marks, PageRect
from deedbox.pdf.marks.typeset import Typesetter, by_hand, load_fonts, script
from deedbox.pdf.render import boxes
from deedbox.pdf.render.boxes import PageView

_NAME = "/DeedboxMarks"
_SIDE_MIN = 0.05
"""Points; typst cannot fit a text into nothing."""


def prepare() -> None:
    """Marks a page once, so that a sandbox has loaded fonts and all else that it will need while it still may."""
    load_fonts()
    with pikepdf.new() as pdf:
        pdf.add_blank_page(page_size=(200, 200))
        data = written(pdf)
    picture = io.BytesIO()
    Image.new("RGBA", (8, 8)).save(picture, "PNG")
    place = PageRect(1, 0.1, 0.1, 0.8, 0.2)
    marks = (Mark("signature", place, image="rehearsal", caption=("a",)), Mark("text", place, "b"))
    for _ in mark_pages(
        data, msgspec.to_builtins(Marks(marks, images={"rehearsal": picture.getvalue()}), builtin_types=(bytes,))
    ):
        pass


def mark_pages(data: bytes, wanted: dict[str, Any]) -> Generator[bytes, None, int]:
    """Yields the PDF with its marks in pieces; what comes back is how many pages have some."""
    marks = msgspec.convert(wanted, Marks)
    if len(marks.marks) > limits.MARK_FIELDS:
        raise BadRequest(f"A document has at most {limits.MARK_FIELDS:,} fields")
    with pikepdf.open(io.BytesIO(data)) as pdf:
        numbers = sorted({mark.place.page for mark in marks.marks})
        if numbers and not 1 <= numbers[0] <= numbers[-1] <= len(pdf.pages):
            raise BadRequest(f"A field lies on page {numbers[-1]}: the document has {len(pdf.pages)}")
        if numbers:
            _put_on(pdf, numbers, marks)
        made = written(pdf)
    yield from pieces(made)
    return len(numbers)


@cache
def _template() -> Typesetter:
    return Typesetter("overlay.typ")


def _put_on(pdf: pikepdf.Pdf, numbers: list[int], marks: Marks) -> None:
    views = {number: boxes.of_page(pdf.pages[number - 1].obj) for number in numbers}
    with pikepdf.open(io.BytesIO(_overlaid(views, marks))) as overlay:
        for sheet, number in zip(overlay.pages, numbers, strict=True):
            _paste(pdf, pdf.pages[number - 1], sheet, views[number])


def _overlaid(views: dict[int, PageView], marks: Marks) -> bytes:
    """A page for each of the views, with what belongs there and nothing behind it."""
    sheets: dict[int, dict[str, Any]] = {
        number: {"width": view.width, "height": view.height, "marks": []} for number, view in views.items()
    }
    for mark in marks.marks:
        sheets[mark.place.page]["marks"].append(_described(mark, views[mark.place.page]))
    lines = {"ascent": ASCENT, "descent": DESCENT}
    return _template().compile({"sheets": list(sheets.values()), **lines}, dict(_pictures(marks)), 0)


def _pictures(marks: Marks) -> Iterator[tuple[str, str]]:
    for name in sorted({mark.image for mark in marks.marks if mark.image}):
        yield f"{name}.svg", by_hand(marks.images[name])


def _described(mark: Mark, view: PageView) -> dict[str, Any]:
    text, points = mark.text[: limits.FIELD_TEXT_CHARS], _points(mark.place, view)
    room = FieldSpace(points["w"], points["h"], mark.font_size)
    if not room.has_lines:
        text = " ".join(text.splitlines())
    return {
        "kind": mark.kind,
        "text": text,
        "image": f"{mark.image}.svg" if mark.image else "",
        "caption": mark.caption,
        "hands": families(mark.hand),
        **script(text),
        **points,
        "size": room.fitting(text),
        "width": room.width,
        "baseline": room.baseline,
        "lines": room.has_lines,
    }


def _points(place: PageRect, view: PageView) -> dict[str, float]:
    return {
        "x": place.x * view.width,
        "y": place.y * view.height,
        "w": max(place.w * view.width, _SIDE_MIN),
        "h": max(place.h * view.height, _SIDE_MIN),
    }


def _paste(pdf: pikepdf.Pdf, page: pikepdf.Page, sheet: pikepdf.Page, view: PageView) -> None:
    """Over everything else on the page, and safe from whatever the content before it has left behind."""
    form = pdf.copy_foreign(sheet.as_form_xobject())
    _with_plain_colours(form)
    form["/Matrix"] = Array([round(number, 6) for number in view.matrix])
    form["/BBox"] = Array([0, 0, round(view.width, 4), round(view.height, 4)])
    name = _offered(page, form)
    left_open = _balanced(pdf, page)
    page.contents_add(pdf.make_stream(b"q\n"), prepend=True)
    closing = b"Q\n" * (1 + left_open)
    page.contents_add(pdf.make_stream(b"\n" + closing + f"q {name} Do Q\n".encode()))


def _with_plain_colours(form: pikepdf.Object) -> None:
    """Typst names a profile for its colours, and a viewer takes milliseconds a page to read it; a screen needs none."""
    spaces = form.get("/Resources", Dictionary()).get("/ColorSpace", Dictionary())
    for name in list(spaces.keys()):
        space = spaces[name]
        if isinstance(space, Array) and space[0] == Name.ICCBased:
            spaces[name] = {1: Name.DeviceGray, 3: Name.DeviceRGB}[int(space[1].N)]


def _offered(page: pikepdf.Page, form: pikepdf.Object) -> str:
    """The name of the form among the page's resources, which may be shared and are copied for that."""
    shared = boxes.inherit(page.obj, "/Resources")
    resources = Dictionary(dict(shared.items()) if isinstance(shared, Dictionary) else {})
    others = resources.get("/XObject")
    forms = Dictionary(dict(others.items()) if isinstance(others, Dictionary) else {})
    name, count = _NAME, 0
    while name in forms:
        count += 1
        name = f"{_NAME}{count}"
    forms[name] = form
    resources["/XObject"] = forms
    page.obj["/Resources"] = resources
    return name


def _balanced(pdf: pikepdf.Pdf, page: pikepdf.Page) -> int:
    """How many graphics states the page's content saves and does not restore.

    What it restores without having saved, viewers pass over; here it would undo what is put in front of it, so it goes.
    """
    try:
        depth, surplus = _depths(pikepdf.parse_content_stream(page, "q Q"))
        if surplus:
            whole = pikepdf.parse_content_stream(page)
            _, surplus = _depths(whole)
            kept = [one for index, one in enumerate(whole) if index not in surplus]
            page.obj["/Contents"] = pdf.make_stream(pikepdf.unparse_content_stream(kept))
    except pikepdf.PdfError:
        return 0
    return depth


def _depths(instructions: Sequence[Any]) -> tuple[int, set[int]]:
    """How many q are left open at the end, and which Q have none before them."""
    depth, surplus = 0, set()
    for index, instruction in enumerate(instructions):
        operator = str(instruction.operator)
        if operator == "q":
            depth += 1
        elif operator == "Q" and depth:
            depth -= 1
        elif operator == "Q":
            surplus.add(index)
    return depth, surplus

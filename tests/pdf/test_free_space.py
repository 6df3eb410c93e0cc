"""Fields of text tags grow into free space only: never over the text, rules and pictures around their tags."""

from collections.abc import Iterator
from datetime import UTC, datetime

import numpy as np
import pypdfium2 as pdfium
import pytest
import typst
from pypdfium2 import raw

from deedbox.cli.demo import contracts
from deedbox.pdf.intake import take_in as intake
from deedbox.pdf.marks.field_text import least_height_by_hand
from deedbox.pdf.marks.marks import PageRect, Tag
from deedbox.pdf.render.boxes import Box
from tests.pdf.papers import drained, lines, paper, shown

W, H = 595.0, 842.0
SIGNATURE = "{{signature:Buyer}}"


def rule(x0: float, y0: float, x1: float, y1: float) -> bytes:
    return f"0.8 w {x0} {y0} m {x1} {y1} l S ".encode()


def table(top: float, rows: int = 3, row: float = 20, left: float = 60, right: float = 500) -> bytes:
    """A ruled table with text in every cell, in one path per rule."""
    made, middle = b"", (left + right) / 2
    for number in range(rows + 1):
        made += rule(left, top - number * row, right, top - number * row)
    for x in (left, middle, right):
        made += rule(x, top, x, top - rows * row)
    for number in range(rows):
        y = top - number * row - 14
        made += lines(f"Item {number}", x=left + 4, y=y) + lines(f"{number}00 euros", x=middle + 4, y=y)
    return made


PICTURE = b"q 200 0 0 40 60 %d cm BI /W 2 /H 1 /CS /G /BPC 8 /F /AHx ID 0080> EI Q "
"""A grey picture, 40 points high, whose lower edge is given."""
PARAGRAPH = lines(*["The Tenant pays the rent on the first day of each month, as agreed above."] * 4, y=600)

LAYOUTS = {
    "below a table": table(700) + lines(SIGNATURE, y=622),
    "below a table, far enough": table(760) + lines(SIGNATURE, y=500),
    "below a table that is one path": b"60 640 440 60 re 60 660 440 20 re 280 640 0 60 re S " + lines(SIGNATURE, y=625),
    "below a table of a shaded ground": b"0.8 g 60 640 440 60 re f 0 g " + lines(SIGNATURE, y=622),
    "below a paragraph": PARAGRAPH + lines(SIGNATURE, y=536),
    "between two paragraphs": PARAGRAPH + lines(SIGNATURE, y=536) + lines("Next", "and so on", y=516),
    "below a picture": PICTURE % 640 + lines(SIGNATURE, y=625),
    "at the top of the page": lines(SIGNATURE, y=826),
    "at the foot of the page, below a table": table(82) + lines(SIGNATURE, y=6),
    "in a cell of a table": rule(60, 700, 400, 700) + rule(60, 660, 400, 660) + rule(60, 700, 60, 660)
    + rule(190, 700, 190, 660) + rule(400, 700, 400, 660) + lines(SIGNATURE, x=64, y=672)
    + lines("Date", x=194, y=672) + lines("Above the table", y=706),
    "in a shaded cell of a table": b"0.85 g 60 660 130 40 re f 0 g " + lines(SIGNATURE, x=64, y=672),
    "above a rule to sign on": table(700) + lines(SIGNATURE, y=590) + rule(60, 588, 300, 588),
    "one below the other": lines("Signed by", SIGNATURE, "{{signature:Seller}}", "{{initials:Seller}}", y=500),
    "two beside each other": table(700) + lines(SIGNATURE, y=622) + lines("{{signature:Seller}}", x=300, y=622),
    "white on a dark page": b"0.1 g 0 0 595 842 re f 1 g 1 G " + table(700) + lines(SIGNATURE, y=622),
}  # fmt: skip


def taken_in(content: bytes) -> tuple[bytes, tuple[Tag, ...]]:
    data, made = drained(intake.take_in(paper(content)))
    return data, made.tags


def printed(data: bytes) -> Iterator[Box]:
    """The boxes of everything on the page, in points from its top left corner: letters one by one, rules and pictures
    as PDFium bounds them."""
    document = pdfium.PdfDocument(data)
    page = document[0]
    text = page.get_textpage()
    for index in range(text.count_chars()):
        if not chr(raw.FPDFText_GetUnicode(text, index)).isspace():
            left, bottom, right, top = text.get_charbox(index)
            yield left, H - top, right, H - bottom
    for thing in page.get_objects():
        left, bottom, right, top = thing.get_bounds()
        # A path without area is a rule; a ground that holds the whole field is checked by its pixels alone.
        if thing.type == raw.FPDF_PAGEOBJ_IMAGE or min(right - left, top - bottom) < 2:
            yield left, H - top, right, H - bottom
    document.close()


def test_field_below_a_table_set_by_a_typesetter_covers_nothing() -> None:
    source = """#set page(width: 595pt, height: 842pt)
    #table(columns: (1fr, 1fr), stroke: 0.5pt + rgb("#ccc"), fill: (_, y) => if calc.odd(y) { luma(240) },
      ..range(12).map(n => [Item #n]))
    {{signature:Buyer}}"""
    data, made = drained(intake.take_in(typst.compile(source.encode())))
    (field,) = (box(tag.place) for tag in made.tags)
    assert [thing for thing in printed(data) if overlap(field, thing)] == []
    left, top, right, bottom = (round(side * 2) for side in field)
    assert np.asarray(shown(data, scale=2).convert("L"))[top:bottom, left:right].min() == 255
    assert field[3] - field[1] == pytest.approx(48)


def box(place: PageRect) -> Box:
    return place.x * W, place.y * H, (place.x + place.w) * W, (place.y + place.h) * H


def overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_field_of_a_tag_covers_nothing_printed(layout: str) -> None:
    data, tags = taken_in(LAYOUTS[layout])
    things = list(printed(data))
    picture = np.asarray(shown(data, scale=2).convert("L")).astype(int)
    boxes = [box(tag.place) for tag in tags]
    for number, field in enumerate(boxes):
        assert [thing for thing in things if overlap(field, thing)] == []
        left, top, right, bottom = (round(side * 2) for side in field)
        inside = picture[top:bottom, left:right]
        assert inside.max() - inside.min() <= 12  # all of one shade: so it covers no ground's edge either
        assert [other for other in boxes[number + 1 :] if overlap(field, other)] == []
        assert tags[number].place.h * H >= least_height_by_hand(tags[number].kind) - 0.01
        assert min(field) >= 0
        assert field[2] <= W
        assert field[3] <= H


def test_field_below_a_table_keeps_its_usual_size_below_its_line() -> None:
    (tag,) = taken_in(LAYOUTS["below a table"])[1]
    left, top, right, bottom = box(tag.place)
    assert (right - left, bottom - top) == pytest.approx((180, 48))
    assert (left, top) == pytest.approx((60, H - 640), abs=2)


def test_field_with_enough_space_above_stands_on_its_line() -> None:
    (tag,) = taken_in(LAYOUTS["below a table, far enough"])[1]
    assert box(tag.place) == pytest.approx((60, H - 500 - 48, 240, H - 500), abs=1)


def test_field_between_two_paragraphs_shrinks_to_the_free_space() -> None:
    (tag,) = taken_in(LAYOUTS["between two paragraphs"])[1]
    assert 12.5 <= tag.place.h * H <= 24


def test_field_in_a_cell_ends_at_the_rules_of_the_cell() -> None:
    (tag,) = taken_in(LAYOUTS["in a cell of a table"])[1]
    left, top, right, bottom = box(tag.place)
    assert H - 700 <= top < bottom <= H - 660
    assert 64 <= left + 0.5 < right <= 190
    assert right - left > 115


def test_size_that_the_tag_names_is_kept() -> None:
    (tag,) = taken_in(table(700) + lines("{{signature:Buyer;w=200;h=60}}", y=622))[1]
    left, top, right, bottom = box(tag.place)
    assert (right - left, bottom - top) == pytest.approx((200, 60))
    assert top >= H - 640


def test_text_field_in_a_cell_ends_at_its_rule() -> None:
    (tag,) = taken_in(rule(160, 700, 160, 660) + lines("{{text:Buyer}}", x=64, y=672))[1]
    assert 80 < tag.place.w * W <= 160 - 64


@pytest.mark.parametrize("rotate", [90, 180, 270])
def test_free_space_is_measured_on_the_page_as_displayed(rotate: int) -> None:
    """The text runs upwards on the displayed page: whatever its direction, the field covers nothing."""
    turned = {90: "0 1 -1 0 320 100", 180: "-1 0 0 -1 400 400", 270: "0 -1 1 0 300 700"}[rotate]
    content = f"q {turned} cm ".encode() + table(100, rows=2, right=300) + lines(SIGNATURE, y=42) + b" Q"
    data, made = drained(intake.take_in(paper(content, Rotate=rotate)))
    (tag,) = made.tags
    picture = np.asarray(shown(data, scale=2).convert("L")).astype(int)
    rows, columns = picture.shape
    place = tag.place
    inside = picture[
        round(place.y * rows) : round((place.y + place.h) * rows),
        round(place.x * columns) : round((place.x + place.w) * columns),
    ]
    assert inside.size
    assert inside.min() > 240
    assert place.h * rows / 2 == pytest.approx(48)


def test_own_letters_that_overhang_their_boxes_do_not_count_as_printed() -> None:
    """In this contract, two letters of the first tag reach over the space behind them."""
    pdf = contracts.SECRECY.pdf(datetime(2026, 5, 3, tzinfo=UTC))
    _, made = drained(intake.take_in(pdf))
    signatures = [tag.place for tag in made.tags if tag.kind == "signature"]
    dates = [tag.place for tag in made.tags if tag.kind == "date_signed"]
    assert len({place.y for place in signatures}) == len({place.w for place in dates}) == 1

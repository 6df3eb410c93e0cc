"""The way from the page as it is displayed to the space in which a PDF draws."""

import pikepdf
import pytest
from pikepdf import Array, Dictionary, Name

from deedbox.pdf.render import boxes
from deedbox.pdf.render.boxes import Box, PageView
from tests.pdf.papers import add_page


def corner(view: PageView, x: float, y: float) -> tuple[float, float]:
    a, b, c, d, e, f = view.matrix
    return a * x + c * y + e, b * x + d * y + f


@pytest.mark.parametrize(
    ("rotate", "size", "lower_left", "upper_right"),
    [
        (0, (300, 500), (20, 30), (320, 530)),
        (90, (500, 300), (320, 30), (20, 530)),
        (180, (300, 500), (320, 530), (20, 30)),
        (270, (500, 300), (20, 530), (320, 30)),
    ],
)
def test_the_displayed_corners_lie_where_the_rotation_puts_them(
    rotate: int, size: tuple[int, int], lower_left: tuple[int, int], upper_right: tuple[int, int]
) -> None:
    view = boxes.view((0, 0, 600, 800), (20, 30, 320, 530), rotate)
    assert (view.width, view.height) == size
    assert corner(view, 0, 0) == pytest.approx(lower_left)
    assert corner(view, *size) == pytest.approx(upper_right)


@pytest.mark.parametrize(
    ("media", "crop", "seen"),
    [
        ((0, 0, 100, 200), None, (0, 0, 100, 200)),
        ((-50, -60, 100, 200), None, (-50, -60, 100, 200)),
        ((0, 0, 100, 200), (10, 20, 90, 180), (10, 20, 90, 180)),
        ((0, 0, 100, 200), (-10, -20, 500, 180), (0, 0, 100, 180)),
        ((0, 0, 100, 200), (300, 300, 400, 400), (0, 0, 100, 200)),
        ((0, 0, 100, 200), (50, 50, 50, 60), (0, 0, 100, 200)),
        (None, None, boxes.LETTER),
        ((0, 0, 0, 200), None, boxes.LETTER),
        (None, (10, 10, 20, 20), (10, 10, 20, 20)),
    ],
)
def test_only_what_viewers_show_counts(media: Box | None, crop: Box | None, seen: Box) -> None:
    assert boxes.visible(media, crop) == seen


@pytest.mark.parametrize("rotate", [0, 90, 180, 270])
@pytest.mark.parametrize("unit", [1.0, 2.5, 0.5])
def test_fractions_of_a_box_are_the_way_back(rotate: int, unit: float) -> None:
    view = boxes.view((-7, 5, 600, 800), None, rotate, unit)
    x, y, w, h = 0.1, 0.2, 0.3, 0.05
    one = corner(view, x * view.width, (1 - y) * view.height)
    other = corner(view, (x + w) * view.width, (1 - y - h) * view.height)
    assert view.fractions((*one, *other)) == pytest.approx((x, y, x + w, y + h))


def test_a_user_unit_makes_the_page_larger_and_not_its_space() -> None:
    view = boxes.view((0, 0, 100, 200), None, 0, 3.0)
    assert (view.width, view.height) == (300, 600)
    assert corner(view, 300, 600) == pytest.approx((100, 200))


def test_boxes_and_rotation_are_inherited_from_the_page_tree() -> None:
    with pikepdf.new() as pdf:
        page = add_page(pdf, b"")
        del page["/MediaBox"]
        tree = pdf.Root.Pages
        tree["/MediaBox"], tree["/CropBox"], tree["/Rotate"] = Array([0, 0, 400, 600]), Array([350, 10, 50, 510]), 450
        assert boxes.of_page(page) == boxes.view((0, 0, 400, 600), (50, 10, 350, 510), 90)


@pytest.mark.parametrize(
    "entries",
    [
        {"MediaBox": Array([0, 0, 10])},
        {"MediaBox": Array([Name.A, Name.B, 1, 2])},
        {"MediaBox": Name.Nothing},
        {"MediaBox": Array([])},
        {"MediaBox": Dictionary(A=1)},
    ],
)
def test_a_box_that_is_none_counts_as_letter_paper(entries: dict[str, object]) -> None:
    with pikepdf.new() as pdf:
        page = add_page(pdf, b"")
        page["/MediaBox"] = entries["MediaBox"]
        assert boxes.of_page(page)[:2] == (612, 792)


@pytest.mark.parametrize("rotate", [45, 91, Name.Ninety, Array([90])])
def test_a_rotation_that_is_no_quarter_turn_is_none(rotate: object) -> None:
    with pikepdf.new() as pdf:
        assert boxes.of_page(add_page(pdf, b"", Rotate=rotate))[:2] == (595, 842)


@pytest.mark.parametrize("unit", [0, -1, Name.Two, 1e9])
def test_a_user_unit_that_makes_no_sense_is_one(unit: object) -> None:
    with pikepdf.new() as pdf:
        assert boxes.of_page(add_page(pdf, b"", UserUnit=unit))[:2] == (595, 842)


def test_a_page_tree_in_a_circle_ends() -> None:
    with pikepdf.new() as pdf:
        page = add_page(pdf, b"")
        del page["/MediaBox"]
        pdf.Root.Pages["/Parent"] = pdf.Root.Pages
        assert boxes.of_page(page)[:2] == (612, 792)

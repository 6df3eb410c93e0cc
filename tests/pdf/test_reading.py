"""The text of a page comes in reading order, as paragraphs, with the place of every line."""

import io

import pytest
from PIL import Image

from deedbox.pdf import limits
from deedbox.pdf.render import page_text as reading
from tests.pdf.papers import lines, paper

LONG = "The tenant pays the rent of 1,250 euros on the first working day of every month"


def told(data: bytes) -> list[list[str]]:
    """The paragraphs of the first page, each with its lines."""
    found: list[list[str]] = []
    for line in reading.pages(data)[0]:
        if line.begins:
            found.append([])
        found[-1].append(line.text)
    return found


def test_lines_that_follow_each_other_are_one_paragraph() -> None:
    content = lines(LONG, f"{LONG}.", y=760) + b" " + lines(f"{LONG}.", "Short.", f"{LONG}.", y=690)
    assert told(paper(content)) == [[LONG, f"{LONG}."], [f"{LONG}.", "Short."], [f"{LONG}."]]


def test_a_heading_stands_alone_and_columns_follow_each_other() -> None:
    left = lines("Left column of the text", "and what follows there", x=60, y=700)
    right = lines("Right column of the text", "and what follows there", x=320, y=700)
    found = told(paper(lines("The heading of it all", size=20) + b" " + left + b" " + right))
    assert found == [
        ["The heading of it all"],
        ["Left column of the text", "and what follows there"],
        ["Right column of the text", "and what follows there"],
    ]


def test_numbered_clauses_without_room_between_them_stay_apart() -> None:
    clauses = [
        "1. The tenant pays the rent on the first day",
        "of each month, and not later than on day",
        "3 of it. In May the tenant pays no more than",
        "2.5 times the usual rent, which is agreed here",
        "2.1 Pets need the consent of the landlord here",
        "(a) except for fish and other quiet animals, or",
        "which the law allows without any such consent",
    ]
    found = told(paper(lines(*clauses)))
    assert [one[0].split()[0] for one in found] == ["1.", "2.1", "(a)"]


@pytest.mark.parametrize("rotate", [0, 90, 180, 270])
def test_each_line_has_its_place_on_the_page_as_it_is_shown(rotate: int) -> None:
    [[line]] = reading.pages(paper(lines("Hello there", x=60, y=760), Rotate=rotate))
    upright = (60 / 595, 1 - 770 / 842, 120 / 595, 1 - 757 / 842)
    left, top, right, bottom = upright
    expected = {
        0: upright,
        90: (1 - bottom, left, 1 - top, right),
        180: (1 - right, 1 - bottom, 1 - left, 1 - top),
        270: (top, 1 - right, bottom, 1 - left),
    }[rotate]
    assert (line.left, line.top, line.right, line.bottom) == pytest.approx(expected, abs=0.02)


def test_a_scan_has_no_lines() -> None:
    scan = io.BytesIO()
    Image.effect_noise((300, 400), 50).save(scan, "PDF")
    assert reading.pages(scan.getvalue()) == [[]]


def test_a_page_without_letters_between_others_keeps_its_number() -> None:
    found = reading.pages(paper(lines("One"), b"", lines("Three")))
    assert [[line.text for line in page] for page in found] == [["One"], [], ["Three"]]


def test_nothing_but_letters_comes_out() -> None:
    [[line]] = reading.pages(paper(b"BT /F 12 Tf 60 700 Td (A\\000\\001\\002B <b>) Tj ET"))
    assert not any(ord(letter) < 32 for letter in line.text)


def test_reading_stops_before_the_page_with_which_there_is_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    data = paper(lines("One", "two"), lines("Three"), lines("Four", "five"), lines("Six"))
    monkeypatch.setattr(limits, "READ_LINES", 4)
    assert [[line.text for line in page] for page in reading.pages(data)] == [["One", "two"], ["Three"]]
    monkeypatch.setattr(limits, "READ_LETTERS", 9)
    assert len(reading.pages(data)) == 1

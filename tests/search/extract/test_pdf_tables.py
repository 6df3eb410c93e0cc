"""Tables that rules draw on a page: lines, thin rectangles or frames of cells, as programs write them."""

from collections.abc import Iterator, Sequence

import pytest

from deedbox.search.extract import extract, pdf_rules
from tests.search.extract.pdfs import lines, paged

LEFT, TOP, WIDTH, HEIGHT = 72, 700, 120, 20
BOATS = [["Boat", "Price", "Due"], ["Heron", "900", "May"], ["Otter", "", "June"]]
TOLD = "Boat | Price | Due\nBoat: Heron | Price: 900 | Due: May\nBoat: Otter | Due: June"


def read(*pages: bytes, page: bytes = b"") -> str:
    return extract(paged(*pages, page=page), "pdf").text


def words(rows: Sequence[Sequence[str]], top: int = TOP) -> bytes:
    """Each word in its cell, with nothing drawn about it."""
    return b" ".join(
        lines(word, left=LEFT + 4 + WIDTH * column, top=top - HEIGHT * row - 14)
        for row, values in enumerate(rows)
        for column, word in enumerate(values)
        if word
    )


def edges(rows: int, columns: int, top: int = TOP) -> Iterator[tuple[int, int, int, int]]:
    """Left, lower end, width and height of each edge of the grid."""
    for row in range(rows + 1):
        yield LEFT, top - HEIGHT * row, WIDTH * columns, 0
    for column in range(columns + 1):
        yield LEFT + WIDTH * column, top - HEIGHT * rows, 0, HEIGHT * rows


def ruled(rows: int, columns: int, top: int = TOP) -> bytes:
    return b" ".join(b"%d %d m %d %d l S" % (x, y, x + w, y + h) for x, y, w, h in edges(rows, columns, top))


def thin(rows: int, columns: int) -> bytes:
    return b" ".join(b"%d %d %d %d re f" % (x, y, w or 1, h or 1) for x, y, w, h in edges(rows, columns))


def thin_in_one_path(rows: int, columns: int) -> bytes:
    return b" ".join(b"%d %d %d %d re" % (x, y, w or 1, h or 1) for x, y, w, h in edges(rows, columns)) + b" f"


def framed(rows: int, columns: int) -> bytes:
    """Each cell with a frame of its own and room between them, as browsers draw them."""
    places = ((row, column) for row in range(rows) for column in range(columns))
    cells = ((LEFT + WIDTH * column + 1, TOP - HEIGHT * (row + 1) + 1) for row, column in places)
    return b" ".join(b"%d %d %d %d re S" % (x, y, WIDTH - 2, HEIGHT - 2) for x, y in cells)


def ringed(rows: int, columns: int) -> bytes:
    """As `framed`, each frame filled between two rectangles."""
    places = ((row, column) for row in range(rows) for column in range(columns))
    cells = ((LEFT + WIDTH * column + 1, TOP - HEIGHT * (row + 1) + 1) for row, column in places)
    ring = b"%d %d %d %d re %d %d %d %d re f*"
    return b" ".join(ring % (x, y, WIDTH - 2, HEIGHT - 2, x + 1, y + 1, WIDTH - 4, HEIGHT - 4) for x, y in cells)


def turned(content: bytes) -> bytes:
    """As a program draws a page that a reader turns by a quarter."""
    return b"0 1 -1 0 792 0 cm " + content


@pytest.mark.parametrize("drawn", [ruled, thin, thin_in_one_path, framed, ringed])
def test_a_ruled_table_comes_as_rows_with_their_headings(drawn: object) -> None:
    assert callable(drawn)
    assert read(drawn(3, 3) + b" " + words(BOATS)) == TOLD + "\n"


def test_text_about_a_table_comes_as_without_it() -> None:
    before, after = lines("What the boats cost", top=760), lines("Both have seen them.", "They are sound.", top=600)
    plain = read(b" ".join((before, after)))
    told = read(b" ".join((before, ruled(3, 3), words(BOATS), after)))
    assert told == plain.replace("cost\n", f"cost\n{TOLD}\n")


def test_words_without_rules_or_within_one_frame_come_as_lines() -> None:
    assert read(words(BOATS)) == read(ruled(1, 1) + words(BOATS)) == "Boat Price Due\nHeron 900 May\nOtter June\n"


def test_lines_below_words_make_no_table() -> None:
    underlined = b" ".join(b"72 %d m 300 %d l S" % (y, y) for y in (700, 684, 668))
    assert read(underlined + lines("One", "Two", "Three", top=702)) == "One\nTwo\nThree\n"


def test_a_line_of_a_cell_that_goes_over_its_end_stays_in_the_cell() -> None:
    two = lines("A long name", "of a boat", left=LEFT + 4, top=TOP - 6)
    grid = b"72 700 m 312 700 l S 72 660 m 312 660 l S 72 640 m 312 640 l S " + b" ".join(
        b"%d 640 m %d 700 l S" % (x, x) for x in (72, 192, 312)
    )
    rest = (lines("900", left=196, top=680), lines("Otter", left=76, top=646), lines("850", left=196, top=646))
    assert read(b" ".join((grid, two, *rest))) == "A long name of a boat | 900\nOtter | 850\n"


def test_a_row_that_one_cell_fills_is_a_line_of_its_own() -> None:
    title = b"72 720 m 432 720 l S 72 700 m 72 720 l S 432 700 m 432 720 l S " + lines(
        "Boats of 2026", left=76, top=706
    )
    assert read(b" ".join((ruled(3, 3), title, words(BOATS)))) == f"Boats of 2026\n{TOLD}\n"


def test_columns_without_drawn_sides_are_found_by_the_rules_between_them() -> None:
    across = b" ".join(b"72 %d m 432 %d l S" % (y, y) for y in (700, 680, 660, 640))
    down = b"192 640 m 192 700 l S 312 640 m 312 700 l S"
    assert read(b" ".join((across, down, words(BOATS)))) == TOLD + "\n"


def test_rows_that_no_rules_part_are_rows_all_the_same() -> None:
    down = b" ".join(b"%d 620 m %d 700 l S" % (x, x) for x in (72, 192, 312, 432))
    across = b" ".join(b"72 %d m 432 %d l S" % (y, y) for y in (700, 680, 620))
    rows = [BOATS[0], BOATS[1], ["Otter", "850", "June"], ["Swan", "700", "July"]]
    told = (
        "Boat: Heron | Price: 900 | Due: May\nBoat: Otter | Price: 850 | Due: June\nBoat: Swan | Price: 700 | Due: July"
    )
    assert read(b" ".join((down, across, words(rows)))) == f"Boat | Price | Due\n{told}\n"


def test_a_table_that_goes_on_keeps_the_names_of_its_columns() -> None:
    more = [["Swan", "700", "July"], ["Tern", "650", "August"]]
    second = "Boat: Swan | Price: 700 | Due: July\nBoat: Tern | Price: 650 | Due: August"
    assert read(ruled(3, 3) + words(BOATS), ruled(2, 3) + words(more)) == f"{TOLD}\n{second}\n"


def test_names_beside_their_values_are_no_headings() -> None:
    parties = [["Seller", "Ada"], ["Buyer", "Alan"], ["Place", "Bergen"]]
    assert read(ruled(3, 2) + words(parties)) == "Seller | Ada\nBuyer | Alan\nPlace | Bergen\n"


def test_squares_for_single_letters_are_no_table() -> None:
    squares = [list("NO93"), list("8601")]
    assert "|" not in read(ruled(2, 4) + words(squares))


def test_a_page_that_is_shown_turned_has_its_table_turned() -> None:
    content = ruled(3, 3, top=500) + b" " + words(BOATS, top=500)
    assert read(turned(content), page=b"/MediaBox[0 0 792 612]/Rotate 90") == TOLD + "\n"


def test_two_tables_on_a_page_stay_apart() -> None:
    other = [["Oar", "Length"], ["Left", "240"], ["Right", "241"]]
    told = "Oar | Length\nOar: Left | Length: 240\nOar: Right | Length: 241"
    content = b" ".join((ruled(3, 3), words(BOATS), ruled(3, 2, top=500), words(other, top=500)))
    assert read(content) == f"{TOLD}\n{told}\n"


def test_pages_beyond_the_steps_of_a_file_are_told_without_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    page = ruled(3, 3) + words(BOATS)
    monkeypatch.setattr(pdf_rules.Steps.__init__, "__defaults__", (250,))
    assert read(page, page) == f"{TOLD}\nBoat Price Due\nHeron 900 May\nOtter June\n"


def test_a_page_with_more_rules_than_steps_is_told_as_lines() -> None:
    many = b" ".join(b"%d 0 m %d 792 l S 0 %d m 612 %d l S" % (n, n, n, n) for n in range(0, 600, 4))
    found = read(*([many + b" " + lines("words")] * 60))
    assert found.count("words") == 60

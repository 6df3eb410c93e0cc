"""What is measured fits when it is drawn: the same size, and nothing smaller than can be read."""

from bisect import bisect_left
from typing import Any

import numpy as np
import pypdfium2 as pdfium
import pytest
from pypdfium2 import raw

from deedbox.pdf.marks.field_text import SMALLEST, FieldSpace, letters_by_hand, letters_that_fit
from deedbox.pdf.marks.marks import Mark, PageRect
from tests.pdf.papers import paper, shown
from tests.pdf.test_mark import NAMES, marked

TEXTS = {
    **NAMES,
    "long": "A text of many words that goes on and on",
    "capitals": "WWWWWWWWWWWWWWWW",
    "thin": "il.,'il" * 5,
}


def sizes(data: bytes) -> set[float]:
    """The sizes of the letters on a page."""
    document = pdfium.PdfDocument(data)
    page = document[0]
    shown_text = page.get_textpage()
    found, matrix = set(), raw.FS_MATRIX()
    for index in range(shown_text.count_chars()):
        if raw.FPDFText_IsGenerated(shown_text, index):
            continue
        raw.FPDFText_GetMatrix(shown_text, index, matrix)
        found.add(round(raw.FPDFText_GetFontSize(shown_text, index) * abs(matrix.d), 2))
    document.close()
    return found


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_drawn_at_the_size_that_was_measured(text: str) -> None:
    place = PageRect(1, 0.1, 0.5, 0.15, 0.02)
    room = FieldSpace(0.15 * 595, 0.02 * 842)
    made = sizes(marked(paper(b""), Mark("text", place, TEXTS[text])))
    # Joined letters may take less room than each by itself, never more; kerning may take a hair.
    assert max(made) == pytest.approx(room.fitting(TEXTS[text]), rel=0.02)


@pytest.mark.parametrize("size", [None, 8, 14])
@pytest.mark.parametrize(("w", "h"), [(0.1, 0.015), (0.2, 0.03), (0.3, 0.08), (0.5, 0.2)])
def test_what_just_fits_is_drawn_large_enough_and_within_its_field(w: float, h: float, size: float | None) -> None:
    room = FieldSpace(w * 595, h * 842, size)
    words = "Some words of an ordinary text, which takes what room there is. " * 40
    fitting = bisect_left(range(len(words)), True, key=lambda count: room.fitting(words[:count]) < SMALLEST) - 1
    made = marked(paper(b""), Mark("text", PageRect(1, 0.1, 0.5, w, h), words[:fitting], font_size=size))
    assert min(sizes(made)) >= SMALLEST * 0.97
    outside: Any = np.asarray(shown(made, 1, 2.0).convert("L")).copy()
    rows, columns = outside.shape
    outside[int(0.5 * rows) - 1 : int((0.5 + h) * rows) + 2, int(0.1 * columns) : int((0.1 + w) * columns) + 1] = 255
    assert (outside < 200).sum() == 0
    assert letters_that_fit(words[:fitting], room) is None
    assert letters_that_fit(words[: fitting + 40], room) is not None


def test_the_room_that_is_told_is_about_the_room_there_is() -> None:
    room = FieldSpace(100, 14)
    assert letters_that_fit("abcdefghij" * 5, room) == 32
    assert letters_that_fit("abcdefghij" * 3, room) is None


def test_a_signature_has_the_whole_width_of_its_field() -> None:
    assert letters_by_hand("Ann Theodora Cholmondeley", FieldSpace(80, 30)) is None
    assert letters_by_hand("Ann Theodora Cholmondeley-Featherstonehaugh", FieldSpace(80, 30)) is not None

"""What is around the models that read scans: lines of marked pixels, letters of chances, one text of many pages."""

import math

import numpy as np
import pytest
from PIL import Image

from deedbox.kernel.errors import BadRequest
from deedbox.search.extract.image import read
from deedbox.search.library.upload import Extraction
from deedbox.search.ocr import RecognisedWord, ScannedPage
from deedbox.search.ocr.detect import rows
from deedbox.search.ocr.filled import fill_pages
from deedbox.search.ocr.page_reader import _is_sound
from deedbox.search.ocr.recognise import decode_line
from tests.search.pictures import file_of, picture


def test_marked_pixels_are_lines_in_rows_however_the_page_is_turned() -> None:
    page = Image.new("L", (600, 200))
    for left, top, width in ((40, 40, 200), (320, 42, 220), (40, 120, 500)):
        page.paste(255, (left, top, left + width, top + 12))
    for turn in (0.0, 2.0):
        likely = np.asarray(page.rotate(turn, Image.Resampling.BILINEAR), np.float32) / np.float32(255)
        found = rows(likely, 2.0, 2.0)
        assert [len(row) for row in found] == [2, 1]
        assert found[0][0].x < found[0][1].x
        assert all(abs(math.degrees(line.angle) + turn) < 0.3 for row in found for line in row)
        assert 1000 < found[1][0].width < 1060
    assert rows(np.zeros((64, 64), np.float32), 1.0, 1.0) == []


def test_letters_that_go_on_are_one_and_blanks_part_them() -> None:
    steps = [0, 1, 1, 0, 1, 2, 0, 0]
    found = decode_line(np.eye(3, dtype=np.float32)[steps], ["", "o", "f"], share=0.5)
    assert (found.text, found.sure) == ("oof", 1.0)
    assert found.places == [0.375, 1.0, 1.0]


def test_scanned_pages_come_into_the_text_and_everything_after_them_moves() -> None:
    typed = Extraction("one\nthree\n", [0, 4, 4, 10], [(0, "one"), (4, "three")])
    whole, begins = fill_pages(typed, {2: "scanned", 4: ""})
    assert whole == Extraction("one\nscanned\nthree\n", [0, 4, 12, 18], [(0, "one"), (12, "three")], [2])
    assert begins == {2: 4}
    assert fill_pages(whole, {2: "scanned", 4: "last"})[1] == {2: 4, 4: 18}


def test_pages_that_no_reading_gives_are_not_sound() -> None:
    word = RecognisedWord(0, 3, 0, 0, 1, 1)
    assert _is_sound(ScannedPage(1, "one", [word]))
    for text, words in (("on", [word]), ("o\0e", []), ("one one", [RecognisedWord(4, 7, 0, 0, 1, 1), word])):
        assert not _is_sound(ScannedPage(1, text, words))


def test_an_image_has_pages_and_no_text_and_a_broken_one_is_refused() -> None:
    page = picture("One").resize((62, 88))
    assert read(file_of(page, "TIFF", page, page)) == Extraction("", [0, 0, 0], [])
    for kind in ("PNG", "JPEG", "WEBP"):
        whole = file_of(page, kind)
        assert read(whole) == Extraction("", [0], [])
        with pytest.raises(BadRequest, match=r"^This image is damaged"):
            read(whole[: len(whole) // 2])

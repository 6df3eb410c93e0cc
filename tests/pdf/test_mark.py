"""Marks come out where the signer saw the fields, and look as they should, in every script."""

import io
from typing import Any

import msgspec
import numpy as np
import pikepdf
import pytest
from pikepdf import Array, Dictionary, Name
from PIL import Image

from deedbox.kernel.errors import BadRequest
from deedbox.pdf import limits
from deedbox.pdf.intake import take_in as intake
from deedbox.pdf.marks import draw as mark
from deedbox.pdf.marks.marks import Mark, Marks, PageRect
from tests.pdf.papers import A4, add_page, drained, lines, paper, saved, scribble, shown, text_of

DARK = b"0.2 0.2 0.2 rg -3000 -3000 9000 9000 re f"
NAMES = {
    "Latin": "Ana María Núñez",
    "Vietnamese": "Nguyễn Thị Ánh",
    "Greek": "Ελένη Παππά",
    "Cyrillic": "Дмитрий Иванов",
    "Arabic": "محمد الأحمد",
    "Devanagari": "अनिल कुमार",
    "Thai": "สมชาย ใจดี",
    "Chinese": "王小明",
    "Japanese": "山田たろう",
    "Korean": "김철수",
}
BOXES: dict[str, dict[str, Any]] = {
    "media only": {},
    "media off the origin": {"media": (100, 200, 500, 800)},
    "negative media": {"media": (-300, -400, 100, 200)},
    "upside down media": {"media": (500, 800, 100, 200)},
    "crop": {"CropBox": [40, 50, 500, 700]},
    "crop beyond the media": {"CropBox": [-100, 300, 900, 900]},
    "negative crop": {"media": (-300, -400, 100, 200), "CropBox": [-200, -300, 50, 150]},
    "empty crop": {"CropBox": [10, 10, 10, 10]},
}


def marked(data: bytes, *marks: Mark, **images: bytes) -> bytes:
    wanted = msgspec.to_builtins(Marks(marks, images), builtin_types=(bytes,))
    return drained(mark.mark_pages(data, wanted))[0]


def whitened(data: bytes, place: PageRect) -> bytes:
    """The file with a mark that fills its place with white."""
    page = shown(data, place.page, 4.0)
    made = io.BytesIO()
    Image.new("RGB", (round(page.width * place.w), round(page.height * place.h)), "white").save(made, "PNG")
    return marked(data, Mark("initials", place, image="white"), white=made.getvalue())


def ink(data: bytes, place: PageRect, scale: float = 2.0) -> Any:
    """The greys of the page inside a place."""
    picture = np.asarray(shown(data, place.page, scale).convert("L"))
    h, w = picture.shape
    top, bottom = round(place.y * h), round((place.y + place.h) * h)
    return picture[top:bottom, round(place.x * w) : round((place.x + place.w) * w)]


def white_box(data: bytes, number: int = 1) -> tuple[float, ...]:
    """Where the white of a dark page lies, in fractions: left, top, right, bottom."""
    picture = np.asarray(shown(data, number, 2.0).convert("L")) > 200
    rows, columns = np.flatnonzero(picture.any(axis=1)), np.flatnonzero(picture.any(axis=0))
    h, w = picture.shape
    return columns[0] / w, rows[0] / h, (columns[-1] + 1) / w, (rows[-1] + 1) / h


@pytest.mark.parametrize("rotate", [0, 90, 180, 270, -90, 450])
@pytest.mark.parametrize("boxes", BOXES)
def test_a_mark_lands_where_it_was_seen_on_every_page(rotate: int, boxes: str) -> None:
    options = dict(BOXES[boxes])
    data = paper(DARK, media=options.pop("media", A4), Rotate=rotate, **options)
    place = PageRect(1, 0.15, 0.6, 0.3, 0.1)
    made = whitened(data, place)
    assert white_box(made) == pytest.approx((0.15, 0.6, 0.45, 0.7), abs=0.006)


@pytest.mark.parametrize("rotate", [0, 90])
def test_boxes_that_the_page_inherits_count(rotate: int) -> None:
    with pikepdf.new() as pdf:
        page = add_page(pdf, DARK)
        del page["/MediaBox"], page["/Resources"]
        pdf.Root.Pages["/MediaBox"], pdf.Root.Pages["/CropBox"] = Array([0, 0, 600, 800]), Array([100, 50, 400, 700])
        pdf.Root.Pages["/Rotate"], pdf.Root.Pages["/Resources"] = rotate, Dictionary()
        made = whitened(saved(pdf), PageRect(1, 0.5, 0.25, 0.2, 0.1))
    assert white_box(made) == pytest.approx((0.5, 0.25, 0.7, 0.35), abs=0.006)


def test_a_user_unit_moves_nothing() -> None:
    made = whitened(paper(DARK, UserUnit=2), PageRect(1, 0.5, 0.25, 0.2, 0.1))
    assert white_box(made) == pytest.approx((0.5, 0.25, 0.7, 0.35), abs=0.006)


@pytest.mark.parametrize("content", [b"q 2 0 0 2 50 50 cm", b"q q q 0.1 0 0 0.1 9 9 cm", b"Q Q", b"3 0 0 3 0 0 cm"])
def test_content_that_leaves_its_space_changed_does_not_move_the_mark(content: bytes) -> None:
    made = whitened(paper(DARK + b" " + content), PageRect(1, 0.5, 0.25, 0.2, 0.1))
    assert white_box(made) == pytest.approx((0.5, 0.25, 0.7, 0.35), abs=0.006)


def test_content_that_restores_what_it_never_saved_moves_neither_the_mark_nor_itself() -> None:
    data = paper(b"Q q 1 0 0 rg 9 9 30 30 re f Q 0.5 0 0 0.5 0 0 cm Q Q " + lines("A half", size=60) + b" q")
    place = PageRect(1, 0.5, 0.25, 0.2, 0.1)
    before, made = shown(data), marked(data, Mark("checkbox", place, "x"))
    tick = np.asarray(shown(made).convert("L"), dtype=np.int16) - np.asarray(before.convert("L"), dtype=np.int16)
    rows, columns = np.nonzero(np.abs(tick) > 60)
    assert 0.25 * 842 - 1 <= rows.min() <= rows.max() <= 0.35 * 842 + 1
    assert 0.5 * 595 <= columns.min() <= columns.max() <= 0.7 * 595


def test_a_mark_on_the_smallest_page_stays_within_its_field() -> None:
    place = PageRect(1, 0.5, 0.5, 0.25, 0.1)
    made = marked(paper(b"", media=(0, 0, 4, 4)), Mark("text", place, "A text"), Mark("signature", place, "Ana"))
    picture = np.asarray(shown(made, 1, 100.0).convert("L")).copy()
    picture[195:245, 195:305] = 255
    assert (picture < 250).sum() == 0


@pytest.mark.parametrize("script", NAMES)
@pytest.mark.parametrize("kind", ["signature", "name"])
def test_a_name_is_written_in_its_script_within_its_field(script: str, kind: Any) -> None:
    place = PageRect(1, 0.2, 0.3, 0.4, 0.06)
    made = marked(paper(b""), Mark(kind, place, NAMES[script], caption=("a caption",) if kind == "signature" else ()))
    assert (ink(made, place) < 120).sum() > 100
    outside = np.asarray(shown(made, 1, 2.0).convert("L")).copy()
    h, w = outside.shape
    outside[int(0.295 * h) : int(0.365 * h), int(0.195 * w) : int(0.605 * w)] = 255
    assert (outside < 250).sum() == 0


def test_scripts_have_letters_and_not_empty_boxes() -> None:
    """A font that lacks a letter draws the same sign for each; here all look different."""
    place = PageRect(1, 0.1, 0.1, 0.2, 0.05)
    pictures = {ink(marked(paper(b""), Mark("name", place, letter)), place).tobytes() for letter in "AあБΩعह王한ท"}
    assert len(pictures) == 9


def test_chinese_characters_take_the_shape_of_the_language_around_them() -> None:
    place = PageRect(1, 0.1, 0.1, 0.3, 0.05)
    made = [ink(marked(paper(b""), Mark("name", place, text)), place) for text in ("直", "直の", "直한")]
    assert len({picture[:, :60].tobytes() for picture in made}) == 3


def test_a_long_text_shrinks_until_it_fits() -> None:
    place = PageRect(1, 0.1, 0.1, 0.2, 0.02)
    made = marked(
        paper(b""), Mark("text", place, "A text that is much too long for the small field it was put into " * 3)
    )
    assert "much too long" in text_of(made)
    picture = np.asarray(shown(made, 1, 2.0).convert("L"))
    assert np.flatnonzero((picture < 200).any(axis=0))[-1] <= 0.305 * picture.shape[1]


def test_a_long_text_in_a_high_field_takes_several_lines() -> None:
    place = PageRect(1, 0.1, 0.1, 0.3, 0.1)
    picture = ink(marked(paper(b""), Mark("text", place, "Several words that go over more than one line. " * 3)), place)
    rows = (picture < 128).any(axis=1).astype(int)
    assert (np.diff(rows) == 1).sum() >= 3


def test_marks_bring_no_colour_profile() -> None:
    place = PageRect(1, 0.1, 0.1, 0.4, 0.1)
    made = marked(paper(), Mark("signature", place, text="Ana", caption=("Ana",)), Mark("checkbox", place, "x"))
    with pikepdf.open(io.BytesIO(made)) as pdf:
        spaces = pdf.pages[0].obj.Resources.XObject.DeedboxMarks.Resources.ColorSpace
        assert {str(space) for _, space in spaces.items()} == {"/DeviceRGB"}
    assert b"ICCBased" not in made


def test_a_drawn_signature_is_shown_with_the_page_behind_it() -> None:
    place = PageRect(1, 0.1, 0.1, 0.4, 0.1)
    made = marked(paper(b"1 1 0 rg 0 0 999 999 re f"), Mark("signature", place, image="a"), a=scribble())
    page = shown(made, 1, 2.0)
    assert page.getpixel((int(0.12 * page.width), int(0.12 * page.height))) == (255, 255, 0)
    assert (ink(made, place) < 60).sum() > 100


def test_one_image_used_often_is_stored_once() -> None:
    noise = scribble((600, 300))
    once = marked(paper(b""), Mark("initials", PageRect(1, 0, 0, 0.1, 0.1), image="a"), a=noise)
    marks = [Mark("initials", PageRect(1, 0.1 * n, 0.5, 0.1, 0.1), image="a") for n in range(9)]
    assert len(marked(paper(b""), *marks, a=noise)) < len(once) + 3000


def test_a_tick_is_drawn_only_if_the_box_is_checked() -> None:
    place = PageRect(1, 0.1, 0.1, 0.05, 0.05)
    ticked, empty = (ink(marked(paper(b""), Mark("checkbox", place, text)), place) for text in ("true", ""))
    assert (ticked < 128).sum() > (empty < 128).sum() > 0


def test_the_caption_tells_who_when_and_which() -> None:
    mark = Mark(
        "signature", PageRect(1, 0.1, 0.1, 0.4, 0.07), "Ana", caption=("Ana", "2026-11-15 09:00:00 UTC", "sgn_1234")
    )
    text = text_of(marked(paper(b""), mark))
    assert "2026-11-15 09:00:00 UTC" in text
    assert "sgn_1234" in text


@pytest.mark.parametrize("size", [8, 11, 16, 24])
@pytest.mark.parametrize("kind", ["text", "date", "name", "number", "select;options=Hxp|b"])
def test_the_value_of_a_tag_stands_on_the_baseline_of_its_line(kind: str, size: float) -> None:
    name, _, options = kind.partition(";")
    tagged = lines(f"H {{{{{name}:Buyer{';' if options else ''}{options}}}}}", x=100, y=400, size=size)
    data, known = drained(intake.take_in(paper(tagged)))
    (tag,) = known.tags
    made = marked(data, Mark(tag.kind, tag.place, "H", font_size=tag.font_size))
    picture = np.asarray(shown(made, 1, 4.0).convert("L")) < 128
    written, value = picture[:, : int(4 * tag.place.x * 595)], picture[:, int(4 * tag.place.x * 595) :]
    feet = [int(np.flatnonzero(part.any(axis=1))[-1]) for part in (written, value)]
    heights = [int(part.any(axis=1).sum()) for part in (written, value)]
    assert feet[0] == pytest.approx(feet[1], abs=1)
    assert heights[0] == pytest.approx(heights[1], rel=0.06)


def test_what_was_on_the_page_stays_and_resources_shared_with_other_pages_are_not_touched() -> None:
    with pikepdf.new() as pdf:
        first, second = add_page(pdf, lines("First")), add_page(pdf, lines("Second"))
        shared = pdf.make_indirect(first.Resources)
        first["/Resources"], second["/Resources"] = shared, shared
        made = marked(saved(pdf), Mark("text", PageRect(1, 0.1, 0.5, 0.3, 0.05), "Stamped"))
    assert text_of(made, 1).split() == ["First", "Stamped"]
    assert text_of(made, 2).split() == ["Second"]
    with pikepdf.open(io.BytesIO(made)) as pdf:
        assert "/XObject" not in pdf.pages[1].obj.Resources


def test_a_name_that_is_taken_is_not_taken_again() -> None:
    place = PageRect(1, 0.1, 0.5, 0.3, 0.05)
    once = marked(paper(b""), Mark("text", place, "One"))
    twice = marked(once, Mark("text", PageRect(1, 0.5, 0.5, 0.3, 0.05), "Two"))
    assert sorted(text_of(twice).split()) == ["One", "Two"]


def test_the_same_marks_make_the_same_bytes() -> None:
    mark = Mark("signature", PageRect(1, 0.1, 0.1, 0.4, 0.1), "Ana", caption=("b",))
    data = paper(b"")
    assert marked(data, mark) == marked(data, mark)


def test_nothing_to_mark_changes_no_page() -> None:
    data = paper(lines("As it was"))
    assert shown(marked(data)).tobytes() == shown(data).tobytes()


def test_a_field_on_a_page_that_is_not_there_is_refused() -> None:
    with pytest.raises(BadRequest, match="page 2: the document has 1"):
        marked(paper(b""), Mark("text", PageRect(2, 0, 0, 0.1, 0.1), "a"))


def test_more_fields_than_allowed_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MARK_FIELDS", 1)
    with pytest.raises(BadRequest, match="at most 1 field"):
        marked(paper(b""), *(Mark("text", PageRect(1, 0, 0, 0.1, 0.1), "a") for _ in range(2)))


def test_markup_in_a_value_is_text() -> None:
    mark = Mark("text", PageRect(1, 0.1, 0.1, 0.6, 0.05), '#read("/etc/passwd") *b* $x$')
    assert '#read("/etc/passwd") *b* $x$' in text_of(marked(paper(b""), mark))


def test_a_page_without_content_or_resources_can_be_marked() -> None:
    with pikepdf.new() as pdf:
        page = add_page(pdf, b"")
        del page["/Contents"], page["/Resources"]
        page["/Group"] = Dictionary(S=Name.Transparency, CS=Name.DeviceRGB)
        made = marked(saved(pdf), Mark("text", PageRect(1, 0.1, 0.5, 0.3, 0.05), "Stamped"))
    assert "Stamped" in text_of(made)


def test_a_line_end_in_a_field_of_one_line_is_a_space() -> None:
    place = PageRect(1, 0.1, 0.1, 0.3, 0.02)
    made = marked(paper(b""), Mark("text", place, "First\nSecond"))
    rows = (ink(made, place) < 128).any(axis=1).astype(int)
    assert (np.diff(rows) == 1).sum() <= 1
    assert text_of(made).split() == ["First", "Second"]

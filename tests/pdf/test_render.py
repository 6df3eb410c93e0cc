"""Pages as pictures, at a width, within bounds."""

import io

import pytest
from PIL import Image, ImageFilter

from deedbox.kernel.errors import BadRequest, NotFound
from deedbox.pdf import limits
from deedbox.pdf.render import draw_pages as render
from tests.pdf.papers import lines, paper, shown


def test_a_page_has_the_width_that_was_asked_for() -> None:
    image = Image.open(io.BytesIO(render.render(paper(lines("Hello")), 1, 600)))
    assert (image.format, image.width) == ("WEBP", 600)
    assert image.height == pytest.approx(600 * 842 / 595, abs=2)


def test_a_turned_page_is_shown_turned() -> None:
    image = Image.open(io.BytesIO(render.render(paper(lines("Hello"), Rotate=90), 1, 842)))
    assert image.size == pytest.approx((842, 595), abs=2)


@pytest.mark.parametrize("width", [0, -1, limits.PAGE_IMAGE_WIDTH_MIN - 1, limits.PAGE_IMAGE_WIDTH_MAX + 1])
def test_a_width_out_of_bounds_is_refused(width: int) -> None:
    with pytest.raises(BadRequest, match="width"):
        render.render(paper(), 1, width)


@pytest.mark.parametrize("number", [0, 2, -1])
def test_a_page_that_is_not_there_is_not_found(number: int) -> None:
    with pytest.raises(NotFound, match="it has 1"):
        render.render(paper(), number)


def test_a_file_that_is_no_pdf_is_refused() -> None:
    with pytest.raises(BadRequest, match="cannot be read"):
        render.render(b"hello", 1)


@pytest.mark.parametrize("size", [(3, 14_400), (14_400, 3), (14_400, 14_400), (200, 14_000)])
def test_the_widest_picture_of_any_page_is_within_bounds(size: tuple[int, int]) -> None:
    data = paper(b"", media=(0, 0, *size))
    image = Image.open(io.BytesIO(render.render(data, 1, limits.PAGE_IMAGE_WIDTH_MAX)))
    assert image.width * image.height <= limits.PAGE_IMAGE_PIXELS * 1.02


def test_a_page_of_text_loses_nothing_and_is_smaller_for_it() -> None:
    data = paper(lines(*(f"{number}. The tenant pays the rent on the first of the month." for number in range(40))))
    made, exact = render.render(data, 1, 820), shown(data, 1, 820 / 595)
    assert Image.open(io.BytesIO(made)).convert("RGB").tobytes() == exact.tobytes()
    lossy = io.BytesIO()
    exact.save(lossy, "WEBP", quality=limits.PAGE_IMAGE_QUALITY)
    assert len(made) < 0.7 * len(lossy.getvalue())


def test_a_photograph_is_written_as_one() -> None:
    blurred = [Image.effect_noise((600, 800), 90).filter(ImageFilter.GaussianBlur(size)) for size in (1, 2, 4)]
    photo = Image.merge("RGB", blurred)
    file, exact = io.BytesIO(), io.BytesIO()
    photo.save(file, "PDF")
    made = render.render(file.getvalue(), 1, 820)
    Image.open(io.BytesIO(made)).save(exact, "WEBP", lossless=True)
    assert len(made) < 0.3 * len(exact.getvalue())


def test_thumbnails_are_of_the_first_pages_and_tell_how_many_there_are() -> None:
    count = limits.CERTIFICATE_THUMBNAILS + 3
    small, pages = render.thumbnails(paper(*(lines(f"Page {n}") for n in range(count))))
    assert (len(small), pages) == (limits.CERTIFICATE_THUMBNAILS, count)
    image = Image.open(io.BytesIO(small[0][0]))
    assert (image.format, image.size) == ("JPEG", small[0][1:])

"""The picture of a signature: only its ink is left, in bounds."""

import io

import pytest
from PIL import Image, ImageDraw

from deedbox.kernel import limits
from deedbox.kernel.errors import BadRequest
from deedbox.pdf import limits as pdf_limits
from deedbox.pdf.marks import signature_images as images
from tests.pdf.papers import scribble


def made(data: bytes) -> Image.Image:
    image = Image.open(io.BytesIO(images.signature(data)))
    assert (image.format, image.mode) == ("PNG", "RGBA")
    return image


def alpha(image: Image.Image, x: float, y: float) -> int:
    pixel = image.getpixel((int(x * (image.width - 1)), int(y * (image.height - 1))))
    assert isinstance(pixel, tuple)
    return int(pixel[3])


def test_a_drawing_on_clear_ground_is_cut_to_its_ink() -> None:
    image = made(scribble((300, 100)))
    assert 170 < image.width < 200
    assert 30 < image.height < 50


@pytest.mark.parametrize(
    ("mode", "kind"), [("RGB", "PNG"), ("RGB", "JPEG"), ("L", "PNG"), ("L", "JPEG"), ("P", "PNG"), ("1", "PNG")]
)
def test_white_paper_becomes_transparent_and_ink_stays(mode: str, kind: str) -> None:
    image = made(scribble((300, 100), mode=mode, kind=kind))
    assert alpha(image, 0.02, 0.02) == 0
    assert image.getchannel("A").getextrema()[1] == 255


def test_grey_paper_of_a_photograph_becomes_transparent_too() -> None:
    photo = Image.new("L", (300, 100), 190)
    photo.paste(40, (100, 40, 200, 50))
    data = io.BytesIO()
    photo.save(data, "JPEG")
    image = made(data.getvalue())
    assert abs(image.width - 100) < 20
    assert alpha(image, 0.5, 0.5) > 200


def test_light_ink_on_dark_paper_is_left_as_it_is() -> None:
    night = Image.new("RGB", (100, 50), "black")
    night.paste("white", (40, 20, 60, 30))
    data = io.BytesIO()
    night.save(data, "PNG")
    assert made(data.getvalue()).size == (100, 50)


def test_the_orientation_of_a_photograph_is_applied() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    upright, turned = made(scribble(mode="RGB", kind="JPEG")), made(scribble(mode="RGB", kind="JPEG", exif=exif))
    assert (turned.width, turned.height) == pytest.approx((upright.height, upright.width), abs=3)


def test_greys_of_sixteen_bits_are_read() -> None:
    deep = Image.new("I;16", (100, 50), 65535)
    for x in range(30, 60):
        deep.putpixel((x, 25), 2000)
    data = io.BytesIO()
    deep.save(data, "PNG")
    assert made(data.getvalue()).width == 30


def test_a_large_picture_is_made_smaller() -> None:
    image = made(scribble((2500, 1500)))
    assert image.width <= pdf_limits.SIGNATURE_IMAGE_WIDTH
    assert image.height <= pdf_limits.SIGNATURE_IMAGE_HEIGHT


def test_nothing_but_pixels_is_left_of_the_file() -> None:
    exif = Image.Exif()
    exif[0x010E] = "taken at home"
    assert b"taken at home" not in images.signature(scribble(mode="RGB", kind="JPEG", exif=exif))


@pytest.mark.parametrize("mode", ["RGBA", "RGB"])
def test_an_empty_picture_is_refused(mode: str) -> None:
    data = io.BytesIO()
    Image.new(mode, (50, 50), (0, 0, 0, 0) if mode == "RGBA" else "white").save(data, "PNG")
    with pytest.raises(BadRequest, match="empty"):
        images.signature(data.getvalue())


@pytest.mark.parametrize(
    "data", [b"", b"hello", b"<svg/>", scribble(kind="GIF", mode="P"), scribble(kind="WEBP"), scribble(kind="TIFF")]
)
def test_another_kind_of_file_is_refused(data: bytes) -> None:
    with pytest.raises(BadRequest, match="not a PNG or JPEG"):
        images.signature(data)


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_a_file_that_was_cut_off_is_refused(share: float, kind: str) -> None:
    data = scribble((600, 300), mode="RGB", kind=kind)
    with pytest.raises(BadRequest):
        images.signature(data[: int(len(data) * share)])


def test_too_many_bytes_are_refused() -> None:
    with pytest.raises(BadRequest, match="at most 2 MB"):
        images.signature(scribble() + bytes(limits.SIGNATURE_IMAGE_BYTES))


def test_too_many_pixels_are_refused_before_they_are_decoded() -> None:
    with pytest.raises(BadRequest, match="pixels"):
        images.signature(scribble((4000, 1001)))


def test_small_ink_is_told_from_ink_that_fills_the_picture() -> None:
    def photo(*lines: tuple[int, int, int, int]) -> bytes:
        picture, data = Image.new("RGB", (1600, 800), "white"), io.BytesIO()
        for line in lines:
            ImageDraw.Draw(picture).line(line, fill="black", width=8)
        picture.save(data, "PNG")
        return data.getvalue()

    large, small = (100, 300, 1500, 500), (700, 390, 860, 410)
    speck = (10, 10, 12, 12)
    assert [images.shown(photo(*lines))[1] for lines in ((large,), (small,), (large, speck))] == [False, False, False]
    assert images.shown(photo((700, 390, 800, 410)))[1], "few pixels"
    assert images.shown(photo((600, 390, 900, 410), speck))[1], "a speck far away"

"""Other files as PDF: images always, HTML and Word documents where the programs for it are."""

import io
import os
import shutil
import socket
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pikepdf
import pytest
from PIL import Image

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.errors import BadRequest
from deedbox.kernel.sandbox import SandboxFailed
from deedbox.pdf import limits
from deedbox.pdf.intake import convert
from deedbox.pdf.intake import image_to_pdf as picture
from deedbox.pdf.intake import libreoffice as office
from deedbox.pdf.intake import take_in as intake
from deedbox.pdf.intake.convert import Source
from deedbox.pdf.intake.signed_input import IntakeTerms
from deedbox.pdf.pdf_sandbox import PdfSandbox
from tests.pdf.papers import drained, paper, scribble, shown, text_of

pytestmark = pytest.mark.anyio

needs_office = pytest.mark.skipif(office.program() is None, reason="LibreOffice is not installed")
needs_weasyprint = pytest.mark.skipif(find_spec("weasyprint") is None, reason="weasyprint is not installed")
SCHEMAS = "http://schemas.openxmlformats.org"
NAMES = (
    f'xmlns:w="{SCHEMAS}/wordprocessingml/2006/main" xmlns:r="{SCHEMAS}/officeDocument/2006/relationships" '
    f'xmlns:wp="{SCHEMAS}/drawingml/2006/wordprocessingDrawing" xmlns:a="{SCHEMAS}/drawingml/2006/main" '
    f'xmlns:pic="{SCHEMAS}/drawingml/2006/picture"'
)
LINKED = (
    '<w:r><w:drawing><wp:inline><wp:extent cx="990000" cy="990000"/><wp:docPr id="1" name="p"/><a:graphic>'
    f'<a:graphicData uri="{SCHEMAS}/drawingml/2006/picture"><pic:pic><pic:nvPicPr><pic:cNvPr id="1" name="p"/>'
    '<pic:cNvPicPr/></pic:nvPicPr><pic:blipFill><a:blip r:link="b"/></pic:blipFill><pic:spPr><a:xfrm>'
    '<a:off x="0" y="0"/><a:ext cx="990000" cy="990000"/></a:xfrm><a:prstGeom prst="rect"/></pic:spPr></pic:pic>'
    "</a:graphicData></a:graphic></wp:inline></w:drawing></w:r>"
)


def docx(text: str, link: str = "") -> bytes:
    """The least that is a Word document; with a link it has an image that lies elsewhere."""
    kinds = (
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.'
        'wordprocessingml.document.main+xml"/></Types>'
    )
    links = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="a" '
        'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" '
        'Target="word/document.xml"/></Relationships>'
    )
    drawn = LINKED if link else ""
    body = f"<w:document {NAMES}><w:body><w:p><w:r><w:t>{text}</w:t></w:r>{drawn}</w:p></w:body></w:document>"
    outside = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="b" '
        'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/image" '
        f'Target="{link}" TargetMode="External"/></Relationships>'
    )
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("[Content_Types].xml", kinds)
        archive.writestr("_rels/.rels", links)
        archive.writestr("word/document.xml", body)
        if link:
            archive.writestr("word/_rels/document.xml.rels", outside)
    return made.getvalue()


class Collected:
    def __init__(self) -> None:
        self.data = bytearray()

    async def write(self, piece: bytes) -> None:
        self.data += piece


def image(kind: str, mode: str = "RGB", size: tuple[int, int] = (300, 200), **options: object) -> bytes:
    made = io.BytesIO()
    colour = Image.new("RGB", size, (200, 30, 30))
    colour.paste((30, 30, 200), (0, 0, size[0] // 2, size[1]))
    colour.convert(mode).save(made, kind, **options)
    return made.getvalue()


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("a.pdf", paper(), "pdf"),
        ("a.bin", paper(), "pdf"),
        ("photo.pdf", scribble(), "pdf"),
        ("a.png", scribble(), "image"),
        ("wrong.html", scribble(), "image"),
        ("a.jpg", scribble(mode="RGB", kind="JPEG"), "image"),
        ("a.webp", scribble(kind="WEBP"), "image"),
        ("a.tiff", scribble(kind="TIFF"), "image"),
        ("a.docx", docx("a"), "docx"),
        ("a.html", b"<p>Hi", "html"),
        ("a", b"\n <!DOCTYPE HTML><p>Hi", "html"),
    ],
)
async def test_a_file_is_what_its_bytes_say(name: str, data: bytes, kind: Source) -> None:
    assert convert.source(name, data[: convert.HEAD_BYTES]) == kind


@pytest.mark.parametrize(
    ("name", "data"), [("a.zip", docx("a")), ("a.gif", scribble(kind="GIF", mode="P")), ("a.txt", b"hi"), ("a", b"")]
)
async def test_what_cannot_be_signed_is_refused_with_what_can(name: str, data: bytes) -> None:
    with pytest.raises(BadRequest, match="a PDF, a Word document"):
        convert.source(name, data)


@pytest.mark.parametrize(
    ("kind", "mode"),
    [
        ("PNG", "RGB"), ("PNG", "RGBA"), ("PNG", "L"), ("PNG", "LA"), ("PNG", "P"), ("PNG", "1"),
        ("JPEG", "RGB"), ("JPEG", "L"), ("JPEG", "CMYK"), ("WEBP", "RGB"), ("WEBP", "RGBA"),
        ("TIFF", "RGB"), ("TIFF", "1"), ("TIFF", "CMYK"), ("TIFF", "L"),
    ],
)  # fmt: skip
async def test_an_image_becomes_a_page_that_can_be_taken_in(kind: str, mode: str) -> None:
    made, pages = drained(picture.as_pdf(image(kind, mode)))
    prepared, known = drained(intake.take_in(made))
    assert (pages, len(known.pages)) == (1, 1)
    assert known.pages[0].width / known.pages[0].height == pytest.approx(1.5, abs=0.01)
    page = shown(prepared, 1, 0.5).convert("L")
    left, right = page.getpixel((page.width // 4, 50)), page.getpixel((page.width * 3 // 4, 50))
    assert left != right or mode == "1"


async def test_greys_of_sixteen_bits_keep_their_shade() -> None:
    data = io.BytesIO()
    Image.new("I;16", (60, 40), 32768).save(data, "PNG")
    made, _ = drained(picture.as_pdf(data.getvalue()))
    assert shown(made).getpixel((20, 20)) == pytest.approx((127, 127, 127), abs=2)


async def test_a_jpeg_goes_in_as_it_is() -> None:
    data = image("JPEG")
    made, _ = drained(picture.as_pdf(data))
    with pikepdf.open(io.BytesIO(made)) as pdf:
        assert pdf.pages[0].obj.Resources.XObject.Image.read_raw_bytes() == data


async def test_a_photograph_is_turned_upright() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    made, _ = drained(picture.as_pdf(image("JPEG", exif=exif)))
    page = shown(made)
    assert page.height > page.width


async def test_a_scan_has_the_size_of_its_paper() -> None:
    made, _ = drained(picture.as_pdf(image("PNG", size=(827, 1169), dpi=(100, 100))))
    assert shown(made).size == pytest.approx((595, 842), abs=2)


async def test_transparent_parts_are_white() -> None:
    made, _ = drained(picture.as_pdf(scribble()))
    assert shown(made).getpixel((3, 3)) == (255, 255, 255)


async def test_every_page_of_a_tiff_becomes_a_page() -> None:
    data = io.BytesIO()
    frames = [Image.new("L", (100, 100 + 50 * number), 128) for number in range(3)]
    frames[0].save(data, "TIFF", save_all=True, append_images=frames[1:])
    made, pages = drained(picture.as_pdf(data.getvalue()))
    assert pages == 3
    assert len({shown(made, number).size for number in (1, 2, 3)}) == 3


@pytest.mark.parametrize("data", [b"", b"hello", image("PNG")[:60], image("TIFF")[:40], image("JPEG")[:200]])
async def test_an_image_that_cannot_be_read_is_refused(data: bytes) -> None:
    with pytest.raises(BadRequest):
        drained(picture.as_pdf(data))


@pytest.mark.parametrize(("bound", "value"), [("CONVERT_IMAGE_PIXELS", 100), ("CONVERT_IMAGE_FRAMES", 0)])
async def test_more_than_allowed_is_refused(bound: str, value: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits if hasattr(limits, bound) else shared_limits, bound, value)
    with pytest.raises(BadRequest, match=r"pixels|pages"):
        drained(picture.as_pdf(image("PNG")))


async def from_html(page: str | bytes) -> bytes:
    """The PDF as the server gets it: from a sandbox, which WeasyPrint leaves as the tests found it."""
    made, workshop = Collected(), PdfSandbox(1)
    try:
        await workshop.convert(page if isinstance(page, bytes) else page.encode(), "html", made.write)
    finally:
        await workshop.close()
    return bytes(made.data)


@needs_weasyprint
async def test_an_html_page_becomes_a_pdf_and_reaches_nothing() -> None:
    made = await from_html('<h1>Contract</h1><p>{{date:Buyer}}<img src="file:///etc/passwd" alt="gone">')
    assert "Contract" in text_of(made)
    assert len(drained(intake.take_in(made))[1].tags) == 1


@needs_weasyprint
@pytest.mark.parametrize(
    "page",
    [
        "<style>@font-face { font-family: x; src: url(data:font/woff2;base64,AA) }</style><p style='font: 1em x'>Lease",
        '<html lang="de"><p style="hyphens: auto; width: 2cm">Donaudampfschifffahrtsgesellschaft Lease',
        '<svg width="50" height="50"><text y="20">svg</text></svg><p style="font-family: serif">王 かな عمر Lease',
        "<p>caf\xe9 Lease".encode("cp1252"),
    ],
    ids=["its own font", "hyphens", "pictures and scripts", "an old encoding"],
)
async def test_what_a_page_needs_is_found_in_the_sandbox(page: str | bytes) -> None:
    assert "Lease" in text_of(await from_html(page))


@pytest.mark.skipif(find_spec("weasyprint") is not None, reason="weasyprint is installed")
async def test_without_weasyprint_the_refusal_says_what_to_install() -> None:
    with pytest.raises(BadRequest, match="pip install weasyprint"):
        await from_html("<p>Hi")


@needs_office
async def test_a_word_document_becomes_a_pdf_and_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    made = Collected()
    await office.as_pdf(docx("An agreement {{signature:Buyer}}"), made.write)
    assert "An agreement" in text_of(bytes(made.data))
    assert list(tmp_path.iterdir()) == []


@needs_office
async def test_a_word_document_cannot_make_the_server_call_somewhere() -> None:
    with socket.create_server(("127.0.0.1", 0)) as trap:
        trap.setblocking(False)
        made = Collected()
        await office.as_pdf(docx("An agreement", link=f"http://127.0.0.1:{trap.getsockname()[1]}/a.png"), made.write)
        with pytest.raises(BlockingIOError):
            trap.accept()
    assert "An agreement" in text_of(bytes(made.data))


@needs_office
async def test_a_word_document_that_takes_too_long_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(limits, "CONVERT_SECONDS", 0)
    with pytest.raises(SandboxFailed, match="too long"):
        await office.as_pdf(docx("a"), Collected().write)
    assert list(tmp_path.iterdir()) == []


async def test_without_libreoffice_the_refusal_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(office, "_PLACES", ())
    with pytest.raises(BadRequest, match="apt-get install libreoffice-writer"):
        await office.as_pdf(docx("a"), Collected().write)


def program_beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, real: str) -> None:
    """Another program in the place of LibreOffice."""
    place = tmp_path / "office" / "program"
    place.mkdir(parents=True)
    for name in ("soffice", "soffice.bin"):
        shutil.copy(real, place / name)
    monkeypatch.setenv("PATH", str(place))


async def test_a_program_that_makes_nothing_of_a_file_is_no_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program_beside(tmp_path, monkeypatch, str(shutil.which("false")))
    with pytest.raises(BadRequest, match="cannot be read"):
        await office.as_pdf(docx("a"), Collected().write)


@pytest.mark.parametrize("way", ["symlink_to", "hardlink_to"])
async def test_a_link_in_the_place_of_the_pdf_is_not_followed(tmp_path: Path, way: str) -> None:
    """The program could otherwise have the server read for it what it may not read itself."""
    (tmp_path / "master.key").write_text("secret")
    getattr(tmp_path / "document.pdf", way)(tmp_path / "master.key")
    read = Collected()
    with pytest.raises(BadRequest, match="cannot be read"):
        await office._give(tmp_path / "document.pdf", read.write)
    assert read.data == b""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux confines")
def test_a_script_is_not_libreoffice_for_it_would_open_the_folder_that_it_lies_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "home" / "bin" / "soffice"
    script.parent.mkdir(parents=True)
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(script.parent))
    monkeypatch.setattr(office, "_PLACES", ())
    assert office.program() is None
    real = tmp_path / "office" / "program" / "soffice.bin"
    real.parent.mkdir(parents=True)
    real.touch()
    script.with_name("soffice.bin").symlink_to(real)
    assert office.program() == real


ELSEWHERE = """
import asyncio, io, pikepdf
from deedbox.pdf.pdf_sandbox import PdfSandbox
from tests.pdf.test_convert import Collected

async def main():
    made, workshop = Collected(), PdfSandbox(1)
    await workshop.convert(b"<p>An agreement", "html", made.write)
    await workshop.close()
    with pikepdf.open(io.BytesIO(made.data)) as pdf:
        print(pdf.docinfo["/Producer"])

asyncio.run(main())
"""


@needs_weasyprint
def test_weasyprint_works_from_wherever_it_is_installed(tmp_path: Path) -> None:
    found = find_spec("weasyprint")
    assert found is not None
    assert found.origin is not None
    shutil.copytree(Path(found.origin).parent, tmp_path / "weasyprint")
    opening = tmp_path / "weasyprint" / "__init__.py"
    opening.write_text(f"{opening.read_text()}\nfrom . import pdf\npdf.VERSION = 'from elsewhere'\n")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join((str(tmp_path), *sys.path))}
    command = [sys.executable, "-c", ELSEWHERE]
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False, timeout=120)
    assert done.stdout == "WeasyPrint from elsewhere\n", done.stderr


OTHER_SCRIPTS = [
    "合同条款",
    "契約書かな",
    "계약서",
    "عقد بيع",
    "חוזה",
    "अनुबंध",
    "চুক্তি",
    "ஒப்பந்தம்",
    "ఒప్పందం",
    "สัญญา",
    "កិច្ចសន្យា",
]


@needs_office
@pytest.mark.parametrize("text", OTHER_SCRIPTS)
async def test_a_word_document_in_another_script_has_its_letters(text: str) -> None:
    made = Collected()
    await office.as_pdf(docx(text), made.write)
    prepared, _ = drained(intake.take_in(bytes(made.data), IntakeTerms(converted=True)))
    assert "".join(text_of(prepared).split())


@needs_office
async def test_a_word_document_without_a_font_for_its_script_is_refused() -> None:
    made = Collected()
    await office.as_pdf(docx("An agreement 𐎠𐎼𐎡𐎹"), made.write)
    with pytest.raises(BadRequest, match="no font here for the text in Old"):
        drained(intake.take_in(bytes(made.data), IntakeTerms(converted=True)))


@needs_weasyprint
async def test_a_page_in_other_scripts_has_its_letters() -> None:
    made = await from_html("".join(f"<p>{text}" for text in OTHER_SCRIPTS))
    assert drained(intake.take_in(made, IntakeTerms(converted=True)))[1].pages


@needs_weasyprint
async def test_a_page_without_a_font_for_its_script_is_refused() -> None:
    made = await from_html("<p>An agreement 𐎠𐎼𐎡𐎹")
    with pytest.raises(BadRequest, match="no font here for the text in Old"):
        drained(intake.take_in(made, IntakeTerms(converted=True)))

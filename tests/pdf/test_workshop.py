"""Everything that is done with PDF files, in its real sandboxes."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator

import msgspec
import pikepdf
import pytest
from pikepdf import Array, Dictionary, Name

from deedbox.kernel import limits
from deedbox.kernel.errors import BadRequest, NotFound, Unavailable
from deedbox.kernel.sandbox import SandboxFailed, Stream
from deedbox.pdf.intake import earlier_signatures, signed_input
from deedbox.pdf.intake import take_in as intake
from deedbox.pdf.intake.signed_input import IntakeTerms
from deedbox.pdf.marks import draw as mark
from deedbox.pdf.marks.marks import Mark, Marks, PageRect
from deedbox.pdf.pdf_sandbox import PdfSandbox, kinds
from tests.pdf.annotated import CASES
from tests.pdf.facts import completion
from tests.pdf.papers import add_page, drained, font, lines, paper, saved, scribble, shown, text_of
from tests.pdf.pki import Authority
from tests.pdf.test_convert import Collected, image
from tests.pdf.test_earlier_signatures import visibly_signed
from tests.pdf.test_intake import locked
from tests.pdf.test_mark import NAMES

pytestmark = pytest.mark.anyio


@pytest.fixture
async def workshop() -> AsyncIterator[PdfSandbox]:
    made = PdfSandbox(1)
    yield made
    await made.close()


async def streamed(data: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(data), 1000):
        yield data[start : start + 1000]


async def test_a_file_is_taken_in_piece_by_piece_as_it_is_here(workshop: PdfSandbox) -> None:
    data, made = paper(lines("One {{signature:Buyer}}")), Collected()
    known = await workshop.take_in(Stream(len(data), streamed(data)), made.write)
    assert (bytes(made.data), known) == drained(intake.take_in(data))


@pytest.mark.parametrize("version", [2, 3, 4, 6])
async def test_a_locked_file_is_opened_where_there_are_no_random_numbers(version: int, workshop: PdfSandbox) -> None:
    data, made, again = locked("schlüssel", version), Collected(), Collected()
    known = await workshop.take_in(data, made.write, IntakeTerms(password="schlüssel"))
    assert "A secret clause" in text_of(bytes(made.data))
    assert known.removed == (intake.PROTECTION,)
    await workshop.take_in(data, again.write, IntakeTerms(password="schlüssel"))
    assert again.data == made.data
    for terms, why in ((IntakeTerms(password="guess"), signed_input.NOT_OPENED), (IntakeTerms(), signed_input.LOCKED)):
        with pytest.raises(BadRequest) as refused:
            await workshop.take_in(data, Collected().write, terms)
        assert refused.value.message == why


async def test_annotations_of_every_kind_are_drawn_as_they_are_here(workshop: PdfSandbox) -> None:
    for name, data in CASES.items():
        made = Collected()
        known = await workshop.take_in(data, made.write)
        assert (bytes(made.data), known) == drained(intake.take_in(data)), name


async def test_the_signatures_of_a_file_are_read_in_a_sandbox(workshop: PdfSandbox) -> None:
    now = "2026-01-01T00:00:00Z"
    data = await asyncio.to_thread(lambda: visibly_signed(Authority()))
    assert await workshop.earlier_signatures(data, now) == earlier_signatures.signatures(data, now)
    known = await workshop.take_in(data, Collected().write, IntakeTerms(signed_input="flatten"))
    assert known.signed


async def test_a_file_whose_form_must_be_drawn_is_taken_in(workshop: PdfSandbox) -> None:
    with pikepdf.new() as pdf:
        page = add_page(pdf, b"")
        field = Dictionary(
            Type=Name.Annot, Subtype=Name.Widget, FT=Name.Tx, T="a", V="Bergen", Rect=[9, 9, 99, 30], F=4
        )
        field["/DA"] = pikepdf.String("/F 12 Tf 0 g")
        page["/Annots"] = Array([pdf.make_indirect(field)])
        pdf.Root["/AcroForm"] = Dictionary(
            Fields=page.Annots, NeedAppearances=True, DR=Dictionary(Font=Dictionary(F=font()))
        )
        data = saved(pdf)
    made = Collected()
    await workshop.take_in(data, made.write)
    assert "Bergen" in text_of(bytes(made.data))


async def test_a_refusal_crosses_the_pipe_with_its_words_and_the_next_file_is_served(workshop: PdfSandbox) -> None:
    made = Collected()
    for data in (b"hello", scribble(), paper()[:200], b"%PDF-1.7\n" + bytes(5000)):
        with pytest.raises(BadRequest):
            await workshop.take_in(data, made.write)
    assert made.data == b""
    assert len((await workshop.take_in(paper(), made.write)).pages) == 1


async def test_every_script_is_marked_though_no_font_file_can_be_opened(workshop: PdfSandbox) -> None:
    marks = tuple(
        Mark("signature", PageRect(1, 0.1, 0.05 + 0.09 * number, 0.4, 0.07), name, caption=(name, "2026-11-15"))
        for number, name in enumerate(NAMES.values())
    )
    drawn = Mark("initials", PageRect(1, 0.6, 0.1, 0.2, 0.05), image="a")
    here, there = Collected(), Collected()
    assert await workshop.mark(paper(b""), Marks((*marks, drawn), images={"a": scribble()}), there.write) == 1
    wanted = msgspec.to_builtins(Marks((*marks, drawn), images={"a": scribble()}), builtin_types=(bytes,))
    await here.write(drained(mark.mark_pages(paper(b""), wanted))[0])
    assert shown(bytes(there.data)).tobytes() == shown(bytes(here.data)).tobytes()


async def test_the_certificate_is_the_same_in_every_process(workshop: PdfSandbox) -> None:
    one, other = Collected(), Collected()
    told = completion(*NAMES.values())
    await workshop.certificate(paper(lines("An agreement")), told, one.write)
    second = PdfSandbox(1)
    try:
        await second.certificate(paper(lines("An agreement")), told, other.write)
    finally:
        await second.close()
    assert bytes(one.data).startswith(b"%PDF-")
    assert one.data == other.data


async def test_pages_signatures_and_blocks_are_made(workshop: PdfSandbox) -> None:
    made = Collected()
    assert (await workshop.render(paper(), 1, 300))[8:12] == b"WEBP"
    with pytest.raises(NotFound):
        await workshop.render(paper(), 2)
    assert (await workshop.signature_image(scribble(mode="RGB", kind="JPEG"))).startswith(b"\x89PNG")
    with pytest.raises(BadRequest, match="not a PNG or JPEG"):
        await workshop.signature_image(b"hello")
    found = await workshop.block(paper(), 2, made.write)
    assert (len(found.places), found.added, len(made.data)) == (2, 0, 0)
    assert (await workshop.block(paper(lines(*"abc" * 20)), 2, made.write)).added == 1
    assert made.data.startswith(b"%PDF-")


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "TIFF"])
async def test_images_are_converted(workshop: PdfSandbox, kind: str) -> None:
    made = Collected()
    await workshop.convert(image(kind), "image", made.write)
    assert made.data.startswith(b"%PDF-")


async def test_a_pdf_is_not_converted_and_a_strange_function_not_run(workshop: PdfSandbox) -> None:
    with pytest.raises(BadRequest, match="already"):
        await workshop.convert(paper(), "pdf", Collected().write)
    with pytest.raises(ValueError, match="no sandbox"):
        await workshop.run("os:system", "true")


async def test_other_work_on_pdf_files_is_run_by_its_name(workshop: PdfSandbox) -> None:
    report = await workshop.run("deedbox.pdf.verify.verify_pdf:verify", paper(), [], [], "2026-11-15T09:00:00Z")
    assert report["verdict"] == "unsigned"


async def test_a_result_of_another_shape_is_not_believed(workshop: PdfSandbox) -> None:
    with pytest.raises(SandboxFailed):
        await workshop._made(Marks, "render.draw_pages:render", paper(), 1, write=Collected().write)


async def test_the_server_loads_no_library_for_pdf_files() -> None:
    code = (
        "import sys, deedbox.pdf.pdf_sandbox; "
        "print([name for name in ('pikepdf', 'typst', 'pypdfium2', 'PIL', 'pyhanko', 'numpy') if name in sys.modules])"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


async def test_the_clock_ends_no_work_before_its_computing_time_does() -> None:
    """On a machine that does several things at once, a file in order takes several times as long."""
    assert [kind.name for kind in kinds(1) if kind.seconds < 4 * kind.cpu_seconds] == []


async def test_a_machine_too_busy_for_a_file_does_not_refuse_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SANDBOX_PATIENCE", 0)
    workshop = PdfSandbox(1)
    try:
        with pytest.raises(Unavailable, match="too busy to process this file in time"):
            await workshop.read(paper())
    finally:
        await workshop.close()

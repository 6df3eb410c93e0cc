"""The kinds of file: by extension in any case, and only with content to match."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator

import pytest

from deedbox.kernel import fairness, limits
from deedbox.kernel.errors import BadRequest, Unavailable
from deedbox.kernel.sandbox import SandboxFailed, Sink, Stream
from deedbox.search import limits as search_limits
from deedbox.search.extract import Extractor, extract, pack_pieces
from deedbox.search.extract.kinds import KINDS, PICTURES, kind_of
from deedbox.search.library.upload import Extraction
from tests.faults.hostile import STALLER, handmade
from tests.search.extract.pdfs import lines, paged
from tests.search.extract.test_office import FILES
from tests.search.extract.words import archive, docx, paragraph
from tests.search.pictures import file_of, picture

OFFICE = {
    "pptx": "python-pptx.pptx",
    "xlsx": "openpyxl.xlsx",
    "ods": "libreoffice.ods",
    "odt": "pandoc.odt",
    "epub": "pandoc.epub",
}
REAL: dict[str, bytes] = {
    "pdf": paged(lines("hello")),
    "docx": docx(paragraph("hello")),
    "txt": b"hello",
    "html": b"<p>hello",
    "md": b"hello",
    "csv": b"hello",
    "rtf": b"{\\rtf1 hello}",
    "eml": b"Subject: hello\n\nhello",
    "tsv": b"hello",
    "json": b'"hello"',
    "xml": b"<a>hello</a>",
    "zip": archive({"a.txt": "hello"}),
    "code": b"hello",
    **{kind: (FILES / name).read_bytes() for kind, name in OFFICE.items()},
    **{kind: file_of(picture("hello").resize((62, 88)), kind.upper()) for kind in PICTURES},
}
WORDS = {"pptx": "lease", "xlsx": "Tenants", "ods": "tenants", "odt": "lease", "epub": "lease"}
"""What the file of the kind says, if it does not say hello."""


@pytest.mark.parametrize(
    ("filename", "kind", "media_type"),
    [
        ("a.pdf", "pdf", "application/pdf"),
        ("A.PDF", "pdf", "application/pdf"),
        ("a.b.DocX", "docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
        ("a.txt", "txt", "text/plain"),
        ("a.html", "html", "text/html"),
        ("a.HTM", "html", "text/html"),
        ("a.md", "md", "text/markdown"),
        ("a.Markdown", "md", "text/markdown"),
        ("Größe €.csv", "csv", "text/csv"),
        ("a.TSV", "tsv", "text/tab-separated-values"),
        ("a.json", "json", "application/json"),
        ("a.xml", "xml", "application/xml"),
        ("a.py", "code", "text/x-source-code"),
        ("Main.Java", "code", "text/x-source-code"),
    ],
)
def test_the_extension_names_the_kind_in_any_case(filename: str, kind: str, media_type: str) -> None:
    assert (kind_of(filename).name, kind_of(filename).media_type) == (kind, media_type)


@pytest.mark.parametrize(
    "filename", ["a.doc", "a.exe", "pdf", "a", "", ".", "a.pdf.7z", "a.pdf/", "a.pdf\x00", "a.md5"]
)
def test_any_other_name_is_refused_to_the_letter(filename: str) -> None:
    with pytest.raises(BadRequest) as refused:
        kind_of(filename)
    assert refused.value.message == "Unsupported file type. Supported: pdf, docx, txt, html, md, csv"
    assert refused.value.status == 400


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_file_is_refused_by_name(kind: str) -> None:
    with pytest.raises(BadRequest, match=r"^The file is empty$"):
        extract(b"", kind)


# Those that begin alike are told apart by their parts.
OTHERS = [
    (kind, content)
    for kind in KINDS
    for content in ("pdf", "docx", "rtf")
    if KINDS[kind].content != KINDS[content].content
]


@pytest.mark.parametrize(("kind", "content"), OTHERS)
def test_binary_kinds_are_not_taken_for_one_another(kind: str, content: str) -> None:
    named = "as source code" if kind == "code" else f".{kind}"
    with pytest.raises(BadRequest, match=f"^The file is named {named} but its content is an? (PDF|ZIP arch|RTF doc)"):
        extract(REAL[content], kind)


@pytest.mark.parametrize("kind", ["pdf", "docx"])
@pytest.mark.parametrize(
    ("data", "content"),
    [
        (b"\x89PNG\r\n\x1a\n" + bytes(50), "a PNG image"),
        (b"\xff\xd8\xff\xe0" + bytes(50), "a JPEG image"),
        (REAL["rtf"], "an RTF document"),
        (b"just text", "not a (PDF|ZIP archive)"),
    ],
)
def test_a_mislabelled_file_is_refused_by_what_it_is(kind: str, data: bytes, content: str) -> None:
    with pytest.raises(BadRequest, match=f"^The file is named .{kind} but its content is {content}$"):
        extract(data, kind)


def test_each_kind_has_a_name_an_extension_and_a_media_type_of_its_own() -> None:
    extensions = [extension for kind in KINDS.values() for extension in kind.extensions]
    assert len(extensions) == len(set(extensions))
    assert len({kind.media_type for kind in KINDS.values()}) == len(KINDS)


def test_a_text_that_speaks_of_signatures_is_a_text() -> None:
    for text in (b"MZ is how a program begins", b"A file that begins with %PDF-1.7 is a PDF", b"PK"):
        assert extract(text, "txt").text.encode() == text


def test_junk_before_a_pdf_does_not_hide_it() -> None:
    assert "hello" in extract(b"junk\r\n" + REAL["pdf"], "pdf").text


def test_an_empty_archive_is_no_word_document() -> None:
    with pytest.raises(BadRequest, match="an empty ZIP archive"):
        extract(archive({}), "docx")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.anyio
async def test_each_kind_is_read_in_the_sandbox(kind: str, extractor: Extractor) -> None:
    found = await extractor.extract(REAL[kind], kind)
    assert isinstance(found, Extraction)
    if kind in PICTURES:  # its text is read when it is indexed
        assert found == Extraction("", [0], [])
        return
    assert WORDS.get(kind, "hello") in found.text


@pytest.mark.anyio
async def test_a_file_may_come_in_pieces(extractor: Extractor) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(REAL["pdf"]), 100):
            yield REAL["pdf"][start : start + 100]

    found = await extractor.extract(Stream(len(REAL["pdf"]), pieces()), "pdf")
    assert found.text == "hello\n"


@pytest.mark.parametrize(
    ("pieces", "answer"),
    [
        ([*pack_pieces(Extraction("abc", None, []))], {"text_length": -1, "pages": None}),
        ([*pack_pieces(Extraction("abc", None, []))], {"text_length": limits.EXTRACTED_CHARS + 1, "pages": None}),
        ([*pack_pieces(Extraction("abc", None, []))], {"text_length": 3}),
        ([*pack_pieces(Extraction("abc", None, []))], None),
        ([*pack_pieces(Extraction("abc", [0, 9], []))], {"text_length": 3, "pages": 2}),
        ([*pack_pieces(Extraction("a\x00c", None, []))], {"text_length": 3, "pages": None}),
        ([b"no text"], {"text_length": 3, "pages": None}),
    ],
)
@pytest.mark.anyio
async def test_an_answer_that_no_honest_sandbox_gives_is_refused(
    pieces: list[bytes], answer: object, extractor: Extractor, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def taken_over(*_: object, into: Sink) -> object:
        for piece in pieces:
            await into.write(piece)
        return answer

    monkeypatch.setattr(extractor._sandbox, "call", taken_over)
    with pytest.raises(SandboxFailed):
        await extractor.extract(b"x", "txt")


@pytest.mark.anyio
async def test_a_machine_too_busy_for_a_file_says_to_try_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time on the clock is the machine's fault, and the time of computing the file's."""
    endless = next(file.data for file in handmade() if file.deed == STALLER)
    monkeypatch.setattr(search_limits, "EXTRACT_SECONDS", 0.2)
    busy = Extractor(processes=1)
    try:
        with pytest.raises(Unavailable, match="too busy to read this file") as refused:
            await busy.extract(endless, "pdf")
    finally:
        await busy.close()
    assert refused.value.status == 503


@pytest.mark.anyio
async def test_a_file_that_computes_without_end_is_refused_for_good(monkeypatch: pytest.MonkeyPatch) -> None:
    endless = next(file.data for file in handmade() if file.deed == STALLER)
    monkeypatch.setattr(search_limits, "EXTRACT_CPU_SECONDS", 1)
    monkeypatch.setattr(search_limits, "EXTRACT_SECONDS", 120)
    patient = Extractor(processes=1)
    try:
        with pytest.raises(SandboxFailed) as refused:
            await patient.extract(endless, "pdf")
    finally:
        await patient.close()
    assert (refused.value.status, refused.value.reason) == (400, "cpu")


def test_the_server_process_loads_no_parser() -> None:
    parsers = {"lxml", "pypdfium2", "selectolax", "charset_normalizer", "python_calamine", "striprtf"}
    code = f"import sys, deedbox.search.extract; print(*{parsers} & {{*sys.modules}})"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert loaded.strip() == ""


@pytest.mark.anyio
async def test_one_caller_does_not_hold_every_process_that_reads_files() -> None:
    shared, stuck = Extractor(processes=2), asyncio.Event()

    async def never() -> AsyncIterator[bytes]:
        await stuck.wait()
        yield b"a text"

    def read(caller: str, data: bytes | Stream) -> "asyncio.Task[Extraction]":
        token = fairness.holder.set(caller)
        try:
            return asyncio.create_task(shared.extract(data, "txt"))
        finally:
            fairness.holder.reset(token)

    try:
        greedy = [read("greedy", Stream(6, never())) for _ in range(4)]
        await asyncio.sleep(0)
        async with asyncio.timeout(60):
            assert (await read("other", b"the other's text")).text == "the other's text"
        assert not any(task.done() for task in greedy)
        stuck.set()
        assert {(await task).text for task in greedy} == {"a text"}
    finally:
        await shared.close()

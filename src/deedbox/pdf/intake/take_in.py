"""Runs in a sandbox: makes a PDF from outside one that can be shown, marked and sealed, or says why it is refused."""

import codecs
import io
from collections.abc import Generator
from typing import Any, NamedTuple

import msgspec
import pikepdf
import pypdfium2 as pdfium
from pikepdf import Array, Dictionary, Name
from pypdfium2 import raw

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.errors import BadRequest
from deedbox.pdf import limits
from deedbox.pdf.intake import annotations, clean, damage, form_fields, missing_glyphs, tags, untag
from deedbox.pdf.intake.damage import DAMAGED
from deedbox.pdf.intake.signed_input import LOCKED, NOT_OPENED, IntakeTerms
from deedbox.pdf.marks.marks import FormField, PageSize, PreparedFile
from deedbox.pdf.render import boxes
from deedbox.pdf.seal import metadata

_OTHER_FILES = {
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"RIFF": "a WebP image or another RIFF file",
    b"II*\x00": "a TIFF image",
    b"MM\x00*": "a TIFF image",
    b"PK\x03\x04": "a ZIP file, as Word and other office programs write",
    b"\xd0\xcf\x11\xe0": "a file of an older office program",
    b"{\\rtf": "an RTF text",
    b"<!DOCTYPE": "an HTML page",
    b"<html": "an HTML page",
    b"%!PS": "a PostScript file",
}
_HEADER_WITHIN = 1024

NOT_A_PDF = "This file is not a PDF"
ENCRYPTED = "This PDF is encrypted in a way that cannot be opened here. Remove its protection and upload it again."
SIGNED = (
    "This PDF is already signed, and a change would break that. Upload it as it was before it was signed, or give"
    ' `"signed_input": "flatten"`: then its signatures are checked and named, and only how they look stays.'
)
NO_PAGES = "This PDF has no pages"
TOO_MANY_PAGES = f"This PDF has more than {shared_limits.DOCUMENT_PAGES:,} pages. Split it into parts."
_MOST_MB = shared_limits.DOCUMENT_FILE_BYTES // shared_limits.MB
TOO_LARGE = f"This PDF is larger than {_MOST_MB} MB. Split it or reduce its images."
XFA = "This PDF is a dynamic XFA form, which only few programs can show. Print it into a new PDF and upload that."
PORTFOLIO = "This PDF is a portfolio of attached files. Upload the files themselves."
PROTECTION = "its encryption, and with it what it forbade, such as printing or copying"


_BROKEN = (pikepdf.PdfError, pdfium.PdfiumError, RuntimeError, ValueError, TypeError, KeyError, AttributeError)
"""What the libraries raise on a damaged file: where a number should be there may be a name, or nothing."""


_USUAL = IntakeTerms()


class _Rewritten(NamedTuple):
    data: bytes
    removed: tuple[str, ...]
    signed: bool
    texts: tuple[tuple[int, str], ...]
    """Page, from 0, and what must be found there."""
    form: tuple[FormField, ...] = ()


def prepare() -> None:
    """Goes through the whole work once, so that a sandbox has loaded what it will need while it still may."""
    for name in ("utf-16-le", "utf-16-be", "utf-8-sig", "latin-1", "cp1252", "ascii", "pdfdoc"):
        codecs.lookup(name)
    with pikepdf.new() as pdf:
        font = Dictionary(Type=Name.Font, Subtype=Name.Type1, BaseFont=Name.Helvetica)
        widget = Dictionary(
            Type=Name.Annot, Subtype=Name.Widget, FT=Name.Tx, T="name", V="value", Rect=[0, 0, 50, 20], DA="/F 9 Tf 0 g"
        )
        pdf.add_blank_page(page_size=(200, 200))
        page = pdf.pages[0].obj
        page["/Resources"] = Dictionary(Font=Dictionary(F=font))
        page["/Contents"] = pdf.make_stream(
            b"BT /F 9 Tf 9 99 Td ({{text:Rehearsal;w=20}}) Tj 0 20 Td ({{signature:Rehearsal}}) Tj"
            b" 0 20 Td ({{radio:Rehearsal:R;options=a|b}}) Tj ET"
        )
        page["/Annots"] = Array([pdf.make_indirect(widget)])
        pdf.Root["/AcroForm"] = Dictionary(Fields=page.Annots, NeedAppearances=True)
        pdf.Root["/Metadata"] = pdf.make_stream(b"<a xmlns='urn:rehearsal'>text</a>")
        data = written(pdf)
    for _ in (*take_in(data), *take_in(data, IntakeTerms(form=True))):
        pass
    try:
        _second_try(data[: len(data) // 2], _USUAL)
    except BadRequest:
        return


def take_in(data: bytes, terms: IntakeTerms | None = None) -> Generator[bytes, None, PreparedFile]:
    """Yields the prepared PDF in pieces; BadRequest says why a file cannot be taken."""
    _check_outside(data)
    wanted = msgspec.convert(terms, IntakeTerms) if terms is not None else _USUAL
    repaired = False
    try:
        made = _rewritten(data, wanted)
        pages, found = _look_again(made, wanted)
    except _BROKEN:
        repaired = True
        made, pages, found = _second_try(data, wanted)
    paper = untag.remove_tags(made.data, found, written) if found else untag.Untagged(made.data, ())
    if len(paper.data) > shared_limits.PREPARED_FILE_BYTES:
        raise BadRequest(TOO_LARGE)
    yield from pieces(paper.data)
    return PreparedFile(pages, paper.tags, made.form, made.removed, repaired, made.signed)


def pieces(data: bytes) -> Generator[bytes, None, None]:
    """The bytes as they leave a sandbox."""
    for start in range(0, len(data), shared_limits.BLOB_CHUNK_BYTES):
        yield data[start : start + shared_limits.BLOB_CHUNK_BYTES]


def written(pdf: pikepdf.Pdf) -> bytes:
    """The document in bytes that depend on nothing but the document."""
    made = io.BytesIO()
    pdf.save(
        made,
        object_stream_mode=pikepdf.ObjectStreamMode.generate,
        stream_decode_level=pikepdf.StreamDecodeLevel.none,
        deterministic_id=True,
        fix_metadata_version=False,
    )
    return made.getvalue()


def _check_outside(data: bytes) -> None:
    if len(data) > shared_limits.DOCUMENT_FILE_BYTES:
        raise BadRequest(TOO_LARGE)
    if b"%PDF-" in data[:_HEADER_WITHIN]:
        return
    start = data[:_HEADER_WITHIN].lstrip(b"\xef\xbb\xbf \t\r\n")
    other = next((name for magic, name in _OTHER_FILES.items() if start.startswith(magic)), None)
    raise BadRequest(f"{NOT_A_PDF}: it is {other}" if other else NOT_A_PDF if data else "This file is empty")


def _rewritten(data: bytes, terms: IntakeTerms) -> _Rewritten:
    with _opened(data, terms.password) as pdf:
        _check_inside(pdf, terms)
        damage.check_whole(pdf, data)
        if terms.converted:
            missing_glyphs.check(pdf)
        signed = clean.has_signature(pdf.Root)
        form = form_fields.take_off(pdf) if terms.form else ()
        settled = annotations.settle(pdf)
        removed = (*((PROTECTION,) if pdf.is_encrypted else ()), *clean.form_parts(pdf.Root), *settled.removed)
        made = _Rewritten(b"", removed, signed, settled.written, form)
        if not settled.undrawn:
            return _finished(pdf, made, terms)
        drawn = clean.with_appearances(written(pdf))
    with pikepdf.open(io.BytesIO(drawn)) as pdf:
        return _finished(pdf, made, terms)


def _opened(data: bytes, password: str | None) -> pikepdf.Pdf:
    """The file, opened by its password if it needs one: newer files spell it in UTF-8, older ones in Latin-1."""
    spellings = [password.encode(), password.encode("latin-1", "ignore")] if password else []
    for spelling in (*spellings, b""):
        try:
            return pikepdf.open(io.BytesIO(data), password=spelling)
        except pikepdf.PasswordError:
            continue
    raise BadRequest(NOT_OPENED if password else LOCKED)


def _finished(pdf: pikepdf.Pdf, made: _Rewritten, terms: IntakeTerms) -> _Rewritten:
    removed = tuple(dict.fromkeys((*made.removed, *clean.clean(pdf, web_links=terms.web_links), *metadata.settle(pdf))))
    for page in pdf.pages:
        boxes.settle(page.obj)
    if "/Size" not in pdf.trailer:
        pdf.trailer["/Size"] = len(pdf.objects) + 1
    return made._replace(data=written(pdf), removed=removed)


def _second_try(data: bytes, terms: IntakeTerms) -> tuple[_Rewritten, tuple[PageSize, ...], tuple[tags.FoundTag, ...]]:
    """As PDFium reads the file and writes it again; it mends other damage than qpdf does.

    What PDFium leaves out it does not tell. A file that was cut off is not left to it.
    """
    if damage.is_cut_off(data):
        raise BadRequest(DAMAGED)
    try:
        saved, encrypted = _saved_by_pdfium(data, terms.password)
        made = _rewritten(saved, terms)
        if encrypted:
            made = made._replace(removed=(PROTECTION, *made.removed))
        return (made, *_look_again(made, terms))
    except _BROKEN as error:
        raise BadRequest(DAMAGED) from error


def _saved_by_pdfium(data: bytes, password: str | None) -> tuple[bytes, bool]:
    """The file without encryption, and whether it had any: with AES-256 qpdf needs random numbers to open it, and a
    sandbox has none."""
    handle = _loaded(data, password)
    document = pdfium.PdfDocument(handle)
    try:
        encrypted = raw.FPDF_GetSecurityHandlerRevision(handle) >= 0
        if len(document) == 0:
            raise BadRequest(NO_PAGES)
        made = io.BytesIO()
        document.save(made, flags=raw.FPDF_REMOVE_SECURITY if encrypted else 0)
        return made.getvalue(), encrypted
    finally:
        document.close()


def _loaded(data: bytes, password: str | None) -> Any:
    for spelling in (password.encode(), None) if password else (None,):
        handle = raw.FPDF_LoadMemDocument64(data, len(data), spelling)
        if handle:
            return handle
        failed = raw.FPDF_GetLastError()
        if failed != raw.FPDF_ERR_PASSWORD:
            raise BadRequest(ENCRYPTED if failed == raw.FPDF_ERR_SECURITY else DAMAGED)
    raise BadRequest(NOT_OPENED if password else LOCKED)


def _check_inside(pdf: pikepdf.Pdf, terms: IntakeTerms) -> None:
    root = pdf.Root
    if clean.has_signature(root) and terms.signed_input == "refuse":
        raise BadRequest(SIGNED)
    count = len(pdf.pages)
    if count == 0:
        raise BadRequest(NO_PAGES)
    if count > shared_limits.DOCUMENT_PAGES:
        raise BadRequest(TOO_MANY_PAGES)
    if "/Collection" in root:
        raise BadRequest(PORTFOLIO)
    if clean.is_dynamic_form(root):
        raise BadRequest(XFA)


def _look_again(made: _Rewritten, terms: IntakeTerms) -> tuple[tuple[PageSize, ...], tuple[tags.FoundTag, ...]]:
    """The pages and tags of the file that was written: it must be whole to both libraries that will work on it."""
    with pikepdf.open(io.BytesIO(made.data), attempt_recovery=False) as pdf:
        views = [boxes.of_page(page.obj) for page in pdf.pages]
    for number, view in enumerate(views, 1):
        if not all(limits.PAGE_POINTS_MIN <= side <= limits.PAGE_POINTS_MAX for side in (view.width, view.height)):
            raise BadRequest(f"Page {number} of this PDF is {view.width:g} × {view.height:g} points: no page can be so")
    document = pdfium.PdfDocument(made.data)
    try:
        if len(document) != len(views):
            raise ValueError("the libraries count different pages")
        for number, text in made.texts:
            _find(document, number, text)
        found = tags.find(document, views) if terms.tags else ()
        return tuple(PageSize(view.width, view.height) for view in views), found
    finally:
        document.close()


def _find(document: pdfium.PdfDocument, number: int, text: str) -> None:
    page = document[number]
    shown = "".join(page.get_textpage().get_text_range().split())
    page.close()
    if not all(word in shown for word in text.split()):
        raise annotations.cannot_draw(number, text)

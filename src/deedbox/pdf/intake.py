"""Runs in a sandbox: makes a PDF from outside one that can be shown, marked and sealed, or says why it is refused."""

import codecs
import io
from collections.abc import Generator
from typing import Any, NamedTuple

import pikepdf
import pypdfium2 as pdfium
from pikepdf import Array, Dictionary, Name
from pypdfium2 import raw

from deedbox.kernel import limits
from deedbox.kernel.errors import BadRequest
from deedbox.pdf import annotations, boxes, clean, damage, tags
from deedbox.pdf.damage import DAMAGED
from deedbox.pdf.marks import Page, Prepared

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
ENCRYPTED = "This PDF is encrypted. Remove its password or protection and upload it again."
SIGNED = "This PDF is already signed, and a change would break that. Upload it as it was before it was signed."
NO_PAGES = "This PDF has no pages"
TOO_MANY_PAGES = f"This PDF has more than {limits.DOCUMENT_PAGES:,} pages. Split it into parts."
TOO_LARGE = f"This PDF is larger than {limits.DOCUMENT_FILE_BYTES // limits.MB} MB. Split it or reduce its images."
XFA = "This PDF is a dynamic XFA form, which only few programs can show. Print it into a new PDF and upload that."
PORTFOLIO = "This PDF is a portfolio of attached files. Upload the files themselves."


_BROKEN = (pikepdf.PdfError, pdfium.PdfiumError, RuntimeError, ValueError, TypeError, KeyError, AttributeError)
"""What the libraries raise on a damaged file: where a number should be there may be a name, or nothing."""


class _Rewritten(NamedTuple):
    data: bytes
    removed: tuple[str, ...]
    texts: tuple[tuple[int, str], ...]
    """Page, from 0, and what must be found there."""


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
        page["/Contents"] = pdf.make_stream(b"BT /F 9 Tf 9 99 Td ({{text:Rehearsal;w=20}}) Tj ET")
        page["/Annots"] = Array([pdf.make_indirect(widget)])
        pdf.Root["/AcroForm"] = Dictionary(Fields=page.Annots, NeedAppearances=True)
        data = written(pdf)
    for _ in take_in(data):
        pass
    try:
        _second_try(data[: len(data) // 2])
    except BadRequest:
        return


def take_in(data: bytes) -> Generator[bytes, None, Prepared]:
    """Yields the prepared PDF in pieces; BadRequest says why a file cannot be taken."""
    _check_outside(data)
    repaired = False
    try:
        made = _rewritten(data)
        pages, found = _look_again(made)
    except pikepdf.PasswordError as error:
        raise BadRequest(ENCRYPTED) from error
    except _BROKEN:
        repaired = True
        made, pages, found = _second_try(data)
    if len(made.data) > limits.PREPARED_FILE_BYTES:
        raise BadRequest(TOO_LARGE)
    yield from pieces(made.data)
    return Prepared(pages=pages, tags=found, removed=made.removed, repaired=repaired)


def pieces(data: bytes) -> Generator[bytes, None, None]:
    """The bytes as they leave a sandbox."""
    for start in range(0, len(data), limits.BLOB_CHUNK_BYTES):
        yield data[start : start + limits.BLOB_CHUNK_BYTES]


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
    if len(data) > limits.DOCUMENT_FILE_BYTES:
        raise BadRequest(TOO_LARGE)
    if b"%PDF-" in data[:_HEADER_WITHIN]:
        return
    start = data[:_HEADER_WITHIN].lstrip(b"\xef\xbb\xbf \t\r\n")
    other = next((name for magic, name in _OTHER_FILES.items() if start.startswith(magic)), None)
    raise BadRequest(f"{NOT_A_PDF}: it is {other}" if other else NOT_A_PDF if data else "This file is empty")


def _rewritten(data: bytes) -> _Rewritten:
    with pikepdf.open(io.BytesIO(data)) as pdf:
        _check_inside(pdf)
        if pdf.get_warnings():
            damage.check_whole(pdf, data)
        settled = annotations.settle(pdf)
        removed = (*clean.form_parts(pdf.Root), *settled.removed)
        if not settled.undrawn:
            return _finished(pdf, removed, settled)
        drawn = clean.with_appearances(written(pdf))
    with pikepdf.open(io.BytesIO(drawn)) as pdf:
        return _finished(pdf, removed, settled)


def _finished(pdf: pikepdf.Pdf, removed: tuple[str, ...], settled: annotations.Settled) -> _Rewritten:
    removed = tuple(dict.fromkeys((*removed, *clean.clean(pdf))))
    for page in pdf.pages:
        boxes.settle(page.obj)
    if "/Size" not in pdf.trailer:
        pdf.trailer["/Size"] = len(pdf.objects) + 1
    return _Rewritten(written(pdf), removed, settled.written)


def _second_try(data: bytes) -> tuple[_Rewritten, tuple[Page, ...], tuple[Any, ...]]:
    """As PDFium reads the file and writes it again; it mends other damage than qpdf does.

    What PDFium leaves out it does not tell. A file that was cut off is not left to it.
    """
    if damage.is_cut_off(data):
        raise BadRequest(DAMAGED)
    try:
        made = _rewritten(_saved_by_pdfium(data))
        return (made, *_look_again(made))
    except _BROKEN as error:
        raise BadRequest(DAMAGED) from error


def _saved_by_pdfium(data: bytes) -> bytes:
    handle = raw.FPDF_LoadMemDocument64(data, len(data), None)
    if not handle:
        locked = raw.FPDF_GetLastError() in (raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY)
        raise BadRequest(ENCRYPTED if locked else DAMAGED)
    document = pdfium.PdfDocument(handle)
    try:
        # To open what was made without a password qpdf may need random numbers, and no sandbox has any.
        if raw.FPDF_GetSecurityHandlerRevision(handle) >= 0:
            raise BadRequest(ENCRYPTED)
        if len(document) == 0:
            raise BadRequest(NO_PAGES)
        made = io.BytesIO()
        document.save(made)
        return made.getvalue()
    finally:
        document.close()


def _check_inside(pdf: pikepdf.Pdf) -> None:
    if pdf.is_encrypted:
        raise BadRequest(ENCRYPTED)
    root = pdf.Root
    if clean.is_signed(root):
        raise BadRequest(SIGNED)
    count = len(pdf.pages)
    if count == 0:
        raise BadRequest(NO_PAGES)
    if count > limits.DOCUMENT_PAGES:
        raise BadRequest(TOO_MANY_PAGES)
    if "/Collection" in root:
        raise BadRequest(PORTFOLIO)
    if clean.is_dynamic_form(root):
        raise BadRequest(XFA)


def _look_again(made: _Rewritten) -> tuple[tuple[Page, ...], tuple[Any, ...]]:
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
        return tuple(Page(view.width, view.height) for view in views), tags.find(document, views)
    finally:
        document.close()


def _find(document: pdfium.PdfDocument, number: int, text: str) -> None:
    page = document[number]
    shown = "".join(page.get_textpage().get_text_range().split())
    page.close()
    if not all(word in shown for word in text.split()):
        raise annotations.not_drawn(number, text)

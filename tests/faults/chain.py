"""A PDF taken through the product's own chain, and what others say of the outcome."""

import hashlib
import io
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec
import numpy as np
import pikepdf
import pypdfium2 as pdfium
from msgspec import Struct, field
from PIL import Image
from pypdfium2 import raw

from deedbox.kernel import limits
from deedbox.kernel.clock import instant
from deedbox.kernel.errors import BadRequest
from deedbox.kernel.sandbox import Sink
from deedbox.pdf.marks.marks import Mark, Marks, PageRect
from deedbox.pdf.pdf_sandbox import PdfSandbox
from deedbox.pdf.render import boxes
from deedbox.pdf.seal import pades as seal
from deedbox.pdf.verify.report import VerificationReport
from tests.pdf import oracles
from tests.pdf.issued import NOW, installation, order
from tests.pdf.papers import scribble

HEAD = hashlib.sha256(b"the head of an audit trail").hexdigest()
LOOKED_AT = 10
"""Pages of a file that are compared, from its beginning and its end."""
SIDE = 500
"""Pixels of the longer side of a page when it is compared."""
_WHO = "Nguyễn Thị Ánh"
_NOT_BY_PDFIUM = {"/FreeText", "/Line", "/Polygon", "/PolyLine", "/Stamp", "/Text"}
"""What PDFium leaves out without an appearance, or, for notes, shows by an icon of its own."""
STRAY = 12
"""Pixels of a page with form fields: PDFium draws the hair lines of a field otherwise than those of a page."""
SHADES = 40
"""By which a pixel may differ from all those around its place."""
_SIGNATURE, _NAME = PageRect(1, 0.5, 0.8, 0.4, 0.1), PageRect(1, 0.08, 0.8, 0.3, 0.05)
_DRAWN, _TICK = PageRect(1, 0.5, 0.68, 0.4, 0.08), PageRect(1, 0.08, 0.7, 0.04, 0.04)


class Outcome(Struct):
    """What became of a file: it was refused in these words, or sealed, and then these things are wrong with it."""

    refused: str = ""
    faults: dict[str, str] = field(default_factory=dict)
    """By judge: deedbox, pdfsig, openssl, qpdf, pages, look."""
    sealed: bytes = b""


class Chain:
    """Every step in the sandbox where the server does it; the seal is signed here, as the server signs it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._workshop = PdfSandbox(1)

    async def __aenter__(self) -> "Chain":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._workshop.close()

    async def take(self, data: bytes) -> Outcome:
        """Sealed and judged, or refused; what else the chain raises is a fault of ours and is raised here."""
        taken = bytearray()
        try:
            known = await self._workshop.take_in(data, _into(taken))
        except BadRequest as error:
            return Outcome(refused=error.message)
        marks = _marks(len(known.pages))
        marked = bytearray()
        await self._workshop.mark(bytes(taken), marks, _into(marked))
        sealed = await self._sealed(bytes(marked))
        outcome = Outcome(sealed=sealed)
        outcome.faults = await self.faults(data, sealed)
        return outcome

    async def _sealed(self, marked: bytes) -> bytes:
        identity, made = installation().identity, bytearray()
        wish = order(identity, document_id="doc_1", audit_head=HEAD)
        sink = Sink(limits.PREPARED_FILE_BYTES, _into(made))
        place = await self._workshop.prepare_seal(marked, wish, sink)
        cms = seal.cms_for(place.digest, identity, installation().timestamper, NOW)
        made[place.contents_at : place.contents_at + place.contents_length] = seal.hex_contents(place, cms)
        return bytes(made)

    async def faults(self, data: bytes, sealed: bytes) -> dict[str, str]:
        """What each judge finds wrong with a file that was made of the data; a page is to have changed in its marks."""
        places = [mark.place for mark in _marks(_count(sealed)).marks]
        roots = [installation().root.der]
        report = msgspec.convert(
            await self._workshop.run("deedbox.pdf.verify.verify_pdf:verify", sealed, roots, [], instant(NOW)),
            VerificationReport,
        )
        told = oracles.pdfsig(sealed, roots[0], self._folder)
        faults = {
            "deedbox": "" if report.verdict == "authentic" else "; ".join(report.reasons) or report.verdict,
            "pdfsig": "" if told == oracles.GOOD else "; ".join(told) or "no signature",
            "openssl": self._openssl(sealed, roots),
            "qpdf": oracles.qpdf(sealed, self._folder),
            "look": look(data, sealed, places),
            "poppler": poppler_look(data, sealed, places, self._folder),
        }
        return {judge: fault for judge, fault in faults.items() if fault}

    def _openssl(self, sealed: bytes, roots: list[bytes]) -> str:
        try:
            cms, covered = oracles.cms_of(sealed), oracles.signed_bytes(sealed)
        except (AssertionError, IndexError, ValueError):
            return "no signature about the whole file"
        told = oracles.cms_verified(cms, covered, roots, self._folder)
        return "" if "Verification successful" in told else told


def _into(made: bytearray) -> Any:
    async def write(piece: bytes) -> None:
        made.extend(piece)

    return write


def _count(data: bytes) -> int:
    with pikepdf.open(io.BytesIO(data)) as pdf:
        return len(pdf.pages)


def _marks(pages: int) -> Marks:
    """A signature, a drawn one, a text and a tick on the first and the last page."""
    marks: list[Mark] = []
    for page in sorted({1, pages}):
        marks += [
            Mark("signature", _on(page, _SIGNATURE), _WHO, caption=(_WHO, instant(NOW), "sgn_1")),
            Mark("signature", _on(page, _DRAWN), image="drawn"),
            Mark("text", _on(page, _NAME), "王小明 محمد अनिल"),
            Mark("checkbox", _on(page, _TICK), "x"),
        ]  # fmt: skip
    return Marks(tuple(marks), images={"drawn": scribble()})


def _on(page: int, place: PageRect) -> PageRect:
    return msgspec.structs.replace(place, page=page)


def look(before: bytes, after: bytes, places: Sequence[PageRect]) -> str:
    """How the pages differ, but for the places, as PDFium shows them; empty if they do not."""
    one, other = pdfium.PdfDocument(before), pdfium.PdfDocument(after)
    undrawn = _undrawn_by_pdfium(before)
    try:
        one.init_forms()
        other.init_forms()
        if len(one) != len(other):
            return f"{len(one)} pages became {len(other)}"
        for number in _looked_at(len(one)):
            before_it, after_it = _drawn(one, number), _drawn(other, number)
            here = [place for place in [*places, *undrawn] if place.page == number]
            if told := differences(before_it, after_it, here, STRAY if _annotated(one, number) else 0):
                return f"page {number}: {told}"
        return ""
    finally:
        one.close()
        other.close()


def poppler_look(before: bytes, after: bytes, places: Sequence[PageRect], folder: Path) -> str:
    """The same of the first page as poppler shows it, unless the file leaves it to viewers how something looks."""
    try:
        with pikepdf.open(io.BytesIO(before)) as pdf:
            if "/AcroForm" in pdf.Root or _has_fields_or_undrawn(pdf.pages[0].obj):
                return ""
    except pikepdf.PdfError:
        return ""
    pictures = []
    for name, data in (("before", before), ("after", after)):
        (folder / f"{name}.pdf").write_bytes(data)
        words = ["pdftoppm", "-r", "72", "-scale-to", str(2 * SIDE), "-cropbox", "-f", "1", "-l", "1", "-singlefile"]
        subprocess.run([*words, f"{name}.pdf", name], cwd=folder, capture_output=True, check=False, timeout=120)
        pictures.append(Image.open(folder / f"{name}.ppm").convert("RGB").reduce(2))
    return differences(pictures[0], pictures[1], [place for place in places if place.page == 1])


def _undrawn_by_pdfium(data: bytes) -> list[PageRect]:
    """Where annotations stand that PDFium leaves out and intake draws; tests compare those with other viewers."""
    found = []
    try:
        with pikepdf.open(io.BytesIO(data)) as pdf:
            for number, page in enumerate(pdf.pages, 1):
                view = boxes.of_page(page.obj)
                for one in page.obj.get("/Annots") or ():
                    if str(one.get("/Subtype")) in _NOT_BY_PDFIUM and "/AP" not in one:
                        x0, y0, x1, y1 = (float(edge) for edge in one.Rect)
                        left, top, right, bottom = view.fractions((x0 - 9, y0 - 9, x1 + 9, y1 + 9))
                        found.append(PageRect(number, left, top, right - left, bottom - top))
    except pikepdf.PdfError:
        return []
    return found


def _has_fields_or_undrawn(page: Any) -> bool:
    """Fields without a form, or annotations without a look: poppler shows them, others do not, or otherwise."""
    found = list(page.get("/Annots") or ())
    return any(str(one.get("/Subtype")) == "/Widget" or "/AP" not in one for one in found)


def _looked_at(count: int) -> list[int]:
    half = LOOKED_AT // 2
    return [number for number in range(1, count + 1) if number <= half or number > count - half]


def _drawn(document: pdfium.PdfDocument, number: int) -> Image.Image:
    page = document[number - 1]
    # Drawn large and made small, so that it does not matter how letters meet the pixels.
    picture: Image.Image = page.render(scale=2 * SIDE / max(*page.get_size(), 1)).to_pil().convert("RGB")
    page.close()
    return picture.reduce(2)


def _annotated(document: pdfium.PdfDocument, number: int) -> bool:
    page = document[number - 1]
    try:
        return bool(raw.FPDFPage_GetAnnotCount(page))
    finally:
        page.close()


def differences(before: Image.Image, after: Image.Image, places: Sequence[PageRect], stray: int = 0) -> str:
    """What is not the same outside the places; a shade at an edge is, and so are a few stray pixels if they may."""
    if before.size != after.size:
        return f"{before.size} became {after.size}"
    one, other = (np.asarray(picture, dtype=np.int16) for picture in (before, after))
    apart = np.maximum(_beyond(one, other), _beyond(other, one)).max(axis=2)
    height, width = apart.shape
    for place in places:
        top, left = int(place.y * height) - 2, int(place.x * width) - 2
        bottom, right = int((place.y + place.h) * height) + 3, int((place.x + place.w) * width) + 3
        apart[max(top, 0) : bottom, max(left, 0) : right] = 0
    rows, columns = np.nonzero(apart > SHADES)
    if len(rows) <= stray:
        return ""
    return (
        f"{len(rows)} of {apart.size} pixels within rows {rows.min()}-{rows.max()}, columns {columns.min()}-"
        f"{columns.max()} of {height}x{width}"
    )


def _beyond(picture: Any, other: Any) -> Any:
    """How far each pixel lies outside of what is within one pixel of it in the other picture."""
    padded = np.pad(other, ((1, 1), (1, 1), (0, 0)), mode="edge")
    height, width = other.shape[:2]
    near = [padded[y : y + height, x : x + width] for y in range(3) for x in range(3)]
    lowest, highest = np.minimum.reduce(near), np.maximum.reduce(near)
    return np.maximum(np.maximum(lowest - picture, picture - highest), 0)

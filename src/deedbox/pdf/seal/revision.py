"""Adds one revision at the end of a PDF and changes no byte before it. Only to be run in a sandbox."""

import hashlib
import io
import re
from typing import Any, NamedTuple

import pikepdf

from deedbox.kernel.errors import BadRequest
from deedbox.pdf.seal.pdf_values import dictionary, reference

_END = re.compile(rb"startxref\s+(\d+)\s+%%EOF\s*\Z")
_END_BYTES = 1024


class Opened(NamedTuple):
    """A PDF that a revision can be added to, with the bytes that it was read from."""

    data: bytes
    pdf: pikepdf.Pdf


def open_as_one_revision(data: bytes) -> Opened:
    """The PDF as it is, if it is sound and has one revision, else written anew as one; BadRequest if it is no PDF.

    Earlier revisions may hold what nobody has seen: they do not come under a seal."""
    pdf = _open(data)
    if _is_plain(data, pdf):
        return Opened(data, pdf)
    buffer = io.BytesIO()
    pdf.save(buffer, compress_streams=False, stream_decode_level=pikepdf.StreamDecodeLevel.none)
    written = buffer.getvalue()
    return Opened(written, _open(written))


def _open(data: bytes) -> pikepdf.Pdf:
    try:
        # Inherited attributes stay where they are: pushed down to the pages they would get numbers that no file has.
        pdf = pikepdf.open(io.BytesIO(data), inherit_page_attributes=False)
        encrypted, pages = pdf.is_encrypted, len(pdf.pages)
    except pikepdf.PasswordError as error:
        raise BadRequest("The PDF is encrypted; remove its password and send it again") from error
    except (pikepdf.PdfError, RuntimeError, ValueError, TypeError) as error:
        raise BadRequest("The file is not a PDF that can be read") from error
    if encrypted:
        raise BadRequest("The PDF is encrypted; remove its protection and send it again")
    if not pages:
        raise BadRequest("The PDF has no pages")
    return pdf


def _is_plain(data: bytes, pdf: pikepdf.Pdf) -> bool:
    """Whether a revision can rely on the file's own table of objects."""
    end = _END.search(data, max(0, len(data) - _END_BYTES))
    if end is None or not data.startswith(b"%PDF-") or data.count(b"startxref") != 1:
        return False
    table = data[int(end[1]) : int(end[1]) + 24]
    sound = table.startswith(b"xref") or re.match(rb"\d+\s+\d+\s+obj", table) is not None
    hybrid = "/XRefStm" in pdf.trailer or "/Prev" in pdf.trailer
    # The reader gives a page that it had to make up or to separate from another a number of its own.
    known = pdf.pages[0].objgen[0] < int(pdf.trailer.get("/Size", 0)) and pdf.Root.objgen[0] != 0
    return sound and known and not hybrid and not pdf.get_warnings()


class Revision:
    """The new revision: collects objects, then writes them with their table."""

    def __init__(self, opened: Opened) -> None:
        self._data, self._pdf = opened
        end = _END.search(self._data, max(0, len(self._data) - _END_BYTES))
        if end is None:  # `opened` has looked
            raise BadRequest("The file is not a PDF that can be read")
        self._previous = int(end[1])
        self._size = int(self._pdf.trailer.Size)
        self._offsets: dict[tuple[int, int], int] = {}
        self._written = bytearray(b"" if self._data.endswith((b"\n", b"\r")) else b"\n")

    @property
    def at(self) -> int:
        """The offset in the file at which the next byte will stand."""
        return len(self._data) + len(self._written)

    def reserve(self) -> tuple[int, int]:
        """The number of an object that does not exist yet."""
        self._size += 1
        return self._size - 1, 0

    def add(self, body: bytes, objgen: tuple[int, int] | None = None) -> bytes:
        """Writes an object, in place of the one with that number if one is given; a reference to it."""
        objgen = objgen or self.reserve()
        self._offsets[objgen] = self.at
        self._written += b"%d %d obj\n%b\nendobj\n" % (*objgen, body)
        return reference(objgen)

    def add_stream(self, content: bytes) -> bytes:
        return self.add(b"<< /Length %d >>\nstream\n%b\nendstream" % (len(content), content))

    def finished(self) -> bytes:
        """The bytes to be put after the file."""
        if self._data.startswith(b"xref", self._previous):
            self._add_table()
        else:
            self._add_table_stream()
        return bytes(self._written)

    def _trailer(self) -> dict[str, bytes]:
        digest = b"<%b>" % hashlib.sha256(self._data).hexdigest()[:32].encode()
        old = self._pdf.trailer.get("/ID")
        first = old[0].unparse() if isinstance(old, pikepdf.Array) and len(old) == 2 else digest
        kept = {key: self._pdf.trailer[key].unparse() for key in ("/Root", "/Info") if key in self._pdf.trailer}
        return {
            **kept,
            "/Size": b"%d" % self._size,
            "/Prev": b"%d" % self._previous,
            "/ID": b"[%b %b]" % (first, digest),
        }

    def _add_table(self) -> None:
        start = self.at
        self._written += b"xref\n"
        for (number, generation), offset in sorted(self._offsets.items()):
            self._written += b"%d 1\n%010d %05d n \n" % (number, offset, generation)
        self._written += b"trailer\n%b\nstartxref\n%d\n%%%%EOF\n" % (dictionary(self._trailer()), start)

    def _add_table_stream(self) -> None:
        start, own = self.at, self.reserve()
        rows = sorted({**self._offsets, own: start}.items())
        content = b"".join(
            b"\1" + at.to_bytes(5, "big") + generation.to_bytes(2, "big") for (_, generation), at in rows
        )
        index = b" ".join(b"%d 1" % number for (number, _), _ in rows)
        head = {
            "/Type": b"/XRef",
            "/W": b"[1 5 2]",
            "/Index": b"[%b]" % index,
            "/Length": b"%d" % len(content),
            **self._trailer(),
        }
        self._written += b"%d %d obj\n%b\nstream\n%b\nendstream\nendobj\n" % (*own, dictionary(head), content)
        self._written += b"startxref\n%d\n%%%%EOF\n" % start


def entries(value: Any) -> dict[str, bytes]:
    """A dictionary's entries as they are written; none for anything else."""
    if not isinstance(value, pikepdf.Dictionary):
        return {}
    return {key: _written(inner) for key, inner in value.items()}


def elements(value: Any) -> list[bytes]:
    """An array's elements as they are written; none for anything else."""
    return [_written(inner) for inner in value] if isinstance(value, pikepdf.Array) else []


def _written(value: Any) -> bytes:
    """A value as it is written; the library gives numbers and the like as Python's own."""
    if isinstance(value, pikepdf.Object):
        return value.unparse()
    return pikepdf.Array([value]).unparse()[1:-1].strip()

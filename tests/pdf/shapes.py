"""PDF files of many shapes, each of which a seal has to fit."""

import io
from collections.abc import Callable
from typing import Any

import pikepdf
from pikepdf import Array, Dictionary, Name, ObjectStreamMode, Pdf


def _written(pdf: Pdf, **options: Any) -> bytes:
    out = io.BytesIO()
    pdf.save(out, **options)
    return out.getvalue()


def _pages(count: int = 1) -> Pdf:
    pdf = pikepdf.new()
    font = pdf.make_indirect(Dictionary(Type=Name.Font, Subtype=Name.Type1, BaseFont=Name.Helvetica))
    for number in range(1, count + 1):
        page = pdf.add_blank_page(page_size=(595, 842))
        page.Contents = pdf.make_stream(f"BT /F1 24 Tf 72 720 Td (Page {number}) Tj ET".encode())
        page.Resources = Dictionary(Font=Dictionary(F1=font))
    return pdf


def plain() -> bytes:
    return _written(_pages(2), object_stream_mode=ObjectStreamMode.disable)


def object_streams() -> bytes:
    return _written(_pages(3), object_stream_mode=ObjectStreamMode.generate)


def linearised() -> bytes:
    return _written(_pages(3), linearize=True)


def linearised_with_object_streams() -> bytes:
    return _written(_pages(3), linearize=True, object_stream_mode=ObjectStreamMode.generate)


def version_1_3() -> bytes:
    return _written(_pages(), force_version="1.3", object_stream_mode=ObjectStreamMode.disable)


def version_2_0() -> bytes:
    return _written(_pages(), force_version="2.0")


def rotated() -> bytes:
    pdf = _pages(4)
    for number, page in enumerate(pdf.pages):
        page.Rotate = 90 * number
        page.CropBox = [20, 20, 500, 800]
    return _written(pdf)


def _form(*, indirect: bool, names: tuple[str, ...] = ("amount",), indirect_arrays: bool = False) -> bytes:
    pdf = _pages(2)
    fields = Array()
    for number, name in enumerate(names):
        box = [72, 600 - 30 * number, 200, 620 - 30 * number]
        fields.append(
            pdf.make_indirect(
                Dictionary(
                    Type=Name.Annot, Subtype=Name.Widget, FT=Name.Tx, T=name, V="100", Rect=box, P=pdf.pages[0].obj,
                    DA="/Helv 10 Tf 0 g",
                )
            )
        )  # fmt: skip
    kept = pdf.make_indirect(Array(fields)) if indirect_arrays else fields
    pdf.pages[0].Annots = pdf.make_indirect(Array(fields)) if indirect_arrays else Array(fields)
    form = Dictionary(Fields=kept, DA="/Helv 10 Tf 0 g", DR=Dictionary(Font=Dictionary()))
    pdf.Root.AcroForm = pdf.make_indirect(form) if indirect else form
    return _written(pdf)


def form() -> bytes:
    return _form(indirect=True)


def form_inside_the_catalog() -> bytes:
    return _form(indirect=False)


def form_with_lists_of_their_own() -> bytes:
    return _form(indirect=True, indirect_arrays=True)


def form_with_a_field_called_seal() -> bytes:
    return _form(indirect=True, names=("Seal", "Seal 2"))


def inherited_attributes() -> bytes:
    """Box, resources and rotation stand in the page tree, resources as a value of its own."""
    pdf = _pages(2)
    above = pdf.Root.Pages
    above.MediaBox = Array([0, 0, 595, 842])
    above.Resources = Dictionary(Font=Dictionary(F1=pdf.pages[0].Resources.Font.F1))
    above.Rotate = 90
    for page in pdf.pages:
        del page.obj["/MediaBox"]
        del page.obj["/Resources"]
    return _written(pdf, object_stream_mode=ObjectStreamMode.disable)


def two_revisions() -> bytes:
    """A second revision changes the page's content: what nobody sees any more is still in the file."""
    first = assembled({1: b"<< /Type /Catalog /Pages 2 0 R >>", 2: _TREE, 3: _PAGE, 4: stream(b"0 0 m 9 9 l S")})
    start = len(first)
    update = b"4 0 obj\n%b\nendobj\n" % stream(b"0 0 m 5 5 l S")
    table = b"xref\n4 1\n%010d 00000 n \ntrailer\n<< /Size 5 /Root 1 0 R /Prev %d >>\n" % (
        start,
        first.rindex(b"xref\n0 5"),
    )
    return first + update + table + b"startxref\n%d\n%%%%EOF\n" % (start + len(update))


def without_identifier() -> bytes:
    return assembled({1: b"<< /Type /Catalog /Pages 2 0 R >>", 2: _TREE, 3: _PAGE, 4: stream(b"0 0 m 9 9 l S")})


def no_newline_at_the_end() -> bytes:
    return without_identifier().rstrip(b"\n")


def junk_in_front() -> bytes:
    return b"Received: from somewhere\r\n" + plain()


def wrong_table() -> bytes:
    return plain().replace(b"startxref\n", b"startxref\n1")


def hybrid() -> bytes:
    """Objects 4 and 6 are hidden from readers of before PDF 1.5: they stand in an object stream."""
    content = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    packed = b"6 0 " + content
    page = _PAGE.replace(b"/Resources << >>", b"/Resources << /Font << /F1 6 0 R >> >>")
    objects = {
        1: b"<< /Type /Catalog /Pages 2 0 R >>",
        2: _TREE,
        3: page,
        4: stream(b"BT /F1 12 Tf 20 20 Td (hybrid) Tj ET"),
        5: b"<< /Type /ObjStm /N 1 /First 4 /Length %d >>\nstream\n%b\nendstream" % (len(packed), packed),
    }
    body, offsets = _objects(objects)
    stream_at = len(body)
    row = b"\2\0\0\5\0"
    body += (
        b"7 0 obj\n<< /Type /XRef /Size 8 /W [1 3 1] /Index [6 1] /Length 5 >>\nstream\n%b\nendstream\nendobj\n" % row
    )
    table = _table(offsets) + b"6 2\n0000000000 00000 f \n%010d 00000 n \n" % stream_at
    tail = b"trailer\n<< /Size 8 /Root 1 0 R /XRefStm %d >>\nstartxref\n%d\n%%%%EOF\n" % (stream_at, len(body))
    return body + table + tail


_TREE = b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>"
_PAGE = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] /Contents 4 0 R /Resources << >> >>"


def stream(content: bytes) -> bytes:
    return b"<< /Length %d >>\nstream\n%b\nendstream" % (len(content), content)


def _objects(objects: dict[int, bytes]) -> tuple[bytes, list[int]]:
    body, offsets = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n", []
    for number, text in objects.items():
        offsets.append(len(body))
        body += b"%d 0 obj\n%b\nendobj\n" % (number, text)
    return body, offsets


def _table(offsets: list[int]) -> bytes:
    rows = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    return b"xref\n0 %d\n0000000000 65535 f \n%b" % (len(offsets) + 1, rows)


def assembled(objects: dict[int, bytes]) -> bytes:
    body, offsets = _objects(objects)
    tail = b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(offsets) + 1, len(body))
    return body + _table(offsets) + tail


SHAPES: dict[str, Callable[[], bytes]] = {
    made.__name__: made
    for made in (
        plain, object_streams, linearised, linearised_with_object_streams, version_1_3, version_2_0, rotated, form,
        form_inside_the_catalog, form_with_lists_of_their_own, form_with_a_field_called_seal, inherited_attributes,
        two_revisions, without_identifier, no_newline_at_the_end, junk_in_front, wrong_table, hybrid,
    )
}  # fmt: skip

# mypy: disable-error-code="no-untyped-call"
"""Incremental updates of a PDF: every kind of change that leaves the sealed bytes as they are and adds to them."""

import io
from collections.abc import Callable

from pyhanko.pdf_utils import generic
from pyhanko.pdf_utils.generic import pdf_name, pdf_string
from pyhanko.pdf_utils.incremental_writer import IncrementalPdfFileWriter
from pyhanko.pdf_utils.writer import PageObject

Update = Callable[[IncrementalPdfFileWriter], None]


def updated(data: bytes, change: Update) -> bytes:
    writer = IncrementalPdfFileWriter(io.BytesIO(data))
    change(writer)
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def _page(writer: IncrementalPdfFileWriter) -> generic.DictionaryObject:
    reference, _ = writer.find_page_for_modification(0)
    page: generic.DictionaryObject = reference.get_object()
    return page


def _add_page(writer: IncrementalPdfFileWriter) -> None:
    contents = writer.add_object(generic.StreamObject(stream_data=b"BT ET"))
    writer.insert_page(PageObject(contents=contents, media_box=(0, 0, 595, 842)))


def _change_content(writer: IncrementalPdfFileWriter) -> None:
    page = _page(writer)
    page["/Contents"] = writer.add_object(generic.StreamObject(stream_data=b"BT /F1 24 Tf 72 720 Td (Nothing) Tj ET"))
    writer.update_container(page)


def _annotate(writer: IncrementalPdfFileWriter) -> None:
    overlay = generic.DictionaryObject({
        pdf_name("/Type"): pdf_name("/Annot"), pdf_name("/Subtype"): pdf_name("/FreeText"),
        pdf_name("/Rect"): generic.ArrayObject(map(generic.NumberObject, (0, 0, 595, 842))),
        pdf_name("/Contents"): pdf_string("Void"), pdf_name("/DA"): pdf_string("/Helv 40 Tf 1 0 0 rg"),
    })  # fmt: skip
    page = _page(writer)
    known = list(page["/Annots"]) if "/Annots" in page else []
    page["/Annots"] = generic.ArrayObject([*known, writer.add_object(overlay)])
    writer.update_container(page)


def _run_script(writer: IncrementalPdfFileWriter) -> None:
    action = generic.DictionaryObject({
        pdf_name("/S"): pdf_name("/JavaScript"), pdf_name("/JS"): pdf_string("app.alert(1)"),
    })  # fmt: skip
    writer.root["/OpenAction"] = writer.add_object(action)
    writer.update_root()


def _change_value(writer: IncrementalPdfFileWriter) -> None:
    """The form's first field if there is one with a text, else a new one."""
    form_fields = writer.root["/AcroForm"]["/Fields"]
    first = form_fields[0]
    if first.get("/FT") == "/Tx":
        first["/V"] = pdf_string("1000000")
        writer.update_container(first)
        return
    new = generic.DictionaryObject({
        pdf_name("/FT"): pdf_name("/Tx"), pdf_name("/T"): pdf_string("amount"), pdf_name("/V"): pdf_string("1000000"),
    })  # fmt: skip
    form_fields.append(writer.add_object(new))
    writer.update_container(form_fields)


def _change_font(writer: IncrementalPdfFileWriter) -> None:
    font = _page(writer)["/Resources"]["/Font"]["/F1"]
    font["/BaseFont"] = pdf_name("/Symbol")
    writer.update_container(font)


def _change_catalog(writer: IncrementalPdfFileWriter) -> None:
    writer.root["/Lang"] = pdf_string("en")
    writer.update_root()


def _replace_pages(writer: IncrementalPdfFileWriter) -> None:
    """A shadow document: the catalog points at other pages, the old ones are all still there."""
    page = writer.add_object(generic.DictionaryObject({
        pdf_name("/Type"): pdf_name("/Page"),
        pdf_name("/MediaBox"): generic.ArrayObject(map(generic.NumberObject, (0, 0, 595, 842))),
    }))  # fmt: skip
    tree = generic.DictionaryObject({
        pdf_name("/Type"): pdf_name("/Pages"), pdf_name("/Count"): generic.NumberObject(1),
        pdf_name("/Kids"): generic.ArrayObject([page]),
    })  # fmt: skip
    writer.root["/Pages"] = writer.add_object(tree)
    writer.update_root()


def _rotate(writer: IncrementalPdfFileWriter) -> None:
    page = _page(writer)
    page["/Rotate"] = generic.NumberObject(180)
    writer.update_container(page)


def _swap_signature(writer: IncrementalPdfFileWriter) -> None:
    """The signature dictionary written again, so that another reader may see another byte range."""
    seal_field = next(
        one.get_object() for one in writer.root["/AcroForm"]["/Fields"] if one.get_object()["/FT"] == "/Sig"
    )
    writer.update_container(seal_field["/V"])


def _attach(writer: IncrementalPdfFileWriter) -> None:
    names = generic.DictionaryObject({pdf_name("/JavaScript"): generic.DictionaryObject()})
    writer.root["/Names"] = writer.add_object(names)
    writer.update_root()


UPDATES: dict[str, Update] = {
    "a page added": _add_page, "content changed": _change_content, "an annotation over the page": _annotate,
    "JavaScript": _run_script, "a field's value": _change_value, "a font": _change_font,
    "the catalog": _change_catalog, "shadow pages": _replace_pages, "the page turned": _rotate,
    "the signature dictionary": _swap_signature, "names": _attach,
}  # fmt: skip

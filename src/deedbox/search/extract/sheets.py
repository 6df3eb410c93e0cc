"""An OpenDocument workbook sheet by sheet, each as a page, and each row with the names of its columns."""

import io
import zipfile
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from typing import TypeAlias

from lxml import etree
from python_calamine import CalamineError, CalamineSheet, CalamineWorkbook, SheetVisibleEnum

from deedbox.kernel.errors import BadRequest
from deedbox.search.extract import odf_hidden
from deedbox.search.extract.kinds import wrong_kind
from deedbox.search.extract.package import OfficePackage, encryption_error, open_package
from deedbox.search.extract.table import write
from deedbox.search.extract.text import TextBuilder, clean
from deedbox.search.extract.word_xml import damage_error, parse
from deedbox.search.library.upload import Extraction
from deedbox.search.limits import SHEETS

_NOUN = "workbook"
_ODS = b"application/vnd.oasis.opendocument.spreadsheet"
Value: TypeAlias = int | float | str | bool | time | date | datetime | timedelta


def read(data: bytes) -> Extraction:
    with open_package(data, _NOUN) as package:
        if not package.read("mimetype").startswith(_ODS):
            raise wrong_kind("ods", f"a ZIP archive that is not an OpenDocument {_NOUN}")
        if b"encryption-data" in package.read("META-INF/manifest.xml"):
            raise BadRequest(encryption_error(_NOUN))
        _check(package)
        hidden = 0
        parts = [package.read(name) for name in ("content.xml", "styles.xml")]
        if any(map(odf_hidden.hides, parts)):
            data, hidden = _without_hidden(package, parts)
    return _read_sheets(data, hidden)


def _without_hidden(package: OfficePackage, parts: list[bytes]) -> tuple[bytes, int]:
    """What the library needs of the workbook, without its hidden rows, columns and texts; and their characters."""
    content, styles = (parse(part, _NOUN) if part else None for part in parts)
    if content is None:
        raise BadRequest(damage_error(_NOUN))
    count = odf_hidden.take_out(content, odf_hidden.HiddenStyles(content, styles))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name in ("mimetype", "META-INF/manifest.xml"):
            file.writestr(name, package.read(name))
        file.writestr("content.xml", etree.tostring(content))
    return out.getvalue(), count


def _check(package: OfficePackage) -> None:
    """The library unpacks the parts by itself, so that all of them must be within the limits."""
    for entry in package.entries():
        package.check(entry)


def _read_sheets(data: bytes, hidden: int) -> Extraction:
    draft, starts = TextBuilder(), []
    draft.hide(hidden)
    try:
        book = CalamineWorkbook.from_filelike(io.BytesIO(data))
        if len(book.sheet_names) > SHEETS:
            raise BadRequest(f"This {_NOUN} has more than {SHEETS:,} sheets. Split it into parts.")
        for name, metadata in zip(book.sheet_names, book.sheets_metadata, strict=True):
            if metadata.visible is not SheetVisibleEnum.Visible:
                rows = _rows(book.get_sheet_by_name(name))
                draft.hide(len(name) + sum(len(text) for row in rows for text in row))
                continue
            starts.append(draft.length)
            draft.head(clean(name))
            draft.add(f"{clean(name)}\n")
            write(draft, _rows(book.get_sheet_by_name(name)))
            draft.add("\n")
    except (CalamineError, ValueError, OSError) as error:
        raise BadRequest(damage_error(_NOUN)) from error
    return draft.finish(starts)


def _rows(sheet: CalamineSheet) -> Iterator[list[str]]:
    for row in sheet.iter_rows():
        values = [_text(value) for value in row]
        while values and not values[-1]:
            values.pop()
        yield values


def _text(value: Value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return repr(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    return clean(value.isoformat(" ") if isinstance(value, datetime) else str(value))

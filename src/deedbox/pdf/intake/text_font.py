"""How a font of a page parts strings into codes, and how far each code moves the pen."""

import codecs
import ctypes
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

import pypdfium2 as pdfium
from pikepdf import Array, Dictionary, Name
from pypdfium2 import raw

_STANDARD = (
    "Helvetica", "Helvetica-Bold", "Helvetica-Oblique", "Helvetica-BoldOblique", "Times-Roman", "Times-Bold",
    "Times-Italic", "Times-BoldItalic", "Courier", "Courier-Bold", "Courier-Oblique", "Courier-BoldOblique",
)  # fmt: skip
"""Fonts that every viewer has, so that a file need not say how wide their letters are."""
_SPACE = 32
# A sandbox cannot load what text is decoded with when it is first needed.
for _name in ("cp1252", "mac_roman"):
    codecs.lookup(_name)


class TextFont(NamedTuple):
    bytes_per_code: int
    widths: Mapping[int, float]
    """By code, in thousandths of the size."""
    other_width: float

    def codes(self, text: bytes) -> Iterator[bytes]:
        for start in range(0, len(text), self.bytes_per_code):
            yield text[start : start + self.bytes_per_code]

    def width(self, code: bytes) -> float:
        return self.widths.get(int.from_bytes(code, "big"), self.other_width)

    def is_space(self, code: bytes) -> bool:
        """Word spacing is for the one-byte code 32 alone."""
        return len(code) == 1 and code[0] == _SPACE


def read(font: Any) -> TextFont | None:
    """None for a font whose strings only its own tables explain."""
    try:
        kind = str(font.get("/Subtype"))
        if kind == "/Type0":
            return _composite(font)
        scale = 1000 * float(font.FontMatrix[0]) if kind == "/Type3" else 1.0
        return _simple(font, scale)
    except (AttributeError, KeyError, TypeError, ValueError, IndexError):
        return None


def _simple(font: Any, scale: float) -> TextFont | None:
    widths = font.get("/Widths")
    if not isinstance(widths, Array):
        name, encoding = str(font.get("/BaseFont"))[1:], font.get("/Encoding")
        plain = encoding is None or isinstance(encoding, Name)
        codec = "mac_roman" if encoding == "/MacRomanEncoding" else "cp1252"
        return TextFont(1, _standard_widths(name, codec), 0) if name in _STANDARD and plain else None
    first, descriptor = int(font.get("/FirstChar", 0)), font.get("/FontDescriptor")
    missing = float(descriptor.get("/MissingWidth", 0)) if isinstance(descriptor, Dictionary) else 0.0
    return TextFont(1, {first + at: float(one) * scale for at, one in enumerate(widths)}, missing * scale)


@cache
def _standard_widths(name: str, codec: str) -> Mapping[int, float]:
    """As PDFium has them built in."""
    document = pdfium.PdfDocument.new()
    font = raw.FPDFText_LoadStandardFont(document, name.encode())
    found, width = {}, ctypes.c_float()
    for code in range(_SPACE, 256):
        letter = bytes([code]).decode(codec, "replace")
        if raw.FPDFFont_GetGlyphWidth(font, ord(letter), 1000, ctypes.byref(width)):
            found[code] = width.value
    raw.FPDFFont_Close(font)
    document.close()
    return found


def _composite(font: Any) -> TextFont | None:
    encoding, descendant = str(font.get("/Encoding")), font.DescendantFonts[0]
    # Of Unicode it takes large tables to know the widths, unless all letters have the same.
    alike = encoding.startswith("/Uni") and encoding.endswith(("-UCS2-H", "-UTF16-H")) and "/W" not in descendant
    if encoding != "/Identity-H" and not alike:
        return None
    widths = dict(_by_number(list(descendant.get("/W", Array([])))))
    return TextFont(2, widths, float(descendant.get("/DW", 1000)))


def _by_number(entries: list[Any]) -> Iterator[tuple[int, float]]:
    """A table says `first [w w w]`, or `first last w`."""
    at = 0
    while at + 1 < len(entries):
        first, then = int(entries[at]), entries[at + 1]
        if isinstance(then, Array):
            yield from ((first + number, float(width)) for number, width in enumerate(then))
            at += 2
        else:
            width = float(entries[at + 2])
            yield from ((number, width) for number in range(first, min(int(then), 0xFFFF) + 1))
            at += 3

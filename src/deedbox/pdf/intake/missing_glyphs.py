"""Characters that a converter had no font for, so that a box stands for each of them in the PDF that it wrote.

It reads fonts as LibreOffice and WeasyPrint embed them, which say what each code means, the box too."""

import re
import struct
import unicodedata
from collections.abc import Iterator
from typing import Any

import pikepdf
from pikepdf import Array, Dictionary

from deedbox.kernel.errors import BadRequest
from deedbox.pdf.marks import glyphs

_SECTION = re.compile(rb"begin(?:bf|cid)char(.*?)end(?:bf|cid)char", re.DOTALL)
_MAPPED = re.compile(rb"<([0-9a-fA-F]{2,4})>\s*<([0-9a-fA-F]{4,64})>")
_TO_BOX = re.compile(rb"<([0-9a-fA-F]{2,4})>\s+0\s")
_NAMED_BOX = re.compile(rb"dup (\d{1,3}) /\.notdef put")
_NAMES = {"CJK": "Chinese characters", "HANGUL": "Korean", "HIRAGANA": "Japanese", "KATAKANA": "Japanese"}


def check(pdf: pikepdf.Pdf) -> None:
    """Raise BadRequest, which names the scripts, if the text would be sealed with boxes in it."""
    boxes = [text for font in _fonts(pdf) for text in _boxes(font)]
    if boxes:
        raise BadRequest(
            f"There is no font here for {_described(boxes)} in this file, so that it would be sealed with empty boxes."
            " Save it as a PDF with its fonts and upload that."
        )


def _described(boxes: list[str]) -> str:
    letters = list(dict.fromkeys("".join(boxes)))
    scripts = {letter: _script(letter) for letter in letters if unicodedata.category(letter)[0] in "LM"}
    named = sorted({script for script in scripts.values() if script})
    others = tuple(letter for letter in letters if not scripts.get(letter))
    return " and ".join([*([f"the text in {', '.join(named)}"] if named else []), *_symbols(others)]) or "some symbols"


def _symbols(letters: tuple[str, ...]) -> list[str]:
    return [glyphs.describe(letters)] if letters else []


def _script(letter: str) -> str:
    word = unicodedata.name(letter, "").split(" ", 1)[0]
    return _NAMES.get(word, word.capitalize())


def _fonts(pdf: pikepdf.Pdf) -> Iterator[Any]:
    return (one for one in pdf.objects if isinstance(one, Dictionary) and one.get("/Type") == "/Font")


def _boxes(font: Any) -> Iterator[str]:
    """The text of every code that shows the box."""
    meanings = font.get("/ToUnicode")
    codes = set(_codes(font)) if isinstance(meanings, pikepdf.Stream) else set()
    for code, meaning in _MAPPED.findall(_section(meanings)) if codes else ():
        if int(code, 16) in codes:
            yield bytes.fromhex(meaning.decode()).decode("utf-16-be", "replace")


def _section(characters: pikepdf.Stream) -> bytes:
    """The part of a map that says what single codes stand for."""
    return b"\n".join(_SECTION.findall(characters.read_bytes()))


def _codes(font: Any) -> Iterator[int]:
    encoding, descendants = font.get("/Encoding"), font.get("/DescendantFonts")
    if isinstance(descendants, Array):
        if isinstance(encoding, pikepdf.Stream):
            yield from (int(code, 16) for code in _TO_BOX.findall(_section(encoding)))
        else:
            yield 0
        return
    described = font.get("/FontDescriptor")
    if not isinstance(described, Dictionary):
        return
    if isinstance(program := described.get("/FontFile"), pikepdf.Stream):
        yield from (int(code) for code in _NAMED_BOX.findall(program.read_bytes().partition(b"eexec")[0]))
    if isinstance(program := described.get("/FontFile2"), pikepdf.Stream):
        yield from _true_type_codes(program.read_bytes())


def _true_type_codes(font: bytes) -> Iterator[int]:
    """The codes of glyphs that have the outline of the first, the box; nothing if the font has no box."""
    (count,) = struct.unpack_from(">H", font, 4)
    tables = {font[at : at + 4]: struct.unpack_from(">II", font, at + 8) for at in range(12, 12 + 16 * count, 16)}
    if not {b"cmap", b"glyf", b"head", b"loca"} <= tables.keys():
        return
    (long,) = struct.unpack_from(">h", font, tables[b"head"][0] + 50)
    at, size = tables[b"loca"]
    places = struct.unpack_from(f">{size // (4 if long else 2)}{'I' if long else 'H'}", font, at)
    outlines = tables[b"glyf"][0]

    def outline(glyph: int) -> bytes:
        start, end = (outlines + place * (1 if long else 2) for place in places[glyph : glyph + 2])
        return font[start:end]

    if not outline(0):
        return
    for codes, first in glyphs.runs(font):
        yield from (code & 0xFF for glyph, code in enumerate(codes, first) if outline(glyph) == outline(0))

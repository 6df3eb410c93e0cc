"""The characters that our fonts can print, read from the fonts: any other would come out as a box."""

import struct
import unicodedata
from collections.abc import Iterator
from functools import cache

from deedbox.kernel.errors import BadRequest
from deedbox.pdf.marks import fonts

_SPACES = frozenset("\n\r\t")
_NO_GLYPH = ("Zs", "Zl", "Zp", "Cf")
"""Spaces, and signs that only say how the letters around them are joined or run."""
_SELECTORS = range(0xFE00, 0xFE10)
_COLLECTION = b"ttcf"
_WIDEST_FIRST = ((3, 10), (0, 6), (0, 4), (3, 1), (0, 3), (3, 0), (1, 0))
"""Platform and encoding of the maps from Unicode, and after them of those that small fonts inside a PDF have."""


def need_printable(what: str, text: str) -> None:
    """Raises BadRequest, which names the characters, if the text would come out with boxes in it.

    So it is refused where it is entered, never when it is to be sealed."""
    if missing := unprintable(text):
        raise BadRequest(f"{what} cannot be printed: there is no font here for {describe(missing)}")


def unprintable(text: str) -> tuple[str, ...]:
    """The characters of the text that no font has, each once, in their order."""
    return tuple(dict.fromkeys(letter for letter in text if not " " <= letter <= "~" and not _prints(letter)))


def describe(letters: tuple[str, ...]) -> str:
    """The characters for a message, by name, since nothing says that the reader can see them."""
    told = [f"{unicodedata.name(letter, 'a character')} (U+{ord(letter):04X})" for letter in letters[:3]]
    return ", ".join(told) + (f" and {len(letters) - 3} more" if len(letters) > 3 else "")


def _prints(letter: str) -> bool:
    kind = unicodedata.category(letter)
    if letter in _SPACES or ord(letter) in _SELECTORS or kind in _NO_GLYPH:
        return True
    return kind != "Cc" and ord(letter) in _known()


@cache
def _known() -> frozenset[int]:
    known: set[int] = set()
    for path in fonts.files():
        for codes, _ in runs(path.read_bytes()):
            known.update(codes)
    return frozenset(known)


def runs(font: bytes) -> Iterator[tuple[range, int]]:
    """What the fonts of a file have glyphs for, each run with the number of its first glyph, by their `cmap` tables."""
    starts = [0]
    if font[:4] == _COLLECTION:
        (count,) = struct.unpack_from(">I", font, 8)
        starts = list(struct.unpack_from(f">{count}I", font, 12))
    tables = {table for at in starts for table in _tables(font, at)}
    for start in sorted(tables):
        (form,) = struct.unpack_from(">H", font, start)
        if form == 12:
            yield from _groups(font, start)
        elif form == 4:
            yield from _segments(font, start)
        elif form == 0:
            yield from (
                (range(code, code + 1), glyph) for code, glyph in enumerate(font[start + 6 : start + 262]) if glyph
            )


def _tables(font: bytes, at: int) -> Iterator[int]:
    """Where the map from Unicode begins, the widest that the font has."""
    (count,) = struct.unpack_from(">H", font, at + 4)
    for index in range(count):
        tag, _, offset, _ = struct.unpack_from(">4sIII", font, at + 12 + 16 * index)
        if tag == b"cmap":
            (maps,) = struct.unpack_from(">H", font, offset + 2)
            found = [struct.unpack_from(">HHI", font, offset + 4 + 8 * number) for number in range(maps)]
            kinds = {(platform, encoding): offset + where for platform, encoding, where in found}
            yield from [kinds[kind] for kind in _WIDEST_FIRST if kind in kinds][:1]


def _groups(font: bytes, start: int) -> Iterator[tuple[range, int]]:
    (count,) = struct.unpack_from(">I", font, start + 12)
    for number in range(count):
        first, last, glyph = struct.unpack_from(">III", font, start + 16 + 12 * number)
        # Glyph 0 is the box that stands for a missing one.
        skipped = 0 if glyph else 1
        yield range(first + skipped, last + 1), glyph + skipped


def _segments(font: bytes, start: int) -> Iterator[tuple[range, int]]:
    (doubled,) = struct.unpack_from(">H", font, start + 6)
    count, rest = doubled // 2, start + 16 + doubled
    ends = struct.unpack_from(f">{count}H", font, start + 14)
    firsts = struct.unpack_from(f">{count}H", font, rest)
    deltas = struct.unpack_from(f">{count}H", font, rest + doubled)
    offsets = struct.unpack_from(f">{count}H", font, rest + 2 * doubled)
    for index, (first, last, delta, offset) in enumerate(zip(firsts, ends, deltas, offsets, strict=True)):
        if first == 0xFFFF:
            continue  # the end of the table
        if not offset:
            yield range(first, last + 1), (first + delta) & 0xFFFF
            continue
        at = rest + 2 * doubled + 2 * index + offset
        glyphs = struct.unpack_from(f">{last - first + 1}H", font, at)
        found = ((first + place, glyph) for place, glyph in enumerate(glyphs) if glyph)
        yield from ((range(code, code + 1), (glyph + delta) & 0xFFFF) for code, glyph in found)

"""How wide text is in our fonts, from their own tables: letter by letter, so that no text is wider when it is set."""

import re
import struct
import unicodedata
from collections.abc import Mapping
from functools import cache

from deedbox.pdf.marks import fonts, glyphs
from deedbox.pdf.marks.fonts import Hand

_FULL = 1.0
"""Of the size: the width of a Chinese, Japanese or Korean character, and of what no table tells."""
_WORDS = re.compile(r"[^ -]*[ -]|[^ -]+")
"""A line may end after a space or a hyphen."""
_NO_WIDTH = ("Mn", "Me", "Cf")


def width(text: str) -> float:
    """Of the text on one line, in parts of its size."""
    return _width(text, _plain())


def width_by_hand(text: str, hand: Hand) -> float:
    """Of the text as a signature in this hand, or in the one that its script has."""
    return _width(text, _by_hand(hand))


def lines(text: str, room: float) -> int:
    """How many lines the text takes where each has so much room, in parts of its size."""
    return sum(_wrapped(paragraph, room) for paragraph in text.splitlines() or [""])


def _wrapped(paragraph: str, room: float) -> int:
    count, used, space = 1, 0.0, width(" ")
    for word in _WORDS.findall(paragraph):
        long = width(word.rstrip(" "))
        if used and used + long > room:
            count, used = count + 1, 0.0
        used += long
        if used > room:  # such a word is parted wherever a line ends
            more = int(used / room) if room > 0 else len(word)
            count, used = count + more, used - more * room
        used += space * word.endswith(" ")
    return count


def _width(text: str, table: Mapping[str, float]) -> float:
    return sum(table[letter] if letter in table else _rare(letter) for letter in text)


def _rare(letter: str) -> float:
    return 0.0 if unicodedata.category(letter) in _NO_WIDTH else _FULL


@cache
def _plain() -> Mapping[str, float]:
    return _table(fonts.PLAIN)


@cache
def _by_hand(hand: Hand) -> Mapping[str, float]:
    return {**_plain(), **_table(fonts.packages(hand))}


def _table(packages: tuple[str, ...]) -> dict[str, float]:
    """Each letter as the first of the fonts that has it draws it; Chinese characters are as wide as they are high."""
    table: dict[str, float] = {}
    for package in reversed(packages):
        path = fonts.regular(package)
        if path is not None and path.suffix.lower() == ".ttf":
            font = path.read_bytes()
            advances, units = _advances(font)
            table |= {
                chr(code): advances[min(glyph, len(advances) - 1)] / units
                for codes, first in glyphs.runs(font)
                for glyph, code in enumerate(codes, first)
                if unicodedata.category(chr(code)) not in _NO_WIDTH
            }
    return table


def _advances(font: bytes) -> tuple[tuple[int, ...], int]:
    """The advance of each glyph, the last for all after it, and the units of the size."""
    (count,) = struct.unpack_from(">H", font, 4)
    at = {
        tag: offset
        for tag, _, offset, _ in (struct.unpack_from(">4sIII", font, 12 + 16 * number) for number in range(count))
    }
    (units,) = struct.unpack_from(">H", font, at[b"head"] + 18)
    (wide,) = struct.unpack_from(">H", font, at[b"hhea"] + 34)
    return struct.unpack_from(f">{2 * wide}H", font, at[b"hmtx"])[::2], units

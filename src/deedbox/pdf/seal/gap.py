"""The gap in a file that holds the signature, the only bytes that the signature does not cover."""

import hashlib
import re
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from deedbox.kernel.errors import BadRequest

_RANGES = re.compile(rb"/ByteRange\s*\[\s*(\d{1,12})\s+(\d{1,12})\s+(\d{1,12})\s+(\d{1,12})\s*\]")
_HEX = re.compile(rb"(?:[0-9a-f]{2})*|(?:[0-9A-F]{2})*")
_INDEFINITE = 0x80


class Gap(Struct, frozen=True):
    """The bytes that a signature does not cover, `<`, digits, `>`; `covered` is where the bytes that it covers end."""

    start: int
    end: int
    covered: int


def find(data: bytes, byte_range: Sequence[Any]) -> Gap:
    """The gap of a byte range; BadRequest says why it is not exactly one string of digits."""
    if len(byte_range) != 4 or not all(isinstance(number, int) for number in byte_range):
        raise BadRequest("The byte range of a signature is not four numbers.")
    begin, size, end, rest = (int(number) for number in byte_range)
    if begin != 0 or size <= 0 or rest <= 0 or not size < end <= end + rest <= len(data):
        raise BadRequest("The byte range of a signature does not lie inside the file, with one gap.")
    if end - size < 4 or data[size : size + 1] != b"<" or data[end - 1 : end] != b">":
        raise BadRequest("The gap in the byte range of a signature is not the signature's own place.")
    return Gap(size, end, end + rest)


def contents(data: bytes, place: Gap) -> bytes:
    """The signature in the gap; BadRequest when anything else is in it, be it in the padding."""
    digits = data[place.start + 1 : place.end - 1]
    if not _HEX.fullmatch(digits):
        raise BadRequest("The place of a signature holds more than hexadecimal digits of one kind.")
    filled = bytes.fromhex(digits.decode("ascii"))
    size = _encoded_bytes(filled)
    if filled[size:].strip(b"\0"):
        raise BadRequest("Something other than zeros follows the signature in its place.")
    return filled[:size]


def digest(data: bytes, place: Gap, algorithm: str) -> bytes:
    """The hash of all that the signature covers."""
    counted = hashlib.new(algorithm)
    counted.update(memoryview(data)[: place.start])
    counted.update(memoryview(data)[place.end : place.covered])
    return counted.digest()


def traces(data: bytes) -> list[list[int]]:
    """Every byte range that is written in the file, whether or not anything leads to it."""
    return [[int(number) for number in found.groups()] for found in _RANGES.finditer(data)]


def _encoded_bytes(filled: bytes) -> int:
    if len(filled) < 2 or filled[0] != 0x30:
        raise BadRequest("The place of a signature holds no signature.")
    first = filled[1]
    if first == _INDEFINITE:
        return _indefinite_bytes(filled)
    count = first & 0x7F if first > _INDEFINITE else 0
    size = 2 + count + (int.from_bytes(filled[2 : 2 + count], "big") if count else first)
    if count > 4 or size > len(filled):
        raise BadRequest("The signature is cut short.")
    return size


def _indefinite_bytes(filled: bytes) -> int:
    """Other signers may write BER, whose end only a parser finds."""
    from asn1crypto import parser

    try:
        return int(parser.peek(filled))
    except (ValueError, RecursionError) as error:
        raise BadRequest("The signature is cut short.") from error

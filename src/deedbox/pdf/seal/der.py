"""DER, as far as signatures and time-stamps need it: written from parts, read strictly."""

from datetime import UTC, datetime
from functools import cache
from typing import NamedTuple

BOOLEAN, INTEGER, BIT_STRING, OCTETS, NULL, OID, UTF8, GENERALIZED_TIME = 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x0C, 0x18
SEQUENCE, SET = 0x30, 0x31
TRUE = b"\x01\x01\xff"
_LONG = 0x80
_LENGTH_BYTES = 4


class Malformed(ValueError):
    """These bytes are not the DER that was expected."""


class Item(NamedTuple):
    """One value: its tag, its contents, and both together as they were read."""

    tag: int
    content: bytes
    whole: bytes


def tag_value(tag: int, *parts: bytes) -> bytes:
    content = b"".join(parts)
    size = len(content)
    if size < _LONG:
        return bytes((tag, size)) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes((tag, _LONG | len(length))) + length + content


def sequence(*parts: bytes) -> bytes:
    return tag_value(SEQUENCE, *parts)


def set_of(*parts: bytes) -> bytes:
    """A SET OF, which DER wants in the order of the encodings."""
    return tag_value(SET, *sorted(parts))


def explicit(number: int, *parts: bytes) -> bytes:
    """A constructed value with a context-specific tag; IMPLICIT looks the same when the inner value is constructed."""
    return tag_value(0xA0 | number, *parts)


def octets(content: bytes) -> bytes:
    return tag_value(OCTETS, content)


def integer(number: int) -> bytes:
    size = (number if number >= 0 else ~number).bit_length() // 8 + 1
    return tag_value(INTEGER, number.to_bytes(size, "big", signed=True))


@cache
def oid(dotted: str) -> bytes:
    first, second, *rest = map(int, dotted.split("."))
    return tag_value(OID, *(_base_128(arc) for arc in (first * 40 + second, *rest)))


def generalized_time(moment: datetime) -> bytes:
    """The moment in whole seconds, UTC."""
    return tag_value(GENERALIZED_TIME, moment.astimezone(UTC).strftime("%Y%m%d%H%M%SZ").encode())


def bits(*numbers: int) -> bytes:
    """A BIT STRING of named bits, of which these are set; trailing zeros are left off, as DER demands."""
    size = max(numbers) + 1
    value = sum(1 << (-(-size // 8) * 8 - 1 - number) for number in numbers)
    return tag_value(BIT_STRING, bytes([-size % 8]), value.to_bytes(-(-size // 8), "big"))


def moment(digits: str) -> datetime:
    """The moment in whole seconds, UTC, that fourteen digits tell; Malformed if they tell none."""
    try:
        if len(digits) != 14 or not digits.isdecimal() or not digits.isascii():
            raise Malformed("A time does not have fourteen digits")
        day, time = f"{digits[:4]}-{digits[4:6]}-{digits[6:8]}", f"{digits[8:10]}:{digits[10:12]}:{digits[12:]}"
        return datetime.fromisoformat(f"{day}T{time}+00:00")
    except ValueError as error:
        raise Malformed("A time cannot be read") from error


def _base_128(arc: int) -> bytes:
    digits = [arc & 0x7F]
    while arc := arc >> 7:
        digits.append(0x80 | arc & 0x7F)
    return bytes(reversed(digits))


def read(data: bytes, start: int = 0) -> Item:
    """The value that begins at start; Malformed if it is cut short or its length is not in the shortest form."""
    begin = start + 2
    if begin > len(data) or data[start] & 0x1F == 0x1F:
        raise Malformed("A value is cut short, or its tag has more than one byte")
    size = data[start + 1]
    if size & _LONG:
        count = size & ~_LONG
        length = data[begin : begin + count]
        if not 1 <= count <= _LENGTH_BYTES or len(length) < count or length[0] == 0:
            raise Malformed("A length is indefinite, cut short or longer than it needs to be")
        size, begin = int.from_bytes(length, "big"), begin + count
        if size < _LONG:
            raise Malformed("A length is longer than it needs to be")
    end = begin + size
    if end > len(data):
        raise Malformed("A value is cut short")
    return Item(data[start], data[begin:end], data[start:end])


def only(data: bytes, tag: int) -> Item:
    """The one value that these bytes are; Malformed if its tag is another or bytes follow it."""
    item = read(data)
    if item.tag != tag or len(item.whole) != len(data):
        raise Malformed(f"Not exactly one value with the tag {tag:#x}")
    return item


def items(content: bytes) -> list[Item]:
    """The values one after the other, to the last byte."""
    found, at = [], 0
    while at < len(content):
        item = read(content, at)
        found.append(item)
        at += len(item.whole)
    return found


def children(data: bytes, tag: int = SEQUENCE) -> list[Item]:
    """What the one value, which must have this tag, consists of."""
    return items(only(data, tag).content)


def number(item: Item) -> int:
    """The value of an INTEGER in its shortest form."""
    content = item.content
    redundant = len(content) > 1 and (content[0], content[1] >> 7) in ((0x00, 0), (0xFF, 1))
    if item.tag != INTEGER or not content or redundant:
        raise Malformed("Not an INTEGER in its shortest form")
    return int.from_bytes(content, "big", signed=True)

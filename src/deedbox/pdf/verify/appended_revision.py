"""One appended revision, read strictly: its objects one after the other, the table that names each of them, the end.

Every byte is accounted for. The table says exactly what is written, and what is written is in the table."""

import re
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from deedbox.kernel import limits as shared_limits
from deedbox.pdf import limits
from deedbox.pdf.seal.der import Malformed
from deedbox.pdf.verify.syntax import Object, ObjectReference, array, integer, object_at, value_at

_END = re.compile(rb"startxref\n(0|[1-9]\d{0,11})\n%%EOF\n\Z")
_BEFORE = re.compile(rb"startxref\s+(\d{1,12})\s+%%EOF\s*\Z")
_END_BYTES = 64
_BEFORE_BYTES = 1024
_SECTION = re.compile(rb"(0|[1-9]\d{0,9}) ([1-9]\d{0,5})\n")
_ROW = re.compile(rb"(\d{10}) (\d{5}) ([nf]) \n")
_TRAILER = {"Root", "Info", "Size", "Prev", "ID"}
_TABLE_STREAM = {"Type", "W", "Index", "Length", "Filter"}
_NOBODY = (ObjectReference(0, 65535), 0)
"""The entry that every table of a whole file begins with, and that some writers repeat."""


class Appended(NamedTuple):
    """A revision: where it begins and ends in the file, its objects in the order in which they stand, its trailer."""

    start: int
    end: int
    objects: dict[ObjectReference, Object]
    trailer: dict[str, Any]
    places: dict[ObjectReference, int]

    @property
    def size(self) -> int:
        return integer(self.trailer.get("Size"))


def read(data: bytes, before: int = 0) -> Appended:
    """The last revision of a file, of which `data` is the end after so many other bytes; Malformed says what is off."""
    end = _END.search(data, max(0, len(data) - _END_BYTES))
    if end is None:
        raise Malformed("The file does not end as revisions end")
    table_at = int(end[1]) - before
    if not 0 <= table_at < end.start():
        raise Malformed("The table of objects is not where the file says")
    rows, trailer, own = _table(data, table_at, end.start())
    places = {reference: at - before for reference, at in rows}
    objects = _objects(data, places, table_at, own)
    start = min(places.values())
    if own is not None and places.get(own) != table_at:
        raise Malformed("The table of objects does not name itself")
    if len(data) - start > shared_limits.SEAL_TAIL_BYTES:
        raise Malformed("The last revision is larger than those that are written here")
    _check_end_before(data, start, integer(trailer.get("Prev")))
    if integer(trailer.get("Size")) <= max(reference.number for reference in places):
        raise Malformed("The revision has more objects than it says")
    return Appended(start + before, len(data) + before, objects, trailer, {k: v + before for k, v in places.items()})


def _check_end_before(data: bytes, start: int, previous: int) -> None:
    found = _BEFORE.search(data, max(0, start - _BEFORE_BYTES), start)
    if found is None or int(found[1]) != previous:
        raise Malformed("The revision does not follow the one before it")


def _objects(
    data: bytes, places: dict[ObjectReference, int], table_at: int, own: ObjectReference | None
) -> dict[ObjectReference, Object]:
    """Every object, if they follow each other without a gap from the first to the table."""
    wanted = sorted((at, reference) for reference, at in places.items() if reference != own)
    if not wanted or wanted[0][0] < 0:
        raise Malformed("The revision begins too far from its end, or has no objects")
    found: dict[ObjectReference, Object] = {}
    at = wanted[0][0]
    for place, reference in wanted:
        if place != at:
            raise Malformed("Between two objects is something that no table names")
        written, value, at = object_at(data, at)
        if written != reference:
            raise Malformed("An object has another number than the table says")
        found[reference] = value
    if at != table_at:
        raise Malformed("Between the objects and their table is something that no table names")
    return found


def _table(
    data: bytes, at: int, end: int
) -> tuple[list[tuple[ObjectReference, int]], dict[str, Any], ObjectReference | None]:
    """The rows of the table, the trailer, and the number of the table itself if it is a stream."""
    if data.startswith(b"xref\n", at):
        rows, trailer = _plain_table(data, at, end)
        own = None
    else:
        rows, trailer, own = _stream_table(data, at, end)
    numbers = [reference.number for reference, _ in rows]
    if rows and rows[0] == _NOBODY:
        rows = rows[1:]
    if not rows or numbers != sorted(set(numbers)) or len(rows) > limits.SEAL_OBJECTS:
        raise Malformed("The table of objects names one twice, or is not in order")
    if not set(trailer) <= _TRAILER:
        raise Malformed("The trailer has entries that trailers do not have here")
    return rows, trailer, own


def _plain_table(data: bytes, at: int, end: int) -> tuple[list[tuple[ObjectReference, int]], dict[str, Any]]:
    at += len(b"xref\n")
    rows = []
    while section := _SECTION.match(data, at):
        at = section.end()
        for number in range(int(section[1]), int(section[1]) + int(section[2])):
            row = _ROW.match(data, at)
            if row is None:
                raise Malformed("The table of objects is not as tables are written")
            rows.append(_row(number, int(row[2]), int(row[1]), in_use=row[3] == b"n"))
            at = row.end()
    if not data.startswith(b"trailer\n", at):
        raise Malformed("The table of objects is not as tables are written")
    trailer, at = value_at(data, at + len(b"trailer\n"))
    if data[at:end] != b"\n" or not isinstance(trailer, dict):
        raise Malformed("The trailer is not as trailers are written")
    return rows, trailer


def _stream_table(
    data: bytes, at: int, end: int
) -> tuple[list[tuple[ObjectReference, int]], dict[str, Any], ObjectReference]:
    own, table, after = object_at(data, at)
    head = table.value
    # pyHanko leaves an empty line here.
    if data[after:end] not in (b"", b"\n") or not isinstance(head, dict) or table.stream is None:
        raise Malformed("The table of objects is not as tables are written")
    widths = [integer(width) for width in array(head.get("W"))]
    if head.get("Type") != "XRef" or len(widths) != 3 or not all(1 <= width <= 8 for width in widths):
        raise Malformed("The table of objects is not as tables are written")
    content = plain_stream(table)
    numbers = list(_numbers([integer(one) for one in array(head.get("Index"))]))
    if len(content) != sum(widths) * len(numbers):
        raise Malformed("The table of objects is not as long as it says")
    rows = []
    for place, number in enumerate(numbers):
        begin = place * sum(widths)
        kind, first, second = _fields(content[begin : begin + sum(widths)], widths)
        rows.append(_row(number, second, first, in_use=kind == 1))
    trailer = {key: value for key, value in head.items() if key not in _TABLE_STREAM}
    return rows, trailer, own


def _row(number: int, generation: int, at: int, *, in_use: bool) -> tuple[ObjectReference, int]:
    row = ObjectReference(number, generation), at
    if not in_use and row != _NOBODY:
        raise Malformed("A revision here takes no object away")
    if in_use and number == 0:
        raise Malformed("No object has the number 0")
    return row if in_use else _NOBODY


def _numbers(index: list[int]) -> Iterator[int]:
    if len(index) % 2 or -1 in index or sum(index[1::2]) > limits.SEAL_OBJECTS:
        raise Malformed("The table of objects is not as tables are written")
    for first, count in zip(index[::2], index[1::2], strict=True):
        yield from range(first, first + count)


def _fields(row: bytes, widths: list[int]) -> tuple[int, int, int]:
    a, b, _ = widths
    return int.from_bytes(row[:a], "big"), int.from_bytes(row[a : a + b], "big"), int.from_bytes(row[a + b :], "big")


def plain_stream(one: Object) -> bytes:
    """What a stream holds, written as it is or by FlateDecode without parameters; Malformed for any other."""
    if one.stream is None or not isinstance(one.value, dict):
        raise Malformed("An object is not a stream")
    if "Filter" not in one.value:
        return one.stream
    if one.value["Filter"] != "FlateDecode":
        raise Malformed("A stream is packed in a way that is not used here")
    unpacking = zlib.decompressobj()
    try:
        content = unpacking.decompress(one.stream, shared_limits.SEAL_TAIL_BYTES)
    except zlib.error as error:
        raise Malformed("A stream cannot be unpacked") from error
    if not unpacking.eof or unpacking.unused_data:
        raise Malformed("A stream holds more than it should")
    return content

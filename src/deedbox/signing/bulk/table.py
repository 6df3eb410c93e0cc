"""A CSV file as lines of cells: its encoding and separator found out, its lines read as they are asked for."""

import codecs
import csv
import io
import re
from collections.abc import Iterator, Sequence
from typing import IO, NamedTuple, TextIO

from deedbox.kernel import limits
from deedbox.kernel.errors import BadRequest

_SEPARATORS = ",;\t"
_NOT_TEXT = re.compile("[\x00-\x08\x0e-\x1f\x7f]")
_MARKS = [(codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16")]
_NAMES = {"utf-8-sig": "UTF-8", "utf-8": "UTF-8", "cp1252": "Windows-1252"}
_ARCHIVE = b"PK\x03\x04"


class Line(NamedTuple):
    """One line of the table."""

    number: int
    """Of the file's line on which it begins, from 1."""
    cells: Sequence[str]


class Unreadable(Exception):
    """From this line on the file cannot be read."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line
        self.reason = reason


def lines(file: IO[bytes]) -> Iterator[Line]:
    """The lines that hold anything, the headings first; BadRequest if it is no CSV, Unreadable where it ends to be."""
    encoding = _encoding(file)
    file.seek(0)
    text = io.TextIOWrapper(file, encoding=encoding, newline="")
    separator, skipped = _separator(text)
    text.seek(0)
    yield from _read(text, separator, skipped)


def _encoding(file: IO[bytes]) -> str:
    """The encoding in which all of the file is text; BadRequest, with the line, if there is none."""
    file.seek(0)
    head = file.read(limits.CHARSET_SAMPLE_BYTES)
    if not head:
        raise BadRequest("The CSV file is empty")
    if head.startswith(_ARCHIVE):
        raise BadRequest("The file is a spreadsheet or an archive, not CSV: save it as CSV and send that")
    for name in _candidates(head):
        wrong = _first_wrong(file, name)
        if wrong is None:
            return name
    told = _NAMES.get(name, "UTF-16")
    raise BadRequest(
        f"line {wrong}: the file is not text in {told}, though it looks so. Save it as CSV in UTF-8 and send it again."
        if told != "Windows-1252"
        else f"line {wrong}: the file is text neither in UTF-8 nor in UTF-16 or Windows-1252. Save it as CSV in UTF-8."
    )


def _candidates(head: bytes) -> list[str]:
    for mark, name in _MARKS:
        if head.startswith(mark):
            return [name]
    # UTF-16 without a mark: of most letters one byte is NUL, always on the same side.
    even, odd, pairs = head[::2].count(0), head[1::2].count(0), len(head) // 2
    if 2 * max(even, odd) > pairs:
        return ["utf-16-le" if odd > even else "utf-16-be"]
    return ["utf-8", "cp1252"]


def _first_wrong(file: IO[bytes], encoding: str) -> int | None:
    """The number of the first line that is no text in this encoding; None if all are."""
    file.seek(0)
    decoder, line, ended = codecs.getincrementaldecoder(encoding)(), 1, False
    while not ended:
        piece = file.read(limits.BLOB_CHUNK_BYTES)
        ended = not piece
        try:
            text = decoder.decode(piece, final=ended)
        except UnicodeDecodeError as error:
            return line + piece[: error.start].count(b"\n")
        line += text.count("\n")
    return None


def _separator(text: TextIO) -> tuple[str, int]:
    """What separates cells, and how many lines stand above the headings: `sep=;`, as spreadsheets write it."""
    first = text.readline(limits.CSV_SAMPLE_CHARS)
    declared = first.rstrip("\r\n")
    if len(declared) == 5 and declared.lower().startswith("sep=") and declared[4] in _SEPARATORS:
        return declared[4], 1
    return max(_SEPARATORS, key=lambda one: _width(first, one)), 0


def _width(headings: str, separator: str) -> int:
    try:
        return len(next(csv.reader([headings], delimiter=separator), []))
    except csv.Error:
        return 0


def _read(text: TextIO, separator: str, skipped: int) -> Iterator[Line]:
    csv.field_size_limit(limits.BULK_CELL_CHARS)  # no other part of the server reads CSV
    for _ in range(skipped):
        text.readline()
    reader = csv.reader(_checked(text, skipped), delimiter=separator, strict=True, skipinitialspace=True)
    while True:
        begins = skipped + reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise Unreadable(begins, _reason(error)) from error
        if len(cells) > limits.BULK_COLUMNS:
            raise Unreadable(begins, f"more than {limits.BULK_COLUMNS} columns")
        if any(map(str.strip, cells)):
            yield Line(begins, cells)


def _checked(text: TextIO, skipped: int) -> Iterator[str]:
    """The lines of the text; Unreadable for one that holds what no text does, or never ends."""
    most, number = limits.BULK_LINE_CHARS, skipped
    while line := text.readline(most):
        number += 1
        if _NOT_TEXT.search(line):
            raise Unreadable(number, "it holds a NUL or another control character, which is no text")
        if len(line) == most:
            raise Unreadable(number, f"it is longer than {most:,} characters (is a quotation mark unclosed?)")
        yield line


def _reason(error: csv.Error) -> str:
    if "field larger" in str(error):
        return f"a cell is longer than {limits.BULK_CELL_CHARS:,} characters (is a quotation mark unclosed?)"
    if "end of data" in str(error):
        return "a quotation mark is opened and never closed"
    return f"it cannot be read as CSV: {error}"

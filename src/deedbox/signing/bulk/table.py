"""A CSV file as lines of cells: its encoding and separator found out, its lines read as they are asked for."""

import codecs
import csv
import io
import re
from collections.abc import Iterator, Sequence
from typing import IO, NamedTuple, TextIO

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.errors import BadRequest
from deedbox.signing import limits

_SEPARATORS = ",;\t"
_NOT_TEXT = re.compile("[\x00-\x08\x0e-\x1f\x7f]")
_MARKS = [(codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16")]
_NAMES = {"utf-8-sig": "UTF-8", "utf-8": "UTF-8", "cp1252": "Windows-1252"}
_ARCHIVE = b"PK\x03\x04"


class TableLine(NamedTuple):
    """One line of the table."""

    number: int
    """Of the file's line on which it begins, from 1."""
    cells: Sequence[str]


class UnreadableLine(NamedTuple):
    """A line that cannot be read."""

    number: int
    reason: str


def lines(file: IO[bytes]) -> Iterator[TableLine | UnreadableLine]:
    """The lines that hold anything, the headings first; BadRequest if it is no CSV at all, or has too many lines."""
    encoding = _encoding(file)
    file.seek(0)
    text = io.TextIOWrapper(file, encoding=encoding, newline="")
    separator, skipped = _separator(text)
    text.seek(0)
    yield from _read(text, separator, skipped)


def _encoding(file: IO[bytes]) -> str:
    """The encoding in which all of the file is text; BadRequest, with the line, if there is none."""
    file.seek(0)
    head = file.read(shared_limits.CHARSET_SAMPLE_BYTES)
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
        piece = file.read(shared_limits.BLOB_CHUNK_BYTES)
        ended = not piece
        try:
            text = decoder.decode(piece, final=ended)
        except UnicodeDecodeError as error:
            return line + piece[: error.start].count(b"\n")
        line += text.count("\n")
    return None


def _separator(text: TextIO) -> tuple[str, int]:
    """What separates cells, and how many lines stand above the headings: `sep=;`, as spreadsheets write it."""
    first = text.readline(shared_limits.CSV_SAMPLE_CHARS)
    declared = first.rstrip("\r\n")
    if len(declared) == 5 and declared.lower().startswith("sep=") and declared[4] in _SEPARATORS:
        return declared[4], 1
    return max(_SEPARATORS, key=lambda one: _width(first, one)), 0


def _width(headings: str, separator: str) -> int:
    try:
        return len(next(csv.reader([headings], delimiter=separator), []))
    except csv.Error:
        return 0


def _read(text: TextIO, separator: str, skipped: int) -> Iterator[TableLine | UnreadableLine]:
    csv.field_size_limit(shared_limits.BULK_CELL_CHARS)  # no other part of the server reads CSV
    for _ in range(skipped):
        text.readline()
    source = _Source(text, skipped)
    reader = csv.reader(source, delimiter=separator, strict=True, skipinitialspace=True)
    while True:
        begins = source.next_line()
        try:
            cells = next(reader)
        except StopIteration:
            return
        except (csv.Error, _NotText) as error:
            yield UnreadableLine(begins, _reason(error, begins, source.number))
            continue
        if len(cells) > shared_limits.BULK_COLUMNS:
            yield UnreadableLine(begins, f"more than {shared_limits.BULK_COLUMNS} columns")
        elif any(map(str.strip, cells)):
            yield TableLine(begins, cells)


class _NotText(Exception):
    """Why a line can be no part of a table."""


class _Source:
    """The lines of the text, for the reader of CSV, which goes on behind one that is refused."""

    def __init__(self, text: TextIO, skipped: int) -> None:
        self._text = text
        self._left = 0
        """Characters that the line of the table may still have: a cell in quotation marks may go over many lines."""
        self.number = skipped

    def next_line(self) -> int:
        """The number of the line on which the next one of the table begins."""
        self._left = limits.BULK_LINE_CHARS
        return self.number + 1

    def __iter__(self) -> "_Source":
        return self

    def __next__(self) -> str:
        line = self._text.readline(self._left + 1)
        if not line:
            raise StopIteration
        self.number += 1
        if self.number > limits.BULK_LINES:
            raise BadRequest(f"line {self.number}: the CSV file has more than {limits.BULK_LINES:,} lines")
        self._left -= len(line)
        if self._left < 0:
            self._skip(line)
            raise _NotText(f"it is longer than {limits.BULK_LINE_CHARS:,} characters (is a quotation mark unclosed?)")
        if _NOT_TEXT.search(line):
            raise _NotText("it holds a NUL or another control character, which is no text")
        return line

    def _skip(self, line: str) -> None:
        """Leaves out the rest of the line."""
        while line and not line.endswith(("\n", "\r")):
            line = self._text.readline(limits.BULK_LINE_CHARS)


def _reason(error: Exception, begins: int, ends: int) -> str:
    if "end of data" in str(error):
        return "a quotation mark is opened and never closed, so the rest of the file was not read"
    unread = f"; lines {begins} to {ends} were not read" if ends > begins else ""
    if "field larger" in str(error):
        most = shared_limits.BULK_CELL_CHARS
        return f"a cell is longer than {most:,} characters (is a quotation mark unclosed?){unread}"
    return f"{error}{unread}" if isinstance(error, _NotText) else f"it cannot be read as CSV: {error}{unread}"

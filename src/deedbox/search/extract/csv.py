"""A table with its delimiter found, as one line a row."""

import csv
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from deedbox.kernel.errors import BadRequest
from deedbox.kernel.limits import CSV_SAMPLE_CHARS
from deedbox.search.extract.charset import decode
from deedbox.search.extract.table import column_names, write
from deedbox.search.extract.text import TextBuilder, clean
from deedbox.search.library.upload import Extraction
from deedbox.search.limits import CSV_FIELD_CHARS, CSV_SAMPLE_ROWS, CSV_WRITTEN_CHARS

_DELIMITERS = ",;\t|"


def read(data: bytes) -> Extraction:
    text = clean(decode(data, "csv"))
    delimiter, begin = _declared(text)
    return _read(text, begin, delimiter or _sniff(text[begin : begin + CSV_SAMPLE_CHARS]))


def read_tabs(data: bytes) -> Extraction:
    """A table whose name says what parts its values."""
    return _read(clean(decode(data, "tsv")), 0, "\t")


def _read(text: str, begin: int, delimiter: str) -> Extraction:
    draft = TextBuilder()
    try:
        names = column_names(list(islice(_rows(text, begin, delimiter), 2)))
        if _written_chars(text, delimiter, names) > CSV_WRITTEN_CHARS:
            draft.add(text)  # a table too long to be written anew in good time is still a text
        else:
            write(draft, _rows(text, begin, delimiter))
        return draft.finish()
    except csv.Error as error:
        raise BadRequest(f"This CSV file cannot be read: {_reason(error)}") from error


def _declared(text: str) -> tuple[str | None, int]:
    """The delimiter that a first line `sep=;` names, as spreadsheets write it, and where the table begins."""
    line, end, _ = text[:8].partition("\n")
    if end and len(line) == 5 and line.lower().startswith("sep="):
        return line[4], len(line) + 1
    return None, 0


def _sniff(sample: str) -> str:
    """The delimiter by which most rows of the sample have equally many fields, and more than one."""

    def score(delimiter: str) -> tuple[int, int]:
        widths = Counter(len(row) for row in islice(_rows(sample, 0, delimiter), CSV_SAMPLE_ROWS) if len(row) > 1)
        return max(((count, width) for width, count in widths.items()), default=(0, 0))

    try:
        return max(_DELIMITERS, key=score)
    except csv.Error:
        return ","


def _rows(text: str, begin: int, delimiter: str) -> Iterator[list[str]]:
    csv.field_size_limit(CSV_FIELD_CHARS)
    for row in csv.reader(_lines(text, begin), delimiter=delimiter, skipinitialspace=True):
        if any(row) and any(map(str.strip, row)):
            yield row


def _lines(text: str, begin: int) -> Iterator[str]:
    while begin < len(text):
        end = text.find("\n", begin) + 1 or len(text)
        yield text[begin:end]
        begin = end


def _written_chars(text: str, delimiter: str, names: list[str]) -> int:
    """At most so many characters the table has as it would be written."""
    return len(text) + 2 * text.count(delimiter) + text.count("\n") * sum(len(name) + 2 for name in names)


def _reason(error: csv.Error) -> str:
    if "field limit" in str(error):
        return f"a field is longer than {CSV_FIELD_CHARS:,} characters (an unclosed quotation mark?)"
    return str(error)

"""The rows of a table as lines, each value with the name of its column, so that a row can be found on its own."""

from collections.abc import Iterable
from itertools import chain, islice

from deedbox.search.extract.text import TextBuilder

_NAME_CHARS = 64


def write(draft: TextBuilder, rows: Iterable[list[str]]) -> None:
    """One line a row; rows without a word are left out."""
    full = (row for row in rows if any(map(str.strip, row)))
    first = list(islice(full, 2))
    names = column_names(first)
    for number, row in enumerate(chain(first, full)):
        draft.add(line(row, names if number else []) + "\n")


def column_names(first_rows: list[list[str]]) -> list[str]:
    """The names in the first of two rows, if it looks like names; none if there is no second row."""
    names = [" ".join(name.split()) for name in first_rows[0]] if len(first_rows) == 2 else []
    if len(names) < 2 or len(set(names)) < len(names):
        return []
    return names if all(name and len(name) <= _NAME_CHARS and not is_number(name) for name in names) else []


def label_values(names: Iterable[str], values: Iterable[str]) -> str:
    """The values that are not empty, each with its name, on one line."""
    return " | ".join(f"{name}: {value}" for name, value in zip(names, values, strict=False) if value)


def is_number(value: str) -> bool:
    return any(letter.isdigit() for letter in value) and not any(letter.isalpha() for letter in value)


def line(row: list[str], names: list[str]) -> str:
    """The row on one line, each value with the name of its column where there are names."""
    values = [" ".join(value.split()) for value in row]
    if not names:
        return " | ".join(values)
    return " | ".join(filter(None, [label_values(names, values), *values[len(names) :]]))

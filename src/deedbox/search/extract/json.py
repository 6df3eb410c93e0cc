"""JSON as lines that can be found on their own: values with their names, and a list of records as a table."""

from collections.abc import Iterator
from typing import Any

import msgspec

from deedbox.kernel.errors import BadRequest
from deedbox.search.extract.charset import decode
from deedbox.search.extract.kinds import wrong_kind
from deedbox.search.extract.table import label_values
from deedbox.search.extract.text import TextBuilder, clean
from deedbox.search.library.upload import Extraction
from deedbox.search.limits import JSON_DEPTH, JSON_WRITTEN_BYTES

_DEEP = f"The values of this JSON file are nested more than {JSON_DEPTH:,} deep"


def read(data: bytes) -> Extraction:
    text = decode(data, "json")
    try:
        value = msgspec.json.decode(text.encode("utf-8", "replace"))
    except RecursionError as error:
        raise BadRequest(_DEEP) from error
    except msgspec.DecodeError as error:
        raise wrong_kind("json", "not JSON") from error
    draft = TextBuilder()
    if len(data) > JSON_WRITTEN_BYTES:  # too long to be written anew in good time
        draft.add(clean(text))
        return draft.finish()
    for name, line in _lines(value, (), 0):
        if name:
            draft.head(clean(name))
        draft.add(clean(line) + "\n")
    return draft.finish()


def _lines(value: Any, path: tuple[str, ...], depth: int) -> Iterator[tuple[str, str]]:
    """The lines of a value; the first of one that has a name of its own comes with it."""
    if depth > JSON_DEPTH:
        raise BadRequest(_DEEP)
    if isinstance(value, dict):
        yield from _object(value, path, depth)
    elif isinstance(value, list) and not _is_flat(value):
        for item in value:
            yield from _lines(item, path, depth + 1)
    elif text := _text(value):
        yield "", f"{'.'.join(path)}: {text}" if path else text


def _object(value: dict[str, Any], path: tuple[str, ...], depth: int) -> Iterator[tuple[str, str]]:
    flat = {name: _text(part) for name, part in value.items() if _is_flat(part)}
    if line := label_values(flat, flat.values()):
        yield "", f"{'.'.join(path)} | {line}" if path else line
    for name, part in value.items():
        if name not in flat:
            for number, (_, found) in enumerate(_lines(part, (*path, name), depth + 1)):
                yield "" if number or depth else name, found


def _is_flat(value: Any) -> bool:
    """Whether the value fits on the line of the record that it belongs to."""
    if isinstance(value, list):
        return not any(isinstance(item, dict | list) for item in value)
    return not isinstance(value, dict)


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(filter(None, map(_text, value)))
    if value is None or isinstance(value, bool):
        return {None: "", True: "true", False: "false"}[value]
    return " ".join(str(value).split())

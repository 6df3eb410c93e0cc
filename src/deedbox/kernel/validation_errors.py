"""What is wrong with a request's value, in plain words: made of msgspec's error, never of the value itself."""

import functools
import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from msgspec import inspect

from deedbox.kernel import limits

WORDS = "words"
"""The name, in a Meta's `extra`, of what is said of a text that its pattern does not match."""

_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
    "datetime": "a time such as 2026-03-01T12:00:00Z",
}
_TIME = f"must be {_KINDS['datetime']}"
_BOUNDS = {">=": "at least", "<=": "at most", ">": "more than", "<": "less than"}
_STEP = re.compile(r"\.(\w+)|\[[^\]]*\]")


def describe(kind: Any, error: msgspec.ValidationError) -> str:
    """The field and what is wrong with it: `signers[0].email: not an e-mail address`."""
    reason, place = split(error)
    if not place and reason.startswith("Expected `object`"):
        return "The body must be a JSON object"
    return _said(*locate(kind, error))


def locate(kind: Any, error: msgspec.ValidationError) -> tuple[str, str]:
    """The place, such as `.signers[0].email`, and what is wrong there."""
    reason, place = split(error)
    if missing := re.fullmatch("Object missing required field `(.*)`", reason):
        return f"{place}.{missing[1]}", "missing"
    if unknown := re.fullmatch("Object contains unknown field `(.*)`", reason, re.DOTALL):
        return f"{place}.{unknown[1]}", "there is no such field"
    return place, _of_type(kind, place, reason) or plain(reason)


def split(error: msgspec.ValidationError) -> tuple[str, str]:
    """The reason and the place, such as `.signers[0].email`; the place is empty at the top."""
    reason, at, place = str(error).rpartition(" - at `")
    if not at:
        return place, ""
    inside = place.removeprefix("key` in `")
    return reason, inside.rstrip("`").removeprefix("$").replace("[...]", "[]")


def plain(reason: str) -> str:
    """One of msgspec's reasons as one would say it."""
    for pattern, say in _SAYINGS:
        if found := re.match(pattern, reason, re.DOTALL):
            return say(found)
    return reason


def _said(place: str, what: str) -> str:
    where = place.removeprefix(".")[: limits.MISTAKE_CHARS]
    return f"{where}: {what[: limits.MISTAKE_CHARS]}" if where else what[: limits.MISTAKE_CHARS]


def _wrong_kind(found: re.Match[str]) -> str:
    kinds = [kind for kind in found[1].split(" | ") if kind != "null"] or ["null"]
    return "must be " + " or ".join(_KINDS.get(kind, kind) for kind in kinds)


def _length(found: re.Match[str]) -> str:
    kind, bound, number = found.groups()
    if (bound, number) == (">=", "1"):
        return "must not be empty"
    return f"{_BOUNDS[bound]} {number} {'characters' if kind == 'str' else 'entries'}"


_SAYINGS: list[tuple[str, Callable[[re.Match[str]], str]]] = [
    ("Expected `([^`]+)`, got `", _wrong_kind),
    ("Expected `(str|array|object)` of length (>=|<=) ([0-9]+)", _length),
    ("Expected `(?:int|float)` (>=|<=|>|<) (-?[0-9]+)(?:\\.0)?$", lambda found: f"{_BOUNDS[found[1]]} {found[2]}"),
    ("Expected `str` matching regex", lambda _: "not written as the API's description says"),
    ("Expected `datetime` with a timezone|Invalid RFC3339 encoded datetime", lambda _: _TIME),
    ("Number out of range|Integer value out of range", lambda _: "too large a number"),
    ("Invalid (?:enum )?value (.*)", lambda found: f"cannot be {found[1]}"),
]


def _of_type(kind: Any, place: str, reason: str) -> str | None:
    """What only the declaration of the field can tell: its own words, or the values that it may have."""
    if not reason.startswith(("Expected `str` matching", "Invalid enum value")):
        return None
    nodes = [_info(kind)]
    for step in _STEP.finditer(place):
        nodes = [inner for node in nodes for each in _unwrapped(node) for inner in _inside(each, step[1])]
    for each in (each for node in nodes for each in _unwrapped(node)):
        if isinstance(each, inspect.Metadata) and each.extra and WORDS in each.extra and reason.startswith("Expected"):
            return str(each.extra[WORDS])
        if isinstance(each, inspect.LiteralType) and reason.startswith("Invalid"):
            return "must be one of " + ", ".join(str(value) for value in each.values)
    return None


def _unwrapped(node: inspect.Type) -> Iterator[inspect.Type]:
    yield node
    inner = [node.type] if isinstance(node, inspect.Metadata) else []
    inner += node.types if isinstance(node, inspect.UnionType) else []
    for each in inner:
        yield from _unwrapped(each)


def _inside(node: inspect.Type, field: str | None) -> list[inspect.Type]:
    """The types of a struct's field, or, without a name, of what a list or an object holds."""
    if isinstance(node, inspect.StructType):
        return [each.type for each in node.fields if each.encode_name == field]
    if isinstance(node, inspect.DictType):
        return [node.key_type, node.value_type]
    return [node.item_type] if isinstance(node, (inspect.ListType, inspect.VarTupleType)) else []


@functools.lru_cache(maxsize=128)
def _info(kind: Any) -> inspect.Type:
    return inspect.type_info(kind)

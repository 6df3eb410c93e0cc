"""What is read can be written back: a PATCH may carry the record as GET gives it, and changes only what differs."""

import functools
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, inspect

from deedbox.kernel import limits
from deedbox.kernel.errors import BadRequest
from deedbox.web.http import body

WRITES = "writes"
"""The `opt` of a PATCH: the kind of change that it makes, and the kind of record that it takes back."""

_FIXED = "It cannot be changed: what is given must be as it is."

T = TypeVar("T", bound=msgspec.Struct)


def check(given: Mapping[str, Any], kind: type[msgspec.Struct], record: type[msgspec.Struct]) -> None:
    """Raises BadRequest for a body that could be written back to no record, before one is looked for."""
    if not given:
        raise BadRequest("No changes were given")
    for name, value in given.items():
        if name not in _fields(kind) and name not in _fields(record):
            raise BadRequest(f"{name[: limits.MISTAKE_CHARS]}: there is no such field")
        if name in _fields(kind) and not _is(record, name, value):
            as_new({name: value}, kind, record)


def changes(given: Mapping[str, Any], shown: msgspec.Struct, kind: type[T]) -> T | None:
    """What differs from the record as it is shown, as a change of it; None if nothing does.

    BadRequest names what cannot be changed."""
    known = msgspec.to_builtins(shown)
    different = {name: value for name, value in given.items() if name not in known or not _same(value, known[name])}
    if not different:
        return None
    return body.of_kind(kind, _changeable(different, known, kind, ""))


def as_new(given: Mapping[str, Any], kind: type[T], record: type[msgspec.Struct]) -> T:
    """The change that this would be of a record in which everything differs: to be judged where there is no record."""
    return body.of_kind(kind, _without_fixed(given, kind, record))


def describe(schemas: dict[str, Any], kind: type[msgspec.Struct], record: type[msgspec.Struct]) -> None:
    """Adds to the schema of the change what else may stand in it: fields of the record that cannot change."""
    taken = schemas[kind.__name__]["properties"]
    taken.update({name: {"description": _FIXED} for name in _fields(record) if name not in taken})
    for name in _fields(kind):
        inner, inside = _inner(kind, name), _inner(record, name)
        if inner and inside:
            describe(schemas, inner, inside)


def _changeable(given: Mapping[str, Any], shown: Mapping[str, Any], kind: Any, place: str) -> dict[str, Any]:
    """What was given, without what is fixed and as it was."""
    kept = {}
    for name, value in given.items():
        if name in _fields(kind):
            inner = _inner(kind, name)
            kept[name] = _each(value, shown.get(name), inner, f"{place}{name}") if inner else value
        elif name not in shown:
            kept[name] = value  # refused as unknown when it is decoded
        elif not _same(value, shown[name]):
            raise BadRequest(f"{place}{name}: cannot be changed")
    return kept


def _without_fixed(given: Mapping[str, Any], kind: Any, record: Any) -> dict[str, Any]:
    """What was given, without what only a record has."""
    kept = {}
    for name, value in given.items():
        inner, inside = _inner(kind, name), _inner(record, name)
        if inner and inside and isinstance(value, list):
            kept[name] = [_without_fixed(one, inner, inside) if isinstance(one, dict) else one for one in value]
        elif name in _fields(kind) or name not in _fields(record):
            kept[name] = value
    return kept


def _each(given: Any, shown: Any, kind: Any, place: str) -> Any:
    """The same for the records of a list; which is which, their ids tell."""
    if not isinstance(given, list) or not isinstance(shown, list):
        return given
    known = {one["id"]: one for one in shown if "id" in one}
    kept = []
    for number, one in enumerate(given):
        if isinstance(one, dict) and isinstance(one.get("id"), str):
            if one["id"] not in known:
                raise BadRequest(f"{place}[{number}].id: there is none with this id, or it is given twice")
            one = _changeable(one, known.pop(one["id"]), kind, f"{place}[{number}].")  # noqa: PLW2901
        kept.append(one)
    return kept


def _same(given: Any, shown: Any) -> bool:
    """Whether two values are the same JSON: to Python, true is 1 as well."""
    if isinstance(given, bool) or isinstance(shown, bool):
        return given is shown
    if isinstance(given, dict) and isinstance(shown, dict):
        return given.keys() == shown.keys() and all(_same(value, shown[name]) for name, value in given.items())
    if isinstance(given, list) and isinstance(shown, list):
        return len(given) == len(shown) and all(map(_same, given, shown))
    return bool(given == shown)


def _is(record: type[msgspec.Struct], name: str, value: Any) -> bool:
    """Whether such a value may stand in a record."""
    try:
        return name in _fields(record) and msgspec.convert(value, _fields(record)[name]) is not UNSET
    except msgspec.ValidationError:
        return False


@functools.lru_cache(maxsize=256)
def _fields(kind: type[msgspec.Struct]) -> Mapping[str, Any]:
    """The fields by the names that callers know, each with its type."""
    return {one.encode_name: one.type for one in msgspec.structs.fields(kind)}


@functools.lru_cache(maxsize=256)
def _inner(kind: type[msgspec.Struct], name: str) -> type[msgspec.Struct] | None:
    """The kind of record that a list of this name holds, if it is one."""
    return next(iter(_records(inspect.type_info(_fields(kind)[name]))), None) if name in _fields(kind) else None


def _records(told: inspect.Type) -> Sequence[type[msgspec.Struct]]:
    if isinstance(told, inspect.Metadata):
        return _records(told.type)
    if isinstance(told, inspect.UnionType):
        return [kind for one in told.types for kind in _records(one)]
    if isinstance(told, (inspect.ListType, inspect.VarTupleType, inspect.CollectionType)):
        item = told.item_type
        return [item.cls] if isinstance(item, inspect.StructType) else []
    return []

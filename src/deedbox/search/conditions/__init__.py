"""Conditions on documents: a tree of comparisons over their fields and metadata."""

from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec

from deedbox.kernel.errors import BadRequest
from deedbox.search.library import filing
from deedbox.search.library.filing import Key, Kind
from deedbox.search.library.upload import MetadataValue

Op: TypeAlias = Literal["eq", "ne", "in", "gt", "gte", "lt", "lte", "exists"]
METADATA = "metadata."
"""What a field begins with that is a name of the metadata."""

_SAID = {"text": "a text", "number": "a number", "boolean": "true or false", "date": "a date such as 2026-03-01"}

KINDS: dict[str, Kind] = {
    "filename": "text",
    "media_type": "text",
    "collection": "text",
    "status": "text",
    "source": "text",
    "created_at": "date",
    "signed": "boolean",
    "signer": "text",
}
"""What each field is compared with; metadata, with values of any kind."""


class Comparison(msgspec.Struct, frozen=True, tag="compare"):
    """Made by `compare`. A document that lacks the value meets none but `ne`, and `exists` of nothing."""

    field: str
    op: Op
    keys: tuple[Key, ...]


class Every(msgspec.Struct, frozen=True, tag="and"):
    """All of these are met."""

    of: tuple["Condition", ...]


class Either(msgspec.Struct, frozen=True, tag="or"):
    """At least one of these is met."""

    of: tuple["Condition", ...]


class Not(msgspec.Struct, frozen=True, tag="not"):
    """This is not met."""

    of: "Condition"


Condition: TypeAlias = Comparison | Every | Either | Not
ANY = Every(())
"""What every document meets."""


def compare(field: str, op: Op, value: MetadataValue | list[MetadataValue] = True) -> Comparison:
    """The comparison; BadRequest, saying why, if the field cannot be compared so."""
    if field not in KINDS and (field == METADATA or not field.startswith(METADATA)):
        known = ", ".join([*KINDS, f"{METADATA}*"])
        raise BadRequest(f"filter: there is no field {field[:100]!r}. Fields: {known}")
    if field == "signer" and op not in ("eq", "ne", "in"):
        raise BadRequest("filter: signer can be compared with eq, ne and in only")
    if (op == "in") != isinstance(value, list):
        raise BadRequest(f"filter: {op} takes {'a list of values' if op == 'in' else 'one value'}")
    values = value if isinstance(value, list) else [value]
    if op == "exists" and not isinstance(value, bool):
        raise BadRequest("filter: exists takes true or false")
    if op in ("gt", "gte", "lt", "lte") and isinstance(value, bool):
        raise BadRequest(f"filter: {op} takes a text, number or date; true and false have no order")
    keys = [filing.key(each) if op == "exists" else _key(field, each) for each in values]
    return Comparison(field, op, tuple(keys))


def within(collections: Iterable[str]) -> Comparison:
    """Lies in one of these collections."""
    return compare("collection", "in", list(collections))


def _key(field: str, value: MetadataValue) -> Key:
    """The value as those of the field are compared."""
    known = filing.key(value)
    kind = KINDS.get(field, known.kind)
    if kind == "text" and isinstance(value, str):
        # Also one that is a date. Addresses are kept in small letters.
        return Key("text", value.strip().lower() if field == "signer" else value, None)
    if kind != known.kind:
        raise BadRequest(f"filter: {field} is compared with {_SAID[kind]}")
    return known

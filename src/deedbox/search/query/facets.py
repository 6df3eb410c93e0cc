"""How many documents have which value, counted over the hits of a query or over all that may answer it."""

from collections.abc import Collection, Sequence

import msgspec

from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest
from deedbox.search import conditions
from deedbox.search.conditions import METADATA, Condition
from deedbox.search.library import store
from deedbox.search.library.reader import SearchReader
from deedbox.search.library.upload import MetadataValue

FIELDS = ("collection", "media_type", "status", "source", "signed")
"""Those that have few values; and every name of the metadata."""


class Count(msgspec.Struct, frozen=True):
    value: MetadataValue
    """The value; a date in UTC."""
    documents: int
    """How many documents have it."""


class Facets(msgspec.Struct, frozen=True):
    """What is to be counted."""

    fields: tuple[str, ...]
    everywhere: bool = False
    """In every document that may answer the query, and not only in those of its hits."""


def check_fields(fields: Sequence[str]) -> None:
    """BadRequest for a field that is not counted."""
    for field in fields:
        if field not in FIELDS and (field == METADATA or not field.startswith(METADATA)):
            known = ", ".join([*FIELDS, f"{METADATA}*"])
            raise BadRequest(f"facets: {field[:100]!r} is not counted. Fields: {known}")


def counts(
    tx: Tx, reader: SearchReader, condition: Condition | None, only: Collection[str] | None, fields: Sequence[str]
) -> dict[str, list[Count]]:
    """The most frequent values of each field, the most frequent first, in documents that meet the condition, `only` of
    these."""
    condition = condition or conditions.ANY
    if only is not None and not only:
        return {field: [] for field in fields}
    found: dict[str, list[Count]] = {field: [] for field in fields}
    distinct = list(found)
    for at, kind, text, number, documents in store.count_values(tx, reader, condition, only, distinct):
        found[distinct[at]].append(Count(_value(kind, text, number), int(documents)))
    return found


def _value(kind: str, text: str | None, number: float | None) -> MetadataValue:
    if number is None:
        return f"{(text or '').removesuffix('.000000')}Z" if kind == "date" else text or ""
    if kind == "boolean":
        return bool(number)
    return int(number) if number == int(number) else number

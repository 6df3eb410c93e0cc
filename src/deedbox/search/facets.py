"""How many documents have which value, counted over those that a query may answer from."""

from collections.abc import Sequence

import msgspec

from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest
from deedbox.search import conditions, store
from deedbox.search.conditions import METADATA
from deedbox.search.query import Question
from deedbox.search.reader import Reader
from deedbox.search.upload import MetadataValue

FIELDS = ("collection", "media_type", "status", "source", "signed")
"""Those that have few values; and every name of the metadata."""


class Count(msgspec.Struct, frozen=True):
    value: MetadataValue
    """The value; a date in UTC."""
    documents: int
    """How many documents have it."""


def need(fields: Sequence[str]) -> None:
    """BadRequest for a field that is not counted."""
    for field in fields:
        if field not in FIELDS and (field == METADATA or not field.startswith(METADATA)):
            known = ", ".join([*FIELDS, f"{METADATA}*"])
            raise BadRequest(f"facets: {field[:100]!r} is not counted. Fields: {known}")


def counts(tx: Tx, reader: Reader, question: Question, fields: Sequence[str]) -> dict[str, list[Count]]:
    """The most frequent values of each field, the most frequent first, in documents that the question lets answer."""
    condition = question.condition or conditions.ANY
    return {
        field: [
            Count(_value(kind, text, number), int(documents))
            for kind, text, number, documents in store.count_values(tx, reader, condition, question.doc_ids, field)
        ]
        for field in fields
    }


def _value(kind: str, text: str | None, number: float | None) -> MetadataValue:
    if number is None:
        return f"{(text or '').removesuffix('.000000')}Z" if kind == "date" else text or ""
    if kind == "boolean":
        return bool(number)
    return int(number) if number == int(number) else number

"""Random documents and filters, and which documents a filter lets through, told by brute force from its JSON."""

import operator
import random
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, TypeAlias

Filter: TypeAlias = dict[str, Any]
Record: TypeAlias = dict[str, Any]
"""A document as `GET /documents/{doc_id}` shows it."""

COLLECTIONS = ["default", "leases", "Leases", "2026-01-01", "Ärzte"]
NAMES = ["year", "kind", "open", "day", "a.b", "Year"]
VALUES: list[Any] = [
    *(0, 1, 2, 2026, -3, 2**53 - 1, 0.5, 1.0, 1e-9, True, False),
    *("", "a", "A", "lease", "Lease", "ä", "z", "10", "9", "true", "o'clock", "100%", ":c0", "日本"),
    *("2026-01-01", "2026-01-01T00:00:00Z", "2026-01-01T02:00:00+02:00", "2025-12-31T23:30:00-01:00", "2026-02-30"),
]
_ORDERED = ("gt", "gte", "lt", "lte")


class Cases:
    """What a seed gives: always the same documents and filters."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def filing(self) -> tuple[str, dict[str, Any]]:
        """A collection, and metadata."""
        some = self._random.sample(NAMES, self._random.randint(0, len(NAMES)))
        return self._random.choice(COLLECTIONS), {name: self._random.choice(VALUES) for name in some}

    def filter(self, records: Sequence[Record], depth: int = 4) -> Filter:
        turn = self._random.random()
        if depth == 0 or turn < 0.45:
            return self._comparison(records)
        if turn < 0.55:
            return self._flat(records)
        if turn < 0.7:
            return {"not": self.filter(records, depth - 1)}
        some = [self.filter(records, depth - 1) for _ in range(self._random.randint(1, 3))]
        if turn < 0.95:
            return {self._random.choice(["and", "or"]): some}
        return {"or": some, "not": self._comparison(records), **self._comparison(records)}

    def _comparison(self, records: Sequence[Record]) -> Filter:
        field = self._random.choice(["filename", "media_type", "collection", "status", "source", "created_at"])
        if self._random.random() < 0.7:
            field = f"metadata.{self._random.choice([*NAMES, 'none'])}"
        op = self._random.choice(["eq", "ne", "in", "exists", *_ORDERED])
        if op == "exists":
            return {"field": field, "op": op, **self._random.choice([{}, {"value": True}, {"value": False}])}
        if op == "in":
            return {"field": field, "op": op, "value": [self._value(field, records) for _ in range(3)]}
        value = self._value(field, records)
        if isinstance(value, bool) and op in _ORDERED:
            value = int(value)
        return {"field": field, "op": op, "value": value}

    def _value(self, field: str, records: Sequence[Record]) -> Any:
        if field.startswith("metadata."):
            return self._random.choice(VALUES)
        if field == "source":
            return self._random.choice(["upload", "document"])
        if self._random.random() < 0.8 or field == "created_at":
            return self._random.choice(records)[field]
        return self._random.choice([value for value in VALUES if isinstance(value, str)])

    def _flat(self, records: Sequence[Record]) -> Filter:
        one = self._random.choice(records)
        fields = {
            "filename": one["filename"],
            "media_type": one["media_type"],
            "created_after": one["created_at"],
            "created_before": one["created_at"],
            "source": "upload",
            "signed": False,
        }
        return {name: fields[name] for name in self._random.sample(list(fields), self._random.randint(0, 2))}


def let_through(wanted: Filter, records: Sequence[Record]) -> set[str]:
    """The ids of the documents that are as the filter says."""
    return {record["doc_id"] for record in records if meets(wanted, record)}


def meets(wanted: Filter, record: Record) -> bool:
    said = [_holds(name, value, record) for name, value in wanted.items() if name not in ("field", "op", "value")]
    if "field" in wanted:
        said.append(_compared(wanted["field"], wanted["op"], wanted.get("value", True), record))
    return all(said)


def _holds(name: str, value: Any, record: Record) -> bool:
    if name == "and":
        return all(meets(each, record) for each in value)
    if name == "or":
        return any(meets(each, record) for each in value)
    if name == "not":
        return not meets(value, record)
    if name == "signed":
        return value is False  # nothing here was sealed
    field, op = {"created_after": ("created_at", "gte"), "created_before": ("created_at", "lt")}.get(name, (name, "eq"))
    return _compared(field, op, value, record)


def _compared(field: str, op: str, value: Any, record: Record) -> bool:
    if op == "ne":
        return not _compared(field, "eq", value, record)
    if op == "in":
        return any(_compared(field, "eq", each, record) for each in value)
    mine = record["metadata"] if field.startswith("metadata.") else {**record, "source": "upload"}
    name = field.removeprefix("metadata.")
    if op == "exists":
        return (name in mine) is value
    if name not in mine:
        return False
    dated = field == "created_at" or mine is record["metadata"]
    (kind, left), (other, right) = _comparable(mine[name], dated), _comparable(value, dated)
    if kind != other:
        return False
    ways = {"eq": operator.eq, "gt": operator.gt, "gte": operator.ge, "lt": operator.lt, "lte": operator.le}
    return bool(ways[op](left, right))


def _comparable(value: Any, dated: bool) -> tuple[str, Any]:
    """The value's kind, and what is compared with values of that kind."""
    if isinstance(value, bool):
        return "boolean", value
    if isinstance(value, (int, float)):
        return "number", value
    if dated and value[:2] == "20":
        try:
            moment = datetime.fromisoformat(value)
            return "date", moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        except ValueError:
            pass
    return "text", value.encode()

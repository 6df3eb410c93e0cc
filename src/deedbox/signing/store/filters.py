"""What rows of documents and packets must meet to be listed."""

from datetime import UTC, datetime
from typing import Literal

from deedbox.kernel.clock import moment
from deedbox.kernel.db import Value
from deedbox.kernel.ids import new_id
from deedbox.signing.model import Filter, PageRequest

_PREFIX = {"documents": "doc", "packets": "pkt"}
_EQUAL = ("packet_id", "bulk_send_id", "template_id", "external_id")
_EPOCH = datetime.fromtimestamp(0, UTC)


def conditions_of(
    wanted: Filter, table: Literal["documents", "packets"], part: PageRequest
) -> tuple[list[str], dict[str, Value]]:
    """What the table's rows must meet to be in this part of the list, but for their title, status and people."""
    conditions: list[str] = []
    values: dict[str, Value] = {}
    for name in _EQUAL:
        if (value := getattr(wanted, name)) is not None:
            conditions.append(f"{table}.{name} = :{name}")
            values[name] = value
    if wanted.created_after is not None:
        conditions.append(f"{table}.created_at > :created_after and {table}.id >= :first_after")
        values["created_after"] = wanted.created_after
        values["first_after"] = _first_id(_PREFIX[table], wanted.created_after)
    if wanted.created_before is not None:
        conditions.append(f"{table}.created_at < :created_before and {table}.id < :first_before")
        values["created_before"] = wanted.created_before
        values["first_before"] = _first_id(_PREFIX[table], wanted.created_before)
    if part.cursor is not None:
        conditions.append(f"{table}.id {'<' if part.newest_first else '>'} :cursor")
        values["cursor"] = part.cursor
    return conditions, values


def _first_id(prefix: str, at: str) -> str:
    """The least id of this moment: a row's id and its `created_at` are made of the same, so ids bound the search."""
    return new_id(prefix, max(moment(at), _EPOCH), bytes)

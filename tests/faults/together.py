"""What belongs together: the documents of a packet, and the rows of a bulk send with the documents that they became."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import msgspec

from tests.faults.installation import Installation
from tests.signing.event_order import in_order

_LAST = {"completed": "packet.completed", "declined": "packet.declined"}
"""The last word on a packet that ended so."""


def packet_faults(installation: Installation) -> Iterator[str]:
    """Where a packet is not one: in its states, or in what is told of it, once nothing is going on any more."""
    documents: dict[str, list[str]] = defaultdict(list)
    sql = "select p.id, d.status from packets p join documents d on d.packet_id = p.id where p.lone = 0"
    for packet_id, status in installation.rows(sql):
        documents[packet_id].append(status)
    lines: dict[str, list[str]] = defaultdict(list)
    for line, kind in installation.rows("select line, kind from events order by number"):
        lines[line].append(kind)
    for packet_id, (status, *others) in documents.items():
        told = lines[packet_id]
        if set(others) - {status}:
            yield f"half-applied: the documents of {packet_id} are {[status, *others]}"
        if not in_order(told, 1 + len(others)):
            yield f"half-applied: of {packet_id} was told {told}"
        if status in _LAST and told[-1:] != [_LAST[status]]:
            yield f"lost: {packet_id} is {status}, and of it was told {told}"


def batch_faults(installation: Installation) -> Iterator[str]:
    """Where a bulk send is not what its rows are, once nothing is going on any more."""
    documents: dict[str, list[str]] = defaultdict(list)
    sql = "select bulk_send_id, id from documents where bulk_send_id is not null"
    for bulk_send_id, document_id in installation.rows(sql):
        documents[bulk_send_id].append(document_id)
    rows: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for bulk_send_id, *row in installation.rows("select bulk_send_id, status, document_id from bulk_rows"):
        rows[bulk_send_id].append(tuple(row))
    ends: dict[str, list[Any]] = defaultdict(list)
    for bulk_send_id, data in installation.rows(_ENDS):
        told = msgspec.json.decode(data)
        ends[bulk_send_id].append([told["status"], *(told["counts"][name] for name in _COUNTS)])
    for bulk_send_id, status, *counts in installation.rows(_BATCHES):
        own = rows[bulk_send_id]
        found = Counter(row[0] for row in own)
        became = [row[1] for row in own if row[0] == "sent"]
        if counts != [len(own), *(found[name] for name in _COUNTS[1:])]:
            yield f"half-applied: {bulk_send_id} has {counts} rows, and {dict(found)} are there"
        if sorted(became) != sorted(documents[bulk_send_id]):
            yield f"doubled: {bulk_send_id} has sent {len(became)} rows, as {len(documents[bulk_send_id])} documents"
        if status not in ("completed", "canceled") or found["queued"]:
            yield f"stuck: {bulk_send_id} is {status}, and {found['queued']} rows wait"
        elif not _is_told_once(ends[bulk_send_id], [status, *counts]):
            yield f"half-applied: {bulk_send_id} is {status} with {counts}, and its ends were {ends[bulk_send_id]}"


_COUNTS = ("total", "queued", "sent", "failed", "canceled")
_BATCHES = f"select id, status, {', '.join(_COUNTS)} from bulk_sends"
_ENDS = "select subject_id, data from events where kind = 'bulk_send.completed' order by number"


def _is_told_once(ends: list[Any], now: list[Any]) -> bool:
    """Whether each end was told once, and the last one is how it stands. More rows lead to another end."""
    return ends[-1:] == [now] and not any(ends.count(one) > 1 for one in ends)

"""How much a workspace sends, signs, asks and stores: day by day for 30 days, or month by month for 12."""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from itertools import chain
from typing import Literal, TypeAlias

import msgspec

from deedbox.kernel.db import Tx
from deedbox.search.query.query_times import BOUNDS_MS
from deedbox.usage import limits, store
from deedbox.usage.days import Day, by_day, median

By: TypeAlias = Literal["day", "month"]
_LENGTH: dict[By, int] = {"day": len("2026-03-01"), "month": len("2026-03")}


class UsageSlot(msgspec.Struct, frozen=True, kw_only=True):
    """One day or month, in UTC."""

    slot: str
    """The day, as `2026-03-01`, or the month, as `2026-03`."""
    sent: int
    """Documents that were sent."""
    completed: int
    """Documents that were completed."""
    sign_seconds: int | None
    """The median time from sending to completion, of those completed; null without any."""
    queries: int
    """Search queries that were answered."""
    query_ms: int | None
    """95 of 100 queries were answered within so many milliseconds, or a little less; null without any."""
    document_bytes: int | None
    """Bytes of the files of documents, packets and templates when they were last measured; null if never."""
    library_bytes: int | None
    """Bytes of the files to search, and of their texts, when they were last measured; null if never."""


class WorkspaceUsage(msgspec.Struct, frozen=True, kw_only=True):
    """Each number of the whole time, and day by day or month by month."""

    by: By
    """Whether a slot is a day or a month."""
    sent: int
    """Documents that were sent."""
    completed: int
    """Documents that were completed."""
    sign_seconds: int | None
    """The median time from sending to completion; null without any."""
    queries: int
    """Search queries that were answered."""
    query_ms: int | None
    """95 of 100 queries were answered within so many milliseconds, or a little less; null without any."""
    storage_bytes: int | None
    """Bytes of all files when they were last measured, once an hour; null if never."""
    measured_at: str | None
    """When that was; null if never."""
    slots: list[UsageSlot]
    """The days or months, the oldest first; the last is not over yet."""


def usage(tx: Tx, workspace_id: str, by: By, now: datetime) -> WorkspaceUsage:
    """The workspace's figures until now."""
    names, length = slots(by, now), _LENGTH[by]
    days: dict[str, list[Day]] = {name: [] for name in names}
    for day, found in by_day(tx, workspace_id, names[0]).items():
        if day[:length] in days:  # a clock that was wrong has days to come, too
            days[day[:length]].append(found)
    asked = (tx, workspace_id, names[0], length)
    queries, storage = store.queries(*asked), store.storage(*asked)
    last = store.last_storage(tx, workspace_id)
    in_all, asked_in_all = [*chain(*days.values())], _summed(queries.values())
    return WorkspaceUsage(
        by=by,
        sent=_sent(in_all),
        completed=_completed(in_all),
        sign_seconds=median(in_all),
        queries=sum(asked_in_all.values()),
        query_ms=_p95(asked_in_all),
        storage_bytes=last.document_bytes + last.library_bytes if last else None,
        measured_at=last.measured_at if last else None,
        slots=[
            UsageSlot(
                slot=name,
                sent=_sent(days[name]),
                completed=_completed(days[name]),
                sign_seconds=median(days[name]),
                queries=sum(queries.get(name, {}).values()),
                query_ms=_p95(queries.get(name, {})),
                document_bytes=storage[name].document_bytes if name in storage else None,
                library_bytes=storage[name].library_bytes if name in storage else None,
            )
            for name in names
        ],
    )


def slots(by: By, now: datetime) -> list[str]:
    """The names of the days or months up to the one that is now, the oldest first."""
    if by == "day":
        return [(now - timedelta(days=back)).strftime("%Y-%m-%d") for back in reversed(range(limits.USAGE_SHOWN_DAYS))]
    last = now.year * 12 + now.month - 1
    months = range(last - limits.USAGE_SHOWN_MONTHS + 1, last + 1)
    return [f"{month // 12:04}-{month % 12 + 1:02}" for month in months]


def _sent(days: Iterable[Day]) -> int:
    return sum(day.sent for day in days)


def _completed(days: Iterable[Day]) -> int:
    return sum(len(day.sign_seconds) for day in days)


def _p95(buckets: Mapping[int, int]) -> int | None:
    """The upper bound of the bucket in which the 95th of 100 queries is."""
    left = sum(buckets.values()) * 95 / 100
    for bucket, number in sorted(buckets.items()):
        left -= number
        if left <= 0:
            return BOUNDS_MS[min(bucket, len(BOUNDS_MS) - 1)]
    return None


def _summed(each: Iterable[Mapping[int, int]]) -> Mapping[int, int]:
    total = Counter[int]()
    for buckets in each:
        total.update(buckets)
    return total

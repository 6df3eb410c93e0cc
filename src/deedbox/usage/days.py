"""Documents by day. A day that is over is counted once and kept, so that a year is read from its days.

The kept days of a workspace have no gap. A document that is sent or completed on a kept day after all, by a clock that
was set back, has that day and all after it forgotten, in the transaction of its event."""

import bisect
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import NamedTuple

import msgspec

from deedbox.kernel.clock import instant, moment
from deedbox.kernel.db import Database, Tx
from deedbox.kernel.outbox import Event
from deedbox.usage import limits, store

EVENTS = ("document.sent", "document.completed")
_SECONDS = msgspec.json.Decoder(list[int])
_NEVER = "9999"


class Day(NamedTuple):
    sent: int
    """Documents that were sent on it."""
    sign_seconds: Sequence[int]
    """Of those completed on it, how long each took to be signed, the shortest first."""


def by_day(tx: Tx, workspace_id: str, first: str) -> dict[str, Day]:
    """Every day since the first on which something was: kept ones as they were kept, the others counted now."""
    kept = store.kept_days(tx, workspace_id, first)
    days = {day: Day(sent, _SECONDS.decode(seconds)) for day, sent, seconds in kept}
    last = store.latest_day(tx, workspace_id)
    return days | _counted(tx, workspace_id, max(first, _after(last)) if last else first, _NEVER)


def reopen(tx: Tx, events: Sequence[Event]) -> None:
    """The reaction to documents that were sent or completed: their days are over no longer."""
    store.forget_days(tx, events[0].workspace_id, _day(min(event.created_at for event in events)))


async def keep_days(db: Database, workspace_id: str, now: datetime) -> None:
    """Keeps the days that are over, one at a time; what was begun on the last of them has ended by then."""
    settled = _day(instant(now - timedelta(seconds=limits.USAGE_DAY_SETTLES_SECONDS)))
    oldest = _day(instant(now - timedelta(days=limits.USAGE_DAYS)))
    while await db.write(lambda tx: _keep_next(tx, workspace_id, oldest, settled)):
        pass


def _keep_next(tx: Tx, workspace_id: str, oldest: str, settled: str) -> bool:
    """Whether there was a day before the settled one that was not kept yet."""
    last = store.latest_day(tx, workspace_id)
    day = _after(last) if last else _day(store.first_move(tx, workspace_id, oldest) or settled)
    if day >= settled:
        return False
    counted = _counted(tx, workspace_id, day, _after(day)).get(day, Day(0, []))
    store.keep_day(tx, workspace_id, day, counted.sent, msgspec.json.encode(counted.sign_seconds).decode())
    return True


def median(days: Sequence[Day]) -> int | None:
    """The middle of all times to sign, or the mean of the two in the middle; None without any."""
    each = [day.sign_seconds for day in days if day.sign_seconds]
    many = sum(map(len, each))
    if not many:
        return None

    def up_to(time: int) -> int:
        # Each day is in order: that takes a look at each of them, not at every document.
        return sum(bisect.bisect_right(seconds, time) for seconds in each)

    longest = max(seconds[-1] for seconds in each)
    lower = upper = bisect.bisect_right(range(longest), (many - 1) // 2, key=up_to)
    if up_to(lower) <= many // 2:
        places = [(seconds, bisect.bisect_right(seconds, lower)) for seconds in each]
        upper = min(seconds[place] for seconds, place in places if place < len(seconds))
    return round((lower + upper) / 2)


def _counted(tx: Tx, workspace_id: str, since: str, until: str) -> dict[str, Day]:
    """The days from one to before another on which something was."""
    sent = store.sent(tx, workspace_id, since, until)
    seconds: dict[str, list[int]] = {}
    for begun, ended in store.list_completions(tx, workspace_id, since, until):
        # Nothing takes less than no time, whatever was done to the clock meanwhile.
        took = max(0, round((moment(ended) - moment(begun)).total_seconds()))
        seconds.setdefault(_day(ended), []).append(took)
    return {day: Day(sent.get(day, 0), sorted(seconds.get(day, []))) for day in {*sent, *seconds}}


def _day(at: str) -> str:
    return at[: len("2026-03-01")]


def _after(day: str) -> str:
    return (date.fromisoformat(day) + timedelta(days=1)).isoformat()

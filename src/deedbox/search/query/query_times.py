"""How long queries took, counted by day and by time, until it is written down."""

import bisect
from collections import Counter

from deedbox.kernel.clock import Clock, instant
from deedbox.kernel.db import Database
from deedbox.kernel.errors import ServiceError
from deedbox.search.library import store

BOUNDS_MS = (
    1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000, 1500, 2000, 3000, 5000, 7000, 10_000,
    15_000, 20_000, 30_000, 60_000,
)  # fmt: skip
"""The longest time of each bucket; the last has all that is longer too. A kept day names buckets by their number:
change the bounds, and days that are kept tell something else."""


class QueryTimes:
    """Of this process. What it knows when it is killed is lost: that of some seconds."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db, self._clock = db, clock
        self._counts: Counter[tuple[str, str, int]] = Counter()

    def add(self, workspace_id: str, seconds: float) -> None:
        bucket = min(bisect.bisect_left(BOUNDS_MS, seconds * 1000), len(BOUNDS_MS) - 1)
        self._counts[workspace_id, instant(self._clock.now())[:10], bucket] += 1

    async def flush(self) -> None:
        """Adds to the days in the database what was counted since."""
        counts, self._counts = self._counts, Counter()
        if not counts:
            return
        try:
            await self._db.write(lambda tx: store.add_query_times(tx, counts), isolation="read committed")
        except ServiceError:
            self._counts.update(counts)
            raise

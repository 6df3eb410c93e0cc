"""The admissions of one subject: an array of times that grows, with a head for each window."""

from array import array
from bisect import bisect_right

from deedbox.kernel.limits import RATE_CLOCK_BEHIND_SECONDS

_SLACK = 64


class Admissions:
    """Times of admission that may still count, oldest first, in about 8 bytes each."""

    __slots__ = ("_seen", "day", "keep", "minute", "saved", "times")

    def __init__(self, *, saved: int, keep: int) -> None:
        self.times = array("d")
        self.minute = 0
        self.day = 0
        self.saved = saved
        """How many of `times` are saved or about to be; -1 where none ever is."""
        self.keep = keep
        self._seen = 0.0

    def advance(self, now: float, minute_seconds: int, day_seconds: int) -> float:
        """Moves the heads; now, or the last admission's time while the clock is behind it."""
        times = self.times
        if not times:
            return now
        if now < self._seen:
            now = max(now, times[-1])
            self.minute = self.day = 0
        self._seen = now
        count = len(times)
        if self.minute < count and times[self.minute] <= now - minute_seconds:
            self.minute = bisect_right(times, now - minute_seconds, self.minute)
        if self.day < count and times[self.day] <= now - day_seconds:
            self.day = bisect_right(times, now - day_seconds, self.day)
        return now

    def look_at_clock(self, now: float) -> None:
        """If it was set back, admissions that it has yet to reach count as of now: else nothing would leave a window
        until then."""
        times = self.times
        if times and now < times[-1] - RATE_CLOCK_BEHIND_SECONDS:
            ahead = bisect_right(times, now)
            times[ahead:] = array("d", (now,)) * (len(times) - ahead)

    def append(self, at: float, *, daily: bool) -> None:
        """One more admission, at a moment that `advance` returned."""
        self.times.append(at)
        self._seen = at
        dead = self.day if daily else self.minute
        # Compaction happens only here: the clock is never taken to be before the last admission, so what
        # no window holds now will never be held again.
        if dead > _SLACK and dead * 8 > len(self.times):
            self._drop(dead)

    def restore(self, at: float, requests: int) -> None:
        """Admissions known from before a restart, later than all others."""
        self.times.extend(array("d", (at,)) * requests)
        self.saved = len(self.times)
        self._seen = at

    def idle(self, now: float) -> bool:
        """Nothing here counts any more."""
        return not self.times or self.times[-1] <= now - self.keep

    def _drop(self, dead: int) -> None:
        del self.times[:dead]
        self.minute = max(0, self.minute - dead)
        self.day = max(0, self.day - dead)
        if self.saved >= 0:
            self.saved = max(0, self.saved - dead)

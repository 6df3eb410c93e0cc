"""The verdict on one request, from the counts of its two windows; the same for every limiter."""

from math import ceil

import msgspec

from deedbox.kernel.ratelimit import RateLimitStatus


class Window(msgspec.Struct, frozen=True, gc=False):
    """One window: how much it may hold, how much it holds, and which admissions it waits for."""

    limit: int
    seconds: int
    used: int
    oldest: float | None
    """The first admission still counted."""
    blocker: float | None
    """The admission that must leave before another fits; None while there is room."""


def admit(moment: float, minute: Window, day: Window | None) -> RateLimitStatus:
    """An admitted request's standing, in the window with the smaller remaining share."""
    window = minute if day is None or _tighter(moment, minute, day) else day
    left = window.limit - window.used
    return RateLimitStatus(True, window.limit, left if left > 0 else 0, ceil(_leaves(moment, window)), 0)


def refuse(now: float, moment: float, minute: Window, day: Window | None) -> RateLimitStatus:
    """A refused request's standing, in the window that refused; of two, the one with the longer wait."""
    full = [window for window in (minute, day) if window is not None and window.used >= window.limit]
    window = max(full, key=lambda window: _opens(moment, window))
    # The wait is counted on the caller's clock, even when that is behind the last admission.
    wait = max(1, ceil(_opens(moment, window) - now))
    return RateLimitStatus(False, window.limit, 0, ceil(_leaves(moment, window)), wait)


def _tighter(moment: float, minute: Window, day: Window) -> bool:
    left_in_minute = max(0, minute.limit - minute.used)
    left_in_day = max(0, day.limit - day.used)
    difference = left_in_minute * day.limit - left_in_day * minute.limit
    if difference == 0 and left_in_minute == 0:
        return _leaves(moment, minute) >= _leaves(moment, day)
    return difference <= 0


def _leaves(moment: float, window: Window) -> float:
    return (moment if window.oldest is None else window.oldest) + window.seconds


def _opens(moment: float, window: Window) -> float:
    return (moment if window.blocker is None else window.blocker) + window.seconds

"""Reminders as the pages tell them: in days, though hours are kept."""

from deedbox.kernel import limits
from deedbox.signing.model import Reminders

DAYS_MAX = limits.REMINDER_HOURS_MAX // 24
_HOURS = 24


def days(hours: int) -> int:
    """So many hours in days, begun ones counted."""
    return -(-hours // _HOURS)


def plan(before: Reminders | None, first: int, every: int, most: int) -> Reminders:
    """The plan in these days; the one before, where it would be told the same: nobody has changed its hours."""
    if before and (days(before.first_after_hours), days(before.every_hours), before.max) == (first, every, most):
        return before
    return Reminders(first * _HOURS, every * _HOURS, most, before.at_night if before else False)

"""The only module that reads the time. Times in rows and records are the text that the API shows."""

import time
from datetime import UTC, datetime
from typing import NewType, Protocol

Instant = NewType("Instant", str)
"""RFC 3339, UTC, whole seconds, `Z`: fixed width, so that text order is time order."""


class Clock(Protocol):
    def now(self) -> datetime: ...


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)


def instant(moment: datetime) -> Instant:
    """The moment as the API and the database write it; fractions of a second are cut off."""
    if moment.tzinfo is not UTC:
        moment = moment.astimezone(UTC)
    return Instant(moment.isoformat(timespec="seconds")[:-6] + "Z")


def moment(text: str) -> datetime:
    """The datetime that an Instant stands for."""
    return datetime.fromisoformat(text)


def stopwatch() -> float:
    """Seconds on a clock that never goes back; only differences mean something."""
    return time.perf_counter()


def computing_seconds(pid: int) -> float:
    """How long a process has computed, on Linux: by the kernel's clock for each, with which its limit is measured."""
    return time.clock_gettime(~pid << 3)

"""The only module that reads the time. Times in rows and records are the text that the API shows."""

import time
from datetime import UTC, datetime, timedelta
from typing import NewType, Protocol

from deedbox.kernel.limits import CLOCK_SET_BACK_LOOKS, CLOCK_SKEW_SECONDS

Instant = NewType("Instant", str)
"""RFC 3339, UTC, whole seconds, `Z`: fixed width, so that text order is time order."""


class Clock(Protocol):
    def now(self) -> datetime: ...


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)


class DatabaseClock:
    """The machine's clock, put right by that of the shared database where they differ by too much."""

    def __init__(self, machine: Clock) -> None:
        self._machine = machine
        self.ahead = 0.0
        """The seconds by which the machine's clock was ahead of the database's at the last look."""

    @property
    def is_off(self) -> bool:
        return abs(self.ahead) > CLOCK_SKEW_SECONDS

    def now(self) -> datetime:
        return self._machine.now() - timedelta(seconds=self.ahead if self.is_off else 0)

    def machine_time(self) -> float:
        return self._machine.now().timestamp()


class SetBack:
    """Notices when a clock was set back, by more than clocks that are kept in step ever are."""

    def __init__(self) -> None:
        self._latest: datetime | None = None
        self._looks = 0

    def seen(self, now: datetime) -> bool:
        """Whether the clock was set back since one of the last looks: what was begun before may end after it."""
        latest, self._latest = self._latest, now
        if latest is not None and (latest - now).total_seconds() > CLOCK_SKEW_SECONDS:
            self._looks = CLOCK_SET_BACK_LOOKS
        self._looks -= self._looks > 0
        return self._looks > 0


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

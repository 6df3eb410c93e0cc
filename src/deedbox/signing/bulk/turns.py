"""Work of many small steps, by turns with everything else that the server does."""

import asyncio
from collections.abc import Iterator
from typing import TypeVar

from deedbox.kernel.clock import stopwatch
from deedbox.kernel.in_flight import RequestsInFlight
from deedbox.signing import limits

T = TypeVar("T")


async def take(steps: Iterator[T], under_way: RequestsInFlight) -> list[T]:
    """What all the steps give, some milliseconds of them in a row, between which requests go first, for some seconds in
    all. In a thread: one long step stops nobody either."""
    taken: list[T] = []
    waited, more = 0.0, True
    while more:
        if waited < limits.BULK_WAIT_SECONDS:
            began = stopwatch()
            await under_way.passed()
            waited += stopwatch() - began
        more = await asyncio.to_thread(_some, steps, taken)
    return taken


def _some(steps: Iterator[T], taken: list[T]) -> bool:
    """Whether there may be more steps after those that were taken."""
    end = stopwatch() + limits.BULK_TURN_SECONDS
    for one in steps:
        taken.append(one)
        if stopwatch() > end:
            return True
    return False

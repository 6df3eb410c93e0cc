"""Work of many small steps, by turns with everything else that the server does."""

import asyncio
from collections.abc import Iterator
from typing import TypeVar

from deedbox.kernel import limits
from deedbox.kernel.clock import stopwatch
from deedbox.kernel.under_way import UnderWay

T = TypeVar("T")


async def take(steps: Iterator[T], under_way: UnderWay) -> list[T]:
    """What all the steps give, some milliseconds of them in a row, between which requests go first. In a thread: one
    long step stops nobody either."""
    taken: list[T] = []
    await under_way.passed()
    while await asyncio.to_thread(_some, steps, taken):
        await under_way.passed()
    return taken


def _some(steps: Iterator[T], taken: list[T]) -> bool:
    """Whether there may be more steps after those that were taken."""
    end = stopwatch() + limits.BULK_TURN_SECONDS
    for one in steps:
        taken.append(one)
        if stopwatch() > end:
            return True
    return False

"""Requests under way: work that can wait lets them go first."""

import asyncio
import contextlib

from deedbox.kernel import limits
from deedbox.kernel.clock import stopwatch


class RequestsInFlight:
    def __init__(self) -> None:
        self._begun: dict[object, float] = {}
        """When each request came that is not answered yet; the newest is the last."""
        self._left = asyncio.Event()

    def begin(self, request: object) -> None:
        self._begun[request] = stopwatch()

    def end(self, request: object) -> None:
        del self._begun[request]
        self._left.set()

    async def passed(self) -> None:
        """Waits until none is under way that came lately, and never for long: whoever waits here is to end as well."""
        end = stopwatch() + limits.LET_PASS_SECONDS
        while self._fresh() and stopwatch() < end:
            self._left.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(end - stopwatch()):
                    await self._left.wait()

    def _fresh(self) -> bool:
        """Whether one is young. An old one waits for something else: its own file or rows, or a reader who is slow."""
        newest = next(reversed(self._begun.values()), None)
        return newest is not None and newest > stopwatch() - limits.LET_PASS_SECONDS

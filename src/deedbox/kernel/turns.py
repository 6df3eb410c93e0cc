"""Turns at what only a few can have at once: one of each caller after the other, and none has the whole queue."""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar

from deedbox.kernel import limits
from deedbox.kernel.errors import Unavailable

holder: ContextVar[str] = ContextVar("holder", default="")
"""For whom a request works; empty for the server's own work, which its jobs bound already."""


class FairQueue:
    def __init__(self, places: int, things: str, most_of_one: int | None = None) -> None:
        self._free = places
        self._most = places if most_of_one is None else most_of_one
        """How many places one caller may have, also while others are free."""
        self._held: Counter[str] = Counter()
        self._things = things
        """What waits here, as people say it."""
        self._queues: dict[str, deque[asyncio.Future[None]]] = {}
        """Of each caller who waits; the one whose turn is next first."""

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        """A place, when it is this caller's turn; Unavailable when too many wait."""
        whose = holder.get()
        if self._free and self._may(whose):
            self._free -= 1
            self._held[whose] += 1
        else:
            await self._wait(whose)
        try:
            yield
        finally:
            self._give_back(whose)

    def _may(self, whose: str) -> bool:
        """Whether this caller may have one place more."""
        return not whose or self._held[whose] < self._most

    def _give_back(self, whose: str) -> None:
        self._held[whose] -= 1
        if not self._held[whose]:
            del self._held[whose]
        self._free += 1
        self._pass_on()

    async def _wait(self, whose: str) -> None:
        own = self._queues.get(whose, ())
        if sum(map(len, self._queues.values())) >= limits.TURNS_QUEUE:
            raise Unavailable(f"Too many {self._things} are waiting for their turn; try again in a moment")
        if whose and len(own) >= limits.TURNS_QUEUE // 4:
            raise Unavailable(f"Too many of your {self._things} are waiting for their turn; try again in a moment")
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queues.setdefault(whose, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._leave(whose, turn)
            else:  # it had just come
                self._give_back(whose)
            raise

    def _leave(self, whose: str, turn: "asyncio.Future[None]") -> None:
        queue = self._queues[whose]
        queue.remove(turn)
        if not queue:
            del self._queues[whose]

    def _pass_on(self) -> None:
        """Give free places to those who wait and may have one, one caller after the other."""
        while self._free and (whose := next(filter(self._may, self._queues), None)) is not None:
            queue = self._queues.pop(whose)
            turn = queue.popleft()
            if queue:
                self._queues[whose] = queue  # behind all others
            if not turn.done():  # else it was given up in this very moment
                self._free -= 1
                self._held[whose] += 1
                turn.set_result(None)

"""Turns at what only a few can have at once: one of each caller after the other, and none has the whole queue."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar

from deedbox.kernel import limits
from deedbox.kernel.errors import Unavailable

holder: ContextVar[str] = ContextVar("holder", default="")
"""For whom a request works; empty for the server's own work, which its jobs bound already."""


class Turns:
    def __init__(self, places: int, things: str) -> None:
        self._free = places
        self._things = things
        """What waits here, as people say it."""
        self._queues: dict[str, deque[asyncio.Future[None]]] = {}
        """Of each caller who waits; the one whose turn is next first."""

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        """A place, when it is this caller's turn; Unavailable when too many wait."""
        if self._free and not self._queues:
            self._free -= 1
        else:
            await self._wait(holder.get())
        try:
            yield
        finally:
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
                self._pass_on()
            raise

    def _leave(self, whose: str, turn: "asyncio.Future[None]") -> None:
        queue = self._queues[whose]
        queue.remove(turn)
        if not queue:
            del self._queues[whose]

    def _pass_on(self) -> None:
        """The next caller's turn, or a free place."""
        while self._queues:
            whose, queue = next(iter(self._queues.items()))
            turn = queue.popleft()
            del self._queues[whose]
            if queue:
                self._queues[whose] = queue  # behind all others
            if not turn.done():  # else it was given up in this very moment
                turn.set_result(None)
                return
        self._free += 1

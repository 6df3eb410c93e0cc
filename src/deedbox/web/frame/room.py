"""Room for large bodies: so many bytes of them are in memory at a time, and the rest waits its turn."""

import asyncio
from collections import deque

from deedbox.kernel import limits
from deedbox.kernel.errors import Unavailable


class Room:
    def __init__(self) -> None:
        self.left = limits.LARGE_BODIES_BYTES
        self.decoding = asyncio.Lock()
        """Held by the one thread that decodes a large body: two would only take turns."""
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    async def take(self, size: int) -> None:
        """Waits until there is room for so many bytes, which are then taken; Unavailable when that lasts too long."""
        if not self._waiting and size <= self.left:
            self.left -= size
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((size, turn))
        taken = False
        try:
            async with asyncio.timeout(limits.LARGE_BODY_WAIT_SECONDS):
                await turn
            taken = True
        except TimeoutError as error:
            raise Unavailable("Too many large bodies at once. Try again in a moment.") from error
        finally:
            if not taken:
                self._withdraw(size, turn)

    def give(self, size: int) -> None:
        """Gives so many bytes back."""
        self.left += size
        self._admit()

    def _withdraw(self, size: int, turn: "asyncio.Future[None]") -> None:
        """Of one that waits no longer, though its turn may have come in the same moment."""
        if not turn.cancelled():
            self.give(size)
            return
        if (size, turn) in self._waiting:  # else it was passed over already
            self._waiting.remove((size, turn))
        self._admit()

    def _admit(self) -> None:
        """Lets in those in front for whom there is room; several that have waited too long may still stand there."""
        while self._waiting and (self._waiting[0][1].cancelled() or self._waiting[0][0] <= self.left):
            size, turn = self._waiting.popleft()
            if not turn.cancelled():
                self.left -= size
                turn.set_result(None)

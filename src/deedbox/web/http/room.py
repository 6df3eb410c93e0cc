"""Room for large bodies: so many bytes of them are in memory at a time, of each caller a part; the rest waits."""

import asyncio
from collections import Counter
from typing import NamedTuple

from deedbox.kernel import limits
from deedbox.kernel.errors import Unavailable


class _Turn(NamedTuple):
    size: int
    holder: str
    come: "asyncio.Future[None]"


class MemoryBudget:
    def __init__(self) -> None:
        self.left = limits.LARGE_BODIES_BYTES
        self.decoding = asyncio.Lock()
        """Held by the one thread that decodes a large body: two would only take turns."""
        self._held: Counter[str] = Counter()
        self._waiting: list[_Turn] = []

    async def take(self, size: int, holder: str) -> None:
        """Waits until there is room for so many bytes, which are then taken; Unavailable when that lasts too long."""
        if self._fits(size, holder):
            self._book(size, holder)
            return
        turn = _Turn(size, holder, asyncio.get_running_loop().create_future())
        self._waiting.append(turn)
        taken = False
        try:
            async with asyncio.timeout(limits.LARGE_BODY_WAIT_SECONDS):
                await turn.come
            taken = True
        except TimeoutError as error:
            raise Unavailable("Too many large bodies at once. Try again in a moment.") from error
        finally:
            if not taken:
                self._withdraw(turn)

    def give(self, size: int, holder: str) -> None:
        """Gives so many bytes back."""
        self._book(-size, holder)
        self._admit()

    def _fits(self, size: int, holder: str) -> bool:
        """Whether they may be taken now: of a quarter of the room, or as the caller's only ones."""
        held = self._held[holder]
        return size <= self.left and (not held or held + size <= limits.LARGE_BODIES_BYTES // 4)

    def _book(self, size: int, holder: str) -> None:
        self.left -= size
        self._held[holder] += size
        if not self._held[holder]:
            del self._held[holder]

    def _withdraw(self, turn: _Turn) -> None:
        """Of one that waits no longer, though its turn may have come in the same moment."""
        if turn in self._waiting:
            self._waiting.remove(turn)
        elif not turn.come.cancelled():
            self.give(turn.size, turn.holder)

    def _admit(self) -> None:
        """Lets in those for whom there is room, in their order; who must wait for room does not hold up the others."""
        for turn in list(self._waiting):
            if not turn.come.done() and self._fits(turn.size, turn.holder):
                self._waiting.remove(turn)
                self._book(turn.size, turn.holder)
                turn.come.set_result(None)

"""Fair sharing of scarce resources between callers: a fair queue, a concurrency limit and a memory budget."""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import NamedTuple

from deedbox.kernel import limits
from deedbox.kernel.errors import Unavailable

holder: ContextVar[str] = ContextVar("holder", default="")
"""The caller of the current request; empty for background jobs, which have limits of their own."""


class FairQueue:
    """Slots that callers get in turn, one slot each per round."""

    def __init__(self, slots: int, things: str, most_per_caller: int | None = None) -> None:
        self._free = slots
        self._most = slots if most_per_caller is None else most_per_caller
        """Slots that one caller may hold, even while others are free."""
        self._held: Counter[str] = Counter()
        self._things = things
        """What waits in this queue, for messages."""
        self._queues: dict[str, deque[asyncio.Future[None]]] = {}
        """The waiting requests of each caller; the caller who is next comes first."""

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Hold a slot, when it is this caller's turn; raise Unavailable when too many wait."""
        caller = holder.get()
        if self._free and self._may_hold(caller):
            self._free -= 1
            self._held[caller] += 1
        else:
            await self._wait(caller)
        try:
            yield
        finally:
            self._release(caller)

    def _may_hold(self, caller: str) -> bool:
        """Return whether this caller may hold one slot more."""
        return not caller or self._held[caller] < self._most

    def _release(self, caller: str) -> None:
        self._held[caller] -= 1
        if not self._held[caller]:
            del self._held[caller]
        self._free += 1
        self._pass_on()

    async def _wait(self, caller: str) -> None:
        own = self._queues.get(caller, ())
        if sum(map(len, self._queues.values())) >= limits.FAIR_QUEUE_LENGTH:
            raise Unavailable(f"Too many {self._things} are waiting. Try again in a moment.")
        if caller and len(own) >= limits.FAIR_QUEUE_LENGTH // 4:
            raise Unavailable(f"Too many of your {self._things} are waiting. Try again in a moment.")
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queues.setdefault(caller, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._leave(caller, turn)
            else:  # the slot came at the same time
                self._release(caller)
            raise

    def _leave(self, caller: str, turn: "asyncio.Future[None]") -> None:
        queue = self._queues[caller]
        queue.remove(turn)
        if not queue:
            del self._queues[caller]

    def _pass_on(self) -> None:
        """Give free slots to those who wait and may have one, one caller after the other."""
        while self._free and (caller := next(filter(self._may_hold, self._queues), None)) is not None:
            queue = self._queues.pop(caller)
            turn = queue.popleft()
            if queue:
                self._queues[caller] = queue  # behind all others
            if not turn.done():  # otherwise it was given up at the same time
                self._free -= 1
                self._held[caller] += 1
                turn.set_result(None)


class ConcurrencyLimit:
    """Requests in flight, counted per holder: a caller, an address, or all requests together."""

    def __init__(self) -> None:
        self.held: dict[str, int] = {}

    def hold(self, most: Mapping[str, int]) -> "_Hold":
        """Count a request for each holder while entered; raise Unavailable for one that is at its limit."""
        return _Hold(self.held, most)


class _Hold:
    # A class, because a generator takes twice as long, on every request.
    __slots__ = ("_held", "_most")

    def __init__(self, held: dict[str, int], most: Mapping[str, int]) -> None:
        self._held = held
        self._most = most

    def __enter__(self) -> None:
        held = self._held
        for name, most in self._most.items():
            if held.get(name, 0) >= most:
                raise Unavailable("You have too many requests under way. Try again when one of them is answered.")
        for name in self._most:
            held[name] = held.get(name, 0) + 1

    def __exit__(self, *_: object) -> None:
        held = self._held
        for name in self._most:
            left = held[name] - 1
            if left:
                held[name] = left
            else:
                del held[name]


class _Claim(NamedTuple):
    size: int
    caller: str
    granted: "asyncio.Future[None]"


class MemoryBudget:
    """Bytes of large bodies in memory at a time; one caller holds a quarter of them at most."""

    def __init__(self) -> None:
        self.left = limits.LARGE_BODIES_BYTES
        self.decoding = asyncio.Lock()
        """Held by the thread that decodes a large body: two threads would only take turns."""
        self._held: Counter[str] = Counter()
        self._waiting: list[_Claim] = []

    async def take(self, size: int, caller: str) -> None:
        """Reserve the bytes as soon as they fit; raise Unavailable when that takes too long."""
        if self._fits(size, caller):
            self._book(size, caller)
            return
        claim = _Claim(size, caller, asyncio.get_running_loop().create_future())
        self._waiting.append(claim)
        taken = False
        try:
            async with asyncio.timeout(limits.LARGE_BODY_WAIT_SECONDS):
                await claim.granted
            taken = True
        except TimeoutError as error:
            raise Unavailable("Too many large bodies at once. Try again in a moment.") from error
        finally:
            if not taken:
                self._withdraw(claim)

    def give(self, size: int, caller: str) -> None:
        """Give the bytes back."""
        self._book(-size, caller)
        self._admit()

    def _fits(self, size: int, caller: str) -> bool:
        """Return whether the bytes fit now: into the caller's quarter, or as the caller's only ones."""
        held = self._held[caller]
        return size <= self.left and (not held or held + size <= limits.LARGE_BODIES_BYTES // 4)

    def _book(self, size: int, caller: str) -> None:
        self.left -= size
        self._held[caller] += size
        if not self._held[caller]:
            del self._held[caller]

    def _withdraw(self, claim: _Claim) -> None:
        """Remove a claim that waits no longer, even if it was granted at the same time."""
        if claim in self._waiting:
            self._waiting.remove(claim)
        elif not claim.granted.cancelled():
            self.give(claim.size, claim.caller)

    def _admit(self) -> None:
        """Grant every claim that fits, in order; a claim that does not fit holds up no other."""
        for claim in list(self._waiting):
            if not claim.granted.done() and self._fits(claim.size, claim.caller):
                self._waiting.remove(claim)
                self._book(claim.size, claim.caller)
                claim.granted.set_result(None)

"""Turns: each caller's in turn, and nobody has the whole queue."""

import asyncio

import pytest

from deedbox.kernel import fairness, limits
from deedbox.kernel.errors import Unavailable
from deedbox.kernel.fairness import FairQueue

pytestmark = pytest.mark.anyio


class Queue:
    """Callers at a few places, which they leave when they are told to."""

    def __init__(self, places: int = 1, most_of_one: int | None = None) -> None:
        self.turns = FairQueue(places, "files", most_of_one)
        self.order: list[str] = []
        self.go_on = asyncio.Semaphore(0)

    def come(self, whose: str) -> "asyncio.Task[None]":
        return asyncio.create_task(self._use(whose))

    async def _use(self, whose: str) -> None:
        fairness.holder.set(whose)
        async with self.turns.slot():
            self.order.append(whose)
            await self.go_on.acquire()

    async def settled(self) -> None:
        for _ in range(5):
            await asyncio.sleep(0)


async def test_each_caller_has_one_turn_after_the_other() -> None:
    queue = Queue()
    waiting = [queue.come("greedy") for _ in range(10)]
    await queue.settled()
    waiting += [queue.come("other"), queue.come("third"), queue.come("other")]
    for _ in waiting:
        await queue.settled()
        queue.go_on.release()
    await asyncio.gather(*waiting)
    assert queue.order[:7] == ["greedy", "greedy", "other", "third", "greedy", "other", "greedy"]


async def test_one_caller_has_a_quarter_of_the_queue_and_the_servers_own_work_all_of_it() -> None:
    queue = Queue()
    waiting = [queue.come("greedy") for _ in range(1 + limits.FAIR_QUEUE_LENGTH // 4)]
    await queue.settled()
    with pytest.raises(Unavailable, match="your files"):
        await queue.come("greedy")
    own = [queue.come("") for _ in range(limits.FAIR_QUEUE_LENGTH * 3 // 4)]
    await queue.settled()
    with pytest.raises(Unavailable, match="Too many files"):
        await queue.come("other")
    for _ in waiting + own:
        queue.go_on.release()
    await asyncio.gather(*waiting, *own)


async def test_who_leaves_the_queue_leaves_no_gap() -> None:
    queue = Queue(places=2)
    staying = [queue.come("a"), queue.come("b")]
    await queue.settled()
    leaving, last = queue.come("c"), queue.come("d")
    await queue.settled()
    leaving.cancel()
    queue.go_on.release()
    await asyncio.gather(leaving, return_exceptions=True)
    await queue.settled()
    assert queue.order == ["a", "b", "d"]
    for _ in range(2):
        queue.go_on.release()
    await asyncio.gather(*staying, last)
    assert queue.turns._free == 2


@pytest.mark.parametrize("steps", range(6))
async def test_who_leaves_in_the_moment_of_the_turn_hands_it_on(steps: int) -> None:
    queue = Queue()
    first, leaving = queue.come("a"), queue.come("b")
    await queue.settled()
    queue.go_on.release()
    for _ in range(steps):
        await asyncio.sleep(0)
    leaving.cancel()
    await asyncio.gather(first, leaving, return_exceptions=True)
    assert queue.turns._free == 1


async def test_who_has_left_the_queue_takes_up_no_room_in_it() -> None:
    queue = Queue()
    running = queue.come("a")
    leaving = [queue.come(f"key {number % 4}") for number in range(limits.FAIR_QUEUE_LENGTH)]
    await queue.settled()
    for one in leaving:
        one.cancel()
    await asyncio.gather(*leaving, return_exceptions=True)
    staying = queue.come("b")
    await queue.settled()
    for _ in range(2):
        queue.go_on.release()
    await asyncio.gather(running, staying)
    assert queue.order == ["a", "b"]


async def test_caller_with_a_share_leaves_free_places_to_others() -> None:
    queue = Queue(2, most_of_one=1)
    waiting = [queue.come("greedy"), queue.come("greedy")]
    await queue.settled()
    assert queue.order == ["greedy"]
    waiting.append(queue.come("other"))
    await queue.settled()
    assert queue.order == ["greedy", "other"], "a free place was kept from a caller who had none"
    for _ in waiting:
        queue.go_on.release()
    await asyncio.gather(*waiting)
    assert queue.order == ["greedy", "other", "greedy"]
    assert (queue.turns._free, queue.turns._held) == (2, {})


async def test_servers_own_work_has_all_places_beside_a_share() -> None:
    queue = Queue(2, most_of_one=1)
    waiting = [queue.come(""), queue.come("")]
    await queue.settled()
    assert queue.order == ["", ""]
    for _ in waiting:
        queue.go_on.release()
    await asyncio.gather(*waiting)

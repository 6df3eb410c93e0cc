"""Steps in threads: what they give and raise, how many run at once, and what becomes of them when nobody waits."""

import asyncio
import threading

import pytest

from deedbox.kernel import limits
from deedbox.kernel.threads import in_thread

pytestmark = pytest.mark.anyio


async def test_a_step_runs_beside_the_loop_and_gives_what_it_returns() -> None:
    assert await in_thread(divmod, 7, 2) == (3, 1)
    assert await in_thread(threading.current_thread) is not threading.current_thread()


@pytest.mark.parametrize(
    ("raised", "heard"), [(OSError("full"), OSError), (StopIteration(), RuntimeError), (KeyError(1), KeyError)]
)
async def test_what_a_step_raises_is_raised_to_the_one_who_waits(raised: Exception, heard: type[Exception]) -> None:
    def step() -> None:
        raise raised

    with pytest.raises(heard):
        await in_thread(step)
    assert await in_thread(str, 1) == "1"


async def test_as_many_steps_run_at_once_as_there_are_threads_and_the_rest_wait() -> None:
    going, most, lock, end = 0, 0, threading.Lock(), threading.Event()
    all_there = asyncio.Event()
    loop = asyncio.get_running_loop()

    def step() -> None:
        nonlocal going, most
        with lock:
            going += 1
            most = max(most, going)
            if going == limits.DISK_THREADS:
                loop.call_soon_threadsafe(all_there.set)
        end.wait()
        with lock:
            going -= 1

    steps = [in_thread(step) for _ in range(2 * limits.DISK_THREADS)]
    await all_there.wait()
    end.set()
    await asyncio.gather(*steps)
    assert most == limits.DISK_THREADS


async def test_a_step_whose_caller_has_left_before_it_began_is_left_out() -> None:
    end, done = threading.Event(), list[str]()
    busy = [in_thread(end.wait) for _ in range(limits.DISK_THREADS)]
    left = in_thread(done.append, "left")
    left.cancel()
    stays = in_thread(done.append, "stays")
    end.set()
    await asyncio.gather(*busy, stays)
    assert done == ["stays"]


def test_a_step_that_outlives_its_loop_does_not_end_its_thread() -> None:
    end = threading.Event()

    async def leave() -> None:
        in_thread(end.wait)

    async def come() -> str:
        return await in_thread(str, 2)

    asyncio.run(leave())
    end.set()
    assert asyncio.run(come()) == "2"

"""Background tasks: one that dies is logged, and whoever ends them waits for their end."""

import asyncio
from collections.abc import Collection, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from deedbox.kernel import log
from deedbox.kernel.errors import DeedboxError


def begin(loop: Coroutine[Any, Any, None], if_it_dies: str) -> asyncio.Task[None]:
    """Runs a loop that should never end by itself; the sentence is logged if it does."""

    def report(task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (reason := task.exception()):
            log.error(if_it_dies, exception=reason)

    task = asyncio.create_task(loop)
    task.add_done_callback(report)
    return task


@contextmanager
def going_on(if_it_fails: str, **about: str) -> Iterator[None]:
    """One round of a loop: whatever goes wrong in it is logged, and the next round tries again."""
    try:
        yield
    except DeedboxError as error:
        log.warning(if_it_fails, reason=error.message, **about)
    except Exception as error:  # an error that nobody foresaw must not stop the work until someone restarts the server
        log.error(if_it_fails, exception=error, **about)


async def end(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def drain(tasks: Collection[asyncio.Task[Any]], seconds: float) -> None:
    """Lets the tasks end, for so long; then cancels those that have not."""
    if tasks:
        await asyncio.wait(list(tasks), timeout=seconds)
    await end(*tasks)

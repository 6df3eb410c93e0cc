"""Tasks in the background: their deaths are told, and their ends waited for."""

import asyncio
from collections.abc import Collection, Coroutine
from typing import Any

from deedbox.kernel import log


def begin(loop: Coroutine[Any, Any, None], if_it_dies: str) -> asyncio.Task[None]:
    """Runs a loop that should never end by itself; the sentence is logged if it does."""

    def report(task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (reason := task.exception()):
            log.error(if_it_dies, exception=reason)

    task = asyncio.create_task(loop)
    task.add_done_callback(report)
    return task


async def end(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def drain(tasks: Collection[asyncio.Task[Any]], seconds: float) -> None:
    """Lets the tasks end, for so long; then cancels those that have not."""
    if tasks:
        await asyncio.wait(list(tasks), timeout=seconds)
    await end(*tasks)

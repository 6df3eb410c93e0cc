"""Background tasks: one that dies is logged, and whoever ends them waits for their end."""

import asyncio
from collections.abc import Collection, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from deedbox.kernel import limits, log
from deedbox.kernel.clock import stopwatch
from deedbox.kernel.errors import AWAY, ServiceError


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
        _log_return(if_it_fails)
    except ServiceError as error:
        if error.code not in AWAY or _is_due(if_it_fails):
            log.warning(if_it_fails, reason=error.message, **about)
    except Exception as error:  # an error that nobody foresaw must not stop the work until someone restarts the server
        log.error(if_it_fails, exception=error, **about)


_logged: dict[str, float] = {}
"""When each sentence was last logged while the storage is away: a loop tries every second, and one line a minute
suffices."""


def _is_due(sentence: str) -> bool:
    now = stopwatch()
    if sentence in _logged and now - _logged[sentence] < limits.AWAY_LOG_SECONDS:
        return False
    _logged[sentence] = now
    return True


def _log_return(sentence: str) -> None:
    if _logged.pop(sentence, None) is not None:
        log.info("the storage is back", before=sentence)


async def end(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def drain(tasks: Collection[asyncio.Task[Any]], seconds: float) -> None:
    """Lets the tasks end, for so long; then cancels those that have not."""
    if tasks:
        await asyncio.wait(list(tasks), timeout=seconds)
    await end(*tasks)

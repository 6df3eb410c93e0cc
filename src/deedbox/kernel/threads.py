"""A few threads for steps that may wait for the disk: `await in_thread(step, …)`.

The loop's own pool passes each step through two futures and a semaphore, which costs more than to open a file."""

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from deedbox.kernel import limits

T = TypeVar("T")


class _Step(NamedTuple):
    act: Callable[..., Any]
    given: tuple[Any, ...]
    outcome: "asyncio.Future[Any]"


class _Threads:
    """As many threads as steps have ever waited at once, within their bound."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._waiting: queue.SimpleQueue[_Step] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._count = 0
        self._wanted = 0
        """Steps that were handed in and have not ended."""

    def take(self, step: _Step) -> None:
        with self._lock:
            self._wanted += 1
            begin = self._wanted > self._count and self._count < self._most
            self._count += begin
        if begin:
            threading.Thread(target=self._work, name=f"disk-{self._count}", daemon=True).start()
        self._waiting.put(step)

    def _work(self) -> None:
        while True:
            step = self._waiting.get()
            result: Any = None
            error: BaseException | None = None
            if not step.outcome.cancelled():
                try:
                    result = step.act(*step.given)
                except StopIteration as raised:  # no future takes it
                    error = RuntimeError(f"a step in a thread raised StopIteration: {raised}")
                except BaseException as raised:  # whatever it is belongs to the one who waits, never to this thread
                    error = raised
            with self._lock:
                self._wanted -= 1
            with contextlib.suppress(RuntimeError):  # the loop that asked was closed
                step.outcome.get_loop().call_soon_threadsafe(_tell, step.outcome, result, error)
            del step, result, error  # what they hold need not wait for the next step


_threads = _Threads(limits.DISK_THREADS)


def in_thread(act: Callable[..., T], *given: Any) -> "asyncio.Future[T]":
    """What the step returns. It is handed to a thread at once, before anything is awaited."""
    outcome: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    _threads.take(_Step(act, given, outcome))
    return outcome


def _tell(outcome: "asyncio.Future[Any]", result: Any, error: BaseException | None) -> None:
    if outcome.done():
        return  # whoever waited has left
    if error is None:
        outcome.set_result(result)
    else:
        outcome.set_exception(error)

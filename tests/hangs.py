"""A test that hangs fails, and says where, instead of stopping the whole run."""

import asyncio
import faulthandler
import os
import signal
from collections.abc import Iterator

import pytest

SECONDS = 300


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Iterator[None]:
    signal.signal(signal.SIGALRM, _fail)
    if os.environ.get("FAULTS") != "full":  # those take as long as they take
        signal.alarm(SECONDS)
    try:
        return (yield)
    finally:
        signal.alarm(0)


def _fail(*_: object) -> None:
    signal.alarm(SECONDS)  # what follows the failure may hang as well
    faulthandler.dump_traceback()
    pytest.fail("The test hangs. What its tasks wait for:\n" + "\n".join(_waiting()))


def _waiting() -> Iterator[str]:
    try:
        tasks = asyncio.all_tasks()
    except RuntimeError:  # no loop runs
        return
    for task in tasks:
        coroutine: object = task.get_coro()
        while frame := getattr(coroutine, "cr_frame", None):
            yield f"{task.get_name()} {frame.f_code.co_filename}:{frame.f_lineno} {frame.f_code.co_qualname}"
            coroutine = getattr(coroutine, "cr_await", None)

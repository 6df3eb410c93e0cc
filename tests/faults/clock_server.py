"""The server under libfaketime, with the tests' model, and with the bug that PLANTED_BUG names, if any."""

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

from deedbox.cli import main
from deedbox.kernel.clock import SetBack
from deedbox.kernel.sandbox import confine
from tests.faults.faulty_server import VARIABLE
from tests.faults.search_server import use_the_tests_model


def sleep_by_the_stopwatch() -> None:
    """libfaketime answers EINVAL to `time.sleep`, which asks to be woken at a moment of the stopwatch."""
    never = threading.Event()

    def sleep(seconds: float) -> None:
        never.wait(seconds)

    time.sleep = sleep  # type: ignore[assignment]


def compute_by_the_kernel() -> None:
    """libfaketime puts off by an hour what a child has computed: that clock is none that it knows."""
    ticks = os.sysconf("SC_CLK_TCK")

    def computing_seconds(pid: int) -> float:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / ticks

    confine.computing_seconds = computing_seconds  # type: ignore[attr-defined]


def what_is_due_waits_for_the_clock() -> None:
    SetBack.seen = lambda *_: False  # type: ignore[method-assign]


BUGS: dict[str, Callable[[], None]] = {"what is due waits for the clock": what_is_due_waits_for_the_clock}

if __name__ == "__main__":
    sleep_by_the_stopwatch()
    compute_by_the_kernel()
    use_the_tests_model()
    if VARIABLE in os.environ:
        BUGS[os.environ[VARIABLE]]()
    main()

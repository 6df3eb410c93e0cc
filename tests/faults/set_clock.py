"""A clock that a test sets while a server uses it (libfaketime). Monotonic clocks run on, as they do on a real machine;
the children of the server's sandboxes, which get nothing of its environment, keep the machine's time."""

from pathlib import Path

import pytest

LIBRARY = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)
needs_libfaketime = pytest.mark.skipif(LIBRARY is None, reason="not run: libfaketime is not installed")
LOOK_SECONDS = 1
"""After so long at most the server goes by what was set."""


class SetClock:
    def __init__(self, folder: Path) -> None:
        self._file = folder / "clock"
        self.set(0)

    def set(self, seconds: int) -> None:
        """So many seconds off the machine's clock."""
        new = self._file.with_suffix(".new")
        new.write_text(f"{seconds:+d}")
        new.replace(self._file)

    def under(self) -> tuple[str, ...]:
        """The words of a program that becomes another, which goes by this clock."""
        settings = {
            "LD_PRELOAD": LIBRARY,
            "FAKETIME_TIMESTAMP_FILE": self._file,
            "FAKETIME_CACHE_DURATION": LOOK_SECONDS,
            "FAKETIME_DONT_FAKE_MONOTONIC": 1,
            "NO_FAKE_STAT": 1,
        }
        return ("env", *(f"{name}={value}" for name, value in settings.items()))

"""A `deedbox index --watch` that runs, and what it says."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests import nursery, server
from tests.cli.search_commands import ENV, MODULE


class Watch:
    def __init__(self, process: "subprocess.Popen[str]", errors: Path) -> None:
        self.process = process
        self._errors = errors

    def report(self) -> Any:
        """What it has done next."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.errors()
        return json.loads(line)

    def errors(self) -> str:
        return self._errors.read_text()

    def end(self, by: signal.Signals = signal.SIGINT) -> int:
        self.process.send_signal(by)
        return self.process.wait(timeout=60)


@contextmanager
def watch(
    folder: str, data: Path, errors: Path, *words: str, every: str = "0.2", env: Mapping[str, str] | None = None
) -> Iterator[Watch]:
    words = ("index", folder, "--watch", "--every", every, *words, "--json", "--data", str(data))
    with (
        errors.open("w") as file,
        nursery.Process(
            [sys.executable, "-m", MODULE, *words],
            env=server.environment(data, **ENV, **(env or {})),
            stdout=subprocess.PIPE,
            stderr=file,
            text=True,
        ) as process,
    ):
        try:
            yield Watch(process, errors)
        finally:
            if process.poll() is None:
                process.kill()

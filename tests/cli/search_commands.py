"""Commands of an installation with the tests' model, on which no server runs, or one does."""

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests import nursery, server
from tests.faults.installation import ROOT

MODULE = "tests.faults.search_server"
ENV = {"PYTHONPATH": str(ROOT)}
WAYS = ["alone", "beside a server"]


def command(*words: str, data: Path, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return nursery.run(MODULE, *words, "--data", str(data), env=server.environment(data, **ENV, **(env or {})))


def result(*words: str, data: Path, code: int = 0, env: Mapping[str, str] | None = None) -> Any:
    done = command(*words, "--json", data=data, env=env)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


@contextmanager
def data_folder(place: Path, way: str) -> Iterator[Path]:
    """A data folder on which no server runs, or one does."""
    if way == "alone":
        yield place
        return
    running = server.start(place, module=MODULE, env=ENV)
    try:
        yield place
    finally:
        running.stop()
        assert running.process.stdout is not None
        running.process.stdout.close()

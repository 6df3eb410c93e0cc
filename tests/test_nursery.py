"""The nursery of the tests: what is forked behaves as what is started, and nothing outlives who asked for it."""

import signal
import subprocess
import sys

import pytest

from tests import nursery, server

COMMAND = [sys.executable, "-m", "http.server", "0", "--bind", "127.0.0.1"]
KILLED = f"""
import os, signal
from tests import nursery
nursery.Process({COMMAND!r})
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is forked")
def test_whoever_asked_is_killed_and_all_of_it_ends() -> None:
    # The pipes of its output end only with the last process that has them.
    command = [sys.executable, "-c", KILLED]
    done = subprocess.run(command, cwd=nursery.ROOT, capture_output=True, timeout=nursery.SECONDS, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr


def test_a_process_is_polled_waited_for_and_signalled() -> None:
    with nursery.Process(COMMAND, env=server.environment(), stdout=subprocess.PIPE, text=True) as process:
        assert process.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=0.01)
        process.terminate()
        assert process.wait(timeout=nursery.SECONDS) == -signal.SIGTERM
        assert process.poll() == -signal.SIGTERM

"""The nursery of the tests: what is forked behaves as what is started, and nothing outlives who asked for it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from deedbox import VERSION
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


def test_what_is_typed_at_a_shell_has_its_words_streams_folder_and_end(tmp_path: Path) -> None:
    (tmp_path / "here.pdf").write_bytes(b"no PDF")
    with nursery.on_path() as folder:
        env = server.environment(PATH=f"{folder}:{os.environ['PATH']}")

        def typed(command: str) -> tuple[int, str, str]:
            words = ["sh", "-c", command]
            done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
            return done.returncode, done.stdout, done.stderr

        assert typed("deedbox --version | tr a-z A-Z") == (0, f"DEEDBOX, VERSION {VERSION.upper()}\n", "")
        code, _, errors = typed("deedbox frobnicate")
        assert (code, "No such command 'frobnicate'" in errors) == (2, True)
        code, output, _ = typed("deedbox verify here.pdf")
        assert (code, "here.pdf" in output) == (2, True)


def test_a_server_typed_at_a_shell_stops_when_it_is_asked_to(tmp_path: Path) -> None:
    with nursery.on_path() as folder:
        env = server.environment(PATH=f"{folder}:{os.environ['PATH']}", DEEDBOX_DATA_DIR=str(tmp_path / "data"))
        command = ["deedbox", "serve", "--json", "--port", "0"]
        with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout
            assert "address" in json.loads(process.stdout.readline())
            process.terminate()
            assert process.wait(timeout=nursery.SECONDS) == 0

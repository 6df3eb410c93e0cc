"""`deploy/deedbox.service`: what systemd says of it, and that Deedbox can do its work within what it allows."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator
from ctypes.util import find_library
from pathlib import Path

import httpx
import pytest

from deedbox.kernel import limits
from tests.deploy.proxies import DEPLOY, program, replaced
from tests.server import environment

EXPOSURE = 25
"""Tenths of what `systemd-analyze security` may find; 100 is a unit that protects nothing."""
MEANS = "from deedbox.kernel.sandbox import fence; print(fence.means())"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="systemd is Linux's")


def settings(name: str) -> list[str]:
    """Every word that the unit gives this setting."""
    lines = (DEPLOY / "deedbox.service").read_text().splitlines()
    return [word for line in lines if line.startswith(f"{name}=") for word in line.partition("=")[2].split()]


def analyze(*words: str) -> subprocess.CompletedProcess[str]:
    command = [program("systemd-analyze"), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    """The unit, with the `deedbox` that is installed here."""
    here = Path(sys.executable).with_name("deedbox")
    made = tmp_path / "deedbox.service"
    made.write_text(replaced((DEPLOY / "deedbox.service").read_text(), {"/opt/deedbox/.venv/bin/deedbox": str(here)}))
    return made


def test_systemd_reads_the_unit_without_a_complaint(unit: Path) -> None:
    done = analyze("verify", str(unit))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_unit_leaves_little_exposed(unit: Path) -> None:
    done = analyze("security", "--offline=true", f"--threshold={EXPOSURE}", "--no-pager", str(unit))
    assert done.returncode == 0, done.stdout
    print(done.stdout.splitlines()[-1])


def test_a_sandbox_that_runs_out_of_memory_does_not_end_the_server() -> None:
    assert settings("OOMPolicy") == ["continue"]
    assert settings("MemoryMax") == ["2G"]


def test_requests_under_way_can_end_before_systemd_kills() -> None:
    assert int(*settings("TimeoutStopSec")) > limits.DRAIN_SECONDS


def expanded(words: Iterable[str]) -> Iterator[str]:
    """The names of the calls in these sets."""
    for word in words:
        if not word.startswith("@"):
            yield word
            continue
        done = analyze("syscall-filter", word)
        assert done.returncode == 0, done.stderr
        inside = [line.strip() for line in done.stdout.splitlines()[1:]]
        yield from expanded(line for line in inside if line and not line.startswith("#"))


def filtered(tmp_path: Path, allowed: Iterable[str]) -> list[str]:
    """What begins a command that runs under the unit's filter with these calls."""
    if find_library("seccomp") is None:
        assert not os.environ.get("CI"), "libseccomp2 is missing: run scripts/test-deps"
        pytest.skip("libseccomp2 is missing: run scripts/test-deps")
    families = {"AF_INET": socket.AF_INET, "AF_INET6": socket.AF_INET6, "AF_UNIX": socket.AF_UNIX}
    sockets = " ".join(str(int(families[name])) for name in settings("RestrictAddressFamilies"))
    names = [f"socket {sockets}" if name == "socket" else name for name in sorted(set(allowed))]
    calls = tmp_path / "calls"
    calls.write_text("\n".join(names))
    return [sys.executable, "-m", "tests.deploy.filtered", str(calls), "--", sys.executable]


def output(command: list[str]) -> str:
    root = DEPLOY.parent
    done = subprocess.run(command, cwd=root, env=environment(), capture_output=True, text=True, check=True, timeout=120)
    return done.stdout.strip()


def test_sandboxes_close_themselves_in_as_without_the_filter(tmp_path: Path) -> None:
    allowed = set(expanded(settings("SystemCallFilter")))
    without = output([sys.executable, "-c", MEANS])
    assert output([*filtered(tmp_path, allowed), "-c", MEANS]) == without
    # The check itself: a unit with the usual calls alone would leave sandboxes without a fence. Landlock's are among
    # them in newer releases of systemd.
    if without != "None":
        usual = [name for name in expanded(["@system-service"]) if not name.startswith("landlock_")]
        assert output([*filtered(tmp_path, usual), "-c", MEANS]) == "None"


def test_documents_are_sent_signed_sealed_and_found_under_the_filter(tmp_path: Path, models_dir: Path) -> None:
    command = filtered(tmp_path, expanded(settings("SystemCallFilter")))
    command += ["-m", "deedbox", "demo", "--json", "--no-browser"]
    env = environment(DEEDBOX_MODELS_DIR=str(models_dir))
    with subprocess.Popen(command, cwd=DEPLOY.parent, env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            shown = json.loads(process.stdout.readline())
            assert shown["no_search"] == ""
            answer = httpx.get(shown["verify"], trust_env=False, timeout=60)
            status = Path(f"/proc/{process.pid}/status").read_text()
        finally:
            process.send_signal(signal.SIGTERM)
    assert process.returncode == 0
    assert answer.status_code == 200
    assert re.search(r"^NoNewPrivs:\s*1$", status, re.MULTILINE)
    assert re.search(r"^Seccomp:\s*2$", status, re.MULTILINE)

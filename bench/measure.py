"""What the benches share: CPU time of a process, a plain HTTP client, medians and ratios."""

import http.client
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parent.parent


def cpu_seconds(pid: int) -> float:
    """User and system time that a process has used, children not included."""
    stat = Path(f"/proc/{pid}/stat")
    if stat.exists():
        fields = stat.read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    shown = subprocess.run(["ps", "-o", "time=", "-p", str(pid)], capture_output=True, text=True, check=True).stdout
    seconds = 0.0
    for part in shown.strip().replace("-", ":").split(":"):
        seconds = seconds * 60 + float(part)
    return seconds


def peers_python() -> str:
    """The interpreter of the benches' own environment, made on first use."""
    subprocess.run([str(ROOT / "scripts" / "setup"), "bench"], check=True)
    return str(ROOT / ".venv-bench" / "bin" / "python")


@contextmanager
def temporary_folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="deedbox-bench-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def process(command: Sequence[str], **environment: str) -> Iterator[subprocess.Popen[str]]:
    """A child that prints one line when it is ready; ended with the block."""
    child = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL if "BENCH_DEBUG" not in os.environ else sys.stderr,
        text=True,
    )
    try:
        yield child
    finally:
        child.terminate()
        child.wait()


def get(connection: http.client.HTTPConnection, path: str, key: str) -> bytes:
    connection.request("GET", path, headers={"Authorization": f"Bearer {key}"})
    response = connection.getresponse()
    body = response.read()
    if response.status != 200:
        raise SystemExit(f"GET {path} gave {response.status}: {body[:200]!r}")
    return body


def ratio(one: float, other: float) -> float:
    """How many times the other; nothing that can be told of what was too short to measure."""
    return one / other if other else float("nan")


def median(values: Sequence[float]) -> float:
    return statistics.median(values)

"""Runs the benches, keeps their figures and writes them into README, with the commit and the machine: `make bench`.

Usage: python scripts/bench.py [NAME ...]     NAME is a run of bench/table.py; all without one"""

import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from bench import table  # noqa: E402
from bench.table import KEPT, RUNS, Measured  # noqa: E402

MEASURED = ("src", "bench", "pyproject.toml", "requirements", f":!{KEPT.relative_to(ROOT)}")
"""What a figure depends on."""


def git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def commit() -> str:
    """The commit that is measured; there is none while the code differs from it."""
    if git("status", "--porcelain", "--", *MEASURED):
        raise SystemExit(
            "The code differs from the last commit, so a figure would carry the wrong one. Commit first,"
            " or run a bench by itself: python -m bench.NAME"
        )
    return git("rev-parse", "--short=8", "HEAD")


def machine() -> str:
    """Return the cores and the architecture: figures of different machines stand side by side."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{cores} cores, {platform.machine()}"


def peers() -> bool:
    """Whether the programs are there that the benches compare with."""
    for what in ("bench", "bench-node"):
        if subprocess.run([str(ROOT / "scripts" / "setup"), what], check=False).returncode:
            print(f"bench: the peers of scripts/setup {what} are missing: every bench runs without peers", flush=True)
            return False
    return True


def run(name: str, *, with_peers: bool) -> dict[str, str]:
    """The figures of one run, which prints them and more."""
    print(f"\n== {name}", flush=True)
    bench, *words = RUNS[name]
    words += [] if with_peers else ["--no-peers"]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "figures.json"
        subprocess.run([sys.executable, "-m", f"bench.{bench}", *words, "--figures", str(file)], cwd=ROOT, check=True)
        told: dict[str, str] = json.loads(file.read_text(encoding="utf-8"))
        return told


def main(names: list[str]) -> None:
    unknown = sorted(set(names) - set(RUNS))
    if unknown:
        raise SystemExit(f"There is no run {', '.join(unknown)}. Those that there are: {', '.join(RUNS)}")
    measured_at, here, with_peers = commit(), machine(), peers()
    measured = table.kept()
    for name in names or RUNS:
        new = Measured(measured_at, here, run(name, with_peers=with_peers))
        measured[name] = table.replace(measured.get(name, []), new)
        table.write(ROOT / "README.md", measured)  # at once: a later bench may fail


if __name__ == "__main__":
    main(sys.argv[1:])

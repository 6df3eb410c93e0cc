"""Every bench works: each runs in its small size, without its peers, and tells its figures."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest
from bench.table import ROWS, RUNS

from tests.server import environment

ROOT = Path(__file__).parents[2]
PATIENCE = 300
"""Seconds on a busy machine: a small size takes a few of CPU."""


def is_bench(path: Path) -> bool:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in tree.body)


BENCHES = sorted(path.stem for path in (ROOT / "bench").glob("*.py") if is_bench(path))
BY_HAND = {"ranking": ("ranking",), "recall": ("recall",), "languages": ("languages",)}
"""Those that measure a set of judged texts, which is not here, or models that are not the default."""


def test_make_bench_runs_every_bench_but_those_by_hand() -> None:
    assert {words[0] for words in RUNS.values()} | set(BY_HAND) == set(BENCHES)


@pytest.mark.parametrize("run", [*RUNS, *BY_HAND])
def test_a_bench_runs_in_its_small_size_and_tells_its_figures(run: str, tmp_path: Path) -> None:
    bench, *words = {**RUNS, **BY_HAND}[run]
    command = [sys.executable, "-m", f"bench.{bench}", *words, "--small", "--figures", str(tmp_path / "figures.json")]
    done = subprocess.run(
        command, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    told = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))
    wanted = {name for row in ROWS if row.run == run for name in row.names}
    assert told
    assert wanted <= set(told)

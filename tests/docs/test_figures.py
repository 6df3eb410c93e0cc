"""README's figures are those that the benches told, and name the commit that was measured."""

import subprocess
from pathlib import Path

import pytest
from bench import table
from bench.table import ROWS, RUNS

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"


def test_the_table_of_figures_is_written_from_what_was_measured() -> None:
    text = README.read_text(encoding="utf-8")
    assert text.count(table.BEGIN) == text.count(table.END) == 1
    assert text == table.replaced(text, table.rendered(table.kept())), "README's figures are written by make bench"


def test_every_figure_of_the_table_has_a_name_and_a_run() -> None:
    measured = table.kept()
    assert set(measured) <= set(RUNS)
    for row in ROWS:
        assert row.run in RUNS
        assert row.names, row.what
        assert row.run not in measured or row.names <= set(measured[row.run].figures), row.what


def test_every_figure_names_a_commit_that_there_is() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("without the repository's history no commit can be looked up")
    shallow = _git("rev-parse", "--is-shallow-repository").stdout.strip() == "true"
    if shallow:
        pytest.skip("the repository's history was not fetched whole")
    for run, told in table.kept().items():
        assert _git("cat-file", "-e", f"{told.commit}^{{commit}}").returncode == 0, f"{run}: {told.commit}"


def _git(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)

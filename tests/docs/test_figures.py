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
        for one in measured.get(row.run, []):
            assert row.names <= set(one.figures), row.what


def test_figures_of_two_machines_stand_side_by_side() -> None:
    run, row = "start", next(row for row in ROWS if row.run == "start")
    arm, x86 = (table.Measured("abc", machine, dict.fromkeys(row.names, machine)) for machine in ("arm", "x86"))
    again = table.Measured("def", "arm", dict.fromkeys(row.names, "arm again"))
    both = table.replace([arm, x86], again)
    lines = [line for line in table.rendered({run: both}).splitlines() if "| arm |" in line or "| x86 |" in line]
    assert both == [again, x86]
    assert [line.split(" | ")[-2:] for line in lines] == [["arm", "`def` |"], ["x86", "`abc` |"]]
    assert lines[0].startswith(f"| {row.what} | arm again")
    assert lines[1].startswith("|  | x86")


def test_every_figure_names_a_commit_that_there_is() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("without the repository's history no commit can be looked up")
    shallow = _git("rev-parse", "--is-shallow-repository").stdout.strip() == "true"
    if shallow:
        pytest.skip("the repository's history was not fetched whole")
    for run, measurements in table.kept().items():
        for one in measurements:
            assert _git("cat-file", "-e", f"{one.commit}^{{commit}}").returncode == 0, f"{run}: {one.commit}"


def _git(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)

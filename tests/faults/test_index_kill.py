"""A kill in the midst of an index run leaves no document stuck, nothing twice, and nothing that was deleted."""

from pathlib import Path

from tests.faults import FULL, indexing, only_in_full

KILLS = 60 if FULL else 3
KILLS_ON_POSTGRESQL = 20 if FULL else 1
TRIES = 12
"""A kill may miss the gap that a planted bug leaves open; twelve times it does not."""


def test_after_every_kill_the_index_becomes_the_database_again(tmp_path: Path) -> None:
    report = indexing.indexed(tmp_path / "data", KILLS)
    print(indexing.summary(report, "SQLite"))
    assert report.faults == 0, report
    assert report.kills == KILLS
    assert min(report.kills_while_indexing, report.uploads, report.replaces, report.runs, report.documents) > 0


@only_in_full
def test_after_every_kill_the_index_becomes_the_database_again_on_postgresql(tmp_path: Path, postgres_url: str) -> None:
    report = indexing.indexed(tmp_path / "data", KILLS_ON_POSTGRESQL, database_url=postgres_url)
    print(indexing.summary(report, "PostgreSQL"))
    assert report.faults == 0, report
    assert report.documents > 0


def test_the_rig_catches_a_claim_that_outlives_its_process(tmp_path: Path) -> None:
    bug = "a claim outlives its process"
    assert any(indexing.stuck(tmp_path / str(seed), bug=bug, seed=seed) for seed in range(TRIES))

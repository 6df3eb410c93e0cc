"""R1 for bulk sends: ten thousand rows, each sent once, however often the process dies."""

from pathlib import Path

from tests.faults import FULL, bulk_kill, only_in_full

ROWS, KILLS = (10_000, 20) if FULL else (300, 2)
TRIES = 5
"""A kill may miss the gap that a planted bug leaves open; five times it does not."""


def test_each_row_is_sent_once_across_kills(tmp_path: Path) -> None:
    report = bulk_kill.killed(tmp_path / "data", ROWS, KILLS)
    print(bulk_kill.summary(report, "SQLite"))
    assert report.faults == 0, report
    assert (report.sent, report.kills) == (ROWS, KILLS)
    assert report.kills_amid > 0


@only_in_full
def test_each_row_is_sent_once_across_kills_on_postgresql(tmp_path: Path, postgres_url: str) -> None:
    report = bulk_kill.killed(tmp_path / "data", ROWS, KILLS, database_url=postgres_url)
    print(bulk_kill.summary(report, "PostgreSQL"))
    assert report.faults == 0, report
    assert report.kills_amid > 0


def test_the_rig_catches_a_row_that_is_noted_as_sent_after_the_commit(tmp_path: Path) -> None:
    found = []
    for seed in range(TRIES):
        found.append(bulk_kill.killed(tmp_path / str(seed), 40, 2, bug="row noted as sent after the commit", seed=seed))
        if found[-1].doubled:
            return
    raise AssertionError(found)

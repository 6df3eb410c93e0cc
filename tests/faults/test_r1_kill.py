"""R1: nothing acknowledged is lost when the process dies."""

from collections.abc import Iterator
from pathlib import Path

from tests.faults import FULL, kill, only_in_full

KILLS = 300 if FULL else 4
KILLS_ON_POSTGRESQL = 60 if FULL else 2
FIRST_STARTS = 30 if FULL else 1
TRIES = 5
"""A kill may miss the gap that a planted bug leaves open; five times it does not."""


def test_what_was_acknowledged_survives_every_kill(tmp_path: Path) -> None:
    report = kill.killed(tmp_path / "data", KILLS)
    print(kill.summary(report, "SQLite"))
    assert report.faults == 0
    assert report.kills == KILLS
    assert report.done > KILLS
    assert report.unknown > 0
    assert report.retried > 0
    assert report.replayed > 0


@only_in_full
def test_what_was_acknowledged_survives_every_kill_on_postgresql(tmp_path: Path, postgres_url: str) -> None:
    report = kill.killed(tmp_path / "data", KILLS_ON_POSTGRESQL, database_url=postgres_url)
    print(kill.summary(report, "PostgreSQL"))
    assert report.faults == 0
    assert report.done > 0
    assert report.unknown > 0


def test_a_server_killed_during_its_first_start_starts_the_next_time(tmp_path: Path) -> None:
    for number in range(FIRST_STARTS):
        scenario = kill.Scenario(tmp_path / str(number), seed=number)
        scenario.kill_while_starting()
        report = scenario.run(1)
        assert report.faults == 0
        assert report.done > 0


def test_the_rig_catches_an_answer_before_the_commit(tmp_path: Path) -> None:
    assert any(report.lost_keys + report.lost_revocations for report in with_bug("answer before commit", tmp_path))


@only_in_full
def test_the_rig_catches_an_idempotency_key_saved_after_the_commit(tmp_path: Path) -> None:
    assert any(report.doubled for report in with_bug("key saved after commit", tmp_path))


def with_bug(bug: str, folder: Path) -> Iterator[kill.Report]:
    for seed in range(TRIES):
        yield kill.killed(folder / str(seed), 2, bug=bug, seed=seed)

"""R1 over the whole lifecycle: nothing acknowledged is lost, nothing is half done, no document ends twice."""

from collections.abc import Iterator
from pathlib import Path

from tests.faults import FULL, lifecycle, only_in_full
from tests.faults.aftermath import Report

KILLS = 300 if FULL else 3
KILLS_ON_POSTGRESQL = 60 if FULL else 1
TRIES = 5
"""A kill may miss the gap that a planted bug leaves open; five times it does not."""


def test_documents_survive_every_kill_whole(tmp_path: Path) -> None:
    report = lifecycle.killed(tmp_path / "data", KILLS)
    print(f"R1 lifecycle on SQLite: {report}")
    assert report.faults == []
    assert report.figures["kills"] == KILLS
    assert min(report.figures[name] for name in ("done", "unknown", "retried", "signatures")) > 0


def test_documents_survive_every_kill_whole_on_postgresql(tmp_path: Path, postgres_url: str) -> None:
    report = lifecycle.killed(tmp_path / "data", KILLS_ON_POSTGRESQL, database_url=postgres_url)
    print(f"R1 lifecycle on PostgreSQL: {report}")
    assert report.faults == []
    assert min(report.figures[name] for name in ("done", "unknown", "documents")) > 0


@only_in_full
def test_the_rig_catches_a_signature_that_is_answered_before_its_commit(tmp_path: Path) -> None:
    assert any(report.amiss("lost") for report in with_bug("answer before commit", tmp_path))


def test_the_rig_catches_an_event_that_follows_its_commit(tmp_path: Path) -> None:
    assert any(report.amiss("half-applied") for report in with_bug("event after commit", tmp_path))


@only_in_full
def test_the_rig_catches_a_check_outside_the_transaction(tmp_path: Path) -> None:
    assert any(
        report.amiss("half-applied", "two ends") for report in with_bug("check outside the transaction", tmp_path)
    )


def with_bug(bug: str, folder: Path) -> Iterator[Report]:
    for seed in range(TRIES):
        yield lifecycle.with_bug(bug, folder / str(seed), seed)

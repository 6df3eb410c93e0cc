"""R5: one winner in a race; the losers are told so, and nobody hears of the database's locks."""

from pathlib import Path

from tests.faults import FULL, races

DOCUMENTS = 500 if FULL else 12
BATCHES = 20 if FULL else 1
TRIES = 3
ENDS = ("completed", "declined", "voided", "expired")


def test_sign_decline_void_and_expire_at_once_have_one_winner(tmp_path: Path) -> None:
    report = races.raced(tmp_path / "data", DOCUMENTS, BATCHES)
    print(f"R5 races on SQLite: {report}")
    assert report.faults == []
    assert not FULL or all(report.figures.get(end) for end in ENDS), "one of them never won, so there was no race"


def test_sign_decline_void_and_expire_at_once_have_one_winner_on_postgresql(tmp_path: Path, postgres_url: str) -> None:
    report = races.raced(tmp_path / "data", DOCUMENTS, BATCHES, database_url=postgres_url)
    print(f"R5 races on PostgreSQL: {report}")
    assert report.faults == []
    assert not FULL or all(report.figures.get(end) for end in ENDS), "one of them never won, so there was no race"


def test_the_rig_catches_a_write_without_a_condition(tmp_path: Path) -> None:
    bug = "read-check-write without a condition"
    assert any(races.raced(tmp_path / str(number), 8, bug=bug).amiss("two ends") for number in range(TRIES))

"""R1: nothing acknowledged is lost when the process dies."""

import os
from pathlib import Path

import pytest

from tests.rigs import kill

FULL = os.environ.get("RIGS") == "full"
KILLS = 300 if FULL else 6
KILLS_ON_POSTGRESQL = 60 if FULL else 3
KILLS_WITH_A_BUG = 4


def test_what_was_acknowledged_survives_every_kill(tmp_path: Path) -> None:
    report = kill.killed(tmp_path / "data", KILLS)
    print(kill.summary(report, "SQLite"))
    assert report.faults == 0
    assert report.kills == KILLS
    assert report.unknown > 0
    assert report.retried > 0
    assert report.replayed > 0


def test_what_was_acknowledged_survives_every_kill_on_postgresql(tmp_path: Path, postgres_url: str) -> None:
    report = kill.killed(tmp_path / "data", KILLS_ON_POSTGRESQL, database_url=postgres_url)
    print(kill.summary(report, "PostgreSQL"))
    assert report.faults == 0
    assert report.done > 0
    assert report.unknown > 0


def test_the_rig_catches_an_answer_before_the_commit(tmp_path: Path) -> None:
    report = kill.killed(tmp_path / "data", KILLS_WITH_A_BUG, bug="answer before commit")
    assert report.lost_keys + report.lost_revocations > 0


def test_the_rig_catches_an_idempotency_key_saved_after_the_commit(tmp_path: Path) -> None:
    report = kill.killed(tmp_path / "data", KILLS_WITH_A_BUG, bug="key saved after commit")
    assert report.doubled > 0

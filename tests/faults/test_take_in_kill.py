"""A kill while completed documents are taken into the library: each is in it once, and is found."""

from pathlib import Path

from tests.faults import FULL, only_in_full
from tests.faults.take_in_kill import Scenario, summary

STAGES = ["completed", "running", "ended"] * 10 if FULL else ["running"]
EACH = 3 if FULL else 2


def test_each_completed_document_is_in_the_library_once_after_every_kill(tmp_path: Path) -> None:
    report = Scenario(tmp_path / "data").run(STAGES, EACH)
    print(summary(report, "SQLite"))
    assert report.faults == []
    assert (report.kills, report.documents) == (len(STAGES), len(STAGES) * EACH)
    assert report.kills_amid > 0


@only_in_full
def test_each_completed_document_is_in_the_library_once_after_every_kill_on_postgresql(
    tmp_path: Path, postgres_url: str
) -> None:
    report = Scenario(tmp_path / "data", database_url=postgres_url).run(STAGES, EACH)
    print(summary(report, "PostgreSQL"))
    assert report.faults == []
    assert report.kills_amid > 0


def test_the_rig_catches_an_entry_that_follows_its_document(tmp_path: Path) -> None:
    report = Scenario(tmp_path / "data", bug="entry after its document").run(["completed"], 1)
    assert any(fault.startswith("lost") for fault in report.faults), report

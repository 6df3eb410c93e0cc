"""Archiving under kills: nothing that was completed is lost on the way to the archive, and nothing arrives twice."""

from pathlib import Path

import pytest

from tests.archive.sink import sink
from tests.faults import FULL, archive_kill, only_in_full
from tests.faults.archive_kill import InBucket, InFolder, InSink
from tests.s3 import Store

KILLS, PACKAGES = (60, 250) if FULL else (2, 12)
TRIES = 4


def test_an_archive_over_http_gets_each_package_once_whatever_dies(tmp_path: Path) -> None:
    with sink() as running:
        report = archive_kill.killed(InSink(running), tmp_path / "data", KILLS, PACKAGES)
    print(archive_kill.summary(report, "SQLite"))
    assert report.faults == 0
    assert report.kills_while_pushing > 0


@only_in_full
def test_a_folder_gets_each_package_once_whatever_dies(tmp_path: Path) -> None:
    report = archive_kill.killed(InFolder(tmp_path / "archive"), tmp_path / "data", KILLS, PACKAGES)
    print(archive_kill.summary(report, "SQLite"))
    assert report.faults == 0
    assert report.kills_while_pushing > 0


@only_in_full
def test_a_bucket_gets_each_package_once_whatever_dies(tmp_path: Path, s3_store: Store) -> None:
    report = archive_kill.killed(InBucket(s3_store), tmp_path / "data", KILLS, PACKAGES)
    print(archive_kill.summary(report, "SQLite"))
    assert report.faults == 0
    assert report.kills_while_pushing > 0


@only_in_full
def test_an_archive_over_http_gets_each_package_once_on_postgresql(tmp_path: Path, postgres_url: str) -> None:
    with sink() as running:
        report = archive_kill.killed(
            InSink(running), tmp_path / "data", KILLS // 2, PACKAGES // 2, database_url=postgres_url
        )
    print(archive_kill.summary(report, "PostgreSQL"))
    assert report.faults == 0
    assert report.kills_while_pushing > 0


@only_in_full
@pytest.mark.parametrize(("bug", "fault"), [("noted before it is pushed", "lost"), ("put without looking", "twice")])
def test_the_rig_catches(tmp_path: Path, bug: str, fault: str) -> None:
    found = 0
    for seed in range(TRIES):
        with sink() as running:
            report = archive_kill.killed(InSink(running), tmp_path / str(seed), 6, 40, bug=bug, seed=seed)
        found += getattr(report, fault)
        if found:
            return
    raise AssertionError(f"the fault test does not see: {bug}")

"""R2: nothing acknowledged is lost when the power fails."""

import shutil
from pathlib import Path

import pytest

from deedbox.kernel.db import sqlite
from tests.faults import FULL, power_cut
from tests.faults.power_cut import Acknowledged, Report, Synced, Wrote

CUTS = 1000 if FULL else 60
ROUNDS = 150 if FULL else 40


def run(
    path: Path, *, pragmas: tuple[str, ...] = sqlite.PRAGMAS, event_apart: bool = False, cuts: int = CUTS
) -> Report:
    before = path.with_name("before") / path.name
    before.parent.mkdir()
    shutil.copy(path, before)
    record = power_cut.recorded(path, ROUNDS, pragmas=pragmas, event_apart=event_apart)
    return power_cut.cut(before, record, path.parent / "cut", cuts)


def test_what_was_acknowledged_survives_every_power_cut(sqlite_path: Path) -> None:
    report = run(sqlite_path)
    print(f"R2 power cut: {report}")
    assert report.faults == 0
    assert report.writes > ROUNDS


@pytest.mark.parametrize("bug", ["synchronous = normal", "synchronous = off"])
def test_the_rig_catches_a_database_that_does_not_wait_for_the_disk(sqlite_path: Path, bug: str) -> None:
    pragmas = tuple(pragma.replace("synchronous = full", bug) for pragma in sqlite.PRAGMAS)
    assert pragmas != sqlite.PRAGMAS
    assert run(sqlite_path, pragmas=pragmas, cuts=60).lost > 0


def test_the_rig_catches_an_event_in_a_transaction_of_its_own(sqlite_path: Path) -> None:
    assert run(sqlite_path, event_apart=True, cuts=60).split > 0


def test_a_batch_of_writes_waits_for_the_disk_once_and_is_acknowledged_after_it(sqlite_path: Path) -> None:
    record = power_cut.recorded(sqlite_path, ROUNDS)
    log = [operation for operation in record if operation.__class__ in (Wrote, Synced, Acknowledged)]
    first = next(index for index, operation in enumerate(log) if isinstance(operation, Acknowledged))
    assert any(isinstance(operation, Synced) and operation.file.endswith("-wal") for operation in log[:first])
    syncs = sum(isinstance(operation, Synced) and operation.file.endswith("-wal") for operation in log)
    assert syncs < sum(isinstance(operation, Acknowledged) for operation in log)

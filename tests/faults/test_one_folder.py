"""Several servers on one data folder: each answers with every acknowledged change, also when the one that writes the
index is killed, and all answer the same bytes."""

import sys
from pathlib import Path

import pytest

from tests.faults import FULL, installation
from tests.faults.one_folder import Scenario

ROUNDS, KILLS = (150, 20) if FULL else (8, 1)

pytestmark = pytest.mark.anyio


async def test_three_servers_on_one_folder_answer_as_one(tmp_path: Path, postgres_url: str) -> None:
    report = await Scenario(tmp_path / "data", postgres_url).run(ROUNDS, KILLS)
    print(installation.told("One folder", report, "PostgreSQL"))
    assert report.faults == 0, report
    assert report.kills == KILLS
    if sys.platform == "linux":
        assert report.writers_killed > 0


async def test_the_rig_catches_a_reader_that_does_not_wait(tmp_path: Path, postgres_url: str) -> None:
    report = await Scenario(tmp_path / "data", postgres_url, bug="a reader answers with what it has").run(6, 0)
    assert report.missed > 0, report

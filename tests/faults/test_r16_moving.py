"""R16: a backup is real, there and back: 1,000 sealed documents and 100,000 chunks in full size."""

import os
from pathlib import Path

from tests.faults import FULL
from tests.faults.moving import LOSES_ROWS, Scenario, losing_rows
from tests.s3 import Store

DOCUMENTS = int(os.environ.get("MOVED_DOCUMENTS", "1000")) if FULL else 3
CHUNKS = int(os.environ.get("MOVED_CHUNKS", "100000")) if FULL else 400
QUESTIONS = 100 if FULL else 5


def test_an_installation_goes_to_postgres_and_s3_and_back(
    tmp_path: Path, models_dir: Path, postgres_url: str, s3_store: Store
) -> None:
    scenario = Scenario(tmp_path, models_dir)
    there = {"DEEDBOX_DATABASE_URL": postgres_url, **s3_store.settings(s3_store.bucket())}
    score = scenario.run(scenario.make(DOCUMENTS, CHUNKS), there, QUESTIONS)
    print(score.line(None))
    assert score.places == 3
    assert score.answers > 0
    assert score.violations() == 0


def test_the_rig_catches_a_restore_that_loses_rows_and_does_not_compare(
    tmp_path: Path, models_dir: Path, postgres_url: str
) -> None:
    scenario = Scenario(tmp_path, models_dir, LOSES_ROWS)
    with losing_rows():
        score = scenario.run(scenario.make(2, 200), {"DEEDBOX_DATABASE_URL": postgres_url}, 2)
    print(score.line(LOSES_ROWS))
    assert score.violations() > 0

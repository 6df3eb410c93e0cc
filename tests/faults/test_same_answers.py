"""The same chunks give the same answer, byte for byte, on any server and after any history."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults import FULL, histories
from tests.faults.histories import Bug, Places
from tests.faults.outage import load
from tests.search.index.on_postgres import postgres_indexes

HISTORIES = 1000 if FULL else 8


@pytest.fixture
def in_database(postgres_url: str) -> Iterator[Places]:
    with postgres_indexes(postgres_url) as one, postgres_indexes(postgres_url) as two:
        yield histories.Database(one, two)


def test_all_histories_that_end_alike_answer_alike(tmp_path: Path) -> None:
    report = histories.lived(histories.Folders(tmp_path), HISTORIES)
    print(f"Local indexes, {histories.summary(report)} ({load()})")
    assert report.different == 0, report
    assert report.histories == HISTORIES
    assert min(report.changes, report.reopened, report.rebuilt, report.rewritten, report.answers) > 0, report


def test_all_histories_of_an_index_in_postgresql_answer_alike(in_database: Places) -> None:
    report = histories.lived(in_database, HISTORIES)
    print(f"An index in PostgreSQL, {histories.summary(report)} ({load()})")
    assert report.different == 0, report
    assert report.histories == HISTORIES
    assert min(report.changes, report.reopened, report.rebuilt, report.answers) > 0, report


@pytest.mark.parametrize("bug", histories.OF_FOLDERS.values(), ids=histories.OF_FOLDERS)
def test_the_rig_catches_answers_that_depend_on_the_history(tmp_path: Path, bug: Bug) -> None:
    assert histories.lived(histories.Folders(tmp_path), 3, bug=bug).different > 0


@pytest.mark.parametrize("bug", histories.OF_DATABASE.values(), ids=histories.OF_DATABASE)
def test_the_rig_catches_answers_of_postgresql_that_depend_on_the_history(in_database: Places, bug: Bug) -> None:
    assert histories.lived(in_database, 3, bug=bug).different > 0

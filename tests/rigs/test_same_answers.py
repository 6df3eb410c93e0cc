"""The same chunks give the same answer, byte for byte, on any server and after any history."""

from pathlib import Path

import pytest

from tests.rigs import FULL, histories

HISTORIES = 1000 if FULL else 8


def test_all_histories_that_end_alike_answer_alike(tmp_path: Path) -> None:
    report = histories.lived(tmp_path, HISTORIES)
    print(histories.summary(report))
    assert report.different == 0, report
    assert report.histories == HISTORIES
    assert min(report.changes, report.reopened, report.rebuilt, report.rewritten, report.answers) > 0, report


@pytest.mark.parametrize("bug", [name for name in histories.PLANTED if name])
def test_the_rig_catches_answers_that_depend_on_the_history(tmp_path: Path, bug: str) -> None:
    assert histories.lived(tmp_path, 3, bug=bug).different > 0

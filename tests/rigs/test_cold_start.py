"""A server on a new machine answers from a snapshot of the index: the bench, small."""

from pathlib import Path

import pytest
from bench import cold_start
from bench.measure import temporary_folder

from tests.rigs import FULL

CHUNKS = 100_000 if FULL else 12_000


@pytest.mark.usefixtures("models_dir")
def test_a_new_machine_takes_the_snapshot_and_answers_right(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with temporary_folder() as folder, cold_start.installation(folder) as settings:
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
        cold_start.measure(CHUNKS, folder)
        found = {path.parent.name for path in Path(folder).rglob("index/*/*/manifest.json")}
    assert len(found) == 1
    assert "with the snapshot" in capsys.readouterr().out

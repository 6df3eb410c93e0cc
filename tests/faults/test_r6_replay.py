"""R6: a retry is harmless, also five at once, also across a kill: one effect, and the same bytes for all."""

from pathlib import Path

from tests.faults import FULL, only_in_full, replay

ROUNDS = 20 if FULL else 1
KILLS = 40 if FULL else 1
TRIES = 5
"""A kill may miss the gap that a planted bug leaves open; five times it does not."""


def test_every_post_repeated_under_one_key_has_one_effect(tmp_path: Path) -> None:
    report = replay.replayed(tmp_path / "data", ROUNDS, KILLS)
    print(f"R6 replay on SQLite: {report}")
    assert report.faults == []
    assert min(report.figures[name] for name in ("answers", "replayed", "unknown")) > 0


@only_in_full
def test_every_post_repeated_under_one_key_has_one_effect_on_postgresql(tmp_path: Path, postgres_url: str) -> None:
    report = replay.replayed(tmp_path / "data", ROUNDS, KILLS, database_url=postgres_url)
    print(f"R6 replay on PostgreSQL: {report}")
    assert report.faults == []
    assert min(report.figures[name] for name in ("answers", "replayed", "unknown")) > 0


def test_the_rig_catches_a_key_saved_after_the_commit(tmp_path: Path) -> None:
    bug = "key saved after commit"
    reports = (replay.replayed(tmp_path / str(seed), 0, 1, bug=bug, seed=seed) for seed in range(TRIES))
    assert any(report.amiss("doubled", "altered", "failed") for report in reports)

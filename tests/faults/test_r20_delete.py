"""R20: a delete is a delete: during indexing, during queries, across a kill. And no kill leaves a document stuck."""

from pathlib import Path

from tests.faults import FULL, deletion, folder_deletion, only_in_full

KILLS = 100 if FULL else 3
KILLS_ON_POSTGRESQL = 30 if FULL else 1
TRIES = 5
"""A question may miss the gap that a planted bug leaves open; five times it does not."""


def test_nothing_deleted_is_ever_answered_and_the_index_is_the_database(tmp_path: Path) -> None:
    report = deletion.deleted(tmp_path / "data", KILLS)
    print(deletion.summary(report, "SQLite"))
    assert report.faults == 0, report
    assert report.kills == KILLS
    assert min(report.uploads, report.moves, report.deletes, report.queries, report.found) > 0


@only_in_full
def test_nothing_deleted_is_ever_answered_on_postgresql(tmp_path: Path, postgres_url: str) -> None:
    report = deletion.deleted(tmp_path / "data", KILLS_ON_POSTGRESQL, database_url=postgres_url)
    print(deletion.summary(report, "PostgreSQL"))
    assert report.faults == 0, report
    assert min(report.uploads, report.queries) > 0


def test_the_rig_catches_vectors_that_are_deleted_after_the_record(tmp_path: Path) -> None:
    bug = "vectors deleted after the record"
    assert any(deletion.deleted(tmp_path / str(seed), 2, bug=bug, seed=seed).answered_deleted for seed in range(TRIES))


def test_the_rig_catches_an_answer_from_another_collection(tmp_path: Path) -> None:
    bug = "collections are not asked for"
    assert any(
        deletion.deleted(tmp_path / str(seed), 1, bug=bug, seed=seed).answered_elsewhere for seed in range(TRIES)
    )


def test_nothing_of_a_removed_file_of_a_watched_folder_is_answered_or_kept(tmp_path: Path) -> None:
    report = folder_deletion.followed(tmp_path, KILLS)
    print(folder_deletion.summary(report))
    assert report.faults == 0, report
    assert (report.kills, report.removed > 0, report.found > 0) == (KILLS, True, True)


def test_the_rig_catches_a_document_that_outlives_its_file(tmp_path: Path) -> None:
    report = folder_deletion.followed(tmp_path, 1, bug="a removed file keeps its document")
    assert report.answered_removed > 0

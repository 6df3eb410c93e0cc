"""R22: nobody starves the others. What must hold is asserted; how long it took is printed."""

from pathlib import Path

import pytest

from deedbox.search.embed import install
from tests.faults import FULL, starvation
from tests.faults.starvation import AMONG_MANY, CASES, HEADER, Row
from tests.search.embed import tiny

UPLOADS, CONNECTIONS, TEXTS, STRANGERS, LARGE, DRIPPING, BATCH, NOTHING, BOMBS = CASES
(TITLES,) = AMONG_MANY
SMALL = 5_000
"""Documents; the planted bug makes their reads as long as those of a full test."""


@pytest.fixture
def models(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The default model in full size, else a tiny one."""
    if FULL:
        return Path(request.getfixturevalue("models_dir"))
    install.install_folder(tiny.write(tmp_path / "tiny"), "tiny", tmp_path / "models", tiny.unseen)
    return tmp_path / "models"


def faults(rows: list[Row], title: str) -> list[str]:
    print(f"R22 nobody starves the others, {title}", HEADER, *rows, sep="\n")
    return [f"{row.case}: {fault}" for row in rows for fault in row.faults]


def test_whoever_wants_everything_leaves_the_others_their_part(tmp_path: Path, models: Path) -> None:
    rows = starvation.play(list(CASES), tmp_path / "data", models)
    assert faults(rows, "as it is") == []
    assert min(len(row.waited) for row in rows) > 0
    assert {row.case: row.facts.get("held") for row in rows if row.case in (UPLOADS, CONNECTIONS)} == {
        UPLOADS: 128,
        CONNECTIONS: 256,
    }


@pytest.mark.all_in_folder("only SQLite reads on the event loop")
def test_title_searches_leave_livez_and_other_workspaces_their_part(tmp_path: Path, models: Path) -> None:
    rows = starvation.play([TITLES], tmp_path / "data", models, documents=starvation.TITLES)
    assert faults(rows, "title searches") == []


@pytest.mark.all_in_folder("only SQLite reads on the event loop")
def test_the_rig_catches_long_reads_on_the_event_loop(tmp_path: Path, models: Path) -> None:
    bug = "long reads on the event loop"
    rows = starvation.play([TITLES], tmp_path / "data", models, bug=bug, documents=SMALL)
    found = faults(rows, f"with {bug}")
    assert any("/livez: p99 of" in fault for fault in found), found


def test_the_rig_catches_one_pool_for_all(tmp_path: Path, models: Path) -> None:
    rows = starvation.play([UPLOADS, CONNECTIONS, TEXTS], tmp_path / "data", models, bug="one pool for all")
    found = faults(rows, "with one pool for all")
    for case, fault in (
        (UPLOADS, "one key holds 512 places"),
        (UPLOADS, "GET /health: 503"),
        (CONNECTIONS, "one address holds"),
        (TEXTS, "texts of the other were embedded"),
    ):
        assert any(one.startswith(case) and fault in one for one in found), (case, fault, found[:20])


def test_the_rig_catches_json_decoded_before_the_door(tmp_path: Path, models: Path) -> None:
    rows = starvation.play([STRANGERS], tmp_path / "data", models, bug="JSON decoded before the door")
    assert any("16 strangers must send their body" in fault for fault in faults(rows, "with JSON decoded first"))

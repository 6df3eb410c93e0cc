"""Files that were put together elsewhere take the place of an index."""

import random
import shutil
from pathlib import Path

import pytest

from deedbox.search.index import Index, IndexUnusable
from deedbox.search.index.folders import IndexFolders
from tests.search.index.model import DIMENSIONS, Model, assert_same, change

PLACE = ("wsp_one", "recipe")


@pytest.fixture
def folders(tmp_path: Path) -> IndexFolders:
    return IndexFolders(tmp_path / "index")


def copied(folders: IndexFolders, elsewhere: Path) -> Model:
    """The files of another machine's index, come in; what they hold."""
    chance, model, others = random.Random(1), Model(), IndexFolders(elsewhere)
    index = others.open(PLACE, DIMENSIONS)
    changes = [change(f"upl_{number}", chance) for number in range(8)]
    index.apply(changes, 8)
    model.apply(changes)
    index.close()
    shutil.copytree(others.folder_of(PLACE), folders.incoming(PLACE))
    return model


def test_what_has_come_in_answers_from_then_on_under_an_identity_of_its_own(
    folders: IndexFolders, tmp_path: Path
) -> None:
    before = folders.open(PLACE, DIMENSIONS)
    model = copied(folders, tmp_path / "elsewhere")
    taken = folders.replace(before, PLACE, DIMENSIONS)
    there = IndexFolders(tmp_path / "elsewhere").open(PLACE, DIMENSIONS)
    assert (taken.watermark, taken.writes) == (8, True)
    assert_same(taken, model, random.Random(2))
    assert len({before.identity, taken.identity, there.identity}) == 3
    for index in (taken, there):
        index.close()


def test_whoever_was_quicker_keeps_the_place(folders: IndexFolders, tmp_path: Path) -> None:
    before = folders.open(PLACE, DIMENSIONS)
    copied(folders, tmp_path / "elsewhere")
    discard, quicker = before.discard, list[Index]()

    def lose_the_race() -> None:
        discard()
        quicker.append(folders.open(PLACE, DIMENSIONS))

    before.discard = lose_the_race  # type: ignore[method-assign]
    read = folders.replace(before, PLACE, DIMENSIONS)
    assert (quicker[0].writes, read.writes) == (True, False)
    assert not folders.incoming(PLACE).exists()
    for index in (read, *quicker):
        index.close()


def test_files_that_are_no_index_leave_the_present_one_as_it_is(folders: IndexFolders) -> None:
    before = folders.open(PLACE, DIMENSIONS)
    folders.incoming(PLACE).mkdir()
    with pytest.raises(IndexUnusable):
        folders.replace(before, PLACE, DIMENSIONS)
    assert before.writes
    before.close()

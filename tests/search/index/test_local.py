"""The folder of an embedded index: rewritten when it is half dead, refused when it cannot be trusted."""

import errno
import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from deedbox.kernel.errors import ErrorCode, Unavailable
from deedbox.search import limits
from deedbox.search.index import IndexChange, IndexUnusable, files
from deedbox.search.index.local import LocalIndex
from tests.search.index.model import DIMENSIONS, WORDS, Model, assert_same, change, vector


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "index" / "wsp_one"


@pytest.fixture(autouse=True)
def small_rewrites(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "REWRITE_ROWS", 40)


def opened(folder: Path, recipe: str = "recipe", dimensions: int = DIMENSIONS) -> LocalIndex:
    return LocalIndex(folder, dimensions, recipe)


def filled(folder: Path, uploads: int = 20) -> Model:
    """An index on disk, closed, and its model."""
    index, model, random_ = opened(folder), Model(), random.Random(1)
    changes = [change(f"upl_{number}", random_) for number in range(uploads)]
    index.apply(changes, uploads)
    model.apply(changes)
    index.close()
    return model


def flip(file: Path, at: int) -> None:
    body = bytearray(file.read_bytes())
    body[at % len(body)] ^= 0x10
    file.write_bytes(body)


def rows_stored(folder: Path) -> int:
    manifest = files.read_manifest(folder)
    assert manifest is not None
    return manifest.floats.length // (4 * DIMENSIONS)


def test_half_dead_files_are_rewritten_without_the_dead(folder: Path) -> None:
    model = filled(folder)
    index, random_ = opened(folder), random.Random(2)
    for turn in range(60):
        changes = [change(f"upl_{random_.randrange(20)}", random_)]
        index.apply(changes, 100 + turn)
        model.apply(changes)
        assert rows_stored(folder) <= max(2 * index.size, limits.REWRITE_ROWS)
        assert_same(index, model, random_)
    index.close()
    manifest = files.read_manifest(folder)
    assert manifest is not None
    assert manifest.generation >= 2
    assert {file.name for file in folder.iterdir() if file.is_file()} == {
        "manifest.json", "lock", *(f"{part}.{manifest.generation}" for part in files.PARTS),
    }  # fmt: skip
    index = opened(folder)
    assert_same(index, model, random_)
    index.close()


def test_a_search_goes_on_in_files_that_were_rewritten_meanwhile(folder: Path) -> None:
    filled(folder)
    index = opened(folder)
    before = index._view.vectors
    index.apply([IndexChange(f"upl_{number}", []) for number in range(19)], 99)
    for number in range(40):
        index.apply([change("upl_19", random.Random(number))], 100 + number)
    assert len(before.near(vector(random.Random(0)), 500).scores) == len(before)
    index.close()


def test_what_a_change_left_that_never_ended_is_ignored_and_removed(folder: Path) -> None:
    model = filled(folder)
    manifest = files.read_manifest(folder)
    assert manifest is not None
    for part in files.PARTS:
        with files.path(folder, part, manifest.generation).open("ab") as file:
            file.write(b"\x07" * 1000)
        files.path(folder, part, 77).write_bytes(b"left by a rewrite")
    index = opened(folder)
    assert_same(index, model, random.Random(1))
    assert not list(folder.glob("*.77"))
    extra = [change("upl_new", random.Random(8))]
    index.apply(extra, 21)
    model.apply(extra)
    assert_same(index, model, random.Random(1))
    index.close()


@pytest.mark.parametrize("stage", ["words begun", "words done"])
def test_a_change_that_was_killed_halfway_can_be_made_again(folder: Path, stage: str) -> None:
    """The folder as a kill leaves it: all files of the change written, but not what makes them true."""
    model = filled(folder)
    marks = ["manifest.json"] if stage == "words done" else ["manifest.json", "words/meta.json"]
    before = {name: (folder / name).read_bytes() for name in marks}
    random_ = random.Random(6)
    changes = [IndexChange("upl_3", []), change("upl_4", random_), change("upl_new", random_)]
    index = opened(folder)
    index.apply(changes, 21)
    index.close()
    for name, body in before.items():
        (folder / name).write_bytes(body)
    index = opened(folder)
    assert index.watermark == 20
    assert {hit.upload_id for hit in index.words(" ".join(WORDS), 500)} <= set(model.entries)
    for _ in range(2):
        index.apply(changes, 21)
    model.apply(changes)
    assert_same(index, model, random.Random(1))
    index.close()


def cut(part: str) -> Callable[[Path], None]:
    def work(folder: Path) -> None:
        file = next(folder.glob(f"{part}.*"))
        os.truncate(file, file.stat().st_size - 1)

    return work


def flipped(part: str, at: int) -> Callable[[Path], None]:
    return lambda folder: flip(next(folder.glob(part)), at)


def gone(pattern: str) -> Callable[[Path], None]:
    def work(folder: Path) -> None:
        for file in folder.glob(pattern):
            shutil.rmtree(file) if file.is_dir() else file.unlink()

    return work


def other_format(folder: Path) -> None:
    body = json.loads((folder / "manifest.json").read_bytes())
    (folder / "manifest.json").write_text(json.dumps(body | {"format": 99}))


def other_watermark(folder: Path) -> None:
    body = json.loads((folder / "manifest.json").read_bytes())
    (folder / "manifest.json").write_text(json.dumps(body | {"watermark": 5}))


DAMAGE = {
    "rows cut": cut("rows"),
    "floats cut": cut("floats"),
    "terms cut": cut("terms"),
    "names cut": cut("names"),
    "rows flipped": flipped("rows.*", 100),
    "names flipped": flipped("names.*", 7),
    "rows gone": gone("rows.*"),
    "floats gone": gone("floats.*"),
    "terms gone": gone("terms.*"),
    "names gone": gone("names.*"),
    "words gone": gone("words"),
    "words emptied": gone("words/*"),
    "segments gone": gone("words/*.idx"),
    "postings cut": lambda folder: os.truncate(next(folder.glob("words/*.idx")), 10),
    "postings flipped": flipped("words/*.idx", 90),
    "terms flipped": flipped("words/*.term", 40),
    "lengths flipped": flipped("words/*.fieldnorm", 12),
    "numbers flipped": flipped("words/*.fast", 30),
    "footer flipped": flipped("words/*.fast", -20),
    "words meta garbled": lambda folder: (folder / "words" / "meta.json").write_text("{"),
    "manifest empty": lambda folder: (folder / "manifest.json").write_bytes(b""),
    "manifest garbled": lambda folder: (folder / "manifest.json").write_bytes(b"\xff\x00{"),
    "manifest a list": lambda folder: (folder / "manifest.json").write_bytes(b"[]"),
    "another format": other_format,
    "another watermark": other_watermark,
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_a_damaged_folder_is_unusable_and_made_anew_once_discarded(
    folder: Path, damage: Callable[[Path], object]
) -> None:
    filled(folder)
    damage(folder)
    with pytest.raises(IndexUnusable):
        opened(folder).words("lease", 5)
    shutil.rmtree(folder)
    index = opened(folder)
    assert (index.watermark, index.size) == (0, 0)
    index.close()


@pytest.mark.parametrize(("recipe", "dimensions"), [("another", DIMENSIONS), ("recipe", 16)])
def test_an_index_of_another_recipe_or_dimension_is_unusable(folder: Path, recipe: str, dimensions: int) -> None:
    filled(folder)
    with pytest.raises(IndexUnusable, match="made by recipe"):
        opened(folder, recipe, dimensions)
    index = opened(folder)
    assert index.watermark == 20
    index.close()


def test_a_folder_without_a_manifest_begins_from_nothing(folder: Path) -> None:
    filled(folder)
    (folder / "manifest.json").unlink()
    index = opened(folder)
    assert (index.watermark, index.size, index.words("lease", 5)) == (0, 0, [])
    model = Model()
    extra = [change("upl_0", random.Random(4))]
    index.apply(extra, 1)
    model.apply(extra)
    assert_same(index, model, random.Random(1))
    index.close()


def test_one_index_writes_a_folder(folder: Path) -> None:
    index, other = opened(folder), opened(folder)
    assert (index.writes, other.writes, other.claim()) == (True, False, False)
    with pytest.raises(Unavailable):
        other.apply([change("upl_0", random.Random(4))], 1)
    with pytest.raises(IndexUnusable):
        opened(folder, "another").claim()
    index.close()
    assert other.claim()
    assert other.writes
    other.close()
    with pytest.raises(IndexUnusable):
        opened(folder, "another")
    opened(folder).close()


def test_a_closed_index_takes_no_changes(folder: Path) -> None:
    index = opened(folder)
    index.close()
    index.close()
    with pytest.raises(Unavailable):
        index.apply([change("upl_0", random.Random(0)), change("upl_1", random.Random(1))], 1)


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Makes the disk fail at the given flush from now on."""
    real, left = os.fsync, [-1]

    def fsync(file: int) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(file)

    monkeypatch.setattr(os, "fsync", fsync)

    def fail_at(flush: int) -> None:
        left[0] = flush

    return fail_at


@pytest.mark.parametrize("flush", range(1, 8))
def test_a_disk_that_fails_changes_nothing_and_the_change_can_be_tried_again(
    folder: Path, flush: int, failing: Callable[[int], None]
) -> None:
    model = filled(folder)
    index = opened(folder)
    random_ = random.Random(5)
    changes = [IndexChange("upl_3", []), *(change(f"upl_{number}", random_) for number in (1, 2, 30))]
    failing(flush)
    with pytest.raises(Unavailable) as raised:
        index.apply(changes, 21)
    assert raised.value.code == ErrorCode.STORAGE_FULL
    assert index.watermark == 20
    assert_same(index, model, random.Random(1))
    failing(-1)
    for _ in range(2):
        index.apply(changes, 21)
    model.apply(changes)
    assert_same(index, model, random.Random(2))
    index.close()
    index = opened(folder)
    assert_same(index, model, random.Random(3))
    index.close()


def test_a_rewrite_that_finds_no_room_leaves_the_change_done(folder: Path, failing: Callable[[int], None]) -> None:
    model = filled(folder, 40)
    index = opened(folder)
    generation = index._manifest.generation
    changes = [IndexChange(f"upl_{number}", []) for number in range(30)]
    failing(8)
    index.apply(changes, 41)
    assert index._manifest.generation == generation
    model.apply(changes)
    assert_same(index, model, random.Random(1))
    failing(-1)
    more = [IndexChange("upl_30", [])]
    index.apply(more, 42)
    model.apply(more)
    assert index._manifest.generation == generation + 1
    assert_same(index, model, random.Random(2))
    index.close()

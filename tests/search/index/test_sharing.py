"""One writes an index, others read what it has written: all of it, or what was there before."""

import os
import random
import threading
from pathlib import Path

import pytest

from deedbox.kernel.errors import Unavailable
from deedbox.search import limits
from deedbox.search.index import IndexChange, IndexUnusable, files, lock
from deedbox.search.index.local import LocalIndex
from deedbox.search.index.words import WordIndex
from tests.search.index.model import DIMENSIONS, Model, assert_same, change


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "wsp_one" / "recipe-4"


def opened(folder: Path) -> LocalIndex:
    return LocalIndex(folder, DIMENSIONS, "recipe")


@pytest.mark.parametrize("seed", range(3))
def test_a_reader_sees_every_change_that_was_written(folder: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "REWRITE_ROWS", 30)
    chance, model = random.Random(seed), Model()
    writer, often, seldom = opened(folder), opened(folder), opened(folder)
    for number in range(1, 60):
        changes = [change(f"upl_{chance.randrange(12)}", chance) for _ in range(chance.choice((0, 1, 1, 3)))]
        writer.apply(changes, number)
        model.apply(changes)
        for reader in (often, seldom) if number % 7 == 0 else (often,):
            assert not reader.claim()
            assert reader.watermark == number
            assert_same(reader, model, chance)
            assert_same(reader, model, chance, [f"upl_{upload}" for upload in range(6)])
    assert writer._manifest.generation > 0, "it was rewritten on the way"
    for index in (writer, often, seldom):
        index.close()


def test_what_is_read_while_it_is_written_belongs_together(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "REWRITE_ROWS", 30)
    chance, models = random.Random(5), {0: Model()}
    log: list[IndexChange] = []
    for number in range(1, 80):
        log.append(change(f"upl_{chance.randrange(9)}", chance))
        models[number] = Model()
        models[number].apply(log)
    writer, reader, seen = opened(folder), opened(folder), set[int]()

    def write() -> None:
        for number, made in enumerate(log, 1):
            writer.apply([made], number)

    writing = threading.Thread(target=write)
    writing.start()
    while reader.watermark < len(log):
        assert not reader.claim()
        seen.add(reader.watermark)
        assert_same(reader, models[reader.watermark], chance)
    writing.join()
    assert len(seen) > 1
    writer.close()
    reader.close()


def test_who_reads_goes_on_with_what_the_writer_has_left(folder: Path) -> None:
    chance, model = random.Random(2), Model()
    writer, reader, third = opened(folder), opened(folder), opened(folder)
    for number, index in enumerate((writer, reader, third), 1):
        changes = [change(f"upl_{upload}", chance) for upload in range(4)]
        assert index.claim()
        index.apply(changes, number)
        model.apply(changes)
        assert_same(index, model, chance)
        index.close()


def test_who_cannot_open_the_words_at_first_can_later(folder: Path) -> None:
    chance, model = random.Random(5), Model()
    writer, reader = opened(folder), opened(folder)
    changes = [change(f"upl_{upload}", chance) for upload in range(4)]
    writer.apply(changes, 1)
    model.apply(changes)
    writer.close()
    words = WordIndex(folder / files.WORDS)  # as of a process that is not quite gone
    for _ in range(2):
        with pytest.raises(Unavailable, match="open in another process"):
            reader.claim()
    words.close()
    assert reader.claim()
    more = [change(f"upl_{upload}", chance) for upload in range(2, 6)]
    reader.apply(more, 2)
    model.apply(more)
    assert_same(reader, model, chance)
    reader.close()


def test_a_reader_sees_an_index_that_was_begun_anew(folder: Path) -> None:
    chance, model = random.Random(3), Model()
    writer, reader = opened(folder), opened(folder)
    writer.apply([change("upl_0", chance), change("upl_1", chance)], 2)
    reader.claim()
    before = reader.identity
    assert not lock.discard(folder)
    writer.close()
    assert lock.discard(folder)
    assert not folder.exists()
    writer = opened(folder)
    changes = [change(f"upl_{upload}", chance) for upload in range(3)]
    writer.apply(changes, 5)
    model.apply(changes)
    assert not reader.claim()
    assert reader.identity == writer.identity != before
    assert_same(reader, model, chance)
    writer.close()
    reader.close()


def test_a_reader_tells_files_gone_bad_from_a_change_under_way(folder: Path) -> None:
    writer, reader = opened(folder), opened(folder)
    writer.apply([change("upl_0", random.Random(1), most=4)], 1)
    rows = folder / "rows.0"
    kept = rows.read_bytes()
    rows.write_bytes(bytes(len(kept)))
    with pytest.raises(IndexUnusable, match=r"rows\.0"):
        reader.claim()
    rows.write_bytes(kept)
    words = writer._words
    assert words is not None
    words.add(99, 0, ["a", "change", "that", "is", "not", "finish"])
    words.commit()
    assert not reader.claim()
    assert reader.watermark == 0, "the words are ahead of the manifest"
    writer.apply([change("upl_1", random.Random(4))], 2)
    writer.close()
    reader.close()


def test_a_folder_that_is_discarded_while_others_come_to_it_has_one_writer(folder: Path) -> None:
    held: list[int] = []
    together: list[int] = []
    ended: list[bool] = []

    def come() -> None:
        for _ in range(200):
            if (file := lock.take(folder)) is not None:
                held.append(file)
                together.append(len(held))
                held.remove(file)
                os.close(file)
        ended.append(True)

    threads = [threading.Thread(target=come) for _ in range(3)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        lock.discard(folder)
    for thread in threads:
        thread.join()
    assert (max(together), len(ended)) == (1, 3)


def test_indexes_of_older_formats_go_unless_they_are_open(folder: Path) -> None:
    closed, used, other = folder.with_name("recipe"), folder.with_name("recipe-3"), folder.with_name("another")
    for one in (closed, used, other):
        one.mkdir(parents=True)
        (one / "manifest.json").touch()
    held = lock.take(used)
    assert held is not None
    lock.discard_older(folder)
    assert (closed.exists(), used.exists(), other.exists()) == (False, True, True)
    os.close(held)
    lock.discard_older(folder)
    assert (used.exists(), other.exists()) == (False, True)

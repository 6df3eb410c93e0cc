"""The folder of installed models: whole or not there, one in use, safe against two at once."""

import multiprocessing
from pathlib import Path

import pytest

from deedbox.kernel.errors import NotFound, SetupError
from deedbox.search.embed import models
from deedbox.search.embed.models import Model


def add(folder: Path, name: str, graph: bytes = b"graph") -> Model:
    model = Model(name, 384, 256, "int8", models.fingerprint(graph, b"{}"))
    models.add(folder, model, graph, b"{}")
    return model


def left_over(folder: Path) -> list[str]:
    return [entry.name for entry in folder.iterdir() if entry.name.startswith(".") and entry.name != ".lock"]


def test_an_empty_or_missing_folder_has_no_model(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "none"):
        assert (models.list_models(folder), models.current(folder)) == ([], None)


def test_the_first_model_is_in_use_and_the_second_waits(tmp_path: Path) -> None:
    first, second = add(tmp_path, "first"), add(tmp_path, "another")
    assert models.list_models(tmp_path) == [second, first]
    assert models.current(tmp_path) == first


def test_use_changes_the_model(tmp_path: Path) -> None:
    add(tmp_path, "first")
    second = add(tmp_path, "second")
    assert models.use(tmp_path, "second") == second
    assert models.current(tmp_path) == second


@pytest.mark.parametrize("name", ["third", "../first", "current", "", ".lock", "first/"])
def test_what_is_not_installed_cannot_be_used(tmp_path: Path, name: str) -> None:
    add(tmp_path, "first")
    with pytest.raises(NotFound, match="Installed: first"):
        models.use(tmp_path, name)
    assert models.current(tmp_path) is not None


def test_a_model_is_replaced_as_a_whole(tmp_path: Path) -> None:
    old = add(tmp_path, "one", b"old")
    new = add(tmp_path, "one", b"new")
    assert old.fingerprint != new.fingerprint
    assert models.current(tmp_path) == new
    assert (tmp_path / "one" / models.GRAPH).read_bytes() == b"new"
    assert left_over(tmp_path) == []


@pytest.mark.parametrize("name", [models.GRAPH, models.TOKENIZER, models.RECORD])
def test_half_a_model_is_none(tmp_path: Path, name: str) -> None:
    add(tmp_path, "one")
    (tmp_path / "one" / name).unlink()
    assert (models.list_models(tmp_path), models.current(tmp_path)) == ([], None)


@pytest.mark.parametrize("record", [b"", b"{}", b"\xff", b'{"name":"other","dimensions":1}'])
def test_a_record_that_cannot_be_read_is_no_model(tmp_path: Path, record: bytes) -> None:
    add(tmp_path, "one")
    (tmp_path / "one" / models.RECORD).write_bytes(record)
    assert models.list_models(tmp_path) == []


@pytest.mark.parametrize("text", ["", "gone", "../one", "\xff\xfe"])
def test_a_mark_that_leads_nowhere_means_that_none_is_in_use(tmp_path: Path, text: str) -> None:
    add(tmp_path, "one")
    (tmp_path / "current").write_bytes(text.encode("latin-1"))
    assert models.current(tmp_path) is None


def test_what_a_killed_installation_left_is_cleared_by_the_next(tmp_path: Path) -> None:
    add(tmp_path, "one")
    (tmp_path / ".unfinished-1234").mkdir()
    (tmp_path / ".unfinished-1234" / "model.onnx").write_bytes(b"half")
    assert [model.name for model in models.list_models(tmp_path)] == ["one"]
    add(tmp_path, "two")
    assert left_over(tmp_path) == []


def test_a_model_taken_away_but_not_replaced_comes_back(tmp_path: Path) -> None:
    one = add(tmp_path, "one")
    (tmp_path / "one").rename(tmp_path / ".replaced-1234-one")
    add(tmp_path, "two")
    assert one in models.list_models(tmp_path)
    assert left_over(tmp_path) == []


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SetupError, match="cannot be written"):
        add(tmp_path / "file", "one")


def _add_many(folder: Path, name: str) -> None:
    for number in range(15):
        add(folder, name, f"{name}{number}".encode() * 10_000)


def test_processes_that_install_at_once_leave_whole_models(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_add_many, args=(tmp_path, name)) for name in ("same", "same", "other")]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert [model.name for model in models.list_models(tmp_path)] == ["other", "same"]
    for model in models.list_models(tmp_path):
        folder = tmp_path / model.name
        files = [(folder / name).read_bytes() for name in (models.GRAPH, models.TOKENIZER)]
        assert models.fingerprint(*files) == model.fingerprint
    assert left_over(tmp_path) == []

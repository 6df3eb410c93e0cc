"""`deedbox index FOLDER --watch`: what changes is taken in, without a server and beside one."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import server
from tests.cli.search_commands import WAYS, data_folder
from tests.cli.test_folders import LONG_AGO, counts, documents, found, write
from tests.cli.watching import watch

WAIT = 0.01


@pytest.fixture(params=WAYS)
def data(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    with data_folder(tmp_path / "data", request.param) as place:
        yield place


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "papers"
    write(made / "lease.txt", "The tenant pays the rent.")
    write(made / "boat.md", "# Boat\n\nThe boat lies in the harbour.")
    return made


def test_changes_are_taken_in_until_it_is_told_to_end(data: Path, folder: Path, tmp_path: Path) -> None:
    with watch(str(folder), data, tmp_path / "errors") as watching:
        assert counts(watching.report()) == {"files": 2, "uploaded": 2, "indexed": 2}
        before = documents(data)
        assert found(data, "rent") == ["lease.txt"]  # the folder is not kept from others meanwhile

        for number in range(30):
            write(tmp_path / "many" / f"{number}.txt", f"Paper {number}.")
        (tmp_path / "many").rename(folder / "many")
        assert counts(watching.report()) == {"files": 32, "uploaded": 30, "known": 2, "indexed": 30}  # all at once

        (folder / "lease.txt").write_text("The tenant pays nothing.")
        assert counts(watching.report()) == {"files": 32, "replaced": 1, "known": 31, "indexed": 1}
        (folder / "boat.md").rename(folder / "ship.md")
        assert counts(watching.report()) == {"files": 32, "renamed": 1, "known": 31}
        (folder / "many" / "7.txt").unlink()
        assert counts(watching.report()) == {"files": 31, "removed": 1, "known": 31}
        after = documents(data)
        assert (after["lease.txt"], after["ship.md"][0]) == (before["lease.txt"], before["boat.md"][0])
        assert "many/7.txt" not in after
        assert (found(data, "nothing"), found(data, "rent")) == (["lease.txt"], [])
        assert watching.end(signal.SIGTERM) == 0
        assert watching.errors() == "\nNo longer watching. What is taken in stays.\n"


def test_a_file_is_not_read_while_it_is_being_written(folder: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    with watch(str(folder), data, tmp_path / "errors", every="1") as watching:
        watching.report()
        began = time.monotonic()
        with (folder / "long.txt").open("w", buffering=1) as file:
            number = 0
            while time.monotonic() - began < 4:  # many looks fall into it
                number += 1
                file.write(f"Line {number}.\n")
                time.sleep(WAIT)
            file.write("The end.\n")
        report = watching.report()
        assert counts(report) == {"files": 3, "uploaded": 1, "known": 2, "indexed": 1}
        length = len((folder / "long.txt").read_text())
        [(kept,)] = server.rows(data, "select size_bytes from uploads where filename = 'long.txt'")
        assert kept == length
        assert watching.end() == 0


def test_a_folder_that_goes_away_keeps_its_documents_and_is_waited_for(folder: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    with watch(str(folder), data, tmp_path / "errors") as watching:
        watching.report()
        folder.rename(tmp_path / "away")
        while "cannot be looked at: No such file or directory. Its documents stay" not in watching.errors():
            time.sleep(WAIT)
        folder.mkdir()  # as it is where nothing is mounted
        assert counts(watching.report()) == {"kept": 2}
        folder.rmdir()
        write(tmp_path / "away" / "roof.txt", "The roof is new.")
        (tmp_path / "away").rename(folder)
        assert counts(watching.report()) == {"files": 3, "uploaded": 1, "known": 2, "indexed": 1}
        assert sorted(documents(data)) == ["boat.md", "lease.txt", "roof.txt"]
        assert watching.end() == 0


def test_a_refused_file_is_named_and_read_again_only_when_it_has_changed(folder: Path, tmp_path: Path) -> None:
    data, broken = tmp_path / "data", folder / "broken.pdf"
    broken.write_bytes(b"%PDF-1.7 nothing")
    os.utime(broken, (LONG_AGO, LONG_AGO))
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    with watch(str(folder), data, tmp_path / "errors") as watching:
        first = watching.report()
        assert [one["file"] for one in first["refused"]] == ["broken.pdf"]
        assert [one["file"] for one in first["skipped"]] == ["picture.png"]
        write(folder / "roof.txt", "The roof is new.")
        second = watching.report()
        assert (second["refused"], second["skipped"]) == (first["refused"], [])
        broken.unlink()
        assert watching.report()["refused"] == []
        assert watching.end() == 0


def test_a_server_may_start_and_stop_beside_it(folder: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    with watch(str(folder), data, tmp_path / "errors") as watching:
        watching.report()
        with data_folder(data, "beside a server"):
            write(folder / "roof.txt", "The roof is new.")
            assert watching.report()["indexed"] == 1
            assert found(data, "roof") == ["roof.txt"]
        write(folder / "garden.txt", "The garden is wild.")
        assert watching.report()["indexed"] == 1
        assert found(data, "wild") == ["garden.txt"]
        assert watching.end() == 0

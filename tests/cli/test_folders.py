"""`deedbox index FOLDER`: the library is what the folder holds; without a server and beside one."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from deedbox.kernel import limits
from deedbox.search import limits as search_limits
from deedbox.search.folders import Changed
from deedbox.search.folders.local import LocalFolder
from deedbox.search.ocr import MISSING
from tests import nursery, server
from tests.cli.search_commands import ENV, MODULE, WAYS, command, data_folder, result

LONG_AGO = 1_700_000_000
COUNTS = ("files", "uploaded", "replaced", "renamed", "known", "removed", "kept", "indexed")


@pytest.fixture(params=WAYS)
def data(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    with data_folder(tmp_path / "data", request.param) as place:
        yield place


def write(path: Path, text: str) -> Path:
    """A file that nobody is writing any more."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (LONG_AGO, LONG_AGO))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "papers"
    write(made / "lease.txt", "The tenant pays the rent.")
    write(made / "old" / "boat.md", "# Boat\n\nThe boat lies in the harbour.")
    write(made / "roof.txt", "The roof is new.")
    return made


def counts(report: Any) -> dict[str, int]:
    return {name: report[name] for name in COUNTS if report[name]}


def documents(data: Path) -> dict[str, tuple[str, str, str]]:
    """Id, name and collection of each document, by its path."""
    rows = server.rows(data, "select metadata, id, filename, collection from uploads order by id")
    found = {json.loads(metadata)["path"]: rest for metadata, *rest in rows}
    assert len(found) == len(rows), rows
    return {path: (doc_id, name, collection) for path, (doc_id, name, collection) in found.items()}


def found(data: Path, word: str) -> list[str]:
    answer = result("ask", word, "--mode", "keyword", data=data)
    return [one["metadata"]["filename"] for one in answer["results"]]


def test_edited_renamed_and_removed_files_are_followed(data: Path, folder: Path) -> None:
    first = result("index", str(folder), "--collection", "papers", data=data)
    assert counts(first) == {"files": 3, "uploaded": 3, "indexed": 3}
    before = documents(data)
    assert {path: rest for path, (_, *rest) in before.items()} == {
        "lease.txt": ["lease.txt", "papers"], "old/boat.md": ["boat.md", "papers"], "roof.txt": ["roof.txt", "papers"],
    }  # fmt: skip
    [(metadata,)] = server.rows(data, "select metadata from uploads where filename = 'boat.md'")
    assert json.loads(metadata) == {"folder": str(folder), "path": "old/boat.md"}

    write(folder / "lease.txt", "The tenant pays nothing.")
    (folder / "old" / "boat.md").rename(folder / "ship.md")
    (folder / "roof.txt").unlink()
    write(folder / "garden.txt", "The garden is wild.")
    second = result("index", str(folder), data=data)
    assert counts(second) == {
        "files": 3, "uploaded": 1, "replaced": 1, "renamed": 1, "removed": 1, "indexed": 3,
    }  # fmt: skip
    after = documents(data)
    assert after["lease.txt"] == before["lease.txt"]
    assert after["ship.md"] == (before["old/boat.md"][0], "ship.md", "papers")
    assert after["garden.txt"][2] == "default"
    assert sorted(after) == ["garden.txt", "lease.txt", "ship.md"]
    assert found(data, "harbour") == ["ship.md"]
    assert found(data, "nothing") == ["lease.txt"]
    assert found(data, "rent") == found(data, "roof") == []

    again = command("index", str(folder), data=data)
    assert again.stdout.startswith("3 files: 0 new, 0 replaced, 0 renamed, 3 known; 0 removed. 3 documents")


def test_what_is_not_read_is_named_with_the_reason(data: Path, folder: Path) -> None:
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    write(folder / "empty.txt", "")
    write(folder.parent / "outside.txt", "A secret of somebody else.")
    (folder / "link.txt").symlink_to(folder.parent / "outside.txt")
    os.mkfifo(folder / "pipe.txt")
    write(folder / ".hidden" / "note.txt", "hidden")
    (folder / os.fsdecode(b"bad\xff.txt")).write_text("A name in Latin-1.")
    done = result("index", str(folder), data=data)
    assert {one["file"]: one["error"] for one in done["skipped"]} == {
        "bad?.txt": "Its name is not UTF-8",
        "empty.txt": "It is empty",
        "link.txt": "It is a link, and links are not followed",
        "picture.png": MISSING,
        "pipe.txt": "It is no regular file",
    }
    assert done["refused"] == []

    with (folder / "huge.txt").open("wb") as file:
        file.truncate(limits.UPLOAD_BYTES + 1)
    (folder / "roof.txt").write_bytes(b"%PDF-1.7 no longer text endobj")
    done = result("index", str(folder), data=data, code=1)
    assert {one["file"]: one["error"] for one in done["refused"]} == {
        "huge.txt": "File exceeds maximum size of 50MB",
        "roof.txt": "The file is named .txt but its content is a PDF",
    }
    assert found(data, "roof") == ["roof.txt"]  # what was read before stays
    told = command("index", str(folder), data=data)
    assert "  Refused: huge.txt: File exceeds maximum size of 50MB\n" in told.stderr
    assert f"  Skipped: picture.png: {MISSING}\n" in told.stderr


def test_the_data_folder_inside_the_folder_is_left_out(tmp_path: Path) -> None:
    write(tmp_path / "lease.txt", "The tenant pays the rent.")
    write(tmp_path / "data" / "notes.txt", "Not a document.")
    done = result("index", str(tmp_path), data=tmp_path / "data")
    assert counts(done) == {"files": 1, "uploaded": 1, "indexed": 1}
    assert done["skipped"] == [{"file": "data", "error": "It is Deedbox's own data folder"}]


def test_a_folder_that_is_emptied_or_gone_keeps_its_documents_until_someone_confirms(data: Path, folder: Path) -> None:
    result("index", str(folder), data=data)
    away = folder.parent / "unmounted"
    folder.rename(away)
    folder.mkdir()
    kept = result("index", str(folder), data=data, code=3)
    assert counts(kept) == {"kept": 3}
    assert f"deedbox index {folder} --confirm-removals" in command("index", str(folder), data=data).stderr
    folder.rmdir()
    missing = command("index", str(folder), data=data)
    assert missing.returncode == 2
    assert "Documents created from its files stay" in missing.stderr
    assert found(data, "harbour") == ["boat.md"]

    away.rename(folder)
    assert counts(result("index", str(folder), data=data)) == {"files": 3, "known": 3, "indexed": 3}
    folder.rename(away)
    assert counts(result("index", str(folder), "--confirm-removals", data=data)) == {"removed": 3}
    assert documents(data) == {}


def test_most_of_a_folder_is_not_removed_unconfirmed(tmp_path: Path) -> None:
    data, folder = tmp_path / "data", tmp_path / "papers"
    for number in range(search_limits.FOLDER_REMOVALS + 5):
        write(folder / "mount" / f"{number}.txt", f"Paper {number}.")
    write(folder / "stays.txt", "This stays.")
    result("index", str(folder), data=data)
    for number in range(search_limits.FOLDER_REMOVALS):
        (folder / "mount" / f"{number}.txt").rename(tmp_path / f"{number}.txt")
    assert result("index", str(folder), data=data)["removed"] == search_limits.FOLDER_REMOVALS
    for number in range(search_limits.FOLDER_REMOVALS):
        (tmp_path / f"{number}.txt").rename(folder / "mount" / f"{number}.txt")
    result("index", str(folder), data=data)
    (folder / "mount").rename(tmp_path / "elsewhere")
    assert result("index", str(folder), data=data, code=3)["kept"] == search_limits.FOLDER_REMOVALS + 5
    assert result("index", str(folder), "--confirm-removals", data=data)["removed"] == search_limits.FOLDER_REMOVALS + 5


def test_equal_files_are_two_documents_and_folders_do_not_mix(tmp_path: Path, folder: Path) -> None:
    data = tmp_path / "data"
    write(folder / "copy.txt", "The roof is new.")
    assert result("index", str(folder), data=data)["uploaded"] == 4
    assert result("index", str(folder / "old"), data=data)["uploaded"] == 1
    (folder / "roof.txt").unlink()
    assert counts(result("index", str(folder), data=data)) == {"files": 3, "known": 3, "removed": 1, "indexed": 3}
    assert found(data, "roof") == ["copy.txt"]
    assert counts(result("index", str(folder / "old"), data=data)) == {"files": 1, "known": 1, "indexed": 1}


def test_a_run_that_was_killed_is_gone_on_with(data: Path, tmp_path: Path) -> None:
    folder, total = tmp_path / "many", 60
    for number in range(total):
        write(folder / f"{number}.txt", f"Paper {number} speaks of rent.")
    result("keys", "create", "--name", "first", data=data)
    for taken_in in (10, 30):
        words = [sys.executable, "-m", MODULE, "index", str(folder), "--data", str(data)]
        with nursery.Process(
            words,
            env=server.environment(data, **ENV),
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            while len(documents(data)) < taken_in:
                assert process.poll() is None
                time.sleep(0.005)
            process.kill()
    before = documents(data)
    assert 30 <= len(before) < total
    report = result("index", str(folder), data=data)
    assert counts(report) == {
        "files": total, "known": len(before), "uploaded": total - len(before), "indexed": total,
    }  # fmt: skip
    after = documents(data)
    assert len(after) == total
    assert before.items() <= after.items()
    assert server.rows(data, "select count(*) from uploads where status <> 'indexed'") == [(0,)]


def test_an_interrupted_run_says_how_to_go_on(tmp_path: Path) -> None:
    data, folder, total = tmp_path / "data", tmp_path / "many", 60
    for number in range(total):
        write(folder / f"{number}.txt", f"Paper {number} speaks of rent.")
    result("keys", "create", "--name", "first", data=data)
    words = [sys.executable, "-m", MODULE, "index", str(folder), "--data", str(data)]
    pipe = subprocess.PIPE
    with nursery.Process(words, env=server.environment(data, **ENV), stdout=pipe, stderr=pipe, text=True) as process:
        while len(documents(data)) < 5:
            assert process.poll() is None
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
    told = "\nInterrupted. What is taken in stays; the same command goes on with the rest.\n"
    assert (process.returncode, output, errors) == (130, "", told)
    assert 5 <= len(documents(data)) < total
    assert result("index", str(folder), data=data)["indexed"] == total


def test_wrong_use_is_told(tmp_path: Path, folder: Path) -> None:
    for words in (
        ("--watch", "--confirm-removals"),
        ("--every", "5"),
        ("--collection", " "),
        ("--watch", "--every", "0"),
    ):
        assert command("index", str(folder), *words, data=tmp_path / "data").returncode == 2
    assert command("index", str(folder / "lease.txt"), data=tmp_path / "data").returncode == 2
    assert command("index", "s3://no", data=tmp_path / "data").returncode == 2


def test_file_that_grows_while_it_is_read_ends_at_the_size_seen(tmp_path: Path) -> None:
    path = tmp_path / "files" / "log.txt"
    path.parent.mkdir()
    path.write_bytes(b"x" * limits.KB)
    found = LocalFolder(path.parent, tmp_path / "data")
    seen = found.look().files["log.txt"]
    grown: list[bytes] = []
    with closing(found.open("log.txt", seen)) as reading:

        def read_and_grow() -> None:
            for _ in range(10):
                with path.open("ab") as file:
                    file.write(b"x" * limits.KB)
                grown.append(reading.read(limits.KB))

        with pytest.raises(Changed):
            read_and_grow()
    assert len(b"".join(grown)) <= seen.size_bytes

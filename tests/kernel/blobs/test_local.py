"""What only a folder has: modes, disks that are full, and a lock on it."""

import contextlib
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from deedbox.kernel import limits
from deedbox.kernel.blobs import local
from deedbox.kernel.blobs.local import LocalBlobs
from deedbox.kernel.db import Database
from deedbox.kernel.errors import ErrorCode, SetupError, Unavailable
from tests.kernel.blobs.shelves import files_in as files
from tests.kernel.blobs.shelves import put, receive

pytestmark = pytest.mark.anyio


@pytest.fixture
def blobs(tmp_path: Path) -> LocalBlobs:
    return LocalBlobs(tmp_path / "blobs")


async def test_only_the_owner_of_the_process_can_read_the_files(blobs: LocalBlobs, db: Database) -> None:
    await put(blobs, db, b"private", "upl_1")
    for path in [blobs.folder, *blobs.folder.rglob("*")]:
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600)


def test_a_folder_that_cannot_be_made_is_a_setup_error(tmp_path: Path) -> None:
    (tmp_path / "blobs").write_text("a file in the way")
    with pytest.raises(SetupError, match="cannot be used"):
        LocalBlobs(tmp_path / "blobs")


async def test_a_new_shelf_is_durable_before_a_file_stands_on_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    acts: list[tuple[str, Path]] = []
    flush_folder, rename = local._flush_folder, os.rename

    def noted_flush(path: Path | str) -> None:
        acts.append(("flush", Path(path)))
        flush_folder(path)

    def noted_rename(old: str, new: str) -> None:
        acts.append(("rename", Path(new)))
        rename(old, new)

    monkeypatch.setattr(local, "_flush_folder", noted_flush)
    monkeypatch.setattr(os, "rename", noted_rename)
    folder = tmp_path / "blobs"
    for new in (True, False):  # the second time the shelf is there, and made durable by the opening
        blobs = LocalBlobs(folder)
        for again in (False, True):
            acts.clear()
            stored = (await receive(blobs, b"the same bytes")).blob
            shelved = folder / stored.location
            first = [("flush", folder)] if new and not again else []
            assert acts == [*first, ("rename", shelved), ("flush", shelved.parent)]


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "deedbox-test", str(folder)]
    if os.getuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("a small disk can be mounted only by root on Linux; the file size limit is tested instead")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


async def test_a_full_disk_refuses_an_upload_and_leaves_nothing(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk"):
        blobs = LocalBlobs(tmp_path / "disk" / "blobs")
        with pytest.raises(Unavailable) as refusal:
            await receive(blobs, bytes(3 * limits.MB))
        assert refusal.value.code == ErrorCode.STORAGE_FULL
        assert files(blobs) == set()
        assert (await receive(blobs, b"there is room again")).blob.size_bytes == 19


def test_a_file_size_limit_refuses_an_upload_and_leaves_nothing(tmp_path: Path) -> None:
    script = """
        import asyncio, resource, sys
        from pathlib import Path
        from deedbox.kernel.blobs.local import LocalBlobs
        from deedbox.kernel.errors import Unavailable

        async def upload():
            blobs = LocalBlobs(Path(sys.argv[1]))
            resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
            async with blobs.receive(10_000_000) as incoming:
                try:
                    await incoming.write(bytes(2_000_000))
                except Unavailable as error:
                    print(error.code, [path.name for path in blobs.folder.rglob("*") if path.is_file()])

        asyncio.run(upload())
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(tmp_path / "blobs")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "storage_full ['.hold']"

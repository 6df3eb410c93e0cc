"""Packages in a folder: complete and on the disk before their name is there, and the name is made only if it is new."""

import asyncio
import contextlib
import errno
import hashlib
import os
import secrets
import shutil
import stat
from io import FileIO
from pathlib import Path

from deedbox.archive.spool import SpooledFile
from deedbox.archive.targets import NameTaken, PutResult, Write
from deedbox.kernel import limits
from deedbox.kernel.clock import Clock
from deedbox.kernel.errors import ErrorCode, NotFound, Unavailable

_INCOMING = ".incoming"
_CHUNK = limits.BLOB_CHUNK_BYTES


class FolderTarget:
    def __init__(self, folder: Path, clock: Clock) -> None:
        self._folder = folder
        self._clock = clock

    def location(self, name: str) -> str:
        """Without the folder: where that is on this machine concerns nobody who asks from outside."""
        return f"file:{name}"

    async def put(self, name: str, content: SpooledFile, media_type: str) -> PutResult:  # noqa: ARG002 (a file has no type)
        try:
            await asyncio.to_thread(self._put, name, content)
        except OSError as error:
            raise _unusable(self._folder, error) from error
        return PutResult()

    async def confirm(self, name: str, content: SpooledFile) -> PutResult:  # noqa: ARG002 (a file is kept in one way only)
        return PutResult()

    async def fetch(self, name: str, write: Write, version: str | None = None) -> None:  # noqa: ARG002 (a file has one)
        try:
            file, size = await asyncio.to_thread(_opened, self._folder / name)
            try:
                at = 0
                while at < size and (chunk := await asyncio.to_thread(os.pread, file.fileno(), _CHUNK, at)):
                    at += len(chunk)
                    await write(chunk)
            finally:
                # Not waited for, nor done here: a disk that hangs is to hold up this one reader only. A thread of one
                # who was cancelled may still be in pread: it moves no offset, and nobody hears it.
                asyncio.get_running_loop().run_in_executor(None, file.close)
        except FileNotFoundError as error:
            raise NotFound(f"There is no {name} in the archive") from error
        except OSError as error:
            raise _unusable(self._folder, error) from error

    async def close(self) -> None: ...

    def _put(self, name: str, content: SpooledFile) -> None:
        place, incoming = self._folder / name, self._folder / _INCOMING
        missing = [folder for folder in (self._folder, *self._folder.parents) if not folder.exists()]
        for folder in (incoming, place.parent):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._clear(incoming)
        draft = incoming / secrets.token_hex(8)
        try:
            with open(draft, "xb") as out:
                content.file.seek(0)
                shutil.copyfileobj(content.file, out, limits.BLOB_CHUNK_BYTES)
                out.flush()
                os.fsync(out.fileno())
            with contextlib.suppress(FileExistsError):
                os.link(draft, place)
        finally:
            draft.unlink(missing_ok=True)
        # What stands above the archive is another's, who may let nobody look: only if this made an entry there.
        for folder in (place.parent, self._folder, *(one.parent for one in missing)):
            _sync(folder)
        _demand_same(place, content, name)

    def _clear(self, incoming: Path) -> None:
        """Removes the drafts of dead processes, long after they could still be at work."""
        before = self._clock.now().timestamp() - limits.BLOB_ORPHAN_SECONDS
        for path in incoming.iterdir():
            with contextlib.suppress(FileNotFoundError):
                if path.stat().st_mtime < before:
                    path.unlink()


def _demand_same(place: Path, content: SpooledFile, name: str) -> None:
    """NameTaken unless the file has these bytes: those that were just written, or the same from an attempt before."""
    with _opened(place)[0] as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != content.sha256:
            raise NameTaken(f"Something else lies under {name} in the archive, and it must not be replaced")


def _opened(path: Path) -> tuple[FileIO, int]:
    """The file, closed by itself if whoever asked has gone, and its size; OSError for a pipe or a device."""
    # Without O_NONBLOCK, opening a pipe would wait until somebody writes to it.
    file = FileIO(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode):
        file.close()
        raise OSError(errno.EINVAL, f"{path.name} is not a file")
    return file, status.st_size


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _unusable(folder: Path, error: OSError) -> Unavailable:
    return Unavailable(
        f"The archive's folder {folder.name} cannot be used: {error.strerror or error}",
        code=ErrorCode.STORAGE_UNAVAILABLE,
    )

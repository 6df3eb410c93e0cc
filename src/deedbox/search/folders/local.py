"""A folder of this machine. No link is followed, and what is hidden is not looked at."""

import errno
import hashlib
import os
import stat
from contextlib import closing
from pathlib import Path

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.errors import BadRequest
from deedbox.search import limits
from deedbox.search.folders import Changed, FileReading, FolderAway, Listing, SeenFile, UnreadableFile, unfit
from deedbox.search.library.upload import LibraryUpload

_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ESTALE)


class LocalFolder:
    is_whole = False

    def __init__(self, root: Path, own: Path) -> None:
        self.address = str(root.resolve())
        self._own = own
        """Deedbox's own data folder, whose files are none for the library."""

    def look(self) -> Listing:
        found, waiting, own = Listing(), [""], self._own_place()
        while waiting:
            here = waiting.pop()
            try:
                with os.scandir(f"{self.address}/{here}") as entries:
                    shown = [entry for entry in entries if not entry.name.startswith(".")]
            except OSError as error:
                if not here:
                    raise FolderAway(f"The folder {self.address} cannot be looked at: {error.strerror}.") from error
                self._miss(found, here, error)
                continue
            for entry in shown:
                path = f"{here}{entry.name}"
                try:
                    status = entry.stat(follow_symlinks=False)
                except OSError as error:
                    self._miss(found, path, error)
                    continue
                if stat.S_ISDIR(status.st_mode) and (status.st_dev, status.st_ino) != own:
                    waiting.append(f"{path}/")
                else:
                    _sort_in(found, path, status)
            if len(found.files) > limits.FOLDER_FILES:
                raise BadRequest(f"{self.address} holds more than {limits.FOLDER_FILES} files. Index its parts.")
        return found

    def open(self, path: str, seen: SeenFile) -> FileReading:
        try:
            # It may have become a link, or a pipe that nobody writes to.
            descriptor = os.open(f"{self.address}/{path}", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            if error.errno in _GONE:
                raise Changed from error
            raise UnreadableFile(f"It cannot be read: {error.strerror}") from error
        return _File(descriptor, seen)

    def identity(self, path: str, seen: SeenFile) -> str:
        digest = hashlib.sha256()
        with closing(self.open(path, seen)) as reading:
            while piece := reading.read(shared_limits.BLOB_CHUNK_BYTES):
                digest.update(piece)
        return digest.hexdigest()

    def identity_of(self, upload: LibraryUpload) -> str | None:
        return upload.sha256

    def notes(self, seen: SeenFile) -> dict[str, str]:  # noqa: ARG002 - another folder's files have some
        return {}

    def _miss(self, found: Listing, path: str, error: OSError) -> None:
        if error.errno not in _GONE:
            found.unseen[_shown(path)] = f"It cannot be looked at: {error.strerror}"

    def _own_place(self) -> tuple[int, int] | None:
        try:
            status = self._own.stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino


class _File:
    def __init__(self, descriptor: int, seen: SeenFile) -> None:
        self._descriptor = descriptor
        self._seen = seen
        self._left = seen.size_bytes

    def read(self, most: int, /) -> bytes:
        """The next piece. One byte behind the size that was seen is read, so that a file that grows ends here too."""
        try:
            piece = os.read(self._descriptor, min(most, self._left + 1))
            self._left -= len(piece)
            if self._left < 0:
                raise Changed
            if not piece and _mark(os.fstat(self._descriptor)) != self._seen.mark:
                raise Changed
        except OSError as error:
            raise UnreadableFile(f"It cannot be read: {error.strerror}") from error
        return piece

    def close(self) -> None:
        os.close(self._descriptor)


def _sort_in(found: Listing, path: str, status: os.stat_result) -> None:
    if stat.S_ISLNK(status.st_mode):
        reason: str | None = "It is a link, and links are not followed"
    elif stat.S_ISDIR(status.st_mode):
        reason = "It is Deedbox's own data folder"
    elif not stat.S_ISREG(status.st_mode):
        reason = "It is no regular file"
    elif _shown(path) != path:
        reason = "Its name is not UTF-8"
    else:
        reason = unfit(path, status.st_size)
    if reason is None:
        found.files[path] = SeenFile(status.st_size, _mark(status), status.st_mtime)
    else:
        found.skipped[_shown(path)] = reason


def _mark(status: os.stat_result) -> str:
    """Also another one when the file's place was taken by another file, or its rights have changed."""
    return f"{status.st_dev}:{status.st_ino}:{status.st_size}:{status.st_mtime_ns}:{status.st_ctime_ns}"


def _shown(path: str) -> str:
    return path.encode("utf-8", "replace").decode()

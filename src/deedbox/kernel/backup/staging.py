"""The folder in which a restore works: beside the data folder, which it becomes at the end, as a whole.

It stays when the restore is stopped, and the same restore goes on in it."""

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from deedbox.kernel.backup import archive
from deedbox.kernel.errors import SetupError

_NOTE = "restoring"
_ALWAYS_THERE = {"lost+found"}
_RESTORED = {archive.BLOBS, archive.DATABASE, *archive.SINGLE_FILES}


class Staging:
    def __init__(self, data_dir: Path, restore_id: str) -> None:
        self._data_dir = data_dir
        self._id = restore_id
        # Inside the data folder where that cannot be replaced as a whole.
        self._inside = data_dir.exists() and (os.path.ismount(data_dir) or not os.access(data_dir.parent, os.W_OK))
        self.folder = (data_dir if self._inside else data_dir.parent) / f".{data_dir.name}.restoring"

    @property
    def under_way(self) -> bool:
        """Whether this very restore was begun here before."""
        return _note(self.folder) == self._id or _note(self._data_dir) == self._id

    @property
    def published(self) -> bool:
        return not self.folder.exists() and _note(self._data_dir) == self._id

    def refuse_used(self) -> None:
        ours = {self.folder.name} | (_RESTORED if self._inside and self.under_way else set())
        if self._data_dir.exists() and set(os.listdir(self._data_dir)) - _ALWAYS_THERE - ours:
            raise SetupError(
                f"The data folder {self._data_dir} is not empty.",
                "Nothing was restored. Restore into a new folder, or move what is there away.",
            )

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """The folder, with what an earlier run of this restore has left there; nobody else may use it."""
        if self.published:
            os.rename(self._data_dir, self.folder)
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise SetupError(f"Another restore works in {self.folder}.", "Wait for it to end.") from error
            self._begin()
            yield
        finally:
            os.close(lock)

    def _begin(self) -> None:
        if _note(self.folder) != self._id:
            for path in self.folder.iterdir():  # of another restore, which nobody goes on with
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            (self.folder / _NOTE).write_text(self._id)
        elif self._inside:
            for name in _RESTORED & set(os.listdir(self._data_dir)):  # it was stopped while it was published
                os.rename(self._data_dir / name, self.folder / name)

    def publish(self, *, last: bool) -> None:
        """The folder is the data folder now. If that is the last step, nothing tells of the restore any more."""
        if last:
            (self.folder / _NOTE).unlink()
        os.sync()
        if not self._inside:
            os.rename(self.folder, self._data_dir)
        else:  # the database last: without it the folder is no installation
            names = sorted(os.listdir(self.folder), key=lambda name: (name == archive.DATABASE, name))
            for name in names:
                if name != _NOTE:
                    os.rename(self.folder / name, self._data_dir / name)
            if last:
                self.folder.rmdir()
        os.sync()

    def end(self) -> None:
        """The restore is complete everywhere."""
        if self._inside:
            shutil.rmtree(self.folder)
        else:
            (self._data_dir / _NOTE).unlink()

    def remove(self) -> None:
        """Nothing is left of it, also if it was published."""
        if self.published:
            shutil.rmtree(self._data_dir)
        elif self._inside and self._data_dir.exists():
            for name in _RESTORED & set(os.listdir(self._data_dir)):
                path = self._data_dir / name
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        shutil.rmtree(self.folder, ignore_errors=True)


def _note(folder: Path) -> str | None:
    try:
        return (folder / _NOTE).read_text()
    except OSError:
        return None

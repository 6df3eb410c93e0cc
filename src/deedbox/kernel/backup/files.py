"""The stored files of an installation, in its data folder or in a bucket, for backup and restore."""

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO, Protocol, TypeAlias, cast

from deedbox.kernel.blobs import local
from deedbox.kernel.blobs.choose import chosen_bucket
from deedbox.kernel.errors import DeedboxError, NotFound, SetupError
from deedbox.kernel.s3.bucket import Bucket
from deedbox.kernel.settings import Settings

Keep: TypeAlias = Callable[[Path, str], None]
"""Puts a file, which was checked, to its location."""


class Files(Protocol):
    on_this_disk: bool

    def named(self, location: str) -> str:
        """The file, for a person who looks for it."""

    def held(self) -> AbstractContextManager[None]:
        """While this lasts nothing is swept."""

    def opened(self, location: str) -> AbstractContextManager[tuple[int, BinaryIO]]:
        """The size and the bytes; FileNotFoundError if there are none."""

    def refilled(self) -> AbstractContextManager[Keep]:
        """Takes the files of a backup one after the other; none of them if it fails."""

    def settle(self, staging: Path) -> None:
        """All files were taken: what is left in staging becomes the data folder."""


class FolderFiles:
    """Files in the data folder: they stay where they were unpacked."""

    on_this_disk = True

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def named(self, location: str) -> str:
        return str(self._folder / location)

    def held(self) -> AbstractContextManager[None]:
        return local.held(self._folder)

    @contextlib.contextmanager
    def opened(self, location: str) -> Iterator[tuple[int, BinaryIO]]:
        with open(self._folder / location, "rb", buffering=0) as file:
            yield os.fstat(file.fileno()).st_size, cast(BinaryIO, file)

    @contextlib.contextmanager
    def refilled(self) -> Iterator[Keep]:
        yield lambda _path, _location: None

    def settle(self, staging: Path) -> None: ...


class BucketFiles:
    """Files in a bucket; several servers may be using it."""

    on_this_disk = False

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket

    def named(self, location: str) -> str:
        return f"{self._bucket.place}/{location}"

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        from deedbox.kernel.blobs import s3

        with _answered(), s3.held(self._bucket):
            yield

    @contextlib.contextmanager
    def opened(self, location: str) -> Iterator[tuple[int, BinaryIO]]:
        try:
            reading = self._bucket.open(location)
        except NotFound as error:
            raise FileNotFoundError(location) from error
        with contextlib.closing(reading):
            yield reading.remaining, cast(BinaryIO, reading)

    @contextlib.contextmanager
    def refilled(self) -> Iterator[Keep]:
        kept: list[str] = []

        def keep(path: Path, location: str) -> None:
            kept.append(location)
            with open(path, "rb") as file:
                self._bucket.put(location, file, location[3:67])
            # A stand-in of the same size, without content: it will be looked for, and needs no room on this disk.
            size_bytes = path.stat().st_size
            os.truncate(path, 0)
            os.truncate(path, size_bytes)

        with _answered():
            self._refuse_used()
            try:
                yield keep
            except BaseException:
                self._remove(kept)
                raise

    def settle(self, staging: Path) -> None:
        shutil.rmtree(staging / "blobs")

    def _refuse_used(self) -> None:
        if next(self._bucket.pages()):
            raise SetupError(
                f"There are files at {self._bucket.place}.",
                "Nothing was restored. Restore into another bucket or prefix, or remove what is there.",
            )

    def _remove(self, locations: list[str]) -> None:
        for location in locations:
            with contextlib.suppress(DeedboxError):
                self._bucket.delete(location)


def files_of(settings: Settings) -> Files:
    """Where the settings say that files lie."""
    bucket = chosen_bucket(settings)
    return FolderFiles(settings.data_dir / "blobs") if bucket is None else BucketFiles(bucket)


@contextlib.contextmanager
def _answered() -> Iterator[None]:
    """A store that fails ends a command with a sentence."""
    try:
        yield
    except DeedboxError as error:
        raise SetupError(error.message, "Nothing was left behind. Run `deedbox doctor` to find the cause.") from error

"""The stored files of an installation, in its data folder or in a bucket, for backup and restore."""

import contextlib
import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO, Protocol, cast

from deedbox.kernel.backup.archive import Stopped
from deedbox.kernel.blobs import local
from deedbox.kernel.blobs.choose import chosen_bucket
from deedbox.kernel.errors import NotFound, ServiceError, SetupError
from deedbox.kernel.s3.bucket import Bucket
from deedbox.kernel.settings import Settings

_PUT = "files-put"


class Files(Protocol):
    on_this_disk: bool

    def named(self, location: str) -> str:
        """The file, for a person who looks for it."""

    def held(self) -> AbstractContextManager[None]:
        """While this lasts nothing is swept."""

    def opened(self, location: str) -> AbstractContextManager[tuple[int, BinaryIO]]:
        """The size and the bytes; FileNotFoundError if there are none."""

    def refuse_used(self) -> None:
        """SetupError if something lies where a restore would put files."""

    def has(self, staging: Path, location: str, size_bytes: int) -> bool:
        """Whether an earlier run of the restore has put this file there, all of it."""

    def keep(self, staging: Path, location: str) -> None:
        """Puts a file, which is in staging and was checked, to its place."""

    def take_back(self, staging: Path) -> None:
        """Removes what the restore has put anywhere but into staging."""

    def settle(self, staging: Path) -> None:
        """All files were taken: what is left in staging becomes the data folder."""

    def answered(self) -> AbstractContextManager[None]:
        """A store that fails ends the command with a sentence."""


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

    def refuse_used(self) -> None: ...

    def has(self, staging: Path, location: str, size_bytes: int) -> bool:
        path = staging / "blobs" / location
        if not path.is_file() or path.stat().st_size != size_bytes:
            return False
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == hash_in(location)

    def keep(self, staging: Path, location: str) -> None: ...

    def take_back(self, staging: Path) -> None: ...

    def settle(self, staging: Path) -> None: ...

    def answered(self) -> AbstractContextManager[None]:
        return contextlib.nullcontext()


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

    def refuse_used(self) -> None:
        if next(self._bucket.pages()):
            raise SetupError(
                f"There are files at {self._bucket.place}.",
                "Nothing was restored. Restore into another bucket or prefix, or remove what is there.",
            )

    def has(self, staging: Path, location: str, size_bytes: int) -> bool:  # noqa: ARG002 (it lies elsewhere)
        try:
            stored = self._bucket.head(location)
        except NotFound:
            return False
        # The store has compared the hash when it took the file, and takes none by halves.
        return stored.size_bytes == size_bytes and stored.sha256 in (None, hash_in(location))

    def keep(self, staging: Path, location: str) -> None:
        with open(staging / _PUT, "a") as put:  # noted before it is there: an answer may be lost
            put.write(f"{location}\n")
        path = staging / "blobs" / location
        with open(path, "rb") as file:
            self._bucket.put(location, file, hash_in(location))
        path.unlink()

    def take_back(self, staging: Path) -> None:
        if (staging / _PUT).exists():
            with open(staging / _PUT) as put:
                for line in put:
                    with contextlib.suppress(ServiceError):
                        self._bucket.delete(line.strip())

    def settle(self, staging: Path) -> None:
        shutil.rmtree(staging / "blobs")
        (staging / _PUT).unlink(missing_ok=True)

    def answered(self) -> AbstractContextManager[None]:
        return _answered()


def hash_in(location: str) -> str:
    """The hash of the file that lies there."""
    return location[3:67]


def files_of(settings: Settings) -> Files:
    """Where the settings say that files lie."""
    bucket = chosen_bucket(settings)
    return FolderFiles(settings.data_dir / "blobs") if bucket is None else BucketFiles(bucket)


@contextlib.contextmanager
def _answered() -> Iterator[None]:
    try:
        yield
    except ServiceError as error:
        raise Stopped(error.message) from error

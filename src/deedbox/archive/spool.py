"""A file without a name on this disk, between the stored files and the archive: whoever dies leaves nothing behind."""

import asyncio
import hashlib
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, NamedTuple

from deedbox.archive import limits
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.errors import TooLarge


class SpooledFile(NamedTuple):
    """Bytes that are complete; whoever reads them begins with `file.seek(0)`."""

    file: BinaryIO
    size_bytes: int
    sha256: str


def in_memory(content: bytes) -> SpooledFile:
    """Few bytes, in memory."""
    return SpooledFile(BytesIO(content), len(content), hashlib.sha256(content).hexdigest())


class Spool:
    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.size_bytes = 0

    async def write(self, data: bytes) -> None:
        """Takes the next bytes; TooLarge when it is more than a package can have."""
        self.size_bytes += len(data)
        if self.size_bytes > limits.ARCHIVE_PACKAGE_BYTES:
            raise TooLarge("The package has more bytes than a package can have")
        await asyncio.to_thread(self.file.write, data)

    async def patch(self, at: int, data: bytes) -> None:
        """Writes over bytes that are there already."""
        await asyncio.to_thread(self._patch, at, data)

    async def finish(self) -> SpooledFile:
        return SpooledFile(self.file, self.size_bytes, await asyncio.to_thread(self._hash))

    def _patch(self, at: int, data: bytes) -> None:
        self.file.seek(at)
        self.file.write(data)
        self.file.seek(0, 2)

    def _hash(self) -> str:
        self.file.flush()
        self.file.seek(0)
        found = hashlib.sha256()
        while chunk := self.file.read(shared_limits.BLOB_CHUNK_BYTES):
            found.update(chunk)
        return found.hexdigest()


@asynccontextmanager
async def spool(folder: Path) -> AsyncIterator[Spool]:
    """A new file on the disk of this folder, gone at the end of this."""
    with tempfile.TemporaryFile(dir=folder) as file:
        yield Spool(file)


async def pieces(file: BinaryIO, start: int, size_bytes: int) -> AsyncIterator[bytes]:
    """A part of the file, in chunks."""
    at, end = start, start + size_bytes
    while at < end:
        chunk = await asyncio.to_thread(_read, file, at, min(shared_limits.BLOB_CHUNK_BYTES, end - at))
        if not chunk:
            return
        at += len(chunk)
        yield chunk


def _read(file: BinaryIO, at: int, size: int) -> bytes:
    file.seek(at)
    return file.read(size)

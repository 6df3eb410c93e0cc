"""A package made from stored files, piece by piece: it is never held whole."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeAlias

import msgspec

from deedbox.archive import check, package, stored_zip
from deedbox.archive.package import Bag, ManifestKey, PackageFile
from deedbox.archive.spool import Spool, SpooledFile, spool
from deedbox.archive.stored_zip import ZipEntry
from deedbox.kernel.blobs import Blob, Blobs
from deedbox.kernel.errors import LostFile, NotFound

Find: TypeAlias = Callable[[str], Awaitable[Blob | None]]


class BuiltPackage(msgspec.Struct, frozen=True):
    """A package that is ready to be pushed."""

    name: str
    file: SpooledFile
    manifest_sha256: str


class PackageBuilder:
    def __init__(self, blobs: Blobs, find: Find, folder: Path) -> None:
        self._blobs, self._find, self._folder = blobs, find, folder

    @asynccontextmanager
    async def package(self, bag: Bag, token: bytes | None, key: ManifestKey) -> AsyncIterator[BuiltPackage]:
        """The package with its time-stamp; LostFile if a stored file is gone, NotFound if it is another."""
        stored = [await self._found(piece) for piece in bag.pieces]
        whole = with_timestamp(_measured(bag, stored), token)
        async with spool(self._folder) as out:
            entries = []
            for name, content in package.tag_files(whole, key):
                entries.append(await _small(out, f"{bag.document_id}/{name}", content))
            for piece, blob in zip(bag.pieces, stored, strict=True):
                entries.append(await self._stored(out, f"{bag.document_id}/{piece.path}", piece, blob))
            if token is not None:
                entries.append(await _small(out, f"{bag.document_id}/{package.TIMESTAMP_TOKEN}", token))
            await out.write(stored_zip.directory(entries))
            file = await out.finish()
            # Read back before it is given away for years: nobody could mend it there.
            inside = await asyncio.to_thread(check.contents, file.file, file.size_bytes, bag.document_id, key)
            yield BuiltPackage(bag.name, file, inside.manifest_sha256)

    async def _found(self, piece: PackageFile) -> Blob:
        blob = await self._find(piece.sha256)
        if blob is None:
            raise LostFile(piece.sha256, f"the file for {piece.path}")
        return blob

    async def _stored(self, out: Spool, path: str, piece: PackageFile, blob: Blob) -> ZipEntry:
        start, crc, found = out.size_bytes, 0, hashlib.sha256()
        await out.write(stored_zip.header(ZipEntry(path, blob.size_bytes, 0)))
        async for chunk in self._blobs.open_range(blob.location, 0, blob.size_bytes):
            crc = stored_zip.crc(chunk, crc)
            found.update(chunk)
            await out.write(chunk)
        if found.hexdigest() != piece.sha256:
            raise NotFound(f"The file for {piece.path} is not the one that was stored: restore it from a backup")
        entry = ZipEntry(path, blob.size_bytes, crc)
        await out.patch(start, stored_zip.header(entry))
        return entry


def _measured(bag: Bag, stored: list[Blob]) -> Bag:
    """The bag with the sizes of its files: one that was lost when the bag was settled had none, and may be back."""
    pieces = [
        msgspec.structs.replace(piece, size_bytes=blob.size_bytes)
        for piece, blob in zip(bag.pieces, stored, strict=True)
    ]
    return msgspec.structs.replace(bag, pieces=pieces)


def with_timestamp(bag: Bag, token: bytes | None) -> Bag:
    """The bag with the time-stamp of its seal, if it has one, as a file of its own."""
    if token is None:
        return bag
    piece = PackageFile(package.TIMESTAMP_TOKEN, hashlib.sha256(token).hexdigest(), len(token))
    return msgspec.structs.replace(bag, pieces=[*bag.pieces, piece])


async def _small(out: Spool, path: str, content: bytes) -> ZipEntry:
    entry = ZipEntry(path, len(content), stored_zip.crc(content))
    await out.write(stored_zip.header(entry))
    await out.write(content)
    return entry

"""A package made from stored files, piece by piece: it is never held whole."""

import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeAlias

import msgspec

from deedbox.archive import package, stored_zip
from deedbox.archive.package import Bag, ManifestKey, Piece
from deedbox.archive.spool import Held, Spool, spool
from deedbox.archive.stored_zip import Entry
from deedbox.kernel.blobs import Blob, Blobs
from deedbox.kernel.errors import NotFound

Find: TypeAlias = Callable[[str], Awaitable[Blob | None]]


class Package(msgspec.Struct, frozen=True):
    """A package that is ready to be pushed."""

    name: str
    held: Held
    manifest_sha256: str


class Building:
    def __init__(self, blobs: Blobs, find: Find, folder: Path) -> None:
        self._blobs, self._find, self._folder = blobs, find, folder

    @asynccontextmanager
    async def built(self, bag: Bag, token: bytes | None, key: ManifestKey) -> AsyncIterator[Package]:
        """The package of the bag and the time-stamp of its seal; NotFound if a stored file is gone or is another."""
        whole = stamped(bag, token)
        async with spool(self._folder) as out:
            entries = []
            for name, content in package.tag_files(whole, key):
                entries.append(await _small(out, f"{bag.document_id}/{name}", content))
            for piece in whole.pieces:
                path = f"{bag.document_id}/{piece.path}"
                if piece.path == package.TIMESTAMP and token is not None:
                    entries.append(await _small(out, path, token))
                else:
                    entries.append(await self._stored(out, path, piece))
            await out.write(stored_zip.directory(entries))
            yield Package(bag.name, await out.finish(), package.manifest_sha256(whole.pieces))

    async def _stored(self, out: Spool, path: str, piece: Piece) -> Entry:
        blob = await self._find(piece.sha256)
        if blob is None:
            raise NotFound(f"The file for {piece.path} is no longer stored")
        start, crc, found = out.size_bytes, 0, hashlib.sha256()
        await out.write(stored_zip.header(Entry(path, piece.size_bytes, 0)))
        async for chunk in self._blobs.open_range(blob.location, 0, blob.size_bytes):
            crc = stored_zip.crc(chunk, crc)
            found.update(chunk)
            await out.write(chunk)
        if found.hexdigest() != piece.sha256:
            raise NotFound(f"The file for {piece.path} is not the one that was stored: restore it from a backup")
        entry = Entry(path, piece.size_bytes, crc)
        await out.patch(start, stored_zip.header(entry))
        return entry


def stamped(bag: Bag, token: bytes | None) -> Bag:
    """The bag with the time-stamp of its seal, if it has one, as a file of its own."""
    if token is None:
        return bag
    piece = Piece(package.TIMESTAMP, hashlib.sha256(token).hexdigest(), len(token))
    return msgspec.structs.replace(bag, pieces=[*bag.pieces, piece])


async def _small(out: Spool, path: str, content: bytes) -> Entry:
    entry = Entry(path, len(content), stored_zip.crc(content))
    await out.write(stored_zip.header(entry))
    await out.write(content)
    return entry

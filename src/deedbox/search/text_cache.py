"""The cache of extracted texts: a file is read once, its text is kept beside it, and read again if it is lost."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

from deedbox.kernel import limits
from deedbox.kernel.blobs import Blob, Blobs, Incoming, Received
from deedbox.kernel.blobs import store as blobs_store
from deedbox.kernel.blobs.stream import streamed
from deedbox.kernel.clock import Clock
from deedbox.kernel.db import Database
from deedbox.kernel.errors import NotFound
from deedbox.search import library
from deedbox.search.extract import Extractor, Packed, opened_text, unpacked
from deedbox.search.extract.kinds import KINDS, Kind
from deedbox.search.library import File, Parsed
from deedbox.search.upload import Extraction, Upload

T = TypeVar("T")


class TextCache:
    def __init__(self, db: Database, blobs: Blobs, extractor: Extractor, clock: Clock) -> None:
        self._db = db
        self._blobs = blobs
        self._extractor = extractor
        self._clock = clock

    @asynccontextmanager
    async def parsed(self, workspace_id: str, filename: str, kind: Kind, received: Received) -> AsyncIterator[File]:
        """The file with its text, extracted only if the workspace does not have it; stays until this context ends."""
        sha256 = received.blob.sha256
        parsed = await self._db.read(lambda tx: library.known_text(tx, workspace_id, sha256, kind.media_type))
        if parsed is not None:
            yield File(filename, kind.media_type, received, parsed)
            return
        async with self._blobs.receive(limits.PACKED_TEXT_BYTES) as incoming:
            packed = await self._pack(received.blob, kind, incoming)
            parsed = Parsed(packed.text_length, packed.pages, await incoming.finish())
            yield File(filename, kind.media_type, received, parsed)

    async def text(self, upload: Upload) -> Extraction:
        """The document's text; NotFound when neither it nor its file is there any more."""
        body = await self._opened(upload, lambda blob: self._blobs.read(blob.location, limits.PACKED_TEXT_BYTES))
        return await asyncio.to_thread(unpacked, body)

    async def stream(self, upload: Upload) -> tuple[int, AsyncIterator[bytes]]:
        """As `text`, only its characters: their size in UTF-8, and they themselves piece by piece."""
        return await self._opened(upload, lambda blob: opened_text(self._blobs.open_range(blob.location)))

    async def _opened(self, upload: Upload, opened: Callable[[Blob], Awaitable[T]]) -> T:
        kept = await self._db.read(lambda tx: library.kept_text(tx, upload))
        if kept is not None:
            with suppress(NotFound):  # the row is there and its file is not
                return await opened(kept)
        return await opened(await self._read_again(upload, kept))

    async def _read_again(self, upload: Upload, lost: Blob | None) -> Blob:
        file = await self._db.read(lambda tx: blobs_store.find(tx, upload.sha256))
        kind = next((kind for kind in KINDS.values() if kind.media_type == upload.media_type), None)
        if file is None or kind is None:
            raise NotFound("The file of this document is no longer stored")
        async with self._blobs.receive(limits.PACKED_TEXT_BYTES) as incoming:
            await self._pack(file, kind, incoming)
            text, now = await incoming.finish(), self._clock.now()
            return await self._db.write(lambda tx: library.keep_again(tx, upload, text, lost, now=now))

    async def _pack(self, file: Blob, kind: Kind, incoming: Incoming) -> Packed:
        async with streamed(self._blobs, file) as data:
            return await self._extractor.pack(data, kind.name, incoming.write)

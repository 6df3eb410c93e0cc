"""The text of a document: as it was kept at upload, or read from its file again."""

import asyncio

from deedbox.kernel.blobs import Blobs
from deedbox.kernel.blobs import store as blobs_store
from deedbox.kernel.db import Database
from deedbox.kernel.errors import NotFound
from deedbox.search import packing, store
from deedbox.search.extract import Extractor
from deedbox.search.extract.kinds import KINDS
from deedbox.search.stored import streamed
from deedbox.search.upload import Extraction, Upload


class Reading:
    def __init__(self, db: Database, blobs: Blobs, extractor: Extractor) -> None:
        self._db = db
        self._blobs = blobs
        self._extractor = extractor

    async def text(self, upload: Upload) -> Extraction:
        """The document's text; NotFound when neither it nor its file is there any more."""
        body = await self._db.read(lambda tx: store.packed_extraction(tx, upload.workspace_id, upload.sha256))
        if body is not None:
            return await asyncio.to_thread(packing.unpacked, body)
        return await self._read_again(upload)

    async def _read_again(self, upload: Upload) -> Extraction:
        blob = await self._db.read(lambda tx: blobs_store.find(tx, upload.sha256))
        kind = next((kind.name for kind in KINDS.values() if kind.media_type == upload.media_type), None)
        if blob is None or kind is None:
            raise NotFound("The file of this document is no longer stored")
        async with streamed(self._blobs, blob) as data:
            return await self._extractor.extract(data, kind)

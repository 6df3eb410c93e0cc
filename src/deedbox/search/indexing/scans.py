"""Scans: pages without text are read by OCR, one after the other, and each is kept as soon as it is read."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from deedbox.kernel import log
from deedbox.kernel.db import Database
from deedbox.kernel.errors import BadRequest, Unavailable
from deedbox.kernel.sandbox import SandboxFailed
from deedbox.search import limits, ocr
from deedbox.search.extract.kinds import KINDS, PICTURES
from deedbox.search.library import library
from deedbox.search.library.library import TextCache
from deedbox.search.library.upload import Extraction, LibraryUpload
from deedbox.search.ocr import ScannedPage
from deedbox.search.ocr import store as pages_store
from deedbox.search.ocr.filled import pages_without_text

Told: TypeAlias = Callable[[int, int], Awaitable[None]]
"""Hears how many pages are read, of how many."""
_PICTURES = {KINDS[name].media_type for name in PICTURES}


class Scans:
    def __init__(self, db: Database, texts: TextCache) -> None:
        self._db = db
        self._texts = texts

    async def read(self, upload: LibraryUpload, extraction: Extraction, told: Told) -> Extraction:
        """The document's text with that of its scanned pages; as it is if nothing can read them, or none is there.

        BadRequest for a picture that nothing can read. Unavailable if the machine is too busy: what was read is kept.
        """
        empty = pages_without_text(extraction) if upload.media_type in {library.PDF.media_type, *_PICTURES} else []
        if not empty:
            return extraction
        known = await self._db.read(lambda tx: pages_store.texts(tx, upload))
        unread = [number for number in empty if number not in known]
        if unread and not self._texts.reads_pictures:
            if upload.media_type in _PICTURES:
                raise BadRequest(ocr.MISSING)
            unread = []
        if len(unread) > limits.OCR_PAGES:
            raise BadRequest(f"The document has more than {limits.OCR_PAGES:,} scanned pages. Split it into parts.")
        if unread:
            await self._read_pages(upload, unread, lambda left: told(len(empty) - left, len(empty)))
        elif not any(known.get(number) for number in empty):
            return extraction
        return await self._texts.with_scans(upload)

    async def _read_pages(
        self, upload: LibraryUpload, unread: list[int], told: Callable[[int], Awaitable[None]]
    ) -> None:
        while unread:
            await told(len(unread))
            now = unread[: limits.OCR_PAGES_A_CALL]

            async def keep(page: ScannedPage) -> None:
                await self._db.write(lambda tx: library.store_scanned_page(tx, upload, page))
                unread.remove(page.number)
                await told(len(unread))

            try:
                await self._texts.read_pages(upload, now, keep)
            except SandboxFailed as failed:
                if now[0] not in unread:
                    continue  # with the page at which it failed as the first
                if failed.reason == "deadline":
                    raise Unavailable("The server is too busy to read this page in time") from failed
                log.warning("a scanned page cannot be read", upload=upload.id, page=now[0], reason=failed.reason)
                await keep(ScannedPage(now[0], "", []))

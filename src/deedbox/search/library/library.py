"""The library of a workspace: documents with their texts are taken in, shown, replaced, and deleted as one act."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from typing import TypeVar

import msgspec
from msgspec import UNSET

from deedbox.kernel.blobs import Blob, Blobs, Incoming, ReceivedBlob
from deedbox.kernel.blobs import store as blobs_store
from deedbox.kernel.blobs.stream import open_stream
from deedbox.kernel.clock import Clock, instant
from deedbox.kernel.db import Database, Tx
from deedbox.kernel.errors import BadRequest, Conflict, LostFile, NotFound, Unavailable
from deedbox.kernel.ids import new_id
from deedbox.search import limits
from deedbox.search.chunks import store as chunk_store
from deedbox.search.extract import Extractor, Packed, opened_text, pack_pieces, unpack
from deedbox.search.extract.kinds import KINDS, PICTURES, FileKind, kind_of
from deedbox.search.library import store
from deedbox.search.library.filing import Filing, FilingChange
from deedbox.search.library.reader import SearchReader
from deedbox.search.library.store import UploadSummary
from deedbox.search.library.upload import (
    SEALED_NAMES,
    SIGNED_COLLECTION,
    Chunk,
    Extraction,
    LibraryUpload,
    MetadataValue,
)
from deedbox.search.ocr import MISSING, ScannedPage
from deedbox.search.ocr import store as pages_store
from deedbox.search.ocr.filled import fill_pages
from deedbox.search.ocr.page_reader import Keep, PageReader

T = TypeVar("T")
PDF = KINDS["pdf"]
UNSORTED = Filing()
"""How a document is filed of which nothing is said."""


class Parsed(msgspec.Struct, frozen=True):
    """The size of a file's text, and the text itself."""

    text_length: int
    pages: int | None
    text: ReceivedBlob | None
    """The text as it is kept; None when the workspace has it already."""
    hidden_length: int = 0
    """Characters that the file holds and does not show."""


class ParsedFile(msgspec.Struct, frozen=True):
    """A file that was received and parsed, and that no document holds yet."""

    filename: str
    media_type: str
    received: ReceivedBlob
    parsed: Parsed


class SealedEntry(msgspec.Struct, frozen=True):
    """The sealed file of a document, which is stored already."""

    document_id: str
    filename: str
    blob: Blob
    pages: int
    metadata: Mapping[str, MetadataValue]
    """What the signing side says of it, under SEALED_NAMES."""


class Stats(msgspec.Struct, frozen=True):
    documents: int
    chunks: int
    queries: int
    stored_bytes: int
    whole: bool
    """Whether that is everything in the workspace."""


class TextCache:
    """The extracted texts: a file is read once, its text is kept beside it, and read again if it is lost."""

    def __init__(self, db: Database, blobs: Blobs, extractor: Extractor, clock: Clock, pages: PageReader) -> None:
        self._db = db
        self._blobs = blobs
        self._extractor = extractor
        self._clock = clock
        self._pages = pages

    @property
    def reads_pictures(self) -> bool:
        """Whether there is text in pictures for this server: whether OCR is installed."""
        return self._pages.is_installed

    @asynccontextmanager
    async def parsed(
        self, workspace_id: str, filename: str, kind: FileKind, received: ReceivedBlob
    ) -> AsyncIterator[ParsedFile]:
        """The file with its text, extracted only if the workspace does not have it; stays until this context ends.

        BadRequest for a picture, if nothing here can read it."""
        if kind.name in PICTURES and not self.reads_pictures:
            raise BadRequest(MISSING)
        async with self.read(workspace_id, kind, received.blob) as parsed:
            yield ParsedFile(filename, kind.media_type, received, parsed)

    @asynccontextmanager
    async def read(self, workspace_id: str, kind: FileKind, blob: Blob) -> AsyncIterator[Parsed]:
        """The text of bytes that are stored, as `parsed` gives it."""
        known = await self._db.read(lambda tx: _known_text(tx, workspace_id, blob.sha256, kind.media_type))
        if known is not None:
            yield known
            return
        async with self._blobs.receive(limits.PACKED_TEXT_BYTES) as incoming:
            made = await self._pack(blob, kind, incoming)
            yield Parsed(made.text_length, made.pages, await incoming.finish(), made.hidden)

    async def text(self, upload: LibraryUpload) -> Extraction:
        """The document's text; LostFile when neither it nor its file is there, NotFound if the document was deleted."""
        body = await self._opened(upload, lambda blob: self._blobs.read(blob.location, limits.PACKED_TEXT_BYTES))
        return await asyncio.to_thread(unpack, body)

    async def page(self, upload: LibraryUpload, number: int) -> str:
        """The text of one page, from 1; NotFound if the document has no such page."""
        found = await self.text(upload)
        starts = [*(found.page_starts or []), len(found.text)]
        if number >= len(starts):
            raise NotFound(f"The document has no such page: it has {len(starts) - 1}")
        return found.text[starts[number - 1] : starts[number]]

    async def stream(self, upload: LibraryUpload) -> tuple[int, AsyncIterator[bytes]]:
        """As `text`, only its characters: their size in UTF-8, and they themselves piece by piece."""
        return await self._opened(upload, lambda blob: opened_text(self._blobs.open_range(blob.location)))

    async def _opened(self, upload: LibraryUpload, opened: Callable[[Blob], Awaitable[T]]) -> T:
        kept = await self._db.read(lambda tx: _kept_text(tx, upload))
        if kept is not None:
            with suppress(LostFile):  # the row is there and its file is not
                return await opened(kept)
        return await opened(await self._read_again(upload, kept))

    async def _read_again(self, upload: LibraryUpload, lost: Blob | None) -> Blob:
        file = await self._db.read(lambda tx: _file_of(tx, upload))
        async with self._blobs.receive(limits.PACKED_TEXT_BYTES) as incoming:
            made = await self._pack(file, _kind(upload), incoming)
            read = Parsed(made.text_length, made.pages, await incoming.finish(), made.hidden)
            now = self._clock.now()
            blob = await self._db.write(lambda tx: keep_again(tx, upload, read, lost, now=now))
        scanned = await self._db.read(lambda tx: pages_store.texts(tx, upload))
        return (await self._fill(upload, blob, scanned))[1] if scanned else blob

    async def read_pages(self, upload: LibraryUpload, numbers: Sequence[int], keep: Keep) -> None:
        """Has these pages of the document's file read by OCR, and each kept; it fails as `PageReader.read` does."""
        file = await self._db.read(lambda tx: _file_of(tx, upload))
        async with open_stream(self._blobs, file) as data:
            await self._pages.read(data, _kind(upload).name, numbers, keep)

    async def with_scans(self, upload: LibraryUpload) -> Extraction:
        """The document's text with that of its pages that were read by OCR; it is kept so."""
        kept = await self._db.read(lambda tx: _kept_text(tx, upload)) or await self._read_again(upload, None)
        scanned = await self._db.read(lambda tx: pages_store.texts(tx, upload))
        return (await self._fill(upload, kept, scanned))[0]

    async def _fill(self, upload: LibraryUpload, kept: Blob, scanned: Mapping[int, str]) -> tuple[Extraction, Blob]:
        body = await self._blobs.read(kept.location, limits.PACKED_TEXT_BYTES)
        whole, begins = await asyncio.to_thread(lambda: fill_pages(unpack(body), scanned))
        now = self._clock.now()
        async with self._blobs.receive(limits.PACKED_TEXT_BYTES) as incoming:
            for piece in await asyncio.to_thread(lambda: list(pack_pieces(whole))):
                await incoming.write(piece)
            read = Parsed(len(whole.text), len(whole.page_starts or ()), await incoming.finish(), whole.hidden)

            def keep(tx: Tx) -> Blob:
                pages_store.place(tx, upload, begins)
                return keep_again(tx, upload, read, kept, now=now)

            return whole, await self._db.write(keep)

    async def _pack(self, file: Blob, kind: FileKind, incoming: Incoming) -> Packed:
        async with open_stream(self._blobs, file) as data:
            return await self._extractor.pack(data, kind.name, incoming.write)


def need_open(collection: str) -> None:
    """BadRequest for the collection of completed documents, which takes no others."""
    if collection == SIGNED_COLLECTION:
        raise BadRequest(
            f"collection: `{SIGNED_COLLECTION}` is reserved for documents that were completed here. Choose another one."
        )


def add(tx: Tx, workspace_id: str, file: ParsedFile, filing: Filing = UNSORTED, *, now: datetime) -> LibraryUpload:
    """A new document."""
    need_open(filing.collection)
    upload = LibraryUpload(
        id=new_id("upl", now),
        workspace_id=workspace_id,
        filename=file.filename,
        media_type=file.media_type,
        size_bytes=file.received.blob.size_bytes,
        sha256=file.received.blob.sha256,
        text_length=file.parsed.text_length,
        hidden_length=file.parsed.hidden_length,
        pages=file.parsed.pages,
        status="uploaded",
        status_before=None,
        error=None,
        revision=1,
        created_at=instant(now),
        indexed_at=None,
        collection=filing.collection,
        metadata=filing.metadata,
    )
    _keep_text(tx, workspace_id, file.received.blob.sha256, file.media_type, file.parsed, now)
    blobs_store.adopt(tx, file.received, upload.id, now)
    store.add_upload(tx, upload)
    return upload


def add_completed_document(tx: Tx, workspace_id: str, sealed: SealedEntry, *, now: datetime) -> LibraryUpload | None:
    """An entry that stands for a document, whose text is yet to be read; None if there is one."""
    if store.of_document(tx, sealed.document_id) is not None:
        return None
    upload = LibraryUpload(
        id=new_id("upl", now),
        workspace_id=workspace_id,
        filename=sealed.filename,
        media_type=PDF.media_type,
        size_bytes=sealed.blob.size_bytes,
        sha256=sealed.blob.sha256,
        text_length=0,
        pages=sealed.pages,
        status="uploaded",
        status_before=None,
        error=None,
        revision=1,
        created_at=instant(now),
        indexed_at=None,
        document_id=sealed.document_id,
        collection=SIGNED_COLLECTION,
        metadata=sealed.metadata,
    )
    blobs_store.share(tx, [upload.sha256], [upload.id])
    store.add_upload(tx, upload)
    return upload


def replace(tx: Tx, reader: SearchReader, upload_id: str, file: ParsedFile, *, now: datetime) -> LibraryUpload:
    """The document with another content; its old chunks serve queries until the new ones take their place."""
    old = replaceable(tx, reader, upload_id)
    _keep_text(tx, reader.workspace_id, file.received.blob.sha256, file.media_type, file.parsed, now)
    blob = blobs_store.adopt(tx, file.received, old.id, now)
    new = msgspec.structs.replace(
        old,
        filename=file.filename,
        media_type=file.media_type,
        size_bytes=blob.size_bytes,
        sha256=blob.sha256,
        text_length=file.parsed.text_length,
        hidden_length=file.parsed.hidden_length,
        pages=file.parsed.pages,
        status="uploaded",
        status_before=None,
        error=None,
        revision=old.revision + 1,
    )
    kept = ("id", "collection", "metadata")
    changes = {name: value for name, value in msgspec.structs.asdict(new).items() if name not in kept}
    if not store.change_upload(tx, old.id, {"revision": old.revision}, changes):
        raise Unavailable("The document was changed at this very moment. Try again.")
    if _answers(tx, old):
        store.store_answering_file(tx, old)
    _let_go(tx, old, now)
    return new


def settle(tx: Tx, upload: LibraryUpload, *, now: datetime) -> bool:
    """Let go of the replaced file that answered queries for the upload; whether its name was different."""
    before = store.find_answering_file(tx, upload.workspace_id, upload.id)
    if before is None or before.revision == upload.revision:
        return False
    store.drop_answering_file(tx, upload.id)
    _let_go(tx, before, now)
    return before.filename != upload.filename


def _answers(tx: Tx, upload: LibraryUpload) -> bool:
    """Whether chunks of the upload, of this content or an earlier one, answer queries."""
    recipe = chunk_store.serving_recipe(tx, upload.workspace_id)
    return recipe is not None and chunk_store.set_of(tx, upload.workspace_id, recipe, upload.id) is not None


def file(tx: Tx, reader: SearchReader, upload_id: str, wanted: FilingChange) -> UploadSummary:
    """The document under another name, in another collection or with other metadata; nothing is read again."""
    old = _seen(tx, reader, upload_id)
    new = msgspec.structs.replace(old, **wanted.given())
    reader.need(new.collection)
    if old.document_id is None and new.collection != old.collection:
        need_open(new.collection)
    if old.document_id is not None and wanted.metadata is not UNSET:
        new = msgspec.structs.replace(new, metadata=_with_sealed(old, wanted.metadata))
    if new.filename != old.filename and kind_of(new.filename).media_type != old.media_type:
        raise BadRequest("filename: its extension must stay that of a file of the same kind")
    store.file(tx, new)
    if new.filename != old.filename:
        chunk_store.log_name(tx, reader.workspace_id, upload_id)
    return find(tx, reader, upload_id)


def _with_sealed(old: LibraryUpload, wanted: Mapping[str, MetadataValue]) -> Mapping[str, MetadataValue]:
    """The metadata that is wanted for a completed document, with what the signing side says of it."""
    fixed = {name: old.metadata[name] for name in SEALED_NAMES if name in old.metadata}
    wrong = next((name for name, value in fixed.items() if wanted.get(name, value) != value), None)
    if wrong is not None:
        raise BadRequest(f"metadata.{wrong}: this is a completed document, of which it cannot be changed")
    return {**wanted, **fixed}


def replaceable(tx: Tx, reader: SearchReader, upload_id: str) -> LibraryUpload:
    """The document, if its content may be another one: Conflict for the sealed file of a document."""
    upload = _seen(tx, reader, upload_id)
    if upload.document_id is not None:
        raise Conflict("This is the sealed file of a document, which never changes. Upload the other file separately.")
    return upload


def remove(tx: Tx, reader: SearchReader, upload_id: str, *, now: datetime) -> None:
    """Removes record, file, text, chunks and index entries at once: the very next query knows nothing of them."""
    upload = _seen(tx, reader, upload_id)
    settle(tx, upload, now=now)
    store.drop_upload(tx, upload.id)
    _let_go(tx, upload, now)
    chunk_store.log_removal(tx, reader.workspace_id, upload.id)


def page(
    tx: Tx, reader: SearchReader, after: str | None, most: int, collection: str | None = None
) -> list[UploadSummary]:
    """Documents of the collection, or of all, after the one with this id, oldest first."""
    return store.summaries(tx, reader, after, most, collection)


class LibraryListing(msgspec.Struct, frozen=True):
    """A part of the library, newest first, as a page shows it."""

    documents: list[UploadSummary]
    unindexed: int
    """Documents in all of the library that wait for an index run, as far as they are counted."""


def list_shelf(tx: Tx, reader: SearchReader, named: str, before: str | None, most: int) -> LibraryListing:
    """Documents whose names hold this text, before the one with this id, newest first."""
    return LibraryListing(store.newest(tx, reader, named, before, most), store.count_backlog(tx, reader))


def find(tx: Tx, reader: SearchReader, upload_id: str) -> UploadSummary:
    found = store.summary(tx, reader.workspace_id, upload_id)
    if found is None or not reader.sees(found.upload):
        raise _unknown()
    return found


def need_all(tx: Tx, reader: SearchReader, upload_ids: Collection[str]) -> None:
    """Raises NotFound, naming it, for one that is not there for this reader."""
    need_none(set(upload_ids) - store.known(tx, reader, upload_ids))


def need_none(unknown: Collection[str]) -> None:
    """Raises NotFound, naming one, if there are any documents that do not exist for the reader."""
    if unknown:
        raise NotFound(f"Document {min(unknown)} does not exist")


def version(tx: Tx, reader: SearchReader, upload_id: str, sha256: str | None = None) -> LibraryUpload:
    """The document with its own file, or with the one of this hash that still answers queries in its place."""
    upload = _seen(tx, reader, upload_id)
    if sha256 in (None, upload.sha256):
        return upload
    before = answering_file(tx, reader, upload_id)
    if before.sha256 != sha256:
        raise NotFound("The document has no file with this hash. It may have been replaced and indexed since.")
    return before


def answering_file(tx: Tx, reader: SearchReader, upload_id: str) -> LibraryUpload:
    """The document with the file that answers queries: the replaced one until the new one is indexed."""
    upload = store.find_answering_file(tx, reader.workspace_id, upload_id)
    if upload is None or not reader.sees(upload):
        raise _unknown()
    return upload


def content(tx: Tx, reader: SearchReader, upload_id: str, sha256: str | None = None) -> tuple[LibraryUpload, Blob]:
    """The document as `version` gives it, and where its bytes are."""
    upload = version(tx, reader, upload_id, sha256)
    return upload, blobs_store.demand(tx, upload.sha256)


def chunks(tx: Tx, reader: SearchReader, upload_id: str, after: int | None, most: int) -> list[Chunk]:
    """Chunks of the document that serve queries now, after the one with this number; none before it is indexed."""
    recipe, upload = chunk_store.serving_recipe(tx, reader.workspace_id), _seen(tx, reader, upload_id)
    set_id = None if recipe is None else chunk_store.set_of(tx, reader.workspace_id, recipe, upload.id)
    return [] if set_id is None else chunk_store.chunks(tx, set_id, after, most)


def stats(tx: Tx, reader: SearchReader) -> Stats:
    """How much the workspace holds for this reader, and how often it was asked."""
    return Stats(
        documents=store.count_uploads(tx, reader),
        chunks=chunks_in_service(tx, reader),
        queries=store.queries(tx, reader.workspace_id),
        stored_bytes=store.stored_bytes(tx, reader),
        whole=not store.hides(tx, reader),
    )


def chunks_in_service(tx: Tx, reader: SearchReader) -> int:
    """Those of the documents that are there for this reader."""
    hides = store.hides(tx, reader)
    return store.count_chunks(tx, reader) if hides else chunk_store.indexed_chunks(tx, reader.workspace_id)


def collections(tx: Tx, reader: SearchReader, after: str, most: int) -> list[tuple[str, int]]:
    """Collections after the one of this name, by name, and how many documents each has for this reader."""
    return store.collections(tx, reader, after, most)


def _seen(tx: Tx, reader: SearchReader, upload_id: str) -> LibraryUpload:
    upload = _upload(tx, reader.workspace_id, upload_id)
    if not reader.sees(upload):
        raise _unknown()
    return upload


def _upload(tx: Tx, workspace_id: str, upload_id: str) -> LibraryUpload:
    upload = store.upload(tx, workspace_id, upload_id)
    if upload is None:
        raise _unknown()
    return upload


def store_scanned_page(tx: Tx, upload: LibraryUpload, page: ScannedPage) -> None:
    """Keeps what was read from a page; NotFound if the document was deleted or replaced meanwhile."""
    if not store.needs_content(tx, upload.workspace_id, upload.sha256, upload.media_type):
        raise _unknown()
    pages_store.keep(tx, upload, page)


def _kind(upload: LibraryUpload) -> FileKind:
    return next(kind for kind in KINDS.values() if kind.media_type == upload.media_type)


def _file_of(tx: Tx, upload: LibraryUpload) -> Blob:
    """Where the document's bytes are; NotFound if it was deleted or replaced since it was read."""
    if not _holds(tx, upload):
        raise _unknown()
    return blobs_store.demand(tx, upload.sha256)


def _unknown() -> NotFound:
    return NotFound("Document does not exist")


def _known_text(tx: Tx, workspace_id: str, sha256: str, media_type: str) -> Parsed | None:
    """The text of a document with the same bytes and type; None when the file must be parsed."""
    twin = store.twin(tx, workspace_id, sha256, media_type)
    if twin is None or store.text(tx, workspace_id, sha256, media_type) is None:
        return None
    return Parsed(twin.text_length, twin.pages, None, twin.hidden_length)


def _kept_text(tx: Tx, upload: LibraryUpload) -> Blob | None:
    """Where the extracted text of the document is; None when it must be read from the file again."""
    text_sha256 = store.text(tx, upload.workspace_id, upload.sha256, upload.media_type)
    return None if text_sha256 is None else blobs_store.find(tx, text_sha256)


def keep_again(tx: Tx, upload: LibraryUpload, read: Parsed, lost: Blob | None, *, now: datetime) -> Blob:
    """Where the text is that was read, because there was none, or the blob that should hold it is lost."""
    if not store.needs_content(tx, upload.workspace_id, upload.sha256, upload.media_type):
        raise _unknown()
    kept = _kept_text(tx, upload)
    if kept is not None and kept != lost:
        return kept
    _drop_text(tx, upload, now)
    return _adopt_text(tx, upload.workspace_id, upload.sha256, upload.media_type, read, now)


def _keep_text(tx: Tx, workspace_id: str, sha256: str, media_type: str, parsed: Parsed, now: datetime) -> None:
    if store.text(tx, workspace_id, sha256, media_type) is None:
        _adopt_text(tx, workspace_id, sha256, media_type, parsed, now)


def _adopt_text(tx: Tx, workspace_id: str, sha256: str, media_type: str, parsed: Parsed, now: datetime) -> Blob:
    if parsed.text is None:
        raise Unavailable("The document whose text this file shares was deleted at this moment. Send it again.")
    blob = blobs_store.adopt(tx, parsed.text, _text_owner(workspace_id, sha256, media_type), now)
    store.keep_text(tx, workspace_id, sha256, media_type, blob.sha256)
    # Sealed files become entries before they are read.
    store.set_lengths(tx, (workspace_id, sha256, media_type), parsed.text_length, parsed.hidden_length)
    return blob


def _drop_text(tx: Tx, upload: LibraryUpload, now: datetime) -> None:
    content = (upload.workspace_id, upload.sha256, upload.media_type)
    text_sha256 = store.text(tx, *content)
    if text_sha256 is not None:
        store.drop_text(tx, *content)
        blobs_store.release(tx, text_sha256, _text_owner(*content), now)


def _text_owner(workspace_id: str, sha256: str, media_type: str) -> str:
    return f"text:{workspace_id}:{sha256}:{media_type}"


def _let_go(tx: Tx, upload: LibraryUpload, now: datetime) -> None:
    """Removes the content that the upload had, as far as nothing else needs it; its row is changed already."""
    if not store.needs_content(tx, upload.workspace_id, upload.sha256, upload.media_type):
        _drop_text(tx, upload, now)
        pages_store.forget(tx, upload)
    if not _holds(tx, upload):
        blobs_store.release(tx, upload.sha256, upload.id, now)


def _holds(tx: Tx, upload: LibraryUpload) -> bool:
    """Whether these bytes are the upload's content, or the replaced one that still answers queries."""
    found = (
        store.upload(tx, upload.workspace_id, upload.id),
        store.find_answering_file(tx, upload.workspace_id, upload.id),
    )
    return any(one is not None and one.sha256 == upload.sha256 for one in found)

"""Brings the library to what a folder holds: one document for each file, under its path.

What it knows of files lies in the documents themselves, each of which changes in one transaction: a run that is killed
is gone on with by the next."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager

import msgspec

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.blobs import Blobs
from deedbox.kernel.clock import Clock
from deedbox.kernel.db import Database, Tx
from deedbox.kernel.errors import BadRequest, NotFound, ServiceError, TooLarge, Unavailable
from deedbox.search import limits
from deedbox.search.extract.kinds import PICTURES, kind_of
from deedbox.search.folders import FOLDER, PATH, Changed, Listing, SeenFile, WatchedFolder
from deedbox.search.library import library, store
from deedbox.search.library.filing import Filing, FilingChange
from deedbox.search.library.library import ParsedFile, TextCache
from deedbox.search.library.reader import SearchReader
from deedbox.search.library.upload import DEFAULT_COLLECTION, LibraryUpload, MetadataValue
from deedbox.search.ocr import MISSING

_TOO_LARGE = "File exceeds maximum size of 50MB"


class Left(msgspec.Struct, frozen=True):
    """A file that was not taken in, and why."""

    file: str
    error: str


class MirrorReport(msgspec.Struct):
    """What became of the files of a folder."""

    folder: str
    files: int = 0
    uploaded: int = 0
    replaced: int = 0
    renamed: int = 0
    known: int = 0
    """Files that are what they were."""
    removed: int = 0
    kept: int = 0
    """Documents whose files are gone, and that were not removed because they are too many to go unconfirmed."""
    indexed: int = 0
    chunks: int = 0
    skipped: list[Left] = []
    """What is never read."""
    refused: list[Left] = []
    """Files that could not be read; a document that there was of them is as it was before."""
    failed: list[Left] = []
    """Files whose documents could not be indexed."""
    waiting: list[str] = []
    """Files that are being written."""

    @property
    def is_all(self) -> bool:
        return not (self.refused or self.failed or self.waiting)


class Memory:
    """What one process knows of the files of a folder, so that it reads none twice."""

    def __init__(self) -> None:
        self.identities: dict[str, tuple[str, str]] = {}
        """By path: the file's mark, and the identity of its bytes."""
        self.refusals: dict[str, tuple[str, str]] = {}
        """By path: the file's mark, and the reason."""
        self.is_new = True
        self.is_lacking = False
        """Whether files were left, and not for a reason of their own: they are to be tried again."""

    def forget_others(self, listing: Listing) -> None:
        for known in (self.identities, self.refusals):
            for path in known.keys() - listing.files.keys():
                del known[path]


class FolderSnapshot(msgspec.Struct, frozen=True):
    """What a folder shows now, and what it showed a moment before: what differs is not believed yet."""

    now: Listing
    before: Listing

    def stands(self, path: str) -> bool:
        return self.now.files[path] == self.before.files.get(path)

    def is_gone(self, path: str) -> bool:
        return not self.now.may_hold(path) and not self.before.may_hold(path)


class Mirror:
    """One comparison of a folder with the library, and the changes that follow from it."""

    def __init__(self, db: Database, blobs: Blobs, texts: TextCache, clock: Clock, reader: SearchReader) -> None:
        self._db = db
        self._blobs = blobs
        self._texts = texts
        self._clock = clock
        self._reader = reader

    async def bring_up(
        self,
        folder: WatchedFolder,
        look: FolderSnapshot,
        memory: Memory,
        wish: "Wish",
        tell: Callable[[int, int], None],
    ) -> tuple[MirrorReport, dict[str, str]]:
        """What was done, and the path of each document that is to be indexed, by its id."""
        return await _Comparison(self, folder, look, memory, wish).run(tell)

    def unread(self, listing: Listing) -> set[str]:
        """Files that nothing here can read yet: pictures, where OCR is not installed."""
        if self._texts.reads_pictures:
            return set()
        return {path for path in listing.files if kind_of(path).name in PICTURES}

    async def documents(self, address: str) -> list[LibraryUpload]:
        """Those that are files of the folder, oldest first."""
        return await self._db.read(lambda tx: store.with_text(tx, self._reader.workspace_id, FOLDER, address))

    async def add(self, file: ParsedFile, filing: Filing) -> str:
        now, workspace = self._clock.now(), self._reader.workspace_id
        return (await self._db.write(lambda tx: library.add(tx, workspace, file, filing, now=now))).id

    async def replace(self, upload: LibraryUpload, file: ParsedFile, notes: dict[str, str]) -> None:
        now = self._clock.now()

        def replace(tx: Tx) -> None:
            new = library.replace(tx, self._reader, upload.id, file, now=now)
            library.file(tx, self._reader, upload.id, FilingChange(metadata={**new.metadata, **notes}))

        await self._db.write(replace)

    async def move(self, upload: LibraryUpload, path: str, notes: dict[str, str]) -> None:
        """The document is of the file at another path from now on; nothing is read again."""
        change = FilingChange(filename=_name(path), metadata={**upload.metadata, PATH: path, **notes})
        await self._db.write(lambda tx: library.file(tx, self._reader, upload.id, change))

    async def remove(self, upload: LibraryUpload) -> None:
        now = self._clock.now()
        try:
            await self._db.write(lambda tx: library.remove(tx, self._reader, upload.id, now=now))
        except NotFound:
            return  # someone else was first

    async def take_in(
        self, folder: WatchedFolder, path: str, seen: SeenFile, keep: Callable[[ParsedFile], Awaitable[None]]
    ) -> None:
        """Stores and parses the file, and hands it to `keep`."""
        kind = kind_of(path)
        async with self._blobs.receive(shared_limits.UPLOAD_BYTES) as incoming:
            with closing(await asyncio.to_thread(folder.open, path, seen)) as reading:
                while piece := await asyncio.to_thread(reading.read, shared_limits.BLOB_CHUNK_BYTES):
                    await incoming.write(piece)
            received = await incoming.finish()
            async with self._texts.parsed(self._reader.workspace_id, _name(path), kind, received) as file:
                await keep(file)


class Wish(msgspec.Struct, frozen=True):
    """How a folder is to be taken in."""

    collection: str = DEFAULT_COLLECTION
    """Where the documents of new files lie."""
    removals_confirmed: bool = False
    """Whether documents are removed however many they are."""


class _Comparison:
    def __init__(self, mirror: Mirror, folder: WatchedFolder, look: FolderSnapshot, memory: Memory, wish: Wish) -> None:
        self._mirror = mirror
        self._folder = folder
        self._look = look
        self._memory = memory
        self._wish = wish
        self._unread = mirror.unread(look.now)
        skipped = {**look.now.skipped, **dict.fromkeys(self._unread, MISSING)}
        self._report = MirrorReport(
            folder.address,
            files=len(look.now.files) - len(self._unread),
            skipped=[Left(path, reason) for path, reason in sorted(skipped.items())],
            refused=[Left(path, reason) for path, reason in sorted(look.now.unseen.items())],
        )
        self._documents: dict[str, LibraryUpload] = {}
        self._doubles: list[LibraryUpload] = []
        self._missing: dict[tuple[str, str], list[LibraryUpload]] = {}
        """Documents whose files are not where they were, by identity and type: they may have been renamed."""
        self._to_index: dict[str, str] = {}
        self._away_in_a_row = 0

    async def run(self, tell: Callable[[int, int], None]) -> tuple[MirrorReport, dict[str, str]]:
        self._sort(await self._mirror.documents(self._folder.address))
        self._memory.forget_others(self._look.now)
        self._memory.is_lacking = False
        paths = sorted(self._look.now.files.keys() - self._unread)
        for done, path in enumerate(paths):
            tell(done, len(paths))
            if self._look.stands(path):
                with self._excused(path):
                    await self._file(path, self._look.now.files[path])
            else:
                self._wait_for(path)
        tell(len(paths), len(paths))
        await self._remove()
        self._memory.is_new = False
        return self._report, self._to_index

    def _sort(self, documents: list[LibraryUpload]) -> None:
        for upload in documents:
            path = str(upload.metadata.get(PATH, ""))
            first = self._documents.setdefault(path, upload)
            if first is not upload and (first.sha256, first.filename) == (upload.sha256, upload.filename):
                self._doubles.append(upload)  # two runs at once have made it
            if first is upload and not self._look.now.may_hold(path):
                identity = self._folder.identity_of(upload)
                self._missing.setdefault((identity or "", upload.media_type), []).append(upload)

    @contextmanager
    def _excused(self, path: str) -> Iterator[None]:
        """What is wrong with one file keeps no other from being taken in; what is wrong with all of them does."""
        try:
            yield
            self._away_in_a_row = 0
        except (Changed, NotFound):  # the file is another one by now, or someone has deleted its document
            self._wait_for(path)
        except Unavailable as error:
            self._memory.is_lacking = True
            self._away_in_a_row += 1
            if self._away_in_a_row == limits.FOLDER_TRIES:
                raise
            self._report.refused.append(Left(path, error.message))
        except ServiceError as error:
            reason = _TOO_LARGE if isinstance(error, TooLarge) else error.message
            self._memory.refusals[path] = (self._look.now.files[path].mark, reason)
            self._report.refused.append(Left(path, reason))

    def _wait_for(self, path: str) -> None:
        self._memory.is_lacking = True
        self._report.waiting.append(path)

    async def _file(self, path: str, seen: SeenFile) -> None:
        if seen.size_bytes > shared_limits.UPLOAD_BYTES:
            raise BadRequest(_TOO_LARGE)
        mark, reason = self._memory.refusals.get(path, ("", ""))
        if mark == seen.mark:
            raise BadRequest(reason)
        identity = await self._identity(path, seen)
        present = self._documents.get(path)
        if present is not None and self._folder.identity_of(present) == identity:
            self._report.known += 1
            if self._memory.is_new or present.status == "uploaded":
                self._to_index[present.id] = path
        elif present is not None:
            await self._replace(present, path, seen)
        elif renamed := self._renamed(path, identity):
            await self._mirror.move(renamed, path, self._folder.notes(seen))
            self._report.renamed += 1
            if self._memory.is_new or renamed.status == "uploaded":
                self._to_index[renamed.id] = path
        else:
            await self._add(path, seen)

    async def _identity(self, path: str, seen: SeenFile) -> str:
        mark, identity = self._memory.identities.get(path, ("", ""))
        if mark != seen.mark:
            identity = await asyncio.to_thread(self._folder.identity, path, seen)
            self._memory.identities[path] = (seen.mark, identity)
        return identity

    def _renamed(self, path: str, identity: str) -> LibraryUpload | None:
        """The document of a file that is now at this path."""
        candidates = self._missing.get((identity, kind_of(path).media_type))
        if not candidates:
            return None
        found = next((one for one in candidates if one.filename == _name(path)), candidates[0])
        candidates.remove(found)
        del self._documents[str(found.metadata[PATH])]
        return found

    async def _add(self, path: str, seen: SeenFile) -> None:
        metadata: dict[str, MetadataValue] = {
            FOLDER: self._folder.address,
            PATH: path,
            **self._folder.notes(seen),
        }

        async def keep(file: ParsedFile) -> None:
            doc_id = await self._mirror.add(file, Filing(self._wish.collection, metadata))
            self._to_index[doc_id] = path

        await self._mirror.take_in(self._folder, path, seen, keep)
        self._report.uploaded += 1

    async def _replace(self, upload: LibraryUpload, path: str, seen: SeenFile) -> None:
        async def keep(file: ParsedFile) -> None:
            await self._mirror.replace(upload, file, self._folder.notes(seen))
            self._to_index[upload.id] = path

        await self._mirror.take_in(self._folder, path, seen, keep)
        self._report.replaced += 1

    async def _remove(self) -> None:
        """Removes the documents of files that are gone. A folder that lost all or most of them may be one that is not
        mounted: there, they are removed only if someone says so."""
        gone = [upload for path, upload in self._documents.items() if self._look.is_gone(path)]
        many = len(gone) > limits.FOLDER_REMOVALS and 2 * len(gone) > len(self._documents)
        if gone and (many or not self._report.files) and not self._wish.removals_confirmed:
            self._report.kept, gone = len(gone), []
        for upload in (*gone, *self._doubles):
            await self._mirror.remove(upload)
        self._report.removed = len(gone)


def _name(path: str) -> str:
    return path.rpartition("/")[2]

"""A workspace whose documents are made, replaced and deleted straight in the database, as the library does it."""

import hashlib
from datetime import datetime
from pathlib import Path

from deedbox.accounts import store as accounts
from deedbox.kernel.clock import instant
from deedbox.kernel.db import Database, Tx
from deedbox.kernel.ids import new_id
from deedbox.kernel.settings import Settings
from deedbox.search import extract, limits
from deedbox.search.chunks import store as chunk_store
from deedbox.search.engine import SearchEngine
from deedbox.search.extract import md
from deedbox.search.index import Index
from deedbox.search.indexing.embedders import Embedders
from deedbox.search.library import library, store
from deedbox.search.library.library import TextCache
from deedbox.search.library.reader import SearchReader
from deedbox.search.library.upload import Extraction, LibraryUpload
from deedbox.search.query import best_passages as query
from tests.conftest import HandClock
from tests.kinds import kinds
from tests.search.hashing import HashingEmbedder


class Corpus:
    def __init__(self, db: Database, clock: HandClock, folder: Path, embedder: HashingEmbedder | None = None) -> None:
        self.db = db
        self.clock = clock
        self.folder = folder
        self.blobs = kinds.blobs(folder)
        self.embedder = embedder or HashingEmbedder()
        self.installed: dict[str, HashingEmbedder] = {}
        """Models of the past that are still there, by their recipes."""
        self.engine = self.opened()
        self.workspace = "wsp_one"

    def opened(self) -> SearchEngine:
        """Another engine over the same folder and database: what the next start would be."""
        models = Embedders(lambda: self.embedder, self.installed.get)
        return SearchEngine(self.db, self.clock, Settings(data_dir=self.folder), models)

    async def settle(self, workspace: str = "wsp_one") -> None:
        now = instant(self.clock.now())
        await self.db.write(lambda tx: accounts.add_workspace(tx, workspace, workspace, now))

    async def add(self, text: str, workspace: str = "") -> str:
        """An uploaded document with this text."""
        upload = new_upload(workspace or self.workspace, text, self.clock.now())

        await self.db.write(lambda tx: store.add_upload(tx, upload))
        await self.keep(upload, text)
        return upload.id

    async def keep(self, upload: LibraryUpload, text: str) -> None:
        """Gives the upload this text, as if it had been read from its file."""
        now = self.clock.now()
        async with self.blobs.receive(limits.PACKED_TEXT_BYTES) as incoming:
            for piece in extract.pack_pieces(Extraction(text, None, list(md.headings(text)))):
                await incoming.write(piece)
            read = library.Parsed(len(text), None, await incoming.finish())
            await self.db.write(lambda tx: library.keep_again(tx, upload, read, None, now=now))

    def texts(self) -> TextCache:
        return TextCache(self.db, self.blobs, self.engine.extractor, self.clock, self.engine.pages)

    async def index(self, upload_id: str, workspace: str = "") -> None:
        """What an index run writes for one document, in one transaction."""
        workspace = workspace or self.workspace
        upload = await self.upload(upload_id, workspace)
        chunks = await self.embedder.split(await self.texts().text(upload))
        vectors = await self.embedder.embed([chunk.text for chunk in chunks], urgent=False)
        made = [(chunk, vector.tobytes()) for chunk, vector in zip(chunks, vectors, strict=True)]
        now, recipe = self.clock.now(), self.embedder.recipe

        def save(tx: Tx) -> None:
            kept = chunk_store.kept_set(tx, new_id("set", now), upload, recipe, made, instant(now))
            assert kept is not None
            if chunk_store.serving_recipe(tx, workspace) is None:
                chunk_store.serve(tx, workspace, recipe)
            store.change_upload(tx, upload_id, {}, {"status": "indexed"})
            chunk_store.log_change(tx, workspace, recipe, upload_id, kept[0])

        await self.db.write(save)

    async def indexed(self, text: str, workspace: str = "") -> str:
        upload_id = await self.add(text, workspace)
        await self.index(upload_id, workspace)
        return upload_id

    async def local_index(self, engine: SearchEngine | None = None, workspace: str = "") -> Index:
        """What answers now."""
        asked, place = engine or self.engine, workspace or self.workspace
        return await asked.index(place, await asked.serving(place))

    async def delete(self, upload_id: str, workspace: str = "") -> None:
        now = self.clock.now()
        await self.db.write(lambda tx: library.remove(tx, self.reader(workspace), upload_id, now=now))

    def reader(self, workspace: str = "") -> SearchReader:
        return SearchReader(workspace or self.workspace, documents=True)

    async def upload(self, upload_id: str, workspace: str = "") -> LibraryUpload:
        found = await self.db.read(lambda tx: store.upload(tx, workspace or self.workspace, upload_id))
        assert found is not None
        return found

    async def words(self, text: str, engine: SearchEngine | None = None, workspace: str = "") -> list[str]:
        """The texts that hold the words, best first."""
        question = query.Question(text, top_k=1000, mode="keyword")
        found = await query.answer(engine or self.engine, self.reader(workspace), question)
        return [passage.chunk.text for passage in found]


def new_upload(workspace: str, text: str, now: datetime) -> LibraryUpload:
    content = text.encode()
    return LibraryUpload(
        id=new_id("upl", now),
        workspace_id=workspace,
        filename="a.txt",
        media_type="text/plain",
        size_bytes=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
        text_length=len(text),
        pages=None,
        status="uploaded",
        status_before=None,
        error=None,
        revision=1,
        created_at=instant(now),
        indexed_at=None,
    )

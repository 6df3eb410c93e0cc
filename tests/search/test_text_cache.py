"""The text of a document: kept beside its file, and read from it again when it is missing."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from deedbox.accounts import store as accounts
from deedbox.kernel.blobs import ReceivedBlob
from deedbox.kernel.blobs import store as blobs_store
from deedbox.kernel.clock import instant
from deedbox.kernel.db import Database, Tx
from deedbox.kernel.errors import BadRequest, NotFound
from deedbox.kernel.sandbox import Stream
from deedbox.search.extract import Damaged, Extractor, Packed
from deedbox.search.extract.kinds import KINDS
from deedbox.search.library import library
from deedbox.search.library.library import TextCache
from deedbox.search.library.reader import SearchReader
from deedbox.search.library.upload import Extraction, LibraryUpload
from deedbox.search.ocr.page_reader import PageReader
from tests.conftest import HandClock
from tests.kinds import kinds

pytestmark = pytest.mark.anyio

WORDS = b"The tenant pays the rent."
TEXT = Extraction(WORDS.decode(), None, [])


class Counting(Extractor):
    """Knows how many files it was to read."""

    parsed = 0

    async def pack(self, data: bytes | Stream, kind: str, write: Callable[[bytes], Awaitable[None]]) -> Packed:
        self.parsed += 1
        return await super().pack(data, kind, write)


class House:
    """A workspace with documents."""

    def __init__(self, db: Database, clock: HandClock, folder: Path) -> None:
        self.db, self.clock = db, clock
        self.folder = folder
        self.blobs = kinds.blobs(folder)
        self.extractor = Counting(processes=1)
        self.texts = TextCache(db, self.blobs, self.extractor, clock, PageReader(folder / "models"))

    async def settle(self) -> None:
        now = instant(self.clock.now())
        await self.db.write(lambda tx: accounts.add_workspace(tx, "wsp_one", "One", now))

    async def add(self, data: bytes = WORDS, kind: str = "txt", workspace: str = "wsp_one") -> LibraryUpload:
        async with self.blobs.receive(1_000_000) as incoming:
            await incoming.write(data)
            received: ReceivedBlob = await incoming.finish()
            async with self.texts.parsed(workspace, f"a.{kind}", KINDS[kind], received) as file:
                now = self.clock.now()
                return await self.db.write(lambda tx: library.add(tx, workspace, file, now=now))

    async def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return await self.db.read(lambda tx: tx.all(sql))

    async def forget_texts(self) -> None:
        """As if no text had ever been kept."""
        now = self.clock.now()

        def forget(tx: Tx) -> None:
            for text, owner in tx.all("select sha256, owner from blob_refs where owner like 'text:%'"):
                blobs_store.release(tx, text, owner, now)
            tx.run("delete from extractions")

        await self.db.write(forget)

    async def streamed(self, upload: LibraryUpload) -> bytes:
        size, pieces = await self.texts.stream(upload)
        text = b"".join([piece async for piece in pieces])
        assert len(text) == size
        return text

    def files(self) -> list[str]:
        return kinds.stored(self.folder)

    async def lose(self, *sha256: str) -> None:
        """Takes the files of these blobs from the disk."""
        for name in sha256:
            found = await self.db.read(lambda tx, name=name: blobs_store.find(tx, name))  # type: ignore[misc]
            assert found is not None
            kinds.damage(self.folder, found.location, None)


@pytest.fixture
async def house(db: Database, clock: HandClock, tmp_path: Path) -> AsyncIterator[House]:
    made = House(db, clock, tmp_path)
    await made.settle()
    yield made
    await made.extractor.close()


async def test_a_kept_text_is_found_without_a_look_at_the_file(house: House) -> None:
    upload = await house.add()
    await house.lose(upload.sha256)
    assert await house.texts.text(upload) == TEXT
    assert await house.streamed(upload) == WORDS
    assert house.extractor.parsed == 1


@pytest.mark.parametrize("first", ["text", "streamed"])
async def test_a_missing_text_is_read_again_and_kept(house: House, first: str) -> None:
    upload = await house.add()
    await house.forget_texts()
    found = await (house.texts.text(upload) if first == "text" else house.streamed(upload))
    assert found in (TEXT, WORDS)
    assert (await house.texts.text(upload), await house.streamed(upload)) == (TEXT, WORDS)
    assert house.extractor.parsed == 2
    assert await house.rows("select count(*) from extractions") == [(1,)]


async def test_a_text_whose_file_is_lost_is_read_again_and_kept(house: House) -> None:
    upload = await house.add()
    [(text_sha256,)] = await house.rows("select text_sha256 from extractions")
    await house.lose(text_sha256)
    assert await house.streamed(upload) == WORDS
    assert await house.texts.text(upload) == TEXT
    assert house.extractor.parsed == 2
    await house.blobs.sweep(house.db, house.clock.now())
    assert len(house.files()) == 2
    assert await house.texts.text(upload) == TEXT


async def test_many_who_miss_a_text_at_once_all_get_it_and_one_is_kept(house: House) -> None:
    upload = await house.add()
    await house.forget_texts()
    assert await asyncio.gather(*(house.texts.text(upload) for _ in range(8))) == [TEXT] * 8
    assert await house.rows("select count(*) from extractions") == [(1,)]
    await house.blobs.sweep(house.db, house.clock.now())
    assert len(house.files()) == 2


async def test_without_text_and_file_there_is_nothing(house: House) -> None:
    upload = await house.add()
    now = house.clock.now()
    await house.db.write(lambda tx: library.remove(tx, SearchReader("wsp_one", documents=True), upload.id, now=now))
    with pytest.raises(NotFound):
        await house.texts.text(upload)
    with pytest.raises(NotFound):
        await house.texts.stream(upload)
    await house.blobs.sweep(house.db, house.clock.now())
    assert house.files() == []


async def test_a_document_deleted_while_it_is_read_again_leaves_no_text(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload = await house.add()
    await house.forget_texts()
    pack = house.extractor.pack

    async def deleted_meanwhile(*args: Any) -> Any:
        packed, now = await pack(*args), house.clock.now()
        await house.db.write(lambda tx: library.remove(tx, SearchReader("wsp_one", documents=True), upload.id, now=now))
        return packed

    monkeypatch.setattr(house.extractor, "pack", deleted_meanwhile)
    with pytest.raises(NotFound):
        await house.texts.text(upload)
    assert await house.rows("select count(*) from extractions") == [(0,)]
    await house.blobs.sweep(house.db, house.clock.now())
    assert house.files() == []


async def test_a_text_that_the_workspace_lost_is_read_at_the_next_upload_of_the_same_bytes(house: House) -> None:
    first = await house.add()
    await house.forget_texts()
    second = await house.add()
    assert house.extractor.parsed == 2
    assert [await house.texts.text(upload) for upload in (first, second)] == [TEXT, TEXT]
    assert house.extractor.parsed == 2


async def test_a_text_that_is_damaged_is_not_given(house: House) -> None:
    upload = await house.add()
    [(text_sha256,)] = await house.rows("select text_sha256 from extractions")
    blob = await house.db.read(lambda tx: blobs_store.find(tx, text_sha256))
    assert blob is not None
    kinds.damage(house.folder, blob.location, b"something else")
    with pytest.raises(Damaged):
        await house.texts.text(upload)
    with pytest.raises(Damaged):
        await house.texts.stream(upload)


async def test_a_picture_is_refused_with_the_command_where_nothing_reads_it(house: House) -> None:
    with pytest.raises(BadRequest, match=r"deedbox model install ocr$"):
        await house.add(b"\x89PNG\r\n\x1a\n", "png")
    assert await house.rows("select count(*) from uploads") == [(0,)]

"""The index of a workspace is what the database says, whenever it is asked and whatever happened before."""

import asyncio
import random
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from deedbox.kernel import jobs
from deedbox.kernel.db import Database
from deedbox.kernel.errors import BadRequest, Code, Unavailable
from deedbox.search import store
from deedbox.search.engine import REBUILD_JOB, SearchEngine
from deedbox.search.index import Index
from tests.conftest import HandClock
from tests.search.corpus import Corpus
from tests.search.hashing import DIMENSIONS, HashingEmbedder

pytestmark = pytest.mark.anyio


@pytest.fixture
async def corpus(db: Database, clock: HandClock, tmp_path: Path) -> AsyncIterator[Corpus]:
    made = Corpus(db, clock, tmp_path)
    await made.settle()
    yield made
    await made.engine.close()


def folders(corpus: Corpus) -> list[Path]:
    return sorted((corpus.folder / "index" / corpus.workspace).iterdir())


async def contents(engine: SearchEngine, workspace: str) -> list[tuple[str, int]]:
    """Every chunk that the index holds, as its vectors know them."""
    index = await engine.index(workspace)
    vector = (await HashingEmbedder().embed(["anything"], urgent=True))[0]
    return sorted((hit.upload_id, hit.number) for hit in index.near(vector, 100_000))


async def expected(corpus: Corpus) -> list[tuple[str, int]]:
    rows = await corpus.db.read(
        lambda tx: tx.all(
            "select u.id, c.number from uploads u join chunks c on c.chunk_set_id = u.chunk_set_id"
            " where u.workspace_id = :id",
            id=corpus.workspace,
        )
    )
    return sorted((row[0], row[1]) for row in rows)


async def test_an_empty_workspace_has_an_empty_index(corpus: Corpus) -> None:
    index = await corpus.engine.index(corpus.workspace)
    assert (index.size, index.watermark) == (0, 0)
    with pytest.raises(BadRequest, match="No documents indexed"):
        await corpus.words("rent")


async def test_every_change_is_in_the_index_when_it_is_next_asked(corpus: Corpus) -> None:
    first = await corpus.indexed("one rent\n\ntwo rent")
    assert len(await corpus.words("rent")) == 2
    second = await corpus.indexed("three rent")
    assert len(await corpus.words("rent")) == 3
    await corpus.delete(first)
    assert await corpus.words("rent") == ["three rent"]
    assert await contents(corpus.engine, corpus.workspace) == [(second, 0)]


async def test_the_index_is_only_read_while_nothing_changes(corpus: Corpus) -> None:
    await corpus.indexed("one rent")
    index = await corpus.engine.index(corpus.workspace)
    applied = []
    index.apply = lambda *_: applied.append(1)  # type: ignore[method-assign]
    for _ in range(3):
        assert await corpus.engine.index(corpus.workspace) is index
    assert applied == []


async def test_many_who_ask_at_once_have_it_brought_up_once(corpus: Corpus) -> None:
    for number in range(50):
        await corpus.indexed(f"rent {number}")
    found = await asyncio.gather(*(corpus.words("rent") for _ in range(10)))
    assert [len(texts) for texts in found] == [50] * 10


async def test_a_later_start_goes_on_from_the_folder(corpus: Corpus) -> None:
    await corpus.indexed("one rent")
    assert len(await corpus.words("rent")) == 1
    await corpus.engine.close()
    await corpus.indexed("two rent")
    corpus.engine = corpus.opened()
    assert len(await corpus.words("rent")) == 2


async def test_a_lost_or_broken_folder_is_made_anew(corpus: Corpus) -> None:
    await corpus.indexed("one rent")
    await corpus.indexed("two rent")
    for harm in (shutil.rmtree, _spoil, _cut):
        await corpus.words("rent")
        await corpus.engine.close()
        harm(folders(corpus)[0])
        corpus.engine = corpus.opened()
        assert sorted(await corpus.words("rent")) == ["one rent", "two rent"]
        assert await contents(corpus.engine, corpus.workspace) == await expected(corpus)


def _spoil(folder: Path) -> None:
    for file in folder.rglob("*"):
        if file.is_file():
            file.write_bytes(b"nonsense")


def _cut(folder: Path) -> None:
    for file in folder.rglob("*"):
        if file.is_file():
            file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


async def test_an_index_that_is_ahead_of_the_database_is_made_anew(corpus: Corpus) -> None:
    """A restored backup is older than the folder."""
    doc_id = await corpus.indexed("one rent")
    index = await corpus.engine.index(corpus.workspace)
    index.apply(iter([]), index.watermark + 5)
    assert await corpus.words("rent") == ["one rent"]
    assert (await corpus.engine.index(corpus.workspace)).watermark == 1
    assert doc_id


async def test_a_change_of_mind_while_it_catches_up_is_not_lost(corpus: Corpus) -> None:
    """Documents change again between two looks at the log."""
    chance = random.Random(3)
    alive = [await corpus.indexed(f"rent {number}") for number in range(20)]

    async def churn() -> None:
        for number in range(30):
            await corpus.delete(alive.pop(chance.randrange(len(alive))))
            alive.append(await corpus.indexed(f"rent again {number}"))

    async def ask() -> None:
        for _ in range(15):
            assert all("rent" in text for text in await corpus.words("rent"))

    await asyncio.gather(churn(), ask(), ask())
    assert await contents(corpus.engine, corpus.workspace) == await expected(corpus)


async def test_a_workspace_has_a_folder_and_an_index_of_its_own(corpus: Corpus) -> None:
    await corpus.settle("wsp_two")
    await corpus.indexed("mine rent")
    await corpus.indexed("theirs rent", "wsp_two")
    assert await corpus.words("rent") == ["mine rent"]
    assert await corpus.words("rent", workspace="wsp_two") == ["theirs rent"]
    assert {folder.name for folder in (corpus.folder / "index").iterdir()} == {"wsp_one", "wsp_two"}
    assert await corpus.engine.index_bytes("wsp_one") > 0
    assert await corpus.engine.index_bytes("wsp_three") == 0


async def test_what_another_model_made_is_found_by_its_words_until_it_is_made_anew(corpus: Corpus) -> None:
    await corpus.indexed("old rent")
    await corpus.words("rent")
    await corpus.engine.close()
    corpus.embedder = HashingEmbedder("other")
    corpus.engine = corpus.opened()
    new = await corpus.indexed("new rent")
    assert sorted(await corpus.words("rent")) == ["new rent", "old rent"]
    index: Index = await corpus.engine.index(corpus.workspace)
    best = index.near((await corpus.embedder.embed(["new rent"], urgent=True))[0], 2)
    assert best[0].upload_id == new
    assert len(folders(corpus)) == 1, "the old model's index is gone"


async def test_documents_of_another_model_are_planned_to_be_made_anew(corpus: Corpus) -> None:
    await corpus.indexed("old rent")
    await corpus.engine.renew()
    assert await corpus.db.read(jobs.counts) == {}
    corpus.embedder = HashingEmbedder("other")
    await corpus.engine.close()
    corpus.engine = corpus.opened()
    for _ in range(2):
        await corpus.engine.renew()
    assert await corpus.db.read(jobs.counts) == {"ready": 1}


async def test_a_crash_leaves_no_document_in_the_middle(corpus: Corpus) -> None:
    new, old = await corpus.add("one rent"), await corpus.indexed("two rent")
    for doc_id, before in ((new, "uploaded"), (old, "indexed")):
        changes = {"status": "indexing", "status_before": before}
        await corpus.db.write(lambda tx, doc_id=doc_id, changes=changes: store.change_upload(tx, doc_id, {}, changes))  # type: ignore[misc]
    await corpus.engine.recover()
    uploads = [await corpus.upload(doc_id) for doc_id in (new, old)]
    assert [(upload.status, upload.status_before) for upload in uploads] == [("uploaded", None), ("indexed", None)]


async def test_a_rebuild_job_makes_the_index_anew(corpus: Corpus) -> None:
    await corpus.indexed("one rent")
    before = await corpus.engine.index(corpus.workspace)
    now = corpus.clock.now()
    await corpus.db.write(lambda tx: jobs.enqueue(tx, REBUILD_JOB, {}, now=now, workspace_id=corpus.workspace))
    runner = jobs.Runner(corpus.db, corpus.clock, {REBUILD_JOB: corpus.engine.rebuild}, concurrency=1, worker="one")
    assert await runner.run_due() == 1
    assert await corpus.engine.index(corpus.workspace) is not before
    assert await corpus.words("rent") == ["one rent"]


async def test_a_model_installed_later_is_found(corpus: Corpus) -> None:
    installed: list[HashingEmbedder] = []
    corpus.engine.open_embedder = lambda: installed[0] if installed else None
    assert (corpus.engine.embedder, corpus.engine.recipe) == (None, None)
    with pytest.raises(Unavailable) as missing:
        corpus.engine.need_embedder()
    assert missing.value.code is Code.MODEL_MISSING
    installed.append(corpus.embedder)
    assert corpus.engine.recipe == f"hashing-{DIMENSIONS}"


async def test_closing_closes_the_model_too(corpus: Corpus) -> None:
    await corpus.indexed("one rent")
    await corpus.words("rent")
    await corpus.engine.close()
    assert corpus.embedder.closed

"""The index of a workspace is what the database says, whenever it is asked and whatever happened before."""

import asyncio
import random
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from deedbox.kernel import jobs
from deedbox.kernel.db import Database
from deedbox.kernel.errors import BadRequest
from deedbox.search import limits
from deedbox.search.engine import REBUILD_JOB, SearchEngine
from deedbox.search.indexing.recover import recover
from deedbox.search.library import store
from tests.conftest import HandClock
from tests.search.corpus import Corpus
from tests.search.hashing import HashingEmbedder

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
    index = await engine.index(workspace, await engine.serving(workspace))
    vector = (await HashingEmbedder().embed(["anything"], urgent=True))[0]
    return sorted((hit.upload_id, hit.number) for hit in index.near(vector, 100_000))


async def expected(corpus: Corpus) -> list[tuple[str, int]]:
    rows = await corpus.db.read(
        lambda tx: tx.all(
            "select l.upload_id, c.number from index_log l join chunks c on c.chunk_set_id = l.chunk_set_id"
            " where l.workspace_id = :id",
            id=corpus.workspace,
        )
    )
    return sorted((row[0], row[1]) for row in rows)


async def test_an_empty_workspace_has_an_empty_index(corpus: Corpus) -> None:
    index = await corpus.local_index()
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
    index = await corpus.local_index()
    applied = []
    index.apply = lambda *_: applied.append(1)  # type: ignore[method-assign]
    for _ in range(3):
        assert await corpus.local_index() is index
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
    index = await corpus.local_index()
    index.apply(iter([]), index.watermark + 5)
    assert await corpus.words("rent") == ["one rent"]
    assert (await corpus.local_index()).watermark == 1
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


async def test_a_crash_leaves_no_document_in_the_middle(corpus: Corpus) -> None:
    new, old = await corpus.add("one rent"), await corpus.indexed("two rent")
    for doc_id, before in ((new, "uploaded"), (old, "indexed")):
        changes = {"status": "indexing", "status_before": before}
        await corpus.db.write(lambda tx, doc_id=doc_id, changes=changes: store.change_upload(tx, doc_id, {}, changes))  # type: ignore[misc]
    await recover(corpus.engine, alone=True)
    uploads = [await corpus.upload(doc_id) for doc_id in (new, old)]
    assert [(upload.status, upload.status_before) for upload in uploads] == [("uploaded", None), ("indexed", None)]


async def test_a_rebuild_job_makes_the_index_anew(corpus: Corpus) -> None:
    await corpus.indexed("one rent")
    before = await corpus.local_index()
    now = corpus.clock.now()
    await corpus.db.write(lambda tx: jobs.enqueue(tx, jobs.NewJob(REBUILD_JOB, workspace_id=corpus.workspace), now=now))
    runner = jobs.Runner(corpus.db, corpus.clock, {REBUILD_JOB: corpus.engine.rebuild}, concurrency=1, worker="one")
    assert await runner.run_due() == 1
    assert await corpus.local_index() is not before
    assert await corpus.words("rent") == ["one rent"]


async def test_only_so_many_indexes_stay_open_and_the_others_answer_too(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "OPEN_INDEXES", 2)
    places = [f"wsp_{number}" for number in range(5)]
    for place in places:
        await corpus.settle(place)
        await corpus.indexed(f"rent of {place}", place)
    for place in [*places, *reversed(places)]:
        assert await corpus.words("rent", workspace=place) == [f"rent of {place}"]
    found = await asyncio.gather(*(corpus.words("rent", workspace=place) for place in places * 3))
    assert found == [[f"rent of {place}"] for place in places * 3]


async def test_the_model_is_loaded_early_only_where_there_is_something_to_ask(corpus: Corpus) -> None:
    await corpus.engine.warm()
    assert not corpus.embedder.warmed
    await corpus.indexed("one rent")
    await corpus.engine.warm()
    assert corpus.embedder.warmed


async def test_closing_closes_the_model_too(corpus: Corpus) -> None:
    await corpus.indexed("one rent")
    await corpus.words("rent")
    await corpus.engine.close()
    assert corpus.embedder.closed

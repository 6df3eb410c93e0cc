"""Several processes on one data folder: one writes the index of a workspace, and every one of them answers with
everything that is in the database."""

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from deedbox.kernel import jobs, tasks
from deedbox.kernel.db import Database
from deedbox.kernel.errors import Unavailable
from deedbox.search import limits
from deedbox.search.engine import REBUILD_JOB, SearchEngine
from deedbox.search.index import Index
from deedbox.search.indexing.workspace_index import INDEX_WANTED
from tests.conftest import HandClock
from tests.search.corpus import Corpus

pytestmark = pytest.mark.anyio


class Servers:
    """Engines over one folder and one database, as several servers have them."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.engines = [corpus.engine, corpus.opened(), corpus.opened()]

    async def index(self, number: int) -> Index:
        return await self.corpus.local_index(self.engines[number])

    async def writers(self) -> list[int]:
        return [number for number in range(len(self.engines)) if (await self.index(number)).writes]

    async def answers(self, text: str) -> list[str]:
        """What all of them answer."""
        found = await asyncio.gather(*(self.corpus.words(text, engine) for engine in self.engines))
        assert found[1:] == found[:-1]
        return found[0]

    async def stop(self, number: int) -> None:
        await self.engines.pop(number).close()


@pytest.fixture
async def servers(db: Database, clock: HandClock, tmp_path: Path) -> AsyncIterator[Servers]:
    made = Servers(Corpus(db, clock, tmp_path))
    await made.corpus.settle()
    yield made
    for engine in made.engines:
        await engine.close()


async def test_every_server_answers_with_every_change_and_one_writes(servers: Servers) -> None:
    corpus, chance, alive = servers.corpus, random.Random(1), dict[str, str]()
    for number in range(12):
        text = f"rent {number}"
        alive[await corpus.indexed(text)] = text
        if number % 3 == 2:
            gone = chance.choice(sorted(alive))
            await corpus.delete(gone)
            del alive[gone]
        asked = chance.choice(servers.engines)
        assert sorted(await corpus.words("rent", asked)) == sorted(alive.values())
    assert sorted(await servers.answers("rent")) == sorted(alive.values())
    assert len(await servers.writers()) == 1


async def test_another_writes_when_the_writer_has_stopped(servers: Servers) -> None:
    await servers.corpus.indexed("rent one")
    await servers.answers("rent")
    for known in (2, 3):
        [writer] = await servers.writers()
        await servers.stop(writer)
        await servers.corpus.indexed(f"rent {known}")
        assert len(await servers.answers("rent")) == known
    assert await servers.writers() == [0]


async def test_a_writer_that_rests_leaves_the_index_to_others(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "OPEN_INDEXES", 1)
    corpus = servers.corpus
    await corpus.indexed("rent one")
    assert (await servers.index(0)).writes
    await corpus.settle("wsp_two")
    await corpus.local_index(servers.engines[0], "wsp_two")
    await corpus.indexed("rent two")
    assert len(await corpus.words("rent", servers.engines[1])) == 2
    assert (await servers.index(1)).writes


async def test_an_index_is_built_anew_whoever_is_asked_for_it(servers: Servers, clock: HandClock) -> None:
    await servers.corpus.indexed("rent one")
    before = await servers.answers("rent")
    [writer] = await servers.writers()
    identity = (await servers.index(writer)).identity
    asked = (writer + 1) % 3
    job = jobs.NewJob(REBUILD_JOB, workspace_id=servers.corpus.workspace, payload={})
    await rebuild(servers.engines[asked], job, clock)
    assert (await servers.index(asked)).identity == (await servers.index(writer)).identity != identity
    assert await servers.answers("rent") == before
    assert len(await servers.writers()) == 1


async def rebuild(engine: SearchEngine, job: jobs.NewJob, clock: HandClock) -> None:
    """Does the job on this engine."""
    await engine.db.write(lambda tx: jobs.enqueue(tx, job, now=clock.now()))
    runner = jobs.Runner(engine.db, clock, {REBUILD_JOB: engine.rebuild}, concurrency=1, worker="one")
    assert await runner.run_due() == 1


async def test_what_a_reader_cannot_read_the_writer_begins_anew(servers: Servers) -> None:
    corpus = servers.corpus
    await corpus.indexed("rent one")
    writer = await servers.index(0)
    before = writer.identity
    [folder] = (corpus.folder / "index" / corpus.workspace).iterdir()
    (folder / "rows.0").write_bytes(bytes((folder / "rows.0").stat().st_size))
    assert await corpus.words("rent", servers.engines[1]) == ["rent one"]
    assert await servers.answers("rent") == ["rent one"]
    assert (await servers.index(0)).identity == (await servers.index(1)).identity != before
    assert len(await servers.writers()) == 1


async def test_an_index_out_of_service_goes_whoever_writes_it(servers: Servers) -> None:
    corpus = servers.corpus
    await corpus.indexed("rent one")
    await servers.answers("rent")
    [writer] = await servers.writers()
    folder = corpus.folder / "index" / corpus.workspace
    await servers.engines[(writer + 1) % 3].drop_index(corpus.workspace, corpus.embedder.recipe)
    while list(folder.iterdir()):
        await asyncio.sleep(0.01)
    assert await servers.answers("rent") == ["rent one"]


async def test_a_writer_that_hears_nothing_looks_for_itself(
    servers: Servers, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "INDEX_FOLLOW_SECONDS", 0.02)
    await servers.corpus.indexed("rent one")
    await servers.answers("rent")
    for listener in db.listeners.of(INDEX_WANTED):
        db.listeners.remove(INDEX_WANTED, listener)
    following = [tasks.begin(engine.follow_forever(), "it ended") for engine in servers.engines]
    await servers.corpus.indexed("rent two")
    [writer] = await servers.writers()
    assert len(await servers.corpus.words("rent", servers.engines[(writer + 1) % 3])) == 2
    await tasks.end(*following)


async def test_a_writer_that_does_nothing_is_named(
    servers: Servers, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "INDEX_WRITER_LOOKS", 3)
    await servers.corpus.indexed("rent one")
    await servers.index(0)
    for listener in db.listeners.of(INDEX_WANTED):
        db.listeners.remove(INDEX_WANTED, listener)
    await servers.corpus.indexed("rent two")
    with pytest.raises(Unavailable, match="The process that writes the search index does not answer"):
        await servers.corpus.words("rent", servers.engines[1])
    assert len(await servers.corpus.words("rent", servers.engines[0])) == 2
    assert len(await servers.corpus.words("rent", servers.engines[1])) == 2

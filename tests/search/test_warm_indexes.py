"""An index that lacks much is built in the background; whoever asks meanwhile is told so, and nobody else waits."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

import pytest

from deedbox.kernel import tasks
from deedbox.kernel.db import Database
from deedbox.kernel.errors import Unavailable
from deedbox.search import limits
from deedbox.search.engine import SearchEngine
from deedbox.search.index import Index, IndexChange, IndexWarming, Place
from deedbox.search.indexing.builds import Builds
from deedbox.search.indexing.warm_indexes import warm_indexes
from deedbox.search.library import store
from deedbox.search.query import best_passages as query
from deedbox.search.query.best_passages import Question
from tests.conftest import HandClock
from tests.search.corpus import Corpus
from tests.search.gate import Gate

pytestmark = pytest.mark.anyio


class House:
    """A corpus whose indexes are lost with each start, and a gate in the way of their builds."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.gate = Gate()
        self.warming: asyncio.Task[None] | None = None

    async def start(self, *, passing: int = 0) -> SearchEngine:
        """The engine of a new start, whose indexes are being built."""
        await self.corpus.engine.close()
        shutil.rmtree(self.corpus.folder / "index", ignore_errors=True)
        self.gate = Gate(passing)
        self.corpus.engine = self.corpus.opened()
        self.gate.stand_before(self.corpus.engine)
        self.warming = asyncio.create_task(warm_indexes(self.corpus.engine))
        return self.corpus.engine

    async def stop(self) -> None:
        self.gate.open()
        if self.warming is not None:
            await self.warming
        await self.corpus.engine.close()

    async def held(self, builds: int) -> list[str]:
        """The workspaces whose builds are held up, when they are so many."""
        await asyncio.to_thread(self.gate.wait_for, builds)
        return self.gate.came


@pytest.fixture
async def house(
    db: Database, clock: HandClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[House]:
    monkeypatch.setattr(limits, "INDEX_NEAR_CHUNKS", 1)
    monkeypatch.setattr(limits, "INDEX_WAIT_SECONDS", 0.01)
    made = House(Corpus(db, clock, tmp_path))
    await made.corpus.settle()
    yield made
    await made.stop()


async def fill(house: House, *workspaces: str, chunks: int = 4) -> None:
    for place in workspaces:
        await house.corpus.settle(place)
        for number in range(chunks):
            await house.corpus.indexed(f"rent {number} of {place}", place)


async def asked(house: House, workspace: str, day: str, queries: int) -> None:
    await house.corpus.db.write(lambda tx: store.add_query_times(tx, {(workspace, day, 3): queries}))


async def test_a_question_is_told_how_far_the_index_is_and_answered_as_before_when_it_is_built(house: House) -> None:
    for number in range(4):
        await house.corpus.indexed(f"rent {number}")
    await warm_indexes(house.corpus.engine)
    before = await house.corpus.words("rent")
    engine = await house.start(passing=2)
    assert await house.held(1) == ["wsp_one"]
    with pytest.raises(IndexWarming, match="50 %") as told:
        await house.corpus.words("rent")
    assert (told.value.status, told.value.code, told.value.retry_after) == (503, "index_warming", 2)
    assert engine.builds.percent == 50
    house.gate.open()
    assert house.warming is not None
    await house.warming
    assert engine.builds.percent is None
    assert await house.corpus.words("rent") == before
    assert house.gate.came == ["wsp_one"], "it was built once"


async def test_the_workspace_that_was_asked_last_comes_first(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "INDEX_BUILDS", 1)
    await fill(house, "wsp_never", "wsp_long_ago", "wsp_seldom", "wsp_often")
    await asked(house, "wsp_long_ago", "2026-01-01", 900)
    await asked(house, "wsp_often", "2026-02-01", 30)
    await asked(house, "wsp_seldom", "2026-02-01", 2)
    await asked(house, "wsp_seldom", "2026-01-01", 500)
    await house.start()
    await house.held(1)
    house.gate.open()
    assert await house.held(4) == ["wsp_often", "wsp_seldom", "wsp_long_ago", "wsp_never"]


async def test_who_asks_has_the_next_turn(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "INDEX_BUILDS", 1)
    await fill(house, "wsp_a", "wsp_b", "wsp_c")
    await house.start()
    assert await house.held(1) == ["wsp_a"]
    with pytest.raises(IndexWarming, match="0 %"):
        await house.corpus.words("rent", workspace="wsp_c")
    house.gate.open()
    assert await house.held(3) == ["wsp_a", "wsp_c", "wsp_b"]


async def test_so_many_are_built_at_a_time_however_many_are_asked(house: House) -> None:
    places = [f"wsp_{number}" for number in range(5)]
    await fill(house, *places)
    await house.start()
    await house.held(limits.INDEX_BUILDS)
    for place in places:
        with pytest.raises(IndexWarming):
            await house.corpus.words("rent", workspace=place)
    assert sorted(house.gate.came) == places[: limits.INDEX_BUILDS]
    house.gate.open()
    assert house.warming is not None
    await house.warming
    for place in places:
        assert len(await house.corpus.words("rent", workspace=place)) == 4


async def test_workspaces_that_lack_little_answer_while_all_builds_are_held_up(house: House) -> None:
    places = [f"wsp_{number}" for number in range(12)]
    await fill(house, *places)
    await fill(house, "wsp_little", chunks=1)
    await house.start(passing=1)
    await house.held(limits.INDEX_BUILDS)
    for place in places:
        with pytest.raises(IndexWarming):
            await house.corpus.words("rent", workspace=place)
    assert await house.corpus.words("rent", workspace="wsp_little") == ["rent 0 of wsp_little"]
    for number in range(3):
        await house.corpus.indexed(f"another rent {number}", "wsp_little")
        assert len(await house.corpus.words("rent", workspace="wsp_little")) == number + 2


async def test_whoever_builds_it_for_himself_waits_for_it(house: House) -> None:
    await fill(house, "wsp_a")
    engine = await house.start()
    await house.held(1)
    patient = Question("rent", top_k=10, mode="keyword", patient=True)
    answering = asyncio.create_task(query.answer(engine, house.corpus.reader("wsp_a"), patient))
    with pytest.raises(IndexWarming):
        await house.corpus.words("rent", workspace="wsp_a")
    assert not answering.done()
    house.gate.open()
    assert len(await answering) == 4


async def test_a_stop_gives_the_build_up_and_the_next_start_builds_it(house: House) -> None:
    await fill(house, "wsp_a", "wsp_b", "wsp_c")
    engine = await house.start(passing=1)
    await house.held(limits.INDEX_BUILDS)
    with pytest.raises(IndexWarming):
        await house.corpus.words("rent", workspace="wsp_c")
    assert house.warming is not None
    await tasks.end(house.warming)
    house.warming = None
    closing = asyncio.create_task(engine.close())
    while not engine.builds.stopping:
        await asyncio.sleep(0)
    house.gate.open()
    await closing
    later = house.corpus.opened()
    for place in ("wsp_a", "wsp_b", "wsp_c"):
        assert await later.lacks(place, await later.serving(place)) == 4, "nothing of it counts"
    house.corpus.engine = later
    await warm_indexes(later)
    assert len(await house.corpus.words("rent", workspace="wsp_a")) == 4


async def test_an_index_that_lacks_nothing_is_left_alone(house: House) -> None:
    await fill(house, "wsp_a")
    await warm_indexes(house.corpus.engine)
    await house.corpus.engine.close()
    house.corpus.engine = house.corpus.opened()
    house.gate.stand_before(house.corpus.engine)
    await warm_indexes(house.corpus.engine)
    assert (house.gate.came, house.corpus.engine.builds.percent) == ([], None)
    assert len(await house.corpus.words("rent", workspace="wsp_a")) == 4


async def test_an_index_that_another_process_builds_is_waited_for(house: House) -> None:
    await fill(house, "wsp_a")
    await house.start()
    await house.held(1)
    other = house.corpus.opened()
    warming = asyncio.create_task(warm_indexes(other))
    with pytest.raises(IndexWarming):
        await house.corpus.words("rent", other, "wsp_a")
    assert other.builds.percent is not None
    house.gate.open()
    await warming
    assert other.builds.percent is None
    assert len(await house.corpus.words("rent", other, "wsp_a")) == 4
    assert house.gate.came == ["wsp_a"], "it was built once"
    await other.close()


async def test_a_build_that_fails_can_be_tried_again(house: House) -> None:
    await fill(house, "wsp_a")
    full = [True]

    engine = house.corpus.engine
    open_index = engine.indexes.open

    def opened(place: Place, dimensions: int) -> Index:
        index = open_index(place, dimensions)
        take = index.apply

        def apply(changes: Iterable[IndexChange], watermark: int, since: int | None = None) -> None:
            if full:
                full.clear()
                raise Unavailable("The disk is full.")
            take(changes, watermark, since)

        index.apply = apply  # type: ignore[method-assign]
        return index

    engine.indexes.open = opened  # type: ignore[method-assign]
    serving = await engine.serving("wsp_a")
    with pytest.raises(Unavailable, match="The disk is full"):
        await engine.index("wsp_a", serving, patient=True)
    assert engine.builds.percent is None
    assert (await engine.index("wsp_a", serving, patient=True)).size == 4


def test_the_percentage_of_all_builds_does_not_go_back() -> None:
    builds = Builds()
    first, second = builds.expect(("a", "r"), 100), builds.expect(("b", "r"), 300)
    first.done = 100
    assert builds.percent == 25
    builds.end(("a", "r"))
    assert builds.percent == 25
    second.done = 300
    assert builds.percent == 99, "it is still to be written"
    builds.end(("b", "r"))
    assert builds.percent is None

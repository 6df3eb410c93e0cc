"""A change of model: the old vectors answer until the new ones take their place in one step."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from deedbox.kernel import jobs, limits
from deedbox.kernel.db import Database
from deedbox.kernel.errors import BadRequest, Unavailable
from deedbox.search.chunks import store as chunk_store
from deedbox.search.engine import INDEX_JOB
from deedbox.search.indexing import ingest
from deedbox.search.indexing.ingest import Ingest
from deedbox.search.indexing.renewal import FORGET_JOB, RENEW_JOB, Renewal
from deedbox.search.library import library, store
from deedbox.search.query import best_passages as query
from deedbox.search.query.best_passages import Passage, Question
from tests.conftest import HandClock
from tests.search.corpus import Corpus
from tests.search.hashing import HashingEmbedder

if TYPE_CHECKING:
    from deedbox.search.embed import Vectors

pytestmark = pytest.mark.anyio
TEXTS = ("rent of the flat", "colour of the car", "length of the boat", "price of the horse")


class Gate(HashingEmbedder):
    """A model that embeds documents only while it may."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.open = asyncio.Event()
        self.waiting = asyncio.Event()

    async def embed(self, texts: Any, *, urgent: bool, caller: str = "", role: Any = None) -> "Vectors":
        if not urgent:
            self.waiting.set()
            await self.open.wait()
        return await super().embed(texts, urgent=urgent, caller=caller, role=role)


class House:
    """A corpus whose model changes while a server runs."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.db = corpus.db
        self.begin()

    def begin(self) -> None:
        corpus = self.corpus
        corpus.engine = corpus.opened()
        assert corpus.engine.recipe == corpus.embedder.recipe
        texts = corpus.texts()
        self.renewal = Renewal(corpus.engine, texts)
        handlers = {
            INDEX_JOB: Ingest(corpus.engine, texts).run,
            RENEW_JOB: self.renewal.run,
            FORGET_JOB: self.renewal.forget,
        }
        self.runner = jobs.Runner(corpus.db, corpus.clock, handlers, concurrency=4, worker=f"w{id(self)}")

    async def restart(self) -> None:
        await self.corpus.engine.close()
        self.begin()

    async def choose(self, embedder: HashingEmbedder) -> HashingEmbedder:
        """Another model is in use from now on; the server has noticed and planned."""
        self.corpus.embedder = embedder
        assert await self.renewal.look_for_another_model()
        await self.renewal.plan()
        return embedder

    async def settled(self) -> None:
        """Everything planned is done, also what was planned for later."""
        while await self.runner.run_due():
            pass
        self.corpus.clock.forward(limits.QUERY_SECONDS + 1)
        while await self.runner.run_due():
            pass

    async def ask(self, text: str, **named: Any) -> list[Passage]:
        return await query.answer(self.corpus.engine, self.corpus.reader(), Question(text, **named))

    async def best(self, text: str) -> str:
        """What is nearest by its meaning: nonsense, if the question was embedded by another model."""
        return (await self.ask(text, mode="semantic", top_k=1))[0].chunk.text

    async def index(self, *doc_ids: str) -> None:
        engine, reader = self.corpus.engine, self.corpus.reader()
        await self.db.write(lambda tx: ingest.plan(tx, engine, reader, list(doc_ids) or None))

    async def described(self, doc_id: str) -> store.UploadSummary:
        return await self.db.read(lambda tx: library.find(tx, self.corpus.reader(), doc_id))

    async def recipes(self) -> set[str]:
        """Of everything that is stored."""
        rows = await self.db.read(lambda tx: tx.all("select recipe from chunk_sets union select recipe from index_log"))
        return {row[0] for row in rows}

    def folders(self) -> int:
        return len(list((self.corpus.folder / "index" / self.corpus.workspace).iterdir()))

    async def sound(self) -> None:
        """Only what the present model made is stored and answers, and every document is found by its meaning."""
        engine, workspace = self.corpus.engine, self.corpus.workspace
        assert await self.recipes() == {self.corpus.embedder.recipe}
        assert (await engine.serving(workspace)).recipe == self.corpus.embedder.recipe
        index = await self.corpus.local_index()
        assert index.size == await self.db.read(lambda tx: chunk_store.indexed_chunks(tx, workspace))
        assert self.folders() == 1


@pytest.fixture
async def house(db: Database, clock: HandClock, tmp_path: Path) -> AsyncIterator[House]:
    corpus = Corpus(db, clock, tmp_path)
    await corpus.settle()
    made = House(corpus)
    yield made
    await made.corpus.engine.close()


async def test_the_old_vectors_answer_until_the_new_ones_are_complete(house: House) -> None:
    doc_ids = [await house.corpus.indexed(text) for text in TEXTS]
    old = house.corpus.embedder
    assert await house.best("horse") == TEXTS[3]
    new = Gate("new")
    await house.choose(new)
    running = asyncio.create_task(house.settled())
    await new.waiting.wait()
    asked = old.calls
    assert [await house.best(text) for text in TEXTS] == list(TEXTS)
    assert old.calls == asked + len(TEXTS)
    for doc_id in doc_ids:
        described = await house.described(doc_id)
        assert (described.upload.status, described.recipe, described.chunks) == ("indexed", old.recipe, 1)
    new.open.set()
    await running
    asked = old.calls
    assert [await house.best(text) for text in TEXTS] == list(TEXTS)
    assert old.calls == asked
    assert {(await house.described(doc_id)).recipe for doc_id in doc_ids} == {new.recipe}
    assert old.closed
    await house.sound()


async def test_no_query_sees_a_mixture(house: House) -> None:
    for number in range(40):
        await house.corpus.indexed(f"rent number{number}")
    await house.choose(HashingEmbedder("new"))
    seen: set[str] = set()
    done = asyncio.Event()

    async def watch() -> None:
        while not done.is_set():
            for number in (3, 17, 39):
                assert await house.best(f"number{number}") == f"rent number{number}"
            seen.add((await house.corpus.engine.serving(house.corpus.workspace)).recipe)

    async def change() -> None:
        await house.settled()
        done.set()

    await asyncio.gather(watch(), watch(), change())
    assert len(await house.ask("rent", top_k=100, mode="keyword")) == 40
    await house.sound()


async def test_documents_that_come_meanwhile_answer_at_once_and_afterwards(house: House) -> None:
    await house.corpus.indexed(TEXTS[0])
    new = Gate("new")
    await house.choose(new)
    running = asyncio.create_task(house.settled())
    await new.waiting.wait()
    late = await house.corpus.add(TEXTS[1])
    await house.index(late)
    await house.runner.run_due()
    assert await house.best("car") == TEXTS[1]
    new.open.set()
    await running
    assert await house.best("car") == TEXTS[1]
    assert (await house.described(late)).recipe == new.recipe
    await house.sound()


async def test_a_run_that_began_before_the_step_does_not_write_behind_it(house: House) -> None:
    old = Gate("old")
    house.corpus.embedder = old
    await house.restart()
    old.open.set()
    await house.corpus.indexed(TEXTS[0])
    old.open.clear()
    old.waiting.clear()
    late = await house.corpus.add(TEXTS[1])
    await house.index(late)
    running = asyncio.create_task(house.runner.run_due())
    await old.waiting.wait()
    await house.choose(HashingEmbedder("new"))
    await house.runner.run_due()
    assert (await house.corpus.engine.serving(house.corpus.workspace)).recipe == "new-64"
    old.open.set()
    await running
    described = await house.described(late)
    assert (described.upload.status, described.recipe) == ("indexed", "new-64")
    assert await house.best("car") == TEXTS[1]
    await house.settled()
    await house.sound()


async def test_what_is_deleted_meanwhile_is_gone_from_both(house: House) -> None:
    doc_ids = [await house.corpus.indexed(text) for text in TEXTS]
    new = Gate("new")
    await house.choose(new)
    running = asyncio.create_task(house.settled())
    await new.waiting.wait()
    await house.corpus.delete(doc_ids[0])
    assert TEXTS[0] not in [passage.chunk.text for passage in await house.ask("rent of the flat")]
    new.open.set()
    await running
    await house.corpus.delete(doc_ids[1])
    assert sorted(passage.chunk.text for passage in await house.ask("the")) == sorted(TEXTS[2:])
    await house.sound()


async def test_a_restart_in_the_middle_goes_on(house: House) -> None:
    for text in TEXTS:
        await house.corpus.indexed(text)
    house.corpus.installed = {"hashing-64": HashingEmbedder()}
    new = Gate("new")
    await house.choose(new)
    running = asyncio.create_task(house.runner.run_due())
    await new.waiting.wait()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await house.restart()
    assert await house.best("boat") == TEXTS[2]
    new.open.set()
    house.corpus.clock.forward(limits.JOB_LEASE_SECONDS + 1)
    await house.renewal.plan()
    await house.settled()
    assert await house.best("boat") == TEXTS[2]
    await house.sound()


async def test_a_lost_model_leaves_the_words_and_the_new_one_takes_over_at_once(house: House) -> None:
    await house.corpus.indexed(TEXTS[0])
    await house.corpus.engine.close()
    house.corpus.embedder = HashingEmbedder("new")
    house.begin()
    assert [passage.chunk.text for passage in await house.ask("flat")] == [TEXTS[0]]
    late = await house.corpus.add(TEXTS[1])
    await house.index(late)
    await house.runner.run_due()
    assert await house.best("car") == TEXTS[1]
    await house.renewal.plan()
    await house.settled()
    assert await house.best("flat") == TEXTS[0]
    await house.sound()


async def test_two_changes_of_mind_end_with_the_last(house: House) -> None:
    for text in TEXTS:
        await house.corpus.indexed(text)
    second = Gate("second")
    await house.choose(second)
    running = asyncio.create_task(house.runner.run_due())
    await second.waiting.wait()
    await house.choose(HashingEmbedder("third"))
    second.open.set()
    await running
    assert await house.best("boat") == TEXTS[2]
    await house.settled()
    assert await house.best("boat") == TEXTS[2]
    await house.sound()


async def test_a_model_chosen_and_taken_back_leaves_nothing(house: House) -> None:
    for text in TEXTS:
        await house.corpus.indexed(text)
    second = Gate("second")
    await house.choose(second)
    running = asyncio.create_task(house.runner.run_due())
    await second.waiting.wait()
    await house.choose(HashingEmbedder())
    second.open.set()
    await running
    await house.settled()
    assert await house.best("boat") == TEXTS[2]
    await house.sound()


async def test_a_document_that_cannot_be_made_anew_is_found_by_its_words(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    doc_ids = [await house.corpus.indexed(text) for text in TEXTS]
    new = HashingEmbedder("new")
    usual = new.split

    async def split(extraction: Any) -> Any:
        if extraction.text == TEXTS[1]:
            raise BadRequest("it is too strange")
        return await usual(extraction)

    with monkeypatch.context() as patch:
        patch.setattr(new, "split", split)
        await house.choose(new)
        await house.settled()
    assert (await house.ask("car", mode="keyword"))[0].chunk.text == TEXTS[1]
    described = await house.described(doc_ids[1])
    assert (described.upload.status, described.recipe) == ("indexed", "hashing-64")
    assert await house.best("horse") == TEXTS[3]
    await house.renewal.plan()  # as at the next start
    await house.settled()
    assert await house.best("car") == TEXTS[1]
    await house.sound()


async def test_a_replaced_document_answers_with_its_old_text_until_it_is_indexed(house: House) -> None:
    doc_id = await house.corpus.indexed(TEXTS[0])
    await house.corpus.indexed(TEXTS[1])
    await house.db.write(
        lambda tx: store.change_upload(tx, doc_id, {}, {"status": "uploaded", "sha256": "0" * 64, "revision": 2})
    )
    await house.choose(HashingEmbedder("new"))
    await house.settled()
    assert (await house.ask("flat", mode="keyword"))[0].chunk.text == TEXTS[0]
    assert (await house.described(doc_id)).upload.status == "uploaded"


async def test_a_model_that_fails_is_tried_again_and_the_old_one_goes_on(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    for text in TEXTS:
        await house.corpus.indexed(text)
    new = HashingEmbedder("new")

    async def fails(*_: Any, **__: Any) -> Any:
        raise Unavailable("the endpoint is away")

    with monkeypatch.context() as patch:
        patch.setattr(new, "embed", fails)
        await house.choose(new)
        await house.runner.run_due()
        assert await house.best("boat") == TEXTS[2]
    house.corpus.clock.forward(60)
    await house.settled()
    assert await house.best("boat") == TEXTS[2]
    await house.sound()


async def test_an_empty_workspace_has_nothing_to_renew(house: House) -> None:
    await house.choose(HashingEmbedder("new"))
    assert set((await house.db.read(jobs.counts)).values()) == {1}, "only the old model is to be forgotten"
    await house.settled()
    with pytest.raises(BadRequest, match="No documents indexed"):
        await house.ask("rent")

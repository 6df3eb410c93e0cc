"""Indexes in PostgreSQL, from the document's transaction to the answer: what one server has written, every server's
next question finds, and nothing lies on a server's own disk."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psycopg
import pytest

from deedbox.kernel import jobs, limits, settings
from deedbox.kernel.backup.tables import MADE_AGAIN, snapshot
from deedbox.kernel.crypto import Secret
from deedbox.kernel.db import Tx
from deedbox.kernel.db.postgres import PostgresDatabase
from deedbox.kernel.errors import SetupError
from deedbox.kernel.settings import Settings
from deedbox.search import limits as search_limits
from deedbox.search.chunks import store as chunk_store
from deedbox.search.chunks.store import LOGGED
from deedbox.search.engine import REBUILD_JOB, SearchEngine
from deedbox.search.index import ANALYSIS, IndexChange
from deedbox.search.index.local import LocalIndex
from deedbox.search.index.postgres.index import PostgresIndex
from deedbox.search.index.postgres.store import indexes as index_rows
from deedbox.search.index.postgres.store import tables
from deedbox.search.indexing.embedders import Embedders
from deedbox.search.indexing.entries import entries
from deedbox.search.indexing.ingest import Ingest
from deedbox.search.indexing.renewal import FORGET_JOB, RENEW_JOB, Renewal
from deedbox.search.query import best_passages as query
from deedbox.search.query.best_passages import Question
from tests.conftest import HandClock
from tests.search.corpus import Corpus
from tests.search.hashing import HashingEmbedder
from tests.search.index.on_postgres import need_pgvector
from tests.search.test_wording import answer_by_signs, answer_by_words

pytestmark = pytest.mark.anyio
TEXTS = ("rent of the flat\n\nlength of the flat", "colour of the car", "price of the horse")


class PostgresCorpus(Corpus):
    """A corpus whose engines keep their indexes in the database."""

    url = ""

    def opened(self) -> SearchEngine:
        models = Embedders(lambda: self.embedder, self.installed.get)
        chosen = Settings(data_dir=self.folder, database_url=Secret(self.url), index="postgres")
        return SearchEngine(self.db, self.clock, chosen, models)


@asynccontextmanager
async def made(url: str, clock: HandClock, folder: Path) -> AsyncIterator[PostgresCorpus]:
    folder.mkdir(exist_ok=True)
    db = PostgresDatabase(url)
    kind = type("Here", (PostgresCorpus,), {"url": url})
    corpus = kind(db, clock, folder)
    try:
        yield corpus
    finally:
        await corpus.engine.close()
        await db.close()


@pytest.fixture
async def corpus(postgres_url: str, clock: HandClock, tmp_path: Path) -> AsyncIterator[PostgresCorpus]:
    need_pgvector(postgres_url)
    async with made(postgres_url, clock, tmp_path) as one:
        await one.settle()
        yield one


@pytest.fixture
def no_builds(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What is applied by a question instead of the document's transaction."""
    applied: list[object] = []
    apply = PostgresIndex.apply

    def noted(self: PostgresIndex, *args: object) -> None:
        applied.append(args)
        apply(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(PostgresIndex, "apply", noted)
    return applied


async def ask(
    corpus: Corpus, text: str, engine: SearchEngine | None = None, **named: object
) -> list[tuple[str, float]]:
    question = Question(text, **named)  # type: ignore[arg-type]
    found = await query.answer(engine or corpus.engine, corpus.reader(), question)
    return [(passage.chunk.text, passage.score) for passage in found]


async def test_a_document_is_found_by_the_next_question_on_any_server_and_gone_with_its_deletion(
    corpus: PostgresCorpus, clock: HandClock, tmp_path: Path, no_builds: list[object]
) -> None:
    async with made(corpus.url, clock, tmp_path / "other") as other:
        first = [await corpus.indexed(text) for text in TEXTS]
        assert sorted(await other.words("flat")) == ["length of the flat", "rent of the flat"]
        assert (await ask(other, "colour car"))[0][0] == "colour of the car"
        await other.delete(first[0])
        for here in (corpus, other):
            assert len(await ask(here, "the price of the flat", top_k=50)) == 2
            assert await here.words("flat") == []
        second = await other.indexed("a flat again")
        assert await corpus.words("flat") == ["a flat again"]
        assert second not in first
    # All of it was in the documents' own transactions, and nothing on the servers' disks.
    assert no_builds == []
    assert not (tmp_path / "index").exists()


async def test_both_indexes_give_the_same_answers_with_the_same_scores(corpus: PostgresCorpus) -> None:
    for number in range(12):
        await corpus.indexed(
            "\n\n".join(f"{text} number {number} of {word}" for text in TEXTS for word in ("one", "x"))
        )
    local = Corpus(corpus.db, corpus.clock, corpus.folder, corpus.embedder)
    for mode in ("hybrid", "keyword", "semantic"):
        for text in ("colour of number 3", "horse", "length rent one"):
            mine = await ask(corpus, text, mode=mode, top_k=30)
            assert mine == await ask(corpus, text, local.engine, mode=mode, top_k=30)
            assert len(mine) > 5
    assert isinstance(await local.local_index(), LocalIndex)
    await local.engine.close()


async def test_what_a_server_with_local_indexes_wrote_is_brought_up_before_the_answer(
    corpus: PostgresCorpus, no_builds: list[object]
) -> None:
    await corpus.indexed(TEXTS[1])
    followers = corpus.db.listeners.of(LOGGED)
    for follow in followers:
        corpus.db.listeners.remove(LOGGED, follow)
    second = await corpus.indexed(TEXTS[0])
    for follow in followers:
        corpus.db.listeners.add(LOGGED, follow)
    # The index lacks something: the next document leaves it to the question, which goes in the log's order.
    await corpus.indexed("another flat")
    assert len(await corpus.words("flat")) == 3
    assert len(no_builds) == 1
    await corpus.delete(second)
    assert await corpus.words("flat") == ["another flat"]
    assert len(no_builds) == 1


async def test_a_change_that_another_process_has_overtaken_is_left(corpus: PostgresCorpus) -> None:
    doc_id = await corpus.indexed("the old flat")
    index = await corpus.local_index()
    stale = await corpus.db.read(lambda tx: _change(corpus, tx, doc_id, index.watermark))
    mark = index.watermark
    await corpus.delete(doc_id)
    new = await corpus.upload(await corpus.indexed("the new flat"))
    await asyncio.to_thread(index.apply, [stale], mark, mark - 1)
    found = await asyncio.to_thread(index.words, "flat", 5)
    assert ([hit.upload_id for hit in found], index.watermark) == ([new.id], mark + 2)


async def test_signs_decide_which_passages_answer(corpus: PostgresCorpus) -> None:
    await answer_by_signs(corpus)


async def test_names_titles_stars_and_mended_words_find(corpus: PostgresCorpus) -> None:
    await answer_by_words(corpus)


async def test_an_older_version_keeps_an_index_of_its_own_until_it_is_left_behind(corpus: PostgresCorpus) -> None:
    await corpus.indexed(TEXTS[0])
    # As a version that makes other terms of text has it: under the bare recipe, and empty for all that this one sees.
    older = {"workspace": corpus.workspace, "recipe": corpus.embedder.recipe}
    made_older = (
        "insert into search_indexes (workspace_id, recipe, dimensions, watermark) values (:workspace, :recipe, 4, 1)"
    )
    await corpus.db.write(lambda tx: tx.run(made_older, **older))
    assert len(await corpus.words("flat")) == 2
    engine = corpus.opened()
    assert len(await ask(corpus, "flat", engine)) == 2
    await engine.close()
    found = "select count(*) from search_indexes where recipe = :recipe and workspace_id = :workspace"
    assert await corpus.db.read(lambda tx: tx.one(found, **older)) == (1,)
    await corpus.indexed(TEXTS[1])
    engine = corpus.opened()
    assert len(await ask(corpus, "flat", engine)) == 3
    await engine.close()
    assert await corpus.db.read(lambda tx: tx.one(found, **older)) == (0,)


async def test_the_index_is_built_anew_from_the_database_in_steps(
    corpus: PostgresCorpus, monkeypatch: pytest.MonkeyPatch, no_builds: list[object]
) -> None:
    for text in TEXTS:
        await corpus.indexed(text)
    before = await ask(corpus, "length of the car", top_k=9)
    monkeypatch.setattr(search_limits, "INDEX_WRITE_CHUNKS", 1)
    monkeypatch.setattr(search_limits, "INDEX_DISCARD_ROWS", 2)
    [old] = await corpus.db.read(lambda tx: tx.all("select id from search_indexes"))
    handlers = {REBUILD_JOB: corpus.engine.rebuild}
    runner = jobs.Runner(corpus.db, corpus.clock, handlers, concurrency=1, worker="w")
    wanted = jobs.NewJob(REBUILD_JOB, workspace_id=corpus.workspace)
    await corpus.db.write(lambda tx: jobs.enqueue(tx, wanted, now=corpus.clock.now()))
    while await runner.run_due():
        pass
    assert await corpus.db.read(lambda tx: tx.all("select id from search_indexes")) != [old]
    assert await ask(corpus, "length of the car", top_k=9) == before
    counts = "select (select count(*) from search_index_chunks), (select count(*) from search_index_uploads)"
    assert await corpus.db.read(lambda tx: tx.one(counts)) == (4, 3)
    assert len(no_builds) == 1


async def test_a_change_of_model_is_made_in_one_step_and_the_old_index_goes(corpus: PostgresCorpus) -> None:
    for text in TEXTS:
        await corpus.indexed(text)
    renewal = Renewal(corpus.engine, corpus.texts())
    handlers = {RENEW_JOB: renewal.run, FORGET_JOB: renewal.forget, "index": Ingest(corpus.engine, corpus.texts()).run}
    runner = jobs.Runner(corpus.db, corpus.clock, handlers, concurrency=2, worker="w")
    assert await ask(corpus, "colour car", mode="semantic")
    corpus.installed[corpus.embedder.recipe] = corpus.embedder
    corpus.embedder = HashingEmbedder("other")
    assert await renewal.look_for_another_model()
    await renewal.plan()
    assert (await ask(corpus, "colour car", mode="semantic"))[0][0] == "colour of the car"
    while await runner.run_due():
        pass
    corpus.clock.forward(limits.QUERY_SECONDS + 1)
    while await runner.run_due():
        pass
    assert (await ask(corpus, "colour car", mode="semantic"))[0][0] == "colour of the car"
    rows = await corpus.db.read(lambda tx: tx.all("select recipe, chunks from search_indexes"))
    assert rows == [(f"{corpus.embedder.recipe} terms:{ANALYSIS}", 4)]


async def test_a_large_index_gets_a_graph_that_finds_the_same(
    corpus: PostgresCorpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_limits, "INDEX_EXACT_CHUNKS", 10)
    ids = [await corpus.indexed(f"{text} number {number}") for number in range(20) for text in TEXTS[1:]]
    exact = await ask(corpus, "colour of number 3", mode="semantic", top_k=8)
    place = (corpus.workspace, corpus.embedder.recipe)
    async with asyncio.timeout(60):
        while not (await corpus.db.read(lambda tx: index_rows.find(tx, place))).graph:  # type: ignore[union-attr]
            await asyncio.sleep(0.05)
    graphs = "select count(*) from pg_index where indisvalid and indexrelid = to_regclass(:name)::oid"
    [index_id] = await corpus.db.read(lambda tx: tx.one("select id from search_indexes")) or ()
    name = f"search_index_graph_{index_id}"
    assert await corpus.db.read(lambda tx: tx.one(graphs, name=name)) == (1,)
    assert await ask(corpus, "colour of number 3", mode="semantic", top_k=8) == exact
    only = frozenset(ids[:11])
    assert len(await ask(corpus, "colour", mode="semantic", top_k=30, doc_ids=only)) == 11
    await corpus.engine.drop_index(*place)
    assert await corpus.db.read(lambda tx: tx.one("select to_regclass(:name)", name=name)) == (None,)


async def test_backups_leave_the_tables_of_indexes_out(corpus: PostgresCorpus, tmp_path: Path) -> None:
    await corpus.indexed(TEXTS[0])
    with snapshot(tmp_path, corpus.url) as tables:
        shapes = tables.shapes()
    assert "chunks" in shapes
    assert not MADE_AGAIN & shapes.keys()
    rows = await corpus.db.read(
        lambda tx: tx.all("select relname from pg_class where relkind = 'r' and relname like 'search_index%'")
    )
    assert {row[0] for row in rows} == {name for name in MADE_AGAIN if name.startswith("search_index")}


def test_a_server_without_pgvector_is_told_what_to_do(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    db = PostgresDatabase(postgres_url)
    chosen = Settings(database_url=Secret(postgres_url), index="postgres")
    for offered, message in ((None, "does not have"), ("0.7.4", "needs 0.8 or newer")):
        monkeypatch.setattr(tables, "extension_version", lambda _, offered=offered: (offered, None))
        with pytest.raises(SetupError, match=message) as refused:
            SearchEngine(db, HandClock(), chosen, Embedders(lambda: None, lambda _: None))
        assert "DEEDBOX_INDEX" in refused.value.next_step
    asyncio.run(db.close())


def test_an_index_in_postgresql_needs_a_database_there() -> None:
    with pytest.raises(SetupError, match="needs a PostgreSQL database"):
        settings.load({"DEEDBOX_INDEX": "postgres"})


def test_a_user_who_may_not_make_the_extension_is_told_who_may(postgres_url: str) -> None:
    need_pgvector(postgres_url)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        # Roles belong to the cluster, which all workers share.
        user = f"plain_{os.getpid()}"
        connection.execute(f"create role {user} login".encode())
    db = PostgresDatabase(postgres_url.replace("postgres@", f"{user}@"))
    chosen = Settings(database_url=Secret(postgres_url), index="postgres")
    with pytest.raises(SetupError, match="may not create") as refused:
        SearchEngine(db, HandClock(), chosen, Embedders(lambda: None, lambda _: None))
    assert "superuser" in refused.value.next_step
    asyncio.run(db.close())


def _change(corpus: Corpus, tx: Tx, doc_id: str, number: int) -> IndexChange:
    recipe = corpus.embedder.recipe
    set_id = chunk_store.set_of(tx, corpus.workspace, recipe, doc_id)
    assert set_id is not None
    return IndexChange(doc_id, entries(tx, recipe, doc_id, set_id, corpus.embedder.dimensions), number)

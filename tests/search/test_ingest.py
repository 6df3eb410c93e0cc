"""Index runs: each document in one step, each only once, and the others go on whatever one of them does."""

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from deedbox.kernel import jobs, limits
from deedbox.kernel.db import Database, Value
from deedbox.kernel.errors import BadRequest, NotFound, Unavailable
from deedbox.kernel.jobs import Job
from deedbox.search import limits as search_limits
from deedbox.search.chunks import store as chunk_store
from deedbox.search.engine import INDEX_JOB
from deedbox.search.indexing import ingest
from deedbox.search.indexing.embedders import Embedders
from deedbox.search.indexing.ingest import NO_TEXT, Failure, IndexOutcome, Ingest
from deedbox.search.indexing.recover import recover
from deedbox.search.library import library, store
from deedbox.search.query import best_passages as query
from tests.conftest import HandClock
from tests.search.corpus import Corpus

pytestmark = pytest.mark.anyio


class Bench:
    """A corpus with index runs at hand."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.db = corpus.db
        self.restart()

    def restart(self) -> None:
        """As after a crash: a new process with nothing in its memory."""
        corpus = self.corpus
        corpus.engine = corpus.opened()
        self.ingest = Ingest(corpus.engine, corpus.texts())
        self.runner = jobs.Runner(
            corpus.db, corpus.clock, {INDEX_JOB: self.ingest.run}, concurrency=4, worker=f"w{id(self)}"
        )

    async def plan(self, *doc_ids: str) -> str:
        corpus = self.corpus
        wanted = list(doc_ids) or None
        return await self.db.write(lambda tx: ingest.plan(tx, corpus.engine, corpus.reader(), wanted))

    async def run(self, *doc_ids: str) -> IndexOutcome:
        """What has become of the documents of one run."""
        job_id = await self.plan(*doc_ids)
        await self.runner.run_due()
        return await self.outcome(job_id)

    async def job(self, job_id: str) -> Job:
        found = await self.db.read(lambda tx: jobs.find(tx, job_id))
        assert found is not None
        return found

    async def outcome(self, job_id: str) -> IndexOutcome:
        outcome = ingest.step(await self.job(job_id)).outcome
        assert outcome is not None
        return outcome

    async def statuses(self) -> list[str]:
        return [each.status for each in await self.db.read(lambda tx: store.uploads(tx, self.corpus.workspace))]

    async def sound(self) -> None:
        """Nothing twice, nothing orphaned, nothing stuck, and the index is the database."""
        rows = await self.db.read(
            lambda tx: tx.all(
                "select s.id, s.chunks, (select count(*) from chunks c where c.chunk_set_id = s.id),"
                " (select count(*) from index_log l where l.chunk_set_id = s.id) from chunk_sets s"
            )
        )
        assert all(chunks == stored and used > 0 for _, chunks, stored, used in rows), rows
        assert "indexing" not in await self.statuses()
        index = await self.corpus.local_index()
        assert index.size == await self.db.read(lambda tx: chunk_store.indexed_chunks(tx, self.corpus.workspace))


@pytest.fixture
async def bench(db: Database, clock: HandClock, tmp_path: Path) -> AsyncIterator[Bench]:
    corpus = Corpus(db, clock, tmp_path)
    await corpus.settle()
    made = Bench(corpus)
    yield made
    await made.corpus.engine.close()


async def test_a_run_indexes_what_is_uploaded(bench: Bench) -> None:
    doc_id = await bench.corpus.add("one rent\n\ntwo rent")
    assert await bench.run() == IndexOutcome(processed=1, skipped=0, chunks=2, failed=[])
    upload = await bench.corpus.upload(doc_id)
    assert (upload.status, upload.status_before, upload.error) == ("indexed", None, None)
    assert upload.indexed_at == "2026-03-01T12:00:00Z"
    assert len(await bench.corpus.words("rent")) == 2
    await bench.sound()


async def test_many_documents_at_once_are_all_indexed(bench: Bench) -> None:
    for number in range(60):
        await bench.corpus.add(f"rent {number}\n\nmore {number % 7}")
    assert (await bench.run()).processed == 60
    assert len(await bench.corpus.words("rent")) == 60
    await bench.sound()


async def test_deleting_while_a_run_writes_loses_nothing_and_keeps_nothing(bench: Bench) -> None:
    chance = random.Random(7)
    doc_ids = [await bench.corpus.add(f"rent {number}") for number in range(60)]
    gone = chance.sample(doc_ids, 30)

    async def delete() -> None:
        for doc_id in gone:
            await bench.corpus.delete(doc_id)

    outcome, _ = await asyncio.gather(bench.run(), delete())
    assert outcome.failed == []
    assert await bench.statuses() == ["indexed"] * 30
    assert len(await bench.corpus.words("rent")) == 30
    await bench.sound()


async def test_long_documents_are_embedded_in_batches(bench: Bench) -> None:
    chunks = search_limits.EMBED_BULK_BATCH * 2 + 1
    await bench.corpus.add("\n\n".join(f"rent {number}" for number in range(chunks)))
    assert (await bench.run()).chunks == chunks
    assert (bench.corpus.embedder.calls, bench.corpus.embedder.texts) == (3, chunks)


async def test_vectors_are_kept_as_they_were_made(bench: Bench) -> None:
    doc_id = await bench.corpus.add("one rent\n\ntwo rent")
    await bench.run()
    rows = await bench.db.read(
        lambda tx: tx.all(
            "select c.vector from index_log l join chunks c on c.chunk_set_id = l.chunk_set_id"
            " where l.upload_id = :id order by c.number",
            id=doc_id,
        )
    )
    expected = await bench.corpus.embedder.embed(["one rent", "two rent"], urgent=False)
    assert [bytes(row[0]) for row in rows] == [vector.astype("<f4").tobytes() for vector in expected]


async def test_the_model_is_told_what_is_a_passage_and_what_a_question(bench: Bench) -> None:
    await bench.corpus.add("one rent\n\ntwo rent")
    await bench.run()
    await query.answer(bench.corpus.engine, bench.corpus.reader(), query.Question("rent"))
    assert bench.corpus.embedder.roles == ["passage", "query"]


async def test_an_unchanged_document_is_skipped_and_a_twin_reuses_its_vectors(bench: Bench) -> None:
    await bench.corpus.add("one rent")
    await bench.run()
    await bench.corpus.add("one rent")
    assert await bench.run() == IndexOutcome(processed=2, skipped=1, chunks=2, failed=[])
    assert bench.corpus.embedder.texts == 1
    assert len(await bench.db.read(lambda tx: tx.all("select id from chunk_sets"))) == 1
    await bench.sound()


async def test_a_twin_survives_the_deletion_of_the_other(bench: Bench) -> None:
    first, second = await bench.corpus.add("one rent"), await bench.corpus.add("one rent")
    await bench.run()
    await bench.corpus.delete(first)
    assert await bench.corpus.words("rent") == ["one rent"]
    assert (await bench.corpus.upload(second)).status == "indexed"
    await bench.sound()


async def test_a_document_without_text_fails_by_name_and_alone(bench: Bench) -> None:
    empty, _ = await bench.corpus.add(" \n "), await bench.corpus.add("one rent")
    outcome = await bench.run()
    assert (outcome.processed, outcome.failed) == (1, [Failure(empty, NO_TEXT)])
    upload = await bench.corpus.upload(empty)
    assert (upload.status, upload.error) == ("failed", NO_TEXT)
    assert await bench.db.read(lambda tx: library.chunks(tx, bench.corpus.reader(), empty, None, 1)) == []


async def test_a_document_that_lost_its_text_is_no_longer_found(bench: Bench) -> None:
    doc_id = await bench.corpus.add("one rent")
    await bench.corpus.add("two rent")
    await bench.run()
    replaced: dict[str, Value] = {"sha256": "0" * 64, "revision": 2, "status": "uploaded"}
    await bench.db.write(lambda tx: store.change_upload(tx, doc_id, {}, replaced))
    await bench.corpus.keep(await bench.corpus.upload(doc_id), "")
    assert (await bench.run()).failed == [Failure(doc_id, NO_TEXT)]
    assert await bench.corpus.words("rent") == ["two rent"]
    await bench.sound()


async def test_after_another_failure_the_old_chunks_go_on_answering(bench: Bench) -> None:
    doc_id = await bench.corpus.add("one rent")
    await bench.run()
    lost: dict[str, Value] = {"sha256": "0" * 64, "revision": 2, "status": "uploaded"}
    await bench.db.write(lambda tx: store.change_upload(tx, doc_id, {}, lost))
    (failed,) = (await bench.run()).failed
    assert (failed.doc_id, failed.error.startswith("The server has lost this file")) == (doc_id, True)
    assert (await bench.corpus.upload(doc_id)).status == "failed"
    assert await bench.corpus.words("rent") == ["one rent"]


async def test_a_named_refusal_is_the_documents_error(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(*_: Any) -> Any:
        raise BadRequest("This text is too strange")

    monkeypatch.setattr(bench.corpus.embedder, "split", refuse)
    doc_id = await bench.corpus.add("one rent")
    assert (await bench.run()).failed == [Failure(doc_id, "This text is too strange")]


async def test_a_busy_server_is_no_fault_of_the_document(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    async def busy(*_: Any, **__: Any) -> Any:
        raise Unavailable("Try again in a moment")

    doc_id = await bench.corpus.add("one rent")
    with monkeypatch.context() as patch:
        patch.setattr(bench.corpus.embedder, "embed", busy)
        job_id = await bench.plan()
        await bench.runner.run_due()
    assert (await bench.job(job_id)).state == "ready"
    assert (await bench.corpus.upload(doc_id)).status == "uploaded"
    bench.corpus.clock.forward(60)
    await bench.runner.run_due()
    assert (await bench.outcome(job_id)).processed == 1


async def test_a_run_cut_off_in_the_middle_goes_on_where_it_was(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    doc_ids = [await bench.corpus.add(f"rent {number}") for number in range(12)]
    job_id = await bench.plan()
    usual, calls = bench.corpus.embedder.embed, 0

    async def dies(*args: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > 6:
            await asyncio.sleep(3600)
        return await usual(*args, **named)

    with monkeypatch.context() as patch:
        patch.setattr(bench.corpus.embedder, "embed", dies)
        running = asyncio.create_task(bench.runner.run_due())
        while (await bench.statuses()).count("indexed") < 6:
            await asyncio.sleep(0.01)
        patch.setattr(store, "unclaim", lambda *_: None)  # a killed process tidies nothing up
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    assert "indexing" in await bench.statuses()
    await bench.corpus.engine.close()
    embedded = bench.corpus.embedder.texts
    bench.restart()
    await recover(bench.corpus.engine, alone=True)
    while "indexing" in await bench.statuses():  # a cancelled task's last transaction may end in its thread meanwhile
        await recover(bench.corpus.engine, alone=True)
    bench.corpus.clock.forward(limits.JOB_LEASE_SECONDS + 1)
    await bench.runner.run_due()
    outcome = await bench.outcome(job_id)
    assert (outcome.processed, outcome.skipped) == (12, 6)
    assert bench.corpus.embedder.texts == embedded + 6
    assert len(doc_ids) == len(await bench.corpus.words("rent"))
    await bench.sound()


async def test_a_start_releases_what_no_living_run_is_at(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    running_at, left = [await bench.corpus.add(f"{number} rent") for number in range(2)]
    await bench.db.write(lambda tx: store.change_upload(tx, left, {}, {"status": "indexing"}))
    usual, begun, gate = bench.corpus.embedder.embed, asyncio.Event(), asyncio.Event()

    async def held(*args: Any, **named: Any) -> Any:
        begun.set()
        await gate.wait()
        return await usual(*args, **named)

    monkeypatch.setattr(bench.corpus.embedder, "embed", held)
    job_id = await bench.plan(running_at)
    running = asyncio.create_task(bench.runner.run_due())
    await begun.wait()
    starting = bench.corpus.opened()
    await recover(starting, alone=False)
    assert [(await bench.corpus.upload(one)).status for one in (running_at, left)] == ["indexing", "uploaded"]
    bench.corpus.clock.forward(limits.JOB_LEASE_SECONDS + 1)  # as if the run's process were dead
    await recover(starting, alone=False)
    assert await bench.statuses() == ["uploaded"] * 2
    await starting.close()
    gate.set()
    await running
    assert (await bench.outcome(job_id)).processed == 1


async def test_a_claim_that_a_dead_process_left_is_taken_over(bench: Bench) -> None:
    doc_id = await bench.corpus.add("one rent")
    left = {"status": "indexing", "status_before": "uploaded"}
    await bench.db.write(lambda tx: store.change_upload(tx, doc_id, {}, left))
    assert (await bench.run()).processed == 1
    await bench.sound()


async def test_two_processes_may_run_over_the_same_documents(bench: Bench) -> None:
    for number in range(20):
        await bench.corpus.add(f"rent {number}")
    first = bench.runner
    await bench.plan()
    corpus = bench.corpus
    other = Ingest(corpus.engine, corpus.texts())
    second = jobs.Runner(corpus.db, corpus.clock, {INDEX_JOB: other.run}, concurrency=4, worker="other")
    running = asyncio.create_task(first.run_due())
    await asyncio.sleep(0)
    everyone = [upload.id for upload in await bench.db.read(lambda tx: store.uploads(tx, corpus.workspace))]
    await bench.plan(*everyone)
    await asyncio.gather(running, second.run_due(), second.run_due())
    assert await bench.statuses() == ["indexed"] * 20
    assert len(await corpus.words("rent")) == 20
    await bench.sound()


async def test_the_same_scope_is_planned_once_and_an_unknown_document_not_at_all(bench: Bench) -> None:
    first, second = await bench.corpus.add("one rent"), await bench.corpus.add("two rent")
    assert await bench.plan(first, second) == await bench.plan(second, first, second)
    assert await bench.plan() == await bench.plan()
    assert await bench.plan(first) != await bench.plan(first, second)
    with pytest.raises(NotFound, match="upl_nothing does not exist"):
        await bench.plan(first, "upl_nothing")
    assert (await bench.db.read(jobs.counts))["ready"] == 3


async def test_a_run_without_a_model_is_given_up(bench: Bench) -> None:
    await bench.corpus.add("one rent")
    job_id = await bench.plan()
    bench.restart()
    bench.corpus.engine.embedders = Embedders(lambda: None, lambda _: None)
    await bench.runner.run_due()
    job = await bench.job(job_id)
    assert (job.state, job.error) == ("parked", "No embedding model is installed. Run: deedbox model install")


async def test_whoever_waits_for_a_run_is_told_of_its_end(bench: Bench) -> None:
    await bench.corpus.add("one rent")
    job_id = await bench.plan()
    waiting = asyncio.create_task(bench.ingest.ended(job_id))
    await bench.runner.run_due()
    job = await waiting
    assert job is not None
    assert job.state == "done"
    assert await bench.ingest.ended("job_unknown") is None

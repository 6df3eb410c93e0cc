"""A query asked again at the state of the index that its statement names."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from deedbox.evidence import receipt
from deedbox.evidence.receipt import ReceiptStatement
from deedbox.kernel.db import Database
from deedbox.kernel.settings import Settings
from deedbox.search.chunks import store as chunk_store
from deedbox.search.conditions import Either, Every, Not, compare
from deedbox.search.query import best_passages as query
from deedbox.search.query import replay
from deedbox.search.query.best_passages import Answered, Question
from deedbox.search.query.receipt import ReceiptQuery, _payload, asked_of
from deedbox.search.query.replay import NoReplay
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


async def asked(
    corpus: Corpus, text: str = "the rent of the boat", **options: Any
) -> tuple[Answered, ReceiptStatement]:
    """An answer, and what its receipt would state of it."""
    question = Question(text, **options)
    found = await query.answer_with_details(corpus.engine, corpus.reader(), question)
    shown = [
        {"chunk_id": one.id, "text": one.chunk.text, "score": one.score, "metadata": {"sha256": one.upload.sha256}}
        for one in found.passages
    ]
    answer = {"query": question.text, "results": shown}
    told = _payload(ReceiptQuery(corpus.reader(), question, found), answer, {}, corpus.clock.now())
    return found, receipt.parse(told)


async def again(corpus: Corpus, statement: ReceiptStatement) -> Answered:
    return (await replay.replay(corpus.engine, Settings(data_dir=corpus.folder), statement))[1]


async def grown(corpus: Corpus) -> list[str]:
    texts = ("The rent is due.", "The boat lies in the harbour.\n\nIts rent is low.", "Nothing of the kind.")
    return [await corpus.indexed(text) for text in texts]


@pytest.mark.parametrize("mode", ["hybrid", "semantic", "keyword"])
async def test_what_comes_later_is_not_in_the_index_of_then(corpus: Corpus, mode: str) -> None:
    first, *_ = await grown(corpus)
    found, statement = await asked(corpus, mode=mode)
    assert (found.watermark, statement.watermark, statement.recipe) == (3, 3, corpus.embedder.recipe)
    corpus.clock.forward(60)
    for number in range(20):
        await corpus.indexed(f"The rent of the boat, {number} times the rent of the boat.")
    assert await again(corpus, statement) == found
    assert (await asked(corpus, mode=mode))[0].passages != found.passages
    await corpus.delete(first)
    assert await replay.reasons(corpus.engine, statement) == [
        f"Replaced, renamed, deleted or reindexed since: {first}."
    ]
    assert first not in {one.upload.id for one in (await again(corpus, statement)).passages}


async def test_a_word_is_corrected_as_it_was_then(corpus: Corpus) -> None:
    await grown(corpus)
    found, statement = await asked(corpus, "harbuor ren*")
    assert (found.corrected, len(found.passages)) == ({"harbuor": "harbour"}, 4)
    for text in ("The harbuor is closed", "rend", "Harbours"):
        await corpus.indexed(text)
    assert await again(corpus, statement) == found
    assert (await asked(corpus, "harbuor ren*"))[0].corrected == {}


async def test_the_question_survives_its_statement(corpus: Corpus) -> None:
    doc_ids = frozenset(await grown(corpus))
    named, rest = compare("filename", "eq", "a.txt"), compare("metadata.year", "in", [2025, 2026.5, "x"])
    condition = Every((named, Either((rest, Not(compare("signed", "eq", value=False))))))
    _, statement = await asked(corpus, doc_ids=doc_ids, condition=condition, top_k=2, offset=1, min_relevance=0.5)
    reader, question = asked_of(statement)
    assert reader == corpus.reader()
    assert question == Question(
        "the rent of the boat",
        top_k=2,
        doc_ids=doc_ids,
        condition=condition,
        offset=1,
        min_relevance=0.5,
        patient=True,
    )
    assert statement.options["doc_ids"] == sorted(doc_ids)


async def test_why_nothing_can_be_asked_is_said(corpus: Corpus) -> None:
    gone, *_ = await grown(corpus)
    _, statement = await asked(corpus, doc_ids=frozenset([gone]))
    with pytest.raises(NoReplay, match=r"ends at change 3, and the answer comes from change 4"):
        await again(corpus, replace(statement, watermark=4))
    with pytest.raises(NoReplay, match="The recipe has changed: the library is served by 'hashing-64' now"):
        await again(corpus, replace(statement, recipe="another-64"))
    with pytest.raises(NoReplay, match="no library of that workspace"):
        await again(corpus, replace(statement, reader={"workspace_id": "wsp_other", "documents": True}))
    with pytest.raises(NoReplay, match="a way that this version does not know"):
        await again(corpus, replace(statement, options={"mode": "by magic"}))
    await corpus.delete(gone)
    with pytest.raises(NoReplay, match="Asked now, it is refused"):
        await again(corpus, statement)
    corpus.embedder, before = HashingEmbedder("other"), corpus.embedder
    await corpus.engine.close()
    corpus.engine = corpus.opened()
    with pytest.raises(NoReplay, match=f"The model of the recipe '{before.recipe}' is not installed here"):
        await again(corpus, statement)


async def test_replay_uses_the_model_of_the_statement_after_a_change_of_model(corpus: Corpus) -> None:
    await grown(corpus)
    found, statement = await asked(corpus)
    await corpus.engine.close()
    corpus.installed[corpus.embedder.recipe], corpus.embedder = corpus.embedder, HashingEmbedder("other")
    corpus.engine = corpus.opened()
    await corpus.db.write(lambda tx: chunk_store.serve(tx, corpus.workspace, corpus.embedder.recipe))
    assert await again(corpus, statement) == found


async def test_another_version_is_named(corpus: Corpus) -> None:
    await grown(corpus)
    _, statement = await asked(corpus)
    [reason] = await replay.reasons(corpus.engine, replace(statement, version="0.0.1"))
    assert reason.startswith("Deedbox 0.0.1 answered; this is ")


async def test_documents_that_came_later_are_no_reason(corpus: Corpus) -> None:
    await grown(corpus)
    _, statement = await asked(corpus)
    corpus.clock.forward(60)
    late = await corpus.indexed("Something else.")
    place = corpus.workspace, statement.recipe
    changed = await corpus.db.read(lambda tx: chunk_store.changed_since(tx, *place, 3, statement.issued_at))
    assert changed == []
    changed = await corpus.db.read(lambda tx: chunk_store.changed_since(tx, *place, 3, "9999-12-31T00:00:00Z"))
    assert changed == [late]


def test_differences_are_named_by_their_place() -> None:
    one = {"chunk_id": "a_chunk_1", "text": "x", "score": 1.0, "metadata": {"filename": "a", "page": 1}}
    two = {**one, "chunk_id": "b_chunk_0"}
    before = {"query": "q", "count": 2, "elapsed_ms": 3.0, "results": [one, two]}
    assert replay.differences(before, {**before, "elapsed_ms": 9.0}) == []
    renamed = {**one, "score": 2.0, "metadata": {"filename": "b", "page": 1}}
    assert replay.differences(before, {**before, "results": [renamed, two]}) == [
        "Result 1: score, metadata.filename is another."
    ]
    assert replay.differences(before, {**before, "corrected": "x", "results": [two]}) == [
        "corrected is another.",
        "There are 1 results, where there were 2.",
        "Result 1 is b_chunk_0, where it was a_chunk_1.",
    ]

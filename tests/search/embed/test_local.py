"""The installed model in its sandboxes: the same vectors everywhere, and a crash that only its own call feels."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deedbox.kernel.errors import ErrorCode, Unavailable
from deedbox.search import limits
from deedbox.search.embed import Prefixes, Role, install, models, recipe_name, vectors_of
from deedbox.search.embed.local import LocalEmbedder
from deedbox.search.indexing.chunk import chunks
from deedbox.search.library.upload import Extraction
from tests.search.embed import tiny

pytestmark = pytest.mark.anyio

TEXT = "# Rent\n" + "The tenant pays the rent on the first day of each month. " * 20 + "\n# End\nNo tenant, no rent."
LINUX_ONLY = pytest.mark.skipif(sys.platform != "linux", reason="children are found by /proc")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a tiny model in use."""
    source = tiny.write(tmp_path / "tiny")
    install.install_folder(source, "tiny", tmp_path / "models", tiny.unseen)
    return tmp_path / "models"


@pytest.fixture
async def embedder(place: Path) -> AsyncIterator[LocalEmbedder]:
    opened = of(place)
    yield opened
    await opened.close()


def of(place: Path, size: int = 20, overlap: int = 5) -> LocalEmbedder:
    model = models.current(place)
    assert model is not None
    return LocalEmbedder(place, model, size=size, overlap=overlap)


def children() -> dict[int, int]:
    """The sandboxes of this process, each with how far it stands back for others."""
    found = {}
    for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
        if b"sandbox.child" in Path(f"/proc/{pid}/cmdline").read_bytes():
            found[int(pid)] = os.getpriority(os.PRIO_PROCESS, int(pid))
    return found


async def test_vectors_have_the_rows_and_the_length_that_are_promised(embedder: LocalEmbedder) -> None:
    vectors = await embedder.embed(["the tenant pays", "", "no rent ?"], urgent=True)
    assert vectors.shape == (3, embedder.dimensions)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert (await embedder.embed([], urgent=True)).shape == (0, embedder.dimensions)


async def test_urgent_and_bulk_processes_give_the_same_bytes(embedder: LocalEmbedder, place: Path) -> None:
    texts = ["the tenant pays rent . " * number for number in range(40)]
    urgent = await embedder.embed(texts, urgent=True)
    bulk = await embedder.embed(texts, urgent=False)
    alone = np.concatenate([await embedder.embed([text], urgent=True) for text in texts[:5]])
    other = of(place)
    again = await other.embed(texts, urgent=True)
    await other.close()
    assert urgent.tobytes() == bulk.tobytes() == again.tobytes()
    assert alone.tobytes() == urgent[:5].tobytes()


async def test_more_texts_than_fit_in_a_call_come_back_in_order(
    embedder: LocalEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"{'day ' * (number % 7)} {'rent ' * (number % 5)}" for number in range(23)]
    whole = await embedder.embed(texts, urgent=True)
    monkeypatch.setattr(limits, "EMBED_BATCH", 4)
    assert (await embedder.embed(texts, urgent=True)).tobytes() == whole.tobytes()


async def test_documents_embedded_together_get_their_own_vectors(
    embedder: LocalEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "EMBED_BULK_BATCH", 6)
    calls: list[int] = []
    usual = embedder._bulk.call

    async def counted(function: str, *args: Any) -> Any:
        calls.append(len(args[0]))
        return await usual(function, *args)

    monkeypatch.setattr(embedder._bulk, "call", counted)
    documents = [[f"rent {'day ' * (number + each)}" for each in range(number % 9)] for number in range(30)]
    alone = [await embedder.embed(texts, urgent=True) for texts in documents]
    together = await asyncio.gather(*(embedder.embed(texts, urgent=False) for texts in documents))
    assert [rows.tobytes() for rows in together] == [rows.tobytes() for rows in alone]
    assert max(calls) == 6
    assert len(calls) < len(documents)


async def test_one_who_leaves_does_not_disturb_the_others(embedder: LocalEmbedder) -> None:
    leaving = [asyncio.create_task(embedder.embed(["rent"], urgent=False)) for _ in range(3)]
    staying = [asyncio.create_task(embedder.embed([f"day {'rent ' * n}"], urgent=False)) for n in range(5)]
    await asyncio.sleep(0)
    for task in leaving:
        task.cancel()
    rows = await asyncio.gather(*staying)
    expected = [await embedder.embed([f"day {'rent ' * n}"], urgent=True) for n in range(5)]
    assert [row.tobytes() for row in rows] == [row.tobytes() for row in expected]


async def test_half_a_surrogate_pair_is_embedded_as_a_question_mark(embedder: LocalEmbedder) -> None:
    odd, plain = await embedder.embed(["rent \ud800", "rent ?"], urgent=True)
    assert odd.tobytes() == plain.tobytes()


async def test_chunks_are_those_of_the_model_s_own_tokenizer(embedder: LocalEmbedder) -> None:
    extraction = Extraction(TEXT, [0, 500], [(0, "Rent"), (TEXT.index("# End"), "End")])
    tokenizer = tiny.tokenizer()
    tokenizer.no_truncation()
    tokenizer.no_padding()
    found = await embedder.split(extraction)
    assert found == chunks(extraction, tokenizer, 20, 5)
    assert found[-1].heading == "End"
    assert {chunk.page for chunk in found} == {1, 2}


async def test_prefixes_stand_before_questions_and_passages_alone(place: Path, tmp_path: Path) -> None:
    given = {"query": "the tenant ", "passage": "no "}
    install.install_folder(tiny.write(tmp_path / "tiny"), "tiny", place, tiny.unseen, given)
    embedder = of(place)
    try:
        roles: tuple[Role | None, ...] = ("query", "passage", None)
        asked, kept, plain = [(await embedder.embed(["rent"], urgent=True, role=role))[0].tobytes() for role in roles]
        whole = await embedder.embed(["the tenant rent", "no rent", "rent"], urgent=True)
        assert [asked, kept, plain] == [row.tobytes() for row in whole]
        assert len({asked, kept, plain}) == 3
    finally:
        await embedder.close()


def test_another_prefix_is_another_recipe_and_none_is_the_recipe_of_before() -> None:
    recipes = [
        recipe_name("tiny", "f" * 64, 20, 5, prefixes)
        for prefixes in (Prefixes(), Prefixes("a"), Prefixes("", "a"), Prefixes("a", "a"))
    ]
    assert recipes[0] == recipe_name("tiny", "f" * 64, 20, 5) == f"tiny@{'f' * 16} chunks:1/20/5"
    assert len({vectors_of(recipe) for recipe in recipes}) == 4


async def test_the_recipe_names_model_and_sizes(place: Path, tmp_path: Path) -> None:
    one, other = of(place), of(place, size=30)
    install.install_folder(tiny.write(tmp_path / "tiny", seed=7), "tiny", place, tiny.unseen)
    changed = of(place)
    assert len({one.recipe, other.recipe, changed.recipe}) == 3
    assert one.name == changed.name == "tiny"
    assert one.recipe == of_model(place, one).recipe


def of_model(place: Path, embedder: LocalEmbedder) -> LocalEmbedder:
    return LocalEmbedder(place, embedder._model, size=20, overlap=5)


@LINUX_ONLY
async def test_the_process_for_documents_starts_with_the_first_and_stands_back(embedder: LocalEmbedder) -> None:
    before = children()
    await embedder.warm()
    urgent = children().keys() - before.keys()
    assert len(urgent) == 1
    await embedder.embed(["the rent"], urgent=False)
    ((_, nice),) = [(pid, nice) for pid, nice in children().items() if pid not in before and pid not in urgent]
    assert nice == os.getpriority(os.PRIO_PROCESS, 0) + limits.EMBED_NICE


@LINUX_ONLY
async def test_after_a_crash_the_next_call_works(embedder: LocalEmbedder) -> None:
    before = children()
    (first,) = await embedder.embed(["the rent"], urgent=True)
    for pid in children().keys() - before.keys():
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    (second,) = await embedder.embed(["the rent"], urgent=True)
    assert first.tobytes() == second.tobytes()


@LINUX_ONLY
async def test_a_crash_during_a_call_is_that_call_s_error_alone(embedder: LocalEmbedder) -> None:
    before = children()
    await embedder.warm()
    (pid,) = children().keys() - before.keys()
    os.kill(pid, signal.SIGSTOP)
    call = asyncio.create_task(embedder.embed(["the rent"], urgent=True))
    await asyncio.sleep(0.1)
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(Unavailable, match="started again"):
        await call
    assert (await embedder.embed(["the rent"], urgent=True)).shape == (1, embedder.dimensions)


async def test_an_urgent_text_does_not_wait_for_a_document(embedder: LocalEmbedder) -> None:
    await embedder.embed(["the rent"], urgent=True)
    document = asyncio.create_task(embedder.embed(["the tenant pays rent . " * 2000] * 200, urgent=False))
    await asyncio.sleep(0)
    await embedder.embed(["the rent"], urgent=True)
    assert not document.done()
    document.cancel()
    await asyncio.gather(document, return_exceptions=True)


async def test_a_model_that_was_changed_under_a_running_server_is_not_used(place: Path) -> None:
    embedder = of(place)
    (place / "tiny" / models.TOKENIZER).write_bytes(b"{}")
    with pytest.raises(Unavailable) as refused:
        await embedder.embed(["the rent"], urgent=True)
    assert refused.value.code == ErrorCode.BUSY
    await embedder.close()


async def test_the_default_model_runs_in_its_sandbox(models_dir: Path) -> None:
    embedder = of(models_dir, 200, 40)
    rent, notice, question = await embedder.embed(
        ["Rent is due on the first of the month.", "The dog sleeps.", "When do I have to pay the rent?"], urgent=True
    )
    found = await embedder.split(Extraction(TEXT * 10, None, []))
    await embedder.close()
    assert float(rent @ question) > float(notice @ question) + 0.3
    assert len(found) > 5

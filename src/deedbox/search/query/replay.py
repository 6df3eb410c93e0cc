"""A query asked again at the state of the index that its receipt names, and why the answer is another one now.

The index of then is built beside those in use, from what the database still has of it: documents that were replaced,
deleted or indexed anew since are not in it. If they bear on the answer, it differs, and they are named."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from deedbox import VERSION
from deedbox.evidence.receipt import Answer, ReceiptStatement
from deedbox.kernel import limits
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import ServiceError
from deedbox.kernel.settings import Settings
from deedbox.search.chunks import store as chunk_store
from deedbox.search.embed import Embedder
from deedbox.search.engine import SearchEngine, Serving
from deedbox.search.index.folders import IndexFolders
from deedbox.search.indexing.builds import Builds
from deedbox.search.indexing.workspace_index import WorkspaceIndex
from deedbox.search.query import best_passages as query
from deedbox.search.query.best_passages import Answered, Question
from deedbox.search.query.receipt import asked_of

_ASIDE = "elapsed_ms"
"""What differs from one answer to the next."""


class NoReplay(ServiceError):
    """The query cannot be asked again; the message says why."""


class _Past(SearchEngine):
    """The engine of a workspace, as it was when its index had seen a certain change."""

    def __init__(self, present: SearchEngine, settings: Settings, serving: Serving) -> None:
        super().__init__(present.db, present.clock, msgspec.structs.replace(settings, index="local"), present.embedders)
        self._serving = serving
        self.reranker = present.reranker

    async def serving_of(self, workspace_id: str, recipe: str | None) -> Serving:  # noqa: ARG002 (of the statement)
        return self._serving

    def use(self, workspace_id: str, index: WorkspaceIndex) -> None:
        self._indexes[workspace_id, self._serving.recipe] = index


async def replay(engine: SearchEngine, settings: Settings, statement: ReceiptStatement) -> tuple[Question, Answered]:
    """The question, and what is answered to it at the statement's watermark; NoReplay says why nothing is."""
    try:
        reader, question = asked_of(statement)
    except msgspec.ValidationError as error:
        raise NoReplay(f"It was asked in a way that this version does not know: {error}.") from error
    await _need_state(engine, reader.workspace_id, statement)
    try:
        serving = Serving(statement.recipe, await _embedder(engine, question.text, statement.recipe))
        async with _index_of_then(engine, reader.workspace_id, serving, statement.watermark) as index:
            past = _Past(engine, settings, serving)
            past.use(reader.workspace_id, index)
            return question, await query.answer_with_details(past, reader, question, counted=False)
    except NoReplay:
        raise
    except ServiceError as error:
        raise NoReplay(f"Asked now, it is refused: {error.message}") from error


def differences(before: Answer, now: Answer) -> list[str]:
    """What is another in the second answer, in sentences; empty when both are the same but for the time they took."""
    found = [f"{name} is another." for name in _different(before, now) if name not in ("results", "count", _ASIDE)]
    old, new = before["results"], now["results"]
    if len(old) != len(new):
        found.append(f"There are {len(new)} results, where there were {len(old)}.")
    found += _different_results(old, new)
    return found[: limits.REPLAY_NAMED]


async def reasons(engine: SearchEngine, statement: ReceiptStatement) -> list[str]:
    """What has changed since the statement, as far as it can bear on its answer."""
    reader, _ = asked_of(statement)
    place = reader.workspace_id, statement.recipe
    changed = await engine.db.read_aside(
        lambda tx: chunk_store.changed_since(tx, *place, statement.watermark, statement.issued_at)
    )
    found = []
    if changed:
        answered = {one.chunk_id.partition("_chunk_")[0] for one in statement.results}
        named = sorted(changed, key=lambda one: one not in answered)[: limits.REPLAY_NAMED]
        more = f" and {len(changed) - len(named)} more" if len(changed) > len(named) else ""
        found.append(f"Replaced, renamed, deleted or reindexed since: {', '.join(named)}{more}.")
    if statement.version != VERSION:
        found.append(f"Deedbox {statement.version} answered; this is {VERSION}, which may rank otherwise.")
    return found or ["No indexed text has changed since: names, collections, seals or what readers see may have."]


async def _need_state(engine: SearchEngine, workspace_id: str, statement: ReceiptStatement) -> None:
    """NoReplay when the database has nothing of the state that the statement names."""
    recipe = statement.recipe

    def look(tx: Tx) -> tuple[str | None, int]:
        return chunk_store.serving_recipe(tx, workspace_id), chunk_store.watermark(tx, workspace_id, recipe)

    serving, last = await engine.db.read(look)
    if serving is None:
        raise NoReplay("This installation has no library of that workspace.")
    if last == 0:
        raise NoReplay(f"The recipe has changed: the library is served by {serving!r} now, and was by {recipe!r}.")
    if last < statement.watermark:
        raise NoReplay(
            f"The database ends at change {last}, and the answer comes from change {statement.watermark}:"
            " it is an older state, from a backup perhaps."
        )


async def _embedder(engine: SearchEngine, text: str, recipe: str) -> Embedder:
    known = engine.embedders.of_recipe(recipe)
    if known is None:
        raise NoReplay(f"The model of the recipe {recipe!r} is not installed here.")
    if not known.dimensions:
        await known.embed([text], urgent=True)  # an endpoint tells them with its first vector
    return known


@asynccontextmanager
async def _index_of_then(
    engine: SearchEngine, workspace_id: str, serving: Serving, watermark: int
) -> AsyncIterator[WorkspaceIndex]:
    with TemporaryDirectory(prefix="deedbox-replay-") as folder:
        folders = IndexFolders(Path(folder))
        place = workspace_id, serving.recipe
        index = WorkspaceIndex(engine.db, place, serving.embedder.dimensions, folders, Builds())
        index.until = watermark
        try:
            yield index
        finally:
            await index.close()


def _different(before: Answer, now: Answer) -> list[str]:
    return [name for name in sorted({*before, *now}) if before.get(name) != now.get(name)]


def _different_results(before: list[Answer], now: list[Answer]) -> Iterator[str]:
    for rank, (old, new) in enumerate(zip(before, now, strict=False), 1):
        if old["chunk_id"] != new["chunk_id"]:
            yield f"Result {rank} is {new['chunk_id']}, where it was {old['chunk_id']}."
        elif old != new:
            places = [f"metadata.{name}" for name in _different(old["metadata"], new["metadata"])]
            names = [name for name in _different(old, new) if name != "metadata"]
            yield f"Result {rank}: {', '.join([*names, *places])} is another."

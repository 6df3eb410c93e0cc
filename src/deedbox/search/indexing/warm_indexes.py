"""Indexes that lack something are brought up in the background, so that the first question finds them."""

import asyncio
from collections.abc import Iterator
from typing import TypeAlias

from deedbox.kernel import tasks
from deedbox.search import limits
from deedbox.search.chunks import store as chunk_store
from deedbox.search.engine import SearchEngine, Serving

_Waiting: TypeAlias = tuple[str, Serving]
_LEFT = "an index is brought up with its first question only"


async def warm_indexes(engine: SearchEngine) -> None:
    """Brings up what lacks something, a few at a time, the workspace that was asked last first."""
    if engine.embedders.current is None:
        return
    waiting = await _lacking(engine)
    try:
        turns = iter(waiting)
        await asyncio.gather(*(_bring_up(engine, turns) for _ in range(limits.INDEX_BUILDS)))
    finally:
        for workspace_id, serving in waiting:
            engine.builds.end((workspace_id, serving.recipe))


async def _lacking(engine: SearchEngine) -> list[_Waiting]:
    """The workspaces whose index lacks something; each is expected to be built."""
    # No more than can be open: of others, nobody may ever ask.
    asked_last = await engine.db.read(lambda tx: chunk_store.workspaces_asked_last(tx, limits.OPEN_INDEXES))
    waiting: list[_Waiting] = []
    for workspace_id in asked_last:
        with tasks.going_on(_LEFT, workspace=workspace_id):
            serving = await engine.serving(workspace_id)
            if chunks := await engine.lacks(workspace_id, serving):
                engine.builds.expect((workspace_id, serving.recipe), chunks)
                waiting.append((workspace_id, serving))
    return waiting


async def _bring_up(engine: SearchEngine, waiting: Iterator[_Waiting]) -> None:
    for workspace_id, serving in waiting:
        with tasks.going_on(_LEFT, workspace=workspace_id):
            await engine.follow(workspace_id, serving)
        engine.builds.end((workspace_id, serving.recipe))

"""The embedder in use, and the former ones whose vectors still serve queries."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from deedbox.kernel.errors import ErrorCode, Unavailable
from deedbox.kernel.settings import Settings
from deedbox.search.embed import Embedder, Prefixes, vectors_of
from deedbox.search.endpoint import ModelEndpoint

if TYPE_CHECKING:
    from deedbox.kernel.egress import Egress

MISSING = "No embedding model is installed. Run: deedbox model install"


class Embedders:
    def __init__(
        self, open_chosen: Callable[[], Embedder | None], open_former: Callable[[str], Embedder | None]
    ) -> None:
        self._open_chosen = open_chosen
        self._open_former = open_former
        self._current: Embedder | None = None
        self._former: dict[str, Embedder] = {}

    @property
    def current(self) -> Embedder | None:
        """The embedder in use; looked for again while there is none, so that installing one needs no restart."""
        if self._current is None:
            self._current = self._open_chosen()
        return self._current

    def need(self) -> Embedder:
        """The embedder in use; Unavailable if there is none."""
        if self.current is None:
            raise Unavailable(MISSING, code=ErrorCode.MODEL_MISSING)
        return self.current

    async def refresh(self) -> bool:
        """Whether another embedder has been chosen since; it is the current one from now on."""
        before = self._current
        fresh = await asyncio.to_thread(self._open_chosen)
        if fresh is None or fresh is before:
            return False
        if before is not None and fresh.recipe == before.recipe:
            await fresh.close()
            return False
        # A former one of the same name may have lost its files to the fresh one.
        if outdated := self._former.pop(vectors_of(fresh.recipe), None):
            await outdated.close()
        self._current = fresh
        if before is not None:
            self._former[vectors_of(before.recipe)] = before
        return True

    def of_recipe(self, recipe: str) -> Embedder | None:
        """An embedder whose vectors can be compared with the recipe's; None when it is no longer installed."""
        vectors, current = vectors_of(recipe), self.need()
        if vectors == vectors_of(current.recipe):
            return current
        if vectors not in self._former and (opened := self._open_former(recipe)):
            self._former[vectors] = opened
        return self._former.get(vectors)

    async def retire(self, recipe: str) -> None:
        """Closes the former embedder of a recipe that serves no workspace any more."""
        if former := self._former.pop(vectors_of(recipe), None):
            await former.close()

    async def close(self) -> None:
        for embedder in (self._current, *self._former.values()):
            if embedder is not None:
                await embedder.close()


def open_chosen(settings: Settings, egress: "Callable[[], Egress]") -> Embedder | None:
    """The endpoint that the settings name, or else the installed model in use; None if there is neither."""
    # Imported here: a start must not wait for what only an index run or a query needs.
    from deedbox.search.embed import models
    from deedbox.search.embed.local import LocalEmbedder

    size, overlap = settings.chunk_size, settings.chunk_overlap
    if settings.embedding_url is not None and settings.embedding_model is not None:
        from deedbox.search.embed.remote import RemoteEmbedder

        prefixes = Prefixes(settings.embedding_query_prefix, settings.embedding_passage_prefix)
        endpoint = ModelEndpoint(settings.embedding_url, settings.embedding_model, settings.embedding_key)
        return RemoteEmbedder(egress(), endpoint, settings.models, prefixes, size=size, overlap=overlap)
    model = models.current(settings.models)
    return LocalEmbedder(settings.models, model, size=size, overlap=overlap) if model else None


def open_former(settings: Settings, egress: "Callable[[], Egress]", recipe: str) -> Embedder | None:
    """An embedder whose vectors can be compared with the recipe's; None if it is neither chosen nor installed."""
    from deedbox.search.embed import models
    from deedbox.search.embed.local import LocalEmbedder

    size, overlap = settings.chunk_size, settings.chunk_overlap
    candidates = [open_chosen(settings, egress)]
    candidates += [
        LocalEmbedder(settings.models, model, size=size, overlap=overlap)
        for model in models.list_models(settings.models)
    ]
    wanted = vectors_of(recipe)
    return next((one for one in candidates if one is not None and vectors_of(one.recipe) == wanted), None)

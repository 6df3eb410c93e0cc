"""The embedding model in use, and those before it whose vectors still answer."""

import asyncio
from collections.abc import Callable

from deedbox.kernel.errors import Code, Unavailable
from deedbox.search.embed import Embedder
from deedbox.search.recipe import vectors_of

MISSING = "No embedding model is installed. Run: deedbox model install"


class Models:
    def __init__(
        self, open_chosen: Callable[[], Embedder | None], open_former: Callable[[str], Embedder | None]
    ) -> None:
        self._open_chosen = open_chosen
        self._open_former = open_former
        self._present: Embedder | None = None
        self._former: dict[str, Embedder] = {}

    @property
    def present(self) -> Embedder | None:
        """The model in use; looked for again as long as there is none, so that installing one needs no restart."""
        if self._present is None:
            self._present = self._open_chosen()
        return self._present

    def need(self) -> Embedder:
        if self.present is None:
            raise Unavailable(MISSING, code=Code.MODEL_MISSING)
        return self.present

    async def look_again(self) -> bool:
        """Whether another model than before is chosen; it is the present one from now on."""
        before = self._present
        fresh = await asyncio.to_thread(self._open_chosen)
        if fresh is None or fresh is before:
            return False
        if before is not None and fresh.recipe == before.recipe:
            await fresh.close()
            return False
        # One of the same name that came before may hold another fingerprint's files no more: the fresh one does.
        if outdated := self._former.pop(vectors_of(fresh.recipe), None):
            await outdated.close()
        self._present = fresh
        if before is not None:
            self._former[vectors_of(before.recipe)] = before
        return True

    def that_made(self, recipe: str) -> Embedder | None:
        """A model whose vectors can be compared with those of the recipe; None when it is no longer installed."""
        vectors, present = vectors_of(recipe), self.need()
        if vectors == vectors_of(present.recipe):
            return present
        if vectors not in self._former and (opened := self._open_former(recipe)):
            self._former[vectors] = opened
        return self._former.get(vectors)

    async def retire(self, recipe: str) -> None:
        """Ends the model of a recipe that answers nowhere any more."""
        if former := self._former.pop(vectors_of(recipe), None):
            await former.close()

    async def close(self) -> None:
        for embedder in (self._present, *self._former.values()):
            if embedder is not None:
                await embedder.close()

"""The vectors of the questions that were asked last: another page of an answer, or the same question again, need not be
embedded once more."""

import hashlib
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from deedbox.search import limits

if TYPE_CHECKING:
    from deedbox.search.index import Vector


class KnownQuestions:
    """In memory, and by hashes: no question is kept."""

    def __init__(self) -> None:
        self._vectors: dict[bytes, Vector] = {}
        """The least recently asked first."""

    async def vector(
        self, workspace_id: str, recipe: str, text: str, embed: Callable[[], Awaitable["Vector"]]
    ) -> "Vector":
        """The vector of a question, embedded unless it is known. What one workspace asks makes no answer to another
        faster."""
        key = hashlib.sha256("\0".join((workspace_id, recipe, text)).encode("utf-8", "surrogatepass")).digest()
        found = self._vectors.pop(key, None)
        if found is None:
            found = await embed()
        self._vectors[key] = found
        if len(self._vectors) > limits.KNOWN_QUESTIONS:
            del self._vectors[next(iter(self._vectors))]
        return found

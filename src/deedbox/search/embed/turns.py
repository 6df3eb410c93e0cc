"""Whose texts the model reads next: a little of each caller's in turn, so that nobody waits for all of another's."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from deedbox.search import limits
from deedbox.search.embed.vectors import Vector, of_windows


class WindowPart(NamedTuple):
    """Some windows of a text: so many at most, from this one on."""

    text: str
    first: int
    most: int


Read: TypeAlias = tuple[int, list[bytes]]
"""How many windows the text has, and the vectors of those that were asked for: float32, little-endian."""


class Share(NamedTuple):
    """What is read at once, for one caller."""

    texts: int
    windows: int


class _Asked:
    """The texts of one request, and what is made of them."""

    def __init__(self, texts: int) -> None:
        self.vectors: list[Vector | None] = [None] * texts
        self.left = texts
        self.answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()


class _Text:
    """A text on its way through the model."""

    def __init__(self, asked: _Asked, index: int, text: str) -> None:
        self._asked = asked
        self._index = index
        self._text = text
        self._found: list[Vector] = []
        self._windows = max(1, -(-len(text) // limits.EMBED_WINDOW_CHARS))
        """As many as its length lets expect, until the model has said it."""

    @property
    def given_up(self) -> bool:
        return self._asked.answer.done()

    def next_part(self, most: int) -> WindowPart:
        return WindowPart(self._text, len(self._found), min(most, self._windows - len(self._found)))

    def take(self, read: Read) -> bool:
        """Whether this was the last of the text."""
        self._windows, rows = read
        self._found += [np.frombuffer(row, "<f4") for row in rows]
        if len(self._found) < self._windows:
            return False
        asked = self._asked
        asked.vectors[self._index] = of_windows(self._found)
        asked.left -= 1
        if not asked.left and not asked.answer.done():
            asked.answer.set_result(None)
        return True

    def fail(self, error: Exception) -> None:
        if not self._asked.answer.done():
            self._asked.answer.set_exception(error)


class EmbeddingTurns:
    """Reads by turns. Who has had less time goes first; time that nobody else wants is free to whoever wants it."""

    def __init__(
        self, read: Callable[[Sequence[WindowPart]], Awaitable[Sequence[Read]]], share: Callable[[], Share]
    ) -> None:
        self._read = read
        self._share = share
        self._waiting: dict[str, deque[_Text]] = {}
        self._spent: dict[str, int] = {}
        """Windows read for each caller, counted from those of the caller who had least when it came."""
        self._least = 0
        self._working: asyncio.Task[None] | None = None

    async def vectors(self, texts: Sequence[str], caller: str) -> list[Vector]:
        """A unit vector for each text, in their order."""
        if not texts:
            return []
        asked = _Asked(len(texts))
        self._waiting.setdefault(caller, deque()).extend(_Text(asked, *one) for one in enumerate(texts))
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._work())
        await asked.answer
        return [vector for vector in asked.vectors if vector is not None]

    async def _work(self) -> None:
        while (caller := self._next()) is not None:
            texts, parts = self._taken(caller)
            try:
                found = await self._read(parts)
            except Exception as error:  # whatever it is, those who wait must hear of it
                for text in texts:
                    text.fail(error)
                continue
            unfinished = [text for text, read in zip(texts, found, strict=True) if not text.take(read)]
            if unfinished:
                self._waiting.setdefault(caller, deque()).extendleft(reversed(unfinished))

    def _next(self) -> str | None:
        """Of those who still wait, the one who has had least."""
        for caller, texts in list(self._waiting.items()):
            while texts and texts[0].given_up:
                texts.popleft()
            if not texts:
                del self._waiting[caller]
        return min(self._waiting, key=self._begin, default=None)

    def _begin(self, caller: str) -> int:
        # Who comes anew begins beside who has least: time that was not used is not saved up.
        return max(self._spent.get(caller, 0), self._least)

    def _taken(self, caller: str) -> tuple[list[_Text], list[WindowPart]]:
        """The caller's next texts, as many as are read at once."""
        share, waiting = self._share(), self._waiting[caller]
        texts: list[_Text] = []
        parts: list[WindowPart] = []
        windows = 0
        while waiting and len(texts) < share.texts and windows < share.windows:
            text = waiting.popleft()
            if not text.given_up:
                texts.append(text)
                parts.append(text.next_part(share.windows - windows))
                windows += parts[-1].most
        self._least = self._begin(caller)
        self._spent = {known: spent for known, spent in self._spent.items() if spent > self._least}
        self._spent[caller] = self._least + windows
        return texts, parts

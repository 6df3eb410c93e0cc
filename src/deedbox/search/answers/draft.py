"""An answer while it is being written: its passages are there, its sentences come one by one, each of them checked."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from deedbox.kernel import log
from deedbox.kernel.errors import ServiceError
from deedbox.kernel.traces import span
from deedbox.search import limits
from deedbox.search.answers import claims
from deedbox.search.answers.extracts import extracts
from deedbox.search.answers.support import Sentence
from deedbox.search.engine import SearchEngine
from deedbox.search.library.reader import SearchReader
from deedbox.search.query import best_passages as query
from deedbox.search.query.best_passages import Passage, Question

if TYPE_CHECKING:
    from deedbox.search.answers.chat import Chat

NOT_FOUND = "Not in these documents."
NOTHING_SUPPORTED = "No sentence of the answer is supported by these documents."
UNSUPPORTED = "[unsupported]"


class DraftedAnswer(msgspec.Struct, frozen=True):
    text: str
    """The sentences with their citations, those without support marked; or that there is no answer."""
    found: bool
    """Whether at least one sentence is supported."""
    complete: bool
    """Whether the model came to its end."""
    model: str | None
    """None where the sentences are taken from the passages."""
    sentences: list[Sentence]
    passages: list[Passage]


class AnswerDraft:
    """Writes in a task of its own; whoever asked may leave, and ends it with `give_up`."""

    def __init__(self, question: Question, passages: Sequence[Passage], chat: "Chat | None") -> None:
        self.passages = list(passages)
        self.model = chat.model if chat else None
        self._sentences: list[Sentence] = []
        self._shown = 0
        self._complete = True
        self._failure: Exception | None = None
        self._news = asyncio.Event()
        self._ended = False
        self._task = asyncio.create_task(self._write(question, chat))

    async def begun(self, seconds: float) -> None:
        """Waits so long for the first sentence; raises what the writing failed with, if there is none."""
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            return
        if self._failure is not None:
            raise self._failure

    async def next(self) -> Sentence | None:
        """The next sentence, when it is there; None after the last."""
        while self._shown == len(self._sentences):
            if self._failure is not None:
                raise self._failure
            if self._ended:
                return None
            self._news.clear()
            await self._news.wait()
        self._shown += 1
        return self._sentences[self._shown - 1]

    async def finished(self) -> DraftedAnswer:
        """The whole answer, when the last sentence is there."""
        while await self.next() is not None:
            pass
        return self.answer

    @property
    def answer(self) -> DraftedAnswer:
        """What there is of it."""
        found = any(sentence.supported for sentence in self._sentences)
        text = " ".join(map(_marked, self._sentences)) if found else NOTHING_SUPPORTED
        return DraftedAnswer(
            text if self._sentences else NOT_FOUND,
            found,
            self._complete,
            self.model,
            self._sentences,
            self.passages,
        )

    def give_up(self) -> None:
        """Ends the writing, and with it the request to the endpoint."""
        self._task.cancel()

    async def _write(self, question: Question, chat: "Chat | None") -> None:
        try:
            if chat is None:
                self._sentences = await asyncio.to_thread(extracts, self.passages)
            elif self.passages:
                await self._ask(question, chat)
        except ServiceError as error:
            self._failure = error
        except Exception as error:  # whoever waits for the next sentence must not wait for ever
            log.error("an answer cannot be written", exception=error)
            self._failure = ServiceError("Internal server error")
        finally:
            self._ended = True
            self._news.set()

    async def _ask(self, question: Question, chat: "Chat") -> None:
        read = claims.Claims([claims.source(passage) for passage in self.passages])
        with span("write the answer"):
            self._complete = await chat.write(
                claims.messages(question.text, self.passages), lambda text: self._add(read.read(text))
            )
        self._add(read.end())

    def _add(self, sentences: Sequence[Sentence]) -> bool:
        """Keeps the sentences; whether there is room for more."""
        room = limits.ANSWER_SENTENCES - len(self._sentences)
        if sentences:
            self._sentences += sentences[:room]
            self._news.set()
        return len(sentences) < room


class Answers:
    """Finds the passages, and begins to write."""

    def __init__(self, engine: SearchEngine, chat: "Chat | None") -> None:
        self._engine = engine
        self.chat = chat

    async def draft(self, reader: SearchReader, question: Question) -> AnswerDraft:
        passages = await query.answer(self._engine, reader, question)
        return AnswerDraft(question, passages, self.chat)

    async def close(self) -> None:
        if self.chat is not None:
            await self.chat.close()


def _marked(sentence: Sentence) -> str:
    marks = "".join(f"[{number}]" for number in sentence.citations) if sentence.supported else UNSUPPORTED
    return f"{sentence.text} {marks}"

"""A reranker behind an endpoint reads the question beside each of the best passages, and scores how well they match.

TEI takes `texts` and gives a list; Cohere, Jina and others like them take a model and `documents`, and give
`results`."""

import asyncio
import math
from collections.abc import Callable, Sequence

import msgspec

from deedbox.kernel import log
from deedbox.kernel.clock import stopwatch
from deedbox.kernel.crypto import Secret
from deedbox.kernel.egress import Egress, EgressFailed, EgressResponse, Request
from deedbox.kernel.settings import Settings
from deedbox.search import limits
from deedbox.search.endpoint import headers

_PATH = "/rerank"


class _Scored(msgspec.Struct):
    index: int
    score: float


class _Relevance(msgspec.Struct):
    index: int
    relevance_score: float


class _Results(msgspec.Struct):
    results: list[_Relevance]


_SCORES = msgspec.json.Decoder(list[_Scored] | _Results)


class RerankFailed(Exception):
    """Why the endpoint gave no scores."""


class Reranker:
    """Scores of another machine. When it fails, it is left alone for a moment: not every question waits for it."""

    def __init__(self, egress: Callable[[], Egress], url: str, model: str | None, key: Secret | None) -> None:
        self._egress = egress
        self._url = url.rstrip("/").removesuffix(_PATH) + _PATH
        self._model = model
        self._key = key
        self._rests_until = 0.0

    async def scores(self, question: str, passages: Sequence[str]) -> list[float] | None:
        """A score for each passage, higher for a better one; None when the endpoint gives none in time."""
        if stopwatch() < self._rests_until:
            return None
        try:
            return await self.ask(question, passages)
        except RerankFailed as failed:
            self._rests_until = stopwatch() + limits.RERANK_REST_SECONDS
            log.warning("the reranker failed, answers stay in the order of the index", reason=str(failed))
            return None

    async def ask(self, question: str, passages: Sequence[str]) -> list[float]:
        """The same; RerankFailed says why there are none."""
        batches = [passages[at : at + limits.RERANK_BATCH] for at in range(0, len(passages), limits.RERANK_BATCH)]
        found = await asyncio.gather(*(self._batch(question, batch) for batch in batches))
        return [score for batch in found for score in batch]

    async def _batch(self, question: str, passages: Sequence[str]) -> list[float]:
        texts = [_clean(passage[: limits.RERANK_CHARS]) for passage in passages]
        # TEI refuses what is longer than its model reads, unless it may cut it.
        of_tei = {"texts": texts, "truncate": True}
        asked = of_tei if self._model is None else {"model": self._model, "documents": texts}
        request = Request(
            "POST",
            self._url,
            headers=headers(self._key),
            body=msgspec.json.encode({"query": _clean(question), **asked}),
            seconds=limits.RERANK_SECONDS,
            limit=limits.RERANK_RESPONSE_BYTES,
        )
        try:
            answer = await self._egress().send(request)
        except EgressFailed as error:
            raise RerankFailed(error.message) from error
        return _scores(answer, len(texts))


def open_reranker(settings: Settings, egress: Callable[[], Egress]) -> Reranker | None:
    """The reranker that the settings name; None if they name none."""
    if settings.rerank_url is None:
        return None
    return Reranker(egress, settings.rerank_url, settings.rerank_model, settings.rerank_key)


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _scores(answer: EgressResponse, count: int) -> list[float]:
    """The scores in the order of the passages."""
    if answer.status in (401, 403):
        raise RerankFailed("it refuses the key; check DEEDBOX_RERANK_KEY")
    if answer.status in (404, 422):
        raise RerankFailed(
            f"status {answer.status}; check DEEDBOX_RERANK_URL, and DEEDBOX_RERANK_MODEL, which TEI has not"
        )
    if answer.status != 200:
        raise RerankFailed(f"it answered with status {answer.status}")
    if answer.truncated:
        raise RerankFailed("its answer is too large")
    try:
        said = _SCORES.decode(answer.body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RerankFailed("its answer is no list of scores") from error
    found = (
        {one.index: one.relevance_score for one in said.results}
        if isinstance(said, _Results)
        else {one.index: one.score for one in said}
    )
    if sorted(found) != list(range(count)) or not all(math.isfinite(score) for score in found.values()):
        raise RerankFailed(f"it gave {len(found)} usable scores for {count} passages")
    return [found[number] for number in range(count)]

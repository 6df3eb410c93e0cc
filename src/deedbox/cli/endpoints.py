"""What `deedbox doctor` asks of the endpoints of models: embeddings, reranker, chat. Each for a word."""

import asyncio
import tempfile
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

from deedbox.cli import limits
from deedbox.cli.finding import Finding
from deedbox.kernel.egress import Egress
from deedbox.kernel.errors import ServiceError
from deedbox.kernel.settings import Settings
from deedbox.search.endpoint import ModelEndpoint

_PRIVATE = "an address that is not public needs DEEDBOX_EGRESS_ALLOW."


def embeddings(loaded: Settings) -> Iterator[Finding]:
    if loaded.embedding_url is None or loaded.embedding_model is None:
        return
    from deedbox.search.embed.remote import RemoteEmbedder

    endpoint = ModelEndpoint(loaded.embedding_url, loaded.embedding_model, loaded.embedding_key)
    what, size, overlap = f"{endpoint.model} at {endpoint.url}", loaded.chunk_size, loaded.chunk_overlap

    async def ask(egress: Egress) -> str:
        # What an endpoint answers first is noted beside the models; here it counts for nothing.
        with tempfile.TemporaryDirectory() as folder:
            asked = RemoteEmbedder(egress, endpoint, Path(folder), size=size, overlap=overlap)
            try:
                return f"{what}, {len((await asked.embed(['yes'], urgent=True))[0])} dimensions"
            finally:
                await asked.close()

    step = f"Check DEEDBOX_EMBEDDING_URL and DEEDBOX_EMBEDDING_MODEL; {_PRIVATE} Nothing is indexed meanwhile."
    yield _found(loaded, "model", ask, step)


def reranker(loaded: Settings) -> Iterator[Finding]:
    if (url := loaded.rerank_url) is None:
        return
    from deedbox.search.query.rerank import Reranker, RerankFailed

    async def ask(egress: Egress) -> str:
        try:
            await Reranker(lambda: egress, url, loaded.rerank_model, loaded.rerank_key).ask("yes", ["yes"])
        except RerankFailed as failed:
            raise ServiceError(f"{url}: {failed}") from failed
        return f"{url} orders passages"

    step = f"Check DEEDBOX_RERANK_URL; {_PRIVATE} Answers stay in the order of the index meanwhile."
    yield _found(loaded, "reranker", ask, step)


def chat(loaded: Settings) -> Iterator[Finding]:
    if loaded.chat_url is None or loaded.chat_model is None:
        return
    from deedbox.search.answers.chat import Chat

    endpoint = ModelEndpoint(loaded.chat_url, loaded.chat_model, loaded.chat_key)

    async def ask(egress: Egress) -> str:
        asked, said = Chat(lambda: egress, endpoint), [{"role": "user", "content": "Say yes."}]
        tokens, seconds = limits.DOCTOR_CHAT_TOKENS, limits.DOCTOR_CHAT_SECONDS
        try:
            await asked.write(said, lambda _: True, tokens=tokens, seconds=seconds)
        finally:
            await asked.close()
        return f"{endpoint.model} at {endpoint.url} answers"

    step = f"Check DEEDBOX_CHAT_URL and DEEDBOX_CHAT_MODEL; {_PRIVATE}"
    yield _found(loaded, "chat", ask, f"{step} No answers are written meanwhile; queries go on.")


def _found(
    loaded: Settings, subject: str, ask: Callable[[Egress], Coroutine[Any, Any, str]], next_step: str
) -> Finding:
    """What the endpoint's answer tells; why it gave none, and what to do."""

    async def asked() -> str:
        egress = Egress(loaded.egress_allow)
        try:
            return await ask(egress)
        finally:
            await egress.close()

    try:
        return Finding(subject, "good", asyncio.run(asked()))
    except ServiceError as error:
        return Finding(subject, "bad", error.message, next_step)

"""A model behind an OpenAI-compatible endpoint. Chunks are cut by an estimate of its tokens."""

import asyncio
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from deedbox.kernel.egress import Egress, EgressFailed, EgressResponse, Request, TookTooLong
from deedbox.kernel.errors import ServiceError, TimedOut, Unavailable
from deedbox.kernel.sandbox import SandboxKind
from deedbox.kernel.sandbox.pool import Sandbox
from deedbox.search import limits
from deedbox.search.embed import NO_PREFIXES, Prefixes, Role, recipe_name
from deedbox.search.endpoint import ModelEndpoint
from deedbox.search.library.upload import Chunk, Extraction

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deedbox.search.embed import Vectors

_ESTIMATE = "deedbox.search.embed.estimate"


class _Embedding(msgspec.Struct):
    embedding: list[float]
    index: int


class _Embeddings(msgspec.Struct):
    data: list[_Embedding]


_EMBEDDINGS = msgspec.json.Decoder(_Embeddings)


class RemoteEmbedder:
    """Vectors from another machine. `dimensions` is 0 until it has answered once; after that, also after a restart, all
    must have as many. The number is noted in the folder of the models."""

    def __init__(
        self,
        egress: Egress,
        endpoint: ModelEndpoint,
        folder: Path,
        prefixes: Prefixes = NO_PREFIXES,
        *,
        size: int,
        overlap: int,
    ) -> None:
        self._egress = egress
        self._url = endpoint.at("embeddings")
        self._endpoint = endpoint
        self._model = endpoint.model
        self._prefixes = prefixes
        self._size = size
        self._overlap = overlap
        self._place = hashlib.sha256(f"{self._url} {self._model}".encode()).hexdigest()
        self._note = folder / f".endpoint-{self._place[:16]}"
        self._dimensions = _noted(self._note)
        self._sandbox = Sandbox(
            SandboxKind(
                name="estimate",
                preload=(_ESTIMATE,),
                cpu_seconds=limits.EMBED_BULK_SECONDS,
                seconds=limits.EMBED_BULK_SECONDS,
            )
        )

    @property
    def name(self) -> str:
        return self._model

    @property
    def dimensions(self) -> int:
        return self._dimensions

    @property
    def recipe(self) -> str:
        return recipe_name(self._model, self._place, self._size, self._overlap, self._prefixes)

    async def warm(self) -> None:
        """Does nothing: the endpoint is ready."""

    async def split(self, extraction: Extraction) -> list[Chunk]:
        """The text as chunks of at most so many estimated tokens."""
        from deedbox.search.indexing.chunk import cut

        headings = [offset for offset, _ in extraction.headings]
        found = await self._sandbox.call(f"{_ESTIMATE}:split", extraction.text, headings, self._size, self._overlap)
        return await asyncio.to_thread(cut, extraction, found)

    async def embed(
        self,
        texts: Sequence[str],
        *,
        urgent: bool,  # noqa: ARG002 (who else waits is the endpoint's matter)
        caller: str = "",  # noqa: ARG002
        role: Role | None = None,
    ) -> "Vectors":
        """A unit vector for each text."""
        import numpy as np

        before = self._prefixes.before(role)
        rows = [
            await self._batch([before + text for text in texts[first : first + limits.EMBED_BULK_BATCH]])
            for first in range(0, len(texts), limits.EMBED_BULK_BATCH)
        ]
        return np.concatenate(rows) if rows else np.zeros((0, self._dimensions), np.float32)

    async def _batch(self, texts: Sequence[str]) -> "Vectors":
        import numpy as np

        rows = _rows(await self._asked(texts), len(texts))
        widths = {len(row) for row in rows}
        if len(widths) != 1 or not 0 < (width := widths.pop()) <= limits.REMOTE_DIMENSIONS:
            raise _failed("gave vectors of no usable length")
        if self._dimensions not in (0, width):
            raise _failed(
                f"gave vectors of {width} dimensions where it gave {self._dimensions} before. If another model runs"
                f" there now, remove {self._note} and restart"
            )
        vectors: NDArray[np.float64] = np.array(rows, np.float64)
        with np.errstate(over="ignore"):
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or not lengths.all():
            raise _failed("gave a vector without direction")
        if self._dimensions == 0:
            self._note.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._note.write_text(str(width), encoding="ascii")
            self._dimensions = width
        made: Vectors = (vectors / lengths).astype(np.float32)
        return made

    async def _asked(self, texts: Sequence[str]) -> EgressResponse:
        clean = [text.encode("utf-8", "replace").decode() for text in texts]
        body = msgspec.json.encode({"model": self._model, "input": clean, "encoding_format": "float"})
        try:
            return await self._egress.send(
                Request(
                    "POST",
                    self._url,
                    headers=self._endpoint.headers,
                    body=body,
                    seconds=limits.EMBED_SECONDS,
                    limit=limits.REMOTE_RESPONSE_BYTES,
                )
            )
        except TookTooLong as error:
            raise TimedOut("Request took too long: the embedding endpoint did not answer in time") from error
        except EgressFailed as error:
            raise Unavailable(f"The embedding endpoint cannot be used. {error.message}.") from error

    async def close(self) -> None:
        await self._sandbox.close()


def _noted(note: Path) -> int:
    """The dimensions that were learnt before; 0 when none were."""
    try:
        return int(note.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return 0


def _rows(answer: EgressResponse, count: int) -> list[list[float]]:
    """The vectors in the order of the texts; Unavailable with the reason if the answer has none."""
    if answer.status in (401, 403):
        raise _failed("refuses the key; check DEEDBOX_EMBEDDING_KEY")
    if answer.status == 404:
        raise _failed("does not know the model or the path; check DEEDBOX_EMBEDDING_URL and DEEDBOX_EMBEDDING_MODEL")
    if answer.status != 200:
        raise _failed(f"answered with status {answer.status}")
    if answer.truncated:
        raise _failed("gave an answer that is too large")
    try:
        found = _EMBEDDINGS.decode(answer.body).data
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _failed("gave an answer that is no list of vectors") from error
    if sorted(one.index for one in found) != list(range(count)):
        raise _failed(f"gave {len(found)} vectors for {count} texts")
    return [one.embedding for one in sorted(found, key=lambda one: one.index)]


def _failed(what: str) -> ServiceError:
    return Unavailable(f"The embedding endpoint {what}.")

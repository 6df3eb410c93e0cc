"""A library in this process: the chunks, vectors, index and fusion of the product, without server and database."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.corpus import Floats
from bench.measure import temporary_folder
from deedbox.kernel import limits
from deedbox.kernel.clock import stopwatch
from deedbox.search import limits as search_limits
from deedbox.search.embed import models
from deedbox.search.embed.local import LocalEmbedder
from deedbox.search.extract.text import clean
from deedbox.search.index import ChunkEntry, Hit, IndexChange
from deedbox.search.index.local import LocalIndex
from deedbox.search.library.upload import Chunk, Extraction
from deedbox.search.query import query_syntax
from deedbox.search.query.fusion import fuse
from deedbox.search.query.query_syntax import Wording

AT_ONCE = 64


class Direct:
    """Documents by their names, each chunk by its text."""

    def __init__(self, embedder: LocalEmbedder, folder: Path, runner: asyncio.Runner) -> None:
        self._embedder = embedder
        self._index = LocalIndex(folder, embedder.dimensions, embedder.recipe)
        self._runner = runner
        self._names: list[str] = []
        self._texts: dict[tuple[str, int], str] = {}
        self._asked: dict[str, Floats] = {}

    def fill(self, documents: dict[str, str]) -> None:
        begun = stopwatch()
        self._names = list(documents)
        cut = self._runner.run(self._cut(list(documents.values())))
        self._texts = {(upload_id(at), one.number): one.text for at, parts in enumerate(cut) for one in parts}
        rows = iter(self._runner.run(self._vectors(list(self._texts.values()))))
        for first in range(0, len(cut), AT_ONCE):
            some = [
                IndexChange(upload_id(at), self._entries(self._names[at], parts, rows))
                for at, parts in enumerate(cut[first : first + AT_ONCE], first)
            ]
            self._index.apply(some, first + len(some))
        print(f"{len(documents)} documents, {len(self._texts)} chunks, in {stopwatch() - begun:.0f} s", flush=True)

    async def _cut(self, texts: list[str]) -> list[list[Chunk]]:
        return [await self._embedder.split(Extraction(clean(text), None, [])) for text in texts]

    async def _vectors(self, texts: list[str]) -> list[Floats]:
        rows: list[Floats] = []
        for first in range(0, len(texts), AT_ONCE):
            rows += list(await self._embedder.embed(texts[first : first + AT_ONCE], urgent=False, role="passage"))
        return rows

    def _entries(self, name: str, parts: list[Chunk], rows: Iterator[Floats]) -> list[ChunkEntry]:
        return [
            ChunkEntry(one.number, one.text, next(rows).astype("<f4").tobytes(), "" if at else name)
            for at, one in enumerate(parts)
        ]

    def ranked(self, query: str, mode: str) -> list[str]:
        """The best documents, best first."""
        words = query_syntax.read(query)
        if mode != "semantic":
            words = words.corrected(self._index.corrected(words.doubtful))
        admitted = [
            hit for hit in self._hits(words, query, mode) if words.admits(self._texts[hit.upload_id, hit.number])
        ]
        return list(dict.fromkeys(self._names[int(hit.upload_id.removeprefix("upl_"))] for hit in admitted))

    def _hits(self, words: Wording, query: str, mode: str) -> list[Hit]:
        top = search_limits.SIFTED_CANDIDATES if words.sifts else search_limits.LEG_CANDIDATES
        if mode == "keyword":
            return self._index.words(words.text, top, None, words.sieve)
        if query not in self._asked:
            asked = self._embedder.embed([query_syntax.read(query).meaning], urgent=True, role="query")
            self._asked[query] = self._runner.run(asked)[0]
        if mode == "semantic":
            return self._index.near(self._asked[query], top)
        return fuse(self._index.candidates(self._asked[query], words.text, top, None, words.sieve), top)


def upload_id(number: int) -> str:
    return f"upl_{number:026d}"


@contextmanager
def direct(models_dir: Path) -> Iterator[Direct]:
    """An empty library with the model in use there."""
    model = models.current(models_dir)
    if model is None:
        raise SystemExit(f"No model is in use in {models_dir}.")
    embedder = LocalEmbedder(models_dir, model, size=limits.CHUNK_TOKENS, overlap=limits.CHUNK_OVERLAP)
    with temporary_folder() as folder, asyncio.Runner() as runner:
        try:
            yield Direct(embedder, folder / "index", runner)
        finally:
            runner.run(embedder.close())

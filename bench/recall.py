"""How many of the nearest chunks the semantic leg finds on real text: recall against an exact search, the mean of all
queries and the worst, beside the time of a search.

A set is a JSON file as of bench.ranking. The sets are one library; each document is one upload of one chunk.

Usage: python -m bench.recall SET.json [SET.json ...] [--keep VECTORS.npz] [--small]"""

import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np

from bench.client import MODELS, default_model
from bench.corpus import Floats
from bench.measure import median, temporary_folder
from bench.options import Options, tell
from bench.query import times
from bench.ranking import SAMPLE
from deedbox.kernel import limits
from deedbox.search import limits as search_limits
from deedbox.search.embed.local import LocalEmbedder
from deedbox.search.index import ChunkEntry, IndexChange
from deedbox.search.index.local import LocalIndex

AT_ONCE = 32


def texts(sets: list[Path]) -> tuple[list[str], list[str]]:
    """Documents and queries."""
    documents: list[str] = []
    queries: list[str] = []
    for judged in [json.loads(path.read_text(encoding="utf-8")) for path in sets] or [SAMPLE]:
        documents += [f"{title}\n\n{text}".strip() or "-" for title, text in judged["docs"].values()]
        queries += judged["queries"].values()
    return documents, queries


async def embedded(some: list[str]) -> Floats:
    embedder = LocalEmbedder(MODELS, default_model(), size=limits.CHUNK_TOKENS, overlap=limits.CHUNK_OVERLAP)
    try:
        found = [await embedder.embed(some[at : at + AT_ONCE], urgent=False) for at in range(0, len(some), AT_ONCE)]
    finally:
        await embedder.close()
    return np.concatenate(found)


def vectors(sets: list[Path], keep: Path | None) -> tuple[Floats, Floats]:
    """Of documents and queries: those that were kept, or made now."""
    if keep is not None and keep.exists():
        with np.load(keep) as kept:
            return kept["documents"], kept["queries"]
    documents, queries = (asyncio.run(embedded(some)) for some in texts(sets))
    if keep is not None:
        np.savez(keep, documents=documents, queries=queries)
    return documents, queries


def measure(wish: Any, folder: Path, documents: Floats, queries: Floats) -> None:
    """Fills an index one upload after another, as people do, and prints the figures."""
    search_limits.INDEX_EXACT_CHUNKS = 0  # what the bits find, however few chunks there are
    index, top = LocalIndex(folder, documents.shape[1], "bench"), search_limits.LEG_CANDIDATES
    for begin in range(0, len(documents), AT_ONCE):
        block = documents[begin : begin + AT_ONCE]
        entries = [ChunkEntry(0, "-", row.astype("<f4").tobytes()) for row in block]
        changes = [IndexChange(f"upl_{begin + at:026d}", [made]) for at, made in enumerate(entries)]
        index.apply(changes, begin + len(block))
    exact = np.argsort(-(queries @ documents.T), axis=1, kind="stable")[:, :top]
    recalls = []
    for query, best in zip(queries, exact.tolist(), strict=True):
        found = {int(hit.upload_id.removeprefix("upl_")) for hit in index.near(query, top)}
        recalls.append(len(found & set(best)) / len(best))
    spent = times(lambda number: index.near(queries[number], top), len(queries))
    index.close()
    print(
        f"{len(documents):,} chunks, {len(queries)} queries: recall@{top} {np.mean(recalls):.4f}, worst query"
        f" {min(recalls):.2f}   near p50 {median(spent):.2f} ms   (aim: recall at least 0.99)"
    )
    tell(wish, recall=f"{np.mean(recalls):.4f}", worst=f"{min(recalls):.2f}", near=f"{median(spent):.2f} ms")


def main() -> None:
    options = Options(__doc__)
    options.size("queries", 1_000_000, small=2, help="at most so many of the sets'")
    options.add_argument("sets", type=Path, nargs="*", help="not needed for --small, which brings a set of its own")
    options.add_argument("--keep", type=Path, help="embeds once, so that two versions can be measured on the same")
    wish = options.wish()
    if not wish.sets and not wish.small:
        options.error("which sets? Their shape is that of bench.ranking's")
    with temporary_folder() as folder:
        documents, queries = vectors(wish.sets, wish.keep)
        measure(wish, folder / "index", documents, queries[: wish.queries])


if __name__ == "__main__":
    main()

"""The query engine without embedding: both legs of a hybrid query and their fusion, at growing sizes; recall of the
vectors against an exact float search; memory and time to open; beside LanceDB and Chroma at 100,000 in the same run.

Usage: python -m bench.query [--sizes 1000 10000 100000] [--million] [--queries 100] [--no-peers] [--small]"""

import ctypes
import gc
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench.corpus import DIMENSIONS, WORDS_PER_QUERY, Corpus, Floats
from bench.measure import median, peers_python, process, temporary_folder
from bench.options import NOT_MEASURED, Options, tell
from deedbox.kernel.clock import stopwatch
from deedbox.search import limits
from deedbox.search.index import Candidate, ChunkEntry, Hit, IndexChange
from deedbox.search.index.local import LocalIndex
from deedbox.search.query.fusion import fuse

CHUNKS_PER_UPLOAD = 10
PEERS_AT = 100_000
TOP = 10
ROUNDS = 5


@dataclass(frozen=True)
class Asked:
    vectors: Floats
    texts: list[str]
    exact: list[list[int]]
    """The rows that an exact float search finds for each query."""


class Times(NamedTuple):
    """Milliseconds of each query."""

    hybrid: list[float]
    near: list[float]
    words: list[float]


def memory_mb(kind: str = "RssAnon") -> float:
    """This process's own memory; mapped files, which the system can drop, count as RssFile."""
    status = Path("/proc/self/status")
    if not status.exists():
        return float("nan")
    return int(status.read_text().split(f"{kind}:")[1].split()[0]) / 1024


def trim() -> None:
    gc.collect()
    if sys.platform == "linux":
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def upload_id(row: int) -> str:
    return f"upl_{row // CHUNKS_PER_UPLOAD:026d}"


def changes(vectors: Floats, texts: list[str], begin: int) -> Iterator[IndexChange]:
    for at in range(0, len(vectors), CHUNKS_PER_UPLOAD):
        rows = range(at, min(at + CHUNKS_PER_UPLOAD, len(vectors)))
        entries = [ChunkEntry(row - at, texts[row], vectors[row].astype("<f4").tobytes()) for row in rows]
        yield IndexChange(upload_id(begin + at), entries)


def built(folder: Path, corpus: Corpus, size: int, queries: int, keep: Path | None) -> Asked:
    """Fills an index, and finds the exact answers to the queries on the way."""
    index = LocalIndex(folder, DIMENSIONS, "bench")
    asked = corpus.vectors(queries)
    texts = corpus.texts(queries, WORDS_PER_QUERY)
    best = np.full((queries, TOP), -2, np.float32)
    rows = np.zeros((queries, TOP), np.int64)
    done = 0
    for vectors, chunks in corpus.blocks(size):
        index.apply(changes(vectors, chunks, done), done + len(vectors))
        scores = np.concatenate([best, asked @ vectors.T], axis=1)
        places = np.concatenate(
            [rows, np.broadcast_to(np.arange(done, done + len(vectors)), (queries, len(vectors)))], 1
        )
        order = np.argsort(-scores, axis=1, kind="stable")[:, :TOP]
        best, rows = np.take_along_axis(scores, order, 1), np.take_along_axis(places, order, 1)
        done += len(vectors)
        if keep is not None:
            np.save(keep / f"{done:09d}.npy", vectors)
            (keep / f"{done:09d}.txt").write_text("\n".join(chunks))
    index.close()
    return Asked(asked, texts, rows.tolist())


def times(work: Callable[[int], object], queries: int) -> list[float]:
    """Milliseconds of each query, in the quietest round after one to warm up."""
    rounds = []
    for _ in range(ROUNDS):
        spent = []
        for number in range(queries):
            begun = stopwatch()
            work(number)
            spent.append((stopwatch() - begun) * 1000)
        rounds.append(spent)
    return min(rounds[1:], key=median)


def shown(name: str, spent: list[float]) -> str:
    return f"{name} p50 {median(spent):.2f} ms  p99 {np.percentile(spent, 99):.2f} ms"


class Engine:
    """An open index, asked as the server asks it."""

    def __init__(self, folder: Path, asked: Asked) -> None:
        self.index = LocalIndex(folder, DIMENSIONS, "bench")
        self._asked = asked

    def times(self) -> Times:
        """Of both legs with their fusion, and of each alone."""
        queries, top = len(self._asked.texts), limits.LEG_CANDIDATES
        return Times(
            times(lambda number: fuse(self._candidates(number, top), top), queries),
            times(lambda number: self._near(number, top), queries),
            times(lambda number: self._words(number, top), queries),
        )

    def recall(self) -> float:
        found = 0
        for number, exact in enumerate(self._asked.exact):
            hits = {(hit.upload_id, hit.number) for hit in self._near(number, TOP)}
            found += sum((upload_id(row), row % CHUNKS_PER_UPLOAD) in hits for row in exact)
        return found / len(self._asked.exact) / TOP

    def _candidates(self, number: int, top: int) -> list[Candidate]:
        return self.index.candidates(self._asked.vectors[number], self._asked.texts[number], top)

    def _near(self, number: int, top: int) -> list[Hit]:
        return self.index.near(self._asked.vectors[number], top)

    def _words(self, number: int, top: int) -> list[Hit]:
        return self.index.words(self._asked.texts[number], top)


def measure(folder: Path, size: int, asked: Asked) -> tuple[Times, float]:
    """Prints the figures of one size; times, and recall@10."""
    trim()
    before = memory_mb()
    begun = stopwatch()
    engine = Engine(folder, asked)
    opened = (stopwatch() - begun) * 1000
    trim()
    taken = memory_mb() - before
    spent, recall = engine.times(), engine.recall()
    print(f"{size:9,d} vectors: {shown('hybrid', spent.hybrid)}  recall@10 {recall:.4f}")
    print(f"{'':19}{shown('near', spent.near)};  {shown('words', spent.words)}  ({limits.LEG_CANDIDATES} of each leg)")
    print(
        f"{'':19}opened in {opened:.0f} ms; {taken:.0f} MB of memory, {taken / size * 100_000:.1f} MB per 100,000; "
        f"{engine.index.size_bytes / 1e6:.0f} MB on disk, of which {size * DIMENSIONS * 4 / 1e6:.0f} MB floats, mapped",
        flush=True,
    )
    engine.index.close()
    return spent, recall


def compare(folder: Path, chunks: Path, before: Times, asked: Asked) -> dict[str, str]:
    """The same chunks and queries in the peers, each in its own process; ours is measured again after them.
    How many times as long each peer takes."""
    np.save(chunks / "queries.npy", asked.vectors)
    (chunks / "queries.txt").write_text("\n".join(asked.texts))
    (chunks / "exact.json").write_text(json.dumps(asked.exact))
    python = peers_python()
    figures: dict[tuple[str, str], dict[str, Any]] = {}
    for name in ("lancedb", "chroma"):
        command = [python, "-m", "bench.peers.vector_stores", name, str(chunks), str(limits.LEG_CANDIDATES)]
        with process(command) as child:
            assert child.stdout is not None
            figures |= {(name, way): it for way, it in json.loads(child.stdout.read().splitlines()[-1]).items()}
    engine = Engine(folder, asked)
    after = engine.times()
    engine.index.close()
    # The machine may have been busy at either time.
    ours = {
        "hybrid": min(median(before.hybrid), median(after.hybrid)),
        "vectors": min(median(before.near), median(after.near)),
    }
    print(f"{'':19}beside them: hybrid p50 {ours['hybrid']:.2f} ms, near p50 {ours['vectors']:.2f} ms")
    times: dict[str, str] = {}
    for (name, way), it in figures.items():
        recall = "" if it["recall"] is None else f"  recall@10 {it['recall']:.4f}"
        ratio = it["p50"] / ours["hybrid" if way == "hybrid" else "vectors"]
        print(
            f"{'':19}{name}, {way}: p50 {it['p50']:.2f} ms  p99 {it['p99']:.2f} ms{recall}   ratio = {ratio:.1f}"
            "  (aim at least 5)",
            flush=True,
        )
        if name not in times or way == "hybrid":  # Chroma has no words of its own
            times[name] = f"{ratio:.1f} ×"
    return times


def main() -> None:
    options = Options(__doc__, peers="LanceDB and Chroma")
    options.size("sizes", [1_000, 10_000, 100_000], small=[200])
    options.size("queries", 100, small=3)
    options.add_argument("--million", action="store_true", help="also 1,000,000 vectors: 4 GB of disk, some minutes")
    wish = options.wish()
    tell(wish, lancedb=NOT_MEASURED, chroma=NOT_MEASURED)
    print("engine without embedding (aim: p50 at most 3 ms at 100,000 and 20 ms at 1,000,000; recall@10 at least 0.99)")
    for size in [*wish.sizes, *([1_000_000] if wish.million else [])]:
        with temporary_folder() as folder:
            compared = wish.peers and size == PEERS_AT
            keep = folder / "chunks"
            keep.mkdir()
            asked = built(folder / "index", Corpus(), size, wish.queries, keep if compared else None)
            spent, recall = measure(folder / "index", size, asked)
            if size == max(wish.sizes):
                tell(wish, hybrid=f"{median(spent.hybrid):.1f} ms", recall=f"{recall:.2f}")
            if compared:
                tell(wish, **compare(folder / "index", keep, spent, asked))


if __name__ == "__main__":
    main()

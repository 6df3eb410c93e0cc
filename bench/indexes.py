"""The two indexes beside each other, and PostgreSQL's own means beside both: hybrid queries (both legs and their
fusion, without embedding) on the local index and in PostgreSQL, then ts_rank and a bare pgvector query on the same
chunks. With --set, instead, nDCG@10 of hybrid queries on a judged set (as bench.ranking takes it, each document one
chunk) for both, and for PostgreSQL with a graph too.

Recall is against an exact float search. Scores of both indexes are compared, and must be the same.

Usage: python -m bench.indexes [--postgres postgresql://…/postgres] [--chunks 20000] [--queries 100] [--rounds 3]
       python -m bench.indexes [--postgres postgresql://…/postgres] --set SET.json"""

import asyncio
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import psycopg

from bench import postgres
from bench.corpus import DIMENSIONS, WORDS_PER_QUERY, Corpus, Floats
from bench.lifecycle import administer
from bench.measure import median, temporary_folder
from bench.options import Options, tell
from bench.query import CHUNKS_PER_UPLOAD, changes, upload_id
from bench.ranking import ndcg
from bench.recall import vectors as embedded_vectors
from deedbox.kernel.clock import stopwatch
from deedbox.kernel.db import migrate
from deedbox.kernel.db.postgres import PostgresDatabase
from deedbox.search import limits
from deedbox.search.index import ChunkEntry, Index, IndexChange
from deedbox.search.index.folders import IndexFolders
from deedbox.search.index.postgres.indexes import PostgresIndexes
from deedbox.search.index.postgres.store import indexes as index_rows
from deedbox.search.query.fusion import fuse

Connection: TypeAlias = "psycopg.Connection[tuple[object, ...]]"
TOP = 10
DATABASE = f"bench_indexes_{os.getpid()}"
PLACE = ("bench", "recipe")


class Questions:
    """Queries, and the rows that an exact float search finds for each."""

    def __init__(self, corpus: Corpus, count: int) -> None:
        self.vectors = corpus.vectors(count)
        self.texts = corpus.texts(count, WORDS_PER_QUERY)
        self._best = np.full((count, TOP), -2, np.float32)
        self.exact = np.zeros((count, TOP), np.int64)

    def see(self, vectors: Floats, begin: int) -> None:
        """Counts more rows among those that can be found."""
        scores = np.concatenate([self._best, self.vectors @ vectors.T], axis=1)
        new = np.broadcast_to(np.arange(begin, begin + len(vectors)), (len(self.texts), len(vectors)))
        rows = np.concatenate([self.exact, new], axis=1)
        order = np.argsort(-scores, axis=1, kind="stable")[:, :TOP]
        self._best, self.exact = np.take_along_axis(scores, order, 1), np.take_along_axis(rows, order, 1)

    def recall(self, near: Callable[[int], set[tuple[str, int]]]) -> float:
        """Which part of the ten nearest is found."""
        found = [
            sum((upload_id(row), row % CHUNKS_PER_UPLOAD) in near(number) for row in rows)
            for number, rows in enumerate(self.exact.tolist())
        ]
        return sum(found) / len(found) / TOP


def fill(indexes: Mapping[str, Index], connection: Connection, size: int, queries: int) -> Questions:
    """The same chunks in these indexes and in a plain table; says how long each took."""
    exact, limits.INDEX_EXACT_CHUNKS = limits.INDEX_EXACT_CHUNKS, size  # so that the graph is made at the end
    corpus, done, plain = Corpus(), 0, "plain table for ts_rank"
    spent = dict.fromkeys([*indexes, plain], 0.0)
    questions = Questions(corpus, queries)
    connection.execute("create table plain (upload_id text, number int, body text)")
    for vectors, texts in corpus.blocks(size):
        for name, index in indexes.items():
            begun = stopwatch()
            index.apply(changes(vectors, texts, done), done + len(vectors))
            spent[name] += stopwatch() - begun
        begun = stopwatch()
        with connection.cursor().copy("copy plain from stdin") as copy:
            for row, text in enumerate(texts, done):
                copy.write_row((upload_id(row), row % CHUNKS_PER_UPLOAD, text))
        spent[plain] += stopwatch() - begun
        questions.see(vectors, done)
        done += len(vectors)
    begun = stopwatch()
    connection.execute("create index on plain using gin (to_tsvector('english', body))")
    connection.execute("analyze plain")
    spent[plain] += stopwatch() - begun
    limits.INDEX_EXACT_CHUNKS = exact
    told = ", ".join(f"{name} {seconds:.0f}" for name, seconds in spent.items())
    print(f"filled in (s): {told}; load {os.getloadavg()[0]:.1f}", flush=True)
    return questions


def times(work: Callable[[int], object], queries: int, rounds: int) -> str:
    """Of the quietest round after one to warm up."""
    best = quietest(work, queries, rounds)
    return f"p50 {median(best):6.2f} ms  p99 {np.percentile(best, 99):6.2f} ms"


def quietest(work: Callable[[int], object], queries: int, rounds: int) -> list[float]:
    """Milliseconds of each query, in the quietest round after one to warm up."""
    spent = []
    for _ in range(rounds + 1):
        each = []
        for number in range(queries):
            begun = stopwatch()
            work(number)
            each.append((stopwatch() - begun) * 1000)
        spent.append(each)
    return min(spent[1:], key=median)


def measure(name: str, index: Index, asked: Questions, rounds: int) -> str:
    """How long its hybrid queries take."""
    top, queries = limits.LEG_CANDIDATES, len(asked.texts)
    spent = times(hybrid(index, asked), queries, rounds)
    print(f"  {name:24} hybrid   {spent}   recall@{TOP} {recall(index, asked):.4f}")
    print(f"  {'':24} near     {times(lambda n: index.near(asked.vectors[n], top), queries, rounds)}")
    print(f"  {'':24} words    {times(lambda n: index.words(asked.texts[n], top), queries, rounds)}", flush=True)
    return spent


def hybrid(index: Index, asked: Questions) -> Callable[[int], object]:
    """Both legs of a query and their fusion."""
    top = limits.LEG_CANDIDATES
    return lambda number: fuse(index.candidates(asked.vectors[number], asked.texts[number], top), top)


def recall(index: Index, asked: Questions) -> float:
    def nearest(number: int) -> set[tuple[str, int]]:
        hits = index.near(asked.vectors[number], limits.LEG_CANDIDATES)
        return {(hit.upload_id, hit.number) for hit in hits[:TOP]}

    return asked.recall(nearest)


def measure_plain(connection: Connection, asked: Questions, rounds: int) -> None:
    top, queries = limits.LEG_CANDIDATES, len(asked.texts)
    half = f"halfvec({DIMENSIONS})"
    connection.execute("set hnsw.iterative_scan = 'strict_order'")
    connection.execute(f"set hnsw.ef_search = {limits.GRAPH_SEARCH_MIN}")

    def nearest(number: int) -> set[tuple[str, int]]:
        rows = connection.execute(
            f"select upload_id, number from search_index_chunks where index_id = 1"
            f" order by cast(vector as {half}) <#> %s::{half} limit {top}",
            [str(asked.vectors[number].tolist())],
        ).fetchall()
        return {(str(row[0]), int(str(row[1]))) for row in rows[:TOP]}

    def ranked(number: int) -> object:
        return connection.execute(
            "select upload_id, number, ts_rank(to_tsvector('english', body), q) as score"
            " from plain, to_tsquery('english', %s) q where to_tsvector('english', body) @@ q"
            f" order by score desc limit {top}",
            [" | ".join(asked.texts[number].split())],
        ).fetchall()

    spent = times(nearest, queries, rounds)
    print(f"  {'pgvector alone':24} near     {spent}   recall@{TOP} {asked.recall(nearest):.4f}")
    print(f"  {'ts_rank alone':24} words    {times(ranked, 2, 1)}   (2 queries)", flush=True)


def compare(local: Index, other: Index, asked: Questions) -> None:
    """The scores of the words must be the same; so must the cosines of what both find."""
    for vector, text in zip(asked.vectors, asked.texts, strict=True):
        if local.words(text, limits.LEG_CANDIDATES) != other.words(text, limits.LEG_CANDIDATES):
            raise SystemExit(f"The two indexes rank {text!r} differently.")
        mine = {(hit.upload_id, hit.number): hit.score for hit in local.near(vector, TOP)}
        theirs = {(hit.upload_id, hit.number): hit.score for hit in other.near(vector, TOP)}
        if any(mine[place] != theirs[place] for place in mine.keys() & theirs.keys()):
            raise SystemExit("The two indexes give one chunk two cosines.")
    print(f"both rank the words of {len(asked.texts)} queries alike, and give the same cosines to the last bit")


@contextmanager
def database(server: str) -> Iterator[str]:
    administer(server, f"drop database if exists {DATABASE} with (force)")
    administer(server, f"create database {DATABASE}")
    url = psycopg.conninfo.make_conninfo(server, dbname=DATABASE)
    try:
        migrate.migrate_postgres(url)
        yield url
    finally:
        administer(server, f"drop database if exists {DATABASE} with (force)")


def settle(db: PostgresDatabase, index: Index) -> None:
    """Waits for the graph, where the index is large enough for one."""
    begun = stopwatch()
    while index.size > limits.INDEX_EXACT_CHUNKS:
        found = db.read_here(lambda tx: index_rows.find(tx, PLACE))
        if found and found.graph:
            print(f"the graph took {stopwatch() - begun:.0f} s more")
            break
        db.read_here(index.look)
        time.sleep(0.5)


def judge(path: Path, folder: Path, url: str) -> None:
    """nDCG@10 of hybrid queries on a judged set."""
    judged = json.loads(path.read_text(encoding="utf-8"))
    documents, queries = embedded_vectors([path], None)
    names = list(judged["docs"])
    filled = [
        IndexChange(f"upl_{name}", [ChunkEntry(0, "\n\n".join(judged["docs"][name]), row.astype("<f4").tobytes())])
        for name, row in zip(names, documents, strict=True)
    ]
    asked = dict(zip(judged["queries"], queries, strict=True))
    top, db = limits.LEG_CANDIDATES, PostgresDatabase(url)
    indexes = PostgresIndexes(db, url)
    dimensions = documents.shape[1]
    local, other = IndexFolders(folder).open(PLACE, dimensions), indexes.open(PLACE, dimensions)

    def score(index: Index) -> float:
        index.apply(filled, len(filled))
        settle(db, index)
        scores = []
        for name, gains in judged["qrels"].items():
            hits = fuse(index.candidates(asked[name], judged["queries"][name], top), top)
            scores.append(ndcg([hit.upload_id.removeprefix("upl_") for hit in hits], gains))
        return sum(scores) / len(scores)

    print(f"{len(names)} documents, {len(judged['qrels'])} queries, nDCG@10:")
    print(f"  local index              {score(local):.4f}")
    print(f"  PostgreSQL, one by one   {score(other):.4f}")
    limits.INDEX_EXACT_CHUNKS = 100
    print(f"  PostgreSQL, with a graph {score(other):.4f}", flush=True)
    local.close()
    indexes.close()
    asyncio.run(db.close())


def run(wish: Any, folder: Path, url: str) -> None:
    db = PostgresDatabase(url)
    indexes = PostgresIndexes(db, url)
    local, other = IndexFolders(folder).open(PLACE, DIMENSIONS), indexes.open(PLACE, DIMENSIONS)
    with psycopg.connect(url, autocommit=True) as connection:
        asked = fill({"local": local, "PostgreSQL": other}, connection, wish.chunks, wish.queries)
        settle(db, other)
        connection.execute("vacuum analyze")
        print(f"{wish.chunks} chunks; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        sizes = [index.size_bytes / wish.chunks / 1024 for index in (local, other)]
        print("KB for each chunk: local {:.1f}, PostgreSQL {:.1f}".format(*sizes))
        ours = measure("local index", local, asked, wish.rounds)
        theirs = measure("index in PostgreSQL", other, asked, wish.rounds)
        tell(wish, local=ours, postgres=theirs)
        measure_plain(connection, asked, wish.rounds)
        compare(local, other, asked)
    local.close()
    indexes.close()
    asyncio.run(db.close())


def main() -> None:
    options = Options(__doc__)
    options.size("chunks", 20_000, 300)
    options.size("queries", 100, 5)
    options.size("rounds", 3, 1)
    postgres.add_option(options)
    options.add_argument("--set", type=Path, help="a judged set, for nDCG@10")
    wish = options.wish()
    with (
        temporary_folder() as folder,
        postgres.found(wish.postgres or postgres.OWN) as server,
        database(str(server)) as url,
    ):
        if wish.set:
            judge(wish.set, folder, url)
        else:
            run(wish, folder, url)


if __name__ == "__main__":
    main()

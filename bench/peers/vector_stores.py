"""LanceDB or Chroma over the chunks that bench.query wrote: one query after the other, figures as one JSON line.

LanceDB answers hybrid queries (its vector index, its full-text index, its own fusion) and vector queries, with its
index and without; Chroma has no BM25, so only its vectors (HNSW) are asked. Runs in the benches' own environment.

Usage: python -m bench.peers.vector_stores lancedb|chroma FOLDER TOP"""

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

Found = list[int]
ROUNDS = 5


def blocks(folder: Path) -> Iterator[tuple[int, Any, list[str]]]:
    """The first row of each block, its vectors and its texts."""
    begin = 0
    for file in sorted(folder.glob("0*.npy")):
        vectors = np.load(file)
        yield begin, vectors, file.with_suffix(".txt").read_text().split("\n")
        begin += len(vectors)


def lancedb_ways(folder: Path, place: str, top: int) -> dict[str, Callable[[Any, str], Found]]:
    lancedb, pa = import_module("lancedb"), import_module("pyarrow")
    database = lancedb.connect(place)
    table = None
    for begin, vectors, texts in blocks(folder):
        columns = {
            "row": pa.array(range(begin, begin + len(texts))),
            "text": pa.array(texts),
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1]),
        }
        block = pa.table(columns)
        table = database.create_table("chunks", block) if table is None else (table.add(block), table)[1]
    assert table is not None
    table.create_index("dot", vector_column_name="vector")
    table.create_fts_index("text")
    table.optimize()

    def hybrid(vector: Any, text: str) -> Found:
        asked = table.search(query_type="hybrid").vector(vector).text(text).distance_type("dot").limit(top)
        return list(asked.refine_factor(2).select(["row"]).to_arrow()["row"].to_pylist())

    def near(vector: Any, text: str) -> Found:
        del text
        asked = table.search(vector).distance_type("dot").refine_factor(2)
        return list(asked.select(["row", "_distance"]).limit(top).to_arrow()["row"].to_pylist())

    def exact(vector: Any, text: str) -> Found:
        del text
        asked = table.search(vector).distance_type("dot").bypass_vector_index()
        return list(asked.select(["row", "_distance"]).limit(top).to_arrow()["row"].to_pylist())

    return {"hybrid": hybrid, "vectors": near, "vectors without its index": exact}


def chroma_ways(folder: Path, place: str, top: int) -> dict[str, Callable[[Any, str], Found]]:
    client = import_module("chromadb").PersistentClient(place)
    collection = client.create_collection("chunks", configuration={"hnsw": {"space": "cosine"}})
    step = min(5000, client.get_max_batch_size())
    for begin, vectors, texts in blocks(folder):
        for at in range(0, len(texts), step):
            ids = [str(begin + row) for row in range(at, min(at + step, len(texts)))]
            collection.add(ids=ids, embeddings=vectors[at : at + step], documents=texts[at : at + step])

    def near(vector: Any, text: str) -> Found:
        del text
        found = collection.query(query_embeddings=[vector], n_results=top, include=["distances"])
        return [int(row) for row in found["ids"][0]]

    def default(vector: Any, text: str) -> Found:
        del text
        return [int(row) for row in collection.query(query_embeddings=[vector], n_results=top)["ids"][0]]

    return {"vectors": near, "vectors with texts, its default": default}


def main() -> None:
    name, folder, top = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    vectors, texts = np.load(folder / "queries.npy"), (folder / "queries.txt").read_text().split("\n")
    exact = json.loads((folder / "exact.json").read_text())
    with tempfile.TemporaryDirectory() as place:
        ways = (lancedb_ways if name == "lancedb" else chroma_ways)(folder, place, top)
        figures = {}
        for way, ask in ways.items():
            rounds, hits = [], 0
            for turn in range(ROUNDS):
                spent = []
                for vector, text, wanted in zip(vectors, texts, exact, strict=True):
                    begun = time.perf_counter()
                    found = ask(vector, text)
                    spent.append((time.perf_counter() - begun) * 1000)
                    hits += len(set(found[:10]) & set(wanted)) if turn == 0 else 0
                rounds.append((float(np.percentile(spent, 50)), float(np.percentile(spent, 99))))
            # The first round warms up.
            p50, p99 = min(rounds[1:])
            # What a hybrid query should find is another question.
            recall = None if way == "hybrid" else hits / len(texts) / 10
            figures[way] = {"p50": p50, "p99": p99, "recall": recall}
        print(json.dumps(figures))


if __name__ == "__main__":
    main()

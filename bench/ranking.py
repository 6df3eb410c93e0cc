"""How well queries find what people judged relevant: nDCG@10 and R@10 through the HTTP API, for each mode, beside BM25
by the book; means over all queries of all sets, with intervals that hold 95 % of resamplings of the queries.

A set is a JSON file {docs: {id: [title, text]}, queries: {id: text}, qrels: {query id: {doc id: gain}}} and a library
of its own; each document is one upload. A document's rank is that of its best chunk.

Usage: python -m bench.ranking SET.json [SET.json …] [--queries N] [--small]"""

import json
import math
import os
import random
from pathlib import Path
from typing import Any

import httpx

from bench.client import MODELS, search_server
from bench.options import Options, tell
from bench.plain_bm25 import PlainBm25
from deedbox.kernel.clock import stopwatch

MODES = ("keyword", "semantic", "hybrid")
PLAIN = "plain BM25"
DEPTH = 10
RESAMPLINGS = 2000
SAMPLE: dict[str, Any] = {
    "docs": {
        "lease": ["Lease", "The tenant pays the rent on the first day of every month."],
        "loan": ["Loan", "The bank may ask for its money back when an instalment is missed."],
        "licence": ["Licence", "Anyone may copy the program if this notice is kept."],
    },
    "queries": {"1": "When is the rent due?", "2": "May I copy the software?"},
    "qrels": {"1": {"lease": 1}, "2": {"licence": 1}},
}
"""The least that is a set: it shows that the bench works."""


def ndcg(ranked: list[str], gains: dict[str, float]) -> float:
    found = sum(gains.get(name, 0) / math.log2(place + 2) for place, name in enumerate(ranked[:DEPTH]))
    best = sorted(gains.values(), reverse=True)[:DEPTH]
    ideal = sum(gain / math.log2(place + 2) for place, gain in enumerate(best))
    return found / ideal if ideal else 0.0


def recall(ranked: list[str], gains: dict[str, float]) -> float:
    relevant = {name for name, gain in gains.items() if gain > 0}
    return len(relevant & set(ranked[:DEPTH])) / min(DEPTH, len(relevant)) if relevant else 0.0


def interval(values: list[float]) -> str:
    """The mean, and between which two the means of 95 % of resamplings lie."""
    chance, size = random.Random(0), len(values)
    means = sorted(sum(chance.choices(values, k=size)) / size for _ in range(RESAMPLINGS))
    low, high = means[RESAMPLINGS // 40], means[-RESAMPLINGS // 40 - 1]
    return f"{sum(values) / size:.4f} [{low:.4f}, {high:.4f}]"


def body(title: str, text: str) -> str:
    return f"{title}\n\n{text}".strip() or "-"


def upload_all(client: httpx.Client, documents: dict[str, list[str]]) -> dict[str, str]:
    """Upload ids by document id."""
    ids = {}
    for name, (title, text) in documents.items():
        answer = client.post("/documents/upload", files={"file": (f"{name}.txt", body(title, text).encode())})
        answer.raise_for_status()
        ids[answer.json()["doc_id"]] = name
    return ids


def ranked_documents(client: httpx.Client, query: str, mode: str, ids: dict[str, str]) -> list[str]:
    answer = client.post("/query", json={"query": query, "top_k": 50, "mode": mode})
    answer.raise_for_status()
    found = [ids[result["metadata"]["doc_id"]] for result in answer.json()["results"]]
    return list(dict.fromkeys(found))


def index_all(client: httpx.Client, judged: dict[str, Any]) -> dict[str, str]:
    """Upload ids by document id, once all can be found."""
    begun = stopwatch()
    ids = upload_all(client, judged["docs"])
    print(f"{len(ids)} documents, one upload each, in {stopwatch() - begun:.0f} s", flush=True)
    begun = stopwatch()
    while (answer := client.post("/documents/index", timeout=1200)).status_code == httpx.codes.REQUEST_TIMEOUT:
        print("the run goes on", flush=True)
    answer.raise_for_status()
    print(f"{answer.json()['total_chunks']} chunks indexed in {stopwatch() - begun:.0f} s", flush=True)
    return ids


Scores = dict[str, list[float]]
"""nDCG@10 of each query, by mode."""


def measure(client: httpx.Client, judged: dict[str, Any]) -> Scores:
    ids, queries = index_all(client, judged), judged["queries"]
    plain = PlainBm25({name: body(*document) for name, document in judged["docs"].items()})
    scores: Scores = {}
    for mode in (PLAIN, *MODES):
        ranked = {
            name: plain.ranked(queries[name], DEPTH)
            if mode == PLAIN
            else ranked_documents(client, queries[name], mode, ids)
            for name in judged["qrels"]
        }
        scores[mode] = [ndcg(ranked[name], gains) for name, gains in judged["qrels"].items()]
        recalls = [recall(ranked[name], gains) for name, gains in judged["qrels"].items()]
        print(f"  {mode:10} nDCG@10 {interval(scores[mode])}   R@10 {sum(recalls) / len(recalls):.4f}", flush=True)
    show_margins(scores)
    return scores


def show_margins(scores: Scores) -> None:
    """By how much hybrid is above the better leg, and the words above BM25 by the book."""
    better = max(("keyword", "semantic"), key=lambda mode: sum(scores[mode]))
    for mode, other in (("hybrid", better), ("keyword", PLAIN)):
        above = [one - another for one, another in zip(scores[mode], scores[other], strict=True)]
        print(f"  {mode} above {other}: {interval(above)}", flush=True)


def measure_all(wish: Any, sets: dict[str, dict[str, Any]]) -> None:
    models = os.environ.get("DEEDBOX_MODELS_DIR")
    pooled: Scores = {mode: [] for mode in (PLAIN, *MODES)}
    for name, judged in sets.items():
        print(name)
        few = {**judged, "qrels": dict(list(judged["qrels"].items())[: wish.queries])}
        with search_server(Path(models) if models else MODELS) as client:
            for mode, scores in measure(client, few).items():
                pooled[mode] += scores
    if len(sets) > 1:
        print(f"all {len(pooled[PLAIN])} queries")
        for mode, scores in pooled.items():
            print(f"  {mode:10} nDCG@10 {interval(scores)}")
        show_margins(pooled)
    tell(wish, **{mode: f"{sum(pooled[mode]) / len(pooled[mode]):.4f}" for mode in MODES})


def main() -> None:
    options = Options(__doc__)
    options.size("queries", 1_000_000, small=2, help="at most so many of each set's")
    options.add_argument("sets", type=Path, nargs="*", help="not needed for --small, which brings a set of its own")
    wish = options.wish()
    if not wish.sets and not wish.small:
        options.error("which sets? Their shape is above")
    sets = {set_.stem: json.loads(set_.read_text(encoding="utf-8")) for set_ in wish.sets}
    measure_all(wish, sets or {"sample": SAMPLE})


if __name__ == "__main__":
    main()

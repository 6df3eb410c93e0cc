"""How well queries find what people judged relevant: nDCG@10 and R@10 through the HTTP API, for each mode.

The set is a JSON file {docs: {id: [title, text]}, queries: {id: text}, qrels: {query id: {doc id: gain}}}; each
document is one upload. A document's rank is that of its best chunk.

Usage: python -m bench.ranking SET.json [--queries N] [--small]"""

import json
import math
import os
from pathlib import Path
from typing import Any

import httpx

from bench.client import MODELS, search_server
from bench.options import Options, tell
from deedbox.kernel.clock import stopwatch

MODES = ("keyword", "semantic", "hybrid")
DEPTH = 10
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


def upload_all(client: httpx.Client, documents: dict[str, list[str]]) -> dict[str, str]:
    """Upload ids by document id."""
    ids = {}
    for name, (title, text) in documents.items():
        body = f"{title}\n\n{text}".strip() or "-"
        answer = client.post("/documents/upload", files={"file": (f"{name}.txt", body.encode())})
        answer.raise_for_status()
        ids[answer.json()["doc_id"]] = name
    return ids


def ranked_documents(client: httpx.Client, query: str, mode: str, ids: dict[str, str]) -> list[str]:
    answer = client.post("/query", json={"query": query, "top_k": 50, "mode": mode})
    answer.raise_for_status()
    found = [ids[result["metadata"]["doc_id"]] for result in answer.json()["results"]]
    return list(dict.fromkeys(found))


def measure(wish: Any, client: httpx.Client, judged: dict[str, Any]) -> None:
    begun = stopwatch()
    ids = upload_all(client, judged["docs"])
    print(f"{len(ids)} documents, one upload each, in {stopwatch() - begun:.0f} s", flush=True)
    begun = stopwatch()
    answer = client.post("/documents/index", timeout=1200)
    answer.raise_for_status()
    print(f"{answer.json()['total_chunks']} chunks indexed in {stopwatch() - begun:.0f} s", flush=True)
    for mode in MODES:
        scores, recalls = [], []
        for name, gains in judged["qrels"].items():
            ranked = ranked_documents(client, judged["queries"][name], mode, ids)
            scores.append(ndcg(ranked, gains))
            recalls.append(recall(ranked, gains))
        print(
            f"  {mode:9} nDCG@10 {sum(scores) / len(scores):.4f}   R@10 {sum(recalls) / len(recalls):.4f}", flush=True
        )
        tell(wish, **{mode: f"{sum(scores) / len(scores):.4f}"})


def main() -> None:
    options = Options(__doc__)
    options.size("queries", 1_000_000, small=2, help="at most so many of the set's")
    options.add_argument("set", type=Path, nargs="?", help="not needed for --small, which brings a set of its own")
    wish = options.wish()
    if wish.set is None and not wish.small:
        options.error("which set? Its shape is above")
    judged = SAMPLE if wish.set is None else json.loads(wish.set.read_text(encoding="utf-8"))
    judged = {**judged, "qrels": dict(list(judged["qrels"].items())[: wish.queries])}
    models = os.environ.get("DEEDBOX_MODELS_DIR")
    with search_server(Path(models) if models else MODELS) as client:
        measure(wish, client, judged)


if __name__ == "__main__":
    main()

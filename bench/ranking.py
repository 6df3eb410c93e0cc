"""How well queries find what people judged relevant: nDCG@10 and R@10 through the HTTP API, for each mode, beside BM25
by the book; means over all queries of all sets, with intervals that hold 95 % of resamplings of the queries.

A set is a JSON file {docs: {id: [title, text]}, queries: {id: text}, qrels: {query id: {doc id: gain}}} and a library
of its own; each document is one upload. A document's rank is that of its best chunk.

Usage: python -m bench.ranking SET.json [SET.json …] [--queries N] [--models NAME …] [--direct] [--plain]
       [--small]

Without --models, the model of DEEDBOX_MODELS_DIR or the default one is measured. With --direct, the same chunks,
vectors, index and fusion are asked without a server between: a fraction of the work, for a busy machine. With
--plain, signs that would narrow the answer ("a phrase", -word, word*) are taken out of the questions: the people who
wrote the sets' did not mean them so."""

import json
import math
import os
import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import httpx

from bench.client import MODELS, model_folder, search_server
from bench.direct import direct
from bench.options import Options, tell
from bench.plain_bm25 import PlainBm25
from deedbox.kernel.clock import stopwatch

MODES = ("keyword", "semantic", "hybrid")
PLAIN = "plain BM25"
_SIGNS = re.compile(r'["*]|(?<!\S)-(?=\w)')
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


def without_signs(question: str) -> str:
    return _SIGNS.sub(" ", question)


def body(title: str, text: str) -> str:
    return f"{title}\n\n{text}".strip() or "-"


def upload_all(client: httpx.Client, documents: dict[str, str]) -> dict[str, str]:
    """Upload ids by document id."""
    ids = {}
    for name, text in documents.items():
        answer = client.post("/documents/upload", files={"file": (f"{name}.txt", text.encode())})
        answer.raise_for_status()
        ids[answer.json()["doc_id"]] = name
    return ids


def ranked_documents(client: httpx.Client, query: str, mode: str, ids: dict[str, str]) -> list[str]:
    answer = client.post("/query", json={"query": query, "top_k": 50, "mode": mode})
    answer.raise_for_status()
    found = [ids[result["metadata"]["doc_id"]] for result in answer.json()["results"]]
    return list(dict.fromkeys(found))


def index_all(client: httpx.Client, documents: dict[str, str]) -> dict[str, str]:
    """Upload ids by document id, once all can be found."""
    begun = stopwatch()
    ids = upload_all(client, documents)
    print(f"{len(ids)} documents, one upload each, in {stopwatch() - begun:.0f} s", flush=True)
    begun = stopwatch()
    while (answer := client.post("/documents/index", timeout=1200)).status_code == httpx.codes.REQUEST_TIMEOUT:
        print("the run goes on", flush=True)
    answer.raise_for_status()
    print(f"{answer.json()['total_chunks']} chunks indexed in {stopwatch() - begun:.0f} s", flush=True)
    return ids


class Library(Protocol):
    """What is measured: documents by their names."""

    def fill(self, documents: dict[str, str]) -> None: ...

    def ranked(self, query: str, mode: str) -> list[str]:
        """The best documents, best first."""


class Served:
    """A library behind the HTTP API."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client
        self._ids: dict[str, str] = {}

    def fill(self, documents: dict[str, str]) -> None:
        self._ids = index_all(self._client, documents)

    def ranked(self, query: str, mode: str) -> list[str]:
        return ranked_documents(self._client, query, mode, self._ids)


@contextmanager
def library(wish: Any, models_dir: Path) -> Iterator[Library]:
    if wish.direct:
        with direct(models_dir) as found:
            yield found
    else:
        with search_server(models_dir) as client:
            yield Served(client)


Scores = dict[str, list[float]]
"""nDCG@10 of each query, by mode."""


def measure(library: Library, judged: dict[str, Any]) -> Scores:
    documents, queries = {name: body(*document) for name, document in judged["docs"].items()}, judged["queries"]
    library.fill(documents)
    plain = PlainBm25(documents)
    scores: Scores = {}
    for mode in (PLAIN, *MODES):
        ranked = {
            name: plain.ranked(queries[name], DEPTH) if mode == PLAIN else library.ranked(queries[name], mode)
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


def measure_all(wish: Any, models_dir: Path, sets: dict[str, dict[str, Any]]) -> Scores:
    """All sets with one model."""
    pooled: Scores = {mode: [] for mode in (PLAIN, *MODES)}
    for name, judged in sets.items():
        print(name)
        few = {**judged, "qrels": dict(list(judged["qrels"].items())[: wish.queries])}
        with library(wish, models_dir) as found:
            for mode, scores in measure(found, few).items():
                pooled[mode] += scores
    if len(sets) > 1:
        print(f"all {len(pooled[PLAIN])} queries")
        for mode, scores in pooled.items():
            print(f"  {mode:10} nDCG@10 {interval(scores)}")
        show_margins(pooled)
    return pooled


def compare(found: dict[str, Scores]) -> None:
    """Each further model beside the first, query by query."""
    first, *others = found
    for name in others:
        print(f"{name} above {first}")
        for mode in MODES:
            pairs = zip(found[name][mode], found[first][mode], strict=True)
            print(f"  {mode:10} {interval([one - another for one, another in pairs])}")


def mean(values: list[float]) -> str:
    return f"{sum(values) / len(values):.4f}"


def main() -> None:
    options = Options(__doc__)
    options.size("queries", 1_000_000, small=2, help="at most so many of each set's")
    options.add_argument("--models", nargs="+", default=[], help="each in turn, by known names")
    options.add_argument("--plain", action="store_true", help="without the signs in questions that narrow an answer")
    options.add_argument("--direct", action="store_true", help="without a server between")
    options.add_argument("sets", type=Path, nargs="*", help="not needed for --small, which brings a set of its own")
    wish = options.wish()
    if not wish.sets and not wish.small:
        options.error("which sets? Their shape is above")
    sets = {set_.stem: json.loads(set_.read_text(encoding="utf-8")) for set_ in wish.sets}
    for judged in sets.values() if wish.plain else ():
        judged["queries"] = {name: without_signs(text) for name, text in judged["queries"].items()}
    sets = sets or {"sample": SAMPLE}
    if not wish.models:
        pooled = measure_all(wish, Path(os.environ.get("DEEDBOX_MODELS_DIR") or MODELS), sets)
        tell(wish, **{mode: mean(pooled[mode]) for mode in MODES})
        return
    found = {}
    for name in wish.models:
        print(f"== {name}")
        found[name] = measure_all(wish, model_folder(name), sets)
        tell(wish, **{f"{name}, {mode}": mean(found[name][mode]) for mode in MODES})
    compare(found)


if __name__ == "__main__":
    main()

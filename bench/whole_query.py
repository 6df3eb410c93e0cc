"""A whole query over HTTP, in a library of 100,000 chunks of natural text, beside the bare embedding of the same
question; and how many a second 16 clients get answered.

Usage: python -m bench.whole_query [--chunks 100000] [--queries 100] [--small]"""

import asyncio
import hashlib
import sys
import time
from contextlib import AsyncExitStack
from pathlib import Path

import httpx

from bench.client import MODELS, default_model
from bench.corpus import WORDS_PER_QUERY, Prose
from bench.measure import median, process, temporary_folder
from bench.options import Options, tell
from bench.request import free_port, make_key, wait_for
from deedbox import wiring
from deedbox.accounts import store as accounts
from deedbox.kernel import limits
from deedbox.kernel.clock import instant, stopwatch
from deedbox.kernel.db import Tx
from deedbox.kernel.ids import new_id
from deedbox.kernel.settings import Settings
from deedbox.search import store
from deedbox.search.chunks import store as chunk_store
from deedbox.search.embed.local import LocalEmbedder
from deedbox.search.upload import Chunk, Upload

CHUNKS_PER_UPLOAD = 100
CLIENTS = 16
WAIT_SECONDS = 0.5
WARM_QUERIES = 5
"""So many are asked before those that count."""


async def fill(folder: Path, count: int) -> None:
    """As many chunks as are wanted, straight into the database, as index runs would leave them."""
    model = default_model()
    embedder = LocalEmbedder(MODELS, model, size=limits.CHUNK_TOKENS, overlap=limits.CHUNK_OVERLAP)
    corpus, number = Prose(), 0
    async with wiring.opened(Settings(data_dir=folder, models_dir=MODELS)) as deedbox:
        first = await deedbox.db.read(accounts.first_workspace)
        assert first is not None
        workspace = str(first[0])
        for vectors, texts in corpus.blocks(count):
            for start in range(0, len(texts), CHUNKS_PER_UPLOAD):
                rows = range(start, min(start + CHUNKS_PER_UPLOAD, len(texts)))
                made = [
                    (Chunk(row - start, texts[row], 0, len(texts[row]), 1, None), vectors[row].astype("<f4").tobytes())
                    for row in rows
                ]
                number += 1
                await deedbox.db.write(
                    lambda tx, made=made, number=number: add_upload(
                        tx, workspace, embedder.recipe, made, number, deedbox
                    )  # type: ignore[misc]
                )
    await embedder.close()


def add_upload(
    tx: Tx, workspace: str, recipe: str, made: list[tuple[Chunk, bytes]], number: int, deedbox: wiring.Deedbox
) -> None:
    """What an index run writes for one document."""
    now = deedbox.clock.now()
    sha256 = hashlib.sha256(str(number).encode()).hexdigest()
    upload = Upload(
        new_id("upl", now), workspace, f"{number}.txt", "text/plain", 1, sha256, 1, 1, "indexed", None, None, 1,
        instant(now), instant(now),
    )  # fmt: skip
    store.add_upload(tx, upload)
    set_id = new_id("set", now)
    chunk_store.add_chunk_set(tx, set_id, upload, recipe, made, instant(now))
    if number == 1:
        chunk_store.serve(tx, workspace, recipe)
    chunk_store.log_change(tx, workspace, recipe, upload.id, set_id)


async def bare(questions: list[str]) -> list[float]:
    """Milliseconds of the embedding of each question, in the sandbox that the server uses."""
    embedder = LocalEmbedder(MODELS, default_model(), size=limits.CHUNK_TOKENS, overlap=limits.CHUNK_OVERLAP)
    await embedder.embed(questions[:1], urgent=True)
    taken = []
    for question in questions:
        begun = stopwatch()
        await embedder.embed([question], urgent=True)
        taken.append((stopwatch() - begun) * 1000)
    await embedder.close()
    return taken


def asked(client: httpx.Client, questions: list[str]) -> tuple[list[float], list[float]]:
    """Milliseconds of each query, as the client sees it and as the server says."""
    seen, said = [], []
    for question in questions:
        begun = stopwatch()
        answer = client.post("/query", json={"query": question, "top_k": 10})
        seen.append((stopwatch() - begun) * 1000)
        said.append(float(answer.raise_for_status().json()["elapsed_ms"]))
    return seen[WARM_QUERIES:], said[WARM_QUERIES:]


async def rate(address: str, headers: dict[str, str], questions: list[str]) -> float:
    """How many a second are answered, of clients that each ask one question after another."""

    async def ask(client: httpx.AsyncClient, some: list[str]) -> None:
        for question in some:
            (await client.post("/query", json={"query": question, "top_k": 10})).raise_for_status()

    async with AsyncExitStack() as opened:
        clients = [
            await opened.enter_async_context(
                httpx.AsyncClient(base_url=address, headers=headers, timeout=300, trust_env=False)
            )
            for _ in range(CLIENTS)
        ]
        begun = stopwatch()
        await asyncio.gather(*(ask(client, questions[at::CLIENTS]) for at, client in enumerate(clients)))
        return len(questions) / (stopwatch() - begun)


def main() -> None:
    options = Options(__doc__)
    options.size("chunks", 100_000, small=200)
    options.size("queries", 100, small=3)
    options.size("rounds", 3, small=1)
    wish = options.wish()
    # A question is asked once: the server knows those that it has embedded.
    each_round = [Prose(at).texts(wish.queries + WARM_QUERIES, WORDS_PER_QUERY) for at in range(wish.rounds)]
    with temporary_folder() as folder:
        key, port = make_key(folder / "data", "*"), free_port()
        asyncio.run(fill(folder / "data", wish.chunks))
        command = [sys.executable, "-m", "deedbox", "serve", "--data", str(folder / "data"), "--port", str(port)]
        with process(command, DEEDBOX_MODELS_DIR=str(MODELS), DEEDBOX_ACCESS_LOG="false"):
            wait_for(port).close()
            address, headers = f"http://127.0.0.1:{port}", {"Authorization": f"Bearer {key}"}
            with httpx.Client(base_url=address, headers=headers, timeout=300, trust_env=False) as http:
                while (once := http.post("/query", json={"query": "once"})).status_code == 503:  # the index is built
                    time.sleep(WAIT_SECONDS)
                once.raise_for_status()
                rounds = [(asyncio.run(bare(questions)), *asked(http, questions)) for questions in each_round]
            many = Prose(wish.rounds).texts(wish.queries * CLIENTS, WORDS_PER_QUERY)
            answered = asyncio.run(rate(address, headers, many))
    alone, seen, said = min(rounds, key=lambda each: median(each[1]))
    print(f"a query in {wish.chunks:,} chunks, p50 (p99) in ms:")
    print(f"  the whole request, seen by the client  {median(seen):.2f} ({sorted(seen)[-2]:.2f})")
    print(f"  the whole request, said by the server  {median(said):.2f}")
    ratio = median(seen) / median(alone)
    print(f"  the bare embedding of the question     {median(alone):.2f}   ratio = {ratio:.2f}  (aim at most 2)")
    print(f"  {CLIENTS} clients at once: {answered:.0f} queries a second  (aim at least 250)")
    tell(wish, query=f"{median(seen):.1f} ms", bare=f"{ratio:.1f} ×")


if __name__ == "__main__":
    main()

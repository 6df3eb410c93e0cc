"""A whole query over HTTP, in a library of 100,000 chunks of natural text, beside the bare embedding of the same
question; and how many a second 16 clients get answered.

Usage: python -m bench.whole_query [--chunks 100000] [--queries 100] [--small]"""

import asyncio
import hashlib
import http.client
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

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
from deedbox.search.chunks import store as chunk_store
from deedbox.search.embed.local import LocalEmbedder
from deedbox.search.library import store
from deedbox.search.library.upload import Chunk, LibraryUpload

CHUNKS_PER_UPLOAD = 100
CLIENTS = 16
WAIT_SECONDS = 0.5
PATIENCE = 300
WARM_QUERIES = 5
"""So many are asked before those that count."""


async def fill(folder: Path, count: int) -> None:
    """As many chunks as are wanted, straight into the database, as index runs would leave them."""
    model = default_model()
    embedder = LocalEmbedder(MODELS, model, size=limits.CHUNK_TOKENS, overlap=limits.CHUNK_OVERLAP)
    corpus, number = Prose(), 0
    async with wiring.open_installation(Settings(data_dir=folder, models_dir=MODELS)) as deedbox:
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
    tx: Tx, workspace: str, recipe: str, made: list[tuple[Chunk, bytes]], number: int, deedbox: wiring.Installation
) -> None:
    """What an index run writes for one document."""
    now = deedbox.clock.now()
    sha256 = hashlib.sha256(str(number).encode()).hexdigest()
    upload = LibraryUpload(
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


class Wire:
    """One connection. A client that takes little of the machine itself: what is measured is the server."""

    def __init__(self, port: int, key: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

    def ask(self, question: str) -> tuple[int, bytes]:
        """The status and the body of what is answered."""
        body = msgspec.json.encode({"query": question, "top_k": 10})
        self._connection.request("POST", "/query", body, self._headers)
        answer = self._connection.getresponse()
        return answer.status, answer.read()

    def all_of(self, questions: list[str]) -> list[bytes]:
        answers = [self.ask(question) for question in questions]
        assert {status for status, _ in answers} == {200}
        return [body for _, body in answers]


def asked(wire: Wire, questions: list[str]) -> tuple[list[float], list[float]]:
    """Milliseconds of each query, as the client sees it and as the server says."""
    seen, said = [], []
    for question in questions:
        begun = stopwatch()
        (answer,) = wire.all_of([question])
        seen.append((stopwatch() - begun) * 1000)
        said.append(float(msgspec.json.decode(answer)["elapsed_ms"]))
    return seen[WARM_QUERIES:], said[WARM_QUERIES:]


def rate(port: int, key: str, questions: list[str]) -> float:
    """How many a second are answered, of clients that each ask one question after another."""
    with ThreadPoolExecutor(CLIENTS) as clients:
        begun = stopwatch()
        for answers in clients.map(lambda at: Wire(port, key).all_of(questions[at::CLIENTS]), range(CLIENTS)):
            assert answers
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
            wire = Wire(port, key)
            while wire.ask("once")[0] == 503:  # the index is built
                time.sleep(WAIT_SECONDS)
            rounds = [(asyncio.run(bare(questions)), *asked(wire, questions)) for questions in each_round]
            many = Prose(wish.rounds).texts(wish.queries * CLIENTS, WORDS_PER_QUERY)
            answered = rate(port, key, many)
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

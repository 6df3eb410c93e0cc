"""A server on a new machine, from its start until its first right answer: with a snapshot of the index in the bucket,
beside building the index from the database. PostgreSQL and the store (moto) run on the same machine.

Usage: python -m bench.cold_start [--chunks 100000]"""

import asyncio
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx
from tests import s3
from tests.postgres import Cluster

from bench.client import MODELS, default_model
from bench.corpus import Corpus
from bench.measure import cpu_seconds, process, temporary_folder
from bench.options import Options, tell
from bench.request import free_port, make_key
from bench.whole_query import CHUNKS_PER_UPLOAD, add_upload
from deedbox import wiring
from deedbox.accounts import store as accounts
from deedbox.kernel import jobs, limits
from deedbox.kernel.clock import stopwatch
from deedbox.kernel.db import Tx
from deedbox.kernel.settings import load
from deedbox.search.embed.local import LocalEmbedder
from deedbox.search.library.upload import Chunk
from deedbox.search.snapshots import Snapshot, store
from deedbox.search.snapshots.plan import SNAPSHOT_JOB

LIMIT_SECONDS = 15
REST = 100
"""One chunk of so many came after the snapshot."""
MARKED = "zebra umbrella"
"""Stands in the last chunk alone."""
TRY_SECONDS = 0.05


class Library:
    """One workspace in the database that the environment names."""

    def __init__(self) -> None:
        model = default_model()
        embedder = LocalEmbedder(MODELS, model, size=limits.CHUNK_TOKENS, overlap=limits.CHUNK_OVERLAP)
        self.recipe = embedder.recipe
        self._corpus = Corpus()
        self._uploads = 0

    async def fill(self, data: Path, count: int) -> None:
        """Adds so many chunks, as index runs would leave them."""
        async with wiring.open_installation(load(os.environ, {"data_dir": data})) as deedbox:
            workspace = await deedbox.db.read(_workspace)
            for vectors, texts in self._corpus.blocks(count):
                for start in range(0, len(texts), CHUNKS_PER_UPLOAD):
                    rows = range(start, min(start + CHUNKS_PER_UPLOAD, len(texts)))
                    made = [
                        (Chunk(n - start, texts[n], 0, 1, 1, None), vectors[n].astype("<f4").tobytes()) for n in rows
                    ]
                    await self._add(deedbox, workspace, made)

    async def mark(self, data: Path) -> None:
        """Adds the chunk that is asked for."""
        async with wiring.open_installation(load(os.environ, {"data_dir": data})) as deedbox:
            vector = self._corpus.vectors(1)[0].astype("<f4").tobytes()
            made = [(Chunk(0, MARKED, 0, 1, 1, None), vector)]
            await self._add(deedbox, await deedbox.db.read(_workspace), made)

    async def _add(self, deedbox: wiring.Installation, workspace: str, made: list[tuple[Chunk, bytes]]) -> None:
        self._uploads += 1
        await deedbox.db.write(lambda tx: add_upload(tx, workspace, self.recipe, made, self._uploads, deedbox))

    async def snapshot(self, data: Path) -> Snapshot:
        """The snapshot that a server makes of it."""
        async with wiring.open_installation(load(os.environ, {"data_dir": data})) as deedbox:
            workspace, now = await deedbox.db.read(_workspace), deedbox.clock.now()
            job = jobs.NewJob(SNAPSHOT_JOB, workspace_id=workspace)
            await deedbox.db.write(lambda tx: jobs.enqueue(tx, job, now=now))
            await deedbox.search.embedders.refresh()
            while (made := await deedbox.db.read(lambda tx: store.find(tx, workspace, self.recipe))) is None:
                await deedbox.jobs.run_due()
            return made

    async def forget(self, data: Path, made: Snapshot) -> None:
        async with wiring.open_installation(load(os.environ, {"data_dir": data})) as deedbox:
            await deedbox.db.write(lambda tx: store.drop(tx, made.id, deedbox.clock.now()))


def _workspace(tx: Tx) -> str:
    first = accounts.first_workspace(tx)
    assert first is not None
    return str(first[0])


def first_answer(data: Path, key: str) -> tuple[float, float]:
    """Seconds from the start of a server with this empty folder to its first right answer, and its CPU time."""
    port = free_port()
    command = [sys.executable, "-m", "deedbox", "serve", "--no-work", "--data", str(data), "--port", str(port)]
    headers = {"Authorization": f"Bearer {key}"}
    begun = stopwatch()
    with process(command) as child, httpx.Client(headers=headers, timeout=60, trust_env=False) as http:
        while not _is_right(http, f"http://127.0.0.1:{port}/query"):
            asyncio.run(asyncio.sleep(TRY_SECONDS))
        return stopwatch() - begun, cpu_seconds(child.pid)


def _is_right(http: httpx.Client, address: str) -> bool:
    try:
        answer = http.post(address, json={"query": MARKED, "mode": "hybrid", "top_k": 5})
    except httpx.TransportError:
        return False
    if answer.status_code == 503:
        return False
    texts = [result["text"] for result in answer.raise_for_status().json()["results"]]
    if len(texts) != 5 or MARKED not in texts:
        raise SystemExit(f"a wrong answer: {texts}")
    return True


def _has_files_of(data: Path, made: Snapshot) -> bool:
    """Whether the folder has segments of words of the snapshot: their names are random."""
    there = {path.stem for path in data.rglob("words/*.idx")}
    return bool(there & {Path(file.name).stem for file in made.contents.files if file.name.endswith(".idx")})


@contextmanager
def installation(folder: Path) -> Iterator[Mapping[str, str]]:
    """PostgreSQL and a bucket, and the settings by which servers use them."""
    cluster = Cluster(Path(tempfile.mkdtemp(prefix="deedpg")))
    try:
        cluster.start()
        with cluster.database("bench") as url, s3.running() as bucket:
            yield {
                "DEEDBOX_DATABASE_URL": url,
                "DEEDBOX_MASTER_KEY_FILE": str(folder / "master.key"),
                "DEEDBOX_MODELS_DIR": str(MODELS),
                "DEEDBOX_ACCESS_LOG": "false",
                **bucket.settings(bucket.bucket()),
            }
    finally:
        cluster.stop()


def measure(chunks: int, folder: Path) -> tuple[float, float]:
    """The seconds with a snapshot and without."""
    library, first = Library(), folder / "first"
    key = make_key(first, "*")
    asyncio.run(library.fill(first, chunks))
    begun, cpu = stopwatch(), cpu_seconds(os.getpid())
    made = asyncio.run(library.snapshot(first))
    took, cpu = stopwatch() - begun, cpu_seconds(os.getpid()) - cpu
    asyncio.run(library.fill(first, chunks // REST))
    asyncio.run(library.mark(first))
    print(f"{chunks:,} chunks, and {chunks // REST:,} after the snapshot; load {os.getloadavg()[0]:.1f}", flush=True)
    print(f"  making it took {took:.1f} s, CPU {cpu:.1f} s; {made.size_bytes / 1e6:,.0f} MB", flush=True)
    taken, taken_cpu = first_answer(folder / "second", key)
    print(f"  first right answer with the snapshot      {taken:6.1f} s   CPU {taken_cpu:6.1f} s", flush=True)
    if not _has_files_of(folder / "second", made):
        raise SystemExit("the server has not taken the snapshot")
    asyncio.run(library.forget(first, made))
    built, built_cpu = first_answer(folder / "third", key)
    print(f"  first right answer, built from the rows   {built:6.1f} s   CPU {built_cpu:6.1f} s")
    print(f"  ratio = {taken / built:.2f}; of the {LIMIT_SECONDS} s for 1,000,000: {taken / LIMIT_SECONDS:.2f}")
    return taken, built


def main() -> None:
    options = Options(__doc__)
    options.size("chunks", 100_000, 12_000)
    wish = options.wish()
    with temporary_folder() as folder, installation(folder) as settings:
        os.environ.update(settings)
        taken, built = measure(wish.chunks, folder)
    tell(wish, taken=f"{taken:.1f} s", built=f"{built:.1f} s")


if __name__ == "__main__":
    main()

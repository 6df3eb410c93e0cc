"""R17: everything at once at half load, while the server's memory, descriptors, threads and database are watched."""

import asyncio
import os
import statistics
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import httpx
import msgspec

from tests.faults import installation as installations
from tests.faults.aftermath import Report
from tests.faults.installation import Installation
from tests.faults.outage import Scenario
from tests.faults.patient import SentAway
from tests.pdf.sealed import document
from tests.webhooks.sink import Sink, listening

SAMPLE_SECONDS = 0.5
WARM_UP = 0.4
"""This part of the time passes before the slopes begin: caches and pools fill first."""
KINDS = ["document.sent", "document.signed", "document.completed"]


class Sample(msgspec.Struct):
    """The server's own process at one moment."""

    at: float
    memory: float
    """Megabytes of its own."""
    mapped: float
    """Megabytes of files that it sees in memory: the database grows by what it is given, and the system takes these
    back when it needs the room."""
    descriptors: int
    threads: int
    database: float
    """Megabytes of the database and its log."""
    passages: int
    """In the library: the index keeps something of each in memory."""
    requests: int


class Soak:
    """The side of the load that the documents' own clients do not make, and the samples."""

    def __init__(self, seconds: float, database: Callable[[], tuple[float, int]]) -> None:
        self.samples: list[Sample] = []
        self.count: Counter[str] = Counter()
        self.faults: list[str] = []
        self._seconds, self._database = seconds, database

    async def run(self, scenario: Scenario) -> None:
        """Everything at once, for so long."""
        async with installations.client(scenario.server.address, scenario.key) as http, listening() as sink:
            hook = {"target_url": f"http://127.0.0.1:{sink.port}/hook", "events": KINDS}
            made = await http.post("/api/v1/hooks", json=hook)
            assert made.status_code == 201, made.text
            await self._upload(http)
            assert (await http.post("/documents/index")).is_success  # there is something to ask about
            steps = [self._upload, self._ask, self._verify, self._follow]
            async with _going(steps, http, self):
                await self._watch(scenario, sink)

    async def _watch(self, scenario: Scenario, sink: Sink) -> None:
        began = time.monotonic()
        while (now := time.monotonic() - began) < self._seconds:
            self.samples.append(sample(scenario.server.process.pid, now, *self._database(), scenario.answers.done))
            assert scenario.server.process.poll() is None, scenario.installation.log()[-3000:]
            await asyncio.sleep(SAMPLE_SECONDS)
        self.count["webhooks"] = len(sink.received)

    async def _upload(self, http: httpx.AsyncClient) -> None:
        self.count["number"] += 1
        text = f"Deed {self.count['number']} is about the garden behind the house, its well and its old walls.".encode()
        answer = await http.post(
            "/documents/upload", files={"file": (f"{self.count['number']}.txt", text, "text/plain")}
        )
        self._note("uploads", answer)

    async def _ask(self, http: httpx.AsyncClient) -> None:
        self._note("queries", await http.post("/query", json={"query": "Who owns the well in the garden?"}))

    async def _verify(self, http: httpx.AsyncClient) -> None:
        files = {"file": ("a.pdf", document(1, "Not sealed"))}
        self._note("verifications", await http.post("/api/v1/verify", files=files))

    async def _follow(self, http: httpx.AsyncClient) -> None:
        """An index run as its events tell it."""
        begun = await http.post("/documents/index", headers={"Prefer": "respond-async"})
        self._note("index runs", begun)
        if not begun.is_success:
            return
        async with http.stream("GET", f"{begun.headers['location']}/events") as events:
            async for line in events.aiter_lines():
                self.count["events"] += line.startswith("data:")

    def _note(self, what: str, answer: httpx.Response) -> None:
        self.count[what] += 1
        if not answer.is_success:
            self.faults.append(f"failed: {what} were answered {answer.status_code} {answer.text[:200]}")


@asynccontextmanager
async def _going(
    steps: Sequence[Callable[[httpx.AsyncClient], Awaitable[None]]], http: httpx.AsyncClient, soak: Soak
) -> AsyncIterator[None]:
    """Each step again and again; between two it rests for as long as the last one took: half load."""
    enough = asyncio.Event()

    async def repeat(step: Callable[[httpx.AsyncClient], Awaitable[None]]) -> None:
        while not enough.is_set():
            began = time.monotonic()
            with suppress(SentAway):
                await step(http)
            await asyncio.sleep(time.monotonic() - began)

    tasks = [asyncio.create_task(repeat(step)) for step in steps]
    try:
        yield
    finally:
        enough.set()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        soak.faults += [f"failed: {error!r}" for error in ended if isinstance(error, Exception)]


def sample(pid: int, at: float, database: float, passages: int, requests: int) -> Sample:
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in line)
    memory, mapped = (int(status[kind].split()[0]) / 1024 for kind in ("RssAnon", "RssFile"))
    descriptors, threads = len(os.listdir(f"/proc/{pid}/fd")), int(status["Threads"])
    return Sample(at, memory, mapped, descriptors, threads, database, passages, requests)


class Slopes(msgspec.Struct):
    """Growth a minute once the server was warm."""

    memory: float
    passages: float
    mapped: float
    descriptors: float
    threads: float
    database_per_thousand: float
    """Megabytes for each thousand requests: a database may grow by what it is given."""

    def __str__(self) -> str:
        return (
            f"memory {self.memory:+.2f} MB/min at {self.passages:.0f} passages/min and {self.mapped:+.2f} of files,"
            f" descriptors {self.descriptors:+.2f}/min, threads {self.threads:+.2f}/min,"
            f" database {self.database_per_thousand:+.2f} MB per 1,000 requests"
        )


def slopes(samples: list[Sample]) -> Slopes:
    warm = samples[int(len(samples) * WARM_UP) :]
    at = [one.at / 60 for one in warm]

    def slope(values: list[float], over: list[float]) -> float:
        return statistics.linear_regression(over, values).slope

    return Slopes(
        memory=slope([one.memory for one in warm], at),
        passages=slope([float(one.passages) for one in warm], at),
        mapped=slope([one.mapped for one in warm], at),
        descriptors=slope([float(one.descriptors) for one in warm], at),
        threads=slope([float(one.threads) for one in warm], at),
        database_per_thousand=slope([one.database for one in warm], [one.requests / 1000 for one in warm]),
    )


def soaked(installation: Installation, seconds: float) -> tuple[Report, Soak]:
    """What is amiss after so many seconds of everything, and what was measured meanwhile."""

    def database() -> tuple[float, int]:
        files = installation.data.glob("deedbox.sqlite*")
        return sum(file.stat().st_size for file in files) / 1e6, installation.rows("select count(*) from chunks")[0][0]

    soak = Soak(seconds, database)
    report = Scenario(installation, half_load=True).run(soak.run)
    report.faults += soak.faults
    return report, soak

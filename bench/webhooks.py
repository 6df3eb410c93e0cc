"""Deliveries a second and the delay from commit to arrival, alone and beside 100 dead endpoints.

Beside them, in the same run, what bare httpcore posts to the same receiver: the limit of the client in use.

Usage: python -m bench.webhooks [--burst 1000] [--delays 200] [--dead 100] [--rounds 3] [--small]"""

import asyncio
import contextlib
import http.client
import json
import statistics
import sys
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import httpcore
import uvloop

from bench.measure import median, process, temporary_folder
from bench.options import Options, tell
from deedbox import wiring
from deedbox.accounts import workspaces
from deedbox.kernel import outbox
from deedbox.kernel.addresses import networks
from deedbox.kernel.db import Tx
from deedbox.kernel.settings import Networks, Settings
from deedbox.webhooks import hooks
from deedbox.webhooks.hook import NewHook
from deedbox.wiring import Installation

RATE = 100
WORKERS = 4
DATA = {"document_id": "doc_0", "title": "Lease agreement", "status": "sent", "metadata": {"department": "sales"}}


class Office:
    def __init__(self, wish: Any, deedbox: Installation, workspace: str, port: int) -> None:
        self.wish = wish
        self.deedbox = deedbox
        self.workspace = workspace
        self.port = port
        self.healthy = ""
        """The hook whose deliveries are measured."""
        self._made = 0

    async def subscribe(self, url: str, kind: str) -> str:
        new, box, now = NewHook(url, event=kind), self.deedbox.box, self.deedbox.clock.now()
        made = await self.deedbox.db.write(
            lambda tx: hooks.create(tx, box, workspaces.operator(self.workspace), new, managed_by="api", now=now)
        )
        return made.hook.id

    async def emit(self, kind: str) -> tuple[str, float]:
        """The id of a new event of a new document, and when it was committed."""
        self._made += 1
        subject, now = f"doc_{self._made}", self.deedbox.clock.now()

        def write(tx: Tx) -> str:
            return outbox.emit(tx, self.workspace, kind, subject, DATA, now=now).id

        return await self.deedbox.db.write(write), time.monotonic()

    def arrived(self) -> dict[str, float]:
        """When each event arrived since the last time it was asked."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.request("GET", "/report")
        report: dict[str, float] = json.loads(connection.getresponse().read())
        connection.close()
        return report

    async def all_arrived(self, expected: int) -> dict[str, float]:
        report: dict[str, float] = {}
        while len(report) < expected:
            await asyncio.sleep(0.2)
            report |= await asyncio.to_thread(self.arrived)
        return report


@contextlib.asynccontextmanager
async def opened(wish: Any, folder: Path, port: int) -> AsyncIterator[Office]:
    settings = Settings(data_dir=folder, egress_allow=Networks(networks("127.0.0.0/8")))
    async with wiring.open_installation(settings) as deedbox:
        now = deedbox.clock.now()
        workspace = await deedbox.db.write(lambda tx: workspaces.ensure(tx, now=now))
        yield Office(wish, deedbox, workspace.id, port)


class Burst(NamedTuple):
    per_second: float
    cpu_ms: float
    """Of this process, for each."""


async def burst(office: Office) -> Burst:
    """Deliveries of events that wait already."""
    hook_id, db, operator = office.healthy, office.deedbox.db, workspaces.operator(office.workspace)
    await db.write(lambda tx: hooks.pause(tx, operator, hook_id, now=office.deedbox.clock.now()))
    number = office.wish.burst
    await asyncio.gather(*(office.emit("document.sent") for _ in range(number)))
    started = time.process_time()
    await db.write(lambda tx: hooks.resume(tx, operator, hook_id, now=office.deedbox.clock.now()))
    times = sorted((await office.all_arrived(number)).values())
    cpu = time.process_time() - started
    return Burst((len(times) - 1) / (times[-1] - times[0]), cpu * 1000 / number)


async def delays(office: Office) -> list[float]:
    """Milliseconds from commit to arrival, of events that come at a steady rate."""
    committed: dict[str, float] = {}
    for _ in range(office.wish.delays):
        event, at = await office.emit("document.sent")
        committed[event.upper()] = at
        await asyncio.sleep(1 / RATE)
    arrived = await office.all_arrived(office.wish.delays)
    return [max(0.0, (arrived[event] - at) * 1000) for event, at in committed.items()]


async def bare(port: int, number: int) -> Burst:
    """Posts by httpcore alone, four at a time as the sender makes them."""
    body = json.dumps({"id": "evt_0", "data": DATA}, separators=(",", ":")).encode()
    left = iter(range(number))
    async with httpcore.AsyncConnectionPool(max_connections=WORKERS) as pool:

        async def post() -> None:
            for one in left:
                headers: dict[bytes | str, bytes | str] = {
                    "Content-Type": "application/json",
                    "X-Service-Event-Id": f"BARE_{one}",
                }
                await pool.request("POST", f"http://127.0.0.1:{port}/hook", headers=headers, content=body)

        started, cpu = time.monotonic(), time.process_time()
        await asyncio.gather(*(post() for _ in range(WORKERS)))
        return Burst(number / (time.monotonic() - started), (time.process_time() - cpu) * 1000 / number)


@contextlib.asynccontextmanager
async def dead_ones(office: Office) -> AsyncIterator[None]:
    """A hundred endpoints that refuse, stall or answer 500, and events for all of them that keep coming."""
    for number in range(office.wish.dead):
        ways = f"http://127.0.0.1:1/{number}", f"http://127.0.0.1:{office.port}/stall/{number}"
        await office.subscribe((*ways, f"http://127.0.0.1:{office.port}/500/{number}")[number % 3], "document.voided")

    async def keep_coming() -> None:
        while True:
            await office.emit("document.voided")
            await asyncio.sleep(1)

    for _ in range(20):
        await office.emit("document.voided")
    coming = asyncio.create_task(keep_coming())
    await asyncio.sleep(office.wish.pause)
    try:
        yield
    finally:
        coming.cancel()


async def measured(office: Office, name: str) -> tuple[str, str]:
    """Prints what was measured; deliveries a second, and the median delay of each round."""
    bursts, rounds = [], []
    for _ in range(office.wish.rounds):
        bursts.append(await burst(office))
        rounds.append(await delays(office))
    cuts = statistics.quantiles([one for each in rounds for one in each], n=100)
    print(f"{name:26} {shown(bursts)}   commit to arrival p50 {cuts[49]:5.1f} ms   p99 {cuts[98]:5.1f} ms")
    return between([one.per_second for one in bursts], 0), between([median(each) for each in rounds], 1)


def shown(bursts: list[Burst]) -> str:
    """The median of the rounds."""
    rate, cpu = statistics.median(one.per_second for one in bursts), statistics.median(one.cpu_ms for one in bursts)
    return f"{rate:6.0f}/s, {cpu:4.2f} ms of CPU each"


def between(values: Sequence[float], digits: int) -> str:
    """The least and the most of the rounds."""
    least, most = f"{min(values):,.{digits}f}", f"{max(values):,.{digits}f}"
    return least if least == most else f"{least}–{most}"


async def run(wish: Any, port: int) -> None:
    print(f"Webhooks to one endpoint on loopback, SQLite; medians of {wish.rounds} rounds")
    limit = [await bare(port, wish.burst) for _ in range(wish.rounds)]
    with temporary_folder() as folder:
        async with opened(wish, folder, port) as office:
            office.healthy = await office.subscribe(f"http://127.0.0.1:{port}/hook", "document.sent")
            await office.deedbox.sender.start(alone=True)
            office.arrived()
            alone, delay = await measured(office, "alone")
            async with dead_ones(office):
                crowded, _ = await measured(office, f"beside {wish.dead} dead endpoints")
            await office.deedbox.sender.stop(0)
    print(f"{'bare httpcore posts':26} {shown(limit)}   (unsigned, unrecorded)")
    posts = between([one.per_second for one in limit], 0)
    tell(wish, rate=alone, delay=f"{delay} ms", crowded=crowded, bare=posts)


def main() -> None:
    options = Options(__doc__)
    options.size("burst", 1000, small=20)
    options.size("delays", 200, small=5)
    options.size("dead", 100, small=3)
    options.size("rounds", 3, small=1)
    options.size("pause", 3.0, small=0.1, help="seconds after which the dead endpoints have been tried")
    wish = options.wish()
    with process([sys.executable, "-m", "bench.sink"]) as sink:
        assert sink.stdout is not None
        uvloop.run(run(wish, int(sink.stdout.readline())))


if __name__ == "__main__":
    main()

"""Deliveries a second and the delay from commit to arrival, alone and beside 100 dead endpoints.

Beside them, in the same run, what bare httpcore posts to the same receiver: the limit of the client in use.
"""

import asyncio
import contextlib
import http.client
import json
import statistics
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import NamedTuple

import httpcore
import uvloop

from bench.measure import process, temporary_folder
from deedbox import wiring
from deedbox.accounts import workspaces
from deedbox.kernel import outbox
from deedbox.kernel.addresses import networks
from deedbox.kernel.db import Tx
from deedbox.kernel.settings import Networks, Settings
from deedbox.webhooks import hooks
from deedbox.webhooks.hook import NewHook
from deedbox.wiring import Deedbox

BURST = 1000
DELAYS = 200
RATE = 100
DEAD = 100
ROUNDS = 3
WORKERS = 4
DATA = {"document_id": "doc_0", "title": "Lease agreement", "status": "sent", "metadata": {"department": "sales"}}


class Office:
    def __init__(self, deedbox: Deedbox, workspace: str, port: int) -> None:
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
async def opened(folder: Path, port: int) -> AsyncIterator[Office]:
    settings = Settings(data_dir=folder, egress_allow=Networks(networks("127.0.0.0/8")))
    async with wiring.opened(settings) as deedbox:
        now = deedbox.clock.now()
        workspace = await deedbox.db.write(lambda tx: workspaces.ensure(tx, now=now))
        yield Office(deedbox, workspace.id, port)


class Burst(NamedTuple):
    per_second: float
    cpu_ms: float
    """Of this process, for each."""


async def burst(office: Office) -> Burst:
    """Deliveries of events that wait already."""
    hook_id, db, operator = office.healthy, office.deedbox.db, workspaces.operator(office.workspace)
    await db.write(lambda tx: hooks.pause(tx, operator, hook_id, now=office.deedbox.clock.now()))
    await asyncio.gather(*(office.emit("document.sent") for _ in range(BURST)))
    started = time.process_time()
    await db.write(lambda tx: hooks.resume(tx, operator, hook_id, now=office.deedbox.clock.now()))
    times = sorted((await office.all_arrived(BURST)).values())
    cpu = time.process_time() - started
    return Burst((len(times) - 1) / (times[-1] - times[0]), cpu * 1000 / BURST)


async def delays(office: Office) -> list[float]:
    """Milliseconds from commit to arrival, of events that come at a steady rate."""
    committed: dict[str, float] = {}
    for _ in range(DELAYS):
        event, at = await office.emit("document.sent")
        committed[event.upper()] = at
        await asyncio.sleep(1 / RATE)
    arrived = await office.all_arrived(DELAYS)
    return [max(0.0, (arrived[event] - at) * 1000) for event, at in committed.items()]


async def bare(port: int) -> Burst:
    """Posts by httpcore alone, four at a time as the sender makes them."""
    body = json.dumps({"id": "evt_0", "data": DATA}, separators=(",", ":")).encode()
    left = iter(range(BURST))
    async with httpcore.AsyncConnectionPool(max_connections=WORKERS) as pool:

        async def post() -> None:
            for number in left:
                headers: dict[bytes | str, bytes | str] = {
                    "Content-Type": "application/json",
                    "X-Service-Event-Id": f"BARE_{number}",
                }
                await pool.request("POST", f"http://127.0.0.1:{port}/hook", headers=headers, content=body)

        started, cpu = time.monotonic(), time.process_time()
        await asyncio.gather(*(post() for _ in range(WORKERS)))
        return Burst(BURST / (time.monotonic() - started), (time.process_time() - cpu) * 1000 / BURST)


@contextlib.asynccontextmanager
async def dead_ones(office: Office) -> AsyncIterator[None]:
    """A hundred endpoints that refuse, stall or answer 500, and events for all of them that keep coming."""
    for number in range(DEAD):
        ways = f"http://127.0.0.1:1/{number}", f"http://127.0.0.1:{office.port}/stall/{number}"
        await office.subscribe((*ways, f"http://127.0.0.1:{office.port}/500/{number}")[number % 3], "document.voided")

    async def keep_coming() -> None:
        while True:
            await office.emit("document.voided")
            await asyncio.sleep(1)

    for _ in range(20):
        await office.emit("document.voided")
    coming = asyncio.create_task(keep_coming())
    await asyncio.sleep(3)
    try:
        yield
    finally:
        coming.cancel()


async def measured(office: Office, say: Callable[[str], None], name: str) -> None:
    bursts, times = [], []
    for _ in range(ROUNDS):
        bursts.append(await burst(office))
        times += await delays(office)
    cuts = statistics.quantiles(times, n=100)
    say(f"{name:26} {shown(bursts)}   commit to arrival p50 {cuts[49]:5.1f} ms   p99 {cuts[98]:5.1f} ms")


def shown(bursts: list[Burst]) -> str:
    """The median of the rounds."""
    rate, cpu = statistics.median(one.per_second for one in bursts), statistics.median(one.cpu_ms for one in bursts)
    return f"{rate:6.0f}/s, {cpu:4.2f} ms of CPU each"


async def run(port: int) -> None:
    print(f"Webhooks to one endpoint on loopback, SQLite; medians of {ROUNDS} rounds")
    limit = [await bare(port) for _ in range(ROUNDS)]
    with temporary_folder() as folder:
        async with opened(folder, port) as office:
            office.healthy = await office.subscribe(f"http://127.0.0.1:{port}/hook", "document.sent")
            await office.deedbox.sender.start(alone=True)
            office.arrived()
            await measured(office, print, "alone")
            async with dead_ones(office):
                await measured(office, print, f"beside {DEAD} dead endpoints")
            await office.deedbox.sender.stop(0)
    print(f"{'bare httpcore posts':26} {shown(limit)}   (unsigned, unrecorded)")


def main() -> None:
    with process([sys.executable, "-m", "bench.sink"]) as sink:
        assert sink.stdout is not None
        uvloop.run(run(int(sink.stdout.readline())))


if __name__ == "__main__":
    main()

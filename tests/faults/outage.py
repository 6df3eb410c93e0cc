"""Documents are made, sent, signed, declined and voided while something that the server needs goes away and returns.

Nobody restarts the server. What clients were told is held against what is there once all is back."""

import asyncio
import os
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import TypeAlias

import httpx

from tests import server
from tests.faults import installation as installations
from tests.faults.aftermath import Report, examined
from tests.faults.installation import Installation
from tests.faults.ledger import Ledger
from tests.faults.patient import Answers, PatientClient, SentAway
from tests.faults.signers import Doors, template_wanted

CLIENTS = 8
BEFORE = 30
"""Requests that are done before anything goes wrong."""
AFTER = 60
"""Requests that must be done once all is well again."""
WORK = (
    "select count(*) from jobs where kind in ('finalize', 'certify_packet', 'bulk_send', 'index') and state = 'ready'"
)
CROWD, CROWD_SECONDS = 50, 0.5
"""So much work may wait at half load, and how often it is looked at."""
SECONDS = 90
"""For each wait: whatever takes longer will not come."""
WAITING = (
    "select count(*) from jobs where kind in ('finalize', 'certify_packet', 'bulk_send')"
    " and state in ('ready', 'running') and attempts < 4"
)
"""What fails for the fourth time although all is back would be tried for hours."""


class Scenario:
    def __init__(self, installation: Installation, *, seed: int = 1, half_load: bool = False) -> None:
        self.installation = installation
        self.half_load = half_load
        self.ledger = Ledger()
        self.answers = Answers(self.ledger)
        self.figures: dict[str, int] = {}
        self.server: server.Server
        self.key = ""
        self._chance = random.Random(seed)

    def run(self, fault: "Fault") -> Report:
        """What is amiss after the fault; it returns when all is well again."""
        self.key = key = self.installation.key()
        with self.installation.running(gently=True) as running:
            self.server = running
            report = asyncio.run(self._run(Doors(running.address, key), Doors(running.address, key), fault))
        report.figures |= self.figures
        return report

    async def _run(self, doors: Doors, last: Doors, fault: "Fault") -> Report:
        async with doors:
            self.ledger.template_id = await self._template(doors)
            self.answers.watch(doors)
            async with self._load(doors):
                await self.until(lambda: self.ledger.count["done"] >= BEFORE, "the load began")
                await fault(self)
                await self._recover()
            await self._settle(doors)
        await self._drain()
        return await examined(self.installation, last, self.ledger)

    async def _template(self, doors: Doors) -> str:
        """Made with the first request of all: on a busy machine, sandboxes may not start within its time."""
        while (made := await doors.sender.post("/api/v1/templates", json=template_wanted("Deed"))).status_code == 408:
            pass
        assert made.status_code == 201, made.text
        return str(made.json()["id"])

    @asynccontextmanager
    async def _load(self, doors: Doors) -> AsyncIterator[None]:
        enough = asyncio.Event()
        clients = []
        for _ in range(CLIENTS):
            rest = self._rest if self.half_load else None
            client = PatientClient(doors, self.ledger, self._chance, enough, rest=rest)
            clients.append(asyncio.create_task(client.run()))
        try:
            yield
        finally:
            enough.set()
            await asyncio.gather(*clients)

    async def _rest(self, took: float) -> None:
        """For as long as the last step took, and until the server is abreast of its work: half load."""
        await asyncio.sleep(took)
        while self.installation.rows(WORK)[0][0] > CROWD:
            await asyncio.sleep(CROWD_SECONDS)

    async def _recover(self) -> None:
        """Waits until as much is done again as should be, and notes how long the first took."""
        began, done = time.monotonic(), self.ledger.count["done"]
        await self.until(lambda: self.ledger.count["done"] > done, "something was done again")
        self.figures["ms until the next change"] = round(1000 * (time.monotonic() - began))
        await self.until(lambda: self.ledger.count["done"] > done + AFTER, "all went on")
        self.figures["ms of refusals after the end"] = round(1000 * max(0.0, self.answers.last_refusal - began))
        self.figures["ms of the slowest refusal"] = round(1000 * self.answers.slowest)
        self.figures |= {f"answers {code}": number for code, number in self.answers.codes.items()}

    async def _settle(self, doors: Doors) -> None:
        last = PatientClient(doors, self.ledger, self._chance, asyncio.Event())
        for _ in range(len(self.ledger.owed)):
            self.ledger.count["retried"] += 1
            with suppress(SentAway):  # it is noted as refused
                await last.ask(self.ledger.owed.pop())
        for place in (self.ledger.places[name] for name in self.ledger.batches):
            if (await doors.sender.get(place)).json()["status"] == "paused":
                assert (await doors.sender.post(f"{place}/resume")).is_success

    async def _drain(self) -> None:
        """Jobs that failed meanwhile are tried again by themselves. However much has come together, it gets less."""
        began = time.monotonic()
        while left := self._left():
            await self.until(lambda left=left: self._left() < left, f"some of {left} jobs was done")  # type: ignore[misc]
        self.figures["ms until the work was done"] = round(1000 * (time.monotonic() - began))

    def _left(self) -> int:
        return int(self.installation.rows(WAITING)[0][0])

    async def until(self, condition: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + SECONDS
        while not condition():
            assert self.server.process.poll() is None, f"the server ended: {self.installation.log()[-3000:]}"
            assert time.monotonic() < end, f"in vain: {what}; {self.ledger.faults[:5]} {self.answers.codes}"
            await asyncio.sleep(0.02)

    async def refused(self, number: int) -> None:
        """Waits until so many more requests were sent away."""
        enough = self.answers.codes.total() + number
        await self.until(lambda: self.answers.codes.total() >= enough, "requests were refused")

    async def done(self, number: int) -> None:
        """Waits until so many more changes were acknowledged."""
        enough = self.ledger.count["done"] + number
        await self.until(lambda: self.ledger.count["done"] >= enough, "changes were made")

    async def ready(self) -> httpx.Response:
        """What the server says of itself."""
        return await self._asked("/readyz")

    async def listed(self) -> httpx.Response:
        """A list, for which no file is needed and nothing is written."""
        return await self._asked("/api/v1/documents")

    async def _asked(self, path: str) -> httpx.Response:
        async with installations.client(self.server.address, self.key) as client:
            return await client.get(path)


Fault: TypeAlias = Callable[[Scenario], Awaitable[None]]


def load() -> str:
    """How busy the machine was, for whoever reads a figure."""
    return f"load {os.getloadavg()[0]:.1f}"

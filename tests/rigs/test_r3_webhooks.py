"""R3: every event reaches every live subscriber at least once, in order where it is healthy, with the same bytes.

A process emits events and sends them to endpoints that work, refuse, reset, stall, answer 500, 302, 429 and 410; it is
killed at random moments and started again. Then every event that it had acknowledged must have arrived."""

import asyncio
import random
import socket
import sys
import zlib
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from msgspec import Struct

from deedbox.accounts import workspaces
from deedbox.kernel.clock import SystemClock
from deedbox.kernel.crypto import Box, make_ring
from deedbox.kernel.db import Database, Tx
from deedbox.webhooks import catalogue, hooks
from deedbox.webhooks.hook import NewHook
from tests.rigs import FULL
from tests.rigs.webhook_process import FOLLOWED, LEASED_FOR_EVER, NO_BUG, REBUILT, WORKSPACE, opened
from tests.server import environment
from tests.webhooks.sink import RESET, STALL, Received, Reply, Sink

pytestmark = pytest.mark.anyio

LIVE = ("/healthy", "/resets", "/stalls", "/fails", "/moves", "/busy", "/refuses")
SETTLE_SECONDS = 600 if FULL else 120


class Score(Struct):
    kills: int = 0
    events: int = 0
    deliveries: int = 0
    attempts: int = 0
    lost: int = 0
    altered: int = 0
    disorder: int = 0
    trapped: int = 0
    disabled: bool = False

    def line(self, database: str, bug: str) -> str:
        return (
            f"R3 webhooks on {database}: {self.kills} kills, {self.events} events, {self.deliveries} deliveries, "
            f"{self.attempts} attempts, {self.lost} lost, {self.altered} altered, {self.disorder} out of order, "
            f"{self.trapped} redirects followed (seeded bug: {bug})"
        )


class Rig:
    def __init__(self, folder: Path, url: str, bug: str, kills: int, processes: int = 1) -> None:
        self.score = Score(kills=kills)
        self.sink = Sink()
        self._folder, self._url, self._bug = folder, url, bug
        self._others = processes - 1
        """Processes that emit and send beside the one that is killed."""
        self._dice = random.Random(3)
        self._acknowledged: list[str] = []
        self._tried: Counter[tuple[str, str]] = Counter()
        self._taken: set[tuple[str, str]] = set()

    def _rule(self, got: Received) -> Reply:
        """Each bad endpoint misbehaves for the first attempts at every other event, and then takes it."""
        self._tried[got.path, got.event_id] += 1
        tried = self._tried[got.path, got.event_id]
        if got.path == "/gone":
            return Reply(410)
        moved, busy = (
            Reply(302, {"Location": f"http://127.0.0.1:{self.sink.port}/trap"}),
            Reply(429, {"Retry-After": "1"}),
        )
        replies = {
            "/resets": [Reply(instead=RESET)] * 2,
            "/stalls": [Reply(instead=STALL)] if self._dice.random() < 0.2 else [],
            "/fails": [Reply(500)] * 2,
            "/moves": [moved],
            "/busy": [busy],
        }
        unlucky = replies.get(got.path, []) if zlib.crc32(got.event_id.encode()) % 2 else []
        if tried <= len(unlucky):
            return unlucky[tried - 1]
        self._taken.add((got.path, got.event_id))
        return Reply()

    async def run(self, events: int) -> Score:
        self.sink.rule = self._rule
        server = await asyncio.start_server(self.sink.serve, "127.0.0.1", 0)
        self.sink.port = server.sockets[0].getsockname()[1]
        refusing = socket.socket()
        refusing.bind(("127.0.0.1", 0))  # bound but not listening: connections are refused, and the port is ours
        db = opened(self._url)
        try:
            await self._subscribe(db, refusing.getsockname()[1])
            async with AsyncExitStack() as others:
                for _ in range(self._others):
                    await others.enter_async_context(self._process(events))
                await self._kill_one(events)
                late = await asyncio.start_server(self.sink.serve, sock=refusing)
                for _ in range(self.score.kills - 1):
                    await self._kill_one(events)
                async with self._process(20):
                    await self._settle()
                late.close()
            self.score.disabled = await db.read(_gone_is_disabled)
        finally:
            server.close()
            self.sink.hang_up()
            await db.close()
        self._judge()
        return self.score

    async def _kill_one(self, events: int) -> None:
        async with self._process(events) as process:
            await asyncio.sleep(self._dice.uniform(0.2, 1.5))
            process.kill()

    async def _subscribe(self, db: Database, refusing_port: int) -> None:
        make_ring(self._folder / "master.key")
        box, now = Box(self._folder / "master.key"), SystemClock().now()

        def make(tx: Tx) -> None:
            tx.run("insert into workspaces (id, name, created_at) values (:id, '', '')", id=WORKSPACE)
            for path in (*LIVE, "/gone"):
                port = refusing_port if path == "/refuses" else self.sink.port
                new = NewHook(f"http://127.0.0.1:{port}{path}", events=list(catalogue.KINDS))
                hooks.create(tx, box, workspaces.operator(WORKSPACE), new, managed_by="api", now=now)

        await db.write(make)

    @asynccontextmanager
    async def _process(self, events: int) -> AsyncIterator[asyncio.subprocess.Process]:
        words = [sys.executable, "-m", "tests.rigs.webhook_process"]
        process = await asyncio.create_subprocess_exec(
            *words, str(self._folder), self._url, str(events), self._bug, stdout=-1, env=environment()
        )
        assert process.stdout is not None
        assert await process.stdout.readline() == b"ready\n"
        listening = asyncio.create_task(self._listen(process.stdout))
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()
            await listening

    async def _listen(self, lines: asyncio.StreamReader) -> None:
        async for line in lines:
            if line.endswith(b"\n"):
                self._acknowledged.append(line.decode().strip())

    def _missing(self) -> int:
        return sum((path, event) not in self._taken for path in LIVE for event in self._acknowledged)

    async def _settle(self) -> None:
        """Waits until everything has arrived; or for so long as nothing more does."""
        await asyncio.sleep(1)
        seen, quiet, patience = -1, 0.0, 60 if self._bug == NO_BUG else 8
        async with asyncio.timeout(SETTLE_SECONDS):
            while (self._missing() or len(self._acknowledged) < 20) and quiet < patience:
                quiet = quiet + 0.2 if len(self.sink.received) == seen else 0.0
                seen = len(self.sink.received)
                await asyncio.sleep(0.2)

    def _judge(self) -> None:
        received = [got for got in self.sink.received if got.path != "/trap"]
        bodies: dict[str, set[bytes]] = defaultdict(set)
        sequences: dict[str, list[int]] = defaultdict(list)
        for got in received:
            bodies[got.event_id].add(got.body)
            if got.path == "/healthy":
                sequences[got.json["data"]["document_id"]].append(got.json["sequence"])
        self.score.events = len(self._acknowledged)
        self.score.deliveries = len(self._acknowledged) * len(LIVE)
        self.score.attempts = len(received)
        self.score.lost = self._missing()
        self.score.altered = sum(len(versions) > 1 for versions in bodies.values())
        # What came again after a wait in vain came for the first time in order.
        firsts = [list(dict.fromkeys(numbers)) for numbers in sequences.values()]
        self.score.disorder = sum(numbers != sorted(numbers) for numbers in firsts)
        self.score.trapped = len(self.sink.to("/trap"))


def _gone_is_disabled(tx: Tx) -> bool:
    row = tx.one("select status, disabled_reason from hooks where target_url like '%/gone'")
    return row == ("disabled", "The endpoint answered 410 Gone.")


async def run_rig(folder: Path, url: str, bug: str, *, kills: int, events: int, processes: int = 1) -> Score:
    score = await Rig(folder, url, bug, kills, processes).run(events)
    print(score.line(url.partition(":")[0], bug))
    return score


async def test_every_event_reaches_every_live_subscriber_whenever_the_sender_is_killed(
    tmp_path: Path, database_url: str
) -> None:
    score = await run_rig(tmp_path, database_url, NO_BUG, kills=50 if FULL else 3, events=20 if FULL else 1000)
    assert (score.lost, score.altered, score.disorder, score.trapped) == (0, 0, 0, 0)
    assert score.disabled
    assert score.events >= 20
    assert score.attempts > score.deliveries


async def test_six_processes_beside_each_other_lose_nothing_although_one_is_killed_again_and_again(
    tmp_path: Path, postgres_url: str
) -> None:
    score = await run_rig(tmp_path, postgres_url, NO_BUG, kills=50 if FULL else 2, events=20, processes=6)
    assert (score.lost, score.altered, score.trapped) == (0, 0, 0)
    assert score.events >= 100


@pytest.mark.parametrize(("bug", "sign"), [(REBUILT, "altered"), (FOLLOWED, "trapped"), (LEASED_FOR_EVER, "lost")])
async def test_the_rig_catches_the_seeded_bug(tmp_path: Path, sqlite_path: Path, bug: str, sign: str) -> None:
    score = await run_rig(tmp_path, f"sqlite:{sqlite_path}", bug, kills=1, events=40)
    assert getattr(score, sign) > 0

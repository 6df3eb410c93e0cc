"""R3: every event reaches every live subscriber at least once, in order where it is healthy, with the same bytes.

A process emits events and sends them to endpoints that work, refuse, reset, stall, answer 500, 302, 429 and 410; it is
killed at random moments and started again. Then every event that it had acknowledged must have arrived."""

import asyncio
import random
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from deedbox.accounts import workspaces
from deedbox.kernel.clock import SystemClock
from deedbox.kernel.crypto import ValueCipher, create_key_file
from deedbox.kernel.db import Database, Tx
from deedbox.webhooks import catalogue, hooks
from deedbox.webhooks.hook import NewHook
from tests.faults import FULL
from tests.faults.subscribers import Score, Subscribers
from tests.faults.webhook_process import FOLLOWED, LEASED_FOR_EVER, NO_BUG, REBUILT, WORKSPACE, opened
from tests.server import environment

pytestmark = pytest.mark.anyio

SETTLE_SECONDS = 600 if FULL else 120
LEAST = 20


class Scenario:
    def __init__(self, folder: Path, url: str, bug: str, kills: int, processes: int = 1) -> None:
        self.score = Score(kills=kills)
        self.subscribers = Subscribers(lambda got: got.event_id)
        self._folder, self._url, self._bug = folder, url, bug
        self._others = processes - 1
        """Processes that emit and send beside the one that is killed."""
        self._dice = random.Random(3)

    async def run(self, events: int) -> Score:
        db = opened(self._url)
        try:
            async with self.subscribers.listening():
                await self._subscribe(db)
                async with AsyncExitStack() as others:
                    for _ in range(self._others):
                        await others.enter_async_context(self._process(events))
                    await self._kill_one(events)
                    await self.subscribers.accept()
                    for _ in range(self.score.kills - 1):
                        await self._kill_one(events)
                    async with self._process(LEAST):
                        await self._settle()
            self.score.disabled = await db.read(_gone_is_disabled)
        finally:
            await db.close()
        return self.subscribers.judge(self.score)

    async def _kill_one(self, events: int) -> None:
        async with self._process(events) as process:
            await asyncio.sleep(self._dice.uniform(0.2, 1.5))
            process.kill()

    async def _subscribe(self, db: Database) -> None:
        create_key_file(self._folder / "master.key")
        box, now = ValueCipher(self._folder / "master.key"), SystemClock().now()

        def make(tx: Tx) -> None:
            tx.run("insert into workspaces (id, name, created_at) values (:id, '', '')", id=WORKSPACE)
            for url in self.subscribers.urls():
                new = NewHook(url, events=list(catalogue.KINDS))
                hooks.create(tx, box, workspaces.operator(WORKSPACE), new, managed_by="api", now=now)

        await db.write(make)

    @asynccontextmanager
    async def _process(self, events: int) -> AsyncIterator[asyncio.subprocess.Process]:
        words = [sys.executable, "-m", "tests.faults.webhook_process"]
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
                self.subscribers.expected.append(line.decode().strip())

    async def _settle(self) -> None:
        await asyncio.sleep(1)
        patience = 60 if self._bug == NO_BUG else 8
        await self.subscribers.settle(least=LEAST, patience=patience, seconds=SETTLE_SECONDS)


def _gone_is_disabled(tx: Tx) -> bool:
    row = tx.one("select status, disabled_reason from hooks where target_url like '%/gone'")
    return row == ("disabled", "The endpoint answered 410 Gone.")


async def run_rig(folder: Path, url: str, bug: str, *, kills: int, events: int, processes: int = 1) -> Score:
    score = await Scenario(folder, url, bug, kills, processes).run(events)
    print(score.line(f"on {url.partition(':')[0]}", bug))
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

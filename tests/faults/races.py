"""R5: on each document the signer signs, twice, and declines, the sender voids, and time runs out: all at once.

Every third is a packet. And a bulk send is paused, resumed, tried again, uploaded again and canceled while it sends."""

import asyncio
import math
import random
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from tests.faults.aftermath import Report, drained
from tests.faults.consistency import contradictions, stories
from tests.faults.installation import Installation
from tests.faults.signers import Doors, at_turn, batch_wanted, packet_wanted, signature, template_wanted, wanted
from tests.faults.together import batch_faults, packet_faults

BATCH = 50
SENDERS = 8
AHEAD_SECONDS = 2
"""How far ahead the documents of a batch expire, beside the time that it takes to tell them all."""
SPREADS_SECONDS = (0.02, 0.25)
"""How far apart they act: so near that they all meet, or so far that each can be first."""
EARLY_SECONDS = (0.0, 2.0)
"""How long before the expiry every second race is run, lest on a slow machine the expiry wins them all."""
PACKET_EVERY = 3
BATCH_ROWS = 120
"""More than one transaction sends."""
BATCH_SECONDS = 1.0
"""Within which everybody does something with it."""
BATCHES = "/api/v1/bulk-sends"
ENDS = {"complete": "completed", "decline": "declined", "void": "voided"}


class Runner(msgspec.Struct):
    """A document or a packet before its race."""

    place: str
    documents: list[str]
    cookies: list[str]
    won: list[str] = []
    """The acts that were told to be done."""


class Scenario:
    def __init__(self, installation: Installation, *, seed: int = 1) -> None:
        self.installation = installation
        self._chance = random.Random(seed)
        self._runners: list[Runner] = []
        self._faults: list[str] = []
        self._answers: Counter[str] = Counter()
        self._batches = 0

    def run(self, documents: int, batches: int = 0) -> Report:
        """Who won on each of so many documents, and what is amiss, also with so many bulk sends."""
        key = self.installation.key()
        with self.installation.running(gently=True) as running:
            asyncio.run(self._races(Doors(running.address, key), documents, batches))
        return self._report()

    async def _races(self, doors: Doors, documents: int, batches: int) -> None:
        async with doors:
            for _ in range(batches):
                await self._batch(doors)
            while len(self._runners) < documents:
                number = min(BATCH, documents - len(self._runners))
                room, began = asyncio.Semaphore(SENDERS), time.time()
                batch = await asyncio.gather(*(self._ready(doors, room, one) for one in range(number)))
                self._runners += batch
                # To tell them takes a seventh of the requests that it took to make them, on whatever machine.
                end = math.ceil(time.time() + AHEAD_SECONDS + (time.time() - began) / 3)
                await asyncio.gather(*(self._expire_at(doors, runner, end, room) for runner in batch))
                await asyncio.gather(*(self._race(doors, runner, end) for runner in batch))
            await drained(self.installation)

    async def _ready(self, doors: Doors, room: asyncio.Semaphore, number: int) -> Runner:
        async with room:
            path, body = "/api/v1/documents", wanted("Race", send=True)
            if number % PACKET_EVERY == 0:
                path, body = "/api/v1/packets", packet_wanted("Race", send=True)
            made = await doors.sender.post(path, json=body)
            assert made.status_code == 201, made.text
            found = made.json()
            [signer_id] = at_turn(found)
            documents = [one["id"] for one in found.get("documents", [found])]
            cookies = [await doors.enter(documents[0], signer_id) for _ in range(3)]
            return Runner(f"{path}/{found['id']}", documents, cookies)

    async def _expire_at(self, doors: Doors, runner: Runner, end: int, room: asyncio.Semaphore) -> None:
        async with room:
            moment = datetime.fromtimestamp(end, UTC).isoformat()
            answer = await doors.sender.patch(runner.place, json={"expires_at": moment})
            assert answer.status_code == 200, answer.text

    async def _race(self, doors: Doors, runner: Runner, end: float) -> None:
        first, second, third = runner.cookies
        spread = self._chance.choice(SPREADS_SECONDS)
        end -= self._chance.choice((0, self._chance.uniform(*EARLY_SECONDS)))
        await asyncio.gather(
            self._act(doors, runner, "complete", self._near(end, spread), first),
            self._act(doors, runner, "complete", self._near(end, spread), second),
            self._act(doors, runner, "decline", self._near(end, spread), third),
            self._act(doors, runner, "void", self._near(end, spread)),
            self._act(doors, runner, "look", self._near(end, spread)),
        )

    def _near(self, end: float, spread: float) -> float:
        return end + self._chance.uniform(-spread, spread)

    async def _act(self, doors: Doors, runner: Runner, act: str, at: float, cookie: str = "") -> None:
        await asyncio.sleep(max(0.0, at - time.time()))
        if act == "look":  # whoever looks at a document whose time is over ends it
            answer = await doors.sender.get(runner.place)
        elif act == "void":
            answer = await doors.sender.post(f"{runner.place}/void")
        else:
            body: Any = signature("Ann") if act == "complete" else {}
            answer = await doors.act(cookie, act, body)
        self._answers[f"answers {answer.status_code}"] += 1
        if answer.status_code == 200 and act != "look":
            runner.won.append(act)
        elif answer.status_code not in (200, 409):
            self._faults.append(f"failed: {act} was answered {answer.status_code} {answer.text}")

    async def _batch(self, doors: Doors) -> None:
        """Everything that can be done with a bulk send, while it sends; at the end what waits is sent or canceled."""
        self._batches += 1
        template = await doors.sender.post("/api/v1/templates", json=template_wanted("Race"))
        body = batch_wanted(f"Race {self._batches}", template.json()["id"], BATCH_ROWS)
        made = await doors.sender.post(BATCHES, json={**body, "rows": body["rows"][: BATCH_ROWS // 2]})
        assert made.status_code == 201, made.text
        place = f"{BATCHES}/{made.json()['id']}"
        acts = ["pause", "resume", "retry"] * 6 + ["add"] * 3
        await asyncio.gather(*(self._act_on_batch(doors, place, act, body) for act in acts))
        if self._batches % 2:
            await self._act_on_batch(doors, place, "cancel", body)
        if (await doors.sender.get(place)).json()["status"] == "paused":
            await self._act_on_batch(doors, place, "resume", body)

    async def _act_on_batch(self, doors: Doors, place: str, act: str, body: Any) -> None:
        await asyncio.sleep(self._chance.uniform(0, BATCH_SECONDS))
        if act == "add":
            answer = await doors.sender.post(BATCHES, json=body)
        else:
            answer = await doors.sender.post(f"{place}/{act}")
        self._answers[f"answers {answer.status_code}"] += 1
        if answer.status_code not in (200, 409):
            self._faults.append(f"failed: {act} was answered {answer.status_code} {answer.text}")

    def _report(self) -> Report:
        found, faults = stories(self.installation), self._faults
        for runner in self._runners:
            ends = [ENDS[act] for act in runner.won] or ["expired"]
            for story in (found[one] for one in runner.documents):
                if len(ends) > 1:
                    faults.append(f"two ends: {story.id} is {story.status}, and {ends} were acknowledged")
                elif [story.status] != ends:
                    faults.append(f"lost: {story.id} is {story.status}, and {ends} was acknowledged")
                faults += [f"half-applied: {each}" for each in contradictions(story)]
        faults += [*packet_faults(self.installation), *batch_faults(self.installation)]
        if "database is locked" in self.installation.log():
            faults.append("failed: the database was locked")
        winners = Counter(found[runner.documents[0]].status for runner in self._runners)
        packets = sum(len(runner.documents) > 1 for runner in self._runners)
        figures = {"races": len(self._runners), "packets": packets, "batches": self._batches}
        return Report({**figures, **winners, **self._answers}, faults)


def raced(
    data: Path, documents: int, batches: int = 0, *, database_url: str | None = None, bug: str | None = None
) -> Report:
    """What came of the races on so many documents and packets, and of so many bulk sends."""
    return Scenario(Installation(data, database_url=database_url, bug=bug)).run(documents, batches)

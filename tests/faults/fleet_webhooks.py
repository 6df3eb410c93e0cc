"""R3 over a fleet: documents are sent and voided at its servers, its workers tell subscribers that misbehave, and its
processes die again and again. What was acknowledged must have arrived.

Run as `python -m tests.faults.fleet_webhooks`, this is the server of that fleet, whose waits are short."""

import asyncio
import os
import random
from collections.abc import Awaitable, Callable

from deedbox.cli import main
from tests.faults import FULL, installation
from tests.faults.faulty_server import VARIABLE
from tests.faults.fleet import Fleet
from tests.faults.installation import BREAKS
from tests.faults.signers import wanted
from tests.faults.subscribers import Score, Subscribers
from tests.faults.webhook_process import NO_BUG, hurry
from tests.server import Server
from tests.webhooks.sink import Received

CLIENTS = 4
ANSWERED = (5, 25)
"""Events that are acknowledged before a kill, which comes while a worker waits for an answer."""
KILLED_AFTER_SECONDS = (0.0, 1.0)
ENDLESS = 1000
"""Documents that no caller gets to before the kill."""
AT_THE_END = 10
EVENTS = ("document.sent", "document.voided")
PATIENCE_SECONDS = 60
SETTLE_SECONDS = 900 if FULL else 300


def _named(got: Received) -> str:
    return f"{got.json['type']} {got.json['data']['document_id']}"


class Scenario:
    def __init__(self, fleet: Fleet, *, bug: str = NO_BUG, patience: float = PATIENCE_SECONDS) -> None:
        fleet.module = "tests.faults.fleet_webhooks"
        fleet.env |= {"DEEDBOX_EGRESS_ALLOW": "127.0.0.0/8", VARIABLE: bug}
        self._fleet, self._patience = fleet, patience
        self._subscribers = Subscribers(_named)
        self._chance = random.Random(3)
        self._key = ""

    async def run(self, kills: int) -> Score:
        self._key = await asyncio.to_thread(self._fleet.key)
        async with self._subscribers.listening():
            for number in range(kills):
                await self._alive(self._until_killed if number else self._subscribe_and_be_killed)
                if number == 0:
                    await self._subscribers.accept()
            await self._alive(self._until_all_has_come)
        gone = self._fleet.rows("select status from hooks where target_url like '%/gone'")
        return self._subscribers.judge(Score(kills=kills, disabled=gone == [("disabled",)]))

    async def _alive(self, act: Callable[[Server], Awaitable[None]]) -> None:
        """Acts while the fleet runs. To start it takes seconds, in which the subscribers go on."""
        running = self._fleet.running()
        whole = await asyncio.to_thread(running.__enter__)
        try:
            await act(whole)
        finally:
            await asyncio.to_thread(running.__exit__, None, None, None)

    async def _subscribe_and_be_killed(self, whole: Server) -> None:
        async with installation.client(whole.address, self._key) as http:
            for url in self._subscribers.urls():
                made = await http.post("/api/v1/hooks", json={"target_url": url, "events": list(EVENTS)})
                assert made.status_code == 201, made.text
        await self._until_killed(whole)

    async def _until_killed(self, whole: Server) -> None:
        enough = len(self._subscribers.expected) + self._chance.randint(*ANSWERED)

        async def kill() -> None:
            while len(self._subscribers.expected) < enough or not self._subscribers.stalled:
                await asyncio.sleep(0.01)
            await asyncio.sleep(self._chance.uniform(*KILLED_AFTER_SECONDS))
            whole.process.kill()

        async with asyncio.TaskGroup() as group:
            group.create_task(kill())
            for _ in range(CLIENTS):
                group.create_task(self._send_and_void(whole, ENDLESS))

    async def _until_all_has_come(self, whole: Server) -> None:
        await self._send_and_void(whole, AT_THE_END)
        await self._subscribers.settle(least=AT_THE_END, patience=self._patience, seconds=SETTLE_SECONDS)

    async def _send_and_void(self, whole: Server, documents: int) -> None:
        """One caller, who notes what was acknowledged; it ends when the fleet dies under it."""
        expected = self._subscribers.expected
        async with installation.client(whole.address, self._key) as http:
            try:
                for _ in range(documents):
                    sent = await http.post("/api/v1/documents", json=wanted("Deed", send=True))
                    assert sent.status_code == 201, sent.text
                    document_id = sent.json()["id"]
                    expected.append(f"document.sent {document_id}")
                    voided = await http.post(f"/api/v1/documents/{document_id}/void", json={"reason": "It was a test"})
                    assert voided.status_code == 200, voided.text
                    expected.append(f"document.voided {document_id}")
            except BREAKS:
                return


if __name__ == "__main__":
    hurry(os.environ[VARIABLE])
    main()

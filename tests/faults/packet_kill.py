"""R1 for packets: the server dies between the last signature and the completions; afterwards all are complete."""

import asyncio
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.faults.aftermath import drained
from tests.faults.installation import Installation
from tests.faults.signers import Doors, at_turn, packet_wanted, person, signature

DOCUMENTS = 3
_PARTIES = [
    {"name": "Board", "signers": [person(1), person(2), person(3)], "rule": "quorum", "quorum": 2},
    {"name": "Buyer", "signers": [person(4)], "order": 2},
]
_SENT = ["packet.sent", *["document.sent"] * DOCUMENTS]
_SIGNED = ["document.signed"] * DOCUMENTS
EVENTS = [
    *_SENT, *_SIGNED, *_SIGNED, "party.completed", *_SIGNED, "party.completed",
    *["document.completed"] * DOCUMENTS, "packet.completed",
]  # fmt: skip
"""What is told of a packet, in this order and each once."""


class Scenario:
    def __init__(self, data: Path, *, database_url: str | None = None, bug: str | None = None, seed: int = 1) -> None:
        self.installation = Installation(data, database_url=database_url, bug=bug)
        self._chance = random.Random(seed)
        self._packets: list[str] = []

    def run(self, stages: list[int]) -> list[str]:
        """What is amiss after a kill for each of these: when so many documents of the packet were complete."""
        key = self.installation.key()
        for stage in stages:
            asyncio.run(self._signed_and_killed(key, stage))
        self.installation.lapse_leases()
        with self.installation.running(gently=True) as running:
            missing = asyncio.run(self._missing(running.address, key))
        return [*missing, *(fault for packet_id in self._packets for fault in self._faults(packet_id))]

    async def _signed_and_killed(self, key: str, stage: int) -> None:
        with self.installation.running() as running:
            async with Doors(running.address, key) as doors:
                title = f"Deed {len(self._packets)}"
                body = packet_wanted(title, send=True, documents=DOCUMENTS, parties=_PARTIES)
                made = await doors.sender.post("/api/v1/packets", json=body)
                assert made.status_code == 201, made.text
                self._packets.append(made.json()["id"])
                await self._sign_all(doors, made.json())
            while self._completed(self._packets[-1]) < stage:
                await asyncio.sleep(0.002)
            await asyncio.sleep(self._chance.uniform(0, 0.05))
            running.process.kill()

    async def _sign_all(self, doors: Doors, packet: Any) -> None:
        """As two of three and then one sign all documents, each by one act."""
        for _ in range(3):
            now = (await doors.sender.get(f"/api/v1/packets/{packet['id']}")).json()
            cookie = await doors.enter(packet["documents"][0]["id"], at_turn(now)[0])
            answer = await doors.act(cookie, "complete", signature("A hand"))
            assert answer.status_code == 200, answer.text

    def _completed(self, packet_id: str) -> int:
        sql = f"select count(*) from documents where packet_id = '{packet_id}' and status = 'completed'"
        return int(self.installation.rows(sql)[0][0])

    async def _missing(self, address: str, key: str) -> list[str]:
        """Which packets are not complete, or have not left everything, once no job waits any more."""
        await drained(self.installation)
        faults = []
        async with Doors(address, key) as doors:
            for place in (f"/api/v1/packets/{packet_id}" for packet_id in self._packets):
                if (status := (await doors.sender.get(place)).json()["status"]) != "completed":
                    faults.append(f"stuck: {place} is {status}")
                    continue
                for answer in [await doors.sender.get(f"{place}/{what}") for what in ("certificate", "zip")]:
                    faults += [f"lost: {answer.url} {answer.text}"] if answer.status_code != 200 else []
        return faults

    def _faults(self, packet_id: str) -> Iterator[str]:
        told = self.installation.rows(f"select kind from events where line = '{packet_id}' order by number")
        if (kinds := [row[0] for row in told]) != EVENTS:
            yield f"events of {packet_id}: {kinds}"
        mails = self.installation.rows(
            "select to_address, count(*) from mails where kind = 'completion' and about in"
            f" (select id from documents where packet_id = '{packet_id}') group by to_address"
        )
        if sorted(row[1] for row in mails) != [1, 1, 1]:
            yield f"completion mails of {packet_id}: {mails}"

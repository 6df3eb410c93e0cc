"""Completed documents under kills: the server dies while it takes them in; each is in the library once afterwards."""

import asyncio
import base64
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import msgspec

from tests.api.search.files import pdf
from tests.faults import installation
from tests.faults.installation import Installation
from tests.faults.signers import Doors, at_turn, signature, wanted

_MODULE = "tests.faults.search_server"
PAUSE_MOST = 0.05
STAGES = {
    "completed": "select count(*) from documents where status = 'completed'",
    "running": "select count(*) from jobs where kind = 'index' and state in ('running', 'done')",
    "ended": "select count(*) from jobs where kind = 'index' and state = 'done'",
}
"""How far the first document of a burst is when the server dies."""
_UNDER_WAY = "select count(*) from jobs where kind in ('finalize', 'index') and state in ('ready', 'running')"


class Report(msgspec.Struct):
    kills: int = 0
    kills_amid: int = 0
    """Of them, those after which a document was still to be taken in."""
    documents: int = 0
    faults: list[str] = []


class Scenario:
    def __init__(self, data: Path, *, database_url: str | None = None, bug: str | None = None, seed: int = 1) -> None:
        self.installation = Installation(data, database_url=database_url, bug=bug, module=_MODULE)
        self.report = Report()
        self._chance = random.Random(seed)
        self._words: dict[str, str] = {}
        """What only this document speaks of, by its id."""

    def run(self, stages: list[str], each: int) -> Report:
        """Has so many documents signed and kills the server, for each of these stages; what is amiss afterwards."""
        key = self.installation.key()
        for stage in stages:
            asyncio.run(self._signed_and_killed(key, STAGES[stage], each))
            self.installation.lapse_leases()
        with self.installation.running(gently=True) as running:
            asyncio.run(self._look(running.address, key))
        self.report.documents = len(self._words)
        return self.report

    async def _signed_and_killed(self, key: str, reached: str, each: int) -> None:
        with self.installation.running() as running:
            async with Doors(running.address, key) as doors:
                before = self._count(reached) + 1
                await asyncio.gather(*(self._sign(doors) for _ in range(each)))
                while self._count(reached) < before:
                    await asyncio.sleep(0.002)
                await asyncio.sleep(self._chance.uniform(0, PAUSE_MOST))
                running.process.kill()
        self.report.kills += 1
        self.report.kills_amid += self._count(_UNDER_WAY) > 0

    async def _sign(self, doors: Doors) -> None:
        word = f"matter{len(self._words)}x"
        self._words[word] = word  # its place is taken before anything is awaited
        content = pdf(f"A deed about {word}.", size=(595, 842))
        file = {"name": "deed.pdf", "content_base64": base64.b64encode(content).decode()}
        made = await doors.sender.post("/api/v1/documents", json={**wanted(word, send=True), "file": file})
        assert made.status_code == 201, made.text
        self._words[made.json()["id"]] = self._words.pop(word)
        cookie = await doors.enter(made.json()["id"], at_turn(made.json())[0])
        assert (await doors.act(cookie, "complete", signature("A hand"))).status_code == 200

    def _count(self, sql: str) -> int:
        return int(self.installation.rows(sql)[0][0])

    async def _look(self, address: str, key: str) -> None:
        """Once nothing is left to do."""
        while self._count(_UNDER_WAY):
            await asyncio.sleep(0.05)
        async with installation.client(address, key) as http:
            records = (await http.get("/documents?limit=100")).json()["documents"]
            self.report.faults += self._in_library(records)
            for document_id, word in self._words.items():
                self.report.faults += await self._found(http, document_id, word)
        if (integrity := self.installation.integrity()) != "ok":
            self.report.faults.append(f"integrity: {integrity}")

    def _in_library(self, records: list[Any]) -> Iterator[str]:
        entries = Counter(record["document_id"] for record in records)
        for document_id in self._words:
            if entries[document_id] != 1:
                yield f"{'lost' if not entries[document_id] else 'twice'}: {document_id}"
        for record in records:
            if record["status"] != "indexed":
                yield f"stuck: {record['doc_id']} is {record['status']}"
        if entries.keys() - self._words.keys():
            yield f"strays: {entries}"

    async def _found(self, http: httpx.AsyncClient, document_id: str, word: str) -> list[str]:
        asked = {"query": word, "top_k": 50, "mode": "keyword"}
        results = (await http.post("/query", json=asked)).json().get("results", [])  # without an index there are none
        found = [one["metadata"]["document_id"] for one in results if word in one["text"]]
        return [] if found == [document_id] else [f"not found: {word} in {found}"]


def summary(report: Report, database: str) -> str:
    return installation.told("Take-in kill", report, database)

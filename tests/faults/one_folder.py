"""Three servers on one PostgreSQL and one data folder, changed and asked at random, while the one that writes the
index is killed now and then."""

import asyncio
import random
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import msgspec

from tests import server
from tests.faults import installation
from tests.faults.installation import BREAKS, Installation

SERVERS = 3
COMMON = "indenture"
TOP_K = 1000
_MODULE = "tests.faults.search_server"


class Report(msgspec.Struct):
    changes: int = 0
    kills: int = 0
    writers_killed: int = 0
    answers: int = 0
    missed: int = 0
    """Answers that lack what was acknowledged before, or hold what was deleted or replaced."""
    refused: int = 0
    """Answers of living servers other than 200."""
    different: int = 0
    """Questions that two servers answer with other bytes, or an index that is built anew."""

    @property
    def faults(self) -> int:
        return self.missed + self.refused + self.different


class Scenario:
    def __init__(self, data: Path, database_url: str, *, bug: str | None = None, seed: int = 1) -> None:
        self._installation = Installation(data, database_url=database_url, bug=bug, module=_MODULE)
        self._chance = random.Random(seed)
        self.report = Report()
        self._words: dict[str, str] = {}
        """The word that only this document has."""
        self._gone: list[str] = []
        self._made = 0
        self._servers: list[server.Server] = []
        self._clients: list[httpx.AsyncClient] = []

    async def run(self, rounds: int, kills: int) -> Report:
        with ExitStack() as stack:
            stack.callback(self._end)
            await asyncio.to_thread(self._begin)
            for number in range(rounds):
                await self._change(self._any())
                await self._ask_all()
                if number % max(1, rounds // max(1, kills)) == 0 and self.report.kills < kills:
                    await self._kill()
            before = await self._compare()
            await asyncio.to_thread(self._installation.command, "reindex", "--json")
            self.report.different += before != await self._compare()
            for client in self._clients:
                await client.aclose()
        return self.report

    def _begin(self) -> None:
        self._key = self._installation.key()
        for _ in range(SERVERS):
            self._add()

    def _end(self) -> None:
        for running in self._servers:
            installation.end(running)

    def _add(self) -> None:
        running = self._installation.start()
        self._servers.append(running)
        self._clients.append(installation.client(running.address, self._key))

    def _any(self) -> httpx.AsyncClient:
        return self._chance.choice(self._clients)

    async def _change(self, http: httpx.AsyncClient) -> None:
        """One change, acknowledged when it returns."""
        act = self._chance.choice(("upload", "upload", "replace", "delete")) if len(self._words) > 3 else "upload"
        doc_id = "" if act == "upload" else self._chance.choice(sorted(self._words))
        if act == "delete":
            (await http.delete(f"/documents/{doc_id}")).raise_for_status()
            self._gone.append(self._words.pop(doc_id))
        else:
            self._made += 1
            word = f"matter{self._made}x"
            file = {"file": (f"{word}.txt", f"{COMMON} of {word}\n\n{COMMON} again, {word}".encode())}
            if act == "upload":
                doc_id = str(_checked(await http.post("/documents/upload", files=file))["doc_id"])
            else:
                _checked(await http.put(f"/documents/{doc_id}", files=file))
                self._gone.append(self._words[doc_id])
            _checked(await http.post("/documents/index", json={"doc_ids": [doc_id]}))
            self._words[doc_id] = word
        self.report.changes += 1

    async def _ask_all(self) -> None:
        """Every server, at the same time, of some that are there and some that are gone."""
        there = self._chance.sample(sorted(self._words.items()), min(2, len(self._words)))
        gone = [("", word) for word in self._gone[-1:]]
        asked = [(http, doc_id, word) for http in self._clients for doc_id, word in (*there, *gone)]
        await asyncio.gather(*(self._look(*each) for each in asked))

    async def _look(self, http: httpx.AsyncClient, doc_id: str, word: str) -> None:
        answer = await http.post("/query", json={"query": word, "top_k": TOP_K, "mode": "keyword"})
        self.report.answers += 1
        if answer.status_code != 200:
            self.report.refused += 1
            return
        found = [each["metadata"]["doc_id"] for each in answer.json()["results"]]
        self.report.missed += found != [doc_id] * len(found) or bool(found) != bool(doc_id)

    async def _kill(self) -> None:
        """Kills the server that writes the index, in the midst of changes and questions; another begins."""
        at = next((at for at, running in enumerate(self._servers) if _writes(running)), 0)
        dying, client = self._servers.pop(at), self._clients.pop(at)
        self.report.writers_killed += _writes(dying)
        self.report.kills += 1
        asking = asyncio.create_task(self._ask_dying(client))
        changing = asyncio.create_task(self._change(self._any()))
        await asyncio.sleep(self._chance.uniform(0, 0.1))
        dying.process.kill()
        self._installation.lapse_leases()  # of the run that it may have begun
        await self._ask_all()
        await changing
        await self._ask_all()
        await asking
        installation.end(dying)
        await client.aclose()
        await asyncio.to_thread(self._add)

    async def _ask_dying(self, http: httpx.AsyncClient) -> None:
        try:
            while True:
                await http.post("/query", json={"query": COMMON, "top_k": 5})
        except BREAKS:
            return

    async def _compare(self) -> list[bytes]:
        """What all answer, byte for byte; each server that answers otherwise counts."""
        questions = [COMMON, "again", *list(self._words.values())[:3]]
        answers = []
        for http in self._clients:
            asked = [(text, mode) for text in questions for mode in ("hybrid", "semantic", "keyword")]
            found = [
                _checked(await http.post("/query", json={"query": text, "top_k": TOP_K, "mode": mode}))["results"]
                for text, mode in asked
            ]
            answers.append([msgspec.json.encode(each) for each in found])
            self.report.answers += len(asked)
        self.report.different += sum(one != answers[0] for one in answers[1:])
        return answers[0]


def _checked(answer: httpx.Response) -> Any:
    assert answer.status_code == 200, answer.text
    return answer.json()


def _writes(running: server.Server) -> bool:
    """Whether this process has the lock of an index; known on Linux only."""
    opened = Path(f"/proc/{running.process.pid}/fd")
    return any(file.is_symlink() and str(file.readlink()).endswith("/lock") for file in _files(opened))


def _files(folder: Path) -> list[Path]:
    try:
        return [file for file in folder.iterdir() if file.exists()]
    except OSError:
        return []

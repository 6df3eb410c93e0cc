"""R20: clients that upload files of all kinds, index, move, ask and delete at once, while the server is killed under
them again and again."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import msgspec

from tests.faults import installation
from tests.faults.installation import BREAKS, Installation
from tests.faults.papers import KINDS

COMMON = "rent"
KILL_BETWEEN = (0.3, 1.2)
DOCUMENTS_LEAST, DOCUMENTS_MOST = 12, 60
COLLECTIONS = ("leases", "letters", "tables")
TOP_K = 1000
_MODULE = "tests.faults.search_server"
_STATE = {
    "stuck": "select count(*) from uploads where status = 'indexing'",
    "orphaned": "select count(*) from chunk_sets where id not in"
    " (select chunk_set_id from index_log where chunk_set_id is not null)",
    "miscounted": "select count(*) from chunk_sets s where s.chunks <>"
    " (select count(*) from chunks c where c.chunk_set_id = s.id)",
    "chunks": "select coalesce(sum(s.chunks), 0) from uploads u join index_log l on l.upload_id = u.id"
    " join chunk_sets s on s.id = l.chunk_set_id",
}


class Report(msgspec.Struct):
    kills: int = 0
    uploads: int = 0
    kinds: int = 0
    """In so many formats."""
    moves: int = 0
    deletes: int = 0
    queries: int = 0
    found: int = 0
    answered_deleted: int = 0
    """Passages of documents whose deletion was acknowledged before the question was asked."""
    answered_elsewhere: int = 0
    """Passages of documents that lay in another collection than was asked for, before and after the question."""
    stuck: int = 0
    orphaned: int = 0
    miscounted: int = 0
    doubled: int = 0
    missing: int = 0
    """Chunks in the database that the index does not find, or the other way round."""
    answers_500: int = 0

    @property
    def faults(self) -> int:
        return (
            self.answered_deleted + self.answered_elsewhere + self.stuck + self.orphaned + self.miscounted
            + self.doubled + self.missing + self.answers_500
        )  # fmt: skip


class Scenario:
    def __init__(self, data: Path, *, database_url: str | None = None, bug: str | None = None, seed: int = 1) -> None:
        self.installation = Installation(data, database_url=database_url, bug=bug, module=_MODULE)
        self.report = Report()
        self._chance = random.Random(seed)
        self._alive: list[str] = []
        self._deleted: set[str] = set()
        self._places: dict[str, tuple[str, int]] = {}
        """The collections of those that are not being moved, each since which change of all: in the time of a slow
        question a document may be moved away and back."""
        self._changes = 0
        self._number = 0
        self._over = False

    def run(self, kills: int) -> Report:
        """Kills the server so many times, and says what is amiss afterwards."""
        key = self.installation.key()
        for _ in range(kills):
            asyncio.run(self._burst(key))
        asyncio.run(self._settle(key))
        return self.report

    async def _burst(self, key: str) -> None:
        with self.installation.running() as running:
            async with installation.client(running.address, key) as http:
                await self._ask(http)  # what was deleted before the kill is gone after it
                await self._upload(http)  # starts the sandboxes, so that the time that follows is spent at work
                await self._index(http)
                acts = (self._upload, self._upload, self._index, self._move, self._delete, self._ask, self._ask)
                self._over = False
                clients = [asyncio.create_task(self._repeat(act, http)) for act in acts]
                await asyncio.sleep(self._chance.uniform(*KILL_BETWEEN))
                running.process.kill()
                self._over = True
                await asyncio.gather(*clients)
        self.report.kills += 1

    async def _repeat(self, act: Callable[[httpx.AsyncClient], Awaitable[Any]], http: httpx.AsyncClient) -> None:
        try:
            while not self._over:
                await act(http)
        except BREAKS:
            return

    async def _upload(self, http: httpx.AsyncClient) -> None:
        if len(self._alive) >= DOCUMENTS_MOST:
            await asyncio.sleep(0.01)
            return
        self._number += 1
        parts = [f"{COMMON} clause {part} of paper{self._number}" for part in range(self._chance.randint(1, 4))]
        kind = list(KINDS)[self._number % len(KINDS)]
        files, place = {"file": (f"{self._number}.{kind}", KINDS[kind](parts))}, self._chance.choice(COLLECTIONS)
        answer = await http.post("/documents/upload", files=files, data={"collection": place})
        doc_id = self._checked(answer)["doc_id"]
        self._place(doc_id, place)
        self._alive.append(doc_id)
        self.report.uploads += 1
        self.report.kinds = min(self.report.uploads, len(KINDS))

    async def _move(self, http: httpx.AsyncClient) -> None:
        if not self._places:
            await asyncio.sleep(0.01)
            return
        doc_id, place = self._chance.choice(list(self._places)), self._chance.choice(COLLECTIONS)
        del self._places[doc_id]
        answer = await http.patch(f"/documents/{doc_id}", json={"collection": place})
        if answer.status_code == 200:
            self._place(doc_id, place)
            self.report.moves += 1
        self.report.answers_500 += answer.status_code == 500

    def _place(self, doc_id: str, place: str) -> None:
        self._changes += 1
        self._places[doc_id] = (place, self._changes)

    async def _index(self, http: httpx.AsyncClient) -> None:
        if self.installation.database_url is None or not self._alive:
            self._checked(await http.post("/documents/index"))
            return
        # Several servers may share PostgreSQL, so a dead one's run is taken over when its lease ends, and not at the
        # next start: asking for some documents begins a run of its own.
        some = self._chance.sample(self._alive, min(5, len(self._alive)))
        answer = await http.post("/documents/index", json={"doc_ids": some})
        if answer.status_code != 404:  # one of them is deleted by now
            self._checked(answer)

    async def _delete(self, http: httpx.AsyncClient) -> None:
        if len(self._alive) < DOCUMENTS_LEAST:
            await asyncio.sleep(0.01)
            return
        doc_id = self._alive.pop(self._chance.randrange(len(self._alive)))
        answer = await http.delete(f"/documents/{doc_id}")
        if answer.status_code == 204:
            self._deleted.add(doc_id)
            self.report.deletes += 1
        self.report.answers_500 += answer.status_code == 500

    async def _ask(self, http: httpx.AsyncClient) -> None:
        mode = self._chance.choice(["hybrid", "semantic", "keyword"])
        await self._found(http, mode, self._chance.choice([None, None, *COLLECTIONS]))

    async def _found(self, http: httpx.AsyncClient, mode: str, place: str | None = None) -> list[Any]:
        """What is found; a fault is every passage of what was known to be deleted before, or to lie elsewhere."""
        deleted, before = set(self._deleted), dict(self._places)
        asked = {"query": f"{COMMON} clause", "top_k": TOP_K, "mode": mode, "collections": place and [place]}
        answer = await http.post("/query", json=asked)
        self.report.answers_500 += answer.status_code == 500
        results: list[Any] = answer.json()["results"] if answer.status_code == 200 else []
        self.report.queries += 1
        self.report.found += len(results)
        ids = [result["metadata"]["doc_id"] for result in results]
        self.report.answered_deleted += sum(doc_id in deleted for doc_id in ids)
        if place is not None:
            elsewhere = {each for each, lay in before.items() if self._places.get(each) == lay and lay[0] != place}
            self.report.answered_elsewhere += sum(doc_id in elsewhere for doc_id in ids)
        names = [result["chunk_id"] for result in results]
        self.report.doubled += len(names) - len(set(names))
        return results

    def _checked(self, answer: httpx.Response) -> Any:
        self.report.answers_500 += answer.status_code == 500
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def _settle(self, key: str) -> None:
        """After the last kill: everything is indexed, and the index is what the database says."""
        with self.installation.running(gently=True) as running:
            async with installation.client(running.address, key) as http:
                self._checked(await http.post("/documents/index"))
                found = await self._found(http, "semantic")
                size = self._checked(await http.get("/stats"))["index_size"]
        state = {name: int(self.installation.rows(sql)[0][0]) for name, sql in _STATE.items()}
        self.report.stuck, self.report.orphaned = state["stuck"], state["orphaned"]
        self.report.miscounted = state["miscounted"]
        self.report.missing = abs(state["chunks"] - len(found)) + abs(state["chunks"] - size)


def deleted(
    data: Path, kills: int, *, database_url: str | None = None, bug: str | None = None, seed: int = 1
) -> Report:
    """What the clients found after so many kills of the server on this data folder."""
    return Scenario(data, database_url=database_url, bug=bug, seed=seed).run(kills)


def summary(report: Report, database: str) -> str:
    return installation.told("R20 deletion", report, database)

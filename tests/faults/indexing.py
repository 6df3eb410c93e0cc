"""The index under kills: documents come, change and go while runs index them, and the server dies in the midst."""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import msgspec

from tests.faults import installation
from tests.faults.installation import BREAKS, Installation

KILL_BETWEEN = (0.05, 1.0)
DOCUMENTS_MOST = 40
PARTS_MOST = 30
COMMON = "indenture"
QUESTIONS = (COMMON, f"{COMMON} part 1", "part 2 of the text")
TOP_K = 1000
_MODULE = "tests.faults.search_server"


class Paper(msgspec.Struct):
    """A document as its owner knows it."""

    word: str
    """Stands in every part of its text, and in no other text that ever was."""
    parts: int
    former: list[str] = []
    """The words of contents that were replaced."""
    unsure: bool = False
    """The server died before it said whether the last replacement or deletion was done."""


class Report(msgspec.Struct):
    kills: int = 0
    kills_while_indexing: int = 0
    uploads: int = 0
    replaces: int = 0
    deletes: int = 0
    runs: int = 0
    documents: int = 0
    stuck: int = 0
    """Documents that are `indexing`, `uploaded` or `failed` after everything was indexed."""
    misnumbered: int = 0
    """Documents whose chunks are not numbered 0, 1, 2… once each, or are not those of their text."""
    not_found: int = 0
    """Documents that their own word does not find, whole."""
    ghosts: int = 0
    """Passages found by a word that is in no document any more."""
    miscounted: int = 0
    """By how many chunks /stats, the documents and the answers to a question for everything differ."""
    changed_by_reindex: int = 0
    """Questions that are answered otherwise by an index that is built anew."""
    answers_500: int = 0
    integrity: str = "ok"

    @property
    def faults(self) -> int:
        return (
            self.stuck + self.misnumbered + self.not_found + self.ghosts + self.miscounted + self.changed_by_reindex
            + self.answers_500 + (self.integrity != "ok")
        )  # fmt: skip


class Scenario:
    def __init__(self, data: Path, *, database_url: str | None = None, bug: str | None = None, seed: int = 1) -> None:
        self.installation = Installation(data, database_url=database_url, bug=bug, module=_MODULE)
        self.report = Report()
        self._chance = random.Random(seed)
        self._papers: dict[str, Paper] = {}
        self._gone: list[str] = []
        """Words of documents whose deletion was acknowledged."""
        self._words = 0
        self._indexing = False
        self._over = False

    def run(self, kills: int) -> Report:
        """Kills the server so many times, and says what is amiss afterwards."""
        key, before = self.killed(kills)
        self.installation.command("reindex", "--json")
        after = asyncio.run(self._with_server(key, self._answers))
        self.report.changed_by_reindex = sum(before[question] != after[question] for question in before)
        self.report.integrity = self._integrity()
        return self.report

    def killed(self, kills: int) -> tuple[str, dict[str, Any]]:
        """The test's key, and how questions are answered after so many kills; the report lists every fault."""
        key = self.installation.key()
        for _ in range(kills):
            asyncio.run(self._burst(key))
        return key, asyncio.run(self._with_server(key, self._settle))

    # what the clients do until the server dies

    async def _burst(self, key: str) -> None:
        with self.installation.running() as running:
            async with installation.client(running.address, key) as http:
                await self._upload(http)  # starts the sandboxes, so that the time that follows is spent at work
                self._over = self._indexing = False
                acts = (self._upload, self._upload, self._replace, self._delete, self._index)
                clients = [asyncio.create_task(self._repeat(act, http)) for act in acts]
                await asyncio.sleep(self._chance.uniform(*KILL_BETWEEN))
                while not self.report.kills and not min(self.report.replaces, self.report.runs):
                    await asyncio.sleep(0.02)  # on a busy machine nothing has been done yet
                self.report.kills_while_indexing += self._indexing
                running.process.kill()
                self._over = True
                await asyncio.gather(*clients)
        self.report.kills += 1

    async def _repeat(self, act: Callable[[httpx.AsyncClient], Awaitable[None]], http: httpx.AsyncClient) -> None:
        try:
            while not self._over:
                await act(http)
        except BREAKS:
            return

    def _text(self, paper: Paper) -> bytes:
        parts = [f"{COMMON} part {number} of the text about {paper.word}" for number in range(paper.parts)]
        return "\n\n".join(parts).encode()

    def _new_paper(self) -> Paper:
        self._words += 1
        return Paper(f"matter{self._words}x", self._chance.randint(1, PARTS_MOST))

    async def _upload(self, http: httpx.AsyncClient) -> None:
        if len(self._papers) >= DOCUMENTS_MOST:
            await asyncio.sleep(0.01)
            return
        paper = self._new_paper()
        answer = await http.post("/documents/upload", files={"file": (f"{paper.word}.txt", self._text(paper))})
        self._papers[self._checked(answer)["doc_id"]] = paper
        self.report.uploads += 1

    async def _replace(self, http: httpx.AsyncClient) -> None:
        if len(self._papers) < 5:
            await asyncio.sleep(0.01)
            return
        doc_id = self._chance.choice(list(self._papers))
        old, new = self._papers.pop(doc_id), self._new_paper()
        new.former = [*old.former, old.word]
        try:
            answer = await http.put(f"/documents/{doc_id}", files={"file": ("new.txt", self._text(new))})
        except BREAKS:
            new.unsure = True
            self._papers[doc_id] = new
            raise
        if old.unsure and answer.status_code == 404:
            self._gone += new.former
            return
        self._checked(answer)
        self._papers[doc_id] = new
        self.report.replaces += 1

    async def _delete(self, http: httpx.AsyncClient) -> None:
        if len(self._papers) < DOCUMENTS_MOST // 2:
            await asyncio.sleep(0.01)
            return
        doc_id = self._chance.choice(list(self._papers))
        paper = self._papers.pop(doc_id)
        try:
            answer = await http.delete(f"/documents/{doc_id}")
        except BREAKS:
            paper.unsure = True
            self._papers[doc_id] = paper
            raise
        self.report.answers_500 += answer.status_code >= 500
        assert answer.status_code == 204 or (paper.unsure and answer.status_code == 404), answer.text
        self._gone += [paper.word, *paper.former]
        self.report.deletes += 1

    async def _index(self, http: httpx.AsyncClient) -> None:
        self._indexing = True
        answer = await http.post("/documents/index", json=self._scope())
        self._indexing = False
        if self.installation.database_url is None or answer.status_code != 404:  # one of those named is deleted by now
            self._checked(answer)
            self.report.runs += 1

    def _scope(self) -> dict[str, list[str]]:
        """Everything; on PostgreSQL some, for there a dead server's run is taken over only when its lease ends."""
        if self.installation.database_url is None or not self._papers:
            return {}
        return {"doc_ids": self._chance.sample(list(self._papers), min(5, len(self._papers)))}

    def _checked(self, answer: httpx.Response) -> Any:
        self.report.answers_500 += answer.status_code >= 500
        assert answer.status_code == 200, answer.text
        return answer.json()

    # what is so when it has started for the last time

    async def _with_server(self, key: str, look: Callable[[httpx.AsyncClient], Awaitable[Any]]) -> Any:
        with self.installation.running(gently=True) as running:
            async with installation.client(running.address, key) as http:
                return await look(http)

    async def _settle(self, http: httpx.AsyncClient) -> dict[str, Any]:
        """Counts the faults after one more index run; what the questions are answered."""
        self._checked(await http.post("/documents/index"))
        records = {each["doc_id"]: each for each in self._checked(await http.get("/documents"))["documents"]}
        await self._clear_up(http, records)
        self.report.documents = len(records)
        self.report.stuck = sum(record["status"] != "indexed" for record in records.values())
        for doc_id in records:
            await self._examine(http, doc_id)
        for word in self._gone:
            self.report.ghosts += len(await self._ask(http, word, mode="keyword"))
        size = sum(record["chunks"] for record in records.values())
        stats, all_found = self._checked(await http.get("/stats")), await self._ask(http, COMMON, mode="keyword")
        self.report.miscounted = max(
            abs(size - other) for other in (stats["index_size"], stats["chunks"], len(all_found))
        ) + abs(len(records) - stats["documents"])
        return await self._answers(http)

    async def _clear_up(self, http: httpx.AsyncClient, records: dict[str, Any]) -> None:
        """Where the outcome was never told, the text says which it was; it must be one of the two, whole."""
        for doc_id, paper in list(self._papers.items()):
            if doc_id not in records:
                assert paper.unsure, f"{doc_id} is lost"
                self._gone += [paper.word, *paper.former]
                del self._papers[doc_id]
            elif paper.unsure and paper.former:
                text = (await http.get(f"/documents/{doc_id}/text")).text
                word = next(word for word in (paper.word, *paper.former) if f"{word}" in text.split())
                former = [each for each in (*paper.former, paper.word) if each != word]
                self._papers[doc_id] = Paper(word, text.count(COMMON), former)
        for doc_id in records.keys() - self._papers.keys():  # uploads that were done, but never acknowledged
            text = (await http.get(f"/documents/{doc_id}/text")).text
            self._papers[doc_id] = Paper(text.split()[-1], text.count(COMMON))
        self._gone += [word for paper in self._papers.values() for word in paper.former]

    async def _examine(self, http: httpx.AsyncClient, doc_id: str) -> None:
        paper = self._papers[doc_id]
        chunks = self._checked(await http.get(f"/documents/{doc_id}/chunks?limit=100"))["chunks"]
        expected = self._text(paper).decode().split("\n\n")
        self.report.misnumbered += [each["chunk_index"] for each in chunks] != list(range(paper.parts)) or [
            each["text"] for each in chunks
        ] != expected
        found = await self._ask(http, paper.word, mode="keyword")
        places = Counter((each["metadata"]["doc_id"], each["metadata"]["chunk_index"]) for each in found)
        self.report.not_found += places != Counter((doc_id, number) for number in range(paper.parts))

    async def _ask(self, http: httpx.AsyncClient, question: str, *, mode: str) -> list[Any]:
        asked = {"query": question, "top_k": TOP_K, "mode": mode}
        results: list[Any] = self._checked(await http.post("/query", json=asked))["results"]
        return results

    async def _answers(self, http: httpx.AsyncClient) -> dict[str, Any]:
        """The passages that answer some questions in each mode, in their order.

        Not their scores: those of words count texts that are deleted until the index merges its parts."""
        own = [paper.word for paper in self._papers.values()][:5]
        asked = [(question, mode) for question in (*QUESTIONS, *own) for mode in ("hybrid", "semantic", "keyword")]
        found = {f"{question} {mode}": await self._ask(http, question, mode=mode) for question, mode in asked}
        return {question: [(each["chunk_id"], each["text"]) for each in results] for question, results in found.items()}

    def _integrity(self) -> str:
        """`ok`, or what the database says of itself and of the documents that nobody indexes."""
        indexing = "select count(*) from uploads where status = 'indexing'"
        twice = "select count(*) from (select 1 from chunks group by chunk_set_id, number having count(*) > 1) as t"
        stuck, doubled = (int(self.installation.rows(sql)[0][0]) for sql in (indexing, twice))
        return self.installation.integrity() if (stuck, doubled) == (0, 0) else f"{stuck} stuck, {doubled} doubled"


def indexed(
    data: Path, kills: int, *, database_url: str | None = None, bug: str | None = None, seed: int = 1
) -> Report:
    """What was so after so many kills of the server on this data folder."""
    return Scenario(data, database_url=database_url, bug=bug, seed=seed).run(kills)


def stuck(data: Path, *, bug: str, seed: int) -> int:
    """Documents that are never indexed after two kills of a server with this bug."""
    scenario = Scenario(data, bug=bug, seed=seed)
    scenario.killed(2)
    return scenario.report.stuck


def summary(report: Report, database: str) -> str:
    return installation.told("Index kill", report, database)

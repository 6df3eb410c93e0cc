"""R16, there and back: an installation moves from SQLite and a folder to PostgreSQL and a bucket, and back.

Sealed documents and a library of chunks go with it. At each place every sealed file must have the same bytes and be
authentic, every question must get the same answer, and what must never change must have the same rows."""

import asyncio
import hashlib
import importlib
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from bench.corpus import Corpus
from bench.whole_query import fill
from msgspec import Struct

from deedbox.kernel.backup import archive, backup, restore
from deedbox.kernel.backup.archive import BackupManifest
from deedbox.kernel.backup.files import files_of
from deedbox.kernel.backup.postgres_tables import PostgresTables
from deedbox.kernel.backup.tables import TableShape
from deedbox.kernel.clock import SystemClock
from deedbox.kernel.db import Row
from deedbox.kernel.settings import load
from tests import server
from tests.faults.installation import Installation, client, end
from tests.faults.signers import Doors, signature, wanted

LOSES_ROWS = "the last chunk of each batch is lost, and nothing is compared"
UNCHANGED = ("audit", "sealed_files", "chunks", "chunk_sets", "index_log", "certificates", "parties", "blobs")
"""Tables to which nothing is added once all documents are sealed."""
SIGNERS_AT_ONCE = 6
WORDS_PER_QUESTION = 6
NOT_YET = (408, 503)
_TOOK = re.compile(rb'"elapsed_ms":[0-9.e+-]+')


class Score(Struct):
    documents: int = 0
    chunks: int = 0
    answers: int = 0
    not_authentic: int = 0
    other_bytes: int = 0
    other_answers: int = 0
    other_tables: int = 0
    places: int = 0

    def violations(self) -> int:
        return self.not_authentic + self.other_bytes + self.other_answers + self.other_tables

    def line(self, bug: str | None) -> str:
        return (
            f"R16 there and back: {self.documents} sealed documents and {self.chunks} chunks in {self.places} places, "
            f"{self.not_authentic} not authentic, {self.other_bytes} files with other bytes, {self.other_answers} of "
            f"{self.answers} answers differ, {self.other_tables} tables differ (seeded bug: {bug or 'none'})"
        )


class Seen(Struct):
    """What one place answers."""

    files: dict[str, str]
    answers: list[bytes]


class Scenario:
    def __init__(self, folder: Path, models: Path, bug: str | None = None) -> None:
        self.score = Score()
        self._folder, self._models, self._bug = folder, models, bug
        self._key = ""

    def make(self, documents: int, chunks: int) -> Installation:
        """The installation that will move."""
        first = self._place("first", {})
        with first.running(gently=True) as running:
            self._key = first.key()
            asyncio.run(seal(running.address, self._key, documents))
            while first.rows("select 1 from jobs where kind = 'index' and state not in ('done', 'parked') limit 1"):
                time.sleep(0.2)  # sealed documents go into the library
        asyncio.run(fill(first.data, chunks))
        self.score.documents, self.score.chunks = documents, chunks
        return first

    def run(self, first: Installation, there: Mapping[str, str], questions: int) -> Score:
        """Moves it there, and back into a folder."""
        asked = Corpus(seed=3).texts(questions, WORDS_PER_QUESTION)
        second, third = self._place("second", there), self._place("third", {})
        with _serving(first) as running:
            seen = self._look(running, asked)
            tables = self._move(first, second, "one.tgz")  # while the server runs
        for place, name in ((second, "two.tar"), (third, "three.tar")):
            with _serving(place) as running:
                self._compare(seen, self._look(running, asked))
            made = self._move(place, third, name) if place is second else self._backup(place, name)
            self.score.other_tables += sum(made.files[one] != tables.files[one] for one in _names())
        return self.score

    def _place(self, name: str, env: Mapping[str, str]) -> Installation:
        place = Installation(self._folder / name)
        place.env |= {"DEEDBOX_MODELS_DIR": str(self._models), **env}
        place.database_url = env.get("DEEDBOX_DATABASE_URL")
        return place

    def _backup(self, place: Installation, name: str) -> BackupManifest:
        target = self._folder / name
        if self._bug:
            settings, url = _settings(place)
            return backup(place.data, url, target, now=SystemClock().now(), files=files_of(settings))
        place.command("backup", str(target))
        with archive.open_backup(target) as reader:
            return reader.manifest()

    def _move(self, here: Installation, there: Installation, name: str) -> BackupManifest:
        made = self._backup(here, name)
        if self._bug:
            settings, url = _settings(there)
            restore(self._folder / name, there.data, url, files=files_of(settings))
        else:
            there.command("restore", str(self._folder / name))
        return made

    def _look(self, running: server.Server, asked: list[str]) -> Seen:
        files, verdicts = asyncio.run(sealed_files(running.address, self._key))
        self.score.places += 1
        self.score.not_authentic += sum(verdict != "authentic" for verdict in verdicts)
        self.score.not_authentic += self.score.documents - len(files)
        with running.client(self._key) as http:
            answers = [_answer(http, one) for one in asked]
        return Seen(files, [_TOOK.sub(b"", answer.content) for answer in answers])

    def _compare(self, before: Seen, after: Seen) -> None:
        self.score.other_bytes += sum(after.files.get(one) != sha256 for one, sha256 in before.files.items())
        self.score.answers += len(before.answers)
        self.score.other_answers += sum(a != b for a, b in zip(before.answers, after.answers, strict=True))


def _names() -> list[str]:
    return [archive.rows_of(table) for table in UNCHANGED]


def _settings(place: Installation) -> tuple[Any, str | None]:
    env = {name: value for name, value in place.env.items() if name.startswith("DEEDBOX_")}
    settings = load(env, {"data_dir": place.data})
    return settings, settings.database_url.reveal() if settings.database_url else None


@contextmanager
def _serving(place: Installation) -> Iterator[server.Server]:
    running = place.start()
    try:
        yield running
        assert running.stop() == 0
    finally:
        end(running)


@contextmanager
def losing_rows() -> Iterator[None]:
    """The seeded bug: a restore that loses rows and does not look."""
    module: Any = importlib.import_module("deedbox.kernel.backup.restore")
    add, compare = PostgresTables.add, module._Restore._compare_rows

    def short(self: PostgresTables, table: str, shape: TableShape, rows: list[Row]) -> None:
        add(self, table, shape, rows[:-1] if table == "chunks" else rows)

    PostgresTables.add, module._Restore._compare_rows = short, lambda *_: None  # type: ignore[method-assign]
    try:
        yield
    finally:
        PostgresTables.add, module._Restore._compare_rows = add, compare  # type: ignore[method-assign]


def _answer(http: httpx.Client, question: str) -> httpx.Response:
    """Asked again while the index is not ready."""
    while (answer := http.post("/query", json={"query": question, "top_k": 10}, timeout=300)).status_code in NOT_YET:
        time.sleep(0.2)
    assert answer.status_code == 200, answer.text
    assert answer.json()["results"]
    return answer


async def seal(address: str, key: str, count: int) -> None:
    """As many documents, each signed by one person, and sealed."""
    waiting = iter(range(count))
    async with Doors(address, key) as doors:

        async def work() -> None:
            for number in waiting:
                await _seal_one(doors, number)

        await asyncio.gather(*(work() for _ in range(SIGNERS_AT_ONCE)))


async def _seal_one(doors: Doors, number: int) -> None:
    made = await doors.sender.post("/api/v1/documents", json=wanted(f"Deed {number}", send=True))
    assert made.status_code == 201, made.text
    document = await _when(doors, made.json()["id"], "sent", "in_progress")
    signer = document["parties"][0]["signers"][0]["id"]
    cookie = await doors.enter(document["id"], signer)
    done = await doors.act(cookie, "complete", signature(f"Signer {number}"))
    assert done.status_code == 200, done.text
    await _when(doors, document["id"], "completed")


async def _when(doors: Doors, document_id: str, *states: str) -> Any:
    while (document := await doors.document(document_id))["status"] not in states:
        await asyncio.sleep(0.05)
    return document


async def sealed_files(address: str, key: str) -> tuple[dict[str, str], list[str]]:
    """The hash of every sealed file, and what the server says of it."""
    async with client(address, key) as http:
        ids = [one async for one in _completed(http)]
        found: dict[str, str] = {}
        verdicts: list[str] = []
        waiting = iter(ids)

        async def work() -> None:
            for one in waiting:
                pdf = await http.get(f"/api/v1/documents/{one}/signed")
                assert pdf.status_code == 200, pdf.text
                found[one] = hashlib.sha256(pdf.content).hexdigest()
                told = await http.post("/api/v1/verify", files={"file": ("deed.pdf", pdf.content)})
                verdicts.append(told.json()["verdict"])

        await asyncio.gather(*(work() for _ in range(SIGNERS_AT_ONCE)))
        return found, verdicts


async def _completed(http: httpx.AsyncClient) -> Any:
    after = None
    while True:
        more: dict[str, str] = {"cursor": after} if after else {}
        page = (await http.get("/api/v1/documents", params={"status": "completed", "limit": 100, **more})).json()
        for document in page["documents"]:
            yield document["id"]
        if not (after := page.get("next_cursor")):
            return

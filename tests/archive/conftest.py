"""An application that archives, with people who sign, and places to archive to that can be down."""

import asyncio
import io
import zipfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from deedbox.archive import store
from deedbox.archive.daily_roots import ROOTS_JOB
from deedbox.archive.spool import SpooledFile
from deedbox.archive.targets import ArchiveTarget, PutResult, Write
from deedbox.archive.verify import ArchiveVerdict
from deedbox.kernel.crypto import Secret
from deedbox.kernel.errors import Unavailable
from tests.api.conftest import opened, warm_children
from tests.api.signing.conftest import Office
from tests.archive.sink import Sink, sink
from tests.conftest import HandClock

__all__ = ["warm_children"]

KEY = "archive-key-0f1e2d3c4b5a69788796"
DAY = 86_400


class Faulty:
    """A target that can be down, and dies after it has taken a package but before it says so."""

    def __init__(self, inner: ArchiveTarget) -> None:
        self.inner = inner
        self.down = False
        self.silent = False
        self.begun: asyncio.Event | None = None
        self.may_end: asyncio.Event | None = None
        """With these, a put that has begun goes on when it may."""
        self.puts: list[str] = []

    def location(self, name: str) -> str:
        return self.inner.location(name)

    async def put(self, name: str, content: SpooledFile, media_type: str) -> PutResult:
        if self.down:
            raise Unavailable("The archive is down")
        self.puts.append(name)
        if self.begun is not None and self.may_end is not None:
            self.begun.set()
            await self.may_end.wait()
        kept = await self.inner.put(name, content, media_type)
        if self.silent:
            raise Unavailable("The archive said nothing")
        return kept

    async def confirm(self, name: str, content: SpooledFile) -> PutResult:
        return await self.inner.confirm(name, content)

    async def fetch(self, name: str, write: Write, version: str | None = None) -> None:
        if self.down:
            raise Unavailable("The archive is down")
        await self.inner.fetch(name, write, version)

    async def close(self) -> None:
        await self.inner.close()


class Archivist(Office):
    """An office whose documents are archived, with its archive in a folder."""

    def __init__(self, *args: Any, folder: Path) -> None:
        super().__init__(*args)
        self.folder = folder
        self.archive = self.api.deedbox.archive

    def with_fault(self) -> Faulty:
        faulty = Faulty(self.archive.target)
        self.archive._archive._target = faulty
        return faulty

    async def when(self, document: Any, status: str) -> Any:
        """The document, once its archiving stands so."""
        async with asyncio.timeout(60):
            while (found := await self.document(document["id"]))["archive"]["status"] != status:
                self.api.deedbox.jobs.wake()
                await asyncio.sleep(0.05)
        return found

    async def tried(self, document: Any, attempts: int) -> Any:
        """The document, once so many attempts were in vain and the next is planned."""
        async with asyncio.timeout(60):
            while True:
                found = await self.document(document["id"])
                if found["archive"]["attempts"] >= attempts and found["archive"]["status"] == "failed":
                    return found
                self.api.deedbox.jobs.wake()
                await asyncio.sleep(0.05)

    async def archived(self, **more: Any) -> Any:
        return await self.when(await self.sealed(**more), "archived")

    def package(self, document: Any) -> Path:
        return self.folder / self.api.workspace / f"{document['id']}.zip"

    def packages(self) -> list[str]:
        return sorted(path.name for path in self.folder.rglob("*.zip"))


def root_of(office: Archivist) -> Path:
    (found,) = (office.folder / "roots").iterdir()
    return found


def proof_of(office: Archivist, document: Any) -> Path:
    (found,) = office.package(document).parent.glob(f"{document['id']}.*.proof.json")
    return found


async def verdicts(office: Archivist, document: Any = None) -> list[ArchiveVerdict]:
    """What is found of everything, or of one document."""
    found: list[ArchiveVerdict] = []
    verification = office.archive.verification()
    if document is None:
        await verification.all(found.append)
        return found
    row = await office.api.deedbox.db.read(lambda tx: store.find(tx, document["id"]))
    assert row is not None
    await verification.document(row, found.append)
    return found


async def problems(office: Archivist) -> dict[str, str | None]:
    return {one.name: one.problem for one in await verdicts(office) if one.problem}


def midnight(clock: HandClock) -> datetime:
    return clock.now().replace(hour=0, minute=0, second=0, microsecond=0)


async def next_day(office: Archivist, clock: HandClock) -> None:
    """The day ends, and the round over it is made."""
    clock.forward(DAY)
    await office.archive.daily_roots.close_before(midnight(clock))
    # The day's own job has come due as well: what follows is not to meet it at work.
    due = f"select 1 from jobs where kind = '{ROOTS_JOB}' and state in ('ready', 'running') and run_at <= "
    async with asyncio.timeout(60):
        while await office.api.rows(due + str(clock.now().timestamp())):
            office.api.deedbox.jobs.wake()
            await asyncio.sleep(0.02)


def entries(package: bytes) -> dict[str, bytes]:
    """The files of a package, as any program for zip files reads them."""
    with zipfile.ZipFile(io.BytesIO(package)) as found:
        assert found.testzip() is None
        return {name.partition("/")[2]: found.read(name) for name in found.namelist()}


@asynccontextmanager
async def archiving(database_url: str, data: Path, clock: HandClock, **settings: Any) -> AsyncIterator[Archivist]:
    """An installation that archives, with its jobs at work."""
    settings = {"service_ecosystem_key": Secret(KEY), **settings}
    async with opened(database_url, data, clock, **settings) as made:
        await made.settle()
        await made.deedbox.start()
        try:
            yield Archivist(made, folder=data / "archive")
        finally:
            await made.deedbox.stop()


@pytest.fixture
def archive_sink() -> Iterator[Sink]:
    with sink() as running:
        yield running


@pytest.fixture
async def office(database_url: str, tmp_path: Path, clock: HandClock) -> AsyncIterator[Archivist]:
    async with archiving(database_url, tmp_path, clock) as made:
        yield made

"""Milliseconds of one claim of jobs while 100,000 index jobs wait, of one workspace and of a thousand.

A claim is what a worker with four free slots asks for in one transaction, without its commit. SQLite, and PostgreSQL
with and without statistics of its tables.

Usage: python -m bench.claims [--jobs 100000] [--workspaces 1 1000] [--claims 200] [--small]"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from bench import postgres
from bench.freeze import percentile
from bench.measure import median, temporary_folder
from bench.options import Options, tell
from deedbox.kernel.clock import SystemClock, instant, stopwatch
from deedbox.kernel.db import Database, Tx
from deedbox.kernel.db.migrate import migrate_postgres, migrate_sqlite
from deedbox.kernel.db.postgres import PostgresDatabase
from deedbox.kernel.db.sqlite import SqliteDatabase
from deedbox.kernel.jobs import PATIENT, Job, store
from deedbox.kernel.jobs.job import Slots

CLOCK = SystemClock()
INSERT = (
    "insert into jobs (id, kind, workspace_id, payload, priority, state, run_at, attempts, max_attempts, created_at)"
    f" values (:id, 'index', :workspace, '{{}}', {PATIENT}, 'ready', :run_at, 0, 5, :created_at)"
)
DONE = "update jobs set state = 'done', lease_until = null, finished_at = created_at where state = 'running'"
SLOTS = Slots(4, shared=True)


def fill(tx: Tx, jobs: int, workspaces: int) -> None:
    """Jobs of the last hour; those of one workspace came one after the other."""
    now = CLOCK.now()
    begun, step = now.timestamp() - 3600, 3600 / jobs
    each = jobs // workspaces
    tx.many(
        INSERT,
        [
            {
                "id": f"job_{number:08}",
                "workspace": f"wsp_{number // each:06}",
                "run_at": begun + number * step,
                "created_at": instant(now),
            }
            for number in range(jobs)
        ],
    )


async def times(db: Database, claims: int) -> list[float]:
    """Milliseconds of each claim; what was claimed is done before the next."""
    found = list[float]()
    for _ in range(claims):

        def claim(tx: Tx) -> list[Job]:
            begun = stopwatch()
            jobs = store.claim(tx, "bench", SLOTS, CLOCK.now())
            found.append((stopwatch() - begun) * 1000)
            return jobs

        assert await db.write(claim, isolation="read committed")
        await db.write(lambda tx: tx.run(DONE), isolation="read committed")
    return found


@contextmanager
def database(server: str | None, folder: Path, name: str) -> Iterator[Database]:
    if server is None:
        path = folder / f"{name}.sqlite"
        migrate_sqlite(path, CLOCK.now())
        yield SqliteDatabase(path)
        return
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"create database {name}")
    url = psycopg.conninfo.make_conninfo(server, dbname=name)
    migrate_postgres(url)
    yield PostgresDatabase(url)


async def measured(server: str | None, folder: Path, wish: tuple[int, int, int], *, analyzed: bool) -> list[float]:
    jobs, workspaces, claims = wish
    with database(server, folder, f"claims_{workspaces}_{analyzed}".lower()) as db:
        await db.write(lambda tx: fill(tx, jobs, workspaces))
        if analyzed and server:
            await db.write(lambda tx: tx.run("analyze jobs"))
        found = await times(db, claims)
        await db.close()
    return found


def main() -> None:
    options = Options(__doc__)
    options.size("jobs", 100_000, small=200)
    options.size("workspaces", [1, 1000], small=[1, 20])
    options.size("claims", 200, small=5)
    wish, figures = options.wish(), dict[str, str]()
    with temporary_folder() as folder, postgres.found(postgres.OWN) as url:
        for name, server, analyzed in (("sqlite", None, False), ("postgres", url, True), ("new_postgres", url, False)):
            for workspaces in wish.workspaces:
                size = (wish.jobs, workspaces, wish.claims)
                found = asyncio.run(measured(server, Path(folder), size, analyzed=analyzed))
                middle, tail = median(found), percentile(found, 95)
                print(f"{name:12} {wish.jobs} jobs of {workspaces:5}: median {middle:.2f} ms, 95 of 100 {tail:.2f} ms")
                figures[f"{name}_{workspaces}_ms"] = f"{middle:.2f}"
    tell(wish, **figures)


if __name__ == "__main__":
    main()

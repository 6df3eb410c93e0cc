"""Durable writes a second with 32 clients through the group commit, beside one fsync for every write.

Usage: python -m bench.write [--clients 32] [--seconds 3] [--rounds 3]"""

import argparse
import asyncio
import functools
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import uvloop

from bench.measure import median, temporary_folder
from deedbox.kernel.clock import stopwatch
from deedbox.kernel.db import Tx
from deedbox.kernel.db.migrate import migrate_sqlite
from deedbox.kernel.db.sqlite import SqliteDatabase, connect
from deedbox.kernel.jobs import enqueue
from deedbox.kernel.outbox import emit

NOW = datetime(2026, 1, 1, tzinfo=UTC)
WORKSPACE = "insert into workspaces (id, name, created_at) values ('wsp_bench', 'Bench', '2026-01-01T00:00:00Z')"


def one_change(tx: Tx, subject: str) -> None:
    """What a change of state costs at least: an event and a job, in one transaction."""
    emit(tx, "wsp_bench", "document.sent", subject, {"title": "Lease agreement"}, now=NOW)
    enqueue(tx, "deliver", {"subject": subject}, now=NOW)


def fresh(path: Path) -> None:
    migrate_sqlite(path, NOW)
    connection = connect(path, writable=True)
    connection.execute(WORKSPACE)
    connection.close()


async def grouped(path: Path, clients: int, seconds: float) -> float:
    """Writes a second through the database that the server uses."""
    fresh(path)
    db = SqliteDatabase(path)
    end, done = stopwatch() + seconds, 0

    async def client(number: int) -> None:
        nonlocal done
        turn = 0
        while stopwatch() < end:
            turn += 1
            await db.write(functools.partial(one_change, subject=f"doc_{number}_{turn}"))
            done += 1

    await asyncio.gather(*(client(number) for number in range(clients)))
    await db.close()
    return done / seconds


class Plain:
    """The same transaction interface on a plain connection."""

    dialect = "sqlite"

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.one = lambda sql, /, **values: connection.execute(sql, values).fetchone()
        self.run = lambda sql, /, **values: connection.execute(sql, values).rowcount


def one_by_one(path: Path, seconds: float) -> float:
    """Writes a second when each is committed, and so fsynced, by itself."""
    fresh(path)
    connection = connect(path, writable=True)
    tx: Tx = Plain(connection)  # type: ignore[assignment]
    end, done = stopwatch() + seconds, 0
    while stopwatch() < end:
        connection.execute("begin immediate")
        one_change(tx, f"doc_{done}")
        connection.execute("commit")
        done += 1
    connection.close()
    return done / seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    wish = parser.parse_args()
    ours, single = [], []
    with temporary_folder() as folder:
        for number in range(wish.rounds):
            ours.append(uvloop.run(grouped(folder / f"group{number}.sqlite", wish.clients, wish.seconds)))
            single.append(one_by_one(folder / f"single{number}.sqlite", wish.seconds))
    group, alone = median(ours), median(single)
    print(f"durable writes a second (an event and a job each, synchronous=FULL), median of {wish.rounds} rounds:")
    print(f"  group commit, {wish.clients} clients  {group:8.0f}")
    print(f"  one fsync per write        {alone:8.0f}   ratio = {group / alone:.1f}  (aim at least 5)")


if __name__ == "__main__":
    main()

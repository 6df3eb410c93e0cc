"""Durable writes a second with 32 clients through the group commit, beside one flush for every write.

The gain depends on what a flush of the disk costs, so the same comparison is also made with flushes slowed to 1 ms.

Usage: python -m bench.write [--clients 32] [--seconds 2] [--rounds 3] [--flush-ms 1.0] [--small]"""

import asyncio
import functools
import os
import time
from pathlib import Path

import uvloop

from bench.measure import median, temporary_folder
from bench.options import Options, tell
from deedbox.kernel.clock import SystemClock, stopwatch
from deedbox.kernel.db import Listeners, Tx
from deedbox.kernel.db.migrate import migrate_sqlite
from deedbox.kernel.db.sqlite import SqliteDatabase, SqliteTx, _Write, connect
from deedbox.kernel.jobs import NewJob, enqueue
from deedbox.kernel.outbox import emit

CLOCK = SystemClock()
WORKSPACE = "insert into workspaces (id, name, created_at) values ('wsp_bench', 'Bench', '2026-01-01T00:00:00Z')"


def one_change(tx: Tx, subject: str) -> None:
    """What a change of state costs at least: an event and a job, in one transaction."""
    emit(tx, "wsp_bench", "document.sent", subject, {"title": "Lease agreement"}, now=CLOCK.now())
    enqueue(tx, NewJob("deliver", {"subject": subject}), now=CLOCK.now())


def fresh(path: Path) -> None:
    migrate_sqlite(path, CLOCK.now())
    connection = connect(path, writable=True)
    connection.execute(WORKSPACE)
    connection.close()


class SlowDisk(SqliteDatabase):
    """The same database on a disk whose flush takes so much longer; both sides of the comparison get it."""

    def __init__(self, path: Path, extra_seconds: float) -> None:
        super().__init__(path)
        self._extra = extra_seconds

    def _commit(self, batch: list[_Write]) -> None:
        super()._commit(batch)
        time.sleep(self._extra)


async def grouped(path: Path, clients: int, seconds: float, extra: float) -> float:
    """Writes a second through the database that the server uses."""
    fresh(path)
    db = SlowDisk(path, extra) if extra else SqliteDatabase(path)
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


def one_by_one(path: Path, seconds: float, extra: float) -> float:
    """Writes a second when each is committed, and so flushed, by itself."""
    fresh(path)
    connection = connect(path, writable=True)
    listeners = Listeners()
    end, done = stopwatch() + seconds, 0
    while stopwatch() < end:
        connection.execute("begin immediate")
        tx = SqliteTx(connection, listeners)
        one_change(tx, f"doc_{done}")
        tx.settle()
        connection.execute("commit")
        if extra:
            time.sleep(extra)
        done += 1
    connection.close()
    return done / seconds


def flush_seconds(folder: Path) -> float:
    """What a flush of 4 KB costs on this disk."""
    file = os.open(folder / "flush", os.O_CREAT | os.O_WRONLY)
    flush = getattr(os, "fdatasync", os.fsync)
    begun = stopwatch()
    for _ in range(200):
        os.write(file, bytes(4096))
        flush(file)
    os.close(file)
    return (stopwatch() - begun) / 200


def main() -> None:
    options = Options(__doc__)
    options.size("clients", 32, small=4)
    options.size("seconds", 2.0, small=0.1)
    options.size("rounds", 3, small=1)
    options.add_argument("--flush-ms", type=float, default=1.0, help="the slower disk of the second comparison")
    wish = options.wish()
    with temporary_folder() as folder:
        here = flush_seconds(folder) * 1000
        print("durable writes a second (an event and a job each, synchronous=FULL), median of rounds:")
        for disk, extra in (("here", 0.0), ("slow", max(0.0, wish.flush_ms - here))):
            ours, single = [], []
            for number in range(wish.rounds):
                name = f"{number}-{disk}.sqlite"
                ours.append(uvloop.run(grouped(folder / f"g{name}", wish.clients, wish.seconds, extra / 1000)))
                single.append(one_by_one(folder / f"s{name}", wish.seconds, extra / 1000))
            group, alone = median(ours), median(single)
            print(
                f"  a flush takes {wish.flush_ms:.2f} ms, slowed:"
                if extra
                else f"  a flush takes {here:.2f} ms, as here:"
            )
            print(f"    group commit, {wish.clients} clients {group:8.0f}")
            print(f"    one flush per write {alone:13.0f}   ratio = {group / alone:.1f}  (aim at least 5 at 1 ms)")
        flush = f"{max(wish.flush_ms, here):.2g} ms"
        tell(wish, rate=f"{group:,.0f}", single=f"{group / alone:.0f} ×", flush=flush)  # of the slower disk


if __name__ == "__main__":
    main()

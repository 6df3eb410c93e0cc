"""R9: the rate limit is exact. One key is saturated, by a clock in hand and by four processes on PostgreSQL.

Run as a module, this file is one of those processes.
"""

import asyncio
import json
import os
import random
import subprocess
import sys
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

import msgspec
import psycopg
import pytest

from deedbox.kernel.clock import SystemClock
from deedbox.kernel.db.postgres import PostgresDatabase
from deedbox.kernel.db.sqlite import SqliteDatabase
from deedbox.kernel.ratelimit import Allowance, Standing
from deedbox.kernel.ratelimit.memory import MemoryLimiter
from deedbox.kernel.ratelimit.postgres import PostgresLimiter
from tests.conftest import HandClock

pytestmark = pytest.mark.anyio

FULL = os.environ.get("DEEDBOX_RIGS") == "full"
REQUESTS = 400_000 if FULL else 20_000
SECONDS = 60.0 if FULL else 3.0
PROCESSES = 4
KEY = "key_saturated"
Rule: TypeAlias = tuple[int, int]
"""Seconds of a window, and how many it may hold."""
BY_HAND: list[Rule] = [(60, 30), (86_400, 1_500)]
IN_REAL_TIME: list[Rule] = [(1, 100), (2, 150)]
Bug: TypeAlias = Literal["none", "per-process counter"]


class Hits(Protocol):
    async def hit(self, subject: str, allowance: Allowance, now: datetime) -> Standing: ...


class Report(msgspec.Struct):
    """What the rig saw: the fullest window of each length, and how much of what was possible was admitted."""

    requests: int
    admitted: int
    possible: int
    fullest: list[int]
    rules: list[Rule]

    @property
    def exceeded(self) -> bool:
        return any(held > limit for held, (_, limit) in zip(self.fullest, self.rules, strict=True))

    @property
    def usable(self) -> float:
        return self.admitted / self.possible

    def __str__(self) -> str:
        windows = ", ".join(
            f"at most {held} of {limit} in {seconds} s"
            for held, (seconds, limit) in zip(self.fullest, self.rules, strict=True)
        )
        return f"{self.requests} requests, {self.admitted} admitted, {windows}, {self.usable:.2%} usable"


def judge(admitted: list[float], refused: list[float], rules: list[Rule]) -> Report:
    """Every window that ends at an admission, against the rules, and against what a naive list would admit."""
    admitted, attempts = sorted(admitted), sorted([*admitted, *refused])
    fullest = [max(n + 1 - bisect_right(admitted, at - w) for n, at in enumerate(admitted)) for w, _ in rules]
    return Report(len(attempts), len(admitted), possible(attempts, rules), fullest, rules)


def possible(attempts: list[float], rules: list[Rule]) -> int:
    """How many of these attempts could be admitted without breaking a rule."""
    taken: list[float] = []
    for at in attempts:
        if all(len(taken) < limit or taken[-limit] <= at - seconds for seconds, limit in rules):
            taken.append(at)
    return len(taken)


class TwoBucketCounter:
    """The seeded bug: this bucket's count and a weighted part of the last one's, instead of the requests."""

    def __init__(self, windows: tuple[int, int]) -> None:
        self.windows = windows
        self.counts: Counter[tuple[str, int, int]] = Counter()

    async def hit(self, subject: str, allowance: Allowance, now: datetime) -> Standing:
        assert allowance.per_day is not None
        limits = (allowance.per_minute, allowance.per_day)
        allowed = all(
            self._estimate(subject, w, now.timestamp()) < limit for w, limit in zip(self.windows, limits, strict=True)
        )
        for window in self.windows if allowed else ():
            self.counts[subject, window, int(now.timestamp() // window)] += 1
        return Standing(allowed, 0, 0, 0, 0)

    def _estimate(self, subject: str, window: int, now: float) -> float:
        bucket, passed = divmod(now, window)
        before = self.counts[subject, window, int(bucket) - 1] * (1 - passed / window)
        return self.counts[subject, window, int(bucket)] + before


class PerProcessCounter:
    """The seeded bug: exact, but each process counts only what it admitted itself."""

    def __init__(self, db: PostgresDatabase, process: int, windows: tuple[int, int]) -> None:
        self.db = db
        self.windows = windows
        self.number = process * 1_000_000
        self.admitted: deque[float] = deque(maxlen=10_000)

    async def hit(self, subject: str, allowance: Allowance, now: datetime) -> Standing:
        assert allowance.per_day is not None
        at = now.timestamp()
        limits = zip(self.windows, (allowance.per_minute, allowance.per_day), strict=True)
        allowed = all(sum(past > at - seconds for past in self.admitted) < limit for seconds, limit in limits)
        if allowed:
            self.admitted.append(at)
            self.number += 1
            await self.db.write(
                lambda tx: tx.run("insert into rate_hits values (:s, :n, :at)", s=subject, n=self.number, at=at)
            )
        return Standing(allowed, 0, 0, 0, 0)


def allowance_of(rules: list[Rule]) -> Allowance:
    return Allowance(rules[0][1], rules[1][1])


def windows_of(rules: list[Rule]) -> tuple[int, int]:
    return rules[0][0], rules[1][0]


async def saturate(limiter: Hits, requests: int, seed: int) -> Report:
    """Random bursts and lulls, far more than the key may use, on a clock in hand."""
    random_, now = random.Random(seed), datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
    outcomes: dict[bool, list[float]] = {True: [], False: []}
    while sum(map(len, outcomes.values())) < requests:
        now += timedelta(seconds=random_.choice([0.1, 1, 5, 20, 60, 300, 7_200]) * random_.random())
        for _ in range(random_.randrange(1, 40)):
            now += timedelta(microseconds=random_.choice([0, 1, 50_000, 500_000]))
            standing = await limiter.hit(KEY, allowance_of(BY_HAND), now)
            outcomes[standing.allowed].append(now.timestamp())
    return judge(outcomes[True], outcomes[False], BY_HAND)


async def hammer(url: str, process: int, bug: Bug) -> None:
    """One process: asks without a pause until its time is over, then prints when it was refused."""
    clock, db = SystemClock(), PostgresDatabase(url)
    windows = windows_of(IN_REAL_TIME)
    limiter: Hits = PostgresLimiter(db, clock, windows=windows)
    if bug == "per-process counter":
        limiter = PerProcessCounter(db, process, windows)
    await limiter.hit("key_of_nobody", allowance_of(IN_REAL_TIME), clock.now())
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    end = clock.now() + timedelta(seconds=float(sys.stdin.readline()))
    refused: list[float] = []
    while (now := clock.now()) < end:
        if not (await limiter.hit(KEY, allowance_of(IN_REAL_TIME), now)).allowed:
            refused.append(now.timestamp())
    await db.close()
    sys.stdout.write(json.dumps(refused))


RECORD = """
create table rig_admissions (subject text, number bigint, at float8);
create function record_admission() returns trigger language plpgsql as $$
begin
    insert into rig_admissions values (new.subject, new.number, new.at);
    return null;
end $$;
create trigger record_admission after insert on rate_hits for each row execute function record_admission();
"""


def hammered(url: str, seconds: float, bug: Bug = "none") -> Report:
    """Four processes on one key; admissions are taken from the rows, kept by a trigger before they are pruned."""
    with psycopg.connect(url, autocommit=True) as connection, ExitStack() as running:
        connection.execute(RECORD)
        processes = [running.enter_context(hammering(url, number, bug)) for number in range(PROCESSES)]
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            assert process.stdin is not None
            process.stdin.write(f"{seconds}\n")
            process.stdin.flush()
        answers = [process.communicate(timeout=seconds + 60)[0] for process in processes]
        rows = connection.execute("select at from rig_admissions where subject = %s", [KEY]).fetchall()
    refused = [at for answer in answers for at in json.loads(answer)]
    return judge([float(at) for (at,) in rows], refused, IN_REAL_TIME)


@contextmanager
def hammering(url: str, number: int, bug: Bug) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "tests.rigs.test_r9_rate_limit", url, str(number), bug]
    root = Path(__file__).parents[2]
    process = subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with process:
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
async def sqlite(sqlite_path: Path) -> AsyncIterator[SqliteDatabase]:
    db = SqliteDatabase(sqlite_path)
    yield db
    await db.close()


async def test_a_saturated_key_never_exceeds_a_window_and_loses_no_place(
    sqlite: SqliteDatabase, clock: HandClock
) -> None:
    report = await saturate(MemoryLimiter(sqlite, clock), REQUESTS, seed=9)
    print(f"R9 rate limit, one process: {report}")
    assert not report.exceeded
    assert report.admitted == report.possible < report.requests
    assert report.fullest == [limit for _, limit in BY_HAND]


async def test_on_postgresql_the_same_traffic_is_limited_the_same(postgres_url: str, clock: HandClock) -> None:
    db = PostgresDatabase(postgres_url)
    report = await saturate(PostgresLimiter(db, clock), REQUESTS // 20, seed=9)
    await db.close()
    assert not report.exceeded
    assert report.admitted == report.possible < report.requests


async def test_the_rig_catches_a_two_bucket_counter() -> None:
    assert (await saturate(TwoBucketCounter(windows_of(BY_HAND)), REQUESTS, seed=9)).exceeded


def test_four_processes_together_never_exceed_a_window(postgres_url: str) -> None:
    report = hammered(postgres_url, SECONDS)
    print(f"R9 rate limit, {PROCESSES} processes: {report}")
    assert not report.exceeded
    assert report.usable >= 0.99
    assert report.admitted < report.requests


def test_the_rig_catches_a_per_process_counter(postgres_url: str) -> None:
    assert hammered(postgres_url, 1.0, "per-process counter").exceeded


if __name__ == "__main__":
    kinds: dict[str, Bug] = {"none": "none", "per-process counter": "per-process counter"}
    asyncio.run(hammer(sys.argv[1], int(sys.argv[2]), kinds[sys.argv[3]]))

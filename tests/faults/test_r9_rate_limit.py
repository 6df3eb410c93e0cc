"""R9: the rate limit is exact. One key is saturated, by a clock in hand and by four processes on PostgreSQL.

Run as a module, this file is one of those processes.
"""

import asyncio
import json
import random
import subprocess
import sys
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal, NamedTuple, Protocol, TypeAlias

import msgspec
import psycopg
import pytest

from deedbox.kernel.clock import SystemClock
from deedbox.kernel.db.postgres import PostgresDatabase
from deedbox.kernel.db.sqlite import SqliteDatabase
from deedbox.kernel.ratelimit import Allowance, RateLimitStatus
from deedbox.kernel.ratelimit.memory import MemoryLimiter
from deedbox.kernel.ratelimit.postgres import PostgresLimiter
from tests import nursery
from tests.conftest import HandClock
from tests.faults import FULL

pytestmark = pytest.mark.anyio

REQUESTS = 400_000 if FULL else 20_000
SECONDS = 60.0 if FULL else 3.0
PROCESSES = 4
KEY = "key_saturated"
Rule: TypeAlias = tuple[int, int]
"""Seconds of a window, and how many it may hold."""
BY_HAND: list[Rule] = [(60, 30), (86_400, 1_500)]
IN_REAL_TIME: list[Rule] = [(1, 20), (2, 30)]
SLOWLY: list[Rule] = [(60, 20), (3_600, 30)]
Bug: TypeAlias = Literal["none", "per-process counter"]


class Hits(Protocol):
    async def hit(self, subject: str, allowance: Allowance, now: datetime) -> RateLimitStatus: ...


class Refusal(NamedTuple):
    asked: float
    answered: float


class Report(msgspec.Struct):
    """What the fault test saw: the fullest window of each length, and who was refused although there was room."""

    admitted: int
    refused: int
    refused_wrongly: int
    fullest: list[int]
    rules: list[Rule]

    @property
    def exceeded(self) -> bool:
        return any(held > limit for held, (_, limit) in zip(self.fullest, self.rules, strict=True))

    @property
    def usable(self) -> float:
        return self.admitted / (self.admitted + self.refused_wrongly)

    def __str__(self) -> str:
        windows = ", ".join(
            f"at most {held} of {limit} in {seconds} s"
            for held, (seconds, limit) in zip(self.fullest, self.rules, strict=True)
        )
        return f"{self.admitted} admitted, {self.refused} refused, {windows}, {self.usable:.2%} usable"


def judge(admitted: list[float], refused: list[Refusal], rules: list[Rule]) -> Report:
    """Looks at every window that ends at an admission, and at both windows of everyone who was refused."""
    admitted = sorted(admitted)
    fullest = [max(held(admitted, at, seconds) for at in admitted) for seconds, _ in rules]
    wrong = sum(not justified(refusal, admitted, rules) for refusal in refused)
    return Report(len(admitted), len(refused), wrong, fullest, rules)


def held(admitted: list[float], moment: float, seconds: int) -> int:
    return bisect_right(admitted, moment) - bisect_right(admitted, moment - seconds)


def justified(refusal: Refusal, admitted: list[float], rules: list[Rule]) -> bool:
    """A window was full at some moment between the question and the answer."""
    meanwhile = admitted[bisect_right(admitted, refusal.asked) : bisect_right(admitted, refusal.answered)]
    return any(
        held(admitted, moment, seconds) >= limit for moment in (refusal.asked, *meanwhile) for seconds, limit in rules
    )


class TwoBucketCounter:
    """The seeded bug: this bucket's count and a weighted part of the last one's, instead of the requests."""

    def __init__(self, windows: tuple[int, int]) -> None:
        self.windows = windows
        self.counts: Counter[tuple[str, int, int]] = Counter()

    async def hit(self, subject: str, allowance: Allowance, now: datetime) -> RateLimitStatus:
        assert allowance.per_day is not None
        limits = (allowance.per_minute, allowance.per_day)
        allowed = all(
            self._estimate(subject, w, now.timestamp()) < limit for w, limit in zip(self.windows, limits, strict=True)
        )
        for window in self.windows if allowed else ():
            self.counts[subject, window, int(now.timestamp() // window)] += 1
        return RateLimitStatus(allowed, 0, 0, 0, 0)

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

    async def hit(self, subject: str, allowance: Allowance, now: datetime) -> RateLimitStatus:
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
        return RateLimitStatus(allowed, 0, 0, 0, 0)


def allowance_of(rules: list[Rule]) -> Allowance:
    return Allowance(rules[0][1], rules[1][1])


def windows_of(rules: list[Rule]) -> tuple[int, int]:
    return rules[0][0], rules[1][0]


async def saturate(limiter: Hits, requests: int, seed: int) -> Report:
    """Random bursts and lulls, far more than the key may use, on a clock in hand."""
    random_, now = random.Random(seed), datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
    admitted: list[float] = []
    refused: list[Refusal] = []
    while len(admitted) + len(refused) < requests:
        now += timedelta(seconds=random_.choice([0.1, 1, 5, 20, 60, 300, 7_200]) * random_.random())
        for _ in range(random_.randrange(1, 40)):
            now += timedelta(microseconds=random_.choice([0, 1, 50_000, 500_000]))
            if (await limiter.hit(KEY, allowance_of(BY_HAND), now)).allowed:
                admitted.append(now.timestamp())
            else:
                refused.append(Refusal(now.timestamp(), now.timestamp()))
    return judge(admitted, refused, BY_HAND)


async def hammer(url: str, process: int, bug: Bug, rules: list[Rule]) -> None:
    """One process: asks without a pause until its time is over, then prints when it was refused."""
    clock, db = SystemClock(), PostgresDatabase(url)
    limiter: Hits = PostgresLimiter(db, clock, windows=windows_of(rules))
    if bug == "per-process counter":
        limiter = PerProcessCounter(db, process, windows_of(rules))
    await limiter.hit(f"key_of_process_{process}", allowance_of(rules), clock.now())
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    end = clock.now() + timedelta(seconds=float(sys.stdin.readline()))
    refused: list[Refusal] = []
    # Until it was refused at least once: a loaded machine must not make the fault test look at too little.
    while (now := clock.now()) < end or not refused:
        if not (await limiter.hit(KEY, allowance_of(rules), now)).allowed:
            refused.append(Refusal(now.timestamp(), clock.now().timestamp()))
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


def hammered(url: str, seconds: float, rules: list[Rule], bug: Bug = "none") -> Report:
    """Four processes on one key; admissions are taken from the rows, kept by a trigger before they are pruned."""
    with psycopg.connect(url, autocommit=True) as connection, ExitStack() as running:
        connection.execute(RECORD)
        processes = [running.enter_context(hammering(url, number, bug, rules)) for number in range(PROCESSES)]
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            assert process.stdin is not None
            process.stdin.write(f"{seconds}\n")
            process.stdin.flush()
        answers = [process.communicate(timeout=seconds + 60)[0] for process in processes]
        rows = connection.execute("select at from rig_admissions where subject = %s", [KEY]).fetchall()
    refused = [Refusal(*pair) for answer in answers for pair in json.loads(answer)]
    return judge([float(at) for (at,) in rows], refused, rules)


@contextmanager
def hammering(url: str, number: int, bug: Bug, rules: list[Rule]) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "tests.faults.test_r9_rate_limit", url, str(number), bug, json.dumps(rules)]
    root = Path(__file__).parents[2]
    process = nursery.Process(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
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
    assert report.refused > report.refused_wrongly == 0
    assert report.fullest == [limit for _, limit in BY_HAND]


async def test_on_postgresql_the_same_traffic_is_limited_the_same(postgres_url: str, clock: HandClock) -> None:
    db = PostgresDatabase(postgres_url)
    report = await saturate(PostgresLimiter(db, clock), REQUESTS // 20, seed=9)
    await db.close()
    assert not report.exceeded
    assert report.refused > report.refused_wrongly == 0


async def test_the_rig_catches_a_two_bucket_counter() -> None:
    assert (await saturate(TwoBucketCounter(windows_of(BY_HAND)), REQUESTS, seed=9)).exceeded


def test_the_rig_sees_a_refusal_while_there_was_room() -> None:
    report = judge([0.0, 0.5], [Refusal(1.0, 1.1), Refusal(60.0, 60.1), Refusal(60.5, 60.6)], [(60, 2), (100, 9)])
    assert (report.exceeded, report.refused_wrongly, report.usable) == (False, 2, 0.5)


def test_four_processes_together_never_exceed_a_window(postgres_url: str) -> None:
    report = hammered(postgres_url, SECONDS, IN_REAL_TIME)
    print(f"R9 rate limit, {PROCESSES} processes: {report}")
    assert not report.exceeded
    assert report.usable >= 0.99
    assert report.refused


def test_the_rig_catches_a_per_process_counter(postgres_url: str) -> None:
    assert hammered(postgres_url, 0.5, SLOWLY, "per-process counter").exceeded


if __name__ == "__main__":
    where, which, seeded, windows = sys.argv[1:]
    known: dict[str, Bug] = {"none": "none", "per-process counter": "per-process counter"}
    asyncio.run(hammer(where, int(which), known[seeded], [(seconds, limit) for seconds, limit in json.loads(windows)]))

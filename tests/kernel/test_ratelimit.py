"""What both limiters promise, and what each of them keeps."""

import asyncio
import sqlite3
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deedbox.kernel import limits
from deedbox.kernel.db import Database
from deedbox.kernel.db.postgres import PostgresDatabase
from deedbox.kernel.db.sqlite import SqliteDatabase
from deedbox.kernel.ratelimit import WINDOWS, Allowance, RateLimiter, RateLimitStatus
from deedbox.kernel.ratelimit.admissions import Admissions
from deedbox.kernel.ratelimit.memory import MemoryLimiter
from deedbox.kernel.ratelimit.postgres import PostgresLimiter
from tests.conftest import HandClock

pytestmark = pytest.mark.anyio

NOON = int(datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC).timestamp())
MINUTE, DAY = 60, 86_400
SHORT = (6, 20)
BEHIND = limits.RATE_CLOCK_BEHIND_SECONDS * 10**6


class Traffic:
    """Requests of one subject, at the moment that the clock shows."""

    def __init__(self, limiter: RateLimiter, clock: HandClock, allowance: Allowance, subject: str = "key_a") -> None:
        self.limiter = limiter
        self.clock = clock
        self.allowance = allowance
        self.subject = subject

    async def hit(self, subject: str | None = None) -> RateLimitStatus:
        return await self.limiter.hit(subject or self.subject, self.allowance, self.clock.now())

    async def peek(self) -> RateLimitStatus:
        return await self.limiter.peek(self.subject, self.allowance, self.clock.now())

    async def admitted(self, requests: int, apart: float = 0) -> int:
        """How many of so many requests were admitted."""
        count = 0
        for _ in range(requests):
            count += (await self.hit()).allowed
            self.clock.forward(apart)
        return count


@pytest.fixture
async def sqlite(sqlite_path: Path) -> AsyncIterator[SqliteDatabase]:
    db = SqliteDatabase(sqlite_path)
    yield db
    await db.close()


@pytest.fixture
async def postgres(postgres_url: str) -> AsyncIterator[PostgresDatabase]:
    db = PostgresDatabase(postgres_url)
    yield db
    await db.close()


def limiter_on(db: Database, clock: HandClock, windows: tuple[int, int] = WINDOWS) -> RateLimiter:
    kind = MemoryLimiter if db.dialect == "sqlite" else PostgresLimiter
    return kind(db, clock, windows=windows)


@pytest.fixture
async def limiter(db: Database, clock: HandClock) -> AsyncIterator[RateLimiter]:
    """Each test once with the limiter of one process, once with the limiter of several."""
    made = limiter_on(db, clock)
    await made.start()
    yield made
    await made.close()


@pytest.fixture
def short(db: Database, clock: HandClock) -> RateLimiter:
    """A limiter with windows of a few seconds."""
    return limiter_on(db, clock, SHORT)


async def test_a_place_is_free_again_exactly_when_the_oldest_request_leaves_the_minute(
    limiter: RateLimiter, clock: HandClock
) -> None:
    traffic = Traffic(limiter, clock, Allowance(3, None))
    assert await traffic.admitted(3, apart=10) == 3
    clock.forward(30 - 0.000001)
    assert not (await traffic.hit()).allowed
    clock.forward(0.000001)
    assert (await traffic.hit()).allowed
    assert not (await traffic.hit()).allowed


async def test_a_place_is_free_again_exactly_when_the_oldest_request_leaves_the_day(
    limiter: RateLimiter, clock: HandClock
) -> None:
    traffic = Traffic(limiter, clock, Allowance(10, 2))
    assert await traffic.admitted(2, apart=1) == 2
    clock.forward(DAY - 2 - 0.000001)
    assert not (await traffic.hit()).allowed
    clock.forward(0.000001)
    assert await traffic.admitted(2) == 1


async def test_a_fraction_of_a_second_is_not_lost_at_the_boundary(limiter: RateLimiter, clock: HandClock) -> None:
    traffic = Traffic(limiter, clock, Allowance(1, None))
    for fraction in (0.123457, 0.999999, 0.000001, 0.3):
        clock.forward(200 + fraction)
        assert (await traffic.hit()).allowed
        clock.forward(MINUTE - 0.000001)
        assert not (await traffic.hit()).allowed
        clock.forward(0.000001)
        assert (await traffic.hit()).allowed


async def test_both_windows_hold_at_once(limiter: RateLimiter, clock: HandClock) -> None:
    traffic = Traffic(limiter, clock, Allowance(3, 5))
    assert await traffic.admitted(4) == 3
    clock.forward(MINUTE)
    assert await traffic.admitted(4) == 2
    clock.forward(MINUTE)
    assert await traffic.admitted(4) == 0


async def test_a_refused_request_does_not_consume(limiter: RateLimiter, clock: HandClock) -> None:
    traffic = Traffic(limiter, clock, Allowance(2, None))
    assert await traffic.admitted(2) == 2
    for _ in range(5):
        clock.forward(10)
        assert not (await traffic.hit()).allowed
    clock.forward(10)
    assert await traffic.admitted(3) == 2


async def test_peeking_counts_nothing_and_never_refuses(limiter: RateLimiter, clock: HandClock) -> None:
    traffic = Traffic(limiter, clock, Allowance(2, 10))
    for _ in range(5):
        assert await traffic.peek() == RateLimitStatus(True, 2, 2, NOON + MINUTE, 0)
    assert await traffic.admitted(2) == 2
    assert await traffic.peek() == RateLimitStatus(True, 2, 0, NOON + MINUTE, 0)


async def test_the_standing_describes_the_window_with_the_smaller_remaining_share(
    limiter: RateLimiter, clock: HandClock
) -> None:
    traffic = Traffic(limiter, clock, Allowance(4, 6))
    assert await traffic.hit() == RateLimitStatus(True, 4, 3, NOON + MINUTE, 0)
    assert await traffic.admitted(2) == 2
    clock.forward(MINUTE)
    assert await traffic.peek() == RateLimitStatus(True, 6, 3, NOON + DAY, 0)
    assert await traffic.hit() == RateLimitStatus(True, 6, 2, NOON + DAY, 0)


async def test_of_two_equal_shares_the_minute_is_described_until_both_are_used_up(
    limiter: RateLimiter, clock: HandClock
) -> None:
    traffic = Traffic(limiter, clock, Allowance(2, 2))
    assert await traffic.hit() == RateLimitStatus(True, 2, 1, NOON + MINUTE, 0)
    assert await traffic.hit() == RateLimitStatus(True, 2, 0, NOON + DAY, 0)


async def test_an_empty_window_resets_a_whole_window_from_now_rounded_up(
    limiter: RateLimiter, clock: HandClock
) -> None:
    clock.forward(0.25)
    assert (await Traffic(limiter, clock, Allowance(5, None)).peek()).reset == NOON + 1 + MINUTE


async def test_reset_is_when_the_oldest_counted_request_leaves_rounded_up(
    limiter: RateLimiter, clock: HandClock
) -> None:
    traffic = Traffic(limiter, clock, Allowance(5, None))
    clock.forward(0.25)
    await traffic.hit()
    clock.forward(20)
    assert (await traffic.hit()).reset == NOON + 1 + MINUTE
    clock.forward(40)
    assert (await traffic.hit()).reset == NOON + 21 + MINUTE


async def test_a_refusal_describes_the_window_that_refused(limiter: RateLimiter, clock: HandClock) -> None:
    minute = Traffic(limiter, clock, Allowance(2, 1000), "key_minute")
    assert await minute.admitted(2) == 2
    clock.forward(0.5)
    assert await minute.hit() == RateLimitStatus(False, 2, 0, NOON + MINUTE, 60)
    clock.forward(59.4)
    assert await minute.hit() == RateLimitStatus(False, 2, 0, NOON + MINUTE, 1)

    clock.time = datetime.fromtimestamp(NOON, UTC)
    day = Traffic(limiter, clock, Allowance(1000, 2), "key_day")
    assert await day.admitted(2) == 2
    clock.forward(100)
    assert await day.hit() == RateLimitStatus(False, 2, 0, NOON + DAY, DAY - 100)


async def test_if_both_refuse_the_longer_wait_is_told(limiter: RateLimiter, clock: HandClock) -> None:
    traffic = Traffic(limiter, clock, Allowance(2, 2))
    assert await traffic.admitted(2, apart=1) == 2
    assert await traffic.hit() == RateLimitStatus(False, 2, 0, NOON + DAY, DAY - 2)
    clock.time = datetime.fromtimestamp(NOON + DAY - 1, UTC)
    late = Traffic(limiter, clock, Allowance(1, 3), "key_late")
    clock.time = datetime.fromtimestamp(NOON, UTC)
    assert await late.admitted(2, apart=MINUTE) == 2
    clock.time = datetime.fromtimestamp(NOON + DAY - 1, UTC)
    assert await late.admitted(1) == 1
    assert await late.hit() == RateLimitStatus(False, 1, 0, NOON + DAY - 1 + MINUTE, 60)


async def test_waiting_as_long_as_told_is_enough_and_a_second_less_is_not(
    limiter: RateLimiter, clock: HandClock
) -> None:
    traffic = Traffic(limiter, clock, Allowance(3, 7))
    for _ in range(12):
        while (standing := await traffic.hit()).allowed:
            clock.forward(3.7)
        clock.forward(standing.retry_after - 1)
        if standing.retry_after > 1:
            assert not (await traffic.hit()).allowed
        clock.forward(1)
        assert (await traffic.hit()).allowed


async def test_a_lower_allowance_holds_at_once_and_a_higher_one_too(limiter: RateLimiter, clock: HandClock) -> None:
    traffic = Traffic(limiter, clock, Allowance(5, None))
    assert await traffic.admitted(5, apart=2) == 5
    traffic.allowance = Allowance(2, None)
    refusal = await traffic.hit()
    assert refusal == RateLimitStatus(False, 2, 0, NOON + MINUTE, MINUTE + 6 - 10)
    clock.forward(refusal.retry_after)
    assert await traffic.admitted(2) == 1
    traffic.allowance = Allowance(6, None)
    assert await traffic.admitted(9) == 4


async def test_without_any_allowance_everything_is_refused(limiter: RateLimiter, clock: HandClock) -> None:
    assert await Traffic(limiter, clock, Allowance(0, None)).hit() == RateLimitStatus(
        False, 0, 0, NOON + MINUTE, MINUTE
    )
    assert await Traffic(limiter, clock, Allowance(5, 0)).hit() == RateLimitStatus(False, 0, 0, NOON + DAY, DAY)


async def test_subjects_are_independent(limiter: RateLimiter, clock: HandClock) -> None:
    traffic = Traffic(limiter, clock, Allowance(1, 1))
    assert (await traffic.hit("key_a")).allowed
    for other in ("key_b", "ip:key_a", "ip:192.0.2.1", "ip:2001:db8::1"):
        assert (await traffic.hit(other)).allowed
        assert not (await traffic.hit(other)).allowed


async def test_a_clock_that_steps_back_admits_nothing_too_many(limiter: RateLimiter, clock: HandClock) -> None:
    traffic = Traffic(limiter, clock, Allowance(3, None))
    assert await traffic.admitted(2) == 2
    clock.forward(-50)
    assert await traffic.admitted(2) == 1
    refusal = await traffic.hit()
    assert refusal == RateLimitStatus(False, 3, 0, NOON + MINUTE, 50 + MINUTE)
    clock.forward(refusal.retry_after - 1)
    assert not (await traffic.hit()).allowed
    clock.forward(1)
    assert await traffic.admitted(4) == 3


async def test_a_clock_that_is_set_back_keeps_nobody_waiting_for_the_hour(
    limiter: RateLimiter, clock: HandClock
) -> None:
    traffic = Traffic(limiter, clock, Allowance(3, 5))
    assert await traffic.admitted(2) == 2
    clock.forward(-3600)
    assert await traffic.admitted(2) == 1
    refusal = await traffic.hit()
    assert refusal == RateLimitStatus(False, 3, 0, NOON - 3600 + MINUTE, MINUTE)
    clock.forward(MINUTE - 1)
    assert not (await traffic.hit()).allowed
    clock.forward(1)
    assert await traffic.admitted(3) == 2  # the day has counted all of them
    clock.forward(3600)
    assert not (await traffic.hit()).allowed
    clock.forward(DAY)
    assert await traffic.admitted(4) == 3


async def test_looking_ahead_and_stepping_back_forgets_nothing(limiter: RateLimiter, clock: HandClock) -> None:
    traffic = Traffic(limiter, clock, Allowance(2, 2))
    assert await traffic.admitted(2) == 2
    clock.forward(2 * DAY)
    assert (await traffic.peek()).remaining == 2
    clock.forward(-2 * DAY + 1)
    assert (await traffic.peek()).remaining == 0
    assert not (await traffic.hit()).allowed


class Model:
    """The rule, written naively, in whole microseconds."""

    def __init__(self, windows: tuple[int, int]) -> None:
        self.windows = windows
        self.admitted: list[int] = []

    def ask(self, allowance: Allowance, now: int, *, count: bool) -> RateLimitStatus:
        if count and self.admitted and self.admitted[-1] > now + BEHIND:
            self.admitted = [min(at, now) for at in self.admitted]
        moment = max([now, *self.admitted])
        allowed = not count or all(len(self._counted(w, moment)) < limit for w, limit in self._rules(allowance))
        if allowed and count:
            self.admitted.append(moment)
        choices = []
        for seconds, limit in self._rules(allowance):
            held = self._counted(seconds, moment)
            reset = -(-((held[0] if held else moment) + seconds * 10**6) // 10**6)
            left = max(0, limit - len(held))
            if allowed:
                choices.append(
                    ((left / limit, -reset if left == 0 else seconds), RateLimitStatus(True, limit, left, reset, 0))
                )
            elif left == 0:
                opens = held[-limit] + seconds * 10**6
                wait = max(1, -(-(opens - now) // 10**6))
                choices.append(((-opens, 0), RateLimitStatus(False, limit, left, reset, wait)))
        return min(choices, key=lambda choice: choice[0])[1]

    def _rules(self, allowance: Allowance) -> list[tuple[int, int]]:
        rules = [(self.windows[0], allowance.per_minute)]
        return rules if allowance.per_day is None else [*rules, (self.windows[1], allowance.per_day)]

    def _counted(self, seconds: int, moment: int) -> list[int]:
        return [at for at in self.admitted if at > moment - seconds * 10**6]


STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            [
                0,
                0,
                0,
                1,
                400_000,
                999_999,
                1_000_000,
                2_500_001,
                6_000_000,
                20_000_000,
                -1,
                -3_000_000,
                -19_000_000,
                -90_000_000,
            ]
        ),
        st.sampled_from([True, True, True, True, False]),
    ),
    min_size=1,
    max_size=40,
)
ALLOWANCES = st.lists(st.builds(Allowance, st.integers(1, 4), st.integers(1, 7)), min_size=1, max_size=3)
subject_numbers = iter(range(10**9))


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS, allowances=ALLOWANCES)
async def test_any_traffic_is_answered_as_the_naive_rule_answers_it(
    short: RateLimiter, steps: list[tuple[int, bool]], allowances: list[Allowance]
) -> None:
    model, subject, now = Model(SHORT), f"key_{next(subject_numbers)}", NOON * 10**6
    start = datetime.fromtimestamp(NOON, UTC)
    for position, (gap, count) in enumerate(steps):
        now += gap
        allowance = allowances[position % len(allowances)]
        ask = short.hit if count else short.peek
        standing = await ask(subject, allowance, start + timedelta(microseconds=now - NOON * 10**6))
        assert standing == model.ask(allowance, now, count=count)


async def restarted(db: SqliteDatabase, clock: HandClock) -> MemoryLimiter:
    limiter = MemoryLimiter(db, clock)
    await limiter.start()
    return limiter


async def test_both_windows_survive_a_restart(sqlite: SqliteDatabase, clock: HandClock) -> None:
    before = await restarted(sqlite, clock)
    assert await Traffic(before, clock, Allowance(4, 10)).admitted(3) == 3
    await before.close()
    clock.forward(30)
    after = await restarted(sqlite, clock)
    assert await Traffic(after, clock, Allowance(4, 10)).admitted(3) == 1
    await after.close()
    clock.forward(DAY - 60)
    last = await restarted(sqlite, clock)
    assert await Traffic(last, clock, Allowance(20, 10)).admitted(20) == 6
    await last.close()


async def test_a_restored_request_is_never_taken_to_be_older_than_it_is(
    sqlite: SqliteDatabase, clock: HandClock
) -> None:
    clock.forward(0.9)
    before = await restarted(sqlite, clock)
    assert await Traffic(before, clock, Allowance(1, 5)).admitted(1) == 1
    await before.close()
    after = await restarted(sqlite, clock)
    traffic = Traffic(after, clock, Allowance(1, 5))
    clock.forward(MINUTE - 0.000001)
    assert not (await traffic.hit()).allowed
    clock.forward(0.100001)
    assert (await traffic.hit()).allowed
    await after.close()


async def test_a_request_in_its_last_half_second_of_the_day_is_restored_and_saved(
    sqlite: SqliteDatabase, clock: HandClock
) -> None:
    before = await restarted(sqlite, clock)
    assert await Traffic(before, clock, Allowance(1, 1)).admitted(1) == 1
    await before.close()
    clock.forward(DAY - 0.5)
    after = await restarted(sqlite, clock)
    assert not (await Traffic(after, clock, Allowance(1, 1)).hit()).allowed
    assert (await Traffic(after, clock, Allowance(1, 1), "key_b").hit()).allowed
    await after.close()
    again = await restarted(sqlite, clock)
    assert not (await Traffic(again, clock, Allowance(1, 1)).hit()).allowed
    clock.forward(0.5)
    assert (await Traffic(again, clock, Allowance(1, 1)).hit()).allowed
    await again.close()


async def test_a_key_used_up_stays_used_up_through_many_quick_restarts(
    sqlite: SqliteDatabase, clock: HandClock
) -> None:
    admitted = 0
    for _ in range(8):
        limiter = await restarted(sqlite, clock)
        admitted += await Traffic(limiter, clock, Allowance(6, 6)).admitted(1, apart=0.2)
        await limiter.close()
    assert admitted == 6
    clock.forward(MINUTE)
    limiter = await restarted(sqlite, clock)
    assert (await limiter.peek("key_a", Allowance(6, None), clock.now())).remaining == 6
    await limiter.close()


async def test_a_process_that_is_killed_keeps_what_was_flushed(sqlite: SqliteDatabase, clock: HandClock) -> None:
    killed = MemoryLimiter(sqlite, clock)
    assert await Traffic(killed, clock, Allowance(10, 10)).admitted(4) == 4
    await killed.flush()
    assert await Traffic(killed, clock, Allowance(10, 10)).admitted(2) == 2
    after = await restarted(sqlite, clock)
    assert await Traffic(after, clock, Allowance(10, 10)).admitted(10) == 6
    await after.close()


async def test_usage_is_saved_without_being_asked(sqlite: SqliteDatabase, clock: HandClock) -> None:
    limiter = await restarted(sqlite, clock)
    await Traffic(limiter, clock, Allowance(10, 10)).admitted(3)
    with anyio.fail_after(30):
        while not await sqlite.read(lambda tx: tx.all("select * from rate_usage")):
            await asyncio.sleep(0.05)
    assert await sqlite.read(lambda tx: tx.all("select subject, requests from rate_usage")) == [("key_a", 3)]
    await limiter.close()


async def test_what_could_not_be_saved_is_saved_later(
    sqlite: SqliteDatabase, sqlite_path: Path, clock: HandClock
) -> None:
    limiter = MemoryLimiter(sqlite, clock)
    traffic = Traffic(limiter, clock, Allowance(10, 10))
    await sqlite.write(lambda tx: tx.run("alter table rate_usage rename to away"))
    await traffic.admitted(2)
    with pytest.raises(sqlite3.OperationalError, match="rate_usage"):
        await limiter.flush()
    await sqlite.write(lambda tx: tx.run("alter table away rename to rate_usage"))
    await traffic.admitted(1)
    await limiter.close()
    after = await restarted(sqlite, clock)
    assert (await after.peek("key_a", Allowance(10, 10), clock.now())).remaining == 7
    await after.close()


async def test_addresses_are_never_written_down(sqlite: SqliteDatabase, clock: HandClock) -> None:
    limiter = await restarted(sqlite, clock)
    assert await Traffic(limiter, clock, Allowance(5, 5), "ip:192.0.2.7").admitted(5) == 5
    await limiter.close()
    assert await sqlite.read(lambda tx: tx.all("select * from rate_usage")) == []


async def test_rows_that_no_window_reaches_are_pruned(sqlite: SqliteDatabase, clock: HandClock) -> None:
    limiter = MemoryLimiter(sqlite, clock)
    daily, minutely = Allowance(10, 10), Allowance(10, None)
    rows: list[int] = []
    for forward in (0, MINUTE + 2, DAY + 2):
        clock.forward(forward)
        await limiter.hit("key_daily", daily, clock.now())
        await limiter.hit("key_minutely", minutely, clock.now())
        await limiter.flush()
        rows.append(len(await sqlite.read(lambda tx: tx.all("select * from rate_usage"))))
    assert rows == [2, 3, 2]
    await limiter.close()


async def test_of_too_many_addresses_the_one_unseen_for_longest_is_forgotten(
    sqlite: SqliteDatabase, clock: HandClock
) -> None:
    limiter = MemoryLimiter(sqlite, clock, addresses=3)
    traffic = Traffic(limiter, clock, Allowance(1, None))
    for address in ("ip:a", "ip:b", "ip:c"):
        assert (await traffic.hit(address)).allowed
    assert not (await traffic.hit("ip:a")).allowed
    assert (await traffic.hit("ip:d")).allowed
    assert limiter.subjects == 3
    assert [(await traffic.hit(address)).allowed for address in ("ip:a", "ip:c", "ip:d", "ip:b")] == [
        False, False, False, True,
    ]  # fmt: skip


async def test_keys_that_fell_idle_are_dropped_and_busy_ones_are_not(sqlite: SqliteDatabase, clock: HandClock) -> None:
    limiter = MemoryLimiter(sqlite, clock)
    busy = Traffic(limiter, clock, Allowance(2, 2), "key_busy")
    for round_ in range(4):
        for number in range(limits.RATE_SWEEP_SUBJECTS - 1):
            limiter.hit_now(f"key_{round_}_{number}", Allowance(2, None), clock.now())
        clock.forward(MINUTE)
        await busy.hit()
    assert limiter.subjects <= limits.RATE_SWEEP_SUBJECTS + 1
    assert not (await busy.hit()).allowed


async def test_a_peek_remembers_no_subject(sqlite: SqliteDatabase, clock: HandClock) -> None:
    limiter = MemoryLimiter(sqlite, clock)
    for number in range(100):
        limiter.peek_now(f"key_{number}", Allowance(5, 5), clock.now())
        limiter.peek_now(f"ip:{number}", Allowance(5, 5), clock.now())
    assert limiter.subjects == 0


def test_a_remembered_request_costs_about_eight_bytes() -> None:
    admissions, held, peak = Admissions(saved=0, keep=DAY), 5_000, 0
    for step in range(20 * held):
        at = admissions.advance(NOON + step * (DAY / held), MINUTE, DAY)
        admissions.append(at, daily=True)
        peak = max(peak, sys.getsizeof(admissions.times))
    assert len(admissions.times) - admissions.day == held
    assert peak < 8 * held * 1.3 + 1024


def test_without_a_day_window_only_the_minute_is_remembered() -> None:
    admissions = Admissions(saved=0, keep=MINUTE)
    for step in range(50_000):
        admissions.append(admissions.advance(NOON + step / 10, MINUTE, DAY), daily=False)
    assert len(admissions.times) < 600 * 1.3


async def test_two_servers_share_one_limit(postgres_url: str, clock: HandClock) -> None:
    servers = [PostgresDatabase(postgres_url) for _ in range(2)]
    limiters = [PostgresLimiter(db, clock) for db in servers]
    asked = [limiters[n % 2].hit("key_a", Allowance(10, 500), clock.now()) for n in range(60)]
    standings = await asyncio.gather(*asked)
    admitted = [standing for standing in standings if standing.allowed]
    assert sorted(standing.remaining for standing in admitted) == list(range(10))
    for db in servers:
        await db.close()


async def test_old_hits_of_a_busy_subject_are_pruned_and_what_counts_is_not(
    postgres: PostgresDatabase, clock: HandClock
) -> None:
    limiter = PostgresLimiter(postgres, clock, windows=(10, 60))
    traffic = Traffic(limiter, clock, Allowance(1000, 1000))
    await traffic.admitted(400, apart=1)
    [(kept, lowest)] = await postgres.read(lambda tx: tx.all("select count(*), min(at) from rate_hits"))
    assert 60 <= kept < 60 + limits.RATE_PRUNE_EVERY_HITS
    assert lowest <= NOON + 400 - 60
    assert (await traffic.peek()).remaining == 1000 - 59


async def test_idle_subjects_are_forgotten_and_may_come_back(postgres: PostgresDatabase, clock: HandClock) -> None:
    limiter = PostgresLimiter(postgres, clock)
    for number in range(limits.RATE_PRUNE_SUBJECTS + 5):
        await limiter.hit(f"ip:{number}", Allowance(5, None), clock.now())
    await limiter.hit("key_a", Allowance(5, 5), clock.now())
    clock.forward(MINUTE + limits.RATE_CLOCK_SKEW_SECONDS)
    await limiter.flush()
    assert await postgres.read(lambda tx: tx.all("select subject from rate_heads")) == [("key_a",)]
    assert await postgres.read(lambda tx: tx.all("select subject from rate_hits")) == [("key_a",)]
    assert (await limiter.hit("key_a", Allowance(5, 5), clock.now())).remaining == 3
    assert (await limiter.hit("ip:1", Allowance(5, None), clock.now())).remaining == 4

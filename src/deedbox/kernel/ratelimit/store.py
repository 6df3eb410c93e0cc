"""The limiters' tables. `rate_usage` is on both databases; `rate_heads` and `rate_hits` serve PostgreSQL."""

from typing import NamedTuple

import msgspec

from deedbox.kernel import limits
from deedbox.kernel.db import Row, Tx, Value
from deedbox.kernel.ratelimit import Allowance


class KeyUse(NamedTuple):
    """A second in which a key was used: after `second`, not after `second + 1`."""

    forget_at: int
    subject: str
    second: int


class AdmissionRequest(msgspec.Struct, frozen=True):
    """A request that wants to be admitted, and the windows that decide it."""

    subject: str
    allowance: Allowance
    windows: tuple[int, int]
    now: float

    @property
    def keep(self) -> int:
        """For how many seconds an admission is remembered."""
        return self.windows[0] if self.allowance.per_day is None else self.windows[1]

    def values(self, number: int) -> dict[str, Value]:
        return {
            "subject": self.subject,
            "next": number,
            "per_minute": self.allowance.per_minute,
            "per_day": self.allowance.per_day,
            "minute": self.windows[0],
            "day": self.windows[1],
            "now": self.now,
        }


class WindowFinding(msgspec.Struct, frozen=True):
    """What the windows of a subject held when a request came, and whether that request was admitted."""

    number: int
    """The number that this request got, or that the next one will get."""
    moment: float
    admitted: bool
    minute_first: int | None
    minute_oldest: float | None
    minute_blocker: float | None
    day_first: int | None
    day_oldest: float | None
    day_blocker: float | None


def saved_usage(tx: Tx, now: int) -> list[tuple[str, int, int]]:
    """Subject, second and number of requests of all that may still count, the earliest first."""
    rows = tx.all(
        "select subject, second, requests from rate_usage where forget_at > :now order by subject, second", now=now
    )
    return [(subject, second, requests) for subject, second, requests in rows]


def add_usage(tx: Tx, used: list[tuple[KeyUse, int]]) -> None:
    tx.many(
        """
        insert into rate_usage (forget_at, subject, second, requests)
        values (:forget_at, :subject, :second, :requests)
        on conflict (forget_at, subject, second) do update set requests = rate_usage.requests + excluded.requests
        """,
        [{**usage._asdict(), "requests": requests} for usage, requests in used],
    )


def prune_usage(tx: Tx, now: int) -> int:
    """Forgets seconds that no window reaches any more, so many at a time."""
    return tx.run(
        """
        delete from rate_usage where (forget_at, subject, second) in (
            select forget_at, subject, second from rate_usage
            where forget_at <= :now order by forget_at limit :most)
        """,
        now=now,
        most=limits.RATE_PRUNE_ROWS,
    )


def next_number(tx: Tx, subject: str) -> int:
    """The number that the subject's next hit would get."""
    row = tx.one("select next_number from rate_heads where subject = :subject", subject=subject)
    return 1 if row is None else int(row[0])


def locked_head(tx: Tx, question: AdmissionRequest) -> int:
    """The number of the subject's next hit, which is nobody else's to give until this transaction ends."""
    while (head := _lock(tx, question.subject)) is None:
        tx.run(
            "insert into rate_heads (subject, next_number, forget_at) values (:subject, 1, 0) on conflict do nothing",
            subject=question.subject,
        )
    number, forget_at = head
    if forget_at - question.keep > question.now + limits.RATE_CLOCK_BEHIND_SECONDS:
        _set_back(tx, question, number)
    return number


def _lock(tx: Tx, subject: str) -> tuple[int, float] | None:
    # A crash of the database may forget the last few hits: no reason for each request to wait for its disk.
    row = tx.one(
        """
        select next_number, forget_at, set_config('synchronous_commit', 'off', true)
        from rate_heads where subject = :subject for update
        """,
        subject=subject,
    )
    return None if row is None else (int(row[0]), float(row[1]))


def _set_back(tx: Tx, question: AdmissionRequest, number: int) -> None:
    """Hits that a clock which was set back has yet to reach count as of now: else nothing would leave a window until
    then."""
    tx.run(
        """
        update rate_hits set at = :now where subject = :subject and at > :now and exists (
            select from rate_hits where subject = :subject and number = :number - 1 and at > :now + :behind)
        """,
        subject=question.subject,
        number=number,
        now=question.now,
        behind=float(limits.RATE_CLOCK_BEHIND_SECONDS),
    )


# After the lock, in a statement of its own: this one must see every hit of those who held the lock before.
# The hit `limit` places back blocks the next one while a window still reaches it.
_FOUND = """
with last as (
    select greatest(:now::float8, (select at from rate_hits where subject = :subject and number = :next - 1)) as moment
), found as (
    select moment, minute_first, minute_oldest, day_first, day_oldest,
        (select at from rate_hits where subject = :subject and number = :next - :per_minute::bigint
            and at > moment - :minute::float8) as minute_blocker,
        (select at from rate_hits where subject = :subject and number = :next - :per_day::bigint
            and at > moment - :day::float8) as day_blocker
    from last
    left join lateral (
        select number as minute_first, at as minute_oldest from rate_hits
        where subject = :subject and at > moment - :minute::float8 order by at, number limit 1) as m on true
    left join lateral (
        select number as day_first, at as day_oldest from rate_hits
        where :per_day::bigint is not null and subject = :subject and at > moment - :day::float8
        order by at, number limit 1) as d on true
), decided as (
    select found.*, :per_minute::bigint > 0 and coalesce(:per_day::bigint, 1) > 0
        and minute_blocker is null and day_blocker is null as admitted
    from found
)
"""
_ANSWER = """
select :next::bigint, moment, admitted,
    minute_first, minute_oldest, minute_blocker, day_first, day_oldest, day_blocker
from decided
"""
_COUNT = """
, hit as (
    insert into rate_hits (subject, number, at) select :subject, :next, moment from decided where admitted
), head as (
    update rate_heads set next_number = :next + 1, forget_at = moment + :keep::float8
    from decided where admitted and subject = :subject
)
"""


def count_hit(tx: Tx, question: AdmissionRequest, number: int) -> WindowFinding:
    """Admits the request as this number if both windows have room, and tells what they held before it."""
    return _answered(tx.one(_FOUND + _COUNT + _ANSWER, **question.values(number), keep=question.keep))


def look(tx: Tx, question: AdmissionRequest, number: int) -> WindowFinding:
    """What the windows hold; nothing is counted."""
    return _answered(tx.one(_FOUND + _ANSWER, **question.values(number)))


def prune_hits(tx: Tx, subject: str, until: float) -> int:
    """Forgets hits of a subject, up to that moment, so many at a time."""
    return tx.run(
        """
        delete from rate_hits where subject = :subject and number in (
            select number from rate_hits where subject = :subject and at <= :until order by at, number limit :most)
        """,
        subject=subject,
        until=until,
        most=limits.RATE_PRUNE_HITS,
    )


def prune_subjects(tx: Tx, until: float) -> int:
    """Forgets subjects whose hits no window reaches any more, so many at a time; how many it were."""
    return tx.run(
        """
        with idle as (
            select subject from rate_heads where forget_at <= :until limit :most for update skip locked
        ), hits as (
            delete from rate_hits using idle where rate_hits.subject = idle.subject
        )
        delete from rate_heads using idle where rate_heads.subject = idle.subject
        """,
        until=until,
        most=limits.RATE_PRUNE_SUBJECTS,
    )


def _answered(row: Row | None) -> WindowFinding:
    assert row is not None  # noqa: S101 (one row goes in, one row comes out)
    return WindowFinding(*row)

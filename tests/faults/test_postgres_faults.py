"""PostgreSQL is killed, or a standby takes its place, under load: clear answers, nothing lost, nothing twice."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.faults import FULL
from tests.faults.aftermath import Report
from tests.faults.installation import Installation
from tests.faults.outage import Scenario, load
from tests.faults.own_postgres import NAME, OwnPostgres, made, own_folder

KILLS = 20 if FULL else 1
REFUSALS = 20
"""Requests that are sent away before the database is there again."""
LATE = 20
"""Changes that are acknowledged while a standby no longer hears of them."""
FOLLOWED = "select 1 from pg_stat_replication where state = 'streaming' and sync_state = 'sync'"


def test_postgresql_is_killed_and_started_again_under_load(tmp_path: Path) -> None:
    with own_folder() as folder, made(folder) as postgres:

        async def killed(scenario: Scenario) -> None:
            for _ in range(KILLS):
                await asyncio.to_thread(postgres.kill)
                await scenario.refused(REFUSALS)
                assert (await scenario.ready()).status_code == 503
                await asyncio.to_thread(postgres.start)
                await scenario.done(10)

        report = Scenario(Installation(tmp_path / "data", database_url=postgres.url)).run(killed)
    print(f"PostgreSQL killed {KILLS} times under load: {report} ({load()})")
    assert report.faults == []
    assert report.figures["answers database_unavailable"] >= KILLS * REFUSALS


def test_a_standby_takes_the_place_of_a_dead_postgresql_under_load(tmp_path: Path) -> None:
    report = failed_over(tmp_path, waits=True)
    print(f"Failover to a standby under load: {report} ({load()})")
    assert report.faults == []
    assert report.figures["answers database_unavailable"] >= REFUSALS


def test_the_rig_catches_a_primary_that_does_not_wait_for_its_standby(tmp_path: Path) -> None:
    assert failed_over(tmp_path, waits=False).amiss("lost") > 0


def failed_over(folder: Path, *, waits: bool) -> Report:
    """What is amiss after the primary died. If it did not wait for its standby, that was behind."""
    with _pair(waits=waits) as (primary, standby):

        async def failed(scenario: Scenario) -> None:
            if not waits:
                standby.execute("alter system set primary_conninfo = ''")
                standby.execute("select pg_reload_conf()")
                await scenario.until(lambda: not primary.execute(FOLLOWED), "the standby was cut off")
                await scenario.done(LATE)
            await asyncio.to_thread(primary.kill)
            await scenario.refused(REFUSALS)
            await asyncio.to_thread(standby.promote)

        hosts = f"127.0.0.1:{primary.port},127.0.0.1:{standby.port}"
        url = f"postgresql://postgres@{hosts}/{NAME}?target_session_attrs=read-write"
        return Scenario(Installation(folder / "data", database_url=url)).run(failed)


@contextmanager
def _pair(*, waits: bool) -> Iterator[tuple[OwnPostgres, OwnPostgres]]:
    """A primary and its standby, for which it waits at each commit or not."""
    with own_folder() as first, own_folder() as second, made(first) as primary:
        standby = OwnPostgres(second)
        try:
            standby.copy(primary)
            primary.execute("alter system set synchronous_standby_names = '*'")
            primary.execute(f"alter system set synchronous_commit = '{'on' if waits else 'local'}'")
            primary.execute("select pg_reload_conf()")
            while not primary.execute(FOLLOWED):
                pass
            yield primary, standby
        finally:
            standby.kill()

"""R1, R3, R5, R6 and R9 over four servers and two workers on one PostgreSQL and one bucket: nothing lost or twice.

And how soon a change that one of them has made is seen by another: told, never asserted."""

import asyncio
from collections import Counter
from pathlib import Path

import msgspec

from tests.faults import FULL, fleet_webhooks, heard, installation, lifecycle, only_in_full, races, replay
from tests.faults.fleet import Fleet
from tests.faults.outage import load
from tests.faults.webhook_process import LEASED_FOR_EVER, NO_BUG
from tests.s3 import Store

KILLS = 30 if FULL else 1
DOCUMENTS = 500 if FULL else 12
ROUNDS = 10
SEEN = 100 if FULL else 3
PER_MINUTE = 30
ASKED = 40


def test_documents_survive_every_kill_of_a_fleet_whole(tmp_path: Path, postgres_url: str, s3_store: Store) -> None:
    fleet = Fleet(tmp_path / "fleet", database_url=postgres_url, store=s3_store)
    report = lifecycle.Scenario(fleet).run(KILLS)
    print(f"R1 over four servers and two workers: {report} ({load()})")
    assert report.faults == []
    assert min(report.figures[name] for name in ("done", "documents", "signatures")) > 0


def test_every_event_of_a_fleet_reaches_every_live_subscriber(
    tmp_path: Path, postgres_url: str, s3_store: Store
) -> None:
    fleet = Fleet(tmp_path / "fleet", database_url=postgres_url, store=s3_store)
    score = asyncio.run(fleet_webhooks.Scenario(fleet).run(KILLS))
    print(f"{score.line('over four servers and two workers', NO_BUG)} ({load()})")
    assert (score.lost, score.altered, score.trapped) == (0, 0, 0)
    assert score.disabled
    assert score.attempts > score.deliveries > 0


def test_the_rig_catches_deliveries_that_stay_with_a_dead_worker(
    tmp_path: Path, postgres_url: str, s3_store: Store
) -> None:
    fleet = Fleet(tmp_path / "fleet", database_url=postgres_url, store=s3_store)
    score = asyncio.run(fleet_webhooks.Scenario(fleet, bug=LEASED_FOR_EVER, patience=8).run(1))
    assert score.lost > 0


def test_one_wins_each_race_over_a_fleet(tmp_path: Path, postgres_url: str, s3_store: Store) -> None:
    fleet = Fleet(tmp_path / "fleet", database_url=postgres_url, store=s3_store)
    report = races.Scenario(fleet).run(DOCUMENTS, batches=1)
    print(f"R5 over four servers and two workers: {report} ({load()})")
    assert report.faults == []


@only_in_full
def test_a_retry_at_another_server_of_a_fleet_is_harmless(tmp_path: Path, postgres_url: str, s3_store: Store) -> None:
    fleet = Fleet(tmp_path / "fleet", database_url=postgres_url, store=s3_store)
    report = replay.Scenario(fleet).run(ROUNDS, 0)
    print(f"R6 over four servers and two workers: {report} ({load()})")
    assert report.faults == []


def test_a_fleet_has_one_rate_limit(tmp_path: Path, postgres_url: str, s3_store: Store) -> None:
    fleet = Fleet(tmp_path / "fleet", database_url=postgres_url, store=s3_store)
    words = ("keys", "create", "--name", "fault test", "--scope", "*", "--json", "--per-minute", str(PER_MINUTE))
    key = str(msgspec.json.decode(fleet.command(*words))["key"])

    async def ask(address: str) -> Counter[int]:
        async with installation.client(address, key) as http:
            answers = await asyncio.gather(*(http.get("/api/v1/me") for _ in range(4 * ASKED)))
        return Counter(answer.status_code for answer in answers)

    with fleet.running() as running:
        answers = asyncio.run(ask(running.address))
    print(f"R9 over four servers: {dict(answers)} where {PER_MINUTE} a minute are allowed ({load()})")
    assert answers == {200: PER_MINUTE, 429: 4 * ASKED - PER_MINUTE}


def test_what_one_process_of_a_fleet_changes_another_sees(
    tmp_path: Path, models_dir: Path, postgres_url: str, s3_store: Store
) -> None:
    fleet = Fleet(tmp_path / "fleet", database_url=postgres_url, store=s3_store)
    delays = heard.Scenario(fleet, models_dir, tmp_path / "models").run(SEEN)
    for kind, each in delays.items():
        print(f"Seen by another process, {heard.told(kind, each)} ({load()})")
    assert {len(each) for each in delays.values()} == {SEEN}

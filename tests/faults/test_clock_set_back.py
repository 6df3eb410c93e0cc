"""The clock is set back an hour under load, and right again: nothing waits for the hour, is lost or is done twice.

Only a webhook that is under way when the clock jumps forward may come again: its lease has lapsed, as if its sender had
died."""

import asyncio
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import msgspec

from deedbox.kernel.clock import instant, moment
from deedbox.webhooks import limits
from tests.faults import installation as installations
from tests.faults import only_in_full
from tests.faults.aftermath import Report
from tests.faults.installation import Installation
from tests.faults.ledger import Asked
from tests.faults.outage import CLIENTS, Scenario, load
from tests.faults.patient import PatientClient
from tests.faults.set_clock import SetClock, needs_libfaketime
from tests.faults.signers import Doors, wanted
from tests.webhooks.sink import Sink, listening

pytestmark = [needs_libfaketime, only_in_full]
HOUR = 3600
TIMES = 3
BEHIND_SECONDS = 60
"""For how long the clock is behind at least."""
MEANWHILE = 20
"""Changes that are made while it is."""
QUEUED = 3
"""Deliveries that wait for their first attempt when it is set back."""
PER_MINUTE = 2
PATIENCE_SECONDS = 300
REMINDED = {"first_after_hours": 1, "every_hours": 1, "max": 3, "at_night": True}
EVENTS = ["document.sent", "document.signed", "document.completed"]
WAITING = "select id from deliveries where status = 'pending' and attempts = 0"
UNTRIED = f"{WAITING} and line not in (select line from deliveries where status = 'pending' and attempts > 0)"
JOBS = (
    "select id from jobs where kind in ('finalize', 'certify_packet', 'bulk_send', 'index') and state = 'ready'"
    " and attempts = 0 and created_at > '{at}'"
)
REMINDERS = "select document_id, count(*) from audit where act = 'signer.reminded' and actor = 'server' group by 1"
DELIVERIES = "select id, event_id, attempts from deliveries"
DELIVERED = f"{DELIVERIES} where status = 'delivered'"


class HourBack:
    """What happens around the clock that is set, and what is amiss then."""

    def __init__(self, clock: SetClock, patience: float = PATIENCE_SECONDS) -> None:
        self._clock, self._patience = clock, patience
        self._words: dict[str, str] = {}
        """Of each text that was uploaded, the word that no other has."""
        self._scenario: Scenario
        self._http: httpx.AsyncClient
        self._limited: httpx.AsyncClient

    async def __call__(self, scenario: Scenario) -> None:
        words = ("--name", "limited", "--scope", "*", "--json", "--per-minute", str(PER_MINUTE))
        limited = msgspec.json.decode(await asyncio.to_thread(scenario.installation.command, "keys", "create", *words))[
            "key"
        ]
        self._scenario, address = scenario, scenario.server.address
        async with (
            listening() as hooks,
            installations.client(address, scenario.key) as self._http,
            installations.client(address, limited) as self._limited,
        ):
            hook = {"target_url": hooks.url, "events": EVENTS}
            assert (await self._http.post("/api/v1/hooks", json=hook)).status_code == 201
            for number in range(TIMES):
                await self._set_back_and_right(hooks, number)
            await self._all_found()
            await self._all_arrived(hooks)

    async def _set_back_and_right(self, hooks: Sink, number: int) -> None:
        scenario, rows, now = self._scenario, self._scenario.installation.rows, await self._now()
        early = await self._send(f"Early {number}", reminders=REMINDED)
        await self._upload(f"before{number}x")
        while (await self._limited.get("/stats")).status_code == 200:
            pass
        hooks.gate.clear()
        await scenario.until(lambda: len(rows(WAITING)) >= QUEUED, "deliveries wait")
        queued = {row[0] for row in rows(WAITING)}
        await self._set(-HOUR, lambda seen: seen < now - timedelta(minutes=30))
        hooks.gate.set()
        scenario.figures["deliveries that waited"] = scenario.figures.get("deliveries that waited", 0) + len(queued)
        await self._soon(lambda: not queued & {row[0] for row in rows(UNTRIED)}, "deliveries that were due")
        at = instant(now - timedelta(minutes=30))
        await self._soon(lambda: not rows(JOBS.format(at=at)), "jobs that were due")
        await self._judge_limit()
        late = await self._send(f"Late {number}", reminders=REMINDED)
        end = instant(now - timedelta(minutes=30))
        over = await self._send(f"Over {number}", expires_at=end)
        await self._upload(f"meanwhile{number}x")
        await scenario.done(MEANWHILE)
        await asyncio.sleep(BEHIND_SECONDS)
        before = len(scenario.ledger.faults)
        await self._set(0, lambda seen: seen > now - timedelta(minutes=30))
        await self._soon(lambda: dict(rows(REMINDERS)).get(late) is not None, "a reminder that is due")
        await self._soon(lambda: self._status(over) == "expired", "a document that is past its end")
        await scenario.done(MEANWHILE)
        self._forgive_links(before)
        reminded = dict(rows(REMINDERS))
        scenario.ledger.faults += (
            [f"twice: {late} was reminded {reminded[late]} times"] if reminded.get(late, 1) > 1 else []
        )
        scenario.ledger.faults += [f"early: {early} was reminded"] if early in reminded else []

    async def _set(self, seconds: int, seen: Callable[[datetime], bool]) -> None:
        self._clock.set(seconds)
        while not seen(await self._now()):
            pass

    async def _now(self) -> datetime:
        """The server's."""
        made = await self._http.post("/api/v1/keys", json={"name": "clock", "scopes": ["documents:read"]})
        return moment(made.json()["created_at"])

    async def _send(self, title: str, **more: Any) -> str:
        """The id of a document that only time ends: the clients do not know of it."""
        scenario = self._scenario
        async with Doors(scenario.server.address, scenario.key) as doors:
            client = PatientClient(doors, scenario.ledger, scenario._chance, asyncio.Event())
            body = wanted(title, send=True) | more
            made = await client.ask(Asked("create and send", title, "/api/v1/documents", body))
        scenario.ledger.open.remove(title)
        return str(made["id"])

    def _status(self, document_id: str) -> str:
        return str(self._scenario.installation.rows(f"select status from documents where id = '{document_id}'")[0][0])

    async def _upload(self, word: str) -> None:
        made = await self._http.post("/documents/upload", files={"file": (f"{word}.txt", f"The text about {word}.")})
        assert made.status_code == 200, made.text
        self._words[made.json()["doc_id"]] = word
        later, scope = {"Prefer": "respond-async"}, {"doc_ids": list(self._words)}
        indexed = await self._http.post("/documents/index", json=scope, headers=later)
        assert indexed.status_code == 202, indexed.text

    async def _all_found(self) -> None:
        names = ", ".join(f"'{doc_id}'" for doc_id in self._words)
        indexing = f"select id from uploads where id in ({names}) and status <> 'indexed'"
        await self._soon(lambda: not self._scenario.installation.rows(indexing), "uploads that are to be indexed")
        for doc_id, word in self._words.items():
            asked = await self._http.post("/query", json={"query": word, "top_k": 10, "mode": "keyword"})
            found = [each["metadata"]["doc_id"] for each in asked.json()["results"]]
            if found != [doc_id]:
                self._scenario.ledger.faults.append(f"lost: {word} finds {found}, not {doc_id}")

    async def _judge_limit(self) -> None:
        """Whoever has used up a minute waits for no more than a minute."""
        asked = await self._limited.get("/stats")
        wait = int(asked.headers.get("retry-after", 0))
        self._scenario.figures["s of the longest wait at a limit"] = wait
        if wait > 60:
            self._scenario.ledger.faults.append(f"stuck: a limit for each minute is closed for {wait} s")

    def _forgive_links(self, before: int) -> None:
        """A link that was made by the slow clock lasts an hour by it, so it has ended now: one for each client that
        was about to follow it."""
        faults = self._scenario.ledger.faults
        links = [fault for fault in faults[before:] if fault.startswith("lost: a link of ")][:CLIENTS]
        faults[:] = [fault for fault in faults if fault not in links]

    async def _soon(self, condition: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + self._patience
        while not condition():
            if time.monotonic() > end:
                self._scenario.ledger.faults.append(f"stuck: {what}")
                return
            await asyncio.sleep(0.05)

    async def _all_arrived(self, hooks: Sink) -> None:
        """Each delivery that is known now, with the same bytes as often as it comes."""
        rows = self._scenario.installation.rows
        known = {row[0] for row in rows(DELIVERIES)}
        await self._soon(lambda: known <= {row[0] for row in rows(DELIVERED)}, "webhooks")
        received: dict[str, list[bytes]] = {}
        for one in hooks.received:
            received.setdefault(one.event_id, []).append(one.body)
        delivered = rows(DELIVERED)
        for _, event_id, _ in delivered:
            if len(set(received.get(event_id, []))) != 1:
                self._scenario.ledger.faults.append(f"lost: {event_id} arrived as {received.get(event_id)}")
        again = sum(len(received.get(event_id, [])) > attempts for _, event_id, attempts in delivered)
        self._scenario.figures["webhooks that came again"] = again
        if again > TIMES * limits.WEBHOOK_PER_ENDPOINT:
            self._scenario.ledger.faults.append(f"twice: {again} webhooks, more than were under way")


def hour_back(folder: Path, *, url: str | None = None, bug: str | None = None, patience: float | None = None) -> Report:
    """What is amiss after the clock of a server was set back and right again."""
    clock = SetClock(folder)
    installation = Installation(folder / "data", database_url=url, bug=bug, module="tests.faults.clock_server")
    installation.env |= {"DEEDBOX_EGRESS_ALLOW": "127.0.0.0/8"}
    installation.under = clock.under()
    # At half load: with more work than it can do, a server is late by any clock.
    return Scenario(installation, half_load=True).run(HourBack(clock, patience or PATIENCE_SECONDS))


def test_the_clock_is_set_back_an_hour_under_load(tmp_path: Path) -> None:
    report = hour_back(tmp_path)
    print(f"Clock set back an hour {TIMES} times under load on SQLite: {report} ({load()})")
    assert report.faults == []


def test_the_clock_is_set_back_an_hour_under_load_on_postgresql(tmp_path: Path, postgres_url: str) -> None:
    report = hour_back(tmp_path, url=postgres_url)
    print(f"Clock set back an hour {TIMES} times under load on PostgreSQL: {report} ({load()})")
    assert report.faults == []


def test_the_rig_catches_due_work_that_waits_for_the_clock(tmp_path: Path) -> None:
    report = hour_back(tmp_path, bug="what is due waits for the clock", patience=5)
    assert "stuck: deliveries that were due" in report.faults

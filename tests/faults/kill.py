"""R1: clients that write down what they were told, while the server is killed under them again and again."""

import asyncio
import random
from collections import Counter
from pathlib import Path

import httpx
import msgspec

from deedbox.kernel.crypto import sha256
from deedbox.kernel.errors import ErrorCode
from deedbox.kernel.limits import KEYS_PER_WORKSPACE
from tests import server
from tests.api.answers import repeated
from tests.faults import installation
from tests.faults.installation import BREAKS, Installation

CLIENTS = 8
ACTIVE_MOST = KEYS_PER_WORKSPACE // 2
TIDY_EVERY = 20
KILL_BETWEEN = (0.05, 0.5)
"""Seconds of traffic before a kill."""
START_KILL_EVERY = 6
ANSWERED_AS_UNKNOWN = {ErrorCode.OUTCOME_UNKNOWN.value, ErrorCode.INTERNAL_ERROR.value}


class MadeKey(msgspec.Struct):
    id: str
    key: str | None


class Ledger:
    """What the clients were told: done, refused, or nothing at all."""

    def __init__(self) -> None:
        self.made: dict[str, MadeKey] = {}
        """Every acknowledged key, by its name."""
        self.answers: dict[str, bytes] = {}
        """What a request with an Idempotency-Key was answered, by that key, which is also the name."""
        self.refused: set[str] = set()
        self.unknown: set[str] = set()
        """Created without an Idempotency-Key, and the outcome was never told."""
        self.owed: list[str] = []
        """Idempotency-Keys whose outcome is unknown: to be tried again."""
        self.active: list[str] = []
        self.revoked: set[str] = set()
        self.maybe_revoked: set[str] = set()
        self.altered = 0
        self.failed = 0
        self.count: Counter[str] = Counter()
        self._names = 0

    def new_name(self, kind: str) -> str:
        self._names += 1
        return f"{kind}-{self._names}"


class Report(msgspec.Struct):
    kills: int
    kills_while_starting: int
    done: int
    refused: int
    unknown: int
    retried: int
    replayed: int
    lost_keys: int = 0
    lost_revocations: int = 0
    doubled: int = 0
    half_applied: int = 0
    altered_answers: int = 0
    answers_500: int = 0
    integrity: str = "ok"

    @property
    def faults(self) -> int:
        return (
            self.lost_keys + self.lost_revocations + self.doubled + self.half_applied + self.altered_answers
            + self.answers_500 + (self.integrity != "ok")
        )  # fmt: skip


class Client:
    """One caller with its own connection; it ends when the server dies under it."""

    def __init__(self, http: httpx.AsyncClient, ledger: Ledger, chance: random.Random) -> None:
        self._http = http
        self._ledger = ledger
        self._chance = chance

    async def run(self) -> None:
        try:
            while True:
                await self._step()
        except BREAKS:
            return

    async def _step(self) -> None:
        ledger, roll = self._ledger, self._chance.random()
        if ledger.owed:
            ledger.count["retried"] += 1
            await self._create_keyed(ledger.owed.pop())
        elif len(ledger.active) > ACTIVE_MOST or (roll < 0.3 and ledger.active):
            await self._revoke(ledger.active.pop(self._chance.randrange(len(ledger.active))))
        elif roll < 0.4 and ledger.answers:
            await self._create_keyed(self._chance.choice(list(ledger.answers)))
        elif roll < 0.75:
            await self._create_keyed(ledger.new_name("keyed"))
        else:
            await self._create_plain(ledger.new_name("plain"))

    async def _create_keyed(self, name: str) -> None:
        ledger = self._ledger
        try:
            answer = await self._http.post("/api/v1/keys", json={"name": name}, headers={"Idempotency-Key": name})
        except BREAKS:
            if name not in ledger.answers:
                ledger.owed.append(name)
            ledger.count["unknown"] += 1
            raise
        if answer.status_code != 201:
            # Refused: it is asked again until it is done, so that "one effect" has one meaning for each of them.
            self._note_refusal(answer)
            if name not in ledger.answers:
                ledger.owed.append(name)
        elif name in ledger.answers:
            ledger.count["replayed"] += 1
            ledger.altered += answer.content != ledger.answers[name]
        else:
            ledger.answers[name] = repeated(answer)
            self._note_made(name, answer)

    async def _create_plain(self, name: str) -> None:
        try:
            answer = await self._http.post("/api/v1/keys", json={"name": name})
        except BREAKS:
            self._ledger.unknown.add(name)
            self._ledger.count["unknown"] += 1
            raise
        if answer.status_code == 201:
            self._note_made(name, answer)
        elif self._note_refusal(answer):
            self._ledger.refused.add(name)
        else:
            self._ledger.unknown.add(name)

    async def _revoke(self, name: str) -> None:
        ledger = self._ledger
        try:
            answer = await self._http.delete(f"/api/v1/keys/{ledger.made[name].id}")
        except BREAKS:
            ledger.maybe_revoked.add(name)
            ledger.active.append(name)
            ledger.count["unknown"] += 1
            raise
        if answer.status_code == 204:
            ledger.revoked.add(name)
            ledger.count["done"] += 1
        elif answer.status_code == 404:
            ledger.failed += 1  # the key was acknowledged: it must be there
        elif self._note_refusal(answer):
            ledger.active.append(name)
        else:
            ledger.maybe_revoked.add(name)

    def _note_made(self, name: str, answer: httpx.Response) -> None:
        self._ledger.made[name] = msgspec.json.decode(answer.content, type=MadeKey)
        self._ledger.active.append(name)
        self._ledger.count["done"] += 1

    def _note_refusal(self, answer: httpx.Response) -> bool:
        """Whether the answer says that nothing was changed."""
        self._ledger.failed += answer.status_code == 500
        self._ledger.count["refused"] += 1
        return answer.headers.get("x-service-error-code") not in ANSWERED_AS_UNKNOWN


def _status(http: httpx.Client, made: MadeKey, key: str) -> int:
    """How the key is answered; where its first answer was lost nobody knows it, so its record is asked."""
    if made.key is not None:
        return http.get("/health", headers={"Authorization": f"Bearer {made.key}"}).status_code
    shown = http.get(f"/api/v1/keys/{made.id}", headers={"Authorization": f"Bearer {key}"}).json()
    return 200 if shown["status"] == "active" else 401


class Scenario:
    def __init__(self, data: Path, *, database_url: str | None = None, bug: str | None = None, seed: int = 1) -> None:
        self.installation = Installation(data, database_url=database_url, bug=bug)
        self.ledger = Ledger()
        self.kills = self.kills_while_starting = 0
        self._chance = random.Random(seed)

    def run(self, kills: int) -> Report:
        """Kills the server so many times, also while it starts, and says what is amiss afterwards."""
        key = self.installation.key()
        for number in range(kills):
            if number % START_KILL_EVERY == START_KILL_EVERY - 1:
                self.kill_while_starting()
            asyncio.run(self._burst(key, tidy=number % TIDY_EVERY == TIDY_EVERY - 1))
        return self._report(key)

    def kill_while_starting(self) -> None:
        self.installation.kill_while_starting(self._chance)
        self.kills_while_starting += 1

    async def _burst(self, key: str, *, tidy: bool) -> None:
        with self.installation.running() as running:
            async with installation.client(running.address, key, connections=CLIENTS) as http:
                if tidy:
                    await self._tidy(http)
                clients = [asyncio.create_task(Client(http, self.ledger, self._chance).run()) for _ in range(CLIENTS)]
                await asyncio.sleep(self._chance.uniform(*KILL_BETWEEN))
                running.process.kill()
                await asyncio.gather(*clients)
        self.kills += 1

    async def _tidy(self, http: httpx.AsyncClient) -> None:
        """Revokes the keys that were made without anybody being told: a workspace holds only so many."""
        cursor: dict[str, str] = {}
        while True:
            page = (await http.get("/api/v1/keys", params={"limit": 100, **cursor})).json()
            for key in page["keys"]:
                if key["status"] == "active" and key["name"] in self.ledger.unknown:
                    assert (await http.delete(f"/api/v1/keys/{key['id']}")).status_code == 204
            if not page["has_more"]:
                return
            cursor = {"cursor": page["next_cursor"]}

    async def _settle(self, address: str, key: str) -> None:
        """Every request of unknown outcome that has an Idempotency-Key is sent again, until it is answered."""
        async with installation.client(address, key) as http:
            last = Client(http, self.ledger, self._chance)
            for _ in range(len(self.ledger.owed)):
                self.ledger.count["retried"] += 1
                await last._create_keyed(self.ledger.owed.pop())
            assert not self.ledger.owed, "a request was refused although nothing else was going on"
            for name in list(self.ledger.answers):
                await last._create_keyed(name)

    def _report(self, key: str) -> Report:
        with self.installation.running() as running:
            asyncio.run(self._settle(running.address, key))
            count = self.ledger.count
            report = Report(
                kills=self.kills,
                kills_while_starting=self.kills_while_starting,
                done=count["done"],
                refused=count["refused"],
                unknown=count["unknown"],
                retried=count["retried"],
                replayed=count["replayed"],
                altered_answers=self.ledger.altered,
                answers_500=self.ledger.failed,
            )
            self._try_every_key(running, key, report)
        self._read_database(report)
        return report

    def _try_every_key(self, running: server.Server, key: str, report: Report) -> None:
        """An acknowledged key opens, an acknowledged revocation holds; between them, either is right."""
        with httpx.Client(base_url=running.address, timeout=30, trust_env=False) as http:
            for name, made in self.ledger.made.items():
                status = _status(http, made, key)
                if name in self.ledger.revoked:
                    report.lost_revocations += status != 401
                elif name not in self.ledger.maybe_revoked:
                    report.lost_keys += status != 200
                else:
                    report.half_applied += status not in (200, 401)

    def _read_database(self, report: Report) -> None:
        """Counts effects: one for what was acknowledged, none for what was refused, never two, never a half."""
        ledger = self.ledger
        keys = Counter((row[0], row[1]) for row in self.installation.rows("select id, name from api_keys"))
        answers = Counter(row[0] for row in self.installation.rows("select idempotency_key from idempotency"))
        report.integrity = self.installation.integrity()
        report.lost_keys += sum(not keys[made.id, name] for name, made in ledger.made.items())
        named = Counter(name for _, name in keys.elements())
        report.doubled = sum(number > 1 for name, number in named.items() if name.startswith(("keyed-", "plain-")))
        hashed = {sha256(name).hex(): name for name in named if name.startswith("keyed-")}
        report.half_applied += sum(not answers[key] for key in hashed)
        report.half_applied += sum(key not in hashed for key in answers)
        report.half_applied += sum(name in ledger.refused for name in named)


def killed(data: Path, kills: int, *, database_url: str | None = None, bug: str | None = None, seed: int = 1) -> Report:
    """What the clients found after so many kills of the server on this data folder."""
    return Scenario(data, database_url=database_url, bug=bug, seed=seed).run(kills)


def summary(report: Report, database: str) -> str:
    return installation.told("R1 kill", report, database)

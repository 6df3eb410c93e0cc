"""R6: every POST of the signing API, five times at once under one Idempotency-Key, and again after a kill."""

import asyncio
import random
from collections import Counter
from pathlib import Path

import httpx

from deedbox.kernel.errors import ErrorCode
from tests.api.answers import SHOWN_ONCE, repeated
from tests.faults.aftermath import Report
from tests.faults.installation import BREAKS, Installation
from tests.faults.posts import NONE, Case, posting, prepared
from tests.faults.signers import Doors, wanted
from tests.webhooks.sink import listening

AT_ONCE = 5
ANSWERS_BEFORE = (0, 5, 20, 35)
"""After how many answers a kill may come: what needs no sandbox is answered first."""
KILL_BETWEEN = (0.0, 0.4)
"""Seconds from then until the kill."""
IN_PROGRESS = ErrorCode.IDEMPOTENCY_IN_PROGRESS.value
REPEATED = ("/api/v1/", "/sign/")
"""Under these, no POST may be missing here."""
HARMLESS = {"/sign/{signer_id}/code"}
"""Changes nothing that a second one could change again."""


class Scenario:
    def __init__(self, installation: Installation, *, bug: str | None = None, seed: int = 1) -> None:
        self.installation = installation
        self.installation.env["DEEDBOX_EGRESS_ALLOW"] = "127.0.0.0/8"
        self._chance = random.Random(seed)
        self._at_effect = 1.0 if bug else 0.7
        """How often a kill comes at the very moment that a request has had its effect."""
        self._faults: list[str] = []
        self._count: Counter[str] = Counter()
        self._routes: set[str] = set()

    def run(self, rounds: int, kills: int) -> Report:
        """So many rounds of every request without a kill, and so many with one in their midst."""
        key = self.installation.key()
        for number in range(max(rounds, kills)):
            if number < rounds:
                asyncio.run(self._round(key, kill=False))
            if number < kills:
                asyncio.run(self._round(key, kill=True))
        return Report({"routes": len(self._routes), **self._count}, self._faults)

    async def _round(self, key: str, *, kill: bool) -> None:
        self._count["kills" if kill else "rounds"] += 1
        name = f"{'kill' if kill else 'round'}-{self._count.total()}"
        with self.installation.running() as running:
            async with Doors(running.address, key) as doors, listening() as sink:
                cases = [*await prepared(doors, name, sink), await self._mailed_again(doors, name)]
                await self._check_routes(doors, cases)
                volleys = asyncio.gather(*(self._volley(doors, case) for case in cases))
                if kill:
                    await self._moment(cases)
                    running.process.kill()
                await volleys
        if kill:
            with self.installation.running() as running:
                async with Doors(running.address, key) as doors:
                    await asyncio.gather(*(self._volley(doors, case) for case in cases))
        for case in cases:
            self._judge(case)

    async def _mailed_again(self, doors: Doors, name: str) -> Case:
        """A mail that was given up, as far as the server can tell, is sent once more."""
        title = f"{name} mail"
        document = (await doors.sender.post("/api/v1/documents", json=wanted(title, send=True))).json()
        mails = (await doors.sender.get("/api/v1/mails", params={"about": document["id"]})).json()["mails"]
        mail_id = mails[0]["id"]
        await asyncio.to_thread(self.installation.change, f"update mails set status = 'failed' where id = '{mail_id}'")
        shoot = posting(title, f"/api/v1/mails/{mail_id}/resend")
        effects = f"select count(*) from mails where id = '{mail_id}' and status = 'inbox'"
        return Case("/api/v1/mails/{mail_id}/resend", shoot, effects)

    async def _check_routes(self, doors: Doors, cases: list[Case]) -> None:
        """A POST that is not repeated here is a fault: so none is forgotten."""
        described = (await doors.sender.get("/openapi.json")).json()["paths"]
        posts = {path for path, methods in described.items() if "post" in methods}
        posts = {path for path in posts if path.startswith(REPEATED)} - HARMLESS
        self._routes = {case.route for case in cases}
        assert posts == self._routes, posts ^ self._routes

    async def _moment(self, cases: list[Case]) -> None:
        """Waits for the moment of the kill: when one of the requests has had its effect, or some time or other."""
        if self._chance.random() < self._at_effect:
            keyed = [case for case in cases if not case.single and case.effects != NONE]
            effects = self._chance.choice(keyed).effects
            while not (await asyncio.to_thread(self.installation.rows, effects))[0][0]:
                await asyncio.sleep(0.002)
            return
        number = self._chance.choice(ANSWERS_BEFORE)
        while sum(len(case.answers) for case in cases) < number:
            await asyncio.sleep(0.002)
        await asyncio.sleep(self._chance.uniform(*KILL_BETWEEN))

    async def _volley(self, doors: Doors, case: Case) -> None:
        await asyncio.gather(*(self._insist(doors, case) for _ in range(AT_ONCE)))

    async def _insist(self, doors: Doors, case: Case) -> None:
        """Asks until the answer is another than that a twin is still running, or the server is dead."""
        try:
            while True:
                answer = await case.shoot(doors)
                if answer.headers.get("x-service-error-code") != IN_PROGRESS:
                    break
                self._count["twins running"] += 1
                await asyncio.sleep(0.01)
        except BREAKS:
            self._count["unknown"] += 1
            return
        case.answers.append(answer)
        self._count["answers"] += 1

    def _judge(self, case: Case) -> None:
        effects = int(self.installation.rows(case.effects)[0][0])
        if effects != 1:
            self._faults.append(f"doubled: {case.route} had {effects} effects")
        done = [answer for answer in case.answers if answer.is_success]
        others = [answer for answer in case.answers if not answer.is_success]
        if case.single:
            bad = [answer for answer in others if answer.status_code != 409]
            if len(done) > 1:
                self._faults.append(f"doubled: {case.route} was done {len(done)} times")
        else:
            bad = others
            self._judge_bytes(case.route, done)
        self._faults += [f"failed: {case.route} was answered {one.status_code} {one.text}" for one in bad]

    def _judge_bytes(self, route: str, done: list[httpx.Response]) -> None:
        if len({(answer.status_code, repeated(answer)) for answer in done}) != 1:
            self._faults.append(f"altered: {route} was answered in different ways")
        first = [answer for answer in done if "idempotency-replayed" not in answer.headers]
        self._count["replayed"] += len(done) - len(first)
        if len(first) > 1:
            self._faults.append(f"doubled: {route} was answered anew {len(first)} times")
        shown = [one for one in done if one not in first and any(one.json().get(name) for name in SHOWN_ONCE)]
        if shown:
            self._faults.append(f"shown again: {route} gave its secret {len(shown)} times more")


def replayed(
    data: Path, rounds: int, kills: int, *, database_url: str | None = None, bug: str | None = None, seed: int = 1
) -> Report:
    """What came of every POST being repeated, so many rounds without a kill and so many with one."""
    return Scenario(Installation(data, database_url=database_url, bug=bug), bug=bug, seed=seed).run(rounds, kills)

"""R1 over the whole lifecycle: what clients were told of documents is held against what is there after many kills."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx

from deedbox.kernel.errors import ErrorCode
from tests.faults.aftermath import Report, examined
from tests.faults.installation import BREAKS, Installation
from tests.faults.ledger import Asked, Ledger, Outcome, Told
from tests.faults.signers import Doors, at_turn, batch_wanted, packet_wanted, person, signature, template_wanted, wanted

CLIENTS = 8
OPEN_MOST = 14
"""Documents under way at once: few, so that clients meet on them."""
TRAFFIC = (1, 60)
"""Requests that are answered before a kill, however slow the machine is."""
KILL_BETWEEN = (0.0, 0.05)
"""Seconds from then until the kill."""
COLD_KILL_EVERY = 4
COLD_KILL_BETWEEN = (0.0, 2.0)
"""Seconds after which a server is killed that has not warmed up yet."""
START_KILL_EVERY = 10
BATCHES = "/api/v1/bulk-sends"
BATCH_ROWS = 3
BATCHES_ACTED_ON = 4
"""The newest: others are long sent."""
ANSWERED_AS_UNKNOWN = {ErrorCode.OUTCOME_UNKNOWN.value, ErrorCode.INTERNAL_ERROR.value}
SHAPES: list[dict[str, Any]] = [
    {"signers": [person(1)]},
    {"signers": [person(1), person(2)]},
    {"signers": [person(1), person(2, order=2)]},
    {
        "parties": [
            {"name": "Board", "signers": [person(1), person(2)], "rule": "any"},
            {"name": "Buyer", "signers": [person(3)], "order": 2},
        ]
    },
    {
        "parties": [
            {
                "name": "Jury",
                "signers": [person(1), person(2), person(3)],
                "rule": "quorum",
                "quorum": 2,
                "on_decline": "continue_while_possible",
            }
        ]
    },
]


class Client:
    """One caller; it ends when the server dies under it."""

    def __init__(self, doors: Doors, ledger: Ledger, chance: random.Random) -> None:
        self._doors, self._ledger, self._chance = doors, ledger, chance

    async def run(self) -> None:
        try:
            while True:
                await self._step()
        except BREAKS:
            return

    async def _step(self) -> None:
        ledger = self._ledger
        if ledger.owed:
            ledger.count["retried"] += 1
            await self.ask(ledger.owed.pop())
        elif len(ledger.open) < OPEN_MOST:
            await self._create()
        elif ledger.batches and self._chance.random() < 0.1:
            await self._act_on_batch(self._chance.choice(ledger.batches[-BATCHES_ACTED_ON:]))
        else:
            await self._act_on(self._chance.choice(ledger.open))

    async def _create(self) -> None:
        title = f"Deed {self._ledger.number()}"
        people, send, roll = self._chance.choice(SHAPES), self._chance.random() < 0.6, self._chance.random()
        if roll < 0.1:
            path, send, body = BATCHES, True, batch_wanted(title, self._ledger.template_id, BATCH_ROWS)
        elif roll < 0.4:
            path, body = "/api/v1/packets", packet_wanted(title, send=send, **people)
        else:
            path, body = "/api/v1/documents", wanted(title, send=send, **people)
        await self.ask(Asked("create and send" if send else "create", title, path, body, self._key()))

    def _key(self) -> str | None:
        """Every second request can be repeated."""
        return f"key-{self._ledger.number()}" if self._chance.random() < 0.5 else None

    async def _act_on_batch(self, name: str) -> None:
        """The documents that its rows became are signed like others; it is itself paused, resumed or canceled."""
        ledger, place = self._ledger, self._ledger.places[name]
        looked = await self._doors.sender.get(f"{place}/rows")
        if looked.status_code != 200:
            ledger.faults.append(f"lost: the rows of {name}, which are answered {looked.status_code}")
            return
        for row in looked.json()["rows"]:
            title = f"{name}, part {row['index']}"
            if row["document_id"] and title not in ledger.places:
                ledger.places[title] = f"/api/v1/documents/{row['document_id']}"
                ledger.open.append(title)
        act = self._chance.choice(("pause", "pause", "resume", "resume", "retry", "cancel"))
        await self.ask(Asked(act, name, f"{place}/{act}", None, self._key()))

    async def _act_on(self, title: str) -> None:
        looked = await self._doors.sender.get(self._ledger.places[title])
        document = looked.json()
        if looked.status_code != 200:
            self._ledger.faults.append(f"lost: {title}, which is answered {looked.status_code}")
        if document["status"] not in ("draft", "sent"):
            if title in self._ledger.open:
                self._ledger.open.remove(title)
            return
        sent: list[tuple[float, Callable[[str, Any], Awaitable[None]]]] = [
            (0.72, self._sign),
            (0.82, self._decline),
            (0.9, self._void),
            (1, self._remind),
        ]
        draft = [(0.85, self._send), (1, self._void)]
        roll = self._chance.random()
        act = next(act for bound, act in (draft if document["status"] == "draft" else sent) if roll <= bound)
        await act(title, document)

    async def _send(self, title: str, _: Any) -> None:
        await self._of_sender("send", title)

    async def _void(self, title: str, _: Any) -> None:
        await self._of_sender("void", title, {"reason": "It was a test"})

    async def _remind(self, title: str, _: Any) -> None:
        await self._of_sender("remind", title)

    async def _of_sender(self, act: str, title: str, body: Any = None) -> None:
        await self.ask(Asked(act, title, f"{self._ledger.places[title]}/{act}", body, self._key()))

    async def _sign(self, title: str, document: Any) -> None:
        await self._of_signer("complete", title, document, signature(f"Mark {self._ledger.number()}"))

    async def _decline(self, title: str, document: Any) -> None:
        await self._of_signer("decline", title, document, {"reason": "I would rather not"})

    async def _of_signer(self, act: str, title: str, document: Any, body: Any) -> None:
        able = at_turn(document)
        if not able:
            return
        signer_id = self._chance.choice(able)
        cookie = await self._cookie(title, signer_id)
        if cookie is not None:
            await self.ask(Asked(act, title, f"/sign/{signer_id}/{act}", body, None, signer_id, cookie))

    async def _cookie(self, title: str, signer_id: str) -> str | None:
        """The signer's session: the one from before, also of a server that was killed since, or a new one."""
        cookies = self._ledger.cookies
        if signer_id not in cookies or self._chance.random() < 0.3:
            path = f"{self._ledger.places[title]}/signers/{signer_id}/link"
            link = await self.ask(Asked("link", title, path, None, self._key(), signer_id))
            if link is None:
                return None
            followed = await self._doors.follow(link["url"])
            if followed.status_code != 303:
                # A link that was answered again to a repeated request may have been followed before.
                if followed.status_code != 409:
                    self._ledger.faults.append(f"lost: a link of {title} leads nowhere: {followed.text}")
                return None
            cookie, shown = await self._doors.look(followed)
            if shown.status_code != 200:
                self._ledger.faults.append(f"lost: the session of a signer of {title}, who had followed a link")
                return None
            cookies[signer_id] = cookie
        return cookies[signer_id]

    async def ask(self, asked: Asked) -> Any:
        """The answer, if the request was done; what became of it is written down."""
        try:
            answer = await self._sent(asked)
        except BREAKS:
            self._note(asked, "unknown")
            raise
        if answer.is_success:
            return self._note_done(asked, answer)
        self._check_refusal(asked, answer)
        unsure = answer.headers.get("x-service-error-code") in ANSWERED_AS_UNKNOWN
        self._note(asked, "unknown" if unsure else "refused", answer.json())
        return None

    async def _sent(self, asked: Asked) -> httpx.Response:
        if asked.cookie is not None:
            return await self._doors.act(asked.cookie, asked.act, asked.body)
        headers = {"Idempotency-Key": asked.key} if asked.key else {}
        return await self._doors.sender.post(asked.path, json=asked.body, headers=headers)

    def _note_done(self, asked: Asked, answer: httpx.Response) -> Any:
        ledger, found = self._ledger, answer.json()
        before = ledger.answers.setdefault(asked.key, answer.content) if asked.key else answer.content
        if before != answer.content:
            ledger.faults.append(f"altered: {asked.act} of {asked.title} was answered otherwise the second time")
        if answer.headers.get("idempotency-replayed"):
            ledger.count["replayed"] += 1
        if asked.act.startswith("create") and asked.title not in ledger.places:
            ledger.places[asked.title] = f"{asked.path}/{found['id']}"
            (ledger.batches if asked.path == BATCHES else ledger.open).append(asked.title)
        self._note(asked, "done", found)
        return found

    def _check_refusal(self, asked: Asked, answer: httpx.Response) -> None:
        """Only a state that forbids it, a twin that is still running, or an early reminder is a reason to refuse."""
        if answer.status_code == 401:
            self._ledger.faults.append(f"lost: the session of a signer of {asked.title}")
        elif answer.status_code == 404:
            self._ledger.faults.append(f"lost: {asked.path}")
        elif answer.status_code != 409 and (answer.status_code, asked.act) != (429, "remind"):
            self._ledger.faults.append(f"failed: {asked.act} was answered {answer.status_code} {answer.text}")

    def _note(self, asked: Asked, outcome: Outcome, answer: Any = None) -> None:
        self._ledger.count[outcome] += 1
        self._ledger.told.append(Told(asked, outcome, answer))
        if outcome == "unknown" and asked.key is not None:
            self._ledger.owed.append(asked)


class Scenario:
    def __init__(self, installation: Installation, *, seed: int = 1) -> None:
        self.installation = installation
        self.ledger = Ledger()
        self._chance = random.Random(seed)

    def run(self, kills: int, traffic: tuple[int, int] = TRAFFIC) -> Report:
        """Kills the server so many times, also while it starts, and says what is amiss afterwards.

        The last time not before someone has signed."""
        key = self.installation.key()
        for number in range(kills):
            if number % START_KILL_EVERY == START_KILL_EVERY - 1:
                self.installation.kill_while_starting(self._chance)
            cold = number % COLD_KILL_EVERY == COLD_KILL_EVERY - 1
            last = number == kills - 1
            asyncio.run(self._burst(key, 0 if cold else self._chance.randint(*traffic), signed=last))
            self.ledger.count["kills"] += 1
        self.installation.lapse_leases()
        with self.installation.running(gently=True) as running:
            asyncio.run(self._settle(running.address, key))
            return asyncio.run(examined(self.installation, Doors(running.address, key), self.ledger))

    async def _burst(self, key: str, answers: int, *, signed: bool) -> None:
        with self.installation.running() as running:
            async with Doors(running.address, key) as doors:
                if not self.ledger.template_id:
                    made = await doors.sender.post("/api/v1/templates", json=template_wanted("Deed"))
                    self.ledger.template_id = made.json()["id"]
                clients = [asyncio.create_task(Client(doors, self.ledger, self._chance).run()) for _ in range(CLIENTS)]
                enough = self.ledger.answered() + answers
                while running.process.poll() is None and (
                    self.ledger.answered() < enough or (signed and not self.ledger.has_signature())
                ):
                    await asyncio.sleep(0.005)
                await asyncio.sleep(self._chance.uniform(*(KILL_BETWEEN if answers else COLD_KILL_BETWEEN)))
                running.process.kill()
                await asyncio.gather(*clients)

    async def _settle(self, address: str, key: str) -> None:
        """Every request of unknown outcome that has an Idempotency-Key is sent again, when nothing else goes on.

        Then what is paused goes on."""
        async with Doors(address, key) as doors:
            last = Client(doors, self.ledger, self._chance)
            for _ in range(len(self.ledger.owed)):
                self.ledger.count["retried"] += 1
                await last.ask(self.ledger.owed.pop())
            for place in (self.ledger.places[name] for name in self.ledger.batches):
                if (await doors.sender.get(place)).json()["status"] == "paused":
                    assert (await doors.sender.post(f"{place}/resume")).is_success


def killed(data: Path, kills: int, *, database_url: str | None = None, seed: int = 1) -> Report:
    """What the clients found after so many kills of the server on this data folder."""
    return Scenario(Installation(data, database_url=database_url), seed=seed).run(kills)


def with_bug(bug: str, data: Path, seed: int) -> Report:
    """What they found after one kill of a server with this bug, in the midst of traffic."""
    return Scenario(Installation(data, bug=bug), seed=seed).run(1, traffic=(60, 120))

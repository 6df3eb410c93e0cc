"""R6: every POST of the signing API, five times at once under one Idempotency-Key, and again after a kill."""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import msgspec

from deedbox.kernel.errors import Code
from tests.api.answers import SHOWN_ONCE, repeated
from tests.rigs.aftermath import Report
from tests.rigs.installation import BREAKS, Installation
from tests.rigs.signers import PAPER, Doors, at_turn, person, signature, wanted
from tests.webhooks.sink import Sink, listening

AT_ONCE = 5
ANSWERS_BEFORE = (0, 5, 20, 35)
"""After how many answers a kill may come: what needs no sandbox is answered first."""
KILL_BETWEEN = (0.0, 0.4)
"""Seconds from then until the kill."""
IN_PROGRESS = Code.IDEMPOTENCY_IN_PROGRESS.value
REPEATED = ("/api/v1/", "/sign/")
"""Under these, no POST may be missing here."""
NONE = "select 1"
"""Counts the effects of what has none: always as many as there should be."""
HARMLESS = {"/sign/{signer_id}/code"}
"""Changes nothing that a second one could change again."""

Shot = Callable[[Doors], Awaitable[httpx.Response]]


class Case(msgspec.Struct):
    """One request to be repeated, and how its effects are counted."""

    route: str
    shoot: Shot
    effects: str
    """SQL that counts them."""
    answers: list[httpx.Response] = []
    single: bool = False
    """A signer's act: without a key, so that the first wins and the others are told so."""


class Rig:
    def __init__(self, data: Path, *, database_url: str | None = None, bug: str | None = None, seed: int = 1) -> None:
        self.installation = Installation(data, database_url=database_url, bug=bug)
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
                cases = await prepared(doors, name, sink)
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


async def prepared(doors: Doors, name: str, sink: Sink) -> list[Case]:
    """Each POST on a document or a webhook of its own."""
    made = {act: await _made(doors, f"{name} {act}", send=act != "send") for act in _ACTS}
    cases = [_created(f"{name} draft", send=False), _created(f"{name} sent", send=True), _uploaded(f"{name} form")]
    cases += [_sender_acts(act, made[act], f"{name} {act}") for act in ("send", "void", "remind")]
    cases += [_link(made["link"], f"{name} link"), _key(f"{name} key"), _verified(f"{name} verify")]
    cases += [await _signer_acts(doors, act, made[act]) for act in ("complete", "decline")]
    cases += [_template(f"{name} template"), await _from_template(doors, f"{name} from a template")]
    return [*cases, _hook(f"{name} hook", sink), *await _hook_acts(doors, name, sink)]


_ACTS = ("send", "void", "remind", "link", "complete", "decline")


async def _made(doors: Doors, title: str, *, send: bool) -> Any:
    answer = await doors.sender.post("/api/v1/documents", json=wanted(title, send=send))
    assert answer.status_code == 201, answer.text
    return answer.json()


def _posting(key: str, path: str, **request: Any) -> Shot:
    async def shoot(doors: Doors) -> httpx.Response:
        return await doors.sender.post(path, headers={"Idempotency-Key": key}, **request)

    return shoot


def _titled(title: str) -> str:
    return f"select count(*) from documents where title = '{title}'"


def _created(title: str, *, send: bool) -> Case:
    shoot = _posting(title, "/api/v1/documents", json=wanted(title, send=send))
    events = f"select count(*) from events e join documents d on d.id = e.subject_id where d.title = '{title}'"
    return Case("/api/v1/documents", shoot, events if send else _titled(title))


def _uploaded(title: str) -> Case:
    document = msgspec.json.encode({"title": title, "signers": [person(1)]})
    files = {"document": (None, document, "application/json"), "file": ("deed.pdf", PAPER, "application/pdf")}
    return Case("/api/v1/documents", _posting(title, "/api/v1/documents", files=files), _titled(title))


def _template_body(name: str) -> dict[str, Any]:
    return {"name": name, "file": wanted(name, send=False)["file"], "roles": [{"name": "Buyer"}]}


def _template(name: str) -> Case:
    shoot = _posting(name, "/api/v1/templates", json=_template_body(name))
    return Case("/api/v1/templates", shoot, f"select count(*) from template_versions where name = '{name}'")


async def _from_template(doors: Doors, title: str) -> Case:
    template = (await doors.sender.post("/api/v1/templates", json=_template_body(f"{title} itself"))).json()
    body = {"title": title, "template_id": template["id"], "roles": {"Buyer": person(1)}, "send": True}
    return Case("/api/v1/documents", _posting(title, "/api/v1/documents", json=body), _titled(title))


def _recorded(document: Any, act: str) -> str:
    return f"select count(*) from audit where document_id = '{document['id']}' and act = '{act}'"


def _sender_acts(act: str, document: Any, key: str) -> Case:
    rows = {"send": "document.sent", "void": "document.voided", "remind": "signer.reminded"}
    shoot = _posting(key, f"/api/v1/documents/{document['id']}/{act}")
    return Case(f"/api/v1/documents/{{document_id}}/{act}", shoot, _recorded(document, rows[act]))


def _link(document: Any, key: str) -> Case:
    [signer_id] = at_turn(document)
    shoot = _posting(key, f"/api/v1/documents/{document['id']}/signers/{signer_id}/link")
    effects = f"select count(*) from signing_links where kind = 'embedded' and signer_id = '{signer_id}'"
    return Case("/api/v1/documents/{document_id}/signers/{signer_id}/link", shoot, effects)


def _key(name: str) -> Case:
    shoot = _posting(name, "/api/v1/keys", json={"name": name})
    return Case("/api/v1/keys", shoot, f"select count(*) from api_keys where name = '{name}'")


def _hooked(title: str, sink: Sink) -> dict[str, str]:
    # A kind that nothing here causes: each delivery is one that was asked for.
    return {"target_url": f"{sink.url}/{title.replace(' ', '-')}", "event": "bulk_send.completed"}


def _hook(title: str, sink: Sink) -> Case:
    wish = _hooked(title, sink)
    effects = f"select count(*) from hooks where target_url = '{wish['target_url']}'"
    return Case("/api/v1/hooks", _posting(title, "/api/v1/hooks", json=wish), effects)


async def _hook_acts(doors: Doors, name: str, sink: Sink) -> list[Case]:
    """What can be done with a webhook and its deliveries, each with one of its own."""
    ids = {act: (await _asked(doors, "hooks", **_hooked(f"{name} {act}", sink)))["id"] for act in _HOOK_EFFECTS}
    await _asked(doors, f"hooks/{ids['resume']}/pause")
    delivery = await _asked(doors, f"hooks/{ids['redeliver']}/test")
    while (await doors.sender.get(f"/api/v1/deliveries/{delivery['id']}")).json()["status"] != "delivered":
        await asyncio.sleep(0.01)
    bodies = {"recover": {"since": delivery["created_at"]}}
    paths = {act: f"hooks/{hook_id}/{act}" for act, hook_id in ids.items()}
    paths["redeliver"] = f"deliveries/{delivery['id']}/redeliver"
    return [
        Case(
            f"/api/v1/deliveries/{{delivery_id}}/{act}" if act == "redeliver" else f"/api/v1/hooks/{{hook_id}}/{act}",
            _posting(f"{name} {act} hook", f"/api/v1/{paths[act]}", json=bodies.get(act)),
            effects.format(hook_id=ids[act]),
        )
        for act, effects in _HOOK_EFFECTS.items()
    ]


_HOOK_EFFECTS = {
    "test": "select count(*) from deliveries where hook_id = '{hook_id}'",
    "rotate": NONE,
    "pause": "select count(*) from hooks where id = '{hook_id}' and status = 'paused'",
    "resume": "select count(*) from hooks where id = '{hook_id}' and status = 'active'",
    "recover": NONE,
    "redeliver": "select count(*) - 1 from deliveries where hook_id = '{hook_id}'",
}


async def _asked(doors: Doors, path: str, **body: str) -> Any:
    answer = await doors.sender.post(f"/api/v1/{path}", json=body)
    assert answer.is_success, answer.text
    return answer.json()


def _verified(key: str) -> Case:
    shoot = _posting(key, "/api/v1/verify", files={"file": ("deed.pdf", PAPER)})
    return Case("/api/v1/verify", shoot, NONE)


async def _signer_acts(doors: Doors, act: str, document: Any) -> Case:
    [signer_id] = at_turn(document)
    cookie = await doors.enter(document["id"], signer_id)
    body = signature("Ann") if act == "complete" else {}
    row = {"complete": "signer.signed", "decline": "signer.declined"}[act]

    async def shoot(doors: Doors) -> httpx.Response:
        return await doors.act(cookie, act, body, **{"Idempotency-Key": f"{document['id']} {act}"})

    return Case(f"/sign/{{signer_id}}/{act}", shoot, _recorded(document, row), single=True)


def replayed(
    data: Path, rounds: int, kills: int, *, database_url: str | None = None, bug: str | None = None, seed: int = 1
) -> Report:
    """What came of every POST being repeated, so many rounds without a kill and so many with one."""
    return Rig(data, database_url=database_url, bug=bug, seed=seed).run(rounds, kills)

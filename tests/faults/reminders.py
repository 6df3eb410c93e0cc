"""Ninety days of reminders and expiry: people sign, decline, pass on and are put right while the clock moves.

All from one seed. The server is off now and then, and dies with jobs in hand. Afterwards every reminder is worked out
anew from the trail and the plans, by nobody's clock but the fault test's, and held against those that were sent."""

import bisect
import functools
import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from deedbox.evidence.chain import TrailEntry
from deedbox.kernel import jobs
from deedbox.kernel.clock import instant, moment
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest, Conflict, TooManyRequests
from deedbox.kernel.jobs import Handler, Runner, Work
from deedbox.kernel.jobs import store as job_store
from deedbox.kernel.jobs.job import Slots
from deedbox.signing import parties
from deedbox.signing.action_context import SERVER, ActionContext
from deedbox.signing.actions import change, expire, remind
from deedbox.signing.actions.approve import approve
from deedbox.signing.actions.correct import correct
from deedbox.signing.actions.create import create
from deedbox.signing.actions.decline import decline
from deedbox.signing.actions.delegate import Delegation, delegate
from deedbox.signing.actions.expire import EXPIRE_JOB
from deedbox.signing.actions.remind import REMIND_JOB
from deedbox.signing.actions.sign import SigningAct, sign
from deedbox.signing.actions.void import void
from deedbox.signing.completion.finalize import FINALIZE_JOB
from deedbox.signing.model import Document, Packet, Reminders
from deedbox.signing.new_document import DocumentChange, NewDocument, NewParty, NewSigner, SignerChange
from deedbox.signing.store import audit
from tests.api.conftest import Api
from tests.faults.aftermath import Report
from tests.signing.desk import SEEN, TYPED, file, paper

DAYS = 90
ZONES = (None, "Europe/Berlin", "America/Los_Angeles", "Asia/Tokyo", "Asia/Kathmandu", "Pacific/Auckland")
ACTS = ("sign",) * 9 + ("decline", "void", "delegate", "delegate", "remind", "remind", "correct", "correct", "amend")
OUT = ("signer.signed", "signer.approved", "signer.declined", "signer.delegated")


class Scenario:
    def __init__(self, api: Api, documents: int, seed: int) -> None:
        self.api, self.chance, self.wanted = api, random.Random(seed), documents
        self.plans: dict[str, list[tuple[str, Reminders | None]]] = {}
        """Of each document, from when on which plan holds."""
        self.ticks: list[str] = []
        """When the server was up and looked at its jobs."""
        office = api.deedbox.services
        handlers: dict[str, Handler] = {
            EXPIRE_JOB: functools.partial(expire.run, office),
            REMIND_JOB: functools.partial(remind.run, office),
            FINALIZE_JOB: _nothing,  # the papers are none: what becomes of a complete document is not the matter here
        }
        self.runner = Runner(api.deedbox.db, api.clock, handlers, concurrency=4, worker="fault test")
        self.figures = dict.fromkeys(("documents", "reminders", "nights waited", "expired", "deaths", "days off"), 0)
        self.faults: list[str] = []

    async def run(self) -> Report:
        begin = self.api.clock.now()
        for _ in range(self.wanted):
            await self._create()
        acts = self._acts()
        while (now := self.api.clock.now()) < begin + timedelta(days=DAYS):
            await self._tick()
            passed = (now - begin) / timedelta(days=DAYS)
            while acts and acts[-1][0] <= passed:
                await self._try(*acts.pop()[1:])
            self.api.clock.forward(self._pause())
        await self._judge()
        return Report(self.figures, self.faults)

    def _pause(self) -> float:
        """Until the server looks at its jobs again: about an hour, or a day and more when it is off."""
        if self.chance.random() < 0.004:
            self.figures["days off"] += 1
            return self.chance.uniform(20, 40) * 3600
        return self.chance.uniform(1200, 6000)

    def _acts(self) -> list[tuple[float, str, str]]:
        """When something is tried with which document, the last first."""
        each = [
            (document, self.chance.choice(ACTS)) for document in self.plans for _ in range(self.chance.randint(0, 9))
        ]
        return sorted(((self.chance.random(), *one) for one in each), reverse=True)

    async def _tick(self) -> None:
        """All jobs that are due; sometimes the process dies with some in hand, and another begins."""
        now, db = self.api.clock.now(), self.api.deedbox.db
        self.ticks.append(instant(now))
        if self.chance.random() < 0.02:
            await db.write(lambda tx: job_store.claim(tx, "dead", Slots(20), now))
            await db.write(job_store.abandon_all)
            self.figures["deaths"] += 1
        while await self.runner.run_due():
            pass

    # what people do

    async def _create(self) -> None:
        plan, now, draw = self._plan(), self.api.clock.now(), self.chance
        end = now + timedelta(hours=draw.randint(24, 89 * 24)) if draw.random() < 0.6 else None
        new = NewDocument(title="Deed", parties=self._parties(), reminders=plan, expires_at=end, send=True)
        packet = await self._at_desk(lambda desk: create(desk, new, [file()], paper()))
        self.plans[packet.first.id] = [(instant(now), plan)]
        self.figures["documents"] += 1
        self.api.clock.forward(draw.uniform(0, 600))

    def _plan(self) -> Reminders | None:
        draw = self.chance
        if draw.random() < 0.1:
            return None
        return Reminders(draw.randint(1, 72), draw.randint(1, 96), draw.randint(1, 8), at_night=draw.random() < 0.2)

    def _parties(self) -> list[NewParty]:
        draw, names = self.chance, iter("abcdefghijkl")
        made = []
        for number in range(draw.randint(1, 3)):
            roles = ["signer", *draw.choices(("signer", "approver", "cc"), (6, 2, 1), k=draw.randint(0, 2))]
            people = [self._person(next(names), role) for role in roles]
            rule: Any = draw.choice(("all", "any"))
            goes_on: Any = draw.choice(("decline_document", "continue_while_possible"))
            made.append(NewParty(f"P{number}", people, draw.randint(1, 3), rule, on_decline=goes_on))
        return made

    def _person(self, name: str, role: Any) -> NewSigner:
        zone, may = self.chance.choice(ZONES), self.chance.random() < 0.4
        return NewSigner(name=name, email=f"{name}@example.com", time_zone=zone, role=role, delegation=may)

    async def _try(self, document_id: str, what: str) -> None:
        """One act of someone; what the state refuses changes nothing."""
        try:
            await self._at_desk(lambda desk: self._act(desk, desk.packet_of(document_id), what))
        except (Conflict, BadRequest, TooManyRequests):
            return

    def _act(self, desk: ActionContext, packet: Packet, what: str) -> Packet:
        waiting = [*parties.waiting_for(packet)]
        if what == "void":
            return void(desk, packet, None)
        if what == "remind":
            return remind.remind(desk, packet)
        if what == "amend":
            return self._amend(desk, packet)
        if not waiting:
            raise Conflict("It is no one's turn")
        one = self.chance.choice(waiting)
        if what == "sign" and one.role == "approver":
            return approve(desk, packet, one.id, SEEN)
        if what == "sign":
            return sign(desk, packet, one.id, SigningAct(TYPED, {}, SEEN))
        if what == "decline":
            return decline(desk, packet, one.id, None, SEEN)
        if what == "delegate":
            return delegate(desk, packet, one.id, Delegation(f"{one.name} two", f"{one.name}2@example.com"), SEEN)
        email = f"{one.name}{self.chance.randint(3, 99)}@example.com".replace(" ", "")
        return correct(desk, packet, one.id, SignerChange(email=email))

    def _amend(self, desk: ActionContext, packet: Packet) -> Packet:
        plan, document_id = self._plan(), packet.first.id
        later = desk.now + timedelta(hours=self.chance.randint(1, 40 * 24))
        after = change.amend(desk, packet, document_id, DocumentChange(reminders=plan, expires_at=later))
        self.plans[document_id].append((desk.at, plan))
        return after

    async def _at_desk(self, action: Any) -> Packet:
        deedbox = self.api.deedbox

        def act(tx: Tx) -> Packet:
            with deedbox.services.action(tx, self.api.workspace, "key_rig") as desk:
                done: Packet = action(desk)
                return done

        return await deedbox.db.write(act)

    # what should have been

    async def _judge(self) -> None:
        db = self.api.deedbox.db
        for document_id in self.plans:
            packet = await self.api.deedbox.services.packet_of(self.api.workspace, document_id)
            trail = await db.read(lambda tx, id=document_id: audit.trail(tx, id))  # type: ignore[misc]
            self._judge_reminders(packet, trail)
            self._judge_end(packet, trail)
        [(mails,)] = await self.api.rows("select count(*) from mails where kind = 'reminder'")
        [(rows,)] = await self.api.rows("select count(*) from audit where act = 'signer.reminded'")
        if mails != rows:
            self.faults.append(f"{mails} mails for {rows} reminders")
        [(twice,)] = await self.api.rows(
            "select count(*) from (select subject_id from events where kind = 'document.expired'"
            " group by subject_id having count(*) > 1) twice"
        )
        if twice:
            self.faults.append(f"{twice} documents expired twice")
        counts = await db.read(jobs.counts)
        if counts.get("parked") or counts.get("running"):
            self.faults.append(f"jobs are left over: {counts}")

    def _judge_reminders(self, packet: Packet, trail: list[TrailEntry]) -> None:
        for party, signer in packet.signers():
            sent = [row.at for row in trail if row.act == "signer.reminded" and row.detail["signer"] == signer.id]
            timed = [
                row.at
                for row in trail
                if row.act == "signer.reminded" and row.detail["signer"] == signer.id and row.actor == SERVER
            ]
            until = _until(packet.first, trail, party.id, signer.id)
            self.figures["reminders"] += len(timed)
            who = f"{packet.first.id} {signer.name} ({signer.time_zone})"
            for at in timed:
                if not self._plan_at(packet.first.id, at).at_night and not _is_day(at, signer.time_zone):  # type: ignore[union-attr]
                    self.faults.append(f"at night: {who} at {at}")
            if any(at > until[0] or (at == until[0] and until[1]) for at in sent):
                self.faults.append(f"after the end: {who}")
            due = [*self._due(packet.first.id, _invited(trail, signer.id), until, signer.time_zone)]
            if timed != due:
                self.faults.append(f"{len(timed)} for {len(due)} reminders: {who}: {timed}, not {due}")

    def _due(self, document_id: str, invited: list[str], until: tuple[str, bool], zone: str | None) -> Iterator[str]:
        """When the person had to be reminded: at the first look when it was time, and day, and nothing had ended."""
        count, last, begun = 0, "", 0
        for at in self.ticks[bisect.bisect_right(self.ticks, invited[0]) :] if invited else []:
            if at > until[0] or (at == until[0] and until[1]):
                return
            if (times := sum(one < at for one in invited)) != begun:  # whoever has a corrected address begins anew
                count, last, begun = 0, "", times
            plan = self._plan_at(document_id, at)
            if plan is None or count >= plan.max:
                continue
            since = max(last, *(one for one in invited if one < at))
            hours = plan.every_hours if count else plan.first_after_hours
            if moment(since) + timedelta(hours=hours) > moment(at):
                continue
            if plan.at_night or _is_day(at, zone):
                count, last = count + 1, at
                yield at
            else:
                self.figures["nights waited"] += 1

    def _plan_at(self, document_id: str, at: str) -> Reminders | None:
        """The plan that held when the jobs ran, before anyone acted at that moment."""
        plans = self.plans[document_id]
        return next((plan for since, plan in reversed(plans) if since < at), plans[0][1])

    def _judge_end(self, packet: Packet, trail: list[TrailEntry]) -> None:
        document, expired = packet.first, [row.at for row in trail if row.act == "document.expired"]
        last = self.ticks[-1]
        if document.status == "sent" and packet.expires_at is not None and packet.expires_at <= last:
            self.faults.append(f"never expired: {document.id}")
        if (document.status == "expired") != (len(expired) == 1):
            self.faults.append(f"{document.id} is {document.status}, and expired {len(expired)} times")
        if expired and packet.expires_at is not None:
            self.figures["expired"] += 1
            look = self.ticks[bisect.bisect_left(self.ticks, packet.expires_at)]
            if expired[0] != look:
                self.faults.append(f"{document.id} expired at {expired[0]}, not {look}")


async def _nothing(work: Work) -> None:
    """The job is done."""


def _invited(trail: list[TrailEntry], signer_id: str) -> list[str]:
    """When the person was invited, first and again after a correction of the address."""
    acts = ("signer.invited", "signer.corrected")
    return [row.at for row in trail if row.act in acts and row.detail["signer"] == signer_id]


def _until(document: Document, trail: list[TrailEntry], party_id: str, signer_id: str) -> tuple[str, bool]:
    """When the person had no more to do, and whether that was before the jobs of that moment: an expiry is one."""
    for row in trail:
        if (row.act in OUT and row.actor == signer_id) or row.detail.get("party") == party_id:
            return row.at, False
    return document.declined_at or document.voided_at or document.expired_at or "9", document.expired_at is not None


def _is_day(at: str, zone: str | None) -> bool:
    local: datetime = moment(at).astimezone(ZoneInfo(zone or "UTC"))
    return 8 <= local.hour < 20

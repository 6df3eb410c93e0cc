"""Remind: those whose turn it is get another mail, on demand or by the timer."""

import math
from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from deedbox.kernel import jobs, limits
from deedbox.kernel.clock import instant, moment
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import TooManyRequests
from deedbox.kernel.jobs import Work
from deedbox.signing import parties, sessions, states
from deedbox.signing.actions.expire import is_due
from deedbox.signing.desk import Desk, Office
from deedbox.signing.model import Packet, Reminders, Signer
from deedbox.signing.store import documents

REMIND_JOB = "remind"


def remind(desk: Desk, packet: Packet) -> Packet:
    """As the sender asks: those whose turn it is are reminded, unless that was done within the hour.

    TooManyRequests if nobody is left to remind."""
    for document in packet.documents:
        states.after(document.status, "remind")
    waiting = [*parties.waiting_for(packet)]
    since = instant(desk.now - timedelta(seconds=limits.REMIND_SECONDS))
    due = [signer for signer in waiting if signer.reminded_at is None or signer.reminded_at <= since]
    if waiting and not due:
        first = min(moment(signer.reminded_at) for signer in waiting if signer.reminded_at)
        seconds = math.ceil((first - desk.now).total_seconds()) + limits.REMIND_SECONDS
        raise TooManyRequests(
            f"Everyone whose turn it is was reminded within the last hour. Try again in {seconds} s.",
            headers={"Retry-After": str(seconds)},
        )
    return _reminded(desk, packet, due)


def _reminded(desk: Desk, packet: Packet, due: Sequence[Signer]) -> Packet:
    """The packet, each of these sent a mail with a link of its own."""
    after = packet
    for signer in due:
        after = parties.with_signer(after, signer.id, reminded_at=desk.at)
        token = sessions.new_link(desk.tx, signer.id, "mail", now=desk.now)
        desk.notifier.remind(desk.tx, packet, signer, token, now=desk.now)
        for document in packet.documents:
            desk.record(document, "signer.reminded", {"signer": signer.id, "mailed": desk.notifier.delivers()})
    desk.save(packet, after)
    return after


def plan_first(desk: Desk, packet: Packet) -> None:
    if packet.reminders is not None:
        first = desk.now + timedelta(hours=packet.reminders.first_after_hours)
        _plan(desk, packet, packet.reminders, 1, first)


def remind_again(desk: Desk, packet: Packet, number: int, plan: str) -> None:
    """A reminder by the timer, and the plan for the next; a plan that was changed meanwhile ends."""
    reminders = packet.reminders
    if reminders is None or packet.first.status != "sent" or is_due(packet, desk.now):
        return
    if _json(reminders) != plan:
        return
    # By the plan that the sender made, whenever someone was last reminded by hand.
    _reminded(desk, packet, [*parties.waiting_for(packet)])
    if number < min(reminders.max, limits.REMINDERS_MAX):
        _plan(desk, packet, reminders, number + 1, desk.now + timedelta(hours=reminders.every_hours))


async def run(office: Office, work: Work) -> None:
    """The handler of remind jobs, each of which plans the next."""
    workspace_id, packet_id = work.named("packet_id")
    number, plan = int(work.job.payload["number"]), str(work.job.payload["plan"])

    def again(tx: Tx) -> None:
        packet = documents.packet(tx, workspace_id, packet_id)
        if packet is not None:
            with office.desk(tx, workspace_id) as desk:
                remind_again(desk, packet, number, plan)

    await work.finish(again)


def _plan(desk: Desk, packet: Packet, reminders: Reminders, number: int, at: datetime) -> None:
    plan = _json(reminders)
    jobs.put(
        desk.tx,
        jobs.NewJob(
            REMIND_JOB,
            {"packet_id": packet.id, "number": number, "plan": plan},
            run_at=at,
            unique_key=f"{REMIND_JOB}:{packet.id}:{plan}:{number}",
            workspace_id=packet.workspace_id,
        ),
        now=desk.now,
    )


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()

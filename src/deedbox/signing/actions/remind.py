"""Remind: those whose turn it is get another mail, on demand or by the timer."""

from datetime import datetime, timedelta

import msgspec

from deedbox.kernel import jobs, limits
from deedbox.kernel.db import Tx
from deedbox.kernel.jobs import Work
from deedbox.signing import parties, sessions, states
from deedbox.signing.actions.expire import is_due
from deedbox.signing.desk import Desk, Office
from deedbox.signing.model import Packet, Reminders
from deedbox.signing.store import documents

REMIND_JOB = "remind"


def remind(desk: Desk, packet: Packet) -> Packet:
    """Each of those whose turn it is gets a mail with a link of its own."""
    for document in packet.documents:
        states.after(document.status, "remind")
    for signer in parties.waiting_for(packet):
        token = sessions.new_link(desk.tx, signer.id, "mail", now=desk.now)
        desk.notifier.remind(desk.tx, packet, signer, token, now=desk.now)
        for document in packet.documents:
            desk.record(document, "signer.reminded", {"signer": signer.id})
    return packet


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
    remind(desk, packet)
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
    jobs.enqueue(
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

"""Remind: those whose turn it is get another mail, on demand or by the timer."""

import math
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from deedbox.kernel import jobs, zones
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.clock import instant, moment
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import TooManyRequests
from deedbox.kernel.jobs import Work
from deedbox.signing import limits, parties, sessions, states
from deedbox.signing.action_context import ActionContext, SigningServices
from deedbox.signing.actions.expire import is_due
from deedbox.signing.model import Packet, Reminders, Signer
from deedbox.signing.store import documents

REMIND_JOB = "remind"


def remind(ctx: ActionContext, packet: Packet) -> Packet:
    """As the sender asks: those whose turn it is are reminded, unless that was done within the hour.

    TooManyRequests if nobody is left to remind."""
    for document in packet.documents:
        states.after(document.status, "remind")
    waiting = [*parties.waiting_for(packet)]
    since = instant(ctx.now - timedelta(seconds=limits.REMIND_SECONDS))
    due = [signer for signer in waiting if signer.reminded_at is None or signer.reminded_at <= since]
    if waiting and not due:
        first = min(moment(signer.reminded_at) for signer in waiting if signer.reminded_at)
        again = first + timedelta(seconds=limits.REMIND_SECONDS)
        seconds = math.ceil((again - ctx.now).total_seconds())
        raise TooManyRequests(
            f"Everyone whose turn it is was reminded within the last hour. Try again in {seconds} s.",
            headers={"Retry-After": str(seconds), "X-RateLimit-Reset": str(math.ceil(again.timestamp()))},
        )
    return _reminded(ctx, packet, due)


def _reminded(ctx: ActionContext, packet: Packet, due: Sequence[Signer], *, by_timer: bool = False) -> Packet:
    """The packet, each of these sent a mail with a link of its own."""
    after = packet
    for signer in due:
        counted = {"reminders": signer.reminders + 1, "timer_reminded_at": ctx.at} if by_timer else {}
        after = parties.with_signer(after, signer.id, reminded_at=ctx.at, **counted)
        token = sessions.link_by_mail(ctx.tx, signer.id, ctx.notifier, now=ctx.now)
        ctx.notifier.remind(ctx.tx, packet, signer, token, now=ctx.now)
        for document in packet.documents:
            ctx.record(document, "signer.reminded", {"signer": signer.id, "mailed": ctx.notifier.delivers()})
    ctx.save(packet, after)
    return after


def remind_due(ctx: ActionContext, packet: Packet) -> None:
    """Reminds by the plan whomever it is time to remind, and plans the next look.

    What is due is told by the records alone: a look too many, or too late, changes nothing."""
    if packet.reminders is None or packet.first.status != "sent" or is_due(packet, ctx.now):
        return
    # By the plan that the sender made, whenever someone was last reminded by hand.
    due = [signer for signer, at in _planned(packet, packet.reminders, ctx.now) if at <= ctx.now]
    plan(ctx, _reminded(ctx, packet, due, by_timer=True))


def plan(ctx: ActionContext, packet: Packet) -> None:
    """The timer that looks when the next reminder is due; none where nobody is to be reminded any more."""
    if packet.reminders is None:
        return
    first = min((at for _, at in _planned(packet, packet.reminders, ctx.now)), default=None)
    if first is None or (packet.expires_at is not None and instant(first) >= packet.expires_at):
        return
    jobs.put(
        ctx.tx,
        jobs.NewJob(
            REMIND_JOB,
            {"packet_id": packet.id},
            run_at=first,
            unique_key=f"{REMIND_JOB}:{packet.id}:{instant(first)}",
            workspace_id=packet.workspace_id,
        ),
        now=ctx.now,
    )


async def run(services: SigningServices, work: Work) -> None:
    """The handler of remind jobs, each of which plans the next."""
    workspace_id, packet_id = work.named("packet_id")

    def look(tx: Tx) -> None:
        documents.hold(tx, workspace_id, packet_id)
        packet = documents.packet(tx, workspace_id, packet_id)
        if packet is not None:
            with services.action(tx, workspace_id) as ctx:
                remind_due(ctx, packet)

    await work.finish(look)


def _planned(packet: Packet, reminders: Reminders, now: datetime) -> Iterator[tuple[Signer, datetime]]:
    """Those whose turn it is, each with the time of their next reminder, which is never before now."""
    for signer in parties.waiting_for(packet):
        if signer.notified_at is None or signer.reminders >= reminders.max:
            continue
        hours = reminders.every_hours if signer.reminders else reminders.first_after_hours
        since = max(signer.notified_at, signer.timer_reminded_at or "")
        at = max(moment(since) + timedelta(hours=hours), now)
        yield signer, at if reminders.at_night else by_day(at, signer.time_zone)


def by_day(at: datetime, zone: str | None) -> datetime:
    """The time, or the next morning if it is night there; UTC where the zone is not known."""
    local = at.astimezone(zones.zone(zone) if zone else UTC)
    if shared_limits.REMIND_FROM_HOUR <= local.hour < shared_limits.REMIND_UNTIL_HOUR:
        return at
    morning = local.replace(hour=shared_limits.REMIND_FROM_HOUR, minute=0, second=0, microsecond=0, fold=0)
    if local.hour >= shared_limits.REMIND_UNTIL_HOUR:
        morning += timedelta(days=1)
    return morning.astimezone(UTC)

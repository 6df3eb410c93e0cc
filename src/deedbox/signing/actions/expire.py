"""Expire: a packet whose time is over before everyone has signed."""

from datetime import datetime

import msgspec

from deedbox.kernel import jobs
from deedbox.kernel.clock import instant, moment
from deedbox.kernel.db import Tx
from deedbox.kernel.jobs import Work
from deedbox.signing import states
from deedbox.signing.action_context import SERVER, ActionContext, SigningServices
from deedbox.signing.actions.end import end
from deedbox.signing.model import Packet
from deedbox.signing.store import documents

EXPIRE_JOB = "expire"


def expire(ctx: ActionContext, packet: Packet) -> Packet:
    """The packet, expired if its time is over and it was still waiting for someone."""
    if not is_due(packet, ctx.now):
        return packet
    over = [states.move(document, "expire", ctx.at) for document in packet.documents]
    for document in over:
        ctx.record(document, "document.expired", {}, actor=SERVER)
    return end(ctx, packet, msgspec.structs.replace(packet, documents=over), "document.expired")


def is_due(packet: Packet, now: datetime) -> bool:
    """Whether the packet should have expired by now."""
    return packet.first.status == "sent" and packet.expires_at is not None and packet.expires_at <= instant(now)


def plan(ctx: ActionContext, packet: Packet) -> None:
    """The timer that ends the packet, if it has an end."""
    if packet.expires_at is not None:
        jobs.put(
            ctx.tx,
            jobs.NewJob(
                EXPIRE_JOB,
                {"packet_id": packet.id},
                run_at=moment(packet.expires_at),
                unique_key=f"{EXPIRE_JOB}:{packet.id}:{packet.expires_at}",
                workspace_id=packet.workspace_id,
            ),
            now=ctx.now,
        )


async def current(services: SigningServices, packet: Packet) -> Packet:
    """The packet as it is now: one past its time expires at the first look."""
    if not is_due(packet, services.clock.now()):
        return packet
    workspace_id, packet_id = packet.workspace_id, packet.id

    def look_again(tx: Tx) -> Packet:
        documents.hold(tx, workspace_id, packet_id)
        found = documents.packet(tx, workspace_id, packet_id)
        with services.action(tx, workspace_id) as ctx:
            return expire(ctx, found) if found is not None else packet

    return await services.db.write(look_again)


async def run(services: SigningServices, work: Work) -> None:
    """The handler of expire jobs; one whose time was moved does nothing."""
    workspace_id, packet_id = work.named("packet_id")

    def look(tx: Tx) -> None:
        documents.hold(tx, workspace_id, packet_id)
        packet = documents.packet(tx, workspace_id, packet_id)
        if packet is not None:
            with services.action(tx, workspace_id) as ctx:
                expire(ctx, packet)

    await work.finish(look)

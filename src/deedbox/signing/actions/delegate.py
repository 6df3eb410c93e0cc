"""Delegate: a signer passes the packet on to someone else, where the sender has allowed it."""

from typing import Annotated

import msgspec
from msgspec import Meta

from deedbox.i18n.refusals import refusal
from deedbox.kernel import limits
from deedbox.kernel.errors import Conflict
from deedbox.kernel.ids import new_id
from deedbox.kernel.mailbox import checked_address
from deedbox.pdf.marks.glyphs import need_printable
from deedbox.signing import attachments, parties, states
from deedbox.signing.action_context import ActionContext
from deedbox.signing.actions import send
from deedbox.signing.actions.correct import check_values
from deedbox.signing.actions.create import need_told_apart
from deedbox.signing.actions.turn import Circumstances, at_turn
from deedbox.signing.field_size import too_small_after
from deedbox.signing.model import Document, Packet, Signer
from deedbox.signing.new_document import Email, Name
from deedbox.signing.store import people


class Delegation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: Name
    """The name of whoever signs instead."""
    email: Email
    """Where the invitation goes."""
    reason: Annotated[str, Meta(max_length=limits.REASON_CHARS, extra_json_schema=limits.NO_NUL)] | None = None
    """Why, as the sender is told."""


def delegate(ctx: ActionContext, packet: Packet, signer_id: str, to: Delegation, seen: Circumstances) -> Packet:
    """The packet with the other one in the signer's place: their fields, their role, and the same check of identity.

    The other one cannot pass it on again."""
    party, signer = at_turn(packet, signer_id, ctx.now)
    if not signer.delegation:
        raise refusal(Conflict, "no_delegation")
    other = _stand_in(ctx, signer, to)
    need_told_apart([*((one.email, one.name) for _, one in packet.signers()), (other.email, other.name)])
    if small := too_small_after(packet, party, signer, other):
        raise small.for_signer()
    check_values(packet, party, signer, other)
    people.add_delegate(ctx.tx, packet, signer_id, other)
    people.drop_values(ctx.tx, signer_id, [])
    before = _with_stand_in(packet, signer_id, other)
    moved = [states.move(document, "delegate", ctx.at) for document in before.documents]
    after = parties.with_signer(
        msgspec.structs.replace(before, documents=moved),
        signer_id,
        status="canceled",
        delegated_to=other.id,
        identity=seen.identity,
    )
    after = parties.with_signer(after, other.id, status="notified", notified_at=ctx.at)
    ctx.save(before, after)
    attachments.settle(ctx, before, after)
    ctx.notifier.recall(ctx.tx, packet, signer)
    for document in after.documents:
        detail = {"signer": other.id, "name": other.name, "email": other.email, "reason": to.reason, **seen.told()}
        ctx.record(document, "signer.delegated", detail, actor=signer_id)
    send.invite(ctx, before, after)
    ctx.notifier.delegated(ctx.tx, after, signer, other, to.reason, now=ctx.now)
    return after


def _stand_in(ctx: ActionContext, signer: Signer, to: Delegation) -> Signer:
    need_printable("The name", to.name)
    return Signer(
        id=new_id("sgn", ctx.now),
        party_id=signer.party_id,
        name=to.name,
        email=checked_address(to.email).lower(),
        language=signer.language,
        auth=signer.auth,
        time_zone=signer.time_zone,
        role=signer.role,
    )


def _with_stand_in(packet: Packet, signer_id: str, other: Signer) -> Packet:
    """The packet with the other one behind the signer, whose fields they have now."""
    party, signer = parties.find_signer(packet, signer_id)
    place = party.signers.index(signer) + 1
    signers = [*party.signers[:place], other, *party.signers[place:]]
    seated = parties.with_party(packet, party.id, signers=signers)
    return msgspec.structs.replace(seated, documents=[_handed_on(one, signer_id, other.id) for one in seated.documents])


def _handed_on(document: Document, signer_id: str, to: str) -> Document:
    fields = [
        msgspec.structs.replace(field, signer_id=to) if field.signer_id == signer_id else field
        for field in document.fields
    ]
    return msgspec.structs.replace(document, fields=fields)

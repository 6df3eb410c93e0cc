"""Correct: what was wrong of someone who has not acted: their name, address, language, zone, or the code asked for."""

from typing import Any

import msgspec

from deedbox.i18n.refusals import wrong_values
from deedbox.kernel import constraints
from deedbox.kernel.errors import Conflict
from deedbox.kernel.mailbox import checked_address
from deedbox.pdf.marks.glyphs import need_printable
from deedbox.signing import attachments, parties, sessions, states
from deedbox.signing.action_context import ActionContext
from deedbox.signing.actions import convert, draft_people, draw, remind, send
from deedbox.signing.actions.create import need_long_code, need_told_apart
from deedbox.signing.field_size import too_small_after
from deedbox.signing.field_value import fault
from deedbox.signing.model import Packet, Party, Signer
from deedbox.signing.new_document import KnownSigner, SignerChange
from deedbox.signing.store import documents, people

_TOLD = ("email", "name", "language", "time_zone", "auth", "delegation")
"""What the trail tells of a correction; of an access code, only that there is another."""
_OF_THEIR_OWN = {"viewed_at": None, "reminded_at": None, "reminders": 0, "timer_reminded_at": None}
"""What someone at another address has not done, and was not sent."""


def correct(
    ctx: ActionContext, packet: Packet, signer_id: str, change: SignerChange, code_hash: str | None = None
) -> Packet:
    """The packet with the signer as they should have been; `code_hash` is that of the change's access code.

    With another address or another check of identity, what was sent before opens nothing, and they are invited anew.
    Whoever has the other address begins anew: nothing that was seen or filled in before is theirs."""
    for document in packet.documents:
        states.after(document.status, "amend")
    party, signer = parties.find_signer(packet, signer_id)
    if signer.status not in ("waiting", "notified", "viewed"):
        raise Conflict(f"{signer.name} {_standing(signer)}, so nothing can be corrected")
    right = _corrected(ctx, party, signer, change, code_hash)
    if right == signer:
        return packet
    if small := too_small_after(packet, party, signer, right):
        raise small.for_sender()
    check_values(packet, party, signer, right)
    after = parties.with_signer(packet, signer_id, **msgspec.structs.asdict(right))
    need_told_apart([(one.email, one.name) for _, one in after.signers()])
    ctx.save(packet, after)
    for document in after.documents:
        if document.status == "draft":  # whose fields are laid out again, and may name the address
            asked = draft_people.follow_people(convert.asked_fields(ctx.tx, document), packet.parties, after.parties)
            documents.ask_fields(ctx.tx, document.id, asked)
            draw.correct_sketch(ctx.tx, document, signer, right, ctx.now)
    if right.email != signer.email:
        people.drop_values(ctx.tx, signer_id, [])
        attachments.drop_uploads(ctx, packet, signer_id)
    others = _identity(right) != _identity(signer)
    mailed = others and signer.status != "waiting" and ctx.notifier.delivers()
    for document in after.documents:
        ctx.record(document, "signer.corrected", {"signer": signer_id, **_told(signer, right), "mailed": mailed})
    if others:
        ctx.notifier.recall(ctx.tx, packet, signer)
        sessions.forget(ctx.tx, signer_id, now=ctx.now)
        if signer.status != "waiting":
            token = sessions.link_by_mail(ctx.tx, signer_id, ctx.notifier, now=ctx.now)
            ctx.notifier.invite(ctx.tx, after, right, token, now=ctx.now)
    if packet.first.status == "sent":
        remind.plan(ctx, after)
    return after


def check_values(packet: Packet, party: Party, signer: Signer, right: Signer) -> None:
    """Raise BadRequest if the new name or address cannot stand in the signer's name and email fields."""
    for document in packet.documents:
        for field in parties.own_fields(document, party, signer):
            text = {"email": right.email, "name": right.name}.get(field.type)
            if text and (wrong := fault(document, field, text, packet.language)):
                raise wrong_values([wrong])


def _corrected(ctx: ActionContext, party: Party, signer: Signer, change: SignerChange, code_hash: str | None) -> Signer:
    """The signer as they should have been; BadRequest for what nobody could sign with."""
    change.check()
    given: dict[str, Any] = change.given
    code = given.pop("access_code", None)
    if "email" in given:
        given["email"] = checked_address(given["email"]).lower()
    if "name" in given:
        need_printable(f"The name of {signer.email}", given["name"])
    right = msgspec.structs.replace(signer, **given)
    _check(right, code, known=signer.access_code_hash is not None)
    kept = signer.access_code_hash if right.auth == "access_code" else None
    right = msgspec.structs.replace(right, access_code_hash=code_hash or kept)
    if right.auth != signer.auth:
        send.need_mail_for_codes([msgspec.structs.replace(party, signers=[right])], ctx.notifier)
    if signer.status == "waiting" or _identity(right) == _identity(signer):
        return right
    anew: dict[str, Any] = {**_OF_THEIR_OWN, "status": "notified"} if right.email != signer.email else {}
    return msgspec.structs.replace(right, notified_at=ctx.at, **anew)


def _check(right: Signer, code: str | None, *, known: bool) -> None:
    """Raise BadRequest for someone who could not be asked for; whether they have a code already is `known`."""
    given = KnownSigner(
        right.name, right.email, None, right.auth, code, delegation=right.delegation, id=right.id if known else None
    )
    constraints.check(given, right.email)
    need_long_code(right.email, code)


def _identity(signer: Signer) -> tuple[object, ...]:
    """What an invitation and a session rest on."""
    return signer.email, signer.auth, signer.access_code_hash


def _told(signer: Signer, right: Signer) -> dict[str, object]:
    told: dict[str, object] = {
        name: getattr(right, name) for name in _TOLD if getattr(right, name) != getattr(signer, name)
    }
    told["was"] = {"name": signer.name, "email": signer.email}
    return told | ({"access_code": "another"} if right.access_code_hash != signer.access_code_hash else {})


def _standing(signer: Signer) -> str:
    if signer.delegated_to is not None:
        return "has passed it on"
    return "is no longer needed" if signer.status == "canceled" else f"has already {signer.status}"

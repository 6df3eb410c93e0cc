"""Change: a draft in everything, a sent document in what may still change."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from deedbox.kernel.crypto import Secret
from deedbox.kernel.errors import BadRequest, Conflict
from deedbox.signing import sessions, states
from deedbox.signing.action_context import ActionContext, SigningServices, document_in, only_together
from deedbox.signing.actions import convert, draft_people, expire, remind, send
from deedbox.signing.actions.convert import DocumentPreparation
from deedbox.signing.actions.correct import correct
from deedbox.signing.actions.create import check_parties, made_parties
from deedbox.signing.actions.create_from_template import paper_of
from deedbox.signing.model import Document, Packet, Party
from deedbox.signing.new_document import DocumentChange, KnownField, SignerChange, end_of, number_files
from deedbox.signing.prefill import left_for_tags
from deedbox.signing.preparation import OriginalFile, Plan, PreparedDocument, StoredPreparation
from deedbox.signing.sessions import HashedCodes
from deedbox.signing.store import documents, sketches

_DRAFTS_ONLY = ("message", "title", "expires_after_hours")


class PreparedFor(NamedTuple):
    """What a paper was made for."""

    parties: list[Party]
    document: Document
    codes: HashedCodes
    """Of the parties that are to be."""


@asynccontextmanager
async def prepare(
    services: SigningServices,
    preparation: DocumentPreparation,
    workspace_id: str,
    document_id: str,
    change: DocumentChange,
    *,
    drawn: bool = False,
) -> AsyncIterator[Callable[[ActionContext], Packet]]:
    """What makes the change in a transaction: other parties or fields of a draft need another paper first.

    One that was `drawn` says all: it names fields that files bring along, as far as they stay, and gives new ids."""
    refuse_at_once(services, change)
    packet = await expire.current(services, await services.packet_of(workspace_id, document_id))
    change = draft_people.with_corrections(change, packet)
    if not change.needs_paper:
        yield lambda ctx: _changed(ctx, document_id, change, lambda amended: amended)
        return
    document = document_in(packet, document_id)
    states.after(document.status, "edit")
    if not packet.lone and change.parties is not UNSET:
        raise only_together(packet)
    if not drawn:
        draft_people.need_known(packet, document, change)
    found = await services.db.read(lambda tx: convert.find_unprepared(tx, packet, document))
    asked = _asked(found.asked, packet, document, change)
    wanted: Sequence[Any] = convert.signing_on(packet, document) if change.parties is UNSET else change.parties
    codes = await sessions.hashed_codes([] if change.parties is UNSET else change.parties)
    seen = PreparedFor(packet.parties, document, codes)
    ready = await services.db.read(lambda tx: paper_of(tx, document))
    if ready is not None:
        yield lambda ctx: _changed(ctx, document_id, change, lambda draft: edit(ctx, draft, seen, change, ready))
        return
    originals = originals_of(found, change)
    making = (
        preparation.planned(originals, lambda _: Plan(wanted, asked))
        if drawn
        else preparation.paper(originals, wanted, asked)
    )
    async with making as paper:
        yield lambda ctx: _changed(ctx, document_id, change, lambda draft: edit(ctx, draft, seen, change, paper))


def refuse_at_once(services: SigningServices, change: DocumentChange) -> None:
    """Raises BadRequest for a change that could be made of no document."""
    change.check(services.clock.now())
    change = draft_people.as_lone_parties(change)
    if change.parties is not UNSET:
        check_parties(change.parties)
        send.need_mail_for_codes(change.parties, services.notifier)


def amend(ctx: ActionContext, packet: Packet, document_id: str, change: DocumentChange) -> Packet:
    """The packet with another title, message, end, reminders or metadata; what is not given stays."""
    document = document_in(packet, document_id)
    states.after(document.status, "amend")
    fixed = [name for name in _DRAFTS_ONLY if getattr(change, name) is not UNSET]
    if document.status != "draft" and fixed:
        raise BadRequest(f"After sending, the {fixed[0]} cannot be changed")
    own = {name: value for name in ("title", "metadata") if (value := getattr(change, name)) is not UNSET}
    shared: dict[str, Any] = {
        name: value for name in ("message", "reminders") if (value := getattr(change, name)) is not UNSET
    }
    if change.expires_at is not UNSET:
        shared |= {"expires_at": end_of(change.expires_at, ctx.now), "expires_after_hours": None}
    if change.expires_after_hours is not UNSET:
        shared |= {"expires_after_hours": change.expires_after_hours}
        shared |= {"expires_at": None} if change.expires_after_hours else {}
    if not own and not shared:
        return packet
    if shared and not packet.lone:
        raise only_together(packet)
    after = msgspec.structs.replace(packet, **shared)
    after = after.with_document(states.move(document, "amend", ctx.at, **own))
    ctx.save(packet, after)
    ctx.record(document, "document.amended", {"changed": sorted({**own, **shared})})
    if document.status == "sent" and shared:
        plan_timers(ctx, after)
    return after


def plan_timers(ctx: ActionContext, packet: Packet) -> None:
    """The timers of a packet whose end or reminders are others now; those before do nothing."""
    expire.plan(ctx, packet)
    remind.plan(ctx, packet)


def edit(
    ctx: ActionContext,
    draft: Packet,
    seen: PreparedFor,
    change: DocumentChange,
    paper: PreparedDocument | StoredPreparation,
) -> Packet:
    """The draft with other parties or fields, laid out on a paper that was made for what was seen."""
    document = document_in(draft, seen.document.id)
    states.after(document.status, "edit")
    if (draft.parties, document.fields) != (seen.parties, seen.document.fields):
        raise Conflict("The draft was changed at this very moment. Look at it and try again.")
    after, asked = draft, _asked(convert.asked_fields(ctx.tx, document), draft, document, change)
    documents.ask_fields(ctx.tx, document.id, asked)
    sketches.drop(ctx.tx, draft.first.id)  # of what the draft was before
    values = documents.asked_values(ctx.tx, document.id)
    if change.fields is not UNSET and values:
        values = left_for_tags(values, paper.tags, asked)
        documents.ask_values(ctx.tx, document.id, values)
    if change.parties is not UNSET:
        made = made_parties(change.parties, draft.language, ctx.now, seen.codes)
        after = msgspec.structs.replace(after, parties=draft_people.merge_parties(draft, made))
    if change.signed_input is not UNSET:
        document = msgspec.structs.replace(document, signed_input=change.signed_input)
    laid = convert.lay_out(ctx, after, document, paper, asked, values)
    ctx.save(draft, laid)
    changed = [name for name in ("fields", "parties", "signed_input") if getattr(change, name) is not UNSET]
    ctx.record(document, "document.edited", {"changed": changed})
    return laid


def _changed(
    ctx: ActionContext, document_id: str, change: DocumentChange, edited: Callable[[Packet], Packet]
) -> Packet:
    """Amended, edited, and then corrected: an edit compares people with those that were seen."""
    packet = edited(amend(ctx, ctx.packet_of(document_id), document_id, change))
    if change.signers and not packet.lone:
        raise only_together(packet)
    for one in change.signers:
        packet = correct(ctx, packet, one.id or "", SignerChange(email=one.email))
    return packet


def originals_of(found: convert.UnpreparedDocument, change: DocumentChange) -> list[OriginalFile]:
    """The files as they are to be taken in now; BadRequest for the password of a file that there is not."""
    passwords = {one.id: Secret(one.password) for one in change.files}
    if unknown := passwords.keys() - {file.id for file in found.document.files}:
        raise BadRequest(f"The document has no file {min(unknown)}")
    signed_input = found.document.signed_input if change.signed_input is UNSET else change.signed_input
    return [
        original._replace(password=passwords.get(file.id), signed_input=signed_input, pages=file.pages)
        for original, file in zip(found.originals, found.document.files, strict=True)
    ]


def _asked(
    before: Sequence[KnownField], packet: Packet, document: Document, change: DocumentChange
) -> Sequence[KnownField]:
    """The fields that are asked for now."""
    if change.fields is not UNSET:
        return number_files(change.fields, [file.id for file in document.files])
    return before if change.parties is UNSET else draft_people.follow_people(before, packet.parties, change.parties)

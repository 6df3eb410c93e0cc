"""Change a packet: a draft in everything that its documents share, a sent one in what may still change."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET
from msgspec.structs import asdict

from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest, Conflict
from deedbox.kernel.ids import new_id
from deedbox.signing import sessions, states
from deedbox.signing.action_context import ActionContext, SigningServices, document_in
from deedbox.signing.actions import convert, draft_people, expire, send
from deedbox.signing.actions.change import originals_of, plan_timers
from deedbox.signing.actions.convert import DocumentPreparation
from deedbox.signing.actions.correct import correct
from deedbox.signing.actions.create import check_parties, made_parties
from deedbox.signing.actions.create_from_template import paper_of
from deedbox.signing.model import Document, Packet
from deedbox.signing.new_document import (
    DocumentChange,
    KnownField,
    KnownParty,
    ListedSigner,
    SignerChange,
    end_of,
    without_signature_field,
)
from deedbox.signing.new_packet import PacketChange
from deedbox.signing.preparation import OriginalFile, Plan, PreparedDocument, StoredPreparation
from deedbox.signing.preparation.intake import RefusedFiles
from deedbox.signing.sessions import HashedCodes
from deedbox.signing.store import documents, sketches

_DRAFTS_ONLY = ("message", "title", "expires_after_hours")
_PLAIN = ("title", "message", "reminders", "metadata")


class Relaid(NamedTuple):
    """A document of the draft, with the paper that was made for other parties."""

    document_id: str
    asked: Sequence[KnownField]
    values: dict[str, str]
    paper: PreparedDocument | StoredPreparation
    asks_all: bool
    """Whether everyone signs on it, because nobody has said who does."""


class DraftFields(NamedTuple):
    """The fields that were drawn, by document."""

    fields: Mapping[str, Sequence[KnownField]]
    unplaced: Sequence[KnownParty]
    """The signers who have no place to sign in any document: they get one at the end of each."""

    @staticmethod
    def of(parties: Sequence[KnownParty], fields: Mapping[str, Sequence[KnownField]]) -> "DraftFields":
        return DraftFields(
            fields, without_signature_field(parties, [field for own in fields.values() for field in own])
        )


class UnpreparedDraft(NamedTuple):
    """A document of the draft whose paper is to be made."""

    found: convert.UnpreparedDocument
    originals: list[OriginalFile]
    ready: StoredPreparation | None
    """That of its template, if it has one: there is nothing to be made."""


class OtherParties(NamedTuple):
    """The parties that a draft is to have, what was seen when papers were made for them, and these papers."""

    parties: Sequence[KnownParty]
    codes: HashedCodes
    seen: Packet
    papers: Sequence[Relaid]
    changed: Sequence[str]
    """What is another, as the trail tells it."""


@asynccontextmanager
async def prepare(
    services: SigningServices,
    preparation: DocumentPreparation,
    workspace_id: str,
    packet_id: str,
    change: PacketChange,
    drawn: Mapping[str, Sequence[KnownField]] | None = None,
) -> AsyncIterator[Callable[[ActionContext], Packet]]:
    """What makes the change in a transaction: other parties of a draft need other papers first.

    Fields that were `drawn`, by document, take the place of all there were; then people may have new ids too."""
    refuse_at_once(services, change)
    packet = await expire.current(services, await services.packet(workspace_id, packet_id))
    asked = draft_people.with_corrections(DocumentChange(parties=change.parties, signers=change.signers), packet)
    if asked.parties is UNSET:
        yield lambda ctx: _corrected(ctx, amend(ctx, ctx.packet(packet_id), change), asked.signers)
        return
    for document in packet.documents:
        states.after(document.status, "edit")
    if drawn is None:
        draft_people.need_known(packet, packet.first, asked)
    parties, now = asked.parties, services.clock.now()
    codes = await sessions.hashed_codes(parties)
    async with AsyncExitStack() as held:

        async def make(one: UnpreparedDraft) -> Relaid:
            if drawn is None:
                return await _relaid(preparation, one, parties, held)
            return await _drawn(preparation, one, DraftFields.of(parties, drawn), now, held)

        papers = await _papers(await _unmade(services, packet, change), make)
        others = OtherParties(parties, codes, packet, papers, ["parties"] if drawn is None else ["fields", "parties"])
        yield lambda ctx: edit(ctx, amend(ctx, ctx.packet(packet_id), change), others)


def refuse_at_once(services: SigningServices, change: PacketChange) -> None:
    """Raises BadRequest for a change that could be made of no packet."""
    change.check(services.clock.now())
    asked = draft_people.as_lone_parties(DocumentChange(parties=change.parties, signers=change.signers))
    if asked.parties is not UNSET:
        check_parties(asked.parties)
        send.need_mail_for_codes(asked.parties, services.notifier)


def amend(ctx: ActionContext, packet: Packet, change: PacketChange) -> Packet:
    """The packet with another title, message, end, reminders or metadata; what is not given stays."""
    for document in packet.documents:
        states.after(document.status, "amend")
    fixed = [name for name in _DRAFTS_ONLY if getattr(change, name) is not UNSET]
    if packet.status != "draft" and fixed:
        raise BadRequest(f"After sending, the {fixed[0]} cannot be changed")
    given: dict[str, Any] = {name: value for name in _PLAIN if (value := getattr(change, name)) is not UNSET}
    if change.expires_at is not UNSET:
        given |= {"expires_at": end_of(change.expires_at, ctx.now), "expires_after_hours": None}
    if change.expires_after_hours is not UNSET:
        given |= {"expires_after_hours": change.expires_after_hours}
        given |= {"expires_at": None} if change.expires_after_hours else {}
    if not given:
        return packet
    touched = [states.move(document, "amend", ctx.at) for document in packet.documents]
    after = msgspec.structs.replace(packet, documents=touched, **given)
    ctx.save(packet, after)
    for document in touched:
        ctx.record(document, "document.amended", {"changed": sorted(given)})
    if after.status == "sent" and not {"expires_at", "reminders"}.isdisjoint(given):
        plan_timers(ctx, after)
    return after


def edit(ctx: ActionContext, draft: Packet, others: OtherParties) -> Packet:
    """The draft with other parties, its documents laid out on papers that were made for what was seen."""
    for document in draft.documents:
        states.after(document.status, "edit")
    if _laid_for(draft) != _laid_for(others.seen):
        raise Conflict("The draft was changed at this very moment. Look at it and try again.")
    made = made_parties(others.parties, draft.language, ctx.now, others.codes)
    after = msgspec.structs.replace(draft, parties=draft_people.merge_parties(draft, made))
    sketches.drop(ctx.tx, draft.first.id)  # of what the draft was before
    for document_id, asked, values, paper, asks_all in others.papers:
        documents.ask_fields(ctx.tx, document_id, asked)
        documents.ask_values(ctx.tx, document_id, values)
        document = msgspec.structs.replace(document_in(after, document_id), asks_all=asks_all)
        after = convert.lay_out(ctx, after, document, paper, asked, values)
    ctx.save(draft, after)
    for document in after.documents:
        ctx.record(document, "document.edited", {"changed": [*others.changed]})
    return after


def _laid_for(packet: Packet) -> tuple[object, ...]:
    """What papers are made for."""
    return packet.parties, [document.fields for document in packet.documents]


def _corrected(ctx: ActionContext, packet: Packet, corrections: Sequence[ListedSigner]) -> Packet:
    for one in corrections:
        packet = correct(ctx, packet, one.id or "", SignerChange(email=one.email))
    return packet


async def _unmade(services: SigningServices, packet: Packet, change: PacketChange) -> list[UnpreparedDraft]:
    """The documents whose papers are to be made."""
    known = {file.id for _, file in packet.files()}
    if unknown := {one.id for one in change.files} - known:
        raise BadRequest(f"No document of the packet has a file {min(unknown)}")

    def look(tx: Tx) -> list[UnpreparedDraft]:
        return [_one_unmade(tx, packet, document, change) for document in packet.documents]

    return await services.db.read(look)


def _one_unmade(tx: Tx, packet: Packet, document: Document, change: PacketChange) -> UnpreparedDraft:
    found, own = convert.find_unprepared(tx, packet, document), {file.id for file in document.files}
    passwords = DocumentChange(files=[one for one in change.files if one.id in own])
    return UnpreparedDraft(found, originals_of(found, passwords), paper_of(tx, document))


async def _papers(
    unmade: Sequence[UnpreparedDraft], make: Callable[[UnpreparedDraft], Awaitable[Relaid]]
) -> list[Relaid]:
    """What is made of each document; RefusedFiles numbers those that are refused among the files of all."""
    papers, names, reasons = list[Relaid](), list[str](), dict[int, str]()
    for one in unmade:
        try:
            papers.append(await make(one))
        except RefusedFiles as error:
            reasons |= {len(names) + number: why for number, why in error.reasons.items()}
        names += [file.name for file in one.found.document.files]
    if reasons:
        raise RefusedFiles(names, reasons)
    return papers


async def _relaid(
    preparation: DocumentPreparation, one: UnpreparedDraft, parties: Sequence[KnownParty], held: AsyncExitStack
) -> Relaid:
    """The document on a paper for the parties that are to be."""
    found, document = one.found, one.found.document
    asked = draft_people.follow_people(found.asked, found.packet.parties, parties)
    paper: PreparedDocument | StoredPreparation | None = one.ready
    if paper is None:
        making = preparation.paper(one.originals, parties if document.asks_all else [], asked)
        paper = await held.enter_async_context(making)
    return Relaid(document.id, asked, found.values, paper, document.asks_all)


async def _drawn(
    preparation: DocumentPreparation, one: UnpreparedDraft, drawn: DraftFields, now: datetime, held: AsyncExitStack
) -> Relaid:
    """The document on a paper with the fields that were drawn, and a place for each signer who has none anywhere."""
    document = one.found.document
    fields = drawn.fields[document.id]
    if one.ready is not None:
        return Relaid(document.id, fields, {}, one.ready, asks_all=False)
    plan = Plan(drawn.unplaced, fields)
    paper = await held.enter_async_context(preparation.planned(one.originals, lambda _: plan))
    signers, last = [one for party in drawn.unplaced for one in party.signers], len(document.files) - 1
    added = [
        KnownField("signature", **asdict(place), file=last, signer=signer.id, id=new_id("fld", now))
        for signer, place in zip(signers, paper.places, strict=True)
    ]
    return Relaid(document.id, [*fields, *added], {}, paper, asks_all=False)

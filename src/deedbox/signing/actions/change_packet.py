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
from deedbox.signing.action_context import Desk, Office, document_in
from deedbox.signing.actions import convert, draft_people, expire, send
from deedbox.signing.actions.change import originals_of, plan_timers
from deedbox.signing.actions.convert import PaperMill
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
    unplaced,
)
from deedbox.signing.new_packet import PacketChange
from deedbox.signing.preparation import Original, Paper, Plan, StoredPaper
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
    paper: Paper | StoredPaper
    asks_all: bool
    """Whether everyone signs on it, because nobody has said who does."""


class Drawn(NamedTuple):
    """The fields that were drawn, by document."""

    fields: Mapping[str, Sequence[KnownField]]
    unplaced: Sequence[KnownParty]
    """The signers who have no place to sign in any document: they get one at the end of each."""

    @staticmethod
    def of(parties: Sequence[KnownParty], fields: Mapping[str, Sequence[KnownField]]) -> "Drawn":
        return Drawn(fields, unplaced(parties, [field for own in fields.values() for field in own]))


class Unmade(NamedTuple):
    """A document of the draft whose paper is to be made."""

    found: convert.Unmade
    originals: list[Original]
    ready: StoredPaper | None
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
async def prepared(
    office: Office,
    mill: PaperMill,
    workspace_id: str,
    packet_id: str,
    change: PacketChange,
    drawn: Mapping[str, Sequence[KnownField]] | None = None,
) -> AsyncIterator[Callable[[Desk], Packet]]:
    """What makes the change at a desk: other parties of a draft need other papers first.

    Fields that were `drawn`, by document, take the place of all there were; then people may have new ids too."""
    refuse_at_once(office, change)
    packet = await expire.current(office, await office.packet(workspace_id, packet_id))
    asked = draft_people.with_corrections(DocumentChange(parties=change.parties, signers=change.signers), packet)
    if asked.parties is UNSET:
        yield lambda desk: _corrected(desk, amend(desk, desk.packet(packet_id), change), asked.signers)
        return
    for document in packet.documents:
        states.after(document.status, "edit")
    if drawn is None:
        draft_people.need_known(packet, packet.first, asked)
    parties, now = asked.parties, office.clock.now()
    codes = await sessions.hashed_codes(parties)
    async with AsyncExitStack() as held:

        async def make(one: Unmade) -> Relaid:
            if drawn is None:
                return await _relaid(mill, one, parties, held)
            return await _drawn(mill, one, Drawn.of(parties, drawn), now, held)

        papers = await _papers(await _unmade(office, packet, change), make)
        others = OtherParties(parties, codes, packet, papers, ["parties"] if drawn is None else ["fields", "parties"])
        yield lambda desk: edit(desk, amend(desk, desk.packet(packet_id), change), others)


def refuse_at_once(office: Office, change: PacketChange) -> None:
    """Raises BadRequest for a change that could be made of no packet."""
    change.check(office.clock.now())
    asked = draft_people.as_lone_parties(DocumentChange(parties=change.parties, signers=change.signers))
    if asked.parties is not UNSET:
        check_parties(asked.parties)
        send.need_mail_for_codes(asked.parties, office.notifier)


def amend(desk: Desk, packet: Packet, change: PacketChange) -> Packet:
    """The packet with another title, message, end, reminders or metadata; what is not given stays."""
    for document in packet.documents:
        states.after(document.status, "amend")
    fixed = [name for name in _DRAFTS_ONLY if getattr(change, name) is not UNSET]
    if packet.status != "draft" and fixed:
        raise BadRequest(f"After sending, the {fixed[0]} cannot be changed")
    given: dict[str, Any] = {name: value for name in _PLAIN if (value := getattr(change, name)) is not UNSET}
    if change.expires_at is not UNSET:
        given |= {"expires_at": end_of(change.expires_at, desk.now), "expires_after_hours": None}
    if change.expires_after_hours is not UNSET:
        given |= {"expires_after_hours": change.expires_after_hours}
        given |= {"expires_at": None} if change.expires_after_hours else {}
    if not given:
        return packet
    touched = [states.moved(document, "amend", desk.at) for document in packet.documents]
    after = msgspec.structs.replace(packet, documents=touched, **given)
    desk.save(packet, after)
    for document in touched:
        desk.record(document, "document.amended", {"changed": sorted(given)})
    if after.status == "sent" and not {"expires_at", "reminders"}.isdisjoint(given):
        plan_timers(desk, after)
    return after


def edit(desk: Desk, draft: Packet, others: OtherParties) -> Packet:
    """The draft with other parties, its documents laid out on papers that were made for what was seen."""
    for document in draft.documents:
        states.after(document.status, "edit")
    if _laid_for(draft) != _laid_for(others.seen):
        raise Conflict("The draft was changed at this very moment. Look at it and try again.")
    made = made_parties(others.parties, draft.language, desk.now, others.codes)
    after = msgspec.structs.replace(draft, parties=draft_people.kept(draft, made))
    sketches.drop(desk.tx, draft.first.id)  # of what the draft was before
    for document_id, asked, values, paper, asks_all in others.papers:
        documents.ask_fields(desk.tx, document_id, asked)
        documents.ask_values(desk.tx, document_id, values)
        document = msgspec.structs.replace(document_in(after, document_id), asks_all=asks_all)
        after = convert.lay_out(desk, after, document, paper, asked, values)
    desk.save(draft, after)
    for document in after.documents:
        desk.record(document, "document.edited", {"changed": [*others.changed]})
    return after


def _laid_for(packet: Packet) -> tuple[object, ...]:
    """What papers are made for."""
    return packet.parties, [document.fields for document in packet.documents]


def _corrected(desk: Desk, packet: Packet, corrections: Sequence[ListedSigner]) -> Packet:
    for one in corrections:
        packet = correct(desk, packet, one.id or "", SignerChange(email=one.email))
    return packet


async def _unmade(office: Office, packet: Packet, change: PacketChange) -> list[Unmade]:
    """The documents whose papers are to be made."""
    known = {file.id for _, file in packet.files()}
    if unknown := {one.id for one in change.files} - known:
        raise BadRequest(f"No document of the packet has a file {min(unknown)}")

    def look(tx: Tx) -> list[Unmade]:
        return [_one_unmade(tx, packet, document, change) for document in packet.documents]

    return await office.db.read(look)


def _one_unmade(tx: Tx, packet: Packet, document: Document, change: PacketChange) -> Unmade:
    found, own = convert.unmade(tx, packet, document), {file.id for file in document.files}
    passwords = DocumentChange(files=[one for one in change.files if one.id in own])
    return Unmade(found, originals_of(found, passwords), paper_of(tx, document))


async def _papers(unmade: Sequence[Unmade], make: Callable[[Unmade], Awaitable[Relaid]]) -> list[Relaid]:
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


async def _relaid(mill: PaperMill, one: Unmade, parties: Sequence[KnownParty], held: AsyncExitStack) -> Relaid:
    """The document on a paper for the parties that are to be."""
    found, document = one.found, one.found.document
    asked = draft_people.followed(found.asked, found.packet.parties, parties)
    paper: Paper | StoredPaper | None = one.ready
    if paper is None:
        making = mill.paper(one.originals, parties if document.asks_all else [], asked)
        paper = await held.enter_async_context(making)
    return Relaid(document.id, asked, found.values, paper, document.asks_all)


async def _drawn(mill: PaperMill, one: Unmade, drawn: Drawn, now: datetime, held: AsyncExitStack) -> Relaid:
    """The document on a paper with the fields that were drawn, and a place for each signer who has none anywhere."""
    document = one.found.document
    fields = drawn.fields[document.id]
    if one.ready is not None:
        return Relaid(document.id, fields, {}, one.ready, asks_all=False)
    plan = Plan(drawn.unplaced, fields)
    paper = await held.enter_async_context(mill.planned(one.originals, lambda _: plan))
    signers, last = [one for party in drawn.unplaced for one in party.signers], len(document.files) - 1
    added = [
        KnownField("signature", **asdict(place), file=last, signer=signer.id, id=new_id("fld", now))
        for signer, place in zip(signers, paper.places, strict=True)
    ]
    return Relaid(document.id, [*fields, *added], {}, paper, asks_all=False)

"""Change a packet: a draft in everything that its documents share, a sent one in what may still change."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from deedbox.kernel.errors import BadRequest, Conflict
from deedbox.signing import sessions, states
from deedbox.signing.actions import convert, draft_people, expire, send
from deedbox.signing.actions.change import originals_of, plan_timers
from deedbox.signing.actions.convert import PaperMill
from deedbox.signing.actions.correct import correct
from deedbox.signing.actions.create import check_parties, made_parties
from deedbox.signing.actions.create_from_template import paper_of
from deedbox.signing.desk import Desk, Office, document_in
from deedbox.signing.model import Packet
from deedbox.signing.new_document import CorrectedAddress, DocumentChange, KnownField, KnownParty, SignerChange, end_of
from deedbox.signing.new_packet import PacketChange
from deedbox.signing.paper import Paper, StoredPaper
from deedbox.signing.sessions import HashedCodes
from deedbox.signing.store import documents

_DRAFTS_ONLY = ("message", "title")
_PLAIN = ("title", "message", "reminders", "metadata")


class Relaid(NamedTuple):
    """A document of the draft, with the paper that was made for other parties."""

    document_id: str
    asked: Sequence[KnownField]
    values: dict[str, str]
    paper: Paper | StoredPaper


class OtherParties(NamedTuple):
    """The parties that a draft is to have, what was seen when papers were made for them, and these papers."""

    parties: Sequence[KnownParty]
    codes: HashedCodes
    seen: Packet
    papers: Sequence[Relaid]


@asynccontextmanager
async def prepared(
    office: Office, mill: PaperMill, workspace_id: str, packet_id: str, change: PacketChange
) -> AsyncIterator[Callable[[Desk], Packet]]:
    """What makes the change at a desk: other parties of a draft need other papers first."""
    refuse_at_once(office, change)
    packet = await expire.current(office, await office.packet(workspace_id, packet_id))
    asked = draft_people.with_corrections(DocumentChange(parties=change.parties), packet)
    if asked.parties is UNSET:
        yield lambda desk: _corrected(desk, amend(desk, desk.packet(packet_id), change), asked.signers)
        return
    for document in packet.documents:
        states.after(document.status, "edit")
    draft_people.need_known(packet, packet.first, asked)
    codes = await sessions.hashed_codes(asked.parties)
    async with AsyncExitStack() as held:
        papers = await _papers(office, mill, packet, change, held)
        others = OtherParties(asked.parties, codes, packet, papers)
        yield lambda desk: edit(desk, amend(desk, desk.packet(packet_id), change), others)


def refuse_at_once(office: Office, change: PacketChange) -> None:
    """Raises BadRequest for a change that could be made of no packet."""
    change.check(office.clock.now())
    if change.parties is not UNSET:
        check_parties(change.parties)
        send.need_mail_for_codes(change.parties, office.notifier)


def amend(desk: Desk, packet: Packet, change: PacketChange) -> Packet:
    """The packet with another title, message, end, reminders or metadata; what is not given stays."""
    for document in packet.documents:
        states.after(document.status, "amend")
    fixed = [name for name in _DRAFTS_ONLY if getattr(change, name) is not UNSET]
    if packet.status != "draft" and fixed:
        raise BadRequest(f"After sending, the {fixed[0]} cannot be changed")
    given: dict[str, Any] = {name: value for name in _PLAIN if (value := getattr(change, name)) is not UNSET}
    if change.expires_at is not UNSET:
        given["expires_at"] = end_of(change.expires_at, desk.now)
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
    if _drawn(draft) != _drawn(others.seen):
        raise Conflict("The draft was changed at this very moment. Look at it and try again.")
    made = made_parties(others.parties, draft.language, desk.now, others.codes)
    after = msgspec.structs.replace(draft, parties=draft_people.kept(draft, made))
    for document_id, asked, values, paper in others.papers:
        documents.ask_fields(desk.tx, document_id, asked)
        after = convert.lay_out(desk, after, document_in(after, document_id), paper, asked, values)
    desk.save(draft, after)
    for document in after.documents:
        desk.record(document, "document.edited", {"changed": ["parties"]})
    return after


def _drawn(packet: Packet) -> tuple[object, ...]:
    """What papers are made for."""
    return packet.parties, [document.fields for document in packet.documents]


def _corrected(desk: Desk, packet: Packet, corrections: Sequence[CorrectedAddress]) -> Packet:
    for one in corrections:
        packet = correct(desk, packet, one.id, SignerChange(email=one.email))
    return packet


async def _papers(
    office: Office, mill: PaperMill, packet: Packet, change: PacketChange, held: AsyncExitStack
) -> list[Relaid]:
    """A paper of each document for the parties that are to be."""
    parties = [] if change.parties is UNSET else change.parties
    known = {file.id for document in packet.documents for file in document.files}
    if unknown := {one.id for one in change.files} - known:
        raise BadRequest(f"No document of the packet has a file {min(unknown)}")
    papers = []
    for document in packet.documents:
        found = await office.db.read(lambda tx, document=document: convert.unmade(tx, packet, document))  # type: ignore[misc]
        asked = draft_people.followed(found.asked, packet.parties, parties)
        own = {file.id for file in document.files}
        originals = originals_of(found, DocumentChange(files=[one for one in change.files if one.id in own]))
        signing = parties if document.asks_all else []
        paper: Paper | StoredPaper | None
        paper = await office.db.read(lambda tx, document=document: paper_of(tx, document))  # type: ignore[misc]
        if paper is None:
            paper = await held.enter_async_context(mill.paper(originals, signing, asked))
        papers.append(Relaid(document.id, asked, found.values, paper))
    return papers

"""Lay out: what was drawn on the pages becomes the draft itself, by one change of it."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from deedbox.kernel.errors import BadRequest, Conflict
from deedbox.signing import sketch as sketches
from deedbox.signing.action_context import ActionContext, SigningServices
from deedbox.signing.actions import change, change_packet, send
from deedbox.signing.actions.convert import DocumentPreparation
from deedbox.signing.actions.create import check_parties, made_parties
from deedbox.signing.actions.draw import DraftDrawing, load_sketch
from deedbox.signing.model import Document, Message, Packet, Reminders
from deedbox.signing.new_document import DocumentChange, KnownField, KnownParty, UnlockedFile
from deedbox.signing.new_packet import PacketChange
from deedbox.signing.notifier import Notifier
from deedbox.signing.preparation import StoredPreparation
from deedbox.signing.preparation.placing import laid_out
from deedbox.signing.store import documents
from deedbox.signing.store.sketches import CHANGED


class LayoutOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What is said beside people and fields when a drawing is laid out."""

    version: int
    """That of the sketch which was looked at."""
    title: str
    message: Message | None = None
    expires_after_hours: int | UnsetType | None = UNSET
    reminders: Reminders | None = None
    codes: Mapping[str, str] = {}
    """Access codes that were agreed with people, by their keys."""
    passwords: Sequence[UnlockedFile] = ()


class Problem(NamedTuple):
    """What keeps a drawing from being sent, and on which page it is mended."""

    where: Literal["people", "fields"]
    said: str


@asynccontextmanager
async def prepare(
    services: SigningServices,
    preparation: DocumentPreparation,
    workspace_id: str,
    document_id: str,
    wanted: LayoutOptions,
) -> AsyncIterator[Callable[[ActionContext], Packet]]:
    """What lays the drawing out in a transaction; Conflict if it is another by now than the one that was looked at."""
    found = await services.db.read(lambda tx: load_sketch(tx, workspace_id, document_id))
    _need_version(found, wanted)
    if found.document.status == "processing":
        raise Conflict("The files are still being converted. Try again in a moment.")
    given, fields = _changes(found, wanted, services.clock.now())

    def seen(ctx: ActionContext) -> Packet:
        """The draft of this moment, if it is still the one that was looked at."""
        documents.hold_packet_of(ctx.tx, workspace_id, document_id)
        now = load_sketch(ctx.tx, workspace_id, document_id)
        _need_version(now, wanted)
        return now.packet

    if not given:
        yield seen
        return
    async with _changing(services, preparation, found.packet, given, fields) as make:

        def laid(ctx: ActionContext) -> Packet:
            seen(ctx)
            return make(ctx)

        yield laid


def _need_version(found: DraftDrawing, wanted: LayoutOptions) -> None:
    if found.version != wanted.version:
        raise Conflict(CHANGED)


Fields: TypeAlias = Mapping[str, Sequence[KnownField]]
"""By document."""


def _changes(found: DraftDrawing, wanted: LayoutOptions, now: datetime) -> tuple[dict[str, Any], Fields | None]:
    """What is to be changed of the draft, by name, and the fields it is to have; nothing, if it is as it should be."""
    packet, shared = found.packet, ("message", "reminders", "expires_after_hours")
    before: dict[str, Any] = {"title": packet.name} | {name: getattr(packet, name) for name in shared}
    given = {name: value for name in before if (value := getattr(wanted, name)) is not UNSET and value != before[name]}
    if not (found.kept or wanted.codes or wanted.passwords):
        return given, None
    laid = sketches.lay_out(found.sketch, packet, wanted.codes, now)
    return given | {"parties": laid.parties, "files": wanted.passwords}, laid.fields


def _changing(
    services: SigningServices,
    preparation: DocumentPreparation,
    packet: Packet,
    given: dict[str, Any],
    fields: Fields | None,
) -> AbstractAsyncContextManager[Callable[[ActionContext], Packet]]:
    """The one change of the document, or of all that are sent together."""
    workspace_id, only = packet.workspace_id, packet.first.id
    if not packet.lone:
        return change_packet.prepare(services, preparation, workspace_id, packet.id, PacketChange(**given), fields)
    own: dict[str, Any] = {} if fields is None else {"fields": fields[only]}
    return change.prepare(services, preparation, workspace_id, only, DocumentChange(**given | own), drawn=True)


def problem(found: DraftDrawing, notifier: Notifier, now: datetime) -> Problem | None:
    """What keeps the drawing from being sent, as far as that can be told without making its paper. Nothing is kept."""
    codes = {signer.key: "not yet" for _, signer in found.sketch.people()}
    where: Literal["people", "fields"] = "fields"
    try:
        laid = sketches.lay_out(found.sketch, found.packet, codes, now)
        where = "people"
        if not any(signer.role != "cc" for _, signer in found.sketch.people()):
            raise BadRequest("Nobody signs yet: name someone who signs or approves.")
        check_parties(laid.parties)
        send.need_mail_for_codes(laid.parties, notifier)
        where = "fields"
        made = made_parties(_without_codes(laid.parties), found.packet.language, now)
        packet = replace(found.packet, parties=made)
        for document in packet.documents:
            packet = packet.with_document(_tried(packet, document, laid.fields[document.id], now))
        if all(document.template_id for document in packet.documents) and not packet.lone:
            send.need_signatures(packet)  # there is no document in which places could be added
    except BadRequest as error:
        return Problem(where, error.message)
    return None


def _tried(packet: Packet, document: Document, fields: Sequence[KnownField], now: datetime) -> Document:
    """The document with these fields, as far as its paper is there; BadRequest for those that cannot stand on it."""
    if document.paper_sha256 is None:
        return document
    paper = StoredPreparation.of(document.paper_sha256, document.files)
    return laid_out(packet, replace(document, asks_all=False, fields=[]), paper, fields, now)


def _without_codes(parties: Sequence[KnownParty]) -> list[KnownParty]:
    """The parties as they can be looked at before codes are agreed."""
    return [replace(party, signers=[replace(one, access_code=None) for one in party.signers]) for party in parties]

"""Attach: a signer gives a file for a field; it can be replaced and taken back until they sign."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime

from deedbox.i18n.refusals import refusal
from deedbox.kernel.blobs import Blob, ReceivedBlob
from deedbox.kernel.blobs import store as blobs
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import Conflict, NotFound
from deedbox.signing import attachments, parties
from deedbox.signing.action_context import ActionContext, SigningServices
from deedbox.signing.actions.convert import DocumentPreparation
from deedbox.signing.actions.turn import at_turn
from deedbox.signing.answers import settled_field_ids
from deedbox.signing.model import Attachment, Document, Packet
from deedbox.signing.store import attachments as store


@asynccontextmanager
async def prepare(
    services: SigningServices,
    preparation: DocumentPreparation,
    packet: Packet,
    place: tuple[str, str],
    name: str,
    file: ReceivedBlob,
) -> AsyncIterator[Callable[[ActionContext, Packet], Attachment]]:
    """What keeps the file for the signer and the field of the place, once it has been through the sandboxes.

    It is rehearsed with all that it will be joined to: what could not be sealed is refused now."""
    signer_id, field_id = place
    document = need_field(packet, place, services.clock.now())
    beside, pdfs = await services.db.read(lambda tx: _around(tx, packet, document, place))
    async with preparation.intake.attachment(name, file.blob) as (pdf, sizes):
        made = Attachment(
            field_id, signer_id, name, file.blob.sha256, file.blob.size_bytes, pdf.blob.sha256, pdf.blob.size_bytes,
            [*sizes],
        )  # fmt: skip
        attachments.need_room(document, pdfs[0].size_bytes, [*beside, made])
        await preparation.rehearse_joined([*pdfs, pdf.blob])
        yield lambda ctx, packet: keep(ctx, packet, made, file, pdf)


def keep(ctx: ActionContext, packet: Packet, made: Attachment, file: ReceivedBlob, pdf: ReceivedBlob) -> Attachment:
    """The attachment, kept until its signer signs, in place of the one before."""
    place = made.signer_id, made.field_id
    document = need_field(packet, place, ctx.now)
    beside = _beside(ctx.tx, packet, document, place)
    attachments.need_room(document, _paper(ctx.tx, document).size_bytes, [*beside, made])
    before = _kept(ctx.tx, packet, place)
    blobs.adopt_all(ctx.tx, [file, pdf], attachments.owner(made), ctx.now)
    store.keep(ctx.tx, made)
    if before is not None:
        attachments.release(ctx, before, instead=made)
    return made


def remove(ctx: ActionContext, packet: Packet, signer_id: str, field_id: str) -> None:
    """The file that was kept is gone; NotFound if there is none."""
    at_turn(packet, signer_id, ctx.now)
    before = _kept(ctx.tx, packet, (signer_id, field_id))
    if before is None:
        raise NotFound("There is no such attachment")
    store.drop(ctx.tx, [before])
    attachments.release(ctx, before)


def need_field(packet: Packet, place: tuple[str, str], now: datetime) -> Document:
    """The document with the field; NotFound unless it is one of the signer's for a file, Conflict out of turn."""
    signer_id, field_id = place
    party, signer = at_turn(packet, signer_id, now)
    for document in packet.documents:
        for field in parties.own_fields(document, party, signer):
            if field.id == field_id and field.type == "attachment":
                if field.id in settled_field_ids(document):
                    raise refusal(Conflict, "settled")
                return document
    raise NotFound("You have no field of this id for a file")


def _around(tx: Tx, packet: Packet, document: Document, place: tuple[str, str]) -> tuple[list[Attachment], list[Blob]]:
    """What the file will be joined to: the attachments, and all PDFs, the paper first."""
    beside = _beside(tx, packet, document, place)
    return beside, [_paper(tx, document), *(blobs.demand(tx, one.paper_sha256) for one in beside)]


def _beside(tx: Tx, packet: Packet, document: Document, place: tuple[str, str]) -> list[Attachment]:
    """What else would be joined behind the paper if all signed now who have given a file; of a field that several
    fill, the signer's own."""
    signer_id, field_id = place
    kept = sorted(store.list_all(tx, packet.id), key=lambda one: one.signer_id == signer_id)
    known = {one.field_id: one for one in (*document.attachments, *kept)}
    return [known[field.id] for field in document.fields if field.id in known and field.id != field_id]


def _kept(tx: Tx, packet: Packet, place: tuple[str, str]) -> Attachment | None:
    return next((one for one in store.list_all(tx, packet.id) if (one.signer_id, one.field_id) == place), None)


def _paper(tx: Tx, document: Document) -> Blob:
    return blobs.demand(tx, document.paper_sha256 or "")

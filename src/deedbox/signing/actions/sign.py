"""Sign: one act for all documents of the packet, and what follows from it."""

from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from deedbox.i18n.refusals import refusal, wrong_values
from deedbox.kernel import limits
from deedbox.kernel.blobs import ReceivedBlob
from deedbox.kernel.blobs import store as blobs
from deedbox.kernel.errors import BadRequest, Conflict, Saying
from deedbox.pdf.marks.strokes import PadDrawing, encode_drawing
from deedbox.signing import attachments, parties, show_if, states
from deedbox.signing.action_context import ActionContext, SigningServices
from deedbox.signing.actions import send
from deedbox.signing.actions.end import dismiss
from deedbox.signing.actions.fill import check_values
from deedbox.signing.actions.turn import Circumstances, at_turn, signer_payload
from deedbox.signing.answers import fill_in, groups
from deedbox.signing.completion import finalize
from deedbox.signing.field_value import BY_HAND, check_by_hand, fault, fault_of
from deedbox.signing.initials import by_hand
from deedbox.signing.model import Attachment, Document, Packet, Party, SignatureKind, Signer, SignerSignature
from deedbox.signing.store import attachments as kept_attachments
from deedbox.signing.store import people

_REQUIRED = {"checkbox": "required_tick", "attachment": "required_file"}
"""The sentences for fields that are not simply filled in."""


class SigningAct(msgspec.Struct, frozen=True):
    """How someone signs, what they filled in, and where they were."""

    signature: SignerSignature
    values: Mapping[str, str]
    seen: Circumstances
    initials: SignerSignature | None = None
    """For the fields of initials; None for those of the name."""
    images: Sequence[ReceivedBlob] = ()
    """Of what was drawn or uploaded, stored and not yet adopted."""


@asynccontextmanager
async def image(
    services: SigningServices, kind: SignatureKind, data: bytes
) -> AsyncIterator[tuple[SignerSignature, ReceivedBlob]]:
    """A drawn or uploaded signature, its picture written anew in a sandbox; it is removed unless someone signs."""
    picture = await services.workshop.signature_image(data)
    async with services.blobs.receive(limits.SIGNATURE_IMAGE_BYTES) as incoming:
        await incoming.write(picture)
        received = await incoming.finish()
        yield SignerSignature(kind, image_sha256=received.blob.sha256), received


@asynccontextmanager
async def store_strokes(
    services: SigningServices, drawn: PadDrawing
) -> AsyncIterator[tuple[SignerSignature, ReceivedBlob]]:
    """A signature of strokes, which are kept as they came; they are removed unless someone signs."""
    strokes = encode_drawing(drawn)
    async with services.blobs.receive(limits.SIGNATURE_IMAGE_BYTES) as incoming:
        await incoming.write(strokes)
        received = await incoming.finish()
        yield SignerSignature("drawn", strokes_sha256=received.blob.sha256), received


def sign(ctx: ActionContext, packet: Packet, signer_id: str, how: SigningAct) -> Packet:
    """The packet with the signature in it; the party's rule and the next party's turn follow from it."""
    party, signer = at_turn(packet, signer_id, ctx.now)
    if signer.role != "signer":
        raise BadRequest("An approver leaves no signature: send the consent alone")
    if not how.seen.viewed:
        raise refusal(Conflict, "not_shown")
    given, faults = check_values(packet, party, signer, how.values)
    files = _kept_files(ctx, packet, signer)
    filled = {**people.values_of(ctx.tx, signer_id), **given, **{one.field_id: one.sha256 for one in files}}
    documents = [_filled(ctx, document, party, signer, filled, files) for document in packet.documents]
    _check_hand(documents, signer, how)
    shown = {field_id for document in documents for field_id in show_if.shown(document.fields)}
    faults = [one for one in faults if one.field_id in shown]
    faults += _lacking(packet, party, signer, documents, shown - {one.field_id for one in faults})
    if faults:
        raise wrong_values(faults)
    signed = parties.with_signer(
        msgspec.structs.replace(packet, documents=documents),
        signer_id,
        status="signed",
        signed_at=ctx.at,
        signature=how.signature,
        initials=how.initials,
        identity=how.seen.identity,
    )
    for picture in how.images:
        blobs.adopt(ctx.tx, picture, packet.first.id, ctx.now)
    after, completed = followed_up(ctx, packet, signed, party.id)
    shared = _newly_filled(packet, signed)
    people.drop_values(ctx.tx, signer_id, shared)
    for before, document in zip(packet.documents, signed.documents, strict=True):
        if packet.lone or not parties.only_reads(document, party, signer):
            ctx.record(document, "signer.signed", _detail(packet, document, signer, how, shared), actor=signer_id)
            ctx.emit("document.signed", packet, before, signer=signer_payload(signer))
        else:
            ctx.record(document, "document.viewed", _detail_of_view(document, how), actor=signer_id)
    if completed is not None:
        announce(ctx, packet, after, completed)
    return after


def _check_hand(documents: Sequence[Document], signer: Signer, how: SigningAct) -> None:
    """BadRequest for a typed signature or initials that cannot be printed where they have to stand."""
    signing = msgspec.structs.replace(signer, signature=how.signature, initials=how.initials)
    for document in documents:
        for field in document.fields:
            if field.value == signer.id and (made := by_hand(signing, field.type)) is not None:
                check_by_hand(document, field, made)


def _kept_files(ctx: ActionContext, packet: Packet, signer: Signer) -> list[Attachment]:
    """What the signer has given for fields that ask for a file."""
    if not any(field.type == "attachment" for document in packet.documents for field in document.fields):
        return []
    return [one for one in kept_attachments.list_all(ctx.tx, packet.id) if one.signer_id == signer.id]


def _lacking(
    packet: Packet, party: Party, signer: Signer, documents: Sequence[Document], shown: Collection[str]
) -> Iterator[Saying]:
    """What else is wrong with those of the signer's fields that are shown: a required one is empty, or what nobody
    entered does not fit."""
    for document in documents:
        fields = [field for field in parties.own_fields(document, party, signer) if field.id in shown]
        for field in fields:
            if field.is_button:
                continue
            if field.required and (not field.value or (field.type == "checkbox" and field.value != "true")):
                yield fault_of(field, _REQUIRED.get(field.type, "required"))
            elif field.type not in BY_HAND and (wrong := fault(document, field, field.value or "", packet.language)):
                yield wrong
        for group in groups(fields).values():
            if any(field.required for field in group) and not any(field.value for field in group):
                yield fault_of(group[0], "required_choice", options=", ".join(field.label or "" for field in group))


def _filled(
    ctx: ActionContext,
    document: Document,
    party: Party,
    signer: Signer,
    filled: Mapping[str, str],
    files: Sequence[Attachment],
) -> Document:
    """The document with the signer's values in it. A default holds for a field that the signer has left as it was."""
    fields = fill_in(document, party, signer, filled, ctx.at)
    attached = attachments.join_attachments(fields, document.attachments, files)
    if attached != document.attachments:
        paper = blobs.demand(ctx.tx, document.paper_sha256 or "")
        attachments.need_room(document, paper.size_bytes, attached)
    return states.move(document, "sign", ctx.at, fields=fields, attachments=attached)


def _newly_filled(before: Packet, after: Packet) -> list[str]:
    """The fields of a whole party that hold something else now: what its others had kept for them is out of date."""
    return [
        new.id
        for old_document, new_document in zip(before.documents, after.documents, strict=True)
        for old, new in zip(old_document.fields, new_document.fields, strict=True)
        if new.party_id and new.value != old.value
    ]


def followed_up(ctx: ActionContext, before: Packet, acted: Packet, party_id: str) -> tuple[Packet, Party | None]:
    """The packet as a signature or an approval leaves it, saved; and the party if it is complete now."""
    after, party = _followed(ctx, acted, party_id)
    ctx.save(before, after)
    attachments.settle(ctx, before, after)
    return after, party


def _followed(ctx: ActionContext, signed: Packet, party_id: str) -> tuple[Packet, Party | None]:
    party = next(one for one in signed.parties if one.id == party_id)
    if not parties.is_met(party):
        return signed, None
    others_released = parties.released_from(party)
    after = parties.with_party(
        signed, party_id, status="completed", completed_at=ctx.at, signers=others_released.signers
    )
    if parties.next_to_sign(after.parties):
        return parties.release(after, ctx.at), party
    documents = [states.move(document, "finalize", ctx.at) for document in after.documents]
    return msgspec.structs.replace(after, documents=documents), party


def announce(ctx: ActionContext, before: Packet, after: Packet, party: Party) -> None:
    """What a complete party leads to: its event, the next invitations, or the jobs that seal."""
    send.emit_party_end(ctx, before, after, party)
    dismiss(ctx, before, after)
    send.invite(ctx, before, after)
    for document in after.documents:
        if document.status == "finalizing":
            finalize.plan(ctx, document)


def _detail_of_view(document: Document, how: SigningAct) -> dict[str, Any]:
    """For a document that was shown while others of the packet were signed: it names no consent and no signature."""
    files = {file.id: file.sha256 for file in document.files}
    return {**how.seen.told(), "files": files, "prepared": document.paper_sha256}


def _detail(
    packet: Packet, document: Document, signer: Signer, how: SigningAct, filled: Collection[str]
) -> dict[str, Any]:
    shared = [field.id for field in document.fields if field.id in filled]
    attached = {one.field_id: one.sha256 for one in document.attachments if one.signer_id == signer.id}
    return {
        **how.seen.told(),
        "signature": msgspec.to_builtins(how.signature),
        **({"initials": msgspec.to_builtins(how.initials)} if how.initials else {}),
        **how.seen.consented(packet, signer),
        "files": {file.id: file.sha256 for file in document.files},
        **({"attachments": attached} if attached else {}),
        **({"party_fields": shared} if shared else {}),
        "prepared": document.paper_sha256,
    }

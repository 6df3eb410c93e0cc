"""Where fields stand: those that were asked for, checked, and a signature for whoever has none."""

from collections.abc import Iterator, Sequence
from datetime import datetime

import msgspec

from deedbox.kernel import limits
from deedbox.kernel.errors import BadRequest
from deedbox.kernel.ids import new_id
from deedbox.pdf.marks import Place
from deedbox.signing.field_value import BY_HAND, fault, kept
from deedbox.signing.model import Document, Field, File, Packet, Party
from deedbox.signing.new_document import NewField
from deedbox.signing.paper import Paper
from deedbox.words.refusals import sentence


def laid_out(packet: Packet, document: Document, paper: Paper, asked: Sequence[NewField], now: datetime) -> Document:
    """The document whose signers see this paper, with a field for everything that was asked for."""
    files = [
        msgspec.structs.replace(file, sizes=[*made.sizes], removed=[*made.removed], signatures=[*made.signatures])
        for file, made in zip(document.files, paper.files, strict=True)
    ]
    placed = _fields([*asked, *paper.tags], files, paper.places, packet.parties, now)
    laid = msgspec.structs.replace(document, files=files, fields=placed, paper_sha256=paper.pdf.blob.sha256)
    for field in placed:
        for text in _known_texts(field, packet.parties):
            if wrong := fault(laid, field, text, packet.language):
                raise BadRequest(f"{field.label or f'The {field.type} on page {field.page}'}: {sentence(wrong)}")
    return laid


def _known_texts(field: Field, parties: Sequence[Party]) -> Iterator[str]:
    """Everything that is known already and may come to stand in the field."""
    yield from (text for text in (field.default, *field.options) if text)
    if field.type in ("name", "email"):
        mine = [
            one for party in parties for one in party.signers if field.signer_id == one.id or field.party_id == party.id
        ]
        yield from (one.name if field.type == "name" else one.email for one in mine)


def _fields(
    wanted: Sequence[NewField], files: Sequence[File], places: Sequence[Place], parties: Sequence[Party], now: datetime
) -> list[Field]:
    """Every field that was wanted, and for each signer without one a signature at a place of the last file."""
    if len(wanted) > limits.DOCUMENT_FIELDS:
        raise BadRequest(f"A document has at most {limits.DOCUMENT_FIELDS} fields")
    placed = [_placed(field, files, parties, now) for field in wanted]
    signing = {field.signer_id for field in placed if field.type == "signature"}
    parties_signing = {field.party_id for field in placed if field.type == "signature"}
    without = [
        signer.id
        for party in parties
        for signer in party.signers
        if signer.id not in signing and party.id not in parties_signing
    ]
    if len(places) < len(without):
        raise BadRequest("There is no place for every signature; give fields")
    return placed + [
        _signature(signer_id, place, files[-1], now) for signer_id, place in zip(without, places, strict=False)
    ]


def _placed(field: NewField, files: Sequence[File], parties: Sequence[Party], now: datetime) -> Field:
    if not 0 <= field.file < len(files):
        raise BadRequest(f"A field names file {field.file}, but there are {len(files)} files, counted from 0")
    file = files[field.file]
    if not 1 <= field.page <= file.pages:
        raise BadRequest(f"A field stands on page {field.page}, but {file.name} has {file.pages} pages")
    if field.x + field.w > 1 or field.y + field.h > 1:
        raise BadRequest(f"A field on page {field.page} of {file.name} reaches beyond the page")
    if field.type == "select" and not field.options:
        raise BadRequest("A select field needs options")
    if field.type in BY_HAND and field.default:
        raise BadRequest(f"The {field.type} on page {field.page} has a default, but only its signer can fill it")
    signer_id, party_id = _who(field, parties)
    placed = Field(
        new_id("fld", now), file.id, signer_id, party_id, field.type, field.page, field.x, field.y, field.w, field.h,
        field.required, field.label, field.default, list(field.options), None, field.font_size,
    )  # fmt: skip
    return msgspec.structs.replace(placed, default=kept(placed, field.default or "") or None)


def _who(field: NewField, parties: Sequence[Party]) -> tuple[str | None, str | None]:
    if (field.signer is None) == (field.party is None):
        raise BadRequest("A field names either its signer, by e-mail address, or its party, by name")
    for party in parties:
        if field.party is not None and party.name.casefold() == field.party.casefold():
            return (party.signers[0].id, None) if len(party.signers) == 1 else (None, party.id)
        for signer in party.signers:
            if field.signer is not None and signer.email == field.signer.lower():
                return signer.id, None
    raise BadRequest(f"A field names {field.signer or field.party}, who is not among signers and parties")


def _signature(signer_id: str, place: Place, file: File, now: datetime) -> Field:
    return Field(
        new_id("fld", now), file.id, signer_id, None, "signature", place.page, place.x, place.y, place.w, place.h,
        True, None, None, [], None,
    )  # fmt: skip

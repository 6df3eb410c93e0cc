"""Where fields stand: those that were asked for, checked, and a signature for whoever has none."""

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

import msgspec

from deedbox.i18n.refusals import sentence
from deedbox.kernel import limits
from deedbox.kernel.errors import BadRequest
from deedbox.kernel.ids import new_id
from deedbox.pdf.marks import radio_options as options
from deedbox.pdf.marks.field_text import SMALLEST
from deedbox.pdf.marks.marks import PageRect
from deedbox.pdf.marks.radio_options import Way
from deedbox.signing import show_if
from deedbox.signing.field_size import round_up, too_small
from deedbox.signing.field_value import fault, normalize, room_of
from deedbox.signing.model import Document, DocumentFile, Field, Packet, Party, Signer
from deedbox.signing.new_document import FILLED_BY, KnownField, NewField, matches_handle
from deedbox.signing.prefill import prefill
from deedbox.signing.preparation import PreparedDocument, StoredPreparation, field_rules

_NO_VALUES: Mapping[str, str] = {}


def laid_out(
    packet: Packet,
    document: Document,
    paper: PreparedDocument | StoredPreparation,
    asked: Sequence[NewField],
    now: datetime,
    values: Mapping[str, str] = _NO_VALUES,
) -> Document:
    """The document whose signers see this paper, with a field for everything that was asked for.

    `values` are those that the sender gives by labels."""
    files = [
        msgspec.structs.replace(file, sizes=[*made.sizes], removed=[*made.removed], signatures=[*made.signatures])
        for file, made in zip(document.files, paper.files, strict=True)
    ]
    tags = _not_asked_for(paper.tags, asked, document)
    placed = _fields(prefill([*asked, *tags], values), files, packet.parties, now)
    for field in placed:
        _check_size(msgspec.structs.replace(document, files=files), field, packet)
        _check_room_of_options(msgspec.structs.replace(document, files=files), field)
    if document.asks_all:
        places = _free(paper.places, placed, files[-1]) if isinstance(paper, StoredPreparation) else paper.places
        placed += _signatures(placed, files[-1], places, packet.parties, now)
    laid = msgspec.structs.replace(document, files=files, fields=placed, paper_sha256=paper.sha256)
    waited_for = show_if.waited_for(placed)
    for field in placed:
        for text in (*_known_texts(field, packet.parties), *waited_for.get(field.id, ())):
            if wrong := fault(laid, field, text, packet.language):
                raise BadRequest(f"{field.label or f'The {field.type} on page {field.page}'}: {sentence(wrong)}")
    return laid


def place_of(field: NewField | Field) -> PageRect:
    """Where the field stands in its file."""
    return PageRect(field.page, field.x, field.y, field.w, field.h)


def _free(places: Sequence[PageRect], placed: Sequence[Field], last: DocumentFile) -> list[PageRect]:
    """The places at which no signature was asked for."""
    taken = [place_of(one) for one in placed if one.type == "signature" and one.file_id == last.id]
    return [place for place in places if place not in taken]


def _not_asked_for(tags: Sequence[NewField], asked: Sequence[NewField], document: Document) -> list[NewField]:
    """The tags for which no field was given back: a field that a tag has placed is known, and stays where it is."""
    numbers = {file.id: number for number, file in enumerate(document.files)}
    before = {field.id: _spot(field, numbers[field.file_id]) for field in document.fields}
    known = [field for field in asked if isinstance(field, KnownField) and field.id]
    spots = {_spot(field, field.file_number) for field in asked}
    for field in known:
        moved = before.get(field.id or "") not in (None, _spot(field, field.file_number))
        if moved and any(_spot(tag, tag.file_number) == before[field.id or ""] for tag in tags):
            raise BadRequest(f"The field {field.id} stands where a text tag of the file is: it cannot be moved")
    return [tag for tag in tags if _spot(tag, tag.file_number) not in spots]


def _spot(field: NewField | Field, file_number: int) -> tuple[object, ...]:
    return (file_number, field.type, field.page, field.x, field.y, field.w, field.h)


def _check_size(document: Document, field: Field, packet: Packet) -> None:
    """Raises BadRequest for a field in which its signer's name, initials, address or day of signing cannot be read."""
    signers: list[Signer | None] = [*_signers_of(field, packet.parties)]
    for signer in signers or [None]:
        if found := too_small(document, field, signer, packet.language):
            raise found.for_sender()


def _check_room_of_options(document: Document, field: Field) -> None:
    """Raises BadRequest for a radio field in which its options could not be read."""
    if field.type != "radio" or not field.is_choice:
        return
    room = room_of(document, field)
    if options.laid_out(field.options, room) is not None:
        return
    page_w, page_h = room.w / field.w, room.h / field.h
    ways = list[str]()
    known: Sequence[tuple[Way, str]] = (("stacked", "below each other"), ("beside", "beside each other"))
    for way, called in known:
        w, h = (math.ceil(side) for side in options.required_size(field.options, SMALLEST, way))
        ways.append(f"{w} × {h} points to print them {called} (w {round_up(w / page_w)}, h {round_up(h / page_h)})")
    raise BadRequest(
        f"{show_if.describe(field)} on page {field.page} is {room.w:.0f} × {room.h:.0f} points, too small for its"
        f" {len(field.options)} options. Make it at least {ways[0]}, or {ways[1]}."
    )


def _signers_of(field: Field, parties: Sequence[Party]) -> list[Signer]:
    """Those who fill the field."""
    return [
        one
        for party in parties
        for one in party.signers
        if one.role == "signer" and (field.signer_id == one.id or field.party_id == party.id)
    ]


def _known_texts(field: Field, parties: Sequence[Party]) -> Iterator[str]:
    """Everything that is known already and may come to stand in the field."""
    yield from (text for text in (field.default, *field.options) if text)
    if field.type in ("name", "email"):
        yield from (one.name if field.type == "name" else one.email for one in _signers_of(field, parties))


def _fields(
    wanted: Sequence[NewField], files: Sequence[DocumentFile], parties: Sequence[Party], now: datetime
) -> list[Field]:
    buttons = sum(len(field.options) for field in wanted if field.type == "radio")
    if len(wanted) + buttons > limits.DOCUMENT_FIELDS:
        raise BadRequest(
            f"A document has at most {limits.DOCUMENT_FIELDS} fields; each option of a radio field counts as one more"
        )
    placed = show_if.resolve([_placed(field, files, parties, now) for field in wanted], parties)
    field_rules.check_all(placed)
    return placed


def _signatures(
    placed: Sequence[Field], last: DocumentFile, places: Sequence[PageRect], parties: Sequence[Party], now: datetime
) -> list[Field]:
    """For each signer without a signature field that is always shown, one at a place of the last file."""
    always = [field for field in placed if field.type == "signature" and field.show_if is None]
    signing = {field.signer_id for field in always}
    parties_signing = {field.party_id for field in always}
    without = [
        signer.id
        for party in parties
        for signer in party.signers
        if signer.role == "signer" and signer.id not in signing and party.id not in parties_signing
    ]
    if len(places) < len(without):
        raise BadRequest("There is no place for every signature; give fields")
    return [_signature(signer_id, place, last, now) for signer_id, place in zip(without, places, strict=False)]


def _placed(field: NewField, files: Sequence[DocumentFile], parties: Sequence[Party], now: datetime) -> Field:
    if not 0 <= field.file_number < len(files):
        raise BadRequest(f"A field names file {field.file}, but there are {len(files)} files, counted from 0")
    file = files[field.file_number]
    if not 1 <= field.page <= file.pages:
        raise BadRequest(f"A field stands on page {field.page}, but {file.name} has {file.pages} pages")
    if field.x + field.w > 1 or field.y + field.h > 1:
        raise BadRequest(f"A field on page {field.page} of {file.name} reaches beyond the page")
    signer_id, party_id = _who(field, parties)
    field_id = (field.id if isinstance(field, KnownField) else None) or new_id("fld", now)
    placed = Field(
        field_id, file.id, signer_id, party_id, field.type, field.page, field.x, field.y, field.w, field.h,
        field.required, field.label, field.default, list(field.options), None, field.font_size,
        field.read_only or field.type == "date_signed", field.max_length, field.pattern, field.group, field.show_if,
        field.hint,
    )  # fmt: skip
    placed = msgspec.structs.replace(placed, default=normalize(placed, field.default or "") or None)
    field_rules.check(placed)
    return placed


def _who(field: NewField, parties: Sequence[Party]) -> tuple[str | None, str | None]:
    if not FILLED_BY.is_met(field):
        raise BadRequest("A field names either its signer, by id, e-mail address or name, or its party, by id or name")
    called: list[tuple[str | None, str | None]] = []
    for party in parties:
        able = [signer.id for signer in party.signers if signer.role == "signer"]
        if matches_handle(party, field.party):
            if party.signers and not able:
                raise BadRequest(f"A field names {field.party}, where nobody signs: approvers and cc fill nothing in")
            called.append((able[0], None) if len(able) == 1 else (None, party.id))
        for signer in party.signers:
            if matches_handle(signer, field.signer):
                if signer.role != "signer":
                    raise BadRequest(f"A field names {field.signer}, whose role is {signer.role}: only signers fill in")
                called.append((signer.id, None))
    if not called:
        raise BadRequest(f"A field names {field.signer or field.party}, who is not among signers and parties")
    if len(called) > 1:
        raise BadRequest(f"A field names {field.signer or field.party}, as several are called: give an id or address")
    return called[0]


def _signature(signer_id: str, place: PageRect, file: DocumentFile, now: datetime) -> Field:
    return Field(
        new_id("fld", now), file.id, signer_id, None, "signature", place.page, place.x, place.y, place.w, place.h,
        True, None, None, [], None,
    )  # fmt: skip

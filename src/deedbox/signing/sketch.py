"""A sketch: the people and the fields of a draft as they are being drawn on the pages, before they are laid out.

It is one row with a version: moving a field makes no paper and writes no row of the audit trail. Keys tell its parts
apart; those of a draft that exists already are the draft's own ids."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta
from msgspec.structs import asdict, replace

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.errors import BadRequest
from deedbox.kernel.ids import new_id
from deedbox.signing import limits
from deedbox.signing.model import (
    Auth,
    FieldType,
    Message,
    OnDecline,
    Packet,
    Party,
    Reminders,
    Role,
    Rule,
    ShowIf,
)
from deedbox.signing.new_document import (
    FieldValue,
    Fraction,
    Hours,
    KnownField,
    KnownParty,
    KnownSigner,
    Language,
    NewField,
    Order,
    TimeZone,
    as_known,
)

Key: TypeAlias = Annotated[str, Meta(min_length=1, max_length=limits.SKETCH_KEY_CHARS, pattern=r"^[\w-]+$(?!\n)")]
Who: TypeAlias = Annotated[str, Meta(max_length=limits.SKETCH_KEY_CHARS, extra_json_schema=shared_limits.NO_NUL)]
Written: TypeAlias = Annotated[str, Meta(max_length=shared_limits.SIGNER_NAME_CHARS, pattern=r"^[^\x00-\x1f]*$(?!\n)")]
Address: TypeAlias = Annotated[str, Meta(max_length=shared_limits.EMAIL_CHARS, pattern=r"^[^\x00-\x1f]*$(?!\n)")]


class SketchSigner(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Someone who is to sign; what is not known yet is empty."""

    key: Key
    name: Written = ""
    email: Address = ""
    language: Language | None = None
    role: Role = "signer"
    auth: Auth = "none"
    time_zone: TimeZone | None = None
    delegation: bool = False


class SketchParty(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    key: Key
    name: Written = ""
    order: Order = 1
    rule: Rule = "all"
    quorum: Annotated[int, Meta(ge=1, le=shared_limits.DOCUMENT_SIGNERS)] | None = None
    on_decline: OnDecline = "decline_document"
    signers: Annotated[list[SketchSigner], Meta(max_length=shared_limits.DOCUMENT_SIGNERS)] = []


class SketchField(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A field as it is drawn; `who` has the key of a signer or of a party, and is empty while it is nobody's."""

    key: Key
    type: FieldType
    page: Annotated[int, Meta(ge=1, le=shared_limits.DOCUMENT_PAGES)]
    x: Fraction
    y: Fraction
    w: Fraction
    h: Fraction
    file: Annotated[int, Meta(ge=0, le=shared_limits.PACKET_FILES)] = 0
    """Its number among the files of all documents that are sent together."""
    who: Who = ""
    label: (
        Annotated[str, Meta(max_length=shared_limits.FIELD_LABEL_CHARS, extra_json_schema=shared_limits.NO_NUL)] | None
    ) = None
    required: bool = True
    options: Annotated[list[FieldValue], Meta(max_length=shared_limits.FIELD_OPTIONS)] = []
    default: FieldValue | None = None
    read_only: bool = False
    max_length: Annotated[int, Meta(ge=1, le=shared_limits.FIELD_VALUE_CHARS)] | None = None
    pattern: (
        Annotated[str, Meta(max_length=shared_limits.FIELD_PATTERN_CHARS, extra_json_schema=shared_limits.NO_NUL)]
        | None
    ) = None
    font_size: Annotated[float, Meta(ge=shared_limits.FONT_SIZE_MIN, le=shared_limits.FONT_SIZE_MAX)] | None = None
    group: (
        Annotated[str, Meta(max_length=shared_limits.FIELD_GROUP_CHARS, extra_json_schema=shared_limits.NO_NUL)] | None
    ) = None
    show_if: ShowIf | None = None
    hint: (
        Annotated[str, Meta(max_length=shared_limits.FIELD_HINT_CHARS, extra_json_schema=shared_limits.NO_NUL)] | None
    ) = None


Fields: TypeAlias = Annotated[list[SketchField], Meta(max_length=shared_limits.DOCUMENT_FIELDS)]


class Sketch(msgspec.Struct, frozen=True):
    drawn_on: int = 0
    """The version of the template whose pages these are; 0 for those of a draft."""
    title: str = ""
    language: str = "en"
    message: Message | None = None
    expires_after_hours: Hours | None = None
    reminders: Reminders | None = None
    parties: Annotated[list[SketchParty], Meta(max_length=shared_limits.DOCUMENT_PARTIES)] = []
    fields: Fields = []

    def people(self) -> Iterator[tuple[SketchParty, SketchSigner]]:
        return ((party, signer) for party in self.parties for signer in party.signers)

    @property
    def keys(self) -> set[str]:
        """Of everyone a field can belong to."""
        return {party.key for party in self.parties} | {signer.key for _, signer in self.people()}


class DrawnFields(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The fields that take the place of those in a sketch of this version."""

    version: Annotated[int, Meta(ge=0)]
    fields: Fields


def is_key(text: str) -> bool:
    """Whether a part of a sketch can have the key."""
    try:
        return bool(msgspec.convert(text, Key))
    except msgspec.ValidationError:
        return False


def check_fields(sketch: Sketch) -> None:
    """Raises BadRequest for fields that cannot be told apart, or that are someone's who is not there."""
    keys, known = [field.key for field in sketch.fields], sketch.keys
    for field in sketch.fields:
        if field.who and field.who not in known:
            raise BadRequest(f"{field.key}: there is nobody with the key {field.who}. Load the page again.")
    if len(set(keys)) < len(keys):
        raise BadRequest("Two fields have the same key")


def of_draft(packet: Packet) -> Sketch:
    """The sketch of a draft as it stands; its keys are the draft's ids."""
    numbers = {file.id: number for number, (_, file) in enumerate(packet.files())}
    placed = [field for document in packet.documents for field in document.fields]
    fields = [to_sketch_field(as_known(one, numbers[one.file_id]), one.id) for one in placed]
    parties = [_as_drawn_party(party) for party in packet.parties]
    return with_words(Sketch(parties=parties, fields=fields), packet)


def with_words(sketch: Sketch, packet: Packet) -> Sketch:
    """The sketch with what the draft itself says beside people and fields."""
    return replace(
        sketch,
        title=packet.name,
        language=packet.language,
        message=packet.message,
        expires_after_hours=packet.expires_after_hours,
        reminders=packet.reminders,
    )


def to_sketch_field(field: NewField, key: str, who: str | None = None) -> SketchField:
    """A field as a sketch has it."""
    told = {name: value for name, value in asdict(field).items() if name in SketchField.__struct_fields__}
    whose = who if who is not None else field.signer or field.party or ""
    return SketchField(**told | {"key": key, "who": whose, "options": [*field.options]})


def _as_drawn_party(party: Party) -> SketchParty:
    signers = [
        SketchSigner(one.id, one.name, one.email, one.language, one.role, one.auth, one.time_zone, one.delegation)
        for one in party.signers
    ]
    return SketchParty(party.id, party.name, party.order, party.rule, party.quorum, party.on_decline, signers)


class Laid(msgspec.Struct, frozen=True):
    """A sketch in the words of a change of its draft: each part has an id, the draft's own or a new one."""

    parties: list[KnownParty]
    fields: dict[str, list[KnownField]]
    """By document."""


def lay_out(sketch: Sketch, packet: Packet, codes: Mapping[str, str], now: datetime) -> Laid:
    """What the draft is to have; `codes` are the access codes of people, by their keys. BadRequest names a mistake."""
    known = {field.id for document in packet.documents for field in document.fields}
    known |= {one.id for one in packet.parties} | {signer.id for _, signer in packet.signers()}

    def ids(prefix: str, parts: Sequence[SketchParty | SketchSigner | SketchField]) -> dict[str, str]:
        return {one.key: one.key if one.key in known else new_id(prefix, now) for one in parts}

    parties, signers = ids("pty", sketch.parties), ids("sgn", [signer for _, signer in sketch.people()])
    fields = ids("fld", sketch.fields)
    places = [(document.id, number) for document in packet.documents for number in range(len(document.files))]
    by_document: dict[str, list[KnownField]] = {document.id: [] for document in packet.documents}
    for field in sketch.fields:
        if field.file >= len(places):
            raise BadRequest(f"{describe(field)} stands in a file that is not there. Load the page again.")
        document_id, number = places[field.file]
        made = _known_field(field, fields, signers, parties)
        by_document[document_id].append(replace(made, file=number))
    return Laid(
        [_known_party(party, parties[party.key], signers, codes) for party in sketch.parties],
        by_document,
    )


def _known_party(party: SketchParty, id: str, ids: Mapping[str, str], codes: Mapping[str, str]) -> KnownParty:
    signers = [
        KnownSigner(
            name=one.name,
            email=one.email,
            language=one.language,
            auth=one.auth,
            access_code=codes.get(one.key) if one.auth == "access_code" else None,
            time_zone=one.time_zone,
            role=one.role,
            delegation=one.delegation,
            id=ids[one.key],
        )
        for one in party.signers
    ]
    name = party.name or (signers[0].name if signers else "")
    return KnownParty(name, signers, party.order, party.rule, party.quorum, party.on_decline, id=id)


def _known_field(
    field: SketchField, ids: Mapping[str, str], signers: Mapping[str, str], parties: Mapping[str, str]
) -> KnownField:
    if field.who not in signers and field.who not in parties:
        raise BadRequest(f"{describe(field)} is nobody's: choose who fills it in")
    told = {name: value for name, value in asdict(field).items() if name in KnownField.__struct_fields__}
    condition = field.show_if
    return KnownField(
        **told
        | {
            "id": ids[field.key],
            "signer": signers.get(field.who),
            "party": parties.get(field.who),
            **{name: getattr(field, name) or None for name in ("label", "default", "pattern", "group", "hint")},
            "show_if": ShowIf(ids.get(condition.field, condition.field), condition.equals) if condition else None,
        }
    )


def describe(field: SketchField | NewField) -> str:
    """How people are told of the field."""
    return field.label or f"The {field.type} field on page {field.page}"

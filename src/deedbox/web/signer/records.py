"""What the signer's client is told, and what it sends."""

from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta

from deedbox.kernel import limits
from deedbox.kernel.constraints import Constraints, exactly_one
from deedbox.kernel.redacted import Redacted
from deedbox.pdf.marks.fonts import Hand
from deedbox.pdf.marks.strokes import Side, Stroke
from deedbox.signing.model import Field, Message, Role, Status

_TEXT = limits.NO_NUL
Value = Annotated[
    str,
    Meta(
        max_length=limits.FIELD_VALUE_CHARS,
        description="Empty for none. A date as 2026-05-03; a number as 1234.5 or as the signer's language writes it,"
        " unless that is another number; `true` or `false` for a checkbox, and for a radio"
        " button.",
        extra_json_schema=_TEXT,
    ),
]
FieldId = Annotated[str, Meta(max_length=limits.CURSOR_CHARS, pattern="^fld_[0-9A-Z]{26}$")]
Values = Annotated[dict[FieldId, Value], Meta(max_length=limits.DOCUMENT_FIELDS)]


class SessionDocument(msgspec.Struct, frozen=True):
    id: str
    """The document's id."""
    title: str
    """What it is called."""
    status: Status
    """Where it stands in its life."""
    message: Message | None
    """What the sender says; null: nothing."""


class SessionSigner(msgspec.Struct, frozen=True):
    id: str
    """The signer's id."""
    name: str
    """The signer's name."""
    status: str
    """How far this person is."""
    role: Role
    """Whether this person signs, approves, or gets a copy of the sealed file."""
    delegation: bool
    """Whether this person may pass it on to someone else now."""


class SessionParty(msgspec.Struct, frozen=True):
    name: str
    """What the party is called."""
    order: int
    """When it is this party's turn."""


class SessionFile(msgspec.Struct, frozen=True):
    id: str
    """The file's id."""
    name: str
    """The file's name."""
    pages: int
    """How many pages it has."""
    sizes: list[tuple[float, float]]
    """Width and height of each page as it is displayed, in points."""


class SessionPacketDocument(msgspec.Struct, frozen=True):
    id: str
    """The document's id."""
    title: str
    """What it is called."""
    status: Status
    """Where it stands in its life."""
    files: list[str]
    """The ids of its files among `files`; none until the code is given."""
    to_read: bool
    """Whether this person has nothing to fill in it."""


class SessionPacket(msgspec.Struct, frozen=True):
    id: str
    """The packet's id."""
    title: str
    """What it is called."""
    status: Status
    """Where all of it stands."""
    documents: list[SessionPacketDocument]
    """What is signed in one act, in the order in which it is shown."""


class SessionAttachment(msgspec.Struct, frozen=True):
    """A file that was given for a field."""

    field: str
    """The field's id."""
    signer: str
    """The id of the signer who gave it."""
    name: str
    """The file's name."""
    sha256: str
    """The SHA-256 of the bytes that came."""
    size_bytes: int
    """How many bytes came."""
    pages: int
    """How many pages it has."""
    sizes: list[tuple[float, float]]
    """Width and height of each page as it is displayed, in points."""


class SessionRecord(msgspec.Struct, frozen=True):
    document: SessionDocument
    """What is to be signed; of a packet, its first document."""
    signer: SessionSigner
    """Who signs."""
    party: SessionParty
    """For which party."""
    needs: Literal["code"] | None
    """What has to be given before anything is shown."""
    files: list[SessionFile]
    """The files to read; none until the code is given."""
    fields: list[Field]
    """What this signer fills in; without those that are not shown, whatever is filled in."""
    attachments: list[SessionAttachment]
    """The files that were given for fields: by this signer so far, and by those who have signed before."""
    consent_text: str
    """In the signer's language."""
    outcome: str | None
    """What became of it, once the signer has no more to do."""
    packet: SessionPacket | None
    """The packet whose documents are signed together; null for a document that is sent by itself."""


class CodeBody(Redacted, frozen=True, forbid_unknown_fields=True):
    code: Annotated[str, Meta(min_length=1, max_length=limits.ACCESS_CODE_CHARS)]
    """The code that was mailed, or the one that the sender told."""


class ValuesBody(msgspec.Struct, forbid_unknown_fields=True):
    values: Values
    """What is filled in so far, by the field's id."""


class Typed(msgspec.Struct, forbid_unknown_fields=True, tag="typed", tag_field="kind"):
    text: Annotated[str, Meta(min_length=1, max_length=limits.SIGNER_NAME_CHARS, extra_json_schema=_TEXT)]
    """The name, to be written in a script."""
    hand: Hand = "dancing"
    """In which hand: Dancing Script, Caveat or Great Vibes; scripts that it lacks are written in another."""


class Drawn(msgspec.Struct, forbid_unknown_fields=True, tag="drawn", tag_field="kind"):
    """A drawn signature: its strokes, or an image of it."""

    constraints: ClassVar[Constraints] = (exactly_one("strokes", "image"),)

    strokes: Annotated[list[Stroke], Meta(min_length=1, max_length=limits.DRAWING_STROKES)] | None = None
    """What the hand drew, stroke by stroke: of each point x and y on the pad, from its top left corner, the force from
    0 to 1 (0 where the device tells none) and the time in milliseconds. It is sealed as lines, not as pixels."""
    width: Side = limits.PAD_WIDTH
    """Of the pad, in the units of x and y."""
    height: Side = limits.PAD_HEIGHT
    """Of the pad, in the units of x and y."""
    image: Annotated[str, Meta(max_length=2 * limits.SIGNATURE_IMAGE_BYTES)] | None = None
    """A data URL, PNG or JPEG."""


class UploadedMark(msgspec.Struct, forbid_unknown_fields=True, tag="uploaded", tag_field="kind"):
    image: Annotated[str, Meta(max_length=2 * limits.SIGNATURE_IMAGE_BYTES)]
    """A data URL, PNG or JPEG."""


class CompleteBody(msgspec.Struct, forbid_unknown_fields=True):
    consent: bool
    """Must be true: the signer agrees to the consent text."""
    signature: Typed | Drawn | UploadedMark | None = None
    """How the signer signs; an approver gives none."""
    initials: Typed | Drawn | UploadedMark | None = None
    """For fields of initials; without them, the first letters of the signer's name stand there."""
    values: Values = {}
    """What is filled in, by the field's id, beside what was kept before."""


class DeclineBody(msgspec.Struct, forbid_unknown_fields=True):
    reason: Annotated[str, Meta(max_length=limits.REASON_CHARS, extra_json_schema=_TEXT)] | None = None
    """Why, as the sender is told."""


class Acted(msgspec.Struct, frozen=True):
    status: Literal["signed", "approved", "declined", "delegated"]
    """What the signer has done."""
    document_status: Status
    """Where the document stands now, or all of the packet."""


class Done(msgspec.Struct, frozen=True):
    status: Literal["ok"] = "ok"

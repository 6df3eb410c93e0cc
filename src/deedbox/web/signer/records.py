"""What the signer's client is told, and what it sends."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from deedbox.kernel import limits
from deedbox.signing.model import Field, Message, Status

_TEXT = limits.NO_NUL
Value = Annotated[
    str,
    Meta(
        max_length=limits.FIELD_VALUE_CHARS,
        description="Empty for none. A date as 2026-05-03; a number as 1234.5 or as the signer's language writes it,"
        " unless that is another number; `true` or `false` for a checkbox.",
        extra_json_schema=_TEXT,
    ),
]
FieldId = Annotated[str, Meta(max_length=limits.CURSOR_CHARS, pattern="^fld_[0-9A-Z]{26}$")]
Values = Annotated[dict[FieldId, Value], Meta(max_length=limits.DOCUMENT_FIELDS)]


class SessionDocument(msgspec.Struct, frozen=True):
    id: str
    title: str
    status: Status
    message: Message | None


class SessionSigner(msgspec.Struct, frozen=True):
    id: str
    name: str
    status: str


class SessionParty(msgspec.Struct, frozen=True):
    name: str
    order: int


class SessionFile(msgspec.Struct, frozen=True):
    id: str
    name: str
    pages: int
    sizes: Annotated[
        list[tuple[float, float]], Meta(description="Width and height of each page as it is displayed, in points.")
    ]


class SessionRecord(msgspec.Struct, frozen=True):
    document: SessionDocument
    signer: SessionSigner
    party: SessionParty
    needs: Annotated[Literal["code"] | None, Meta(description="What has to be given before anything is shown.")]
    files: list[SessionFile]
    fields: list[Field]
    consent_text: Annotated[str, Meta(description="In the signer's language.")]
    outcome: Annotated[str | None, Meta(description="What became of it, once the signer has no more to do.")]


class CodeBody(msgspec.Struct, forbid_unknown_fields=True):
    code: Annotated[str, Meta(min_length=1, max_length=limits.ACCESS_CODE_CHARS)]


class ValuesBody(msgspec.Struct, forbid_unknown_fields=True):
    values: Values


class Typed(msgspec.Struct, forbid_unknown_fields=True, tag="typed", tag_field="kind"):
    text: Annotated[str, Meta(min_length=1, max_length=limits.SIGNER_NAME_CHARS, extra_json_schema=_TEXT)]


class Drawn(msgspec.Struct, forbid_unknown_fields=True, tag="drawn", tag_field="kind"):
    image: Annotated[str, Meta(max_length=2 * limits.SIGNATURE_IMAGE_BYTES, description="A data URL, PNG or JPEG.")]


class Uploaded(msgspec.Struct, forbid_unknown_fields=True, tag="uploaded", tag_field="kind"):
    image: Annotated[str, Meta(max_length=2 * limits.SIGNATURE_IMAGE_BYTES, description="A data URL, PNG or JPEG.")]


class CompleteBody(msgspec.Struct, forbid_unknown_fields=True):
    consent: Annotated[bool, Meta(description="Must be true: the signer agrees to the consent text.")]
    signature: Typed | Drawn | Uploaded
    initials: Annotated[
        Typed | Drawn | Uploaded | None,
        Meta(description="For fields of initials; without them, the first letters of the signer's name stand there."),
    ] = None
    values: Values = {}


class DeclineBody(msgspec.Struct, forbid_unknown_fields=True):
    reason: Annotated[str, Meta(max_length=limits.REASON_CHARS, extra_json_schema=_TEXT)] | None = None


class Acted(msgspec.Struct, frozen=True):
    status: Literal["signed", "declined"]
    document_status: Status


class Done(msgspec.Struct, frozen=True):
    status: Literal["ok"] = "ok"

"""The body of a request for a document, and what it asks for."""

import base64
import binascii
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta

from deedbox.kernel import limits
from deedbox.kernel.clock import instant
from deedbox.kernel.errors import BadRequest
from deedbox.kernel.mailbox import checked_address
from deedbox.signing.document import Auth, FieldType, Message, OnDecline, Reminders, Rule
from deedbox.signing.wishes import NewDocument, NewField, NewFile, NewParty, NewSigner
from deedbox.web.frame import moments, openapi

_TEXT = {"pattern": openapi.NO_NUL}
Name = Annotated[str, Meta(min_length=1, max_length=limits.SIGNER_NAME_CHARS, extra_json_schema=_TEXT)]
Email = Annotated[
    str,
    Meta(
        min_length=3,
        max_length=limits.EMAIL_CHARS,
        pattern=r"^[^@\s\x00-\x1f<>,;]+@[^@\s\x00-\x1f<>,;]+$",
        extra={"words": "not an e-mail address"},
        description="An e-mail address; it is compared in lower case.",
    ),
]
Language = Annotated[str, Meta(max_length=5, pattern="^[a-z]{2}(-[A-Z]{2})?$", description="Such as `en` or `de`.")]
Fraction = Annotated[float, Meta(ge=0, le=1, description="A fraction of the page as it is displayed.")]
Label = Annotated[str, Meta(min_length=1, max_length=limits.FIELD_LABEL_CHARS, extra_json_schema=_TEXT)]
FieldValue = Annotated[str, Meta(max_length=limits.FIELD_VALUE_CHARS, extra_json_schema=_TEXT)]
MetadataName = Annotated[str, Meta(min_length=1, max_length=limits.METADATA_NAME_CHARS, extra_json_schema=_TEXT)]
MetadataValue = Annotated[str, Meta(max_length=limits.METADATA_VALUE_CHARS, extra_json_schema=_TEXT)]
Metadata = Annotated[dict[MetadataName, MetadataValue], Meta(max_length=limits.METADATA_ENTRIES)]


class NewFileBody(msgspec.Struct, forbid_unknown_fields=True):
    name: Annotated[str, Meta(min_length=1, max_length=limits.FILENAME_CHARS, extra_json_schema=_TEXT)]
    content_base64: Annotated[
        str, Meta(min_length=4, max_length=limits.DOCUMENT_JSON_BYTES, description="The bytes of the file, in base64.")
    ]

    def content(self) -> bytes:
        try:
            return base64.b64decode(self.content_base64, validate=True)
        except (binascii.Error, ValueError) as error:
            raise BadRequest(f"{self.name}: content_base64 is not base64") from error


class NewSignerBody(msgspec.Struct, forbid_unknown_fields=True):
    name: Name
    email: Email
    language: Language | None = None
    auth: Auth = "none"
    access_code: Annotated[str, Meta(min_length=4, max_length=limits.ACCESS_CODE_CHARS)] | None = None

    def wish(self) -> NewSigner:
        return NewSigner(self.name, checked_address(self.email).lower(), self.language, self.auth, self.access_code)


class LoneSignerBody(NewSignerBody, forbid_unknown_fields=True):
    order: Annotated[int, Meta(ge=1, le=limits.PARTY_ORDER_MAX, description="Lower ones sign first.")] = 1


class NewPartyBody(msgspec.Struct, forbid_unknown_fields=True):
    name: Name
    signers: Annotated[list[NewSignerBody], Meta(min_length=1, max_length=limits.DOCUMENT_SIGNERS)]
    order: Annotated[int, Meta(ge=1, le=limits.PARTY_ORDER_MAX, description="Lower ones sign first.")] = 1
    rule: Rule = "all"
    quorum: Annotated[int, Meta(ge=1, le=limits.DOCUMENT_SIGNERS)] | None = None
    on_decline: OnDecline = "decline_document"

    def wish(self) -> NewParty:
        signers = [one.wish() for one in self.signers]
        return NewParty(self.name, signers, self.order, self.rule, self.quorum, self.on_decline)


class NewFieldBody(msgspec.Struct, forbid_unknown_fields=True):
    type: FieldType
    page: Annotated[int, Meta(ge=1, le=limits.DOCUMENT_PAGES)]
    x: Fraction
    y: Fraction
    w: Annotated[float, Meta(gt=0, le=1)]
    h: Annotated[float, Meta(gt=0, le=1)]
    file: Annotated[int, Meta(ge=0, le=limits.DOCUMENT_FILES, description="Which of the files, from 0.")] = 0
    signer: Annotated[Email | None, Meta(description="The e-mail address of the signer who fills it.")] = None
    party: Annotated[Name | None, Meta(description="Or the name of the party, any of whom fills it.")] = None
    required: bool = True
    label: Label | None = None
    default: FieldValue | None = None
    options: Annotated[list[FieldValue], Meta(max_length=limits.FIELD_OPTIONS)] = []

    def wish(self) -> NewField:
        return NewField(**{name: getattr(self, name) for name in self.__struct_fields__})


class MessageBody(msgspec.Struct, forbid_unknown_fields=True):
    subject: Annotated[str, Meta(max_length=limits.MESSAGE_SUBJECT_CHARS, pattern=r"^[^\x00-\x1f]*$")]
    body: Annotated[str, Meta(max_length=limits.MESSAGE_BODY_CHARS, extra_json_schema=_TEXT)]

    def wish(self) -> Message:
        return Message(self.subject, self.body)


class RemindersBody(msgspec.Struct, forbid_unknown_fields=True):
    first_after_hours: Annotated[int, Meta(ge=1, le=limits.REMINDER_HOURS_MAX)]
    every_hours: Annotated[int, Meta(ge=1, le=limits.REMINDER_HOURS_MAX)]
    max: Annotated[int, Meta(ge=1, le=limits.REMINDERS_MAX)]

    def wish(self) -> Reminders:
        return Reminders(self.first_after_hours, self.every_hours, self.max)


def parties_wish(parties: Sequence[NewPartyBody], signers: Sequence[LoneSignerBody]) -> list[NewParty]:
    """The parties that are asked for; a lone signer is one that nobody named."""
    if parties and signers:
        raise BadRequest("Give parties or signers, not both")
    lone = [NewParty(one.name, [one.wish()], one.order, declared=False) for one in signers]
    return [party.wish() for party in parties] or lone


class NewDocumentBody(msgspec.Struct, forbid_unknown_fields=True):
    title: Annotated[str, Meta(min_length=1, max_length=limits.TITLE_CHARS, extra_json_schema=_TEXT)]
    file: NewFileBody | None = None
    files: Annotated[list[NewFileBody], Meta(max_length=limits.DOCUMENT_FILES)] = []
    parties: Annotated[list[NewPartyBody], Meta(max_length=limits.DOCUMENT_PARTIES)] = []
    signers: Annotated[list[LoneSignerBody], Meta(max_length=limits.DOCUMENT_PARTIES)] = []
    fields: Annotated[list[NewFieldBody], Meta(max_length=limits.DOCUMENT_FIELDS)] = []
    message: MessageBody | None = None
    metadata: Metadata = {}
    external_id: (
        Annotated[str, Meta(min_length=1, max_length=limits.EXTERNAL_ID_CHARS, extra_json_schema=_TEXT)] | None
    ) = None
    expires_at: Annotated[datetime, Meta(tz=True)] | None = None
    reminders: RemindersBody | None = None
    language: Language = "en"
    require_timestamp: Annotated[
        bool, Meta(description="Complete it only with a time-stamp of the authority that the server's settings name.")
    ] = False
    send: Annotated[bool, Meta(description="Send it at once; needs documents:send.")] = False

    def sources(self) -> list[NewFileBody]:
        """The files that the body itself carries."""
        if self.file is not None and self.files:
            raise BadRequest("Give file or files, not both")
        return [self.file] if self.file is not None else self.files

    def wish(self, files: Sequence[NewFile], now: datetime) -> NewDocument:
        """What the request asks for, with its files stored."""
        expires = moments.in_utc("expires_at", self.expires_at)
        if expires is not None and expires <= now:
            raise BadRequest("expires_at must lie ahead")
        return NewDocument(
            title=self.title,
            files=files,
            parties=parties_wish(self.parties, self.signers),
            fields=[field.wish() for field in self.fields],
            message=self.message.wish() if self.message else None,
            metadata=self.metadata,
            external_id=self.external_id,
            expires_at=instant(expires) if expires else None,
            reminders=self.reminders.wish() if self.reminders else None,
            language=self.language,
            require_timestamp=self.require_timestamp,
        )

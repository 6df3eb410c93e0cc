"""What a sender asks for: a new document with its parties and fields, or a change of one."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from deedbox.kernel import limits
from deedbox.kernel.blobs import Received
from deedbox.kernel.clock import instant
from deedbox.kernel.crypto import Secret
from deedbox.kernel.errors import BadRequest
from deedbox.kernel.mailbox import checked_address
from deedbox.pdf.signed_input import SignedInput
from deedbox.signing.model import Auth, FieldType, Message, OnDecline, Party, Reminders, Rule, Signer

_TEXT = limits.NO_NUL
Title: TypeAlias = Annotated[str, Meta(min_length=1, max_length=limits.TITLE_CHARS, extra_json_schema=_TEXT)]
Name: TypeAlias = Annotated[str, Meta(min_length=1, max_length=limits.SIGNER_NAME_CHARS, extra_json_schema=_TEXT)]
Email: TypeAlias = Annotated[
    str,
    Meta(
        min_length=3,
        max_length=limits.EMAIL_CHARS,
        pattern=r"^[^@\s\x00-\x1f<>,;]+@[^@\s\x00-\x1f<>,;]+$",
        description="An e-mail address; it is compared in lower case.",
        extra={"words": "not an e-mail address"},
    ),
]
Language: TypeAlias = Annotated[
    str, Meta(max_length=5, pattern="^[a-z]{2}(-[A-Z]{2})?$", description="Such as `en` or `de`.")
]
TimeZone: TypeAlias = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=limits.TIME_ZONE_CHARS,
        pattern=r"^[A-Za-z0-9_+/-]+$",
        description="The IANA name of the zone in which times are told to the person, such as `Europe/Berlin`.",
        extra={"words": "not the IANA name of a time zone, such as Europe/Berlin"},
    ),
]
Fraction: TypeAlias = Annotated[float, Meta(ge=0, le=1, description="A fraction of the page as it is displayed.")]
Id: TypeAlias = Annotated[str, Meta(max_length=limits.CURSOR_CHARS, extra_json_schema=_TEXT)]
Handle: TypeAlias = Annotated[str, Meta(min_length=1, max_length=limits.HANDLE_CHARS, extra_json_schema=_TEXT)]
"""What someone is known by: an id, an e-mail address or a name."""
FileNumber: TypeAlias = Annotated[int, Meta(ge=0, le=limits.DOCUMENT_FILES)]
Label: TypeAlias = Annotated[str, Meta(min_length=1, max_length=limits.FIELD_LABEL_CHARS, extra_json_schema=_TEXT)]
FieldValue: TypeAlias = Annotated[str, Meta(max_length=limits.FIELD_VALUE_CHARS, extra_json_schema=_TEXT)]
MetadataName: TypeAlias = Annotated[
    str, Meta(min_length=1, max_length=limits.METADATA_NAME_CHARS, extra_json_schema=_TEXT)
]
MetadataValue: TypeAlias = Annotated[str, Meta(max_length=limits.METADATA_VALUE_CHARS, extra_json_schema=_TEXT)]
Metadata: TypeAlias = Annotated[dict[MetadataName, MetadataValue], Meta(max_length=limits.METADATA_ENTRIES)]
Order: TypeAlias = Annotated[int, Meta(ge=1, le=limits.PARTY_ORDER_MAX, description="Lower ones sign first.")]
Moment: TypeAlias = Annotated[datetime, Meta(tz=True)]
FilePassword: TypeAlias = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=limits.FILE_PASSWORD_CHARS,
        description="Opens a PDF that is locked. It is used once and kept nowhere.",
    ),
]


class NewSigner(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: Name
    email: Email
    language: Language | None = None
    auth: Auth = "none"
    access_code: Annotated[str, Meta(min_length=4, max_length=limits.ACCESS_CODE_CHARS)] | None = None
    time_zone: TimeZone | None = None

    @property
    def address(self) -> str:
        """The e-mail address as it is kept and compared; BadRequest if no mail could reach it."""
        return checked_address(self.email).lower()


class LoneSigner(NewSigner, frozen=True, forbid_unknown_fields=True):
    order: Order = 1


class NewParty(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: Name
    signers: Annotated[Sequence[NewSigner], Meta(min_length=1, max_length=limits.DOCUMENT_SIGNERS)]
    order: Order = 1
    rule: Rule = "all"
    quorum: Annotated[int, Meta(ge=1, le=limits.DOCUMENT_SIGNERS)] | None = None
    on_decline: OnDecline = "decline_document"


class NewField(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    type: FieldType
    page: Annotated[int, Meta(ge=1, le=limits.DOCUMENT_PAGES)]
    x: Fraction
    y: Fraction
    w: Annotated[float, Meta(gt=0, le=1)]
    h: Annotated[float, Meta(gt=0, le=1)]
    file: Annotated[FileNumber | Id, Meta(description="Which of the files: its number from 0, or its id.")] = 0
    signer: Annotated[
        Handle | None, Meta(description="Who fills it: an id, an e-mail address or a name; an id in answers.")
    ] = None
    party: Annotated[
        Handle | None, Meta(description="Or the party, any of whom fills it: an id or a name; an id in answers.")
    ] = None
    required: bool = True
    label: Label | None = None
    default: FieldValue | None = None
    options: Annotated[Sequence[FieldValue], Meta(max_length=limits.FIELD_OPTIONS)] = []
    font_size: Annotated[
        Annotated[float, Meta(ge=limits.FONT_SIZE_MIN, le=limits.FONT_SIZE_MAX)] | None,
        Meta(description="Points at which its text is set if there is room; 11 unless given."),
    ] = None

    @property
    def file_number(self) -> int:
        """Which of the files, from 0; BadRequest for an id, which a document has once it is made (see `numbered`)."""
        if isinstance(self.file, str):
            raise BadRequest(f"A field names the file {self.file}, which the document does not have")
        return self.file


class KnownSigner(NewSigner, frozen=True, forbid_unknown_fields=True):
    """A signer of a draft as they are to be, or another one."""

    id: Id | None = None


class KnownParty(NewParty, frozen=True, forbid_unknown_fields=True):
    """A party of a draft as it is to be, or another one."""

    signers: Annotated[Sequence[KnownSigner], Meta(min_length=1, max_length=limits.DOCUMENT_SIGNERS)]
    id: Id | None = None


class KnownField(NewField, frozen=True, forbid_unknown_fields=True):
    """A field of a draft as it is to be, or another one."""

    id: Id | None = None


class NewFile(msgspec.Struct, frozen=True):
    """A file as it came, stored and not yet adopted."""

    name: str
    original: Received
    password: Secret | None = None


class NewDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    title: Title
    parties: Annotated[Sequence[NewParty], Meta(max_length=limits.DOCUMENT_PARTIES)] = []
    signers: Annotated[
        Sequence[LoneSigner],
        Meta(max_length=limits.DOCUMENT_PARTIES, description="Each a party of its own; instead of parties."),
    ] = []
    fields: Annotated[Sequence[NewField], Meta(max_length=limits.DOCUMENT_FIELDS)] = []
    message: Message | None = None
    metadata: Metadata = {}
    external_id: (
        Annotated[str, Meta(min_length=1, max_length=limits.EXTERNAL_ID_CHARS, extra_json_schema=_TEXT)] | None
    ) = None
    expires_at: Moment | None = None
    reminders: Reminders | None = None
    language: Language = "en"
    require_timestamp: Annotated[
        bool, Meta(description="Complete it only with a time-stamp of the authority that the server's settings name.")
    ] = False
    signed_input: Annotated[
        SignedInput,
        Meta(
            description="What to do with a PDF that is already signed: refuse it, or check and name its signatures and"
            " keep only how they look."
        ),
    ] = "refuse"
    send: Annotated[bool, Meta(description="Send it at once; needs documents:send.")] = False


class SignerChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    id: Id
    email: Email


class UnlockedFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of the document that only opens with its password."""

    id: Id
    password: FilePassword


class DocumentChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is given is changed; the rest stays. After sending, only expiry, reminders, metadata and addresses are."""

    title: Title | UnsetType = UNSET
    metadata: Metadata | UnsetType = UNSET
    expires_at: Moment | UnsetType | None = UNSET
    reminders: Reminders | UnsetType | None = UNSET
    signers: Annotated[
        Sequence[SignerChange],
        Meta(max_length=limits.DOCUMENT_SIGNERS, description="Corrected e-mail addresses of signers who are known."),
    ] = []
    message: Message | UnsetType | None = UNSET
    parties: Annotated[
        Annotated[Sequence[KnownParty], Meta(max_length=limits.DOCUMENT_PARTIES)] | UnsetType,
        Meta(description="Take the place of all parties of a draft."),
    ] = UNSET
    fields: Annotated[
        Annotated[Sequence[KnownField], Meta(max_length=limits.DOCUMENT_FIELDS)] | UnsetType,
        Meta(description="Take the place of the fields that were asked for; text tags in the files stay."),
    ] = UNSET
    signed_input: SignedInput | UnsetType = UNSET
    files: Annotated[
        Sequence[UnlockedFile],
        Meta(
            max_length=limits.DOCUMENT_FILES,
            description="The passwords of locked files, which other parties or fields of a draft make necessary again.",
        ),
    ] = []

    @property
    def needs_paper(self) -> bool:
        """Whether the files have to be taken in again."""
        return any(one is not UNSET for one in (self.parties, self.fields, self.signed_input))

    def check(self, now: datetime) -> None:
        """Raises BadRequest for a change that could be made of no document."""
        lists = ("signers", "files")
        given = [name for name in self.__struct_fields__ if getattr(self, name) is not UNSET and name not in lists]
        if not given and not self.signers:
            raise BadRequest("Nothing is to be changed")
        if self.expires_at is not UNSET:
            end_of(self.expires_at, now)
        for signer in self.signers:
            checked_address(signer.email)


def end_of(expires_at: datetime | None, now: datetime) -> str | None:
    """The end as it is kept; BadRequest unless it lies ahead."""
    if expires_at is None:
        return None
    try:
        end = expires_at.astimezone(UTC)
    except OverflowError as error:
        raise BadRequest("expires_at lies outside the years 1 to 9999") from error
    if end <= now:
        raise BadRequest("expires_at must lie ahead")
    return instant(end)


def without_field(parties: Sequence[NewParty | Party], fields: Sequence[NewField]) -> int:
    """How many signers have no signature field among these."""
    signing = [field for field in fields if field.type == "signature"]
    return sum(
        not any(is_called(signer, field.signer) or is_called(party, field.party) for field in signing)
        for party in parties
        for signer in party.signers
    )


def is_called(someone: NewParty | Party | NewSigner | Signer, handle: str | None) -> bool:
    """Whether this is the id, the name or the e-mail address of the party or the signer."""
    known = (getattr(someone, name, None) for name in ("id", "name", "email", "address"))
    return handle is not None and handle.casefold() in {one.casefold() for one in known if one}


def numbered(fields: Sequence[KnownField], file_ids: Sequence[str]) -> list[KnownField]:
    """The fields with the numbers of their files instead of ids."""
    numbers: dict[str | int, int] = {file_id: number for number, file_id in enumerate(file_ids)}
    return [msgspec.structs.replace(field, file=numbers.get(field.file, field.file)) for field in fields]

"""What a sender asks for: a new document with its parties and fields, or a change of one."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, ClassVar, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType

from deedbox import i18n
from deedbox.kernel import constraints
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.blobs import ReceivedBlob
from deedbox.kernel.clock import instant
from deedbox.kernel.constraints import (
    LEFT_OUT,
    SENT,
    Constraint,
    Constraints,
    Is,
    IsNot,
    at_least_one,
    at_most_one,
    exactly_one,
    never_with,
    only_with,
)
from deedbox.kernel.crypto import Secret
from deedbox.kernel.errors import BadRequest
from deedbox.kernel.mailbox import checked_address
from deedbox.kernel.redacted import Redacted
from deedbox.kernel.zones import checked_zone
from deedbox.pdf.intake.signed_input import SignedInput
from deedbox.signing import limits
from deedbox.signing.model import (
    Auth,
    Field,
    FieldType,
    Message,
    OnDecline,
    Party,
    Reminders,
    Role,
    Rule,
    ShowIf,
    Signer,
)

_TEXT = shared_limits.NO_NUL
Title: TypeAlias = Annotated[str, Meta(min_length=1, max_length=shared_limits.TITLE_CHARS, extra_json_schema=_TEXT)]
_NO_LINES = r"\x00-\x1f\x7f-\x9f\u2028\u2029"
_UNSEEN = rf"\s\xad\u200b-\u200f\u2060\ufeff{_NO_LINES}"
Name: TypeAlias = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=shared_limits.SIGNER_NAME_CHARS,
        pattern=rf"^[^{_NO_LINES}]*[^{_UNSEEN}][^{_NO_LINES}]*$(?!\n)",
        extra={"words": "not a name: it has a letter that can be seen, and no line breaks or control characters"},
    ),
]
Email: TypeAlias = Annotated[
    str,
    Meta(
        min_length=3,
        max_length=shared_limits.EMAIL_CHARS,
        pattern=r"^[^@\s\x00-\x1f<>,;]+@[^@\s\x00-\x1f<>,;]+$",
        description="An e-mail address; it is compared in lower case.",
        extra={"words": "not an e-mail address"},
    ),
]
_LANGUAGES = list(i18n.LANGUAGES)
Language: TypeAlias = Annotated[
    str,
    Meta(
        max_length=5,
        pattern=rf"^({'|'.join(_LANGUAGES)})(-[A-Z]{{2}})?$(?!\n)",
        description=f"One of {', '.join(f'`{one}`' for one in _LANGUAGES)}; a region may follow, as in `de-AT`.",
        extra={"words": f"not one of the languages {', '.join(_LANGUAGES[:-1])} and {_LANGUAGES[-1]}"},
    ),
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
Id: TypeAlias = Annotated[str, Meta(max_length=shared_limits.CURSOR_CHARS, extra_json_schema=_TEXT)]
Handle: TypeAlias = Annotated[str, Meta(min_length=1, max_length=limits.HANDLE_CHARS, extra_json_schema=_TEXT)]
"""What someone is known by: an id, an e-mail address or a name."""
FileNumber: TypeAlias = Annotated[int, Meta(ge=0, le=shared_limits.DOCUMENT_FILES)]
Label: TypeAlias = Annotated[
    str, Meta(min_length=1, max_length=shared_limits.FIELD_LABEL_CHARS, extra_json_schema=_TEXT)
]
FieldValue: TypeAlias = Annotated[str, Meta(max_length=shared_limits.FIELD_VALUE_CHARS, extra_json_schema=_TEXT)]
MetadataName: TypeAlias = Annotated[
    str, Meta(min_length=1, max_length=limits.METADATA_NAME_CHARS, extra_json_schema=_TEXT)
]
MetadataValue: TypeAlias = Annotated[str, Meta(max_length=limits.METADATA_VALUE_CHARS, extra_json_schema=_TEXT)]
Metadata: TypeAlias = Annotated[dict[MetadataName, MetadataValue], Meta(max_length=limits.METADATA_ENTRIES)]
Order: TypeAlias = Annotated[int, Meta(ge=1, le=shared_limits.PARTY_ORDER_MAX, description="Lower ones sign first.")]
AccessCode: TypeAlias = Annotated[
    str,
    Meta(
        min_length=shared_limits.ACCESS_CODE_CHARS_MIN,
        max_length=shared_limits.ACCESS_CODE_CHARS,
        description="What the sender has agreed with the person. It is kept as a hash, and never shown again.",
    ),
]
Moment: TypeAlias = Annotated[datetime, Meta(tz=True)]
Hours: TypeAlias = Annotated[int, Meta(ge=1, le=shared_limits.EXPIRES_AFTER_HOURS_MAX)]
ExternalId: TypeAlias = Annotated[str, Meta(min_length=1, max_length=limits.EXTERNAL_ID_CHARS, extra_json_schema=_TEXT)]
FilePassword: TypeAlias = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=shared_limits.FILE_PASSWORD_CHARS,
        description="Opens a PDF that is locked. It is used once and kept nowhere.",
    ),
]


_ACCESS_CODE, _NO_ACCESS_CODE = Is(("access_code",)), IsNot(("access_code",))
ACCESS_CODE = Constraint(
    "Send `access_code` with `auth` `access_code`, and with no other `auth`.",
    ({"auth": _NO_ACCESS_CODE, "access_code": LEFT_OUT}, {"auth": _ACCESS_CODE, "access_code": SENT}),
    exclusive=True,
)
KNOWN_ACCESS_CODE = Constraint(
    "Send `access_code` only with `auth` `access_code`, and always with it unless an `id` names a signer who has one.",
    (*ACCESS_CODE.choices, {"auth": _ACCESS_CODE, "id": SENT}),
)
DELEGATION = Constraint(
    "Do not send `delegation` with `auth` `access_code`: the code was agreed with this person alone.",
    ({"delegation": Is((False,))}, {"auth": _NO_ACCESS_CODE}),
)
QUORUM = Constraint(
    "Send `quorum` with `rule` `quorum`, and with no other `rule`.",
    ({"rule": IsNot(("quorum",)), "quorum": LEFT_OUT}, {"rule": Is(("quorum",)), "quorum": SENT}),
    exclusive=True,
)


class NewSigner(Redacted, frozen=True, forbid_unknown_fields=True):
    constraints: ClassVar[Constraints] = (ACCESS_CODE, DELEGATION)

    name: Name
    """The signer's name, as it stands on the certificate."""
    email: Email
    """Where the invitation goes; it is compared in lower case."""
    language: Language | None = None
    """The language of the mails and pages for this person; that of the document unless given."""
    auth: Auth = "none"
    """What the person has to give beside the link."""
    access_code: AccessCode | None = None
    """With `auth` `access_code`: what you have agreed with the person. It is kept as a hash, and never shown again."""
    time_zone: TimeZone | None = None
    """The IANA name of the zone in which times are told to the person, such as `Europe/Berlin`; reminders come by day
    there, and a `date_signed` is the day there."""
    role: Role = "signer"
    """`signer` signs; `approver` agrees without a mark on the page; `cc` is never waited for and gets a copy of the
    sealed file."""
    delegation: bool = False
    """Whether the person may pass it on to someone else, once; not with `auth` `access_code`."""

    @property
    def address(self) -> str:
        """The e-mail address as it is kept and compared; BadRequest if no mail could reach it."""
        return checked_address(self.email).lower()


People: TypeAlias = Annotated[
    dict[
        Name, NewSigner | Annotated[Sequence[NewSigner], Meta(min_length=1, max_length=shared_limits.DOCUMENT_SIGNERS)]
    ],
    Meta(max_length=shared_limits.DOCUMENT_PARTIES),
]
"""Who has which role of a template: one person, or several."""


class LoneSigner(NewSigner, frozen=True, forbid_unknown_fields=True):
    order: Order = 1
    """When it is this signer's turn: lower ones first, equal ones side by side."""


class NewParty(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    constraints: ClassVar[Constraints] = (QUORUM,)

    name: Name
    """What the party is called."""
    signers: Annotated[Sequence[NewSigner], Meta(min_length=1, max_length=shared_limits.DOCUMENT_SIGNERS)]
    """The people who sign for it."""
    order: Order = 1
    """When it is this party's turn: lower ones first, equal ones side by side."""
    rule: Rule = "all"
    """Who of its signers has to sign."""
    quorum: Annotated[int, Meta(ge=1, le=shared_limits.DOCUMENT_SIGNERS)] | None = None
    """How many have to sign, with the rule `quorum`."""
    on_decline: OnDecline = "decline_document"
    """What one signer's decline does: end the document, or nothing while the rule can still be met."""


_BY_SIGNER: tuple[FieldType, ...] = ("signature", "initials", "attachment")
"""Fields that only their signer can fill."""
FILLED_BY = exactly_one("signer", "party")
TEXT_ONLY = Constraint(
    "Send `max_length` and `pattern` only with `type` `text`.",
    ({"type": Is(("text",))}, {"max_length": LEFT_OUT, "pattern": LEFT_OUT}),
)
GROUPED = Constraint(
    "With `type` `radio`, send `options`, or `group` and `label` for each button. Send `group` with no other `type`.",
    (
        {"type": Is(("radio",)), "options": LEFT_OUT, "group": SENT, "label": SENT},
        {"type": Is(("radio",)), "options": SENT, "group": LEFT_OUT},
        {"type": IsNot(("radio",)), "group": LEFT_OUT},
    ),
    exclusive=True,
)
CHOICES = Constraint("Send `options` with `type` `select`.", ({"type": IsNot(("select",))}, {"options": SENT}))
SIGNING_DATE = Constraint(
    "Do not send `default` with `type` `date_signed`: it is filled in with the day of signing. Use `date` for a day"
    " that you or the signer choose.",
    ({"type": IsNot(("date_signed",))}, {"default": Is((None, ""))}),
)
NOT_PREFILLED = Constraint(
    "Do not send `default` with `type` `signature`, `initials` or `attachment`: only the signer can fill it.",
    ({"type": IsNot(_BY_SIGNER)}, {"default": Is((None, ""))}),
)
NOT_FIXED = Constraint(
    "Do not send `read_only` with `type` `signature`, `initials` or `attachment`: only the signer can fill it.",
    ({"type": IsNot(_BY_SIGNER)}, {"read_only": Is((False,))}),
)


class NewField(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    constraints: ClassVar[Constraints] = (
        FILLED_BY,
        TEXT_ONLY,
        GROUPED,
        CHOICES,
        SIGNING_DATE,
        NOT_PREFILLED,
        NOT_FIXED,
    )

    type: FieldType
    """What is filled in. The server fills `date_signed` with the day of the signature in the signer's time zone; a
    `date` is entered by the signer."""
    page: Annotated[int, Meta(ge=1, le=shared_limits.DOCUMENT_PAGES)]
    """The page of the file, from 1."""
    x: Fraction
    """The left edge, as a fraction of the page's width as it is displayed."""
    y: Fraction
    """The upper edge, as a fraction of the page's height as it is displayed."""
    w: Annotated[float, Meta(gt=0, le=1)]
    """The width, as a fraction of the page's."""
    h: Annotated[float, Meta(gt=0, le=1)]
    """The height, as a fraction of the page's."""
    file: FileNumber | Id = 0
    """Which of the files: its number from 0, or its id."""
    signer: Handle | None = None
    """Who fills it: an id, an e-mail address or a name; an id in answers."""
    party: Handle | None = None
    """Or the party, any of whom fills it: an id or a name; an id in answers."""
    required: bool = True
    """Whether the signer can sign only once it is filled."""
    label: Label | None = None
    """What the signer is asked for."""
    default: FieldValue | None = None
    """What stands in it until the signer fills it."""
    options: Annotated[Sequence[FieldValue], Meta(max_length=shared_limits.FIELD_OPTIONS)] = []
    """The choices of a `select`, or of a `radio`: it gets a button and a printed label for each, stacked or beside each
    other in its rectangle, and its value is the option chosen."""
    font_size: Annotated[float, Meta(ge=shared_limits.FONT_SIZE_MIN, le=shared_limits.FONT_SIZE_MAX)] | None = None
    """Points at which its text is set if there is room; 11 unless given."""
    read_only: bool = False
    """Whether the signer sees it and cannot change it; it shows its default. Always true of a `date_signed`."""
    max_length: Annotated[int, Meta(ge=1, le=shared_limits.FIELD_VALUE_CHARS)] | None = None
    """The most characters that a `text` may have."""
    pattern: (
        Annotated[str, Meta(min_length=1, max_length=shared_limits.FIELD_PATTERN_CHARS, extra_json_schema=_TEXT)] | None
    ) = None
    """The regular expression that the whole of a `text` has to match, in the syntax of RE2."""
    group: (
        Annotated[str, Meta(min_length=1, max_length=shared_limits.FIELD_GROUP_CHARS, extra_json_schema=_TEXT)] | None
    ) = None
    """The group of a `radio` button without `options`: of those of one signer, one is chosen. Each has a label of its
    own."""
    show_if: ShowIf | None = None
    """When it is shown; always unless given."""
    hint: (
        Annotated[str, Meta(min_length=1, max_length=shared_limits.FIELD_HINT_CHARS, extra_json_schema=_TEXT)] | None
    ) = None
    """How to fill it in, in words for the signer: "two letters and six digits". They never see a `pattern`."""

    @property
    def is_button(self) -> bool:
        """Whether it is one radio button of a group, not a radio field that has all options."""
        return self.type == "radio" and not self.options

    @property
    def file_number(self) -> int:
        """Which of the files, from 0; BadRequest for an id, which a document has once it is made (see `numbered`)."""
        if isinstance(self.file, str):
            raise BadRequest(f"A field names the file {self.file}, which the document does not have")
        return self.file


class KnownSigner(NewSigner, frozen=True, forbid_unknown_fields=True):
    """A signer of a draft as they are to be, or another one."""

    constraints: ClassVar[Constraints] = (KNOWN_ACCESS_CODE, DELEGATION)

    id: Id | None = None
    """The signer whom it changes; without it, a new one."""


class KnownParty(NewParty, frozen=True, forbid_unknown_fields=True):
    """A party of a draft as it is to be, or another one."""

    signers: Annotated[Sequence[KnownSigner], Meta(min_length=1, max_length=shared_limits.DOCUMENT_SIGNERS)]
    """The people who sign for it."""
    id: Id | None = None
    """The party that it changes; without it, a new one."""


class KnownField(NewField, frozen=True, forbid_unknown_fields=True):
    """A field of a draft as it is to be, or another one."""

    id: Id | None = None
    """The field that it changes; without it, a new one."""


K = TypeVar("K", bound=KnownField)


class NewFile(msgspec.Struct, frozen=True):
    """A file as it came, stored and not yet adopted."""

    name: str
    original: ReceivedBlob
    password: Secret | None = None


PARTIES_OR_SIGNERS = at_most_one("parties", "signers")
TITLE = at_least_one("title", "template_id")
ROLES = only_with(["roles"], "template_id")
SAID_BY_TEMPLATE = never_with(["parties", "signers", "fields", "signed_input"], "template_id")


class NewDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    constraints: ClassVar[Constraints] = (PARTIES_OR_SIGNERS, TITLE, ROLES, SAID_BY_TEMPLATE)

    title: Title | None = None
    """What it is called, in mails and on the certificate. It may be left out where a template has a name."""
    template_id: Id | None = None
    """The template of which it is made, instead of files, parties and fields."""
    roles: People = {}
    """With `template_id`: who has which role, by its name; one person, or a list of people."""
    parties: Annotated[Sequence[NewParty], Meta(max_length=shared_limits.DOCUMENT_PARTIES)] = []
    """Who signs, and in which order."""
    signers: Annotated[Sequence[LoneSigner], Meta(max_length=shared_limits.DOCUMENT_PARTIES)] = []
    """Each a party of its own; instead of parties."""
    fields: Annotated[Sequence[NewField], Meta(max_length=shared_limits.DOCUMENT_FIELDS)] = []
    """What is filled in, and where; a signer without a signature field gets one on the last page."""
    values: Annotated[dict[Label, FieldValue], Meta(max_length=shared_limits.DOCUMENT_FIELDS)] = {}
    """What stands in fields and text tags until their signers fill them, by the labels of these."""
    message: Message | None = None
    """What the invitation says, instead of the usual words."""
    metadata: Metadata = {}
    """Your own names and values: at most {METADATA_ENTRIES}."""
    external_id: ExternalId | None = None
    """Your own id for it, by which it can be found."""
    expires_at: Moment | None = None
    """When it can no longer be signed; it must lie ahead."""
    reminders: Reminders | None = None
    """When people are reminded; never unless given."""
    language: Language | None = None
    """The language of the certificate, and of whoever has none of their own: that of the template, else `en`."""
    require_timestamp: bool = False
    """Complete it only with a time-stamp of the authority that the server's settings name."""
    signed_input: SignedInput = "refuse"
    """What to do with a PDF that is already signed: refuse it, or check and name its signatures and keep only how they
    look."""
    send: bool = False
    """Send it at once; needs documents:send."""


NAME_OR_ID = at_least_one("name", "id")
ADDRESS_ALONE = Constraint(
    "With `id`, send nothing but `email`.",
    (
        {"id": LEFT_OUT},
        dict.fromkeys(
            ("name", "language", "auth", "access_code", "time_zone", "role", "delegation", "order"), LEFT_OUT
        ),
    ),
)


class ListedSigner(LoneSigner, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Someone as POST takes them, a party of their own; or, by id, the corrected address of someone who is known."""

    constraints: ClassVar[Constraints] = (*LoneSigner.constraints, NAME_OR_ID, ADDRESS_ALONE)

    name: Name | UnsetType = UNSET  # type: ignore[assignment]
    """The signer's name, as it stands on the certificate. Needed without an id."""
    id: Id | None = None
    """The signer whose e-mail address is corrected; links that went to the old one die. Give nothing else with it."""


Listed: TypeAlias = Annotated[
    Sequence[ListedSigner],
    Meta(
        max_length=shared_limits.DOCUMENT_SIGNERS,
        description="Without ids: who signs, each a party of its own, in place of all parties of a draft, as POST takes"
        " them. With ids: corrected e-mail addresses of signers who are known; after sending, this needs"
        " documents:send.",
    ),
]


def check_people(signers: Sequence[ListedSigner], *, with_parties: bool) -> None:
    """Raises BadRequest for people who are neither new to all of a draft nor corrected in their addresses alone."""
    new = [one for one in signers if one.id is None]
    if new and with_parties:
        raise BadRequest("Give parties or signers, not both")
    if 0 < len(new) < len(signers):
        raise BadRequest("signers: give ids to correct addresses, or none to replace all parties")
    for number, one in enumerate(signers):
        constraints.check(one, f"signers[{number}]")
        checked_address(one.email)


class LoneParty(KnownParty, frozen=True, forbid_unknown_fields=True):
    """A signer as a party that nobody has named."""


def lone_parties(signers: Sequence[LoneSigner], ids: Mapping[str, tuple[str, str]]) -> list[LoneParty]:
    """Each signer as a party of its own; `ids` are those of party and signer, by the addresses of who keeps theirs."""
    found = []
    for one in signers:
        party_id, signer_id = ids.get(one.address, (None, None))
        own = {name: getattr(one, name) for name in NewSigner.__struct_fields__}
        signer = KnownSigner(**own, id=signer_id)
        found.append(LoneParty(name=one.name, signers=[signer], order=one.order, id=party_id))
    return found


class SignerChange(Redacted, frozen=True, forbid_unknown_fields=True):
    """What is corrected of someone who has not acted; what is not given stays."""

    name: Name | UnsetType = UNSET
    """The name, as it stands on the certificate."""
    email: Email | UnsetType = UNSET
    """The right address; links that went to the old one die."""
    language: Language | UnsetType = UNSET
    """The language of the mails and pages for this person."""
    time_zone: TimeZone | UnsetType | None = UNSET
    """The IANA name of the zone in which times are told to the person; null: UTC."""
    auth: Auth | UnsetType = UNSET
    """What the person has to give beside the link; with another one, links that were sent before die."""
    access_code: AccessCode | UnsetType = UNSET
    """With `auth` `access_code`: what you have agreed with the person. It is kept as a hash, and never shown again."""
    delegation: bool | UnsetType = UNSET
    """Whether the person may pass it on to someone else, once; not with `auth` `access_code`."""

    @property
    def given(self) -> dict[str, object]:
        """What is corrected, by name."""
        return {name: value for name in self.__struct_fields__ if (value := getattr(self, name)) is not UNSET}

    def check(self) -> None:
        """Raises BadRequest for what could be corrected of nobody."""
        if self.email is not UNSET:
            checked_address(self.email)
        if self.time_zone is not UNSET and self.time_zone is not None:
            checked_zone(self.time_zone)


class UnlockedFile(Redacted, frozen=True, forbid_unknown_fields=True):
    """A file of the document that only opens with its password."""

    id: Id
    """The file's id."""
    password: FilePassword
    """Opens the PDF. It is used once and kept nowhere."""


class DocumentChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is given is changed; the rest stays. After sending, only expiry, reminders, metadata and addresses are."""

    title: Title | UnsetType = UNSET
    """What it is called, in mails and on the certificate."""
    metadata: Metadata | UnsetType = UNSET
    """Your own names and values, in place of all there were."""
    expires_at: Moment | UnsetType | None = UNSET
    """When it can no longer be signed, in place of any expires_after_hours; null: never."""
    expires_after_hours: Hours | UnsetType | None = UNSET
    """How long a draft can be signed, from sending, in place of any expires_at; null: for ever."""
    reminders: Reminders | UnsetType | None = UNSET
    """When people are reminded; null: never."""
    signers: Listed = []
    message: Message | UnsetType | None = UNSET
    """What the invitation says; null: the usual words."""
    parties: Annotated[Sequence[KnownParty], Meta(max_length=shared_limits.DOCUMENT_PARTIES)] | UnsetType = UNSET
    """Take the place of all parties of a draft."""
    fields: Annotated[Sequence[KnownField], Meta(max_length=shared_limits.DOCUMENT_FIELDS)] | UnsetType = UNSET
    """Take the place of the fields that were asked for; text tags in the files stay."""
    signed_input: SignedInput | UnsetType = UNSET
    """What to do with a PDF that is already signed."""
    files: Annotated[Sequence[UnlockedFile], Meta(max_length=shared_limits.DOCUMENT_FILES)] = []
    """The passwords of locked files, which other parties or fields of a draft make necessary again."""

    @property
    def needs_paper(self) -> bool:
        """Whether the files have to be taken in again."""
        return any(one is not UNSET for one in (self.parties, self.fields, self.signed_input))

    def check(self, now: datetime) -> None:
        """Raises BadRequest for a change that could be made of no document."""
        lists = ("signers", "files")
        given = [name for name in self.__struct_fields__ if getattr(self, name) is not UNSET and name not in lists]
        if not given and not self.signers:
            raise BadRequest("No changes were given")
        if self.expires_at is not UNSET:
            end_of(self.expires_at, now)
        if self.expires_at and self.expires_after_hours:
            raise BadRequest("Give expires_at or expires_after_hours, not both")
        check_people(self.signers, with_parties=self.parties is not UNSET)


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


def without_field(parties: Sequence[NewParty | Party], fields: Iterable[NewField]) -> int:
    """How many signers have no signature field among these."""
    return sum(len(party.signers) for party in without_signature_field(parties, fields))


P = TypeVar("P", bound=NewParty | Party)


def without_signature_field(parties: Sequence[P], fields: Iterable[NewField]) -> list[P]:
    """The parties with those of their signers alone who have no signature field among these."""
    # One that may stay hidden is none: whoever signs leaves a mark.
    signing = [field for field in fields if field.type == "signature" and field.show_if is None]

    def lacks(party: P, one: NewSigner | Signer) -> bool:
        placed = any(matches_handle(one, field.signer) or matches_handle(party, field.party) for field in signing)
        return one.role == "signer" and not placed

    return [
        msgspec.structs.replace(party, signers=[one for one in party.signers if lacks(party, one)]) for party in parties
    ]


def matches_handle(someone: NewParty | Party | NewSigner | Signer, handle: str | None) -> bool:
    """Whether this is the id, the name or the e-mail address of the party or the signer."""
    known = (getattr(someone, name, None) for name in ("id", "name", "email", "address"))
    return handle is not None and handle.casefold() in {one.casefold() for one in known if one}


def number_files(fields: Sequence[K], file_ids: Sequence[str]) -> list[K]:
    """The fields with the numbers of their files instead of ids."""
    numbers: dict[str | int, int] = {file_id: number for number, file_id in enumerate(file_ids)}
    return [msgspec.structs.replace(field, file=numbers.get(field.file, field.file)) for field in fields]


def as_known(field: Field, file_number: int) -> KnownField:
    """A field of a document as its sender gives it back."""
    told = msgspec.structs.asdict(field) | {"file": file_number, "signer": field.signer_id, "party": field.party_id}
    return KnownField(**{name: told[name] for name in KnownField.__struct_fields__})

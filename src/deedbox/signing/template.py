"""A template: files, roles and fields of which documents are made, in versions."""

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from deedbox.kernel import limits
from deedbox.kernel.constraints import LEFT_OUT, Constraint, Constraints, never_with
from deedbox.pdf.intake.signed_input import SignedInput
from deedbox.pdf.marks.marks import PageRect
from deedbox.signing.model import DocumentFile, Message, OnDecline, Reminders, Rule
from deedbox.signing.model import Role as PersonRole
from deedbox.signing.new_document import (
    QUORUM,
    ExternalId,
    FieldValue,
    Hours,
    Id,
    KnownField,
    Label,
    Language,
    Metadata,
    Moment,
    Name,
    NewField,
    NewSigner,
    Order,
    People,
    Title,
)

TemplateStatus: TypeAlias = Literal["processing", "ready", "failed"]
Seats: TypeAlias = Annotated[int, Meta(ge=1, le=limits.DOCUMENT_SIGNERS)]


class Role(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A party without people."""

    constraints: ClassVar[Constraints] = (QUORUM,)

    name: Name
    """What the role is called, and the party of each document that is made."""
    order: Order = 1
    """When it is this role's turn: lower ones first, equal ones side by side."""
    rule: Rule = "all"
    """Who of its people has to sign."""
    quorum: Seats | None = None
    """How many have to sign, with the rule `quorum`."""
    signers: Seats | None = None
    """How many people it takes; null: one or more."""
    on_decline: OnDecline = "decline_document"
    """What one signer's decline does: end the document, or nothing while the rule can still be met."""
    role: PersonRole = "signer"
    """What its people do, unless a person is given another: sign, approve, or get a copy."""

    @property
    def seats(self) -> int:
        """For how many signatures there is a place, unless fields say where they stand."""
        return self.signers or self.quorum or 1


NO_SIGNER = Constraint("Send `party`, the name of a role, and no `signer`.", ({"signer": LEFT_OUT},))
SAID_BY_DOCUMENT = never_with(["roles", "fields"], "document_id")


class TemplateField(KnownField, frozen=True, forbid_unknown_fields=True):
    """A field of a template, whose `party` is the name of a role."""

    constraints: ClassVar[Constraints] = (*KnownField.constraints, NO_SIGNER)

    found: bool = False
    """Whether the file itself asks for it, by a text tag or as the field of a form. Other files bring others."""


class Content(msgspec.Struct, frozen=True, kw_only=True):
    """What a version of a template consists of."""

    files: Sequence[DocumentFile]
    roles: Sequence[Role] = ()
    fields: Sequence[TemplateField] = ()
    """Each names its file by its number."""
    places: Sequence[PageRect] = ()
    """In the last file, for the signatures of those who have no field."""
    fell_off: Sequence[str] = ()
    """The fields of the version before it that have no place in its files, as people are told of them."""
    message: Message | None = None
    reminders: Reminders | None = None
    expires_after_hours: int | None = None
    metadata: dict[str, str] = {}
    language: str = "en"
    signed_input: SignedInput = "refuse"


class Template(msgspec.Struct, frozen=True):
    """One version of a template."""

    id: str
    workspace_id: str
    version: int
    name: str
    status: TemplateStatus
    error: str | None
    """Why its files could not be converted."""
    paper_sha256: str | None
    """The PDF that everyone sees who signs a document made from it; None before it is made."""
    content: Content
    created_at: str
    """When the template was made."""
    updated_at: str
    """When this version was made."""


class NewTemplate(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    constraints: ClassVar[Constraints] = (SAID_BY_DOCUMENT,)

    name: Title
    """What it is called, and each document made from it that is given no title."""
    document_id: Id | None = None
    """A document whose files, parties and fields it takes over; instead of files."""
    roles: Annotated[Sequence[Role], Meta(max_length=limits.DOCUMENT_PARTIES)] = []
    """Who signs, and in which order. Those that text tags or form fields name, unless given."""
    fields: Annotated[Sequence[NewField], Meta(max_length=limits.DOCUMENT_FIELDS)] = []
    """What is filled in, and where; `party` is the name of a role."""
    message: Message | None = None
    """What the invitation says, instead of the usual words."""
    reminders: Reminders | None = None
    """When people are reminded; never unless given."""
    expires_after_hours: Hours | None = None
    """How long a document can be signed, from sending; for ever unless given."""
    metadata: Metadata = {}
    """Your own names and values, which each document gets: at most {METADATA_ENTRIES}."""
    language: Language | None = None
    """The language of the certificate, and of whoever has none of their own: that of the document, else `en`."""
    signed_input: SignedInput = "refuse"
    """What to do with a PDF that is already signed: refuse it, or check and name its signatures and keep only how they
    look."""


class TemplateChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is given is another in the next version; the rest stays."""

    name: Title | UnsetType = UNSET
    """What it is called."""
    roles: Annotated[Sequence[Role], Meta(max_length=limits.DOCUMENT_PARTIES)] | UnsetType = UNSET
    """Take the place of all roles."""
    fields: Annotated[Sequence[TemplateField], Meta(max_length=limits.DOCUMENT_FIELDS)] | UnsetType = UNSET
    """Take the place of all fields."""
    message: Message | UnsetType | None = UNSET
    """What the invitation says; null: the usual words."""
    reminders: Reminders | UnsetType | None = UNSET
    """When people are reminded; null: never."""
    expires_after_hours: Hours | UnsetType | None = UNSET
    """How long a document can be signed, from sending; null: for ever."""
    metadata: Metadata | UnsetType = UNSET
    """Your own names and values, in place of all there were."""
    language: Language | UnsetType = UNSET
    """The language of the certificate, and of whoever has none of their own."""
    signed_input: SignedInput | UnsetType = UNSET
    """What to do with a PDF that is already signed."""


class FromTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """A document that is wanted from a template: by a request, or by a row of a bulk send."""

    template_id: Id
    roles: People = {}
    values: dict[Label, FieldValue] = {}
    title: Title | None = None
    message: Message | None = None
    metadata: Metadata = {}
    external_id: ExternalId | None = None
    language: Language | None = None
    expires_at: Moment | None = None
    reminders: Reminders | None = None
    require_timestamp: bool = False
    send: bool = False

    def people(self, role: str) -> list[NewSigner]:
        """Those who have the role."""
        given = self.roles.get(role, [])
        return [given] if isinstance(given, NewSigner) else [*given]

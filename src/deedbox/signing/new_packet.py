"""What a sender asks for: a new packet of several documents, or a change of one."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, ClassVar

import msgspec
from msgspec import UNSET, Meta, UnsetType

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.constraints import Constraints, never_with
from deedbox.kernel.errors import BadRequest
from deedbox.pdf.intake.signed_input import SignedInput
from deedbox.signing import limits
from deedbox.signing.model import Message, Reminders
from deedbox.signing.new_document import (
    PARTIES_OR_SIGNERS,
    TITLE,
    FieldValue,
    Hours,
    Id,
    KnownParty,
    Label,
    Language,
    Listed,
    LoneSigner,
    Metadata,
    Moment,
    NewDocument,
    NewField,
    NewParty,
    Title,
    UnlockedFile,
    check_people,
    end_of,
)

ExternalId = Annotated[
    str, Meta(min_length=1, max_length=limits.EXTERNAL_ID_CHARS, extra_json_schema=shared_limits.NO_NUL)
]


FIELDS_OF_TEMPLATE = never_with(["fields"], "template_id")


class NewPacketDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is a document's own in a packet."""

    constraints: ClassVar[Constraints] = (TITLE, FIELDS_OF_TEMPLATE)

    title: Title | None = None
    """What the document is called, in mails and on the certificates; that of the template unless given."""
    template_id: Id | None = None
    """The template that it is made from, instead of files: its roles are the parties of the packet with their names."""
    fields: Annotated[Sequence[NewField], Meta(max_length=shared_limits.DOCUMENT_FIELDS)] | None = None
    """What is filled in, where and by whom; whoever has no field in it reads it, and with `[]` that is everyone.
    Without `fields`, everyone signs on its last page who has no signature field by a text tag."""
    values: Annotated[dict[Label, FieldValue], Meta(max_length=shared_limits.DOCUMENT_FIELDS)] = {}
    """What stands in fields and text tags until their signers fill them, by the labels of these."""
    metadata: Metadata = {}
    """Your own names and values for the document: at most {METADATA_ENTRIES}."""
    external_id: ExternalId | None = None
    """Your own id for the document, by which it can be found."""


class NewPacket(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    constraints: ClassVar[Constraints] = (PARTIES_OR_SIGNERS,)

    title: Title
    """What the packet is called, in mails and on its certificate."""
    documents: Annotated[Sequence[NewPacketDocument], Meta(min_length=1, max_length=shared_limits.PACKET_DOCUMENTS)]
    """What is signed together, in the order in which it is shown."""
    parties: Annotated[Sequence[NewParty], Meta(max_length=shared_limits.DOCUMENT_PARTIES)] = []
    """Who signs all of it, and in which order."""
    signers: Annotated[Sequence[LoneSigner], Meta(max_length=shared_limits.DOCUMENT_PARTIES)] = []
    """Each a party of its own; instead of parties."""
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
    language: Language = "en"
    """The language of the certificates, and of whoever has none of their own."""
    require_timestamp: bool = False
    """Complete it only with time-stamps of the authority that the server's settings name."""
    signed_input: SignedInput = "refuse"
    """What to do with a PDF that is already signed: refuse it, or check and name its signatures and keep only how they
    look."""
    send: bool = False
    """Send it at once, or as soon as its files are converted."""

    def document(self, one: NewPacketDocument) -> NewDocument:
        """The document as it would be asked for by itself."""
        return NewDocument(
            title=one.title,
            parties=self.parties,
            signers=self.signers,
            fields=one.fields or [],
            values=one.values,
            message=self.message,
            metadata=one.metadata,
            external_id=one.external_id,
            expires_at=self.expires_at,
            reminders=self.reminders,
            language=self.language,
            require_timestamp=self.require_timestamp,
            signed_input=self.signed_input,
            send=self.send,
        )


class PacketChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is given is changed; the rest stays. After sending, only expiry, reminders, metadata and addresses are."""

    title: Title | UnsetType = UNSET
    """What it is called, in mails and on its certificate."""
    message: Message | UnsetType | None = UNSET
    """What the invitation says; null: the usual words."""
    metadata: Metadata | UnsetType = UNSET
    """Your own names and values, in place of all there were."""
    expires_at: Moment | UnsetType | None = UNSET
    """When it can no longer be signed, in place of any expires_after_hours; null: never."""
    expires_after_hours: Hours | UnsetType | None = UNSET
    """How long a draft can be signed, from sending, in place of any expires_at; null: for ever."""
    reminders: Reminders | UnsetType | None = UNSET
    """When people are reminded; null: never."""
    parties: Annotated[Sequence[KnownParty], Meta(max_length=shared_limits.DOCUMENT_PARTIES)] | UnsetType = UNSET
    """Take the place of all parties of a draft; of a packet that was sent, only e-mail addresses may differ."""
    signers: Listed = []
    files: Annotated[Sequence[UnlockedFile], Meta(max_length=shared_limits.PACKET_FILES)] = []
    """The passwords of locked files, which other parties of a draft make necessary again."""

    def check(self, now: datetime) -> None:
        """Raises BadRequest for a change that could be made of no packet."""
        lists = ("signers", "files")
        given = [name for name in self.__struct_fields__ if getattr(self, name) is not UNSET and name not in lists]
        if not given and not self.signers:
            raise BadRequest("No changes were given")
        if self.expires_at is not UNSET:
            end_of(self.expires_at, now)
        if self.expires_at and self.expires_after_hours:
            raise BadRequest("Give expires_at or expires_after_hours, not both")
        check_people(self.signers, with_parties=self.parties is not UNSET)

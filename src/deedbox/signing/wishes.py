"""What a sender asks for: files, parties, fields, and all that goes with them."""

from collections.abc import Mapping, Sequence

import msgspec

from deedbox.kernel.blobs import Received
from deedbox.pdf.marks import Place
from deedbox.signing.document import Auth, FieldType, Message, OnDecline, Party, Reminders, Rule, Source


class NewSigner(msgspec.Struct, frozen=True):
    name: str
    email: str
    language: str | None = None
    auth: Auth = "none"
    access_code: str | None = None


class NewParty(msgspec.Struct, frozen=True):
    name: str
    signers: Sequence[NewSigner]
    order: int = 1
    rule: Rule = "all"
    quorum: int | None = None
    on_decline: OnDecline = "decline_document"
    declared: bool = True
    """Whether the request named the party; a lone signer has one that it did not."""


class NewField(msgspec.Struct, frozen=True):
    type: FieldType
    page: int
    x: float
    y: float
    w: float
    h: float
    file: int = 0
    signer: str | None = None
    """The e-mail address of the one who fills it."""
    party: str | None = None
    """Or the name of the party, any of whom does."""
    required: bool = True
    label: str | None = None
    default: str | None = None
    options: Sequence[str] = ()


class NewFile(msgspec.Struct, frozen=True):
    """A file as it came."""

    name: str
    original: Received


class PaperFile(msgspec.Struct, frozen=True):
    """What a file brings into the paper; pages are counted within the file."""

    sizes: Sequence[tuple[float, float]]
    """Width and height of each page as it is displayed."""
    tags: Sequence[NewField] = ()
    """Fields that the text of the file itself places."""
    covers: Sequence[Place] = ()
    """Where that text lies, which the stamp hides."""
    removed: Sequence[str] = ()
    """What was taken out because it could have changed the face of the sealed file."""


class Paper(msgspec.Struct, frozen=True):
    """The files of a document as the one PDF that its signers see, ready to be stamped and sealed."""

    pdf: Received
    files: Sequence[PaperFile]
    places: Sequence[Place] = ()
    """In the last file, for the signatures of those who have no field."""


class NewDocument(msgspec.Struct, frozen=True):
    title: str
    files: Sequence[NewFile]
    parties: Sequence[NewParty]
    fields: Sequence[NewField] = ()
    message: Message | None = None
    metadata: Mapping[str, str] = {}
    external_id: str | None = None
    expires_at: str | None = None
    reminders: Reminders | None = None
    language: str = "en"
    source: Source = "api"
    require_timestamp: bool = False
    """Rather no seal than one without a time-stamp of the configured authority."""


def without_field(parties: Sequence[NewParty | Party], fields: Sequence[NewField]) -> int:
    """How many signers have no signature field among these."""
    signing = [field for field in fields if field.type == "signature"]
    emails = {field.signer.lower() for field in signing if field.signer}
    names = {field.party.casefold() for field in signing if field.party}
    return sum(
        signer.email not in emails and party.name.casefold() not in names
        for party in parties
        for signer in party.signers
    )

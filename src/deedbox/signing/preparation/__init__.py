"""The paper of a document: its files as the one PDF that signers see, ready to be marked and sealed.

It is made of stored files alone, so that it can be used again."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import msgspec

from deedbox.kernel.blobs import Blob, ReceivedBlob
from deedbox.kernel.crypto import Secret
from deedbox.pdf.intake.signed_input import EarlierSignature, SignedInput
from deedbox.pdf.marks.marks import PageRect
from deedbox.signing.model import DocumentFile, Party
from deedbox.signing.new_document import NewField, NewParty


class OriginalFile(NamedTuple):
    """A stored file as it came."""

    name: str
    blob: Blob
    password: Secret | None = None
    signed_input: SignedInput = "refuse"
    pages: int = 0
    """How many it has in the paper before this one, with those that were added for signatures."""
    tags: bool = True
    """Whether its text may ask for fields."""
    form: bool = False
    """Whether the fields of a fillable PDF are taken for fields to sign, and not only for what they show."""
    web_links: bool = True
    """Whether links in it may lead to web addresses."""


class PreparedDocumentFile(msgspec.Struct, frozen=True):
    """What a file brings into the paper; pages are counted within the file."""

    sizes: Sequence[tuple[float, float]]
    """Width and height of each page as it is displayed."""
    tags: Sequence[NewField] = ()
    """Fields that the text of the file itself places."""
    form: Sequence[NewField] = ()
    """Fields of a fillable PDF, with their names as labels; whose they are, it does not say."""
    removed: Sequence[str] = ()
    """What was taken out because it could have changed the face of the sealed file."""
    signatures: Sequence[EarlierSignature] = ()
    """Those that the file held when it came."""


class Plan(NamedTuple):
    """Who signs, and every field on the paper."""

    parties: Sequence[NewParty | Party]
    fields: Sequence[NewField]


Planner: TypeAlias = Callable[[Sequence[PreparedDocumentFile]], Plan]
"""Makes a plan of what the files bring along."""


class PreparedDocument(msgspec.Struct, frozen=True):
    pdf: ReceivedBlob
    files: Sequence[PreparedDocumentFile]
    places: Sequence[PageRect] = ()
    """In the last file, for the signatures of those who have no field."""

    @property
    def tags(self) -> list[NewField]:
        return [tag for file in self.files for tag in file.tags]

    @property
    def sha256(self) -> str:
        return self.pdf.blob.sha256


class StoredPreparation(msgspec.Struct, frozen=True):
    """A paper that was made and rehearsed before: there is nothing to be done but to refer to it."""

    sha256: str
    files: Sequence[PreparedDocumentFile]
    places: Sequence[PageRect] = ()
    tags: Sequence[NewField] = ()

    @staticmethod
    def of(sha256: str, files: Sequence[DocumentFile], places: Sequence[PageRect] = ()) -> "StoredPreparation":
        """The paper of these files; its fields are known, so that it has no tags."""
        return StoredPreparation(
            sha256, [PreparedDocumentFile(file.sizes, (), (), file.removed, file.signatures) for file in files], places
        )

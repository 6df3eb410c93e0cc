"""The paper of a document: its files as the one PDF that signers see, ready to be marked and sealed.

It is made of stored files alone, so that it can be used again."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from deedbox.kernel.blobs import Blob, Received
from deedbox.kernel.crypto import Secret
from deedbox.pdf.marks import Place
from deedbox.pdf.signed_input import EarlierSignature, SignedInput
from deedbox.signing.new_document import NewField


class Original(NamedTuple):
    """A stored file as it came."""

    name: str
    blob: Blob
    password: Secret | None = None
    signed_input: SignedInput = "refuse"
    pages: int = 0
    """How many it has in the paper before this one, with those that were added for signatures."""
    tags: bool = True
    """Whether its text may ask for fields."""


class PaperFile(msgspec.Struct, frozen=True):
    """What a file brings into the paper; pages are counted within the file."""

    sizes: Sequence[tuple[float, float]]
    """Width and height of each page as it is displayed."""
    tags: Sequence[NewField] = ()
    """Fields that the text of the file itself places."""
    removed: Sequence[str] = ()
    """What was taken out because it could have changed the face of the sealed file."""
    signatures: Sequence[EarlierSignature] = ()
    """Those that the file held when it came."""


class Paper(msgspec.Struct, frozen=True):
    pdf: Received
    files: Sequence[PaperFile]
    places: Sequence[Place] = ()
    """In the last file, for the signatures of those who have no field."""

    @property
    def tags(self) -> list[NewField]:
        return [tag for file in self.files for tag in file.tags]

"""An uploaded document, its extracted text and its chunks."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

import msgspec

MetadataValue: TypeAlias = str | int | float | bool
"""What metadata may hold under a name; dates are text."""
Status: TypeAlias = Literal["uploaded", "indexing", "indexed", "failed"]
DEFAULT_COLLECTION = "default"
SIGNED_COLLECTION = "signed"
"""That of completed documents of the signing side."""
SEALED_NAMES = ("signed", "signer", "verification_code")
"""Under which the metadata of a completed document says that it was signed, by which addresses, and its code."""


class LibraryUpload(msgspec.Struct, frozen=True):
    """A row of the uploads table."""

    id: str
    workspace_id: str
    filename: str
    media_type: str
    size_bytes: int
    sha256: str
    text_length: int
    pages: int | None
    status: Status
    status_before: Status | None
    """The status to go back to when a crash interrupts indexing."""
    error: str | None
    revision: int
    """Grows when the content is replaced, so that an index run over the old content loses."""
    created_at: str
    indexed_at: str | None
    document_id: str | None = None
    """The document of the signing side whose sealed file it is; None for what was uploaded."""
    collection: str = DEFAULT_COLLECTION
    metadata: Mapping[str, MetadataValue] = {}
    hidden_length: int = 0
    """Characters that the file holds and does not show; they are not indexed."""


class Extraction(msgspec.Struct, frozen=True):
    """The text of a document, and where its pages and headings begin."""

    text: str
    page_starts: list[int] | None
    """The offset at which each page begins, page 1 first; None where the format has no pages."""
    headings: list[tuple[int, str]]
    """Offset and title of each heading, in order."""
    scanned: list[int] = []
    """The pages whose text was read by OCR, in order."""
    hidden: int = 0
    """Characters that the file holds and does not show; they are not in the text."""


class Chunk(msgspec.Struct, frozen=True):
    """A passage of a document's text; `text` is exactly the text from char_start to char_end."""

    number: int
    text: str
    char_start: int
    char_end: int
    page: int | None
    heading: str | None
    ocr: bool = False
    """Whether any of it was read by OCR."""

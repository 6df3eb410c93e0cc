# Written by scripts/client.py from the OpenAPI document: change it there.
"""Requests of `search`."""

from datetime import datetime
from typing import Literal

from msgspec import UNSET, Struct, UnsetType


class FilingChange(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is given is changed; the rest stays."""

    filename: str | UnsetType = UNSET
    """Another name, for a file of the same kind."""
    collection: str | UnsetType = UNSET
    """The collection that the document lies in from now on."""
    metadata: dict[str, bool | int | float | str] | UnsetType = UNSET
    """All metadata that the document has from now on."""


class IndexOrder(Struct, frozen=True, kw_only=True, omit_defaults=True):
    doc_ids: list[str] | UnsetType = UNSET
    """Only these documents; without it, all that were uploaded."""


class QueryFilter(Struct, frozen=True, kw_only=True, omit_defaults=True):
    filename: str | None = None
    """Only documents of exactly this name."""
    media_type: str | None = None
    """Only documents of this media type."""
    created_after: datetime | str | None = None
    """Only documents uploaded then or later."""
    created_before: datetime | str | None = None
    """Only documents uploaded earlier."""
    signed: bool | None = None
    """Only files and certificates that were sealed in this workspace, known by their bytes; or only the
    others."""
    signer: str | None = None
    """Only documents that this e-mail address was asked to sign, and that are completed."""
    source: Literal["document", "upload"] | None = None
    """Only what was uploaded, or only documents of the signing API."""


class NewQuery(Struct, frozen=True, kw_only=True, omit_defaults=True):
    query: str
    """The question, in 1 to 8,192 characters. A "phrase" in quotes must stand in the passage, a -word or
    -"phrase" must not, and filename:part must be part of the document's name; other signs are plain text."""
    top_k: int | None = None
    """How many passages; 5 by default."""
    mode: Literal["hybrid", "keyword", "semantic"] = "hybrid"
    """What decides: meaning and words, or one of them."""
    doc_ids: list[str] | None = None
    """Only these documents, each of which must exist."""
    filter: QueryFilter | None = None
    """Only documents that are so."""
    receipt: bool = False
    """Whether the answer is to come with a receipt; in the address, `receipt=true` says the same."""


class NewAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    query: str
    """The question, in 1 to 8,192 characters."""
    top_k: int | None = None
    """How many passages the answer may be written from; 8 by default."""
    mode: Literal["hybrid", "keyword", "semantic"] = "hybrid"
    """What decides which passages: meaning and words, or one of them."""
    doc_ids: list[str] | None = None
    """Only these documents, each of which must exist."""
    filter: QueryFilter | None = None
    """Only documents that are so."""
    stream: bool = False
    """Whether the answer comes as server-sent events, sentence by sentence; so too with `Accept:
    text/event-stream`."""

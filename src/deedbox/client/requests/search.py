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


class QueryFilter(
    Struct, frozen=True, kw_only=True, omit_defaults=True, rename={"and_": "and", "or_": "or", "not_": "not"}
):
    """Everything that is said must be so. A comparison has `field`, `op` and `value`. Send `field` and `op`
    together, and `value` only with them. Send `value` with every `op` but `exists`."""

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
    and_: "list[QueryFilter] | None" = None
    """Only documents that all of these filters let through."""
    or_: "list[QueryFilter] | None" = None
    """Only documents that one of these filters lets through."""
    not_: "QueryFilter | None" = None
    """Only documents that this filter keeps out."""
    field: str | None = None
    """What is compared: `filename`, `media_type`, `collection`, `status`, `source`, `created_at`, `signed`,
    `signer`, or `metadata.` and a name of the metadata."""
    op: Literal["eq", "exists", "gt", "gte", "in", "lt", "lte", "ne"] | None = None
    """How it is compared; `in` takes a list of values, `exists` true or false."""
    value: bool | int | float | str | list[bool | int | float | str] | UnsetType = UNSET
    """What it is compared with. Values are compared with values of their kind; a text that is an ISO date is a
    date."""


class NewQuery(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Do not send `facets` with `receipt`."""

    query: str
    """The question, in 1 to 8,192 characters. A "phrase" in quotes must stand in the passage, a -word or
    -"phrase" must not; word* stands for the 64 words that begin so and are in most documents; filename:part and
    title:part must be part of the document's name or title, heading:part of the heading that the passage stands
    under; other signs are plain text."""
    top_k: int | None = None
    """How many passages; 5 by default."""
    mode: Literal["hybrid", "keyword", "semantic"] = "hybrid"
    """What decides: meaning and words, or one of them."""
    doc_ids: list[str] | None = None
    """Only these documents, each of which must exist."""
    collections: list[str] | None = None
    """Only documents in one of these collections."""
    filter: QueryFilter | None = None
    """Only documents that are so."""
    offset: int = 0
    """How many of the best to pass over."""
    group_by: Literal["document"] | None = None
    """The best passage of each document, instead of all passages."""
    min_relevance: float = 0.0
    """Only passages that are at least so relevant."""
    facets: list[str] | None = None
    """Counts the values of these fields in documents: `collection`, `media_type`, `status`, `source`, `signed`,
    or `metadata.` and a name."""
    facets_scope: Literal["all", "hits"] = "hits"
    """Which documents are counted. `hits`: those of the query's hits, on whichever page of the answer; of the
    best 2,020 passages by meaning, and as many by words. `all`: each that `doc_ids`, `collections` and `filter`
    admit, indexed or not."""
    receipt: bool = False
    """Whether the answer is to come with a receipt; in the address, `receipt=true` says the same. Not with
    facets, which are counted of the present."""


class NewAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    query: str
    """The question, in 1 to 8,192 characters."""
    top_k: int | None = None
    """How many passages the answer may be written from; 8 by default."""
    mode: Literal["hybrid", "keyword", "semantic"] = "hybrid"
    """What decides which passages: meaning and words, or one of them."""
    doc_ids: list[str] | None = None
    """Only these documents, each of which must exist."""
    collections: list[str] | None = None
    """Only documents in one of these collections."""
    filter: QueryFilter | None = None
    """Only documents that are so."""
    stream: bool = False
    """Whether the answer comes as server-sent events, sentence by sentence; so too with `Accept:
    text/event-stream`."""

# Written by scripts/client.py from the OpenAPI document: change it there.
"""Records of `search`."""

from msgspec import Struct


class Health(Struct, frozen=True, kw_only=True):
    status: str
    """Always `healthy`."""
    timestamp: str
    """The server's time."""


class Uploaded(Struct, frozen=True, kw_only=True):
    status: str
    """Always `success`."""
    doc_id: str
    """The document's id."""
    filename: str
    """The name that it came with, made clean."""
    size_bytes: int
    """How many bytes came."""
    text_length: int
    """Characters of the extracted text."""
    message: str
    """What to do next."""


class Upload(Struct, frozen=True, kw_only=True):
    doc_id: str
    """The document's id."""
    filename: str
    """The name that it came with."""
    size_bytes: int
    """How many bytes came."""
    text_length: int
    """Characters of the extracted text; 0 for a signed document that was not read yet."""
    hidden_length: int
    """Characters that the file holds and does not show, such as hidden rows or white text; they are not
    indexed."""
    status: str
    """Whether it answers queries yet."""
    error: str | None
    """Why indexing failed."""
    sha256: str
    """The SHA-256 of the bytes."""
    version: int
    """1, and one more with each PUT."""
    media_type: str
    """What kind of file it is."""
    pages: int | None
    """Null where the format has no pages."""
    chunks: int
    """Chunks that answer queries now."""
    created_at: str
    """When it was uploaded."""
    indexed_at: str | None
    """When it was last indexed; null: never."""
    stale: bool
    """Whether its chunks were made by another model or chunker."""
    document_id: str | None
    """The document of the signing API whose sealed file it is; null for what was uploaded."""
    collection: str
    """The collection that it lies in."""
    metadata: dict[str, str | int | float | bool]
    """Values by name, as they were given."""


class DocumentList(Struct, frozen=True, kw_only=True):
    documents: list[Upload]
    """The documents, oldest first."""
    count: int
    """How many are in this answer."""
    has_more: bool
    """Whether there are more."""
    next_cursor: str | None
    """Give it as `cursor` to get the next page; null on the last one."""


class Collection(Struct, frozen=True, kw_only=True):
    name: str
    """What it is called."""
    documents: int
    """How many documents lie in it."""


class CollectionPage(Struct, frozen=True, kw_only=True):
    collections: list[Collection]
    """The collections of this page, by name."""
    count: int
    """How many are in this answer."""
    has_more: bool
    """Whether there are more."""
    next_cursor: str | None
    """Give it as `cursor` to get the next page; null on the last one."""


class Chunk(Struct, frozen=True, kw_only=True):
    chunk_id: str
    """The chunk's id: the document's and its number."""
    chunk_index: int
    """The chunk's number in the document, from 0."""
    text: str
    """The chunk's text."""
    char_start: int
    """Where the chunk begins in the document's text."""
    char_end: int
    """Where the chunk ends in the document's text."""
    page: int | None
    """The page on which the chunk begins; null where the format has no pages."""
    heading: str | None
    """The heading under which it stands; null if none."""
    ocr: bool
    """Whether any of it was read by OCR from a picture of the page: letters may be misread."""


class ChunkPage(Struct, frozen=True, kw_only=True):
    chunks: list[Chunk]
    """The chunks, in their order."""
    count: int
    """How many are in this answer."""
    has_more: bool
    """Whether there are more."""
    next_cursor: str | None
    """Give it as `cursor` to get the next page; null on the last one."""


class Info(Struct, frozen=True, kw_only=True):
    name: str
    """Always `deedbox`."""
    version: str
    """The version of the server."""
    embedding_model: str
    """`none` until a model is installed."""
    embedding_dimensions: int
    """Components of a vector; 0 until a model is installed."""
    model: str
    """The engine that ranks."""
    chunk_size: int
    """In tokens of the embedding model."""
    chunk_overlap: int
    """In tokens of the embedding model."""


class Stats(Struct, frozen=True, kw_only=True):
    documents: int
    """Documents of the workspace that are there for the key."""
    chunks: int
    """Chunks of those that are indexed."""
    queries: int
    """Queries that were answered so far."""
    storage_bytes: int
    """Bytes of the files, and of the index if all of it is there for the key."""
    index_size: int
    """Vectors that answer queries."""


class Failure(Struct, frozen=True, kw_only=True):
    doc_id: str
    """The document's id."""
    error: str
    """Why it could not be indexed."""


class Indexed(Struct, frozen=True, kw_only=True):
    status: str
    """`partial` if some documents could not be indexed."""
    documents_processed: int
    """Documents in scope that are indexed now."""
    documents_skipped: int
    """Those of them that were indexed already, and are unchanged."""
    total_chunks: int
    """Chunks of the documents in scope."""
    index_size: int
    """Vectors in the whole index, of what is there for the key."""
    elapsed_seconds: float
    """How long it took."""
    message: str
    """The outcome, in a sentence."""
    failed: list[Failure] | None = None
    """The documents that could not be indexed, and why; left out if there are none."""


class RunProgress(Struct, frozen=True, kw_only=True):
    document: str | None
    """The document that is being worked on."""
    phase: str
    """What is being done with it."""
    done: int
    """Documents that are through."""
    total: int
    """Documents in scope."""
    pages_read: int | None
    """Scanned pages of that document that are read; null unless its phase is `reading`."""
    pages_scanned: int | None
    """Scanned pages that it has; null unless its phase is `reading`."""


class RunResult(Struct, frozen=True, kw_only=True):
    documents_processed: int
    """Documents in scope that are indexed now."""
    documents_skipped: int
    """Those of them that were indexed already, and are unchanged."""
    total_chunks: int
    """Chunks of the documents in scope."""
    failed: list[Failure]
    """The documents that could not be indexed, and why."""


class Run(Struct, frozen=True, kw_only=True):
    id: str
    """The job's id."""
    status: str
    """How far it is."""
    progress: RunProgress
    """What is being done."""
    result: RunResult | None
    """What has become of the documents; null until it is done."""
    error: str | None
    """Why it failed or was ended; null unless that happened."""
    created_at: str
    """When it was asked for."""
    finished_at: str | None
    """When it ended; null until then."""


class RunPage(Struct, frozen=True, kw_only=True):
    jobs: list[Run]
    """The index runs of this page, newest first."""
    count: int
    """How many are in this answer."""
    has_more: bool
    """Whether there are more."""
    next_cursor: str | None
    """Give it as `cursor` to get the next page; null on the last one."""


class Box(Struct, frozen=True, kw_only=True):
    """A word's place on its page as it is displayed, in fractions of the page from its top left corner."""

    page: int
    """The page, counted from 1."""
    left: float
    """Where the word begins, as a fraction of the page's width."""
    top: float
    """Where the word begins, as a fraction of the page's height."""
    right: float
    """Where the word ends, as a fraction of the page's width."""
    bottom: float
    """Where the word ends, as a fraction of the page's height."""


class ChunkPlace(Struct, frozen=True, kw_only=True):
    doc_id: str
    """The document's id."""
    filename: str
    """The document's name."""
    chunk_index: int
    """The chunk's number in the document, from 0."""
    page: int | None
    """The page on which the chunk begins, where there are pages."""
    char_start: int
    """Where the chunk begins in the document's text."""
    char_end: int
    """Where the chunk ends in the document's text."""
    sha256: str
    """The hash of the file that the chunk was made from. After a PUT, that is the replaced file until the new one
    is indexed."""
    version: int
    """The version of the document that the chunk was made from: 1, and one more with each PUT."""
    heading: str | None
    """The heading under which it stands; null if none."""
    highlights: list[tuple[int, int]]
    """Where words of the query stand in the chunk's text: start and end."""
    signed: bool
    """Whether the file was sealed in this workspace, known by its bytes."""
    document_id: str | None
    """The document of the signing API whose sealed file it is; null for what was uploaded."""
    ocr: bool
    """Whether any of it was read by OCR from a picture of the page: letters may be misread."""
    boxes: list[Box] | None = None
    """Where highlighted words stand on pages that were read by OCR; left out where `ocr` is false."""


class ResultDocument(Struct, frozen=True, kw_only=True):
    filename: str
    """Its name."""
    collection: str
    """The collection that it lies in."""
    metadata: dict[str, str | int | float | bool]
    """Values by name, as they were given."""
    signed: bool
    """Whether the file was sealed in this workspace, known by its bytes."""


class ResultChunk(Struct, frozen=True, kw_only=True):
    chunk_id: str
    """The chunk's id: the document's and its number."""
    text: str
    """The chunk's text."""
    score: float
    """Higher is better; comparable within one answer only."""
    metadata: ChunkPlace
    """Where the chunk stands."""
    relevance: float
    """From 0 to 1: how near it is in meaning, and how many of the query's words it has, whatever else was
    found."""
    document: ResultDocument
    """The document that it is of."""


class Count(Struct, frozen=True, kw_only=True):
    value: str | int | float | bool
    """The value; a date in UTC."""
    documents: int
    """How many documents have it."""


class QueryAnswer(Struct, frozen=True, kw_only=True):
    query: str
    """The question, without spaces around it."""
    count: int
    """How many are in this answer."""
    elapsed_ms: float
    """How long it took, in milliseconds."""
    results: list[ResultChunk]
    """The passages, best first."""
    reranked: bool | None = None
    """Whether the server's reranker ordered them. False: it failed, there are more than 64, or their texts decide
    which there are, and they stand as without it. Left out where there is none, or `mode` decides."""
    corrected: str | None = None
    """The query as it was understood, where words of it are in no document: with the words that are most like
    these; and where no passage has its phrases: without their quotes. Left out where nothing was mended."""
    facets: dict[str, list[Count]] | None = None
    """For each field that was asked for, its most frequent values; left out if none was."""
    receipt: str | None = None
    """If it was asked for: a compact JWS, by the certificate that the workspace seals with, over the query, the
    state of the index and each result with the hash of its file. `deedbox verify` checks the whole answer with
    it."""
    receipt_timestamp: str | None = None
    """A time-stamp token (RFC 3161) about the receipt, in base64."""


class Quote(Struct, frozen=True, kw_only=True):
    passage: int
    """The passage that it is said to stand in, by its number from 1."""
    text: str
    """The words, as the model gave them."""


class Sentence(Struct, frozen=True, kw_only=True):
    text: str
    """The sentence."""
    citations: list[int]
    """The passages in which its quotes stand, by their numbers from 1."""
    supported: bool
    """Whether all of it stands in the sentences that it quotes from; false marks what may be invented."""
    reason: str | None
    """Why it is not supported; null if it is."""
    quotes: list[Quote]
    """What it quotes."""


class Answer(Struct, frozen=True, kw_only=True):
    query: str
    """The question, without spaces around it."""
    answer: str
    """The sentences with their citations; `[unsupported]` stands after each that may be invented."""
    found: bool
    """Whether a sentence is supported; if not, `answer` says that it is not in these documents."""
    complete: bool
    """False if the model was cut off."""
    model: str | None
    """The model that wrote it; null if the sentences are taken from the passages."""
    sentences: list[Sentence]
    """The answer, sentence by sentence."""
    passages: list[ResultChunk]
    """What it was written from, best first: `[1]` is the first."""
    elapsed_ms: float
    """How long it took, in milliseconds."""

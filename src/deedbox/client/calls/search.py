# Written by scripts/client.py from the OpenAPI document: change it there.
"""Documents to be searched: uploaded, indexed and queried."""

from collections.abc import AsyncIterator, Iterator
from typing import TypedDict, Unpack

from deedbox.client.call import Call, FileSource, Form, once, part
from deedbox.client.connection import AsyncConnection, Connection
from deedbox.client.download import AsyncDownload, Download
from deedbox.client.events import ServerEvent
from deedbox.client.records.search import (
    Answer,
    Chunk,
    ChunkPage,
    Collection,
    CollectionPage,
    DocumentList,
    Health,
    Indexed,
    Info,
    QueryAnswer,
    Run,
    RunPage,
    Stats,
    Upload,
    Uploaded,
)
from deedbox.client.requests.search import FilingChange, IndexOrder, NewAnswer, NewQuery


class ListUploadsQuery(TypedDict, total=False):
    """What `list_uploads` can be asked for."""

    limit: int
    """How many to show at most; without it, all."""
    collection: str
    """Only those in this collection."""


class ListCollectionsQuery(TypedDict, total=False):
    """What `list_collections` can be asked for."""

    limit: int
    """How many to show at most."""


class DocumentContentQuery(TypedDict, total=False):
    """What `document_content` can be asked for."""

    sha256: str
    """The hash of the file, as results name it. After a PUT the replaced file answers queries, and can be named
    here, until the new one is indexed. The new one unless given."""


class DocumentTextQuery(TypedDict, total=False):
    """What `document_text` can be asked for."""

    sha256: str
    """The hash of the file, as results name it. After a PUT the replaced file answers queries, and can be named
    here, until the new one is indexed. The new one unless given."""
    page: int
    """Only what stands on this page, from 1; all of it unless given."""


class DocumentChunksQuery(TypedDict, total=False):
    """What `document_chunks` can be asked for."""

    limit: int
    """How many to show at most."""


class PageImageQuery(TypedDict, total=False):
    """What `page_image` can be asked for."""

    sha256: str
    """The hash of the file, as results name it. The file that answers queries unless given: after a PUT, the
    replaced one until the new one is indexed."""


class ListRunsQuery(TypedDict, total=False):
    """What `list_runs` can be asked for."""

    limit: int
    """How many to show at most."""


class AskQuery(TypedDict, total=False):
    """What `ask` can be asked for."""

    receipt: bool
    """Whether the answer is to come with a receipt: a signed statement of what was asked and answered."""


class SearchCalls:
    """Documents to be searched: uploaded, indexed and queried."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def health(self) -> Health:
        """Whether the service is operational.

        Asks the database, so that `healthy` means that requests can be answered."""
        return self._connection.answer(Call("GET", "/health"), Health)

    def upload_document(
        self,
        file: FileSource,
        collection: str | None = None,
        metadata: str | None = None,
        *,
        idempotency_key: str | None = None,
    ) -> Uploaded:
        """Upload and parse a document."""
        return self._connection.answer(
            Call(
                "POST",
                "/documents/upload",
                headers=once(idempotency_key),
                body=Form([("file", file)], {"collection": collection, "metadata": metadata}),
            ),
            Uploaded,
        )

    def list_uploads(self, **query: Unpack[ListUploadsQuery]) -> Iterator[Upload]:
        """List all documents, oldest first, or a page of them."""
        return self._connection.pages(Call("GET", "/documents", query=query), DocumentList, lambda page: page.documents)

    def get_document(self, doc_id: str) -> Upload:
        """One document's record."""
        return self._connection.answer(Call("GET", f"/documents/{part(doc_id)}"), Upload)

    def replace_document(self, doc_id: str, file: FileSource) -> Uploaded:
        """Replace a document's content.

        The old chunks answer until the new content is indexed. The sealed file of a document stays: 409."""
        return self._connection.answer(Call("PUT", f"/documents/{part(doc_id)}", body=Form([("file", file)])), Uploaded)

    def delete_document(self, doc_id: str) -> None:
        """Delete a document, its text and its chunks."""
        self._connection.done(Call("DELETE", f"/documents/{part(doc_id)}"))

    def file_document(self, doc_id: str, body: FilingChange) -> Upload:
        """Change a document's name, collection or metadata.

        Nothing is read or indexed again: the very next query knows it."""
        return self._connection.answer(Call("PATCH", f"/documents/{part(doc_id)}", body=body), Upload)

    def list_collections(self, **query: Unpack[ListCollectionsQuery]) -> Iterator[Collection]:
        """List collections, by name, and how many documents lie in each.

        A collection exists while a document lies in it."""
        return self._connection.pages(
            Call("GET", "/collections", query=query), CollectionPage, lambda page: page.collections
        )

    def document_content(self, doc_id: str, **query: Unpack[DocumentContentQuery]) -> Download:
        """The original bytes."""
        return self._connection.download(Call("GET", f"/documents/{part(doc_id)}/content", query=query))

    def document_text(self, doc_id: str, **query: Unpack[DocumentTextQuery]) -> Download:
        """The extracted text, or that of a page."""
        return self._connection.download(Call("GET", f"/documents/{part(doc_id)}/text", query=query))

    def document_chunks(self, doc_id: str, **query: Unpack[DocumentChunksQuery]) -> Iterator[Chunk]:
        """The chunks that answer queries for the document."""
        return self._connection.pages(
            Call("GET", f"/documents/{part(doc_id)}/chunks", query=query), ChunkPage, lambda page: page.chunks
        )

    def page_image(self, doc_id: str, page: str, **query: Unpack[PageImageQuery]) -> Download:
        """A page of a PDF as an image; `page` is its number and `.webp`."""
        return self._connection.download(Call("GET", f"/documents/{part(doc_id)}/pages/{part(page)}", query=query))

    def info(self) -> Info:
        """What the service is."""
        return self._connection.answer(Call("GET", "/info"), Info)

    def stats(self) -> Stats:
        """How much the workspace holds."""
        return self._connection.answer(Call("GET", "/stats"), Stats)

    def build_index(self, body: IndexOrder | None = None, *, idempotency_key: str | None = None) -> Indexed | Run:
        """Build the search index.

        With the header `Prefer: respond-async` it answers at once, with the job. A replay of the same `Idempotency-
        Key` gives the first answer, byte for byte."""
        return self._connection.either(
            Call("POST", "/documents/index", headers=once(idempotency_key), body=body), Indexed, Run
        )

    def list_runs(self, **query: Unpack[ListRunsQuery]) -> Iterator[Run]:
        """List index runs, newest first."""
        return self._connection.pages(Call("GET", "/jobs", query=query), RunPage, lambda page: page.jobs)

    def get_run(self, job_id: str) -> Run:
        """How far an index run is."""
        return self._connection.answer(Call("GET", f"/jobs/{part(job_id)}"), Run)

    def cancel_run(self, job_id: str) -> Run:
        """End an index run.

        What is indexed already stays indexed; a run that has ended stays as it is."""
        return self._connection.answer(Call("DELETE", f"/jobs/{part(job_id)}"), Run)

    def follow_run(self, job_id: str) -> Iterator[ServerEvent]:
        """An index run as it goes, as server-sent events."""
        return self._connection.events(Call("GET", f"/jobs/{part(job_id)}/events"))

    def ask(self, body: NewQuery, *, idempotency_key: str | None = None, **query: Unpack[AskQuery]) -> QueryAnswer:
        """Ask the indexed documents."""
        return self._connection.answer(
            Call("POST", "/query", query=query, headers=once(idempotency_key), body=body), QueryAnswer
        )

    def answer(self, body: NewAnswer) -> Answer:
        """An answer from the indexed documents, with citations that are checked.

        With `stream` as server-sent events: `passages`, then `sentence` for each, at last `end` with the whole
        answer, or `error`."""
        return self._connection.answer(Call("POST", "/answer", body=body), Answer)


class AsyncSearchCalls:
    """Documents to be searched: uploaded, indexed and queried."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def health(self) -> Health:
        """Whether the service is operational.

        Asks the database, so that `healthy` means that requests can be answered."""
        return await self._connection.answer(Call("GET", "/health"), Health)

    async def upload_document(
        self,
        file: FileSource,
        collection: str | None = None,
        metadata: str | None = None,
        *,
        idempotency_key: str | None = None,
    ) -> Uploaded:
        """Upload and parse a document."""
        return await self._connection.answer(
            Call(
                "POST",
                "/documents/upload",
                headers=once(idempotency_key),
                body=Form([("file", file)], {"collection": collection, "metadata": metadata}),
            ),
            Uploaded,
        )

    def list_uploads(self, **query: Unpack[ListUploadsQuery]) -> AsyncIterator[Upload]:
        """List all documents, oldest first, or a page of them."""
        return self._connection.pages(Call("GET", "/documents", query=query), DocumentList, lambda page: page.documents)

    async def get_document(self, doc_id: str) -> Upload:
        """One document's record."""
        return await self._connection.answer(Call("GET", f"/documents/{part(doc_id)}"), Upload)

    async def replace_document(self, doc_id: str, file: FileSource) -> Uploaded:
        """Replace a document's content.

        The old chunks answer until the new content is indexed. The sealed file of a document stays: 409."""
        return await self._connection.answer(
            Call("PUT", f"/documents/{part(doc_id)}", body=Form([("file", file)])), Uploaded
        )

    async def delete_document(self, doc_id: str) -> None:
        """Delete a document, its text and its chunks."""
        await self._connection.done(Call("DELETE", f"/documents/{part(doc_id)}"))

    async def file_document(self, doc_id: str, body: FilingChange) -> Upload:
        """Change a document's name, collection or metadata.

        Nothing is read or indexed again: the very next query knows it."""
        return await self._connection.answer(Call("PATCH", f"/documents/{part(doc_id)}", body=body), Upload)

    def list_collections(self, **query: Unpack[ListCollectionsQuery]) -> AsyncIterator[Collection]:
        """List collections, by name, and how many documents lie in each.

        A collection exists while a document lies in it."""
        return self._connection.pages(
            Call("GET", "/collections", query=query), CollectionPage, lambda page: page.collections
        )

    def document_content(self, doc_id: str, **query: Unpack[DocumentContentQuery]) -> AsyncDownload:
        """The original bytes."""
        return self._connection.download(Call("GET", f"/documents/{part(doc_id)}/content", query=query))

    def document_text(self, doc_id: str, **query: Unpack[DocumentTextQuery]) -> AsyncDownload:
        """The extracted text, or that of a page."""
        return self._connection.download(Call("GET", f"/documents/{part(doc_id)}/text", query=query))

    def document_chunks(self, doc_id: str, **query: Unpack[DocumentChunksQuery]) -> AsyncIterator[Chunk]:
        """The chunks that answer queries for the document."""
        return self._connection.pages(
            Call("GET", f"/documents/{part(doc_id)}/chunks", query=query), ChunkPage, lambda page: page.chunks
        )

    def page_image(self, doc_id: str, page: str, **query: Unpack[PageImageQuery]) -> AsyncDownload:
        """A page of a PDF as an image; `page` is its number and `.webp`."""
        return self._connection.download(Call("GET", f"/documents/{part(doc_id)}/pages/{part(page)}", query=query))

    async def info(self) -> Info:
        """What the service is."""
        return await self._connection.answer(Call("GET", "/info"), Info)

    async def stats(self) -> Stats:
        """How much the workspace holds."""
        return await self._connection.answer(Call("GET", "/stats"), Stats)

    async def build_index(self, body: IndexOrder | None = None, *, idempotency_key: str | None = None) -> Indexed | Run:
        """Build the search index.

        With the header `Prefer: respond-async` it answers at once, with the job. A replay of the same `Idempotency-
        Key` gives the first answer, byte for byte."""
        return await self._connection.either(
            Call("POST", "/documents/index", headers=once(idempotency_key), body=body), Indexed, Run
        )

    def list_runs(self, **query: Unpack[ListRunsQuery]) -> AsyncIterator[Run]:
        """List index runs, newest first."""
        return self._connection.pages(Call("GET", "/jobs", query=query), RunPage, lambda page: page.jobs)

    async def get_run(self, job_id: str) -> Run:
        """How far an index run is."""
        return await self._connection.answer(Call("GET", f"/jobs/{part(job_id)}"), Run)

    async def cancel_run(self, job_id: str) -> Run:
        """End an index run.

        What is indexed already stays indexed; a run that has ended stays as it is."""
        return await self._connection.answer(Call("DELETE", f"/jobs/{part(job_id)}"), Run)

    def follow_run(self, job_id: str) -> AsyncIterator[ServerEvent]:
        """An index run as it goes, as server-sent events."""
        return self._connection.events(Call("GET", f"/jobs/{part(job_id)}/events"))

    async def ask(
        self, body: NewQuery, *, idempotency_key: str | None = None, **query: Unpack[AskQuery]
    ) -> QueryAnswer:
        """Ask the indexed documents."""
        return await self._connection.answer(
            Call("POST", "/query", query=query, headers=once(idempotency_key), body=body), QueryAnswer
        )

    async def answer(self, body: NewAnswer) -> Answer:
        """An answer from the indexed documents, with citations that are checked.

        With `stream` as server-sent events: `passages`, then `sentence` for each, at last `end` with the whole
        answer, or `error`."""
        return await self._connection.answer(Call("POST", "/answer", body=body), Answer)

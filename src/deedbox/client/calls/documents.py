# Written by scripts/client.py from the OpenAPI document: change it there.
"""Documents sent to be signed: made, sent, followed, and fetched when they are sealed."""

from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import datetime
from typing import Literal, TypedDict, Unpack

from deedbox.client.call import Call, FileSource, Form, once, part
from deedbox.client.connection import AsyncConnection, Connection
from deedbox.client.download import AsyncDownload, Download
from deedbox.client.records.documents import (
    AuditEntry,
    AuditTrail,
    Document,
    DocumentArchive,
    DocumentPage,
    Signer,
    SigningLink,
)
from deedbox.client.requests.documents import (
    DocumentChange,
    NewDocument,
    Reason,
    SignerChange,
)


class ListDocumentsQuery(TypedDict, total=False):
    """What `list_documents` can be asked for."""

    limit: int
    """How many to show at most."""
    status: (
        Literal["completed", "declined", "draft", "expired", "failed", "finalizing", "processing", "sent", "voided"]
        | list[
            Literal["completed", "declined", "draft", "expired", "failed", "finalizing", "processing", "sent", "voided"]
        ]
    )
    """Documents of this status; of several, if repeated."""
    q: str
    """Only documents whose title contains this."""
    packet_id: str
    """Only documents of this packet."""
    bulk_send_id: str
    """Only documents of this bulk send."""
    template_id: str
    """Only documents made from this template."""
    external_id: str
    """Only documents with this id of yours."""
    signer_email: str
    """Only documents with a signer of this address."""
    created_after: datetime | str
    """Only documents made then or later."""
    created_before: datetime | str
    """Only documents made earlier."""
    order: Literal["asc", "desc"]
    """The newest first, or the oldest."""


class OriginalFileQuery(TypedDict, total=False):
    """What `original_file` can be asked for."""

    position: int
    """Which of the files, from 0."""


class AuditTrailQuery(TypedDict, total=False):
    """What `audit_trail` can be asked for."""

    limit: int
    """How many to show at most."""


class DocumentPageImageQuery(TypedDict, total=False):
    """What `document_page_image` can be asked for."""

    width: int
    """Of the picture, in pixels: it is made in the next of the widths 480, 820, 1240, 1860 and 2480."""


class DocumentsCalls:
    """Documents sent to be signed: made, sent, followed, and fetched when they are sealed."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def list(self, **query: Unpack[ListDocumentsQuery]) -> Iterator[Document]:
        """List documents by age."""
        return self._connection.pages(
            Call("GET", "/api/v1/documents", query=query), DocumentPage, lambda page: page.documents
        )

    def create(
        self, body: NewDocument, files: Sequence[FileSource] = (), *, idempotency_key: str | None = None
    ) -> Document:
        """Create a document, and send it if asked to.

        A Word document or an HTML page is converted in the background: until then the document is `processing`."""
        return self._connection.answer(
            Call(
                "POST",
                "/api/v1/documents",
                headers=once(idempotency_key),
                body=Form([*(("file", each) for each in files)], {"document": body}) if files else body,
            ),
            Document,
        )

    def get(self, document_id: str) -> Document:
        """One document."""
        return self._connection.answer(Call("GET", f"/api/v1/documents/{part(document_id)}"), Document)

    def delete_draft(self, document_id: str) -> None:
        """Delete a draft, or what could not be converted."""
        self._connection.done(Call("DELETE", f"/api/v1/documents/{part(document_id)}"))

    def change(self, document_id: str, body: DocumentChange) -> Document:
        """Change a document.

        What is given as it is changes nothing, so that the whole record can be sent back."""
        return self._connection.answer(Call("PATCH", f"/api/v1/documents/{part(document_id)}", body=body), Document)

    def send(self, document_id: str, *, idempotency_key: str | None = None) -> Document:
        """Send a draft to its signers."""
        return self._connection.answer(
            Call("POST", f"/api/v1/documents/{part(document_id)}/send", headers=once(idempotency_key)), Document
        )

    def void(self, document_id: str, body: Reason | None = None, *, idempotency_key: str | None = None) -> Document:
        """Void a document."""
        return self._connection.answer(
            Call("POST", f"/api/v1/documents/{part(document_id)}/void", headers=once(idempotency_key), body=body),
            Document,
        )

    def remind_signers(self, document_id: str, *, idempotency_key: str | None = None) -> Document:
        """Remind those whose turn it is."""
        return self._connection.answer(
            Call("POST", f"/api/v1/documents/{part(document_id)}/remind", headers=once(idempotency_key)), Document
        )

    def signing_link(self, document_id: str, signer_id: str, *, idempotency_key: str | None = None) -> SigningLink:
        """A link to embed: one signer, one document, for an hour."""
        return self._connection.answer(
            Call(
                "POST",
                f"/api/v1/documents/{part(document_id)}/signers/{part(signer_id)}/link",
                headers=once(idempotency_key),
            ),
            SigningLink,
        )

    def correct_signer(self, document_id: str, signer_id: str, body: SignerChange) -> Signer:
        """Correct someone who has not acted.

        With another address, or another check of identity, links that were sent before die, and a new one is mailed.
        Tries at a code stay counted. The people of a packet are corrected at the packet."""
        return self._connection.answer(
            Call("PATCH", f"/api/v1/documents/{part(document_id)}/signers/{part(signer_id)}", body=body), Signer
        )

    def original_file(self, document_id: str, **query: Unpack[OriginalFileQuery]) -> Download:
        """The original bytes."""
        return self._connection.download(Call("GET", f"/api/v1/documents/{part(document_id)}/file", query=query))

    def sealed_file(self, document_id: str) -> Download:
        """The sealed PDF."""
        return self._connection.download(Call("GET", f"/api/v1/documents/{part(document_id)}/signed"))

    def completion_certificate(self, document_id: str) -> Download:
        """The certificate of completion."""
        return self._connection.download(Call("GET", f"/api/v1/documents/{part(document_id)}/certificate"))

    def evidence_file(self, document_id: str) -> Download:
        """The evidence file."""
        return self._connection.download(Call("GET", f"/api/v1/documents/{part(document_id)}/evidence"))

    def audit_trail(self, document_id: str, **query: Unpack[AuditTrailQuery]) -> Iterator[AuditEntry]:
        """The audit trail, oldest row first."""
        return self._connection.pages(
            Call("GET", f"/api/v1/documents/{part(document_id)}/audit", query=query),
            AuditTrail,
            lambda page: page.audit,
        )

    def page_image(self, document_id: str, page: str, **query: Unpack[DocumentPageImageQuery]) -> Download:
        """A page as a picture.

        Of the sealed file once there is one, of what will be signed before that."""
        return self._connection.download(
            Call("GET", f"/api/v1/documents/{part(document_id)}/pages/{part(page)}", query=query)
        )

    def archive(self, document_id: str) -> DocumentArchive:
        """The archive's receipt and proof of inclusion."""
        return self._connection.answer(Call("GET", f"/api/v1/documents/{part(document_id)}/archive"), DocumentArchive)

    def archived_package(self, document_id: str) -> Download:
        """The package, fetched from the archive.

        Compared with the receipt on the way: of one that is not the same the end does not come."""
        return self._connection.download(Call("GET", f"/api/v1/documents/{part(document_id)}/archive/package"))


class AsyncDocumentsCalls:
    """Documents sent to be signed: made, sent, followed, and fetched when they are sealed."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    def list(self, **query: Unpack[ListDocumentsQuery]) -> AsyncIterator[Document]:
        """List documents by age."""
        return self._connection.pages(
            Call("GET", "/api/v1/documents", query=query), DocumentPage, lambda page: page.documents
        )

    async def create(
        self, body: NewDocument, files: Sequence[FileSource] = (), *, idempotency_key: str | None = None
    ) -> Document:
        """Create a document, and send it if asked to.

        A Word document or an HTML page is converted in the background: until then the document is `processing`."""
        return await self._connection.answer(
            Call(
                "POST",
                "/api/v1/documents",
                headers=once(idempotency_key),
                body=Form([*(("file", each) for each in files)], {"document": body}) if files else body,
            ),
            Document,
        )

    async def get(self, document_id: str) -> Document:
        """One document."""
        return await self._connection.answer(Call("GET", f"/api/v1/documents/{part(document_id)}"), Document)

    async def delete_draft(self, document_id: str) -> None:
        """Delete a draft, or what could not be converted."""
        await self._connection.done(Call("DELETE", f"/api/v1/documents/{part(document_id)}"))

    async def change(self, document_id: str, body: DocumentChange) -> Document:
        """Change a document.

        What is given as it is changes nothing, so that the whole record can be sent back."""
        return await self._connection.answer(
            Call("PATCH", f"/api/v1/documents/{part(document_id)}", body=body), Document
        )

    async def send(self, document_id: str, *, idempotency_key: str | None = None) -> Document:
        """Send a draft to its signers."""
        return await self._connection.answer(
            Call("POST", f"/api/v1/documents/{part(document_id)}/send", headers=once(idempotency_key)), Document
        )

    async def void(
        self, document_id: str, body: Reason | None = None, *, idempotency_key: str | None = None
    ) -> Document:
        """Void a document."""
        return await self._connection.answer(
            Call("POST", f"/api/v1/documents/{part(document_id)}/void", headers=once(idempotency_key), body=body),
            Document,
        )

    async def remind_signers(self, document_id: str, *, idempotency_key: str | None = None) -> Document:
        """Remind those whose turn it is."""
        return await self._connection.answer(
            Call("POST", f"/api/v1/documents/{part(document_id)}/remind", headers=once(idempotency_key)), Document
        )

    async def signing_link(
        self, document_id: str, signer_id: str, *, idempotency_key: str | None = None
    ) -> SigningLink:
        """A link to embed: one signer, one document, for an hour."""
        return await self._connection.answer(
            Call(
                "POST",
                f"/api/v1/documents/{part(document_id)}/signers/{part(signer_id)}/link",
                headers=once(idempotency_key),
            ),
            SigningLink,
        )

    async def correct_signer(self, document_id: str, signer_id: str, body: SignerChange) -> Signer:
        """Correct someone who has not acted.

        With another address, or another check of identity, links that were sent before die, and a new one is mailed.
        Tries at a code stay counted. The people of a packet are corrected at the packet."""
        return await self._connection.answer(
            Call("PATCH", f"/api/v1/documents/{part(document_id)}/signers/{part(signer_id)}", body=body), Signer
        )

    def original_file(self, document_id: str, **query: Unpack[OriginalFileQuery]) -> AsyncDownload:
        """The original bytes."""
        return self._connection.download(Call("GET", f"/api/v1/documents/{part(document_id)}/file", query=query))

    def sealed_file(self, document_id: str) -> AsyncDownload:
        """The sealed PDF."""
        return self._connection.download(Call("GET", f"/api/v1/documents/{part(document_id)}/signed"))

    def completion_certificate(self, document_id: str) -> AsyncDownload:
        """The certificate of completion."""
        return self._connection.download(Call("GET", f"/api/v1/documents/{part(document_id)}/certificate"))

    def evidence_file(self, document_id: str) -> AsyncDownload:
        """The evidence file."""
        return self._connection.download(Call("GET", f"/api/v1/documents/{part(document_id)}/evidence"))

    def audit_trail(self, document_id: str, **query: Unpack[AuditTrailQuery]) -> AsyncIterator[AuditEntry]:
        """The audit trail, oldest row first."""
        return self._connection.pages(
            Call("GET", f"/api/v1/documents/{part(document_id)}/audit", query=query),
            AuditTrail,
            lambda page: page.audit,
        )

    def page_image(self, document_id: str, page: str, **query: Unpack[DocumentPageImageQuery]) -> AsyncDownload:
        """A page as a picture.

        Of the sealed file once there is one, of what will be signed before that."""
        return self._connection.download(
            Call("GET", f"/api/v1/documents/{part(document_id)}/pages/{part(page)}", query=query)
        )

    async def archive(self, document_id: str) -> DocumentArchive:
        """The archive's receipt and proof of inclusion."""
        return await self._connection.answer(
            Call("GET", f"/api/v1/documents/{part(document_id)}/archive"), DocumentArchive
        )

    def archived_package(self, document_id: str) -> AsyncDownload:
        """The package, fetched from the archive.

        Compared with the receipt on the way: of one that is not the same the end does not come."""
        return self._connection.download(Call("GET", f"/api/v1/documents/{part(document_id)}/archive/package"))

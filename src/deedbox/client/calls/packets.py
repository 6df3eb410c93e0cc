# Written by scripts/client.py from the OpenAPI document: change it there.
"""Several documents for the same people: one link, one consent, one act of signing."""

from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import datetime
from typing import Literal, TypedDict, Unpack

from deedbox.client.call import Call, FileSource, Form, once, part
from deedbox.client.connection import AsyncConnection, Connection
from deedbox.client.download import AsyncDownload, Download
from deedbox.client.records.documents import (
    Signer,
    SigningLink,
)
from deedbox.client.records.packets import Packet, PacketPage
from deedbox.client.requests.documents import (
    Reason,
    SignerChange,
)
from deedbox.client.requests.packets import NewPacket, PacketChange


class ListPacketsQuery(TypedDict, total=False):
    """What `list_packets` can be asked for."""

    limit: int
    """How many to show at most."""
    status: (
        Literal["completed", "declined", "draft", "expired", "failed", "finalizing", "processing", "sent", "voided"]
        | list[
            Literal["completed", "declined", "draft", "expired", "failed", "finalizing", "processing", "sent", "voided"]
        ]
    )
    """Packets of this status; of several, if repeated."""
    q: str
    """Only packets whose title contains this."""
    external_id: str
    """Only packets with this id of yours."""
    created_after: datetime | str
    """Only packets made then or later."""
    created_before: datetime | str
    """Only packets made earlier."""
    order: Literal["asc", "desc"]
    """The newest first, or the oldest."""


class PacketsCalls:
    """Several documents for the same people: one link, one consent, one act of signing."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def correct_signer(self, packet_id: str, signer_id: str, body: SignerChange) -> Signer:
        """Correct someone who has not acted.

        With another address, or another check of identity, links that were sent before die, and a new one is mailed.
        Tries at a code stay counted."""
        return self._connection.answer(
            Call("PATCH", f"/api/v1/packets/{part(packet_id)}/signers/{part(signer_id)}", body=body), Signer
        )

    def list(self, **query: Unpack[ListPacketsQuery]) -> Iterator[Packet]:
        """List packets by age."""
        return self._connection.pages(
            Call("GET", "/api/v1/packets", query=query), PacketPage, lambda page: page.packets
        )

    def create(
        self, body: NewPacket, files: Sequence[FileSource] = (), *, idempotency_key: str | None = None
    ) -> Packet:
        """Create a packet of documents, and send it if asked to.

        The people sign all documents with one link, one consent and one act. Word documents and HTML pages are
        converted in the background: until the last of them the packet is `processing`."""
        return self._connection.answer(
            Call(
                "POST",
                "/api/v1/packets",
                headers=once(idempotency_key),
                body=Form([*(("file", each) for each in files)], {"document": body}) if files else body,
            ),
            Packet,
        )

    def get(self, packet_id: str) -> Packet:
        """One packet."""
        return self._connection.answer(Call("GET", f"/api/v1/packets/{part(packet_id)}"), Packet)

    def delete(self, packet_id: str) -> None:
        """Delete a draft, or what could not be converted, with all its documents."""
        self._connection.done(Call("DELETE", f"/api/v1/packets/{part(packet_id)}"))

    def change(self, packet_id: str, body: PacketChange) -> Packet:
        """Change a packet.

        What is given as it is changes nothing, so that the whole record can be sent back. Titles, metadata and fields
        of a document are changed at the document."""
        return self._connection.answer(Call("PATCH", f"/api/v1/packets/{part(packet_id)}", body=body), Packet)

    def send(self, packet_id: str, *, idempotency_key: str | None = None) -> Packet:
        """Send a draft to its signers."""
        return self._connection.answer(
            Call("POST", f"/api/v1/packets/{part(packet_id)}/send", headers=once(idempotency_key)), Packet
        )

    def void(self, packet_id: str, body: Reason | None = None, *, idempotency_key: str | None = None) -> Packet:
        """Void a packet with all its documents."""
        return self._connection.answer(
            Call("POST", f"/api/v1/packets/{part(packet_id)}/void", headers=once(idempotency_key), body=body), Packet
        )

    def remind(self, packet_id: str, *, idempotency_key: str | None = None) -> Packet:
        """Remind those whose turn it is."""
        return self._connection.answer(
            Call("POST", f"/api/v1/packets/{part(packet_id)}/remind", headers=once(idempotency_key)), Packet
        )

    def link(self, packet_id: str, signer_id: str, *, idempotency_key: str | None = None) -> SigningLink:
        """A link to embed: one signer, all documents, for an hour."""
        return self._connection.answer(
            Call(
                "POST",
                f"/api/v1/packets/{part(packet_id)}/signers/{part(signer_id)}/link",
                headers=once(idempotency_key),
            ),
            SigningLink,
        )

    def zip(self, packet_id: str) -> Download:
        """Everything in one zip file.

        A folder for each document with its originals and, once it is sealed, the sealed PDF, its certificate of
        completion and its evidence; beside them the certificate of the whole packet. Until then, what there is."""
        return self._connection.download(Call("GET", f"/api/v1/packets/{part(packet_id)}/zip"))

    def certificate(self, packet_id: str) -> Download:
        """The certificate of completion of all documents.

        It lists the documents with their hashes and everyone who signed once, and is sealed like each document's."""
        return self._connection.download(Call("GET", f"/api/v1/packets/{part(packet_id)}/certificate"))


class AsyncPacketsCalls:
    """Several documents for the same people: one link, one consent, one act of signing."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def correct_signer(self, packet_id: str, signer_id: str, body: SignerChange) -> Signer:
        """Correct someone who has not acted.

        With another address, or another check of identity, links that were sent before die, and a new one is mailed.
        Tries at a code stay counted."""
        return await self._connection.answer(
            Call("PATCH", f"/api/v1/packets/{part(packet_id)}/signers/{part(signer_id)}", body=body), Signer
        )

    def list(self, **query: Unpack[ListPacketsQuery]) -> AsyncIterator[Packet]:
        """List packets by age."""
        return self._connection.pages(
            Call("GET", "/api/v1/packets", query=query), PacketPage, lambda page: page.packets
        )

    async def create(
        self, body: NewPacket, files: Sequence[FileSource] = (), *, idempotency_key: str | None = None
    ) -> Packet:
        """Create a packet of documents, and send it if asked to.

        The people sign all documents with one link, one consent and one act. Word documents and HTML pages are
        converted in the background: until the last of them the packet is `processing`."""
        return await self._connection.answer(
            Call(
                "POST",
                "/api/v1/packets",
                headers=once(idempotency_key),
                body=Form([*(("file", each) for each in files)], {"document": body}) if files else body,
            ),
            Packet,
        )

    async def get(self, packet_id: str) -> Packet:
        """One packet."""
        return await self._connection.answer(Call("GET", f"/api/v1/packets/{part(packet_id)}"), Packet)

    async def delete(self, packet_id: str) -> None:
        """Delete a draft, or what could not be converted, with all its documents."""
        await self._connection.done(Call("DELETE", f"/api/v1/packets/{part(packet_id)}"))

    async def change(self, packet_id: str, body: PacketChange) -> Packet:
        """Change a packet.

        What is given as it is changes nothing, so that the whole record can be sent back. Titles, metadata and fields
        of a document are changed at the document."""
        return await self._connection.answer(Call("PATCH", f"/api/v1/packets/{part(packet_id)}", body=body), Packet)

    async def send(self, packet_id: str, *, idempotency_key: str | None = None) -> Packet:
        """Send a draft to its signers."""
        return await self._connection.answer(
            Call("POST", f"/api/v1/packets/{part(packet_id)}/send", headers=once(idempotency_key)), Packet
        )

    async def void(self, packet_id: str, body: Reason | None = None, *, idempotency_key: str | None = None) -> Packet:
        """Void a packet with all its documents."""
        return await self._connection.answer(
            Call("POST", f"/api/v1/packets/{part(packet_id)}/void", headers=once(idempotency_key), body=body), Packet
        )

    async def remind(self, packet_id: str, *, idempotency_key: str | None = None) -> Packet:
        """Remind those whose turn it is."""
        return await self._connection.answer(
            Call("POST", f"/api/v1/packets/{part(packet_id)}/remind", headers=once(idempotency_key)), Packet
        )

    async def link(self, packet_id: str, signer_id: str, *, idempotency_key: str | None = None) -> SigningLink:
        """A link to embed: one signer, all documents, for an hour."""
        return await self._connection.answer(
            Call(
                "POST",
                f"/api/v1/packets/{part(packet_id)}/signers/{part(signer_id)}/link",
                headers=once(idempotency_key),
            ),
            SigningLink,
        )

    def zip(self, packet_id: str) -> AsyncDownload:
        """Everything in one zip file.

        A folder for each document with its originals and, once it is sealed, the sealed PDF, its certificate of
        completion and its evidence; beside them the certificate of the whole packet. Until then, what there is."""
        return self._connection.download(Call("GET", f"/api/v1/packets/{part(packet_id)}/zip"))

    def certificate(self, packet_id: str) -> AsyncDownload:
        """The certificate of completion of all documents.

        It lists the documents with their hashes and everyone who signed once, and is sealed like each document's."""
        return self._connection.download(Call("GET", f"/api/v1/packets/{part(packet_id)}/certificate"))

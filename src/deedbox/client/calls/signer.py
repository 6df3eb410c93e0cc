# Written by scripts/client.py from the OpenAPI document: change it there.
"""What the signing page asks and tells, for one signer."""

from typing import Literal, TypedDict, Unpack

from deedbox.client.call import Call, FileSource, Form, part
from deedbox.client.connection import AsyncConnection, Connection
from deedbox.client.download import AsyncDownload, Download
from deedbox.client.records.signer import Acted, Done, Session, SessionAttachment
from deedbox.client.requests.signer import Code, Complete, DeclineBody, Delegation, Values


class SignerPageQuery(TypedDict, total=False):
    """What `signer_page` can be asked for."""

    width: int
    """Of the picture, in pixels: it is made in the next of the widths 480, 820, 1240, 1860 and 2480."""


class SignerDownloadQuery(TypedDict, total=False):
    """What `signer_download` can be asked for."""

    document: str
    """Only this document of the packet."""


class AttachmentPageQuery(TypedDict, total=False):
    """What `attachment_page` can be asked for."""

    width: int
    """Of the picture, in pixels: it is made in the next of the widths 480, 820, 1240, 1860 and 2480."""


class HandSvgQuery(TypedDict, total=False):
    """What `hand_svg` can be asked for."""

    text: str
    """What is typed."""
    hand: Literal["caveat", "dancing", "vibes"]
    """In which hand it is written."""


class SignerCalls:
    """What the signing page asks and tells, for one signer."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def session(self, signer_id: str) -> Session:
        """What there is to sign, and who signs."""
        return self._connection.answer(Call("GET", f"/sign/{part(signer_id)}/session", key=False), Session)

    def code(self, signer_id: str, body: Code) -> Done:
        """Give the code."""
        return self._connection.answer(Call("POST", f"/sign/{part(signer_id)}/code", body=body, key=False), Done)

    def page(self, signer_id: str, file_id: str, page: str, **query: Unpack[SignerPageQuery]) -> Download:
        """A page as a picture."""
        return self._connection.download(
            Call("GET", f"/sign/{part(signer_id)}/files/{part(file_id)}/pages/{part(page)}", query=query, key=False)
        )

    def keep_fields(self, signer_id: str, body: Values) -> Done:
        """Keep what is filled in so far."""
        return self._connection.answer(Call("PUT", f"/sign/{part(signer_id)}/fields", body=body, key=False), Done)

    def complete(self, signer_id: str, body: Complete) -> Acted:
        """Sign, or approve."""
        return self._connection.answer(Call("POST", f"/sign/{part(signer_id)}/complete", body=body, key=False), Acted)

    def decline(self, signer_id: str, body: DeclineBody) -> Acted:
        """Decline to sign."""
        return self._connection.answer(Call("POST", f"/sign/{part(signer_id)}/decline", body=body, key=False), Acted)

    def delegate(self, signer_id: str, body: Delegation) -> Acted:
        """Pass it on to someone else, where the sender allows it."""
        return self._connection.answer(Call("POST", f"/sign/{part(signer_id)}/delegate", body=body, key=False), Acted)

    def download(self, signer_id: str, **query: Unpack[SignerDownloadQuery]) -> Download:
        """The sealed file, or those of a packet.

        Of a packet, a zip file of all sealed files and certificates; with `document`, one sealed file."""
        return self._connection.download(Call("GET", f"/sign/{part(signer_id)}/download", query=query, key=False))

    def attach_file(self, signer_id: str, field_id: str, file: FileSource) -> SessionAttachment:
        """Give the file of a field.

        A PDF or an image, kept until the signer signs, in place of the one before. Its pages are joined behind the
        document when that is completed."""
        return self._connection.answer(
            Call(
                "PUT", f"/sign/{part(signer_id)}/attachments/{part(field_id)}", body=Form([("file", file)]), key=False
            ),
            SessionAttachment,
        )

    def remove_attachment(self, signer_id: str, field_id: str) -> None:
        """Take a file back."""
        self._connection.done(Call("DELETE", f"/sign/{part(signer_id)}/attachments/{part(field_id)}", key=False))

    def attachment_page(
        self, signer_id: str, field_id: str, page: str, **query: Unpack[AttachmentPageQuery]
    ) -> Download:
        """A page of an attachment as a picture."""
        return self._connection.download(
            Call(
                "GET",
                f"/sign/{part(signer_id)}/attachments/{part(field_id)}/pages/{part(page)}",
                query=query,
                key=False,
            )
        )

    def hand_svg(self, signer_id: str, **query: Unpack[HandSvgQuery]) -> Download:
        """A typed signature as it will be sealed.

        Paths only: it looks the same wherever it is shown."""
        return self._connection.download(Call("GET", f"/sign/{part(signer_id)}/hand.svg", query=query, key=False))


class AsyncSignerCalls:
    """What the signing page asks and tells, for one signer."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def session(self, signer_id: str) -> Session:
        """What there is to sign, and who signs."""
        return await self._connection.answer(Call("GET", f"/sign/{part(signer_id)}/session", key=False), Session)

    async def code(self, signer_id: str, body: Code) -> Done:
        """Give the code."""
        return await self._connection.answer(Call("POST", f"/sign/{part(signer_id)}/code", body=body, key=False), Done)

    def page(self, signer_id: str, file_id: str, page: str, **query: Unpack[SignerPageQuery]) -> AsyncDownload:
        """A page as a picture."""
        return self._connection.download(
            Call("GET", f"/sign/{part(signer_id)}/files/{part(file_id)}/pages/{part(page)}", query=query, key=False)
        )

    async def keep_fields(self, signer_id: str, body: Values) -> Done:
        """Keep what is filled in so far."""
        return await self._connection.answer(Call("PUT", f"/sign/{part(signer_id)}/fields", body=body, key=False), Done)

    async def complete(self, signer_id: str, body: Complete) -> Acted:
        """Sign, or approve."""
        return await self._connection.answer(
            Call("POST", f"/sign/{part(signer_id)}/complete", body=body, key=False), Acted
        )

    async def decline(self, signer_id: str, body: DeclineBody) -> Acted:
        """Decline to sign."""
        return await self._connection.answer(
            Call("POST", f"/sign/{part(signer_id)}/decline", body=body, key=False), Acted
        )

    async def delegate(self, signer_id: str, body: Delegation) -> Acted:
        """Pass it on to someone else, where the sender allows it."""
        return await self._connection.answer(
            Call("POST", f"/sign/{part(signer_id)}/delegate", body=body, key=False), Acted
        )

    def download(self, signer_id: str, **query: Unpack[SignerDownloadQuery]) -> AsyncDownload:
        """The sealed file, or those of a packet.

        Of a packet, a zip file of all sealed files and certificates; with `document`, one sealed file."""
        return self._connection.download(Call("GET", f"/sign/{part(signer_id)}/download", query=query, key=False))

    async def attach_file(self, signer_id: str, field_id: str, file: FileSource) -> SessionAttachment:
        """Give the file of a field.

        A PDF or an image, kept until the signer signs, in place of the one before. Its pages are joined behind the
        document when that is completed."""
        return await self._connection.answer(
            Call(
                "PUT", f"/sign/{part(signer_id)}/attachments/{part(field_id)}", body=Form([("file", file)]), key=False
            ),
            SessionAttachment,
        )

    async def remove_attachment(self, signer_id: str, field_id: str) -> None:
        """Take a file back."""
        await self._connection.done(Call("DELETE", f"/sign/{part(signer_id)}/attachments/{part(field_id)}", key=False))

    def attachment_page(
        self, signer_id: str, field_id: str, page: str, **query: Unpack[AttachmentPageQuery]
    ) -> AsyncDownload:
        """A page of an attachment as a picture."""
        return self._connection.download(
            Call(
                "GET",
                f"/sign/{part(signer_id)}/attachments/{part(field_id)}/pages/{part(page)}",
                query=query,
                key=False,
            )
        )

    def hand_svg(self, signer_id: str, **query: Unpack[HandSvgQuery]) -> AsyncDownload:
        """A typed signature as it will be sealed.

        Paths only: it looks the same wherever it is shown."""
        return self._connection.download(Call("GET", f"/sign/{part(signer_id)}/hand.svg", query=query, key=False))

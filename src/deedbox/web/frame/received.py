"""A document with its files, as JSON or as a form: the files go to the blobs as they come."""

import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, NamedTuple

from multipart import MultipartError, MultipartSegment, PushMultipartParser

from deedbox.kernel import limits
from deedbox.kernel.blobs import Blobs, Incoming, Received
from deedbox.kernel.errors import BadRequest, TooLarge
from deedbox.web.frame import multipart
from deedbox.web.frame.context import AnyRequest

DOCUMENT, FILE = "document", "file"
FORM: dict[str, Any] = {
    "schema": {
        "type": "object",
        "properties": {
            DOCUMENT: {
                "type": "string",
                "maxLength": limits.JSON_BODY_BYTES,
                "description": "The document as JSON, as without a form, but without files.",
            },
            FILE: {
                "type": "array",
                "minItems": 1,
                "maxItems": limits.DOCUMENT_FILES,
                "items": {"type": "string", "format": "binary"},
            },
        },
        "required": [DOCUMENT, FILE],
        "additionalProperties": False,
    }
}


class Part(NamedTuple):
    filename: str
    received: Received


class Form(NamedTuple):
    document: bytes
    parts: list[Part]


def is_form(request: AnyRequest) -> bool:
    return request.headers.get("content-type", "").lower().startswith("multipart/")


async def json_body(request: AnyRequest) -> bytes:
    """The body of a request that carries its files in JSON, bounded while it is read."""
    body = bytearray()
    async for chunk in multipart.patiently(request):
        body += chunk
        if len(body) > limits.DOCUMENT_JSON_BYTES:
            raise TooLarge(
                f"JSON with files may have {limits.DOCUMENT_JSON_BYTES // limits.MB} MB."
                " Send larger files as multipart/form-data: a part `document` and parts `file`."
            )
    return bytes(body)


@asynccontextmanager
async def form(request: AnyRequest, blobs: Blobs) -> AsyncIterator[Form]:
    """The document's JSON and its files; what is not adopted until the end of this is removed."""
    async with AsyncExitStack() as held:
        reading = _Reading(multipart.boundary(request), blobs, held)
        async for chunk in multipart.patiently(request):
            await reading.read(chunk)
        yield await reading.finish()


@asynccontextmanager
async def stored(blobs: Blobs, content: bytes, limit: int) -> AsyncIterator[Received]:
    """Bytes that came in JSON, as a blob that is not adopted yet."""
    async with blobs.receive(limit) as incoming:
        await incoming.write(content)
        yield await incoming.finish()


class _Reading:
    def __init__(self, boundary: str, blobs: Blobs, held: AsyncExitStack) -> None:
        try:
            self._parser = PushMultipartParser(boundary, max_header_size=limits.UPLOAD_PART_HEADER_BYTES)
        except MultipartError as error:
            raise BadRequest("The boundary of the form is not valid") from error
        self._blobs, self._held = blobs, held
        self._document = bytearray()
        self._files: list[tuple[str, Incoming]] = []
        self._take: Callable[[bytes], Any] | None = None

    async def read(self, chunk: bytes) -> None:
        try:
            events = list(self._parser.parse(chunk))
        except MultipartError as error:
            raise BadRequest(f"The form cannot be read: {error}") from error
        for event in events:
            if isinstance(event, MultipartSegment):
                await self._open(event)
            elif event and self._take is not None:
                await self._take(event)

    async def finish(self) -> Form:
        try:
            self._parser.close()
        except MultipartError as error:
            raise BadRequest("The form is cut short, or its boundary is another than the Content-Type says") from error
        if not self._document:
            raise BadRequest(f"The form has no part named {DOCUMENT!r} with the document as JSON")
        return Form(bytes(self._document), [Part(name, await one.finish()) for name, one in self._files])

    async def _open(self, part: MultipartSegment) -> None:
        if part.name == DOCUMENT and not self._document:
            self._take = self._keep
        elif part.name == FILE and len(self._files) < limits.DOCUMENT_FILES:
            name = multipart.clean(multipart.filename(part))
            incoming = await self._held.enter_async_context(self._blobs.receive(limits.DOCUMENT_FILE_BYTES))
            self._files.append((name, incoming))
            self._take = self._write
        else:
            raise BadRequest(
                f"The form may have one part {DOCUMENT!r} and {limits.DOCUMENT_FILES} parts {FILE!r},"
                f" and no part {part.name!r} beside them"
            )

    async def _keep(self, data: bytes) -> None:
        self._document += data
        if len(self._document) > limits.JSON_BODY_BYTES:
            raise TooLarge("The document's JSON is too large")

    async def _write(self, data: bytes) -> None:
        with _named():
            await self._files[-1][1].write(data)


@contextlib.contextmanager
def _named() -> Any:
    try:
        yield
    except TooLarge as error:
        raise TooLarge(f"A file may have {limits.DOCUMENT_FILE_BYTES // limits.MB} MB") from error

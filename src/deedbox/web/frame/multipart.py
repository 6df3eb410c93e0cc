"""A file that comes as multipart/form-data: streamed to the blobs, hashed and bounded on the way, never held."""

import asyncio
import re
import unicodedata
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes

from multipart import MultipartError, MultipartSegment, PushMultipartParser, parse_options_header

from deedbox.kernel import limits
from deedbox.kernel.blobs import Blobs, Incoming, Received
from deedbox.kernel.errors import BadRequest, TooLarge, UnsupportedMediaType
from deedbox.web.frame import context
from deedbox.web.frame.context import AnyRequest

OPTION = "multipart"
"""The `opt` with which a route that reads its body here says so in the description of the API."""
PART = "file"
DESCRIPTION: dict[str, Any] = {
    "schema": {
        "type": "object",
        "properties": {PART: {"type": "string", "format": "binary", "description": "The file, with its name."}},
        "required": [PART],
        "additionalProperties": False,
    },
    "encoding": {
        PART: {
            "headers": {
                "Content-Disposition": {
                    "description": "The name's extension says what kind of file it is.",
                    "schema": {"type": "string"},
                    "example": f'form-data; name="{PART}"; filename="lease.txt"',
                }
            }
        }
    },
}
"""What OpenAPI calls a media type object: how the form is made."""
TOO_LARGE = f"File exceeds maximum size of {limits.UPLOAD_BYTES // limits.MB}MB"

_KIND = "multipart/form-data"
_EXTENDED = re.compile(r";\s*filename\*\s*=\s*\"?([\w-]+)'[^']*'([^;\"\s]*)", re.IGNORECASE)
_UNSEEN = re.compile("[\u202a-\u202e\u2066-\u2069]")
"""Marks that make a name read otherwise than it is."""


class Part(NamedTuple):
    filename: str
    received: Received


@asynccontextmanager
async def one_file(request: AnyRequest, blobs: Blobs, accept: Callable[[str], object]) -> AsyncIterator[Part]:
    """The one file of the form. `accept` refuses a name before its bytes are read; what is not adopted is removed."""
    border = boundary(request)
    announced = request.headers.get("content-length", "")
    if announced.isdigit() and int(announced) > limits.UPLOAD_BYTES + limits.UPLOAD_FORM_BYTES:
        raise TooLarge(TOO_LARGE)
    async with blobs.receive(limits.UPLOAD_BYTES) as incoming:
        form = _Form(border, incoming, accept)
        async for chunk in patiently(request):
            await form.read(chunk)
        yield Part(form.finish(), await incoming.finish())


def boundary(request: AnyRequest) -> str:
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    if kind != _KIND:
        raise UnsupportedMediaType(f"Send the file as {_KIND}, in one part named {PART!r}")
    boundary = str(options.get("boundary", ""))
    if not boundary or len(boundary) > limits.UPLOAD_BOUNDARY_CHARS or not boundary.isascii():
        raise BadRequest(f"The Content-Type {_KIND} must name the boundary of its parts")
    return boundary


async def patiently(request: AnyRequest) -> AsyncIterator[bytes]:
    """The body as it comes: each piece gives the request more time, and the last one the usual time for the rest."""
    deadline, loop = context.of(request).deadline, asyncio.get_running_loop()
    if deadline is None:
        raise RuntimeError("the guard sets a deadline for every request")
    deadline.reschedule(loop.time() + limits.UPLOAD_STALL_SECONDS)
    async for chunk in request.stream():
        deadline.reschedule(loop.time() + limits.UPLOAD_STALL_SECONDS)
        if chunk:
            yield chunk
    deadline.reschedule(loop.time() + limits.REQUEST_SECONDS)


class _Form:
    """What has been read of the form."""

    def __init__(self, boundary: str, incoming: Incoming, accept: Callable[[str], object]) -> None:
        try:
            self._parser = PushMultipartParser(boundary, max_header_size=limits.UPLOAD_PART_HEADER_BYTES)
        except MultipartError as error:
            raise BadRequest("The boundary of the form is not valid") from error
        self._incoming = incoming
        self._accept = accept
        self._filename = ""
        self._other_bytes = 0

    async def read(self, chunk: bytes) -> None:
        """Takes the next bytes of the body: names are checked, and the file's bytes go to the blobs."""
        self._other_bytes += len(chunk)
        for event in self._events(chunk):
            if isinstance(event, MultipartSegment):
                self._open(event)
            elif event:
                self._other_bytes -= len(event)
                try:
                    await self._incoming.write(event)
                except TooLarge as error:
                    raise TooLarge(TOO_LARGE) from error
        if self._other_bytes > limits.UPLOAD_FORM_BYTES:
            raise BadRequest(f"The form holds more than one part named {PART!r}, or its boundary is another")

    def finish(self) -> str:
        """The name of the file; the form must be complete."""
        try:
            self._parser.close()
        except MultipartError as error:
            raise BadRequest("The form is cut short, or its boundary is another than the Content-Type says") from error
        if not self._filename:
            raise BadRequest(f"The form has no part named {PART!r}")
        return self._filename

    def _events(self, chunk: bytes) -> list[Any]:
        try:
            return list(self._parser.parse(chunk))
        except MultipartError as error:
            raise BadRequest(f"The form cannot be read: {error}") from error

    def _open(self, part: MultipartSegment) -> None:
        if part.name != PART:
            raise BadRequest(f"The form has a part that is not named {PART!r}. Send the file in one part of that name.")
        if self._filename:
            raise BadRequest("The form holds several files. Send each in a request of its own.")
        name = clean(filename(part))
        self._accept(name)
        self._filename = name


def filename(part: MultipartSegment) -> str:
    """The name that the part gives its file, that of RFC 5987 first."""
    extended = _EXTENDED.search(str(part.header("Content-Disposition", "")))
    if extended is None:
        return part.filename or ""
    try:
        return unquote_to_bytes(extended[2]).decode(extended[1])
    except (LookupError, UnicodeDecodeError) as error:
        raise BadRequest("The name of the file is not in the character set that it says") from error


def clean(name: str) -> str:
    """The last component of a path, without control characters; BadRequest if nothing is left, or too much."""
    last = re.split(r"[/\\]", name)[-1]
    shown = "".join(char for char in last if unicodedata.category(char) not in ("Cc", "Cs", "Zl", "Zp"))
    kept = unicodedata.normalize("NFC", _UNSEEN.sub("", shown)).strip()
    if kept in ("", ".", ".."):
        raise BadRequest(f"The part named {PART!r} has no file name. Send the file with its name.")
    if len(kept) > limits.FILENAME_CHARS:
        raise BadRequest(f"The name of the file is longer than {limits.FILENAME_CHARS} characters")
    return kept

"""A form that comes as multipart/form-data: read as it comes, each part handed on, nothing held."""

import asyncio
import re
import unicodedata
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeAlias
from urllib.parse import unquote_to_bytes

from multipart import MultipartError, MultipartSegment, PushMultipartParser, parse_options_header

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.errors import BadRequest, UnsupportedMediaType
from deedbox.web import limits
from deedbox.web.http import context
from deedbox.web.http.context import AnyRequest

FORM = "form"
"""The `opt` with which a route that reads a form says how it is made: what OpenAPI calls a media type object."""
FILE = "file"

Take: TypeAlias = Callable[[bytes], Awaitable[object]]
"""What takes the bytes of a part."""
_KIND = "multipart/form-data"
_EXTENDED = re.compile(r";\s*filename\*\s*=\s*\"?([\w-]+)'[^']*'([^;\"\s]*)", re.IGNORECASE)
_UNSEEN = re.compile("[\u202a-\u202e\u2066-\u2069]")
"""Marks that make a name read otherwise than it is."""


def is_form(request: AnyRequest) -> bool:
    return request.headers.get("content-type", "").lower().startswith("multipart/")


async def read(request: AnyRequest, opened: Callable[[MultipartSegment], Awaitable[Take]]) -> None:
    """Reads the form to its end. `opened` refuses a part, or says where its bytes go."""
    parser, take, overhead = _parser(request), None, 0
    async for chunk in patiently(request):
        overhead += len(chunk)
        try:
            events = list(parser.parse(chunk))
        except MultipartError as error:
            raise BadRequest(f"The form cannot be read: {error}") from error
        for event in events:
            if isinstance(event, MultipartSegment):
                take = await opened(event)
            elif event and take is not None:
                overhead -= len(event)
                await take(event)
        if overhead > limits.UPLOAD_FORM_BYTES:
            raise BadRequest("The form contains too much outside its parts, or its boundary is different")
    try:
        parser.close()
    except MultipartError as error:
        raise BadRequest("The form is truncated, or its boundary differs from the one in Content-Type") from error


def need_form(request: AnyRequest) -> dict[str, str]:
    """What the Content-Type of a form says beside its kind; it is refused if it is of another."""
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    if kind != _KIND:
        raise UnsupportedMediaType(f"Send the file as {_KIND}, in one part named {FILE!r}")
    return dict(options)


def _parser(request: AnyRequest) -> PushMultipartParser:
    options = need_form(request)
    boundary = str(options.get("boundary", ""))
    if not boundary or len(boundary) > limits.UPLOAD_BOUNDARY_CHARS or not boundary.isascii():
        raise BadRequest(f"The Content-Type {_KIND} must name the boundary of its parts")
    try:
        return PushMultipartParser(boundary, max_header_size=limits.UPLOAD_PART_HEADER_BYTES)
    except MultipartError as error:
        raise BadRequest("The boundary of the form is not valid") from error


async def patiently(request: AnyRequest, seconds: float | None = None) -> AsyncIterator[bytes]:
    """The body as it comes: beside these seconds it has time by its size, as it comes, and then that for the rest."""
    deadline, loop = context.of(request).deadline, asyncio.get_running_loop()
    if deadline is None:
        raise RuntimeError("the guard sets a deadline for every request")
    end = loop.time() + (limits.UPLOAD_STALL_SECONDS if seconds is None else seconds)
    deadline.reschedule(end)
    async for chunk in request.stream():
        end += len(chunk) / limits.UPLOAD_BYTES_PER_SECOND
        deadline.reschedule(min(end, loop.time() + limits.UPLOAD_STALL_SECONDS))
        if chunk:
            yield chunk
    deadline.reschedule(loop.time() + limits.REQUEST_SECONDS)


def filename(part: MultipartSegment) -> str:
    """The name that the part gives its file, that of RFC 5987 first, made clean."""
    extended = _EXTENDED.search(str(part.header("Content-Disposition", "")))
    if extended is None:
        return clean(part.filename or "")
    try:
        return clean(unquote_to_bytes(extended[2]).decode(extended[1]))
    except (LookupError, UnicodeDecodeError) as error:
        raise BadRequest("The name of the file is not in the character set that it says") from error


def clean(name: str) -> str:
    """The last component of a path, without control characters; BadRequest if nothing is left, or too much."""
    last = re.split(r"[/\\]", name)[-1]
    shown = "".join(char for char in last if unicodedata.category(char) not in ("Cc", "Cs", "Zl", "Zp"))
    kept = unicodedata.normalize("NFC", _UNSEEN.sub("", shown)).strip()
    if kept in ("", ".", ".."):
        raise BadRequest(f"The part named {FILE!r} has no file name. Send the file with its name.")
    if len(kept) > shared_limits.FILENAME_CHARS:
        raise BadRequest(f"The name of the file is longer than {shared_limits.FILENAME_CHARS} characters")
    return kept

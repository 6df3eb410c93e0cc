"""A stored file as a response: whole, in part, or not at all when the caller has it; and how its pages are named."""

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Annotated, Any
from urllib.parse import quote

import msgspec
from litestar import Response
from litestar.response import Stream as StreamedResponse
from msgspec import Meta

from deedbox import VERSION
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.blobs import Blob, Blobs, store
from deedbox.kernel.errors import LostFile, NotFound
from deedbox.pdf.render.page_pictures import lines_of, name_of
from deedbox.web import limits
from deedbox.web.http import context, ranges
from deedbox.web.http.context import AnyRequest, Context

_PAGE = re.compile(rf"([1-9][0-9]{{0,{limits.PAGE_NUMBER_DIGITS - 1}}})\.webp")
GUARDED = {"X-Content-Type-Options": "nosniff", "Cache-Control": "private, no-cache"}
"""A browser may keep what it got, must ask whether it still holds, and takes it for nothing else."""


PICTURE = {
    "200": {"description": "The page", "content": {"image/webp": {"schema": {"type": "string", "format": "binary"}}}},
    "304": {"description": "The caller has this picture: If-None-Match names its ETag"},
}
"""The answers of a route that shows a page."""


class PictureQuery(msgspec.Struct, frozen=True):
    """What the picture of a page is asked for with."""

    width: Annotated[int, Meta(ge=limits.PAGE_WIDTH_MIN, le=limits.PAGE_WIDTH_MAX)] = shared_limits.PAGE_IMAGE_WIDTH
    """Of the picture, in pixels: it is made in the next of the widths 480, 820, 1240, 1860 and 2480."""


async def file_response(request: AnyRequest, blobs: Blobs, blob: Blob, media_type: str, filename: str) -> Response[Any]:
    etag = f'"{blob.sha256}"'
    if ranges.is_current(request.headers.get("if-none-match"), etag):
        return unchanged_response(etag)
    plain = re.sub(r"[^ !#-\[\]-~]", "_", filename)
    headers = {
        "ETag": etag,
        "Accept-Ranges": "bytes",
        "Content-Disposition": f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(filename, safe='')}",
        **GUARDED,
    }
    part = ranges.parse_range(request.headers.get("range"), request.headers.get("if-range"), etag, blob.size_bytes)
    start, length = part or (0, blob.size_bytes)
    if part:
        headers["Content-Range"] = f"bytes {start}-{start + length - 1}/{blob.size_bytes}"
    pieces = blobs.open_range(blob.location, start, length)
    # Asked for here, so that a file that is not there is an error and not half an answer.
    async with _kept(request, blob):
        first = await anext(pieces, b"")
    here, each, in_all = context.of(request), limits.DOWNLOAD_STALL_SECONDS, limits.DOWNLOAD_SECONDS
    return StreamedResponse(
        patiently(here, join(first, pieces), each=each, in_all=in_all),
        status_code=206 if part else 200,
        # Named here, because the framework would say of any text that it is UTF-8.
        headers={**headers, "Content-Type": media_type, "Content-Length": str(length)},
    )


async def made_response(
    request: AnyRequest, etag: str, media_type: str, make: Callable[[], Awaitable[bytes]]
) -> Response[Any]:
    """What is made when it is asked for, unless the caller has it: the ETag is known before."""
    if ranges.is_current(request.headers.get("if-none-match"), etag):
        return unchanged_response(etag)
    return Response(await make(), headers={"ETag": etag, **GUARDED}, media_type=media_type)


def etag_of(*parts: str) -> str:
    """Of what these parts and this version of the server make."""
    made_from = "\0".join((VERSION, *parts))
    return f'"{hashlib.sha256(made_from.encode()).hexdigest()}"'


def unchanged_response(etag: str) -> Response[Any]:
    return Response(None, status_code=304, headers={"ETag": etag, **GUARDED}, media_type="text/plain")


async def page_picture(
    request: AnyRequest, blob: Blob, number: int, width: int = shared_limits.PAGE_IMAGE_WIDTH
) -> Response[Any]:
    """The page of a stored PDF as a WebP image; NotFound if it has none of this number."""

    async def picture() -> bytes:
        async with _kept(request, blob):
            return await context.of(request).deedbox.pictures.page(blob, number, width)

    etag = etag_of(blob.sha256, name_of(number, width))
    return await made_response(request, etag, "image/webp", picture)


async def page_lines(request: AnyRequest, blob: Blob, number: int) -> Response[Any]:
    """The places of the lines on the page of a stored PDF, as JSON; none of a page that is not read."""

    async def lines() -> bytes:
        async with _kept(request, blob):
            return await context.of(request).deedbox.pictures.lines(blob, number)

    return await made_response(request, etag_of(blob.sha256, lines_of(number)), "application/json", lines)


@asynccontextmanager
async def _kept(request: AnyRequest, blob: Blob) -> AsyncIterator[None]:
    """A file that is not there is lost, unless it was deleted since its row was read: then it is not found."""
    try:
        yield
    except LostFile:
        if await context.of(request).deedbox.db.read(lambda tx: store.find(tx, blob.sha256)) != blob:
            raise NotFound("The file was deleted at this very moment") from None
        raise


def page_number(name: str) -> int | None:
    """The page that `7.webp` names; None for any other name."""
    found = _PAGE.fullmatch(name)
    return int(found[1]) if found else None


async def patiently(here: Context, pieces: AsyncIterator[bytes], *, each: float, in_all: float) -> AsyncIterator[bytes]:
    """The pieces as they are taken: each gives the request so many seconds more, up to so many in all."""
    deadline, now = here.deadline, asyncio.get_running_loop().time
    end = now() + in_all
    async for piece in pieces:
        if deadline is not None:
            deadline.reschedule(min(end, now() + each))
        yield piece


async def join(first: bytes, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for piece in pieces:
        yield piece

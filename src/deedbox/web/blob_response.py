"""A stored file as a response: whole, in part, or not at all when the caller has it."""

from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

from litestar import Response
from litestar.response import Stream as StreamedResponse

from deedbox.kernel.blobs import Blob, Blobs
from deedbox.web import ranges
from deedbox.web.context import AnyRequest


async def file_response(
    request: AnyRequest, blobs: Blobs, blob: Blob, media_type: str, filename: str, *, inline: bool = False
) -> Response[Any]:
    etag = f'"{blob.sha256}"'
    headers = {
        "ETag": etag,
        "Accept-Ranges": "bytes",
        "Content-Disposition": f"{'inline' if inline else 'attachment'}; filename*=UTF-8''{quote(filename, safe='')}",
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "sandbox",
        "Cache-Control": "private, no-cache",
    }
    if ranges.is_current(request.headers.get("if-none-match"), etag):
        return Response(None, status_code=304, headers={"ETag": etag}, media_type="text/plain")
    part = ranges.wanted(request.headers.get("range"), request.headers.get("if-range"), etag, blob.size_bytes)
    start, length = part or (0, blob.size_bytes)
    if part:
        headers["Content-Range"] = f"bytes {start}-{start + length - 1}/{blob.size_bytes}"
    pieces = blobs.open_range(blob.location, start, length)
    # Asked for here, so that a file deleted at this moment is a 404 and not half an answer.
    first = await anext(pieces, b"")
    return StreamedResponse(
        _joined(first, pieces),
        status_code=206 if part else 200,
        headers={**headers, "Content-Type": media_type, "Content-Length": str(length)},
    )


async def _joined(first: bytes, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for piece in pieces:
        yield piece

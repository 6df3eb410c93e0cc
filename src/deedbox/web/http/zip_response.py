"""Several stored files as one zip file, made on its way out: stored, not packed, and never held whole."""

import hashlib
from collections.abc import AsyncIterator, Sequence
from typing import Any

from litestar import Response
from litestar.response import Stream as StreamedResponse

from deedbox.archive import stored_zip
from deedbox.archive.stored_zip import ZipEntry
from deedbox.kernel.blobs import Blob, Blobs
from deedbox.kernel.errors import TooLarge
from deedbox.kernel.plain_name import plain_name
from deedbox.signing.packet_files import NamedFile
from deedbox.web import limits
from deedbox.web.http import context, ranges
from deedbox.web.http.blob_response import GUARDED, join, patiently, unchanged_response
from deedbox.web.http.context import AnyRequest

MEDIA_TYPE = "application/zip"
_CONTENT = {MEDIA_TYPE: {"schema": {"type": "string", "format": "binary"}}}
ZIP_ANSWERS: dict[str, Any] = {
    "200": {"description": "The zip file", "content": _CONTENT},
    "304": {"description": "The caller has this content: If-None-Match names its ETag"},
}
"""What a route that gives a zip file answers, as OpenAPI describes it."""


async def zip_response(request: AnyRequest, files: Sequence[NamedFile], title: str) -> Response[Any]:
    """The files under their names, which are plain ASCII; the same files give the same bytes. TooLarge from 4 GB on."""
    here = context.of(request)
    told = "".join(f"{file.name}\0{file.blob.sha256}\n" for file in files)
    etag = f'"{hashlib.sha256(told.encode()).hexdigest()}"'
    if ranges.is_current(request.headers.get("if-none-match"), etag):
        return unchanged_response(etag)
    size = _size(files)
    pieces = _zipped(here.deedbox.blobs, files)
    # Asked for here, so that a file that is not there is an error and not half an answer.
    first = await anext(pieces)
    headers = {
        "Content-Type": MEDIA_TYPE,
        "Content-Length": str(size),
        "Content-Disposition": f'attachment; filename="{plain_name(title)}.zip"',
        "ETag": etag,
        **GUARDED,
    }
    each, in_all = limits.DOWNLOAD_STALL_SECONDS, limits.DOWNLOAD_SECONDS
    return StreamedResponse(patiently(here, join(first, pieces), each=each, in_all=in_all), headers=headers)


def _size(files: Sequence[NamedFile]) -> int:
    entries = [ZipEntry(file.name, file.blob.size_bytes, 0) for file in files]
    try:
        directory = stored_zip.directory(entries)
    except ValueError:
        raise TooLarge(
            "The files are too large for one zip file, which holds 4 GB. Download them one by one."
        ) from None
    return sum(len(stored_zip.header(one)) + one.size_bytes for one in entries) + len(directory)


async def _zipped(blobs: Blobs, files: Sequence[NamedFile]) -> AsyncIterator[bytes]:
    entries = []
    for name, blob in files:
        # Read twice: its checksum stands before its bytes.
        entry = ZipEntry(name, blob.size_bytes, await _crc(blobs, blob))
        entries.append(entry)
        yield stored_zip.header(entry)
        async for piece in blobs.open_range(blob.location, 0, blob.size_bytes):
            yield piece
    yield stored_zip.directory(entries)


async def _crc(blobs: Blobs, blob: Blob) -> int:
    found = 0
    async for piece in blobs.open_range(blob.location, 0, blob.size_bytes):
        found = stored_zip.crc(piece, found)
    return found

"""The bytes of a stored file on their way to a sandbox."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

from deedbox.kernel.blobs import Blob, Blobs
from deedbox.kernel.sandbox import Stream


@asynccontextmanager
async def open_stream(blobs: Blobs, blob: Blob) -> AsyncIterator[Stream]:
    """The file as an argument for a sandbox; it is open until the end of this."""
    pieces = blobs.open_range(blob.location, 0, blob.size_bytes)
    try:
        yield Stream(blob.size_bytes, pieces)
    finally:
        if isinstance(pieces, AsyncGenerator):
            await pieces.aclose()


async def head_of(blobs: Blobs, blob: Blob, most: int) -> bytes:
    """The first bytes of the file."""
    found = bytearray()
    pieces = blobs.open_range(blob.location, 0, min(most, blob.size_bytes))
    async for piece in pieces:
        found += piece
    return bytes(found)

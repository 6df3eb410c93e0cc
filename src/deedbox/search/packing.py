"""The text of a document as it is kept: compressed by the sandbox that read it, and checked when it is opened.

Compressed are the length of the text in eight bytes, the text in UTF-8, and then where its pages and headings begin.
"""

import codecs
import zlib
from collections.abc import AsyncIterator, Generator
from typing import Annotated

import msgspec
from msgspec import Meta

from deedbox.kernel import limits
from deedbox.kernel.errors import DeedboxError
from deedbox.search.upload import Extraction

_HEAD_BYTES = 8


class Packed(msgspec.Struct, frozen=True):
    """What is told of a text when it is packed."""

    text_length: Annotated[int, Meta(ge=0, le=limits.EXTRACTED_CHARS)]
    pages: Annotated[int, Meta(ge=0)] | None


class Damaged(DeedboxError):
    """A text that no file can have given: one that took over its sandbox may have kept anything."""

    def __init__(self) -> None:
        super().__init__("The stored text of this document is damaged. Upload the file again.")


class _Marks(msgspec.Struct, frozen=True, array_like=True):
    page_starts: list[int] | None
    headings: list[tuple[int, str]]


def packed(extraction: Extraction) -> Generator[bytes, None, Packed]:
    """Yields the text as it is kept, in pieces; returns what is to be told of it."""
    text = extraction.text.encode()
    marks = msgspec.msgpack.encode(_Marks(extraction.page_starts, extraction.headings))
    packing = zlib.compressobj(1)
    for part in (len(text).to_bytes(_HEAD_BYTES, "big"), text, marks):
        view = memoryview(part)
        for start in range(0, len(view), limits.BLOB_CHUNK_BYTES):
            if piece := packing.compress(view[start : start + limits.BLOB_CHUNK_BYTES]):
                yield piece
    yield packing.flush()
    return Packed(len(extraction.text), None if extraction.page_starts is None else len(extraction.page_starts))


def unpacked(body: bytes | bytearray) -> Extraction:
    """The extraction, or Damaged."""
    opening = zlib.decompressobj()
    try:
        opened = memoryview(opening.decompress(body, limits.PACKED_TEXT_BYTES))
        end = _HEAD_BYTES + int.from_bytes(opened[:_HEAD_BYTES], "big")
        marks = msgspec.msgpack.decode(opened[end:], type=_Marks)
        extraction = Extraction(str(opened[_HEAD_BYTES:end], "utf-8"), marks.page_starts, marks.headings)
    except (zlib.error, msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise Damaged from error
    if not opening.eof or not _is_sound(extraction):
        raise Damaged
    return extraction


async def opened_text(body: AsyncIterator[bytes]) -> tuple[int, AsyncIterator[bytes]]:
    """The size of the text in UTF-8, and the text as it is opened piece by piece; Damaged, maybe only on the way."""
    opened = _inflated(body)
    head = b""
    while len(head) < _HEAD_BYTES:
        head += await _next(opened)
    size = int.from_bytes(head[:_HEAD_BYTES], "big")
    if size > limits.PACKED_TEXT_BYTES:
        raise Damaged
    return size, _text(head[_HEAD_BYTES:], opened, size)


async def _text(piece: bytes, rest: AsyncIterator[bytes], size: int) -> AsyncIterator[bytes]:
    decoder = codecs.getincrementaldecoder("utf-8")()
    while size:
        piece = (piece or await _next(rest))[:size]
        size -= len(piece)
        try:
            text = decoder.decode(piece, final=not size)
        except UnicodeDecodeError as error:
            raise Damaged from error
        if "\x00" in text:
            raise Damaged
        yield piece
        piece = b""


async def _inflated(body: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    opening = zlib.decompressobj()
    async for piece in body:
        rest = piece
        while rest and not opening.eof:
            try:
                opened = opening.decompress(rest, limits.BLOB_CHUNK_BYTES)
            except zlib.error as error:
                raise Damaged from error
            rest = opening.unconsumed_tail
            if opened:
                yield opened


async def _next(pieces: AsyncIterator[bytes]) -> bytes:
    try:
        return await anext(pieces)
    except StopAsyncIteration as error:
        raise Damaged from error


def _is_sound(extraction: Extraction) -> bool:
    """Whether the text is one that can be kept, and the offsets lie in it and in order."""
    starts = extraction.page_starts or []
    offsets = [offset for offset, _ in extraction.headings]
    length = len(extraction.text)
    return (
        length <= limits.EXTRACTED_CHARS
        and "\x00" not in extraction.text
        and all(
            column == sorted(column) and column[0] >= 0 and column[-1] <= length
            for column in (starts, offsets)
            if column
        )
    )

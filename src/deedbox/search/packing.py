"""The text of a document as it is kept: compressed by the sandbox that read it, and checked when it is opened."""

import zlib
from typing import Annotated

import msgspec
from msgspec import Meta

from deedbox.kernel import limits
from deedbox.kernel.errors import DeedboxError
from deedbox.search.upload import Extraction

_OPENED_BYTES = 4 * limits.EXTRACTED_CHARS + limits.MB * 16
"""A text of the longest characters, and its page numbers and headings."""


class Packed(msgspec.Struct, frozen=True):
    text_length: Annotated[int, Meta(ge=0, le=limits.EXTRACTED_CHARS)]
    pages: Annotated[int, Meta(ge=0)] | None
    body: bytes


def packed(extraction: Extraction) -> Packed:
    pages = None if extraction.page_starts is None else len(extraction.page_starts)
    return Packed(len(extraction.text), pages, zlib.compress(msgspec.msgpack.encode(extraction), 1))


def unpacked(body: bytes) -> Extraction:
    """The extraction; raises if no file can have given it: one that took over its sandbox may have kept anything."""
    opening = zlib.decompressobj()
    try:
        opened = opening.decompress(body, _OPENED_BYTES)
        extraction = msgspec.msgpack.decode(opened, type=Extraction)
    except (zlib.error, msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise _damaged() from error
    if not opening.eof or not is_sound(extraction):
        raise _damaged()
    return extraction


def is_sound(extraction: Extraction) -> bool:
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


def _damaged() -> DeedboxError:
    return DeedboxError("The stored text of this document is damaged. Upload the file again.")

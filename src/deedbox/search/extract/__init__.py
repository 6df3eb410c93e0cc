"""The text of an uploaded file. Files are read in sandboxes only: `Extractor` is the way in.

A sandbox packs the text in the form in which it is kept: compressed are its length in eight bytes, the text in UTF-8,
and the offsets of its pages and headings. Whoever opens it checks it."""

import codecs
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from typing import Annotated

import msgspec
from msgspec import Meta

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.errors import ServiceError, Unavailable
from deedbox.kernel.sandbox import SandboxCall, SandboxFailed, SandboxKind, Sink, Stream
from deedbox.kernel.sandbox.pool import Sandbox
from deedbox.search import limits
from deedbox.search.extract.kinds import KINDS, PICTURES, check_content
from deedbox.search.library.upload import Extraction

_HEAD_BYTES = 8


class Packed(msgspec.Struct, frozen=True):
    """The size of a packed text."""

    text_length: Annotated[int, Meta(ge=0, le=shared_limits.EXTRACTED_CHARS)]
    pages: Annotated[int, Meta(ge=0)] | None
    hidden: Annotated[int, Meta(ge=0, le=shared_limits.EXTRACTED_CHARS)] = 0


class Damaged(ServiceError):
    """The kept text is none that a file can have given: a file that took over its sandbox may have written anything."""

    def __init__(self) -> None:
        super().__init__("The stored text of this document is damaged. Upload the file again.")


class _Marks(msgspec.Struct, frozen=True, array_like=True):
    page_starts: list[int] | None
    headings: list[tuple[int, str]]
    scanned: list[int] = []
    hidden: Annotated[int, Meta(ge=0, le=shared_limits.EXTRACTED_CHARS)] = 0


_MARKS = msgspec.msgpack.Decoder(_Marks)


class Extractor:
    """Reads files of every kind, each in a child process of its own that starts with the first file."""

    def __init__(self, processes: int) -> None:
        self._sandbox = Sandbox(
            SandboxKind(
                name="extract",
                preload=(__name__, *dict.fromkeys(f"{__name__}.{kind.module}" for kind in KINDS.values())),
                setup=(SandboxCall(f"{__name__}:prepare"),),
                processes=processes,
                caller_processes=max(1, processes // limits.EXTRACT_CALLER_SHARE),
                cpu_seconds=limits.EXTRACT_CPU_SECONDS,
                seconds=limits.EXTRACT_SECONDS,
            )
        )

    async def pack(self, data: bytes | Stream, kind: str, write: Callable[[bytes], Awaitable[None]]) -> Packed:
        """Writes the text of the file in the form in which it is kept, in pieces: the server never holds it.

        BadRequest or SandboxFailed, both a 400 with the reason, if it cannot be read; a part may be written then.
        Unavailable if the machine was too busy to read it in time.
        """
        sink = Sink(limits.PACKED_TEXT_BYTES, write)
        try:
            found = await self._sandbox.call(f"{__name__}:pack", data, kind, into=sink)
        except SandboxFailed as failed:
            if failed.reason == "deadline":  # a file at fault would have used up its computing time long before
                raise Unavailable("The server is too busy to read this file in time. Send it again.") from failed
            raise
        try:
            return msgspec.convert(found, Packed)
        except msgspec.ValidationError as error:
            raise SandboxFailed("crashed") from error

    async def extract(self, data: bytes | Stream, kind: str) -> Extraction:
        """The text of the file at once, for those who keep none; it fails as `pack` does."""
        body = bytearray()

        async def collect(piece: bytes) -> None:
            body.extend(piece)

        await self.pack(data, kind, collect)
        try:
            return unpack(body)
        except Damaged as error:
            raise SandboxFailed("crashed") from error

    async def close(self) -> None:
        await self._sandbox.close()


def extract(data: bytes, kind: str) -> Extraction:
    """Only to be run in a sandbox."""
    check_content(data, kind)
    return _reader(kind)(data)


def extract_nested_file(data: bytes, kind: str, depth: int) -> Extraction:
    """As `extract`, for a file that so many others enclose."""
    from deedbox.search.extract import eml, zip

    check_content(data, kind)
    enclosing = {"eml": eml.read, "zip": zip.read}
    return enclosing[kind](data, depth) if kind in enclosing else _reader(kind)(data)


def pack(data: bytes, kind: str) -> Generator[bytes, None, Packed]:
    """As `extract`, in the form that leaves a sandbox."""
    return (yield from pack_pieces(extract(data, kind)))


def prepare() -> None:
    """Loads the modules that formats need late, while the sandbox still may."""
    from deedbox.search.extract import charset, eml, image

    charset.load()
    eml.load()
    image.load()


def _reader(kind: str) -> Callable[[bytes], Extraction]:
    # Here and not above: the server process imports this module, and has no use for parsers.
    from deedbox.search.extract import (
        code,
        csv,
        docx,
        eml,
        epub,
        html,
        image,
        json,
        md,
        odt,
        pdf,
        pptx,
        rtf,
        sheets,
        txt,
        workbook,
        xml,
        zip,
    )

    readers: dict[str, Callable[[bytes], Extraction]] = {
        "pdf": pdf.read,
        "docx": docx.read,
        "txt": txt.read,
        "html": html.read,
        "md": md.read,
        "csv": csv.read,
        "pptx": pptx.read,
        "xlsx": workbook.read,
        "ods": sheets.read,
        "odt": odt.read,
        "rtf": rtf.read,
        "eml": eml.read,
        "epub": epub.read,
        "tsv": csv.read_tabs,
        "json": json.read,
        "xml": xml.read,
        "zip": zip.read,
        "code": code.read,
        **dict.fromkeys(PICTURES, image.read),
    }
    return readers[kind]


def pack_pieces(extraction: Extraction) -> Generator[bytes, None, Packed]:
    """Yields the packed text in pieces; returns its size."""
    text = extraction.text.encode()
    marks = msgspec.msgpack.encode(
        _Marks(extraction.page_starts, extraction.headings, extraction.scanned, extraction.hidden)
    )
    packer = zlib.compressobj(1)
    for part in (len(text).to_bytes(_HEAD_BYTES, "big"), text, marks):
        view = memoryview(part)
        for start in range(0, len(view), shared_limits.BLOB_CHUNK_BYTES):
            if piece := packer.compress(view[start : start + shared_limits.BLOB_CHUNK_BYTES]):
                yield piece
    yield packer.flush()
    pages = None if extraction.page_starts is None else len(extraction.page_starts)
    return Packed(len(extraction.text), pages, extraction.hidden)


def unpack(body: bytes | bytearray) -> Extraction:
    """The extraction, or Damaged."""
    opening = zlib.decompressobj()
    try:
        opened = memoryview(opening.decompress(body, limits.PACKED_TEXT_BYTES))
        end = _HEAD_BYTES + int.from_bytes(opened[:_HEAD_BYTES], "big")
        marks = _MARKS.decode(opened[end:])
        text = str(opened[_HEAD_BYTES:end], "utf-8")
        extraction = Extraction(text, marks.page_starts, marks.headings, marks.scanned, marks.hidden)
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
                opened = opening.decompress(rest, shared_limits.BLOB_CHUNK_BYTES)
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
    length, scanned = len(extraction.text), extraction.scanned
    return (
        length <= shared_limits.EXTRACTED_CHARS
        and scanned == sorted(set(scanned))
        and (not scanned or 1 <= scanned[0] <= scanned[-1] <= len(starts))
        and "\x00" not in extraction.text
        and all(
            column == sorted(column) and column[0] >= 0 and column[-1] <= length
            for column in (starts, offsets)
            if column
        )
    )

"""The text of an uploaded file. Files are read in sandboxes only: `Extractor` is the way in."""

from collections.abc import Awaitable, Callable, Generator

import msgspec

from deedbox.kernel.limits import EXTRACT_CPU_SECONDS, EXTRACT_SECONDS, PACKED_TEXT_BYTES
from deedbox.kernel.sandbox import Call, SandboxFailed, SandboxKind, Sink, Stream
from deedbox.kernel.sandbox.pool import Sandbox
from deedbox.search.extract.kinds import KINDS, check_content
from deedbox.search.packing import Damaged, Packed, packed, unpacked
from deedbox.search.upload import Extraction


class Extractor:
    """Reads files of the six kinds, each in a child process of its own that starts with the first file."""

    def __init__(self, processes: int) -> None:
        self._sandbox = Sandbox(
            SandboxKind(
                name="extract",
                preload=(__name__, *(f"{__name__}.{kind}" for kind in KINDS)),
                setup=(Call(f"{__name__}:prepare"),),
                processes=processes,
                cpu_seconds=EXTRACT_CPU_SECONDS,
                seconds=EXTRACT_SECONDS,
            )
        )

    async def pack(self, data: bytes | Stream, kind: str, write: Callable[[bytes], Awaitable[None]]) -> Packed:
        """Writes the text of the file in the form in which it is kept, in pieces: the server never holds it.

        BadRequest or SandboxFailed, both a 400 with the reason, if it cannot be read; a part may be written then.
        """
        found = await self._sandbox.call(f"{__name__}:pack", data, kind, into=Sink(PACKED_TEXT_BYTES, write))
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
            return unpacked(body)
        except Damaged as error:
            raise SandboxFailed("crashed") from error

    async def close(self) -> None:
        await self._sandbox.close()


def extract(data: bytes, kind: str) -> Extraction:
    """Only to be run in a sandbox."""
    check_content(data, kind)
    return _reader(kind)(data)


def pack(data: bytes, kind: str) -> Generator[bytes, None, Packed]:
    """As `extract`, in the form that leaves a sandbox."""
    return (yield from packed(extract(data, kind)))


def prepare() -> None:
    """Loads, while a sandbox still may, what the formats load when they first need it."""
    from deedbox.search.extract import charset

    charset.load()


def _reader(kind: str) -> Callable[[bytes], Extraction]:
    # Here and not above: the server process imports this module, and has no use for parsers.
    from deedbox.search.extract import csv, docx, html, md, pdf, txt

    readers = {"pdf": pdf.read, "docx": docx.read, "txt": txt.read, "html": html.read, "md": md.read, "csv": csv.read}
    return readers[kind]

"""The text of an uploaded file. Files are read in sandboxes only: `Extractor` is the way in."""

from collections.abc import Callable
from typing import Any

import msgspec

from deedbox.kernel.limits import EXTRACT_CPU_SECONDS, EXTRACT_SECONDS
from deedbox.kernel.sandbox import Call, SandboxFailed, SandboxKind, Stream
from deedbox.kernel.sandbox.pool import Sandbox
from deedbox.search.extract.kinds import KINDS, check_content
from deedbox.search.packing import Packed, is_sound, packed
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

    async def extract(self, data: bytes | Stream, kind: str) -> Extraction:
        """The text of the file; BadRequest or SandboxFailed, both a 400 with the reason, if it cannot be read."""
        found = await self._sandbox.call(f"{__name__}:extract", data, kind)
        try:
            extraction = msgspec.convert(found, Extraction)
        except msgspec.ValidationError as error:
            raise SandboxFailed("crashed") from error
        if not is_sound(extraction):
            raise SandboxFailed("crashed")
        return extraction

    async def pack(self, data: bytes | Stream, kind: str) -> Packed:
        """As `extract`, in the form in which a text is kept: the server never holds it at its full length."""
        found = await self._sandbox.call(f"{__name__}:pack", data, kind)
        try:
            return msgspec.convert(found, Packed)
        except msgspec.ValidationError as error:
            raise SandboxFailed("crashed") from error

    async def close(self) -> None:
        await self._sandbox.close()


def extract(data: bytes, kind: str) -> dict[str, Any]:
    """An Extraction in the form that leaves a sandbox. Only to be run in one."""
    check_content(data, kind)
    built: dict[str, Any] = msgspec.to_builtins(_reader(kind)(data))
    return built


def pack(data: bytes, kind: str) -> Packed:
    """Only to be run in a sandbox, like `extract`."""
    check_content(data, kind)
    return packed(_reader(kind)(data))


def prepare() -> None:
    """Loads, while a sandbox still may, what the formats load when they first need it."""
    from deedbox.search.extract import charset

    charset.load()


def _reader(kind: str) -> Callable[[bytes], Extraction]:
    # Here and not above: the server process imports this module, and has no use for parsers.
    from deedbox.search.extract import csv, docx, html, md, pdf, txt

    readers = {"pdf": pdf.read, "docx": docx.read, "txt": txt.read, "html": html.read, "md": md.read, "csv": csv.read}
    return readers[kind]

"""The server's side of OCR: pages go to the sandbox, and each comes back as soon as it is read."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import msgspec

from deedbox.kernel.sandbox import SandboxCall, SandboxFailed, SandboxKind, Sink, Stream
from deedbox.kernel.sandbox.pool import Sandbox
from deedbox.search import limits
from deedbox.search.embed.local import cores
from deedbox.search.embed.models import OCR
from deedbox.search.ocr import ScannedPage, model

_PAGE = msgspec.msgpack.Decoder(ScannedPage)

Keep: TypeAlias = Callable[[ScannedPage], Awaitable[None]]
_READ = "deedbox.search.ocr.read"


class PageReader:
    """Reads scanned pages, some of one document at a time, in a child process that starts with the first of them."""

    def __init__(self, models: Path) -> None:
        self._models = models
        self._sandbox = Sandbox(kind(models))
        self._turn = asyncio.Lock()

    @property
    def is_installed(self) -> bool:
        """Whether there is anything to read with; looked for each time, so that installing it needs no restart."""
        return model.is_present(self._models)

    async def read(self, data: Stream, of: str, numbers: Sequence[int], keep: Keep) -> None:
        """Has each of these pages of a file of this kind kept; SandboxFailed if one broke a limit, after those before.

        Whoever calls waits for a turn, however long: the jobs that come here are bounded already."""
        left = list(numbers)

        async def take(piece: bytes) -> None:
            try:
                page = _PAGE.decode(piece)
            except (msgspec.MsgspecError, ValueError) as error:
                raise SandboxFailed("crashed") from error
            if not left or page.number != left.pop(0) or not _is_sound(page):
                raise SandboxFailed("crashed")  # the picture has taken over its sandbox, which may write anything
            await keep(page)

        sink = Sink(limits.OCR_PAGE_BYTES * len(left), take)
        async with self._turn:
            await self._sandbox.call(f"{_READ}:read", data, of, list(numbers), into=sink)
        if left:
            raise SandboxFailed("crashed")

    async def close(self) -> None:
        await self._sandbox.close()


def kind(models: Path) -> SandboxKind:
    threads = min(cores(), limits.OCR_THREADS)
    seconds = limits.OCR_PAGE_SECONDS * limits.OCR_PAGES_A_CALL
    return SandboxKind(
        name="ocr",
        preload=(_READ,),
        setup=(SandboxCall(f"{_READ}:load", (str((models / OCR).resolve()), threads, limits.OCR_NICE)),),
        memory_bytes=limits.OCR_MEMORY_BYTES + threads * limits.OCR_THREAD_BYTES,
        cpu_seconds=seconds * threads,
        seconds=seconds,
    )


def _is_sound(page: ScannedPage) -> bool:
    """Whether the text can be kept, and its words lie in it and in order."""
    ends = [0, *(place for word in page.words for place in (word.start, word.end))]
    return "\x00" not in page.text and ends == sorted(ends) and ends[-1] <= len(page.text)

"""A package on its way back out of the archive: piece by piece, and no faster than it is taken."""

import asyncio
import hashlib
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from deedbox.archive import limits
from deedbox.archive.receipt import PackageReceipt
from deedbox.archive.targets import ArchiveTarget
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.errors import LostFile, NotFound, Unavailable


class Downloads:
    """Packages for callers, so many at a time: each holds a connection or a thread of the archive's."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[None]] = set()

    async def package(self, target: ArchiveTarget, name: str, receipt: PackageReceipt) -> AsyncIterator[bytes]:
        """The bytes of the package; LostFile if it is gone, Unavailable if too many are under way.

        Of one that the receipt does not name the end is kept back."""
        found, size, last = hashlib.sha256(), 0, b""
        async with aclosing(self._pieces(target, name, receipt.version)) as pieces:
            async for piece in pieces:
                found.update(piece)
                size += len(piece)
                if size > receipt.size_bytes:
                    break
                if last:
                    yield last
                last = piece
        if (found.hexdigest(), size) != (receipt.sha256, receipt.size_bytes):
            raise Unavailable(
                f"The archive has something else under {name} than it was given. Run `deedbox archive verify` for"
                " details."
            )
        yield last

    async def _pieces(self, target: ArchiveTarget, name: str, version: str | None) -> AsyncGenerator[bytes, None]:
        line: asyncio.Queue[bytes | None] = asyncio.Queue()

        async def hand_over(piece: bytes) -> None:
            line.put_nowait(piece)
            try:
                async with asyncio.timeout(shared_limits.ARCHIVE_READER_SECONDS):
                    await line.join()
            except TimeoutError as error:
                raise Unavailable("The package was not taken in time: ask for it again") from error

        def ended(task: asyncio.Task[None]) -> None:
            self._running.discard(task)
            line.put_nowait(None)
            if not task.cancelled():
                task.exception()  # heard here, because a reader that went away does not ask for it

        if len(self._running) >= limits.ARCHIVE_FETCHES:
            raise Unavailable("Too many packages are being fetched from the archive. Try again in a moment.")
        fetching = asyncio.create_task(target.fetch(name, hand_over, version))
        self._running.add(fetching)
        fetching.add_done_callback(ended)
        try:
            while (piece := await line.get()) is not None:
                yield piece
                line.task_done()
            await fetching
        except NotFound as error:  # and there is a receipt for it
            raise LostFile(target.location(name), "the package") from error
        finally:
            fetching.cancel()

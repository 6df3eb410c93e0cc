"""A package on its way back out of the archive: piece by piece, and no faster than it is taken."""

import asyncio
import hashlib
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from deedbox.archive.receipt import Receipt
from deedbox.archive.targets import Target
from deedbox.kernel.errors import Unavailable


async def fetched_package(target: Target, name: str, receipt: Receipt) -> AsyncIterator[bytes]:
    """The bytes of the package; NotFound if it is gone. Of one that the receipt does not name the end is kept back."""
    found, size, last = hashlib.sha256(), 0, b""
    async with aclosing(_pieces(target, name, receipt.version)) as pieces:
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
            f"The archive has something else under {name} than it was given. `deedbox archive verify` tells more."
        )
    yield last


async def _pieces(target: Target, name: str, version: str | None) -> AsyncGenerator[bytes, None]:
    line: asyncio.Queue[bytes | None] = asyncio.Queue()

    async def hand_over(piece: bytes) -> None:
        line.put_nowait(piece)
        await line.join()

    fetching = asyncio.create_task(target.fetch(name, hand_over, version))
    fetching.add_done_callback(lambda _: line.put_nowait(None))
    try:
        while (piece := await line.get()) is not None:
            yield piece
            line.task_done()
        await fetching
    finally:
        fetching.cancel()

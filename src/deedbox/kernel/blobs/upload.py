"""One upload to a folder or a bucket: it keeps to its limit, and removes what nobody adopted."""

import asyncio
import hashlib
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, TypeVar

from deedbox.kernel import limits
from deedbox.kernel.blobs import Blob, ReceivedBlob
from deedbox.kernel.blobs.names import location_of, too_large
from deedbox.kernel.errors import ServiceError

T = TypeVar("T")
InThread: TypeAlias = Callable[..., "asyncio.Future[Any]"]
"""Hands a step to a thread at once; its outcome is waited for."""
Lent: TypeAlias = dict[str, bytes]
"""Small files that are lent, by their location: they are read from here, and were never stored."""


class BlobDraft(Protocol):
    """Bytes on their way to their place. The methods run in threads; one that comes after `discard` stores nothing."""

    name: str
    """One that nobody has used before."""

    def append(self, data: bytearray) -> None: ...

    def keep(self, data: bytearray, durable: bool) -> tuple[str, str]:
        """The hash and the location of the bytes, these last ones included; a crash leaves what is durable."""

    def discard(self) -> None:
        """Removes what was stored; what cannot be removed now is an orphan later."""


class BlobUpload:
    """The bytes wait in memory until a piece is full: few trips to a thread."""

    def __init__(
        self,
        draft: BlobDraft,
        *,
        max_bytes: int,
        piece_bytes: int,
        doubt: Callable[[str], None],
        lent: Lent,
        in_thread: InThread,
    ) -> None:
        self._draft = draft
        self._max_bytes = max_bytes
        self._piece_bytes = piece_bytes
        self._doubt = doubt
        self._lent = lent
        self._lent_at = ""
        self._in_thread = in_thread
        self._waiting = bytearray()
        self._size = 0
        self._begun = False
        self._received: ReceivedBlob | None = None

    async def __aenter__(self) -> "BlobUpload":
        return self

    async def __aexit__(self, *_: object) -> None:
        self._lent.pop(self._lent_at, None)
        if self._received is None or self._received.withdraw():
            await self._discard()
        elif not self._received.adopted:
            # Its transaction failed, or may yet succeed: only the database can tell. The next sweep asks it.
            self._doubt(self._received.blob.location)

    async def write(self, chunk: bytes) -> None:
        self._size += len(chunk)
        if self._size > self._max_bytes:
            await self._discard()
            raise too_large(self._max_bytes, ", the most that is accepted here")
        self._waiting += chunk
        if len(self._waiting) >= self._piece_bytes:
            full, self._waiting = self._waiting, bytearray()
            await self._on_draft(self._draft.append, full)

    async def finish(self) -> ReceivedBlob:
        self._received = ReceivedBlob(await self._stored(durable=True))
        return self._received

    async def lend(self) -> Blob:
        if self._begun or self._size > limits.BLOB_CHUNK_BYTES:
            return await self._stored(durable=False)
        # All of it is in memory still, and soon forgotten: it need not be stored for that.
        sha256 = hashlib.sha256(self._waiting).hexdigest()
        self._lent_at = location_of(sha256, self._draft.name)
        self._lent[self._lent_at] = bytes(self._waiting)
        return Blob(sha256, self._size, self._lent_at)

    async def _stored(self, *, durable: bool) -> Blob:
        sha256, location = await self._on_draft(self._draft.keep, self._waiting, durable)
        return Blob(sha256, self._size, location)

    async def _on_draft(self, step: Callable[..., T], *given: object) -> T:
        self._begun = True
        try:
            kept: T = await self._in_thread(step, *given)
            return kept
        except (OSError, ServiceError):
            await self._discard()
            raise

    async def _discard(self) -> None:
        if not self._begun:
            return
        # Handed to the thread before anything is awaited, and shielded: a cancelled request cleans up too.
        await asyncio.shield(self._in_thread(self._draft.discard))

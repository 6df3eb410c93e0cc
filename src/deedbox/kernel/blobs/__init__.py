"""Content-addressed files: streamed in and hashed on the way, durable before their row, deleted after it."""

import threading
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Literal, Protocol, TypeAlias

import msgspec

from deedbox.kernel import limits
from deedbox.kernel.db import Database
from deedbox.kernel.errors import Unavailable


class Blob(msgspec.Struct, frozen=True):
    """Bytes that a row names: their hash, their size, and where they lie."""

    sha256: str
    size_bytes: int
    location: str


_Fate: TypeAlias = Literal["new", "offered", "adopted", "withdrawn"]


class ReceivedBlob:
    """Bytes that are durable at their location, and that no row names yet."""

    def __init__(self, blob: Blob) -> None:
        self.blob = blob
        self._fate: _Fate = "new"
        # A cancelled request may leave while its transaction is only about to begin in another thread.
        self._lock = threading.Lock()

    @property
    def adopted(self) -> bool:
        return self._fate == "adopted"

    def offer(self) -> None:
        """From here on a row may name the bytes; raises if they were withdrawn."""
        with self._lock:
            if self._fate == "withdrawn":
                raise Unavailable("The upload was given up before it was saved. Send the file again.")
            self._fate = "offered"

    def settle(self) -> None:
        """The transaction that decided about the bytes is durable."""
        self._fate = "adopted"

    def withdraw(self) -> bool:
        """True if no transaction has seen the bytes, and none will: they may be removed at once."""
        with self._lock:
            if self._fate == "new":
                self._fate = "withdrawn"
            return self._fate == "withdrawn"


class Incoming(Protocol):
    """One upload: `async with blobs.receive(limit) as incoming`. What was not adopted at the end is removed."""

    async def __aenter__(self) -> "Incoming": ...

    async def __aexit__(self, *_: object) -> None: ...

    async def write(self, chunk: bytes) -> None:
        """Takes the next bytes; raises TooLarge, with the file gone, as soon as the limit is passed."""

    async def finish(self) -> ReceivedBlob:
        """The received bytes, durable, ready for `store.adopt`."""

    async def lend(self) -> Blob:
        """The received bytes, for `open_range` until the end of this and no longer."""


class Blobs(Protocol):
    """Where the bytes lie: a folder, or a bucket."""

    def receive(self, max_bytes: int) -> Incoming:
        """A new upload of at most max_bytes."""

    def open_range(
        self, location: str, start: int = 0, length: int | None = None, *, chunk_bytes: int = limits.BLOB_CHUNK_BYTES
    ) -> AsyncIterator[bytes]:
        """The bytes from start on, in chunks of so many at most; LostFile if they are not there."""

    async def read(self, location: str, max_bytes: int) -> bytes:
        """All the bytes; TooLarge if there are more than max_bytes, LostFile if they are not there."""

    async def sweep(self, db: Database, now: datetime) -> int:
        """Removes what the trash names; the number of files removed. Does nothing while a backup runs."""

    async def reclaim(self, db: Database, now: datetime) -> int:
        """Finds what a crash left behind, for the next sweep; the number of files found. To be run at start."""

    async def lost(self, db: Database) -> list[str]:
        """The locations that rows name and at which nothing lies."""

    async def size(self) -> int:
        """The bytes in use, trash included."""

    async def check(self) -> None:
        """SetupError unless files can be stored and read here."""

    async def close(self) -> None:
        """No more will be asked."""

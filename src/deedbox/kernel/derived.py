"""Files that can be made again from stored ones: kept in a bounded folder of this server, and in no backup.

They lie under the hash of what they were made from, which its reader has to be allowed to read. With that they go."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from deedbox.kernel import limits, log
from deedbox.kernel.blobs import store
from deedbox.kernel.db import Database, Tx
from deedbox.kernel.threads import in_thread


class _Shelf(NamedTuple):
    """All that was made from one stored file."""

    sha256: str
    used: float
    size: int


class Derived:
    def __init__(self, folder: Path, most_bytes: int = limits.DERIVED_BYTES) -> None:
        self._folder = folder
        self._most = most_bytes
        self._added = 0

    async def find(self, sha256: str, name: str) -> bytes | None:
        """What was made under this name from the file with this hash; None if it is not kept."""
        return await in_thread(_read, self._shelf(sha256) / name)

    async def keep(self, sha256: str, name: str, data: bytes) -> None:
        """Keeps it if there is room; a full disk is no reason to refuse what was made."""
        try:
            await in_thread(_write, self._shelf(sha256), name, data)
        except OSError as error:
            log.warning("what was made of a file is not kept", reason=error.strerror)
            return
        self._added += len(data)
        if self._added > self._most // 8:
            self._added = 0
            await in_thread(self._trim)

    async def sweep(self, db: Database) -> int:
        """Forgets what was made from files that are gone, and what is too much: from how many files."""
        known = sorted(shelf.sha256 for shelf in await in_thread(lambda: list(self._shelves())))
        gone: list[str] = []
        for start in range(0, len(known), limits.DERIVED_SWEEP):
            part = known[start : start + limits.DERIVED_SWEEP]
            gone += await db.read(lambda tx, part=part: _lost(tx, part))  # type: ignore[misc]
        return await in_thread(self._drop, gone) + await in_thread(self._trim)

    def _shelf(self, sha256: str) -> Path:
        return self._folder / sha256[:2] / sha256

    def _shelves(self) -> Iterator[_Shelf]:
        for path in self._folder.glob("??/*"):
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):  # another process may have dropped it
                files = [one.stat() for one in path.iterdir()]
                used = max((one.st_mtime for one in files), default=0.0)
                yield _Shelf(path.name, used, sum(one.st_size for one in files))

    def _trim(self) -> int:
        """Drops what was not used for longest until the rest is within its bound."""
        shelves = sorted(self._shelves(), key=lambda shelf: shelf.used)
        total, dropped = sum(shelf.size for shelf in shelves), 0
        for shelf in shelves:
            if total <= self._most:
                break
            total -= shelf.size
            dropped += self._drop([shelf.sha256])
        return dropped

    def _drop(self, hashes: list[str]) -> int:
        for sha256 in hashes:
            shutil.rmtree(self._shelf(sha256), ignore_errors=True)
        return len(hashes)


def _lost(tx: Tx, hashes: list[str]) -> list[str]:
    return [sha256 for sha256 in hashes if store.find(tx, sha256) is None]


def _read(path: Path) -> bytes | None:
    try:
        data = path.read_bytes()
        os.utime(path)
    except OSError:  # what cannot be read is made again
        return None
    return data


def _write(shelf: Path, name: str, data: bytes) -> None:
    """Whole or not at all; nothing is lost if it is not durable."""
    shelf.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = shelf / f".{name}.{os.urandom(8).hex()}"
    try:
        draft.write_bytes(data)
        os.replace(draft, shelf / name)
    except OSError:
        draft.unlink(missing_ok=True)
        raise

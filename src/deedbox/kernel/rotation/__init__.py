"""Puts every stored secret under a new master key, while the server runs."""

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias

import msgspec

from deedbox.kernel import crypto, limits, log
from deedbox.kernel.db import Database, Tx
from deedbox.kernel.errors import SetupError
from deedbox.kernel.rotation import store
from deedbox.kernel.rotation.store import EncryptedChange, EncryptedColumn, EncryptedRow

__all__ = ["EncryptedColumn", "EncryptedRow", "Rotation", "rotate", "samples", "unreadable"]

Sample: TypeAlias = tuple[EncryptedColumn, EncryptedRow]


class Rotation(msgspec.Struct, frozen=True):
    """What a rotation did."""

    resumed: bool
    reencrypted: int
    unreadable: int
    """Values that no key of the ring opens; they were left as they are."""
    dropped: int
    """Old keys that no value used any more, now forgotten."""


async def rotate(
    db: Database, ring: Path, columns: Sequence[EncryptedColumn], shown: Callable[[int, int], None]
) -> Rotation:
    """Encrypts every value of these columns anew under a new key; `shown` hears how many of how many are done.

    One that was cut short is taken up where it stopped. `columns` must be all there are: a key that none of their
    values uses is forgotten at the next rotation but one, and what it encrypted elsewhere is lost."""
    with _alone(ring):
        resumed = crypto.has_open_rotation(ring)
        dropped = set() if resumed else await _unused(db, ring, columns)
        if not resumed:
            crypto.add_key(ring, drop=dropped)
        reencrypted, unreadable = await _Pass(db, crypto.ValueCipher(ring), columns, shown).until_none_is_left()
        crypto.end_rotation(ring)
    return Rotation(resumed, reencrypted, unreadable, len(dropped))


def samples(tx: Tx, columns: Sequence[EncryptedColumn]) -> list[Sample]:
    """One encrypted value of each column that has any."""
    found = ((column, store.sample(tx, column)) for column in columns)
    return [(column, row) for column, row in found if row is not None]


def unreadable(ring: Path, found: Sequence[Sample]) -> list[str]:
    """The places of the values that this ring does not decrypt; SetupError if it decrypts none of them."""
    box, failed = crypto.ValueCipher(ring), []
    for column, row in found:
        place = column.place.format(**row.keys)
        try:
            box.decrypt(row.value, place)
        except ValueError:
            failed.append(place)
    if found and len(failed) == len(found):
        raise SetupError(
            f"The master key file {ring} does not fit the database: it decrypts none of the stored secrets.",
            "Put the master key of this installation in its place, from a backup or from the machine that has it.",
        )
    return failed


@contextlib.contextmanager
def _alone(ring: Path) -> Iterator[None]:
    # Two rotations at once would each write the ring without the other's new key.
    folder = os.open(ring.resolve().parent, os.O_RDONLY)
    try:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise SetupError("Another rotation of the master key is running.", "Wait until it has ended.") from error
        yield
    finally:
        os.close(folder)


async def _unused(db: Database, ring: Path, columns: Sequence[EncryptedColumn]) -> set[bytes]:
    """The keys to forget. Never the newest: a running server may still encrypt with it for a moment."""
    used = {key for column in columns for key in await db.read(partial(store.count_key_use, column=column))}
    return set(crypto.key_ids(ring)[:-1]) - used


class _Pass:
    def __init__(
        self,
        db: Database,
        box: crypto.ValueCipher,
        columns: Sequence[EncryptedColumn],
        shown: Callable[[int, int], None],
    ) -> None:
        self._db = db
        self._box = box
        self._columns = columns
        self._shown = shown
        self._reencrypted = 0
        self._unreadable = 0

    async def until_none_is_left(self) -> tuple[int, int]:
        """How many values were encrypted anew, and how many could not be read."""
        for _ in range(limits.ROTATION_PASSES):
            left = await self._left()
            self._shown(self._reencrypted, self._reencrypted + left)
            if left == 0:
                break
            self._unreadable = 0
            total = self._reencrypted + left
            for column in self._columns:
                await self._through(column, total)
            if self._unreadable == left:
                break
        return self._reencrypted, self._unreadable

    async def _left(self) -> int:
        counts = [await self._db.read(partial(store.count_key_use, column=column)) for column in self._columns]
        return sum(rows for count in counts for key, rows in count.items() if key != self._box.newest)

    async def _through(self, column: EncryptedColumn, total: int) -> None:
        outdated = partial(store.list_outdated, column=column, newest=self._box.newest)
        rows = await self._db.read(partial(outdated, after=None))
        while rows:
            changes = [change for row in rows if (change := self._change(column, row))]
            self._reencrypted += await self._db.write(partial(store.replace, column=column, changes=changes))
            self._shown(self._reencrypted, max(total, self._reencrypted))
            rows = await self._db.read(partial(outdated, after=rows[-1]))

    def _change(self, column: EncryptedColumn, row: EncryptedRow) -> EncryptedChange | None:
        place = column.place.format(**row.keys)
        try:
            plain = self._box.decrypt(row.value, place)
        except ValueError as error:
            self._unreadable += 1
            log.error("a stored secret cannot be read and keeps its old key", reason=str(error))
            return None
        return EncryptedChange(row, self._box.encrypt(plain, place))

"""R2: the real writer on a disk that remembers every operation, and the disks that a power cut could leave behind."""

import asyncio
import os
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import apsw
import msgspec

from deedbox.accounts import keys, workspaces
from deedbox.kernel import idempotency, outbox
from deedbox.kernel.crypto import ValueCipher, create_key_file
from deedbox.kernel.db import Tx, sqlite
from deedbox.kernel.idempotency import KeyedRequest, StoredResponse

SECTOR = 512
CHECKPOINT_PAGES = 40
"""Small, so that many cuts fall into a checkpoint."""
LARGEST_BATCH = 12
REFUSED_SHARE = 0.1
NAME_CHARS = (1, 20, 100)
NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


class Wrote(NamedTuple):
    file: str
    offset: int
    data: bytes


class Cut(NamedTuple):
    """The file was shortened to this size."""

    file: str
    size: int


class Synced(NamedTuple):
    file: str


class Deleted(NamedTuple):
    file: str


class Acknowledged(NamedTuple):
    key_id: str


Operation = Wrote | Cut | Synced | Deleted | Acknowledged


class Report(msgspec.Struct):
    cuts: int
    writes: int
    operations: int
    corrupt: int = 0
    cuts_that_lost: int = 0
    lost: int = 0
    split: int = 0

    @property
    def faults(self) -> int:
        return self.corrupt + self.lost + self.split


class _Recorded(apsw.VFSFile):
    def __init__(self, record: list[Operation], name: Any, flags: list[int]) -> None:
        self._record = record
        self._name = os.path.basename(name.filename() if isinstance(name, apsw.URIFilename) else name or "temporary")
        super().__init__("", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:
        self._record.append(Wrote(self._name, offset, bytes(data)))
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:
        self._record.append(Cut(self._name, newsize))
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:
        super().xSync(flags)
        self._record.append(Synced(self._name))


class _Recorder(apsw.VFS):
    def __init__(self, record: list[Operation]) -> None:
        self._record = record
        self.name = f"recorder-{id(self)}"
        super().__init__(self.name, "")

    def xOpen(self, name: Any, flags: list[int]) -> _Recorded:
        return _Recorded(self._record, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        super().xDelete(filename, syncdir)
        self._record.append(Deleted(os.path.basename(filename)))


class _Cursor:
    """An apsw cursor with the one thing that the standard library's has and it lacks."""

    def __init__(self, connection: apsw.Connection, cursor: apsw.Cursor) -> None:
        self.fetchone: Callable[[], Any] = cursor.fetchone
        self.fetchall: Callable[[], list[Any]] = cursor.fetchall
        self.rowcount: int = connection.changes()


class _Connection:
    """The recorded database in the shape that the writer expects."""

    def __init__(self, path: Path, vfs: str, pragmas: Sequence[str]) -> None:
        self._apsw = apsw.Connection(str(path), vfs=vfs)
        # This kind of VFS has no shared memory, which only a single connection can do without.
        for pragma in ("pragma locking_mode = exclusive", *pragmas, f"pragma wal_autocheckpoint = {CHECKPOINT_PAGES}"):
            self._apsw.execute(pragma).fetchall()

    @property
    def in_transaction(self) -> bool:
        return bool(self._apsw.in_transaction)

    def execute(self, sql: str, values: Mapping[str, Any] | None = None) -> _Cursor:
        return _Cursor(self._apsw, self._apsw.execute(sql, values or None))

    def close(self) -> None:
        self._apsw.close()


def recorded(
    path: Path,
    rounds: int,
    *,
    pragmas: Sequence[str] = sqlite.PRAGMAS,
    event_apart: bool = False,
    seed: int = 1,
) -> list[Operation]:
    """Every operation on the files while the real writer saved keys with their events, and each acknowledgement.

    With `event_apart`, the planted bug, an event is saved in a transaction of its own."""
    record: list[Operation] = []
    vfs = _Recorder(record)

    def connect(path: Path, *, writable: bool) -> Any:
        # The reader is not asked for anything here, and the recorded file takes one connection only.
        return _Connection(path, vfs.name, pragmas) if writable else sqlite3.connect(":memory:")

    try:
        with mock.patch.object(sqlite, "connect", connect):
            asyncio.run(_write(path, rounds, record, random.Random(seed), event_apart=event_apart))
    finally:
        vfs.unregister()
    return record


async def _write(path: Path, rounds: int, record: list[Operation], chance: random.Random, *, event_apart: bool) -> None:
    ring = path.parent / "master.key"
    create_key_file(ring)
    box, db = ValueCipher(ring), sqlite.SqliteDatabase(path)
    workspace = await db.write(lambda tx: workspaces.ensure(tx, now=NOW))

    async def one(number: str) -> None:
        name = number.rjust(chance.choice(NAME_CHARS), "n")
        refuse = chance.random() < REFUSED_SHARE
        save = _Save(box, workspace.id, name, refuse, event_apart)
        try:
            key_id = await db.write(save.key_with_event)
        except _Refused:
            return
        if event_apart:
            await db.write(lambda tx: save.emit(tx, key_id))
        record.append(Acknowledged(key_id))

    for number in range(rounds):
        batch = chance.randint(1, LARGEST_BATCH)
        await asyncio.gather(*(one(f"{number}-{index}") for index in range(batch)))
    await db.close()


class _Refused(Exception):
    """Takes back one write of a batch."""


class _Save(NamedTuple):
    """A new key to be saved with its event and the answer to its Idempotency-Key."""

    box: ValueCipher
    workspace_id: str
    name: str
    refuse: bool
    event_apart: bool

    def key_with_event(self, tx: Tx) -> str:
        """The id of the key that was saved."""
        made: list[str] = []

        def act(tx: Tx) -> StoredResponse:
            record, _ = keys.create(tx, workspaces.operator(self.workspace_id), keys.NewKey(name=self.name), now=NOW)
            made.append(record.id)
            if not self.event_apart:
                self.emit(tx, record.id)
            return StoredResponse(201, msgspec.json.encode(record))

        idempotency.once(tx, self.box, KeyedRequest("operator", self.name, b""), act, now=NOW)
        if self.refuse:
            raise _Refused
        return made[0]

    def emit(self, tx: Tx, key_id: str) -> None:
        outbox.emit(tx, self.workspace_id, "key.created", key_id, {"name": self.name}, now=NOW)


class _Disk:
    """What is surely on the disk, and what was written since and may have reached it or not."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._sure = {name: bytearray(data) for name, data in files.items()}
        self._unsure: dict[str, list[Wrote | Cut]] = {}

    def apply(self, operation: Operation) -> None:
        if isinstance(operation, (Wrote, Cut)):
            self._unsure.setdefault(operation.file, []).append(operation)
        elif isinstance(operation, Synced):
            data = self._sure.setdefault(operation.file, bytearray())
            for change in self._unsure.pop(operation.file, []):
                _change(data, change)
        elif isinstance(operation, Deleted):
            self._sure.pop(operation.file, None)
            self._unsure.pop(operation.file, None)

    def after_a_cut(self, chance: random.Random) -> dict[str, bytearray]:
        """The files as they could be: of what was not synced, each sector is there or it is not."""
        files = {name: bytearray(data) for name, data in self._sure.items()}
        for name, changes in self._unsure.items():
            reached = chance.choice((0.0, 0.5, 1.0))
            data = files.setdefault(name, bytearray())
            for piece in _pieces(changes):
                if chance.random() < reached:
                    _change(data, piece)
        return files


def _pieces(changes: list[Wrote | Cut]) -> Iterator[Wrote | Cut]:
    for change in changes:
        if isinstance(change, Cut):
            yield change
            continue
        begin, end = change.offset, change.offset + len(change.data)
        while begin < end:
            edge = min(end, (begin // SECTOR + 1) * SECTOR)
            yield Wrote(change.file, begin, change.data[begin - change.offset : edge - change.offset])
            begin = edge


def _change(data: bytearray, change: Wrote | Cut) -> None:
    if isinstance(change, Cut):
        del data[change.size :]
        return
    data.extend(bytes(max(0, change.offset - len(data))))
    data[change.offset : change.offset + len(change.data)] = change.data


def cut(before: Path, record: list[Operation], folder: Path, cuts: int, *, seed: int = 1) -> Report:
    """What is amiss on the disks that so many cuts, at random places of the record, could leave behind."""
    chance = random.Random(seed)
    disk, acknowledged = _Disk({before.name: before.read_bytes()}), set[str]()
    report = Report(cuts, sum(isinstance(operation, Acknowledged) for operation in record), len(record))
    places = sorted(chance.randrange(len(record)) for _ in range(cuts))
    done = 0
    for place in places:
        for operation in record[done:place]:
            disk.apply(operation)
            if isinstance(operation, Acknowledged):
                acknowledged.add(operation.key_id)
        done = place
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for name, data in disk.after_a_cut(chance).items():
            (folder / name).write_bytes(data)
        _inspect(folder / before.name, acknowledged, report)
    return report


def _inspect(path: Path, acknowledged: set[str], report: Report) -> None:
    """Opens the disk as the server would, and holds it against what was acknowledged."""
    try:
        with closing(sqlite.connect(path, writable=True)) as database:
            sound = database.execute("pragma integrity_check").fetchall() == [("ok",)]
            sound = sound and not database.execute("pragma foreign_key_check").fetchall()
            saved = {row[0] for row in database.execute("select id from api_keys")}
            events = {row[0] for row in database.execute("select subject_id from events")}
            answers = database.execute("select count(*) from idempotency").fetchone()[0]
    except sqlite3.DatabaseError:
        report.corrupt += 1
        return
    lost = len(acknowledged - saved)
    report.corrupt += not sound
    report.lost += lost
    report.cuts_that_lost += lost > 0
    report.split += len(saved ^ events) + abs(answers - len(saved))

"""SQLite: short reads inline on a read connection, longer ones in threads, writes through one thread that commits many
at once."""

import asyncio
import contextlib
import queue
import sqlite3
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from deedbox.kernel import fairness, limits
from deedbox.kernel.db import Dialect, Isolation, Listeners, Row, Tx, Value, grams
from deedbox.kernel.db.deferred import DeferredWrites
from deedbox.kernel.errors import ErrorCode, ServiceError, Unavailable
from deedbox.kernel.traces import span

T = TypeVar("T")

PRAGMAS = (
    "pragma journal_mode = wal",
    "pragma synchronous = full",
    "pragma foreign_keys = on",
    f"pragma journal_size_limit = {limits.WAL_BYTES_KEPT}",
    f"pragma mmap_size = {limits.SQLITE_MMAP_BYTES}",
)
"""What makes a connection durable and bounded."""

_STORAGE_ERRORS = {
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
}
_TICKS = 10
"""How often an inline read is looked at before it has taken too many steps."""
_BUSY_ERRORS = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


class SqliteTx:
    dialect: Dialect = "sqlite"

    def __init__(self, connection: sqlite3.Connection, listeners: Listeners) -> None:
        self._connection = connection
        self.listeners = listeners
        self.callbacks: list[Callable[[], None]] = []
        self._put_off = DeferredWrites()

    def one(self, sql: str, /, **values: Value) -> Row | None:
        self.settle()
        row: Row | None = self._connection.execute(sql, values).fetchone()
        return row

    def all(self, sql: str, /, **values: Value) -> list[Row]:
        self.settle()
        return self._connection.execute(sql, values).fetchall()

    def all_raw(self, sql: str, /, **values: Value) -> list[Row]:
        return self.all(sql, **values)

    def run(self, sql: str, /, **values: Value) -> int:
        self.settle()
        return self._connection.execute(sql, values).rowcount

    def many(self, sql: str, rows: list[Mapping[str, Value]], /) -> None:
        self.settle()
        self._connection.executemany(sql, rows)

    def later(self, sql: str, /, **values: Value) -> None:
        self._put_off.add(sql, values)

    def settle(self) -> None:
        """Runs what was put off; the database does so at the end."""
        self._put_off.settle(self)

    def on_commit(self, callback: Callable[[], None]) -> None:
        self.callbacks.append(callback)

    def notify(self, notice: str, about: str) -> None:
        for listener in self.listeners.of(notice):
            self.on_commit(partial(listener, about))


@dataclass(slots=True)
class _Write:
    fn: Callable[[Tx], Any]
    future: "asyncio.Future[Any]"
    result: Any = None
    error: BaseException | None = None
    callbacks: list[Callable[[], None]] = field(default_factory=list)


def connect(path: Path, *, writable: bool) -> sqlite3.Connection:
    """A connection with the durability and bounds that every part of Deedbox relies on."""
    connection = sqlite3.connect(
        path,
        timeout=limits.BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=512,
    )
    for pragma in PRAGMAS:
        connection.execute(pragma)
    connection.create_function("grams", 2, grams.tokens, deterministic=True)
    if not writable:
        connection.execute("pragma query_only = on")
    return connection


def _interrupted(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_INTERRUPT


def unavailable(error: sqlite3.Error) -> ServiceError | None:
    """The 503 that this failure of the storage means, or None for a mistake of ours."""
    primary = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if primary in _BUSY_ERRORS:
        return Unavailable("The database is busy. Try again in a moment.", code=ErrorCode.BUSY)
    if _interrupted(error):
        return Unavailable("Reading this took too long. Narrow what you ask for, or try again in a moment.")
    if primary in _STORAGE_ERRORS:
        return Unavailable(
            "The server cannot write to its disk (full, read-only or failing). Nothing was changed; "
            "free some space and try again.",
            code=ErrorCode.STORAGE_FULL,
        )
    return None


class SqliteDatabase:
    dialect: Dialect = "sqlite"

    def __init__(self, path: Path) -> None:
        self.listeners = Listeners()
        self._path = path
        self._aside = fairness.FairQueue(limits.READS_ASIDE, "searches")
        self._threads = ThreadPoolExecutor(limits.READS_ASIDE, thread_name_prefix="sqlite-reader")
        self._idle: list[sqlite3.Connection] = []
        """Connections for reads aside that nobody uses now."""
        self._reader = connect(path, writable=False)
        self._reader.set_progress_handler(self._too_much, limits.INLINE_STEPS // _TICKS)
        self._ticks = 0
        """Of the read that runs inline: SQLite counts on from one run of a statement to its next."""
        self._writer = connect(path, writable=True)
        self.moved = 0
        """Reads that turned out to be too long for the event loop, and ran again in a thread."""
        self._queue: queue.SimpleQueue[_Write | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._closed = False

    async def read(self, fn: Callable[[Tx], T]) -> T:
        with span("database read"):
            self._ticks = 0
            try:
                return self._in_snapshot(self._reader, fn)
            except sqlite3.Error as error:
                if not _interrupted(error):
                    raise unavailable(error) or error from error
        self.moved += 1
        return await self.read_aside(fn)

    def _too_much(self) -> bool:
        self._ticks += 1
        return self._ticks > _TICKS

    async def read_aside(self, fn: Callable[[Tx], T]) -> T:
        """In a thread, with a connection that nobody else uses; SQLite releases Python's lock while it reads."""
        async with self._aside.slot():
            with span("database read aside"):
                connection = self._idle.pop() if self._idle else connect(self._path, writable=False)
                try:
                    return await self._interruptible(connection, fn)
                finally:
                    self._idle.append(connection)

    async def _interruptible(self, connection: sqlite3.Connection, fn: Callable[[Tx], T]) -> T:
        loop = asyncio.get_running_loop()
        reading = loop.run_in_executor(self._threads, self._read, connection, fn)
        # The server's own work, for nobody in particular, takes as long as it must.
        limit = loop.call_later(limits.READ_ASIDE_SECONDS, connection.interrupt) if fairness.holder.get() else None
        try:
            return await asyncio.shield(reading)
        except asyncio.CancelledError:
            connection.interrupt()
            await asyncio.wait([reading])  # until then it is not free for anyone else
            raise
        finally:
            if limit is not None:
                limit.cancel()

    def _read(self, connection: sqlite3.Connection, fn: Callable[[Tx], T]) -> T:
        try:
            return self._in_snapshot(connection, fn)
        except sqlite3.Error as error:
            raise unavailable(error) or error from error

    def _in_snapshot(self, connection: sqlite3.Connection, fn: Callable[[Tx], T]) -> T:
        connection.execute("begin")
        try:
            return fn(SqliteTx(connection, self.listeners))
        finally:
            connection.execute("commit")

    async def write(self, fn: Callable[[Tx], T], *, isolation: Isolation = "serializable") -> T:  # noqa: ARG002
        if self._closed:
            raise Unavailable("The server is stopping.", code=ErrorCode.DRAINING)
        if self._queue.qsize() >= limits.WRITE_QUEUE:
            raise Unavailable("Too many changes are waiting to be saved. Try again in a moment.")
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="sqlite-writer", daemon=True)
            self._thread.start()
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._queue.put(_Write(fn, future))
        with span("database write"):
            return await future

    async def listen(self) -> None:
        """There are no other processes whose notices could be heard."""

    async def close(self) -> None:
        """Waits for the writes already accepted, then closes."""
        self._closed = True
        if self._thread is not None:
            self._queue.put(None)
            await asyncio.to_thread(self._thread.join)
        await asyncio.to_thread(self._threads.shutdown)
        for connection in (self._reader, self._writer, *self._idle):
            connection.close()

    def _work(self) -> None:
        while (batch := self._next_batch()) is not None:
            self._commit(batch)
            try:
                batch[0].future.get_loop().call_soon_threadsafe(_resolve, batch)
            except RuntimeError:  # the loop that asked was closed; the writes are durable all the same
                continue

    def _next_batch(self) -> list[_Write] | None:
        first = self._queue.get()
        if first is None:
            return None
        batch = [first]
        while len(batch) < limits.WRITE_BATCH:
            try:
                write = self._queue.get_nowait()
            except queue.Empty:
                break
            if write is None:
                self._queue.put(None)
                break
            batch.append(write)
        return batch

    def _commit(self, batch: list[_Write]) -> None:
        """Every write of the batch in one transaction, one fsync for all of them."""
        connection, begun = self._writer, False
        try:
            for write in batch:
                if write.future.cancelled():
                    continue
                if not begun:
                    connection.execute("begin immediate")
                begun = self._follow(write) if begun else self._lead(write)
            if begun:
                connection.execute("commit")
        except sqlite3.Error as error:
            if connection.in_transaction:
                with contextlib.suppress(sqlite3.Error):  # a failing disk: the error at hand says so already
                    connection.execute("rollback")
            for write in batch:
                write.error = write.error or unavailable(error) or error
                write.callbacks = []

    def _lead(self, write: _Write) -> bool:
        """The first write of a transaction, and whether it is in it: if not, nothing is, and the transaction ends.

        Without a savepoint, for which SQLite would keep a copy of each page that is changed, many of them in a file."""
        if self._apply(write) is None:
            return True
        if self._writer.in_transaction:  # unless SQLite gave it up by itself
            self._writer.execute("rollback")
        return False

    def _follow(self, write: _Write) -> bool:
        """Another write of the same transaction; if it fails, the ones before it are still in it."""
        connection = self._writer
        connection.execute("savepoint one_write")
        if (error := self._apply(write)) is not None:
            if not connection.in_transaction:  # SQLite gave up the whole transaction, a full disk for example
                raise _lost(error) from error
            connection.execute("rollback to one_write")
        connection.execute("release one_write")
        return True

    def _apply(self, write: _Write) -> BaseException | None:
        """What the write failed with."""
        tx = SqliteTx(self._writer, self.listeners)
        try:
            write.result = write.fn(tx)
            tx.settle()
        except BaseException as error:  # whatever fn raised belongs to the one who called it, never to this thread
            write.error = (unavailable(error) if isinstance(error, sqlite3.Error) else None) or error
            return error
        write.callbacks = tx.callbacks
        return None


def _lost(error: BaseException) -> sqlite3.Error:
    """What the other writes of the batch fail with: the same, or a reason to try again."""
    if isinstance(error, sqlite3.Error):
        return error
    lost = sqlite3.OperationalError("the transaction was lost")
    lost.sqlite_errorcode = sqlite3.SQLITE_BUSY
    return lost


def _resolve(batch: list[_Write]) -> None:
    for write in batch:
        for callback in write.callbacks:
            # By the loop, ahead of the waiting caller: one that raises must not keep the others waiting for ever.
            write.future.get_loop().call_soon(callback)
        if write.future.done():
            continue
        if isinstance(write.error, StopIteration):  # no future takes it
            write.future.set_exception(RuntimeError("a write raised StopIteration"))
        elif write.error is not None:
            write.future.set_exception(write.error)
        else:
            write.future.set_result(write.result)

"""PostgreSQL: psycopg in a small thread pool; a lost race or a lost connection is tried again."""

import asyncio
import contextlib
import functools
import os
import random
import re
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Generic, NamedTuple, TypeVar

import psycopg
import psycopg.conninfo
import psycopg_pool
from psycopg import errors as pg
from psycopg.pq import TransactionStatus

from deedbox.kernel import fairness, limits, log, tasks
from deedbox.kernel.db import Dialect, Isolation, Listeners, Row, Tx, Value, notices
from deedbox.kernel.db.deferred import DeferredWrites
from deedbox.kernel.errors import ErrorCode, SetupError, Unavailable
from deedbox.kernel.traces import span

T = TypeVar("T")

_PARAMETER = re.compile(r"(?<!:):([a-z_][a-z0-9_]*)")
_LOST_RACE = (pg.SerializationFailure, pg.DeadlockDetected)
# A key or a reference that another made since this began is seen by the constraint alone; begun again, by all.
_PERHAPS_LOST_RACE = (pg.ForeignKeyViolation, pg.UniqueViolation)
_UNLUCKY = 0xDEED_0001
"""The number of the lock that those hold who have lost many races; a migration holds another (`migrate.py`)."""
_READ = "begin isolation level repeatable read read only"
_LOST_CONNECTION = (psycopg.OperationalError, psycopg.InterfaceError)
# A machine that vanishes says nothing: without these a thread would wait for it for hours.
_PATIENCE: dict[str, Any] = {
    "keepalives_idle": limits.POSTGRES_SILENCE_SECONDS,
    "keepalives_interval": limits.POSTGRES_SILENCE_SECONDS,
    "keepalives_count": 3,
    "tcp_user_timeout": 3000 * limits.POSTGRES_SILENCE_SECONDS,
}


@functools.lru_cache(maxsize=2048)
def _translated(sql: str) -> str:
    """As PostgreSQL writes parameters and names the function that finds a text in another."""
    return _PARAMETER.sub(r"%(\1)s", sql.replace("%", "%%").replace("instr(", "strpos("))


def connect(url: str, *, autocommit: bool = True) -> psycopg.Connection[Row]:
    """A connection outside the pool, for the work before and beside the server."""
    _check_address(url)
    try:
        connection = psycopg.connect(url, autocommit=autocommit, connect_timeout=limits.POSTGRES_CONNECT_SECONDS)
    except psycopg.Error as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise SetupError(
            f"PostgreSQL cannot be reached: {reason}.", "Check DEEDBOX_DATABASE_URL and that the server runs."
        ) from error
    _check_version(connection)
    return connection


def _check_version(connection: psycopg.Connection[Row]) -> None:
    version = connection.info.server_version // 10_000
    if version < limits.POSTGRES_VERSION_MIN:
        connection.close()
        raise SetupError(
            f"PostgreSQL {version} is too old: Deedbox needs {limits.POSTGRES_VERSION_MIN} or newer.",
            "Upgrade it with pg_upgrade, or restore a backup into a newer one: deedbox restore.",
        )


def _check_address(url: str) -> None:
    """Refuses an address that PostgreSQL would misread: its own message would show pieces of the password."""
    try:
        parts = psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.Error:
        parts = {"host": "@"}
    if "@" in str(parts.get("host", "")):
        raise SetupError(
            "The setting DEEDBOX_DATABASE_URL is not a PostgreSQL address.",
            "Write it as postgresql://user:password@host/name, with %40 for @ and %2F for / in the password.",
        )


def _limit_statements(connection: psycopg.Connection[Row]) -> None:
    """A statement that waits for another's lock must give its thread back: there are few."""
    connection.execute(f"set statement_timeout = '{limits.POSTGRES_STATEMENT_SECONDS}s'".encode())


class PostgresTx:
    dialect: Dialect = "postgres"

    def __init__(self, connection: psycopg.Connection[Row], listeners: Listeners) -> None:
        self._connection = connection
        self.listeners = listeners
        self.callbacks: list[Callable[[], None]] = []
        self.notices: dict[tuple[str, str], None] = {}
        self._put_off = DeferredWrites()

    def one(self, sql: str, /, **values: Value) -> Row | None:
        return self._execute(sql, values).fetchone()

    def all(self, sql: str, /, **values: Value) -> list[Row]:
        return self._execute(sql, values).fetchall()

    def all_raw(self, sql: str, /, **values: Value) -> list[Row]:
        return self._execute(sql, values, binary=True).fetchall()

    def run(self, sql: str, /, **values: Value) -> int:
        return self._execute(sql, values).rowcount

    def many(self, sql: str, rows: list[Mapping[str, Value]], /) -> None:
        self.settle()
        with self._connection.cursor() as cursor:
            cursor.executemany(_translated(sql).encode(), rows)

    def later(self, sql: str, /, **values: Value) -> None:
        self._put_off.add(sql, values)

    def settle(self) -> None:
        """Runs what was put off; the database does so at the end."""
        self._put_off.settle(self)

    def on_commit(self, callback: Callable[[], None]) -> None:
        self.callbacks.append(callback)

    def notify(self, notice: str, about: str) -> None:
        if (notice, about) not in self.notices:
            self.notices[notice, about] = None
            for listener in self.listeners.of(notice):
                self.on_commit(functools.partial(listener, about))

    def _execute(self, sql: str, values: Mapping[str, Value], *, binary: bool = False) -> psycopg.Cursor[Row]:
        self.settle()
        return self._connection.execute(_translated(sql).encode(), values, binary=binary)


class PostgresDatabase:
    dialect: Dialect = "postgres"

    def __init__(self, url: str) -> None:
        self.listeners = Listeners()
        self._url = url
        self._sender = os.urandom(8).hex()
        """By which this process knows its own notices."""
        self._outgoing = notices.Outgoing(self._sender)
        self._listening: list[asyncio.Task[None]] = []
        self._aside = fairness.FairQueue(limits.READS_ASIDE, "searches")
        self._pool = psycopg_pool.ConnectionPool(
            url,
            kwargs={"autocommit": True, "connect_timeout": limits.POSTGRES_CONNECT_SECONDS, **_PATIENCE},
            configure=_limit_statements,
            min_size=1,
            max_size=limits.POSTGRES_CONNECTIONS,
            timeout=limits.POSTGRES_CONNECT_SECONDS,
            # The pool waits longer after each failure; given up soon, the next caller makes it try afresh.
            reconnect_timeout=limits.POSTGRES_CONNECT_SECONDS,
            open=False,
        )
        self._pool.open()
        self._threads = ThreadPoolExecutor(limits.POSTGRES_CONNECTIONS, thread_name_prefix="postgres")
        self._unlucky = threading.Lock()
        """Held by one of those that have lost many races: they must not go on losing to each other."""
        self.retries = 0
        """How often a transaction began again because another was faster."""
        self._away = False
        """Whether the database could not be reached when it was last tried."""
        self._finding_out = threading.Lock()
        """Held by the one who tries whether it is back."""
        self._waiting = 0
        self._closed = False

    async def read(self, fn: Callable[[Tx], T]) -> T:
        return await self._in_thread(_Task(fn, _READ, asyncio.get_running_loop()))

    async def read_aside(self, fn: Callable[[Tx], T]) -> T:
        async with self._aside.slot():  # so that such reads never take up all threads
            return await self.read(fn)

    async def write(self, fn: Callable[[Tx], T], *, isolation: Isolation = "serializable") -> T:
        return await self._in_thread(_Task(fn, f"begin isolation level {isolation}", asyncio.get_running_loop()))

    def read_here(self, fn: Callable[[Tx], T]) -> T:
        """As `read`, for whoever is in a thread already."""
        return self._until_done(_Task(fn, _READ, None))

    def write_here(self, fn: Callable[[Tx], T], *, isolation: Isolation = "serializable") -> T:
        """As `write`, for whoever is in a thread already; nothing is told to anybody."""
        return self._until_done(_Task(fn, f"begin isolation level {isolation}", None))

    async def listen(self) -> None:
        def connect() -> Awaitable[psycopg.AsyncConnection[Row]]:
            return psycopg.AsyncConnection.connect(
                self._url,
                autocommit=True,
                application_name=notices.APPLICATION,
                connect_timeout=limits.POSTGRES_CONNECT_SECONDS,
                **_PATIENCE,
            )

        if not self._listening:
            hearing = notices.hear_forever(connect, self._sender, self.listeners)
            self._listening = [tasks.begin(hearing, "changes of other processes are seen later: restart the server")]

    async def close(self) -> None:
        """Waits for what was already accepted, then closes."""
        self._closed = True
        await tasks.end(*self._listening)
        await asyncio.to_thread(self._threads.shutdown)
        await asyncio.to_thread(self._pool.close)

    async def _in_thread(self, task: "_Task[T]") -> T:
        if self._closed:
            raise Unavailable("The server is stopping.", code=ErrorCode.DRAINING)
        if self._waiting >= limits.WRITE_QUEUE:
            raise Unavailable("Too many requests are waiting for the database. Try again in a moment.")
        self._waiting += 1
        try:
            with span("database read" if task.begin == _READ else "database write"):
                return await asyncio.get_running_loop().run_in_executor(self._threads, self._until_done, task)
        finally:
            self._waiting -= 1

    def _until_done(self, task: "_Task[T]") -> T:
        """While the database is away one waits for it; the others are told so at once, and keep no thread waiting."""
        if not self._away:
            return self._attempted(task)
        if not self._finding_out.acquire(blocking=False):
            raise _gone()
        try:
            return self._attempted(task)
        finally:
            self._finding_out.release()

    def _attempted(self, task: "_Task[T]") -> T:
        lost_connections, doubts = 0, 0
        for attempt in range(limits.WRITE_ATTEMPTS):
            try:
                if attempt < limits.RACES_AT_ONCE:
                    return self._once(task)
                with self._unlucky:
                    return self._once(task, alone=True)
            except _LOST_RACE:
                self.retries += 1
                time.sleep(random.uniform(0, 0.002 * 2 ** min(attempt, 7)))  # noqa: S311 (jitter, no secret)
            except _PERHAPS_LOST_RACE:
                doubts += 1
                self.retries += 1
                if doubts >= limits.CONSTRAINT_ATTEMPTS:
                    raise
            except pg.DiskFull as error:
                raise Unavailable(
                    "The database server's disk is full. Nothing was changed; free some space and try again.",
                    code=ErrorCode.STORAGE_FULL,
                ) from error
            except pg.ReadOnlySqlTransaction as error:
                if task.begin == _READ:
                    raise
                raise Unavailable(
                    "The database takes no changes: it is read-only, or another server has taken its place. "
                    "Nothing was changed; try again in a moment.",
                    code=ErrorCode.DATABASE_UNAVAILABLE,
                ) from error
            except pg.QueryCanceled as error:
                raise Unavailable("The database takes too long. Nothing was changed; try again in a moment.") from error
            except _LOST_CONNECTION as error:
                lost_connections += 1
                if lost_connections >= limits.POSTGRES_RECONNECTS or isinstance(error, psycopg_pool.PoolTimeout):
                    self._away = True
                    raise _gone() from error
                # A restarted server has cut every connection: the pool must not offer the next dead one.
                self._pool.check()
            except StopIteration as error:  # no future takes it
                raise RuntimeError("a transaction raised StopIteration") from error
        raise Unavailable("The same record is being changed by too many at once. Try again in a moment.")

    def _once(self, task: "_Task[T]", *, alone: bool = False) -> T:
        with self._pool.connection() as connection, _turn(connection) if alone else contextlib.nullcontext():
            connection.execute(task.begin.encode())
            tx = PostgresTx(connection, self.listeners)
            try:
                result = task.fn(tx)
                tx.settle()
                if connection.info.transaction_status == TransactionStatus.INERROR:
                    # PostgreSQL answers a commit now with a silent rollback: nothing would be saved.
                    raise RuntimeError("a statement failed and its error was swallowed")
            except BaseException as error:
                if not connection.broken:
                    connection.execute("rollback")
                if isinstance(error, pg.ReadOnlySqlTransaction):
                    connection.close()  # where the address led to a standby, a new connection may find the primary
                raise
            _commit(connection, changes=task.begin != _READ)
        self._away = False
        if tx.notices and self._outgoing.add(tx.notices):
            self._have_notices_sent()
        for callback in tx.callbacks:
            # The loop that asked may be closed; the change is durable all the same.
            with contextlib.suppress(RuntimeError):
                if task.loop is not None:
                    task.loop.call_soon_threadsafe(callback)
        return result

    def _have_notices_sent(self) -> None:
        try:
            self._threads.submit(self._send_notices)
        except RuntimeError:  # the process is stopping, and its threads take nothing more
            self._send_notices()

    def _send_notices(self) -> None:
        try:
            with self._pool.connection() as connection:
                self._outgoing.send(connection)
        except psycopg.Error as error:
            self._outgoing.give_up()
            log.warning("other processes see changes later", reason=log.redact(str(error).strip()))


@contextlib.contextmanager
def _turn(connection: psycopg.Connection[Row]) -> Iterator[None]:
    """One at a time, among all processes: those that have lost many races must not go on losing to each other."""
    connection.execute("select pg_advisory_lock(%s)", [_UNLUCKY])
    try:
        yield
    finally:
        if not connection.closed:
            connection.execute("select pg_advisory_unlock(%s)", [_UNLUCKY])


class _Task(NamedTuple, Generic[T]):
    fn: Callable[[Tx], T]
    begin: str
    loop: asyncio.AbstractEventLoop | None
    """Where callbacks run; None where nobody waits for any."""


def _gone() -> Unavailable:
    return Unavailable(
        "The database cannot be reached. Nothing was changed; try again in a moment.",
        code=ErrorCode.DATABASE_UNAVAILABLE,
    )


def _commit(connection: psycopg.Connection[Row], *, changes: bool) -> None:
    try:
        connection.execute("commit")
    except _LOST_CONNECTION as error:
        if not changes or not connection.broken:  # nothing to lose, or the server itself says that it did not commit
            raise
        # The server may have committed before the connection broke: trying again could do it twice.
        raise Unavailable(
            "The database was lost while saving: the change may or may not have been made. "
            "Look before you try again, or retry with the same Idempotency-Key.",
            code=ErrorCode.OUTCOME_UNKNOWN,
        ) from error

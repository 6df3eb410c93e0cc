"""PostgreSQL: psycopg in a small thread pool; a lost race or a lost connection is tried again."""

import asyncio
import functools
import random
import re
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import psycopg
import psycopg_pool
from psycopg import errors as pg

from deedbox.kernel import limits
from deedbox.kernel.db import Dialect, Isolation, Row, Tx, Value
from deedbox.kernel.errors import Code, Unavailable

T = TypeVar("T")

_PARAMETER = re.compile(r"(?<!:):([a-z_][a-z0-9_]*)")
_LOST_RACE = (pg.SerializationFailure, pg.DeadlockDetected)
_LOST_CONNECTION = (psycopg.OperationalError, psycopg.InterfaceError)


@functools.lru_cache(maxsize=2048)
def _translated(sql: str) -> str:
    return _PARAMETER.sub(r"%(\1)s", sql.replace("%", "%%"))


class PostgresTx:
    dialect: Dialect = "postgres"

    def __init__(self, connection: psycopg.Connection[Row]) -> None:
        self._connection = connection
        self.callbacks: list[Callable[[], None]] = []

    def one(self, sql: str, /, **values: Value) -> Row | None:
        return self._execute(sql, values).fetchone()

    def all(self, sql: str, /, **values: Value) -> list[Row]:
        return self._execute(sql, values).fetchall()

    def run(self, sql: str, /, **values: Value) -> int:
        return self._execute(sql, values).rowcount

    def many(self, sql: str, rows: list[Mapping[str, Value]], /) -> None:
        with self._connection.cursor() as cursor:
            cursor.executemany(_translated(sql).encode(), rows)

    def on_commit(self, callback: Callable[[], None]) -> None:
        self.callbacks.append(callback)

    def _execute(self, sql: str, values: Mapping[str, Value]) -> psycopg.Cursor[Row]:
        return self._connection.execute(_translated(sql).encode(), values)


class PostgresDatabase:
    dialect: Dialect = "postgres"

    def __init__(self, url: str) -> None:
        self._pool = psycopg_pool.ConnectionPool(
            url,
            kwargs={"autocommit": True, "connect_timeout": limits.POSTGRES_CONNECT_SECONDS},
            min_size=1,
            max_size=limits.POSTGRES_CONNECTIONS,
            timeout=limits.POSTGRES_CONNECT_SECONDS,
            open=False,
        )
        self._pool.open()
        self._threads = ThreadPoolExecutor(limits.POSTGRES_CONNECTIONS, thread_name_prefix="postgres")
        self._waiting = 0

    async def read(self, fn: Callable[[Tx], T]) -> T:
        return await self._in_thread(fn, "begin isolation level repeatable read read only")

    async def write(self, fn: Callable[[Tx], T], *, isolation: Isolation = "serializable") -> T:
        return await self._in_thread(fn, f"begin isolation level {isolation}")

    async def close(self) -> None:
        await asyncio.to_thread(self._threads.shutdown)
        await asyncio.to_thread(self._pool.close)

    async def _in_thread(self, fn: Callable[[Tx], T], begin: str) -> T:
        if self._waiting >= limits.WRITE_QUEUE:
            raise Unavailable("Too many requests are waiting for the database. Try again in a moment.")
        self._waiting += 1
        try:
            loop = asyncio.get_running_loop()
            result, callbacks = await loop.run_in_executor(self._threads, self._until_done, fn, begin)
        finally:
            self._waiting -= 1
        for callback in callbacks:
            callback()
        return result

    def _until_done(self, fn: Callable[[Tx], T], begin: str) -> tuple[T, list[Callable[[], None]]]:
        lost_connections = 0
        for attempt in range(limits.WRITE_ATTEMPTS):
            try:
                return self._once(fn, begin)
            except _LOST_RACE:
                time.sleep(random.uniform(0, 0.002 * 2 ** min(attempt, 7)))  # noqa: S311 (jitter, no secret)
            except (psycopg_pool.PoolTimeout, *_LOST_CONNECTION) as error:
                lost_connections += 1
                if lost_connections >= limits.POSTGRES_RECONNECTS or isinstance(error, psycopg_pool.PoolTimeout):
                    raise Unavailable(
                        "The database cannot be reached. Nothing was changed; try again in a moment.",
                        code=Code.DATABASE_UNAVAILABLE,
                    ) from error
        raise Unavailable("The same record is being changed by too many at once. Try again in a moment.")

    def _once(self, fn: Callable[[Tx], T], begin: str) -> tuple[T, list[Callable[[], None]]]:
        with self._pool.connection() as connection:
            connection.execute(begin.encode())
            tx = PostgresTx(connection)
            try:
                result = fn(tx)
            except BaseException:
                if not connection.broken:
                    connection.execute("rollback")
                raise
            _commit(connection)
        return result, tx.callbacks


def _commit(connection: psycopg.Connection[Row]) -> None:
    try:
        connection.execute("commit")
    except _LOST_RACE:
        raise
    except _LOST_CONNECTION as error:
        # The server may have committed before the connection broke: trying again could do it twice.
        raise Unavailable(
            "The database was lost while saving: the change may or may not have been made. "
            "Look before you try again, or retry with the same Idempotency-Key.",
            code=Code.OUTCOME_UNKNOWN,
        ) from error

"""`await db.read(fn)` and `await db.write(fn)` run a synchronous `fn(tx)` on SQLite or PostgreSQL."""

from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

Row: TypeAlias = tuple[Any, ...]
Value: TypeAlias = str | int | float | bytes | None
Dialect: TypeAlias = Literal["sqlite", "postgres"]
Isolation: TypeAlias = Literal["serializable", "read committed"]
T = TypeVar("T")


class Tx(Protocol):
    """One transaction. SQL has `:name` parameters and means the same on both databases."""

    dialect: Dialect

    def one(self, sql: str, /, **values: Value) -> Row | None:
        """The first row, or None."""

    def all(self, sql: str, /, **values: Value) -> list[Row]:
        """Every row."""

    def run(self, sql: str, /, **values: Value) -> int:
        """The number of rows that the statement changed."""

    def many(self, sql: str, rows: list[Mapping[str, Value]], /) -> None:
        """The statement once for each row."""

    def on_commit(self, callback: Callable[[], None]) -> None:
        """Run on the event loop once this transaction is durable: a wake-up, never needed for durability."""


class Database(Protocol):
    dialect: Dialect

    async def read(self, fn: Callable[[Tx], T]) -> T:
        """What fn returns, from one consistent snapshot."""

    async def write(self, fn: Callable[[Tx], T], *, isolation: Isolation = "serializable") -> T:
        """What fn returns, once its changes are durable. If it raises, nothing was changed. fn may run again
        (PostgreSQL retries a serialisation failure), so it must have no effect outside the transaction."""

    async def close(self) -> None: ...

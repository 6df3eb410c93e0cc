"""`await db.read(fn)` and `await db.write(fn)` run a synchronous `fn(tx)` on SQLite or PostgreSQL."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

Row: TypeAlias = tuple[Any, ...]
Value: TypeAlias = str | int | float | bytes | None
Dialect: TypeAlias = Literal["sqlite", "postgres"]
Isolation: TypeAlias = Literal["serializable", "repeatable read", "read committed"]
T = TypeVar("T")

NOTICES_MISSED = "notices missed"
"""Told to its listeners when notices of other processes may have been lost: who goes by them looks for itself."""


class Listeners:
    """The functions that an installation calls, by the name of what they listen to.

    They belong to its database, which hands them to each transaction: two installations in one process never hear of
    each other."""

    def __init__(self) -> None:
        self._of: dict[str, list[Callable[..., None]]] = {}

    def add(self, name: str, listener: Callable[..., None]) -> None:
        """Has it called from now on; adding it again changes nothing."""
        if listener not in self._of.setdefault(name, []):
            self._of[name].append(listener)

    def remove(self, name: str, listener: Callable[..., None]) -> None:
        if listener in self._of.get(name, ()):
            self._of[name].remove(listener)

    def of(self, name: str) -> Sequence[Callable[..., None]]:
        return tuple(self._of.get(name, ()))


class Tx(Protocol):
    """One transaction. SQL has `:name` parameters and means the same on both databases."""

    dialect: Dialect
    listeners: Listeners

    def one(self, sql: str, /, **values: Value) -> Row | None:
        """The first row, or None."""

    def all(self, sql: str, /, **values: Value) -> list[Row]:
        """Every row."""

    def all_raw(self, sql: str, /, **values: Value) -> list[Row]:
        """The same, for rows of many bytes, numbers and texts alone: PostgreSQL does not write them out as text."""

    def run(self, sql: str, /, **values: Value) -> int:
        """The number of rows that the statement changed."""

    def many(self, sql: str, rows: list[Mapping[str, Value]], /) -> None:
        """The statement once for each row."""

    def later(self, sql: str, /, **values: Value) -> None:
        """The statement before the next that is not put off, or at the end: those of one text go together."""

    def on_commit(self, callback: Callable[[], None]) -> None:
        """Run on the event loop once this transaction is durable: a wake-up, never needed for durability."""

    def notify(self, notice: str, about: str) -> None:
        """Once this transaction is durable, tells the notice's listeners what it is about, in every process that
        listens: a wake-up, which may be lost."""


class Database(Protocol):
    dialect: Dialect
    listeners: Listeners

    async def read(self, fn: Callable[[Tx], T]) -> T:
        """Return what fn returns, from one consistent snapshot. On SQLite fn runs on the event loop; if it
        takes more than `limits.INLINE_STEPS`, it runs again, aside: so it must have no effect outside."""

    async def read_aside(self, fn: Callable[[Tx], T]) -> T:
        """The same, for reads whose cost grows with the data: they hold up nobody, few run at once, callers take turns,
        and a request gets 503 when its read takes too long."""

    async def write(self, fn: Callable[[Tx], T], *, isolation: Isolation = "serializable") -> T:
        """What fn returns, once its changes are durable. If it raises, nothing was changed. fn may run again
        (PostgreSQL retries a lost race), so it must have no effect outside the transaction. Less than serializable is
        for what changes or locks every row that it decides upon."""

    async def listen(self) -> None:
        """From now on, hears the notices of other processes too."""

    async def close(self) -> None: ...

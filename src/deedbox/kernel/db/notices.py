"""Notices between processes on one PostgreSQL: sent when the change is durable, many at once, heard by all."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeAlias

import msgspec
import psycopg

from deedbox.kernel import limits, log
from deedbox.kernel.db import NOTICES_MISSED, Listeners, Row

APPLICATION = "deedbox listener"
"""What PostgreSQL calls the connection that listens, in pg_stat_activity."""
_CHANNEL = "deedbox"
_SEND = "select pg_notify(%s, payload) from unnest(%s::text[]) as payload"

Connect: TypeAlias = Callable[[], Awaitable[psycopg.AsyncConnection[Row]]]


class _Notice(msgspec.Struct, frozen=True, array_like=True):
    sender: str
    name: str
    about: str


_NOTICE = msgspec.json.Decoder(_Notice)


class Outgoing:
    """What durable transactions have to tell. Whatever comes while some of it is sent goes together afterwards.

    Not in the transactions themselves: PostgreSQL would let them commit one after the other."""

    def __init__(self, sender: str) -> None:
        self._sender = sender
        self._lock = threading.Lock()
        self._waiting: dict[tuple[str, str], None] = {}
        self._under_way = False

    def add(self, notices: Iterable[tuple[str, str]]) -> bool:
        """Whether nobody sends yet: then the caller has it done."""
        with self._lock:
            self._waiting.update(dict.fromkeys(notices))
            idle, self._under_way = not self._under_way, True
        return idle

    def send(self, connection: psycopg.Connection[Row]) -> None:
        """Sends until nothing waits."""
        while texts := self._taken():
            connection.execute(_SEND, [_CHANNEL, texts])

    def give_up(self) -> None:
        """What waits is told to nobody: each process finds it when it looks for itself."""
        with self._lock:
            self._waiting, self._under_way = {}, False

    def _taken(self) -> list[str]:
        with self._lock:
            taken, self._waiting = self._waiting, {}
            self._under_way = bool(taken)
        return [msgspec.json.encode(_Notice(self._sender, *notice)).decode() for notice in taken]


async def hear_forever(connect: Connect, sender: str, listeners: Listeners) -> None:
    """Tells the listeners what other processes send. A connection that is lost is made anew."""
    told = False
    while True:
        try:
            async with await connect() as connection:
                await connection.execute(f"listen {_CHANNEL}")
                told = False
                # Whatever was sent before this moment was sent to nobody here.
                for look in listeners.of(NOTICES_MISSED):
                    look()
                async for notice in connection.notifies():
                    _tell(notice.payload, sender, listeners)
        except psycopg.Error as error:
            if not told:
                log.warning("changes of other processes are seen later", reason=log.redact(str(error).strip()))
            told = True
        await asyncio.sleep(limits.POSTGRES_LISTEN_AGAIN_SECONDS)


def _tell(text: str, sender: str, listeners: Listeners) -> None:
    try:
        notice = _NOTICE.decode(text)
    except msgspec.MsgspecError:  # of another version, which says it in another way: the next look finds it
        return
    if notice.sender != sender:  # of its own changes the process has heard already
        for listener in listeners.of(notice.name):
            listener(notice.about)

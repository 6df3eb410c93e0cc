"""Notices between processes on one PostgreSQL: sent with the transaction of the change, heard by all at once."""

import asyncio
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


def send(connection: psycopg.Connection[Row], sender: str, notices: Iterable[tuple[str, str]]) -> None:
    """Has PostgreSQL tell every process that listens, when the transaction commits and only then."""
    texts = [msgspec.json.encode(_Notice(sender, *notice)).decode() for notice in notices]
    connection.execute(_SEND, [_CHANNEL, texts])


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
                log.warning("changes of other processes are seen later", reason=log.redacted(str(error).strip()))
            told = True
        await asyncio.sleep(limits.POSTGRES_LISTEN_AGAIN_SECONDS)


def _tell(text: str, sender: str, listeners: Listeners) -> None:
    try:
        notice = msgspec.json.decode(text, type=_Notice)
    except msgspec.MsgspecError:  # of another version, which says it in another way: the next look finds it
        return
    if notice.sender != sender:  # of its own changes the process has heard already
        for listener in listeners.of(notice.name):
            listener(notice.about)

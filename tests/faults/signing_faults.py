"""Bugs that a fault test plants in signing: an event, a job or a check outside its transaction."""

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from deedbox import wiring
from deedbox.kernel import outbox
from deedbox.kernel.db import Isolation, Tx
from deedbox.kernel.db.postgres import PostgresDatabase
from deedbox.kernel.db.sqlite import SqliteDatabase
from deedbox.kernel.outbox import Event, NewEvent
from deedbox.signing import parties, states
from deedbox.signing.action_context import ActionContext
from deedbox.signing.actions import decline, fill, sign, turn
from deedbox.signing.completion import certify_packet
from deedbox.signing.model import Packet, Party, Signer, Status
from deedbox.signing.store import documents, people

T = TypeVar("T")
GAP_SECONDS = 0.05
"""How long each planted gap stays open: long enough for a kill or another request to fall into it."""
LONG_GAP_SECONDS = 1.0
"""The same, for a gap in which other requests go on."""


def event_after_commit() -> None:
    """The state is changed and acknowledged; its event follows in a transaction of its own."""
    emit, begin = outbox.emit_all, wiring.Installation.start
    servers: list[wiring.Installation] = []
    following: set[asyncio.Task[list[Event]]] = set()

    async def remembered(self: wiring.Installation, *, work: bool = True) -> None:
        servers.append(self)
        await begin(self, work=work)

    def later(tx: Tx, workspace_id: str, news: Sequence[NewEvent], *, now: datetime) -> list[Event]:
        async def write() -> list[Event]:
            await asyncio.sleep(LONG_GAP_SECONDS)
            return await servers[-1].db.write(lambda tx: emit(tx, workspace_id, news, now=now))

        tx.on_commit(lambda: following.add(asyncio.ensure_future(write())))
        return []

    wiring.Installation.start = remembered  # type: ignore[method-assign]
    outbox.emit_all = later


def certified_after_commit() -> None:
    """The last document of a packet is completed; the job that completes the packet follows in another transaction."""
    plan, begin = certify_packet.plan, wiring.Installation.start
    servers: list[wiring.Installation] = []
    following: set[asyncio.Task[None]] = set()

    async def remembered(self: wiring.Installation, *, work: bool = True) -> None:
        servers.append(self)
        await begin(self, work=work)

    def later(ctx: ActionContext, packet: Packet, cause: str = "completed") -> None:
        async def write() -> None:
            await asyncio.sleep(LONG_GAP_SECONDS)
            office = servers[-1].services
            await office.db.write(lambda tx: plan(office.action(tx, packet.workspace_id), packet, cause))

        ctx.tx.on_commit(lambda: following.add(asyncio.ensure_future(write())))

    wiring.Installation.start = remembered  # type: ignore[method-assign]
    certify_packet.plan = later


class _Checked(Exception):
    """The act would have been allowed; nothing of it was kept."""


class _Here(threading.local):
    moves = False
    """Whether the transaction of this thread changes a document, a party or a signer."""
    unchecked = False
    """Whether it trusts a check that was made before it began."""


def check_outside_the_transaction() -> None:
    """Every act is checked in one transaction, and done in the next one without looking again."""
    here = _Here()
    _check_first(SqliteDatabase, here)
    _check_first(PostgresDatabase, here)
    _trust_states(here)
    _trust_turns(here)
    _change_without_condition(here)


def _check_first(database: type[SqliteDatabase] | type[PostgresDatabase], here: _Here) -> None:
    write: Callable[..., Any] = database.write

    async def twice(self: Any, fn: Callable[[Tx], T], *, isolation: Isolation = "serializable") -> T:
        moved = False

        def check(tx: Tx) -> T:
            nonlocal moved
            here.moves = False
            done = fn(tx)
            moved = here.moves
            if moved:
                raise _Checked
            return done

        def trust(tx: Tx) -> T:
            here.unchecked = True
            try:
                return fn(tx)
            finally:
                here.unchecked = False

        try:
            done: T = await write(self, check, isolation=isolation)
        except _Checked:
            await asyncio.sleep(GAP_SECONDS)
            done = await write(self, trust, isolation=isolation)
        return done

    database.write = twice  # type: ignore[method-assign]


def _trust_states(here: _Here) -> None:
    after = states.after
    ends = {move: following for (_, move), following in states.MOVES.items()}

    def trusting(status: Status, move: states.Move) -> Status:
        return ends[move] if here.unchecked else after(status, move)

    states.after = trusting


def _trust_turns(here: _Here) -> None:
    at_turn = turn.at_turn

    def trusting(packet: Packet, signer_id: str, now: datetime) -> tuple[Party, Signer]:
        return parties.find_signer(packet, signer_id) if here.unchecked else at_turn(packet, signer_id, now)

    for module in (sign, decline, fill):
        module.at_turn = trusting  # type: ignore[attr-defined]


def _change_without_condition(here: _Here) -> None:
    """Rows are changed whatever state they are in by now: the state that was seen is taken for the one there is."""
    update, change_rows = documents._update, people._change_rows

    def without_state(tx: Tx, table: str, where: str, key: Mapping[str, Any], changes: Mapping[str, Any]) -> int:
        here.moves = True
        return update(tx, table, "id = :key" if here.unchecked else where, _known(where, key, here), changes)

    def without_states(tx: Tx, table: str, before: Any, after: Any) -> None:
        here.moves = True
        old, new = [*before], [*after]
        if here.unchecked:
            sql = f"select status from {table} where id = :id"
            rows = [tx.one(sql, id=row["id"]) for row in old]
            # What is there now counts as what was seen; a status that is to change is written all the same.
            changed = [{name for name in one if one[name] != two[name]} for one, two in zip(old, new, strict=True)]
            old = [{**one, "status": row[0] if row else one["status"]} for one, row in zip(old, rows, strict=True)]
            new = [
                {name: value if name in names else one[name] for name, value in two.items()}
                for one, two, names in zip(old, new, changed, strict=True)
            ]
        change_rows(tx, table, old, new)

    documents._update = without_state
    people._change_rows = without_states


def _known(where: str, key: Mapping[str, Any], here: _Here) -> dict[str, Any]:
    return {"key": key["key"]} if here.unchecked and ":was" in where else dict(key)

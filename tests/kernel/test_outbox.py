"""An event exists exactly when its change does, and its subject's events are numbered without a gap."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from deedbox.kernel import limits, outbox
from deedbox.kernel.db import Database, Tx
from deedbox.kernel.db.migrate import migrate_sqlite
from deedbox.kernel.db.sqlite import SqliteDatabase
from deedbox.kernel.outbox import Event, NewEvent, store
from tests.conftest import HandClock
from tests.kernel.counted import Counted

pytestmark = pytest.mark.anyio


@pytest.fixture
async def workspace(db: Database) -> str:
    await db.write(lambda tx: tx.run("insert into workspaces (id, name, created_at) values ('wsp_1', '0', '')"))
    return "wsp_1"


@pytest.fixture
def kind() -> str:
    return "thing.happened"


def placed(tx: Tx) -> list[Event]:
    store.place(tx, "wsp_1")
    return store.after(tx, "wsp_1", None, 10_000)


async def events(db: Database) -> list[Event]:
    return await db.write(placed)


async def test_an_event_is_stored_as_it_was_emitted(db: Database, workspace: str, clock: HandClock, kind: str) -> None:
    emitted = await db.write(lambda tx: outbox.emit(tx, workspace, kind, "doc_1", {"ü": [1, None]}, now=clock.now()))
    assert emitted.id.startswith("evt_")
    assert (emitted.sequence, emitted.data, emitted.created_at) == (1, '{"ü":[1,null]}', "2026-03-01T12:00:00Z")
    assert await events(db) == [emitted]


async def test_an_event_is_rolled_back_with_its_change(
    db: Database, workspace: str, clock: HandClock, kind: str
) -> None:
    def doomed(tx: Tx) -> None:
        outbox.emit(tx, workspace, kind, "doc_1", {}, now=clock.now())
        raise LookupError

    with pytest.raises(LookupError):
        await db.write(doomed)
    assert await events(db) == []
    event = await db.write(lambda tx: outbox.emit(tx, workspace, kind, "doc_1", {}, now=clock.now()))
    assert event.sequence == 1


async def test_a_subject_s_events_are_numbered_without_a_gap_under_concurrency(
    db: Database, workspace: str, clock: HandClock, kind: str
) -> None:
    def emit(tx: Tx, number: int) -> None:
        outbox.emit(tx, workspace, kind, f"doc_{number % 3}", {"n": number}, now=clock.now())
        if number % 5 == 4:
            raise LookupError

    outcomes = await asyncio.gather(
        *(db.write(lambda tx, n=number: emit(tx, n)) for number in range(60)),  # type: ignore[misc]
        return_exceptions=True,
    )
    assert [outcome for outcome in outcomes if outcome is not None and not isinstance(outcome, LookupError)] == []
    for subject in range(3):
        numbers = sorted(event.sequence for event in await events(db) if event.subject_id == f"doc_{subject}")
        assert numbers == list(range(1, 17))


async def test_a_transaction_may_emit_several_events_of_one_subject(
    db: Database, workspace: str, clock: HandClock, kind: str
) -> None:
    def emit(tx: Tx) -> list[int]:
        return [outbox.emit(tx, workspace, kind, "doc_1", {}, now=clock.now()).sequence for _ in range(4)]

    assert await db.write(emit) == [1, 2, 3, 4]


async def test_a_reaction_shares_the_transaction_of_its_event(
    db: Database, workspace: str, clock: HandClock, kind: str
) -> None:
    def rename(tx: Tx, events: Sequence[Event]) -> None:
        [event] = events
        assert tx.one("select sequence from events where id = :id", id=event.id) == (1,)
        tx.run("update workspaces set name = :name where id = :id", name=event.subject_id, id=event.workspace_id)

    outbox.react(db, kind, rename)
    outbox.react(db, kind, rename)

    def doomed(tx: Tx) -> None:
        outbox.emit(tx, workspace, kind, "doc_1", {}, now=clock.now())
        assert tx.one("select name from workspaces") == ("doc_1",)
        raise LookupError

    with pytest.raises(LookupError):
        await db.write(doomed)
    assert await db.read(lambda tx: tx.one("select name from workspaces")) == ("0",)
    await db.write(lambda tx: outbox.emit(tx, workspace, kind, "doc_2", {}, now=clock.now()))
    assert await db.read(lambda tx: tx.one("select name from workspaces")) == ("doc_2",)


async def test_a_reaction_runs_once_however_often_it_was_wired_and_only_for_its_kind(
    db: Database, workspace: str, clock: HandClock, kind: str
) -> None:
    heard: list[str] = []

    def listen(tx: Tx, events: Sequence[Event]) -> None:
        heard.extend(event.kind for event in events)

    outbox.react(db, kind, listen)
    outbox.react(db, kind, listen)
    await db.write(lambda tx: outbox.emit(tx, workspace, kind, "doc_1", {}, now=clock.now()))
    await db.write(lambda tx: outbox.emit(tx, workspace, kind + ".other", "doc_1", {}, now=clock.now()))
    assert heard == [kind]


async def test_a_failing_reaction_rolls_back_everything(
    db: Database, workspace: str, clock: HandClock, kind: str
) -> None:
    def refuse(tx: Tx, events: Sequence[Event]) -> None:
        raise LookupError("no")

    outbox.react(db, kind, refuse)

    def change(tx: Tx) -> None:
        tx.run("update workspaces set name = 'changed'")
        outbox.emit(tx, workspace, kind, "doc_1", {}, now=clock.now())

    with pytest.raises(LookupError, match="no"):
        await db.write(change)
    assert await db.read(lambda tx: tx.one("select name from workspaces")) == ("0",)
    assert await events(db) == []


@pytest.mark.parametrize("letter", ["x", "€"])
async def test_data_has_a_bound_in_bytes(
    db: Database, workspace: str, clock: HandClock, kind: str, letter: str
) -> None:
    fitting = (limits.EVENT_BYTES - len('{"t":""}')) // len(letter.encode())
    await db.write(lambda tx: outbox.emit(tx, workspace, kind, "a", {"t": letter * fitting}, now=clock.now()))
    with pytest.raises(ValueError, match=kind):
        await db.write(lambda tx: outbox.emit(tx, workspace, kind, "a", {"t": letter * (fitting + 1)}, now=clock.now()))
    assert len(await events(db)) == 1


async def test_events_are_listed_from_where_a_reader_stopped(
    db: Database, workspace: str, clock: HandClock, kind: str
) -> None:
    made: list[Event] = []
    for _ in range(5):
        made.append(await db.write(lambda tx: outbox.emit(tx, workspace, kind, "d", {}, now=clock.now())))
        clock.forward(0.01)
    assert await events(db) == made
    assert await db.read(lambda tx: store.after(tx, workspace, made[1].id, 2)) == made[2:4]
    assert await db.read(lambda tx: store.after(tx, "wsp_other", None, 10)) == []


async def test_events_of_one_transaction_are_fed_in_the_order_in_which_it_emitted_them_whatever_their_ids(
    db: Database, workspace: str, clock: HandClock
) -> None:
    emitted = []
    for round_number in range(10):

        def send(tx: Tx, number: int = round_number) -> list[str]:
            told = [
                ("packet.sent", f"pkt_{number}"),
                ("document.sent", f"doc_b{number}"),
                ("document.sent", f"doc_a{number}"),
            ]
            return [outbox.emit(tx, workspace, kind, subject, {}, now=clock.now()).id for kind, subject in told]

        emitted += await db.write(send)
    assert [event.id for event in await events(db)] == emitted
    assert sorted(emitted) != emitted


async def test_an_event_takes_one_statement(db: Database, workspace: str, clock: HandClock, kind: str) -> None:
    def emit(tx: Tx) -> int:
        counted = Counted(tx)
        outbox.emit(counted, workspace, kind, "doc_1", {}, now=clock.now())
        return len(counted.statements)

    assert await db.write(emit) == 1


async def test_a_reaction_hears_nothing_of_another_installation_in_the_same_process(
    db: Database, workspace: str, clock: HandClock, kind: str, tmp_path: Path
) -> None:
    other_path = tmp_path / "other.db"
    migrate_sqlite(other_path, clock.now())
    other = SqliteDatabase(other_path)
    heard: list[str] = []
    outbox.react(other, kind, lambda _tx, events: heard.append(events[0].subject_id))
    try:
        await other.write(lambda tx: tx.run("insert into workspaces (id, name, created_at) values ('wsp_1', '0', '')"))
        await db.write(lambda tx: outbox.emit(tx, workspace, kind, "here", {}, now=clock.now()))
        await other.write(lambda tx: outbox.emit(tx, workspace, kind, "there", {}, now=clock.now()))
    finally:
        await other.close()
    assert heard == ["there"]


async def test_many_events_are_numbered_by_subject_and_told_in_groups_of_one_kind(
    db: Database, workspace: str, clock: HandClock, kind: str
) -> None:
    heard: list[list[str]] = []
    outbox.react(db, kind, lambda _tx, events: heard.append([event.subject_id for event in events]))
    await db.write(lambda tx: outbox.emit(tx, workspace, kind, "a", {}, now=clock.now()))
    news = [NewEvent(kind, "a", {}), NewEvent(kind, "b", {}), NewEvent("other", "b", {}), NewEvent(kind, "a", {})]

    def emit(tx: Tx) -> tuple[list[Event], int]:
        counted = Counted(tx)
        return outbox.emit_all(counted, workspace, news, now=clock.now()), len(set(counted.statements))

    emitted, statements = await db.write(emit)
    assert [(event.subject_id, event.sequence) for event in emitted] == [("a", 2), ("b", 1), ("b", 2), ("a", 3)]
    assert [event.id for event in await events(db)][1:] == [event.id for event in emitted]
    assert heard == [["a"], ["a", "b"], ["a"]]
    assert statements == 2

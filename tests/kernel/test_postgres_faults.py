"""PostgreSQL when connections break, transactions collide, or the server is away."""

import asyncio
import contextlib
import shutil
import socket
import tempfile
import threading
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path

import psycopg
import pytest

from deedbox.kernel import limits
from deedbox.kernel.db import Tx
from deedbox.kernel.db.postgres import PostgresDatabase
from deedbox.kernel.errors import ErrorCode, Unavailable
from tests.postgres import Cluster, binaries

pytestmark = pytest.mark.anyio

# At commit, when the client can no longer know: the server cuts its own connection.
CUT_AT_COMMIT = """
create function cut() returns trigger language plpgsql as $$
begin
    perform pg_terminate_backend(pg_backend_pid());
    perform pg_sleep(30);
    return null;
end $$;
create constraint trigger cut after insert on workspaces deferrable initially deferred
for each row when (new.name = 'fragile') execute function cut()
"""
FAIL_AT_COMMIT = """
create function fail() returns trigger language plpgsql as $$
begin
    raise exception 'no space' using errcode = '53100';
end $$;
create constraint trigger fail after insert on workspaces deferrable initially deferred
for each row when (new.name = 'large') execute function fail()
"""


def add(tx: Tx, name: str) -> str:
    tx.run("insert into workspaces (id, name, created_at) values (:id, :id, '')", id=name)
    return name


async def names(db: PostgresDatabase) -> list[str]:
    return [row[0] for row in await db.read(lambda tx: tx.all("select id from workspaces order by id"))]


def by_hand(url: str, sql: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.encode())


def cut_all_connections(url: str) -> None:
    by_hand(
        url,
        "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
        " where datname = current_database() and pid <> pg_backend_pid()",
    )


class Wire:
    """A socket between Deedbox and PostgreSQL that can lose the answer to a commit."""

    def __init__(self, server: Path) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="deedwire"))
        self.lost_answers = 0
        self._to_lose = 0
        self._server = server / ".s.PGSQL.5432"
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self.folder / ".s.PGSQL.5432"))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def lose_next_answer(self) -> None:
        self._to_lose += 1

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        shutil.rmtree(self.folder)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(str(self._server))
                threading.Thread(target=self._to_server, args=(client, server), daemon=True).start()
                threading.Thread(target=self._to_client, args=(client, server), daemon=True).start()

    def _to_server(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := client.recv(65536):
                if b"commit" in data and self._to_lose:
                    self._to_lose -= 1
                    self.lost_answers += 1  # before the cut: whoever hears of it may look at once
                    client.shutdown(socket.SHUT_WR)  # the answer finds nobody, the request still arrives
                server.sendall(data)
        server.close()

    def _to_client(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := server.recv(65536):
                client.sendall(data)
        client.close()


@pytest.fixture
async def database(postgres_url: str) -> AsyncIterator[PostgresDatabase]:
    opened = PostgresDatabase(postgres_url)
    yield opened
    await opened.close()


@pytest.fixture
def wire(cluster: Cluster) -> Iterator[Wire]:
    made = Wire(cluster.folder)
    yield made
    made.close()


@pytest.fixture
async def through_wire(wire: Wire, postgres_url: str) -> AsyncIterator[PostgresDatabase]:
    opened = PostgresDatabase(f"{postgres_url.partition('host=')[0]}host={wire.folder}")
    yield opened
    await opened.close()


async def test_a_connection_cut_between_statements_goes_unnoticed(
    database: PostgresDatabase, postgres_url: str
) -> None:
    runs: list[int] = []

    def cut_once(tx: Tx) -> str:
        row = tx.one("select pg_backend_pid()")
        assert row is not None
        runs.append(row[0])
        add(tx, "a")
        if len(runs) == 1:
            by_hand(postgres_url, f"select pg_terminate_backend({row[0]}, 5000)")
        return add(tx, "b")

    assert await database.write(cut_once) == "b"
    assert len(set(runs)) == len(runs) == 2
    assert await names(database) == ["a", "b"]


async def test_a_restart_that_cut_every_pooled_connection_goes_unnoticed(
    database: PostgresDatabase, postgres_url: str
) -> None:
    together = threading.Barrier(limits.POSTGRES_CONNECTIONS)

    def meet(tx: Tx) -> None:
        tx.one("select 1")
        together.wait(30)

    await asyncio.gather(*(database.read(meet) for _ in range(limits.POSTGRES_CONNECTIONS)))
    for round_ in range(3):
        cut_all_connections(postgres_url)
        pair = [f"{round_}a", f"{round_}b"]
        assert await asyncio.gather(*(database.write(partial(add, name=name)) for name in pair)) == pair
    assert len(await names(database)) == 6


async def test_a_connection_cut_during_the_commit_is_reported_as_unknown_and_not_retried(
    database: PostgresDatabase, postgres_url: str
) -> None:
    by_hand(postgres_url, CUT_AT_COMMIT)
    runs: list[str] = []

    def write(tx: Tx) -> None:
        runs.append(add(tx, "fragile"))
        tx.on_commit(lambda: runs.append("heard"))

    with pytest.raises(Unavailable) as refused:
        await database.write(write)
    assert refused.value.code == ErrorCode.OUTCOME_UNKNOWN
    assert runs == ["fragile"]
    assert await database.write(lambda tx: add(tx, "sturdy")) == "sturdy"
    assert await names(database) == ["sturdy"]


async def test_a_commit_whose_answer_is_lost_is_unknown_although_it_was_made(
    through_wire: PostgresDatabase, wire: Wire
) -> None:
    await through_wire.write(lambda tx: add(tx, "a"))
    wire.lose_next_answer()
    with pytest.raises(Unavailable) as refused:
        await through_wire.write(lambda tx: add(tx, "b"))
    assert (refused.value.code, wire.lost_answers) == (ErrorCode.OUTCOME_UNKNOWN, 1)
    # The wire was cut while the server was about to commit: that is done when it is done.
    while await names(through_wire) != ["a", "b"]:
        await asyncio.sleep(0.01)


async def test_a_read_whose_end_is_lost_is_simply_read_again(through_wire: PostgresDatabase, wire: Wire) -> None:
    await through_wire.write(lambda tx: add(tx, "a"))
    wire.lose_next_answer()
    assert await names(through_wire) == ["a"]
    assert wire.lost_answers == 1


async def test_a_commit_that_the_server_itself_refuses_is_no_unknown_outcome(
    database: PostgresDatabase, postgres_url: str
) -> None:
    by_hand(postgres_url, FAIL_AT_COMMIT)
    with pytest.raises(Unavailable) as refused:
        await database.write(lambda tx: add(tx, "large"))
    assert refused.value.code == ErrorCode.STORAGE_FULL
    assert await names(database) == []


async def test_fifty_increments_that_collide_are_all_there(database: PostgresDatabase) -> None:
    await database.write(lambda tx: add(tx, "0"))
    runs: list[int] = []

    def increment(tx: Tx) -> None:
        row = tx.one("select name from workspaces")
        assert row is not None
        runs.append(int(row[0]))
        tx.run("update workspaces set name = :name", name=str(int(row[0]) + 1))

    await asyncio.gather(*(database.write(increment) for _ in range(50)))
    assert await database.read(lambda tx: tx.one("select name from workspaces")) == ("50",)
    assert len(runs) > 50


async def test_a_number_that_another_took_at_the_same_moment_is_counted_again(
    database: PostgresDatabase, postgres_url: str
) -> None:
    runs: list[str] = []

    def take_next(tx: Tx) -> None:
        [count] = tx.all("select count(*) from workspaces")
        runs.append(str(count[0]))
        if len(runs) == 1:
            by_hand(postgres_url, "insert into workspaces (id, name, created_at) values ('0', '0', '')")
        add(tx, runs[-1])

    await database.write(take_next)
    assert (runs, await names(database)) == (["0", "1"], ["0", "1"])


async def test_a_key_that_is_taken_for_good_is_a_fault_of_ours(database: PostgresDatabase) -> None:
    runs: list[int] = []

    def take_same(tx: Tx) -> None:
        runs.append(1)
        add(tx, "same")

    await database.write(take_same)
    with pytest.raises(psycopg.errors.UniqueViolation):
        await database.write(take_same)
    assert len(runs) == 1 + limits.CONSTRAINT_ATTEMPTS


async def test_those_who_collide_without_end_are_told_to_come_back(
    database: PostgresDatabase, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "WRITE_ATTEMPTS", 3)
    await database.write(lambda tx: add(tx, "0"))
    runs: list[int] = []

    def collide(tx: Tx) -> None:
        runs.append(1)
        tx.one("select name from workspaces")
        by_hand(postgres_url, "update workspaces set name = name || 'x'")
        tx.run("update workspaces set name = 'mine'")

    with pytest.raises(Unavailable) as refused:
        await database.write(collide)
    assert (refused.value.code, len(runs)) == (ErrorCode.BUSY, 3)


async def test_an_unreachable_server_is_named_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "POSTGRES_CONNECT_SECONDS", 1)
    db = PostgresDatabase(f"postgresql://postgres@/x?host={tmp_path}")
    for attempt in (db.write(lambda tx: add(tx, "a")), db.read(lambda tx: tx.one("select 1"))):
        with pytest.raises(Unavailable) as refused:
            await attempt
        assert refused.value.code == ErrorCode.DATABASE_UNAVAILABLE
    await db.close()


async def test_a_server_that_stops_and_starts_again_is_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    programs = binaries()
    if programs is None:
        pytest.skip("PostgreSQL is missing: run scripts/test-deps")
    monkeypatch.setattr(limits, "POSTGRES_CONNECT_SECONDS", 1)
    own = Cluster(Path(tempfile.mkdtemp(prefix="deedpg")))
    control = (programs / "pg_ctl", "-D", own.folder / "data", "-w", "-l", own.folder / "log")
    try:
        await asyncio.to_thread(own.start)
        db = PostgresDatabase(own.url("deedbox_template"))
        await db.write(lambda tx: add(tx, "before"))
        await asyncio.to_thread(own._run, *control, "-m", "fast", "stop")
        with pytest.raises(Unavailable) as refused:
            await db.write(lambda tx: add(tx, "during"))
        assert refused.value.code == ErrorCode.DATABASE_UNAVAILABLE
        await asyncio.to_thread(own._run, *control, "-o", f"-c listen_addresses='' -k {own.folder}", "start")
        async with asyncio.timeout(60):
            while True:
                with contextlib.suppress(Unavailable):
                    await db.write(lambda tx: add(tx, "after"))
                    break
        assert await names(db) == ["after", "before"]
        await db.close()
    finally:
        own.stop()


async def test_a_failed_statement_whose_error_was_swallowed_is_never_taken_for_a_success(
    database: PostgresDatabase,
) -> None:
    def swallow(tx: Tx) -> None:
        add(tx, "a")
        with contextlib.suppress(psycopg.Error):
            add(tx, "a")

    with pytest.raises(RuntimeError, match="swallowed"):
        await database.write(swallow)
    assert await names(database) == []


async def test_stop_iteration_reaches_the_caller_as_an_error_instead_of_never(database: PostgresDatabase) -> None:
    def bad(tx: Tx) -> object:
        return next(iter(()))

    async with asyncio.timeout(30):
        with pytest.raises(RuntimeError):
            await database.write(bad)
        with pytest.raises(RuntimeError):
            await database.read(bad)


async def test_a_callback_that_fails_does_not_make_a_saved_change_look_unsaved(database: PostgresDatabase) -> None:
    complaints: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(str(context["exception"])))

    def bad(tx: Tx) -> str:
        def callback() -> None:
            raise LookupError("deaf")

        tx.on_commit(callback)
        return add(tx, "a")

    assert await database.write(bad) == "a"
    assert complaints == ["deaf"]


async def test_closing_finishes_what_was_accepted_and_refuses_the_rest(postgres_url: str) -> None:
    db = PostgresDatabase(postgres_url)
    accepted = [asyncio.create_task(db.write(lambda tx, n=n: add(tx, f"{n:02}"))) for n in range(30)]  # type: ignore[misc]
    await asyncio.sleep(0)
    await db.close()
    assert len(await asyncio.gather(*accepted)) == 30
    with pytest.raises(Unavailable) as refused:
        await db.write(lambda tx: add(tx, "late"))
    assert refused.value.code == ErrorCode.DRAINING


async def test_no_more_requests_wait_than_the_bound_allows(
    database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "WRITE_QUEUE", 2)
    go_on = threading.Event()
    waiting = [asyncio.create_task(database.read(lambda _: go_on.wait(30))) for _ in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(Unavailable) as refused:
        await names(database)
    assert refused.value.code == ErrorCode.BUSY
    go_on.set()
    await asyncio.gather(*waiting)
    assert await names(database) == []


async def test_a_statement_that_waits_too_long_gives_up_and_frees_its_thread(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "POSTGRES_STATEMENT_SECONDS", 1)
    monkeypatch.setattr(limits, "POSTGRES_CONNECTIONS", 1)
    stuck = PostgresDatabase(postgres_url)
    with psycopg.connect(postgres_url) as other:
        other.execute("lock table workspaces in access exclusive mode")
        with pytest.raises(Unavailable) as refused:
            await stuck.write(partial(add, name="wsp_late"))
        assert refused.value.code == ErrorCode.BUSY
    assert await names(stuck) == []
    await stuck.close()


async def test_a_server_that_takes_no_changes_is_unavailable_and_later_asked_over_other_connections(
    database: PostgresDatabase, postgres_url: str
) -> None:
    name = postgres_url.partition("?")[0].rpartition("/")[2]
    by_hand(postgres_url, f"alter database {name} set default_transaction_read_only = on")
    cut_all_connections(postgres_url)
    with pytest.raises(Unavailable) as refused:
        await database.write(lambda tx: add(tx, "a"))
    assert refused.value.code == ErrorCode.DATABASE_UNAVAILABLE
    assert await names(database) == []
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("begin read write")
        connection.execute(f"alter database {name} reset default_transaction_read_only".encode())
        connection.execute("commit")
    for _ in range(limits.POSTGRES_CONNECTIONS):  # each refusal costs one of the old connections
        with contextlib.suppress(Unavailable):
            await database.write(lambda tx: add(tx, "b"))
            break
    assert await names(database) == ["b"]


async def test_a_change_in_what_should_only_read_is_a_fault_of_ours(database: PostgresDatabase) -> None:
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        await database.read(lambda tx: add(tx, "a"))


async def test_while_the_database_is_away_one_waits_for_it_and_the_others_are_told_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "POSTGRES_CONNECT_SECONDS", 1)
    db = PostgresDatabase("postgresql://postgres@/none?host=/nowhere")
    with pytest.raises(Unavailable):
        await db.read(lambda tx: tx.one("select 1"))
    before = db._pool.get_stats()["requests_num"]
    tries = [db.read(lambda tx: tx.one("select 1")) for _ in range(4 * limits.POSTGRES_CONNECTIONS)]
    answers = await asyncio.gather(*tries, return_exceptions=True)
    await db.close()
    assert {getattr(answer, "code", answer) for answer in answers} == {ErrorCode.DATABASE_UNAVAILABLE}
    assert db._pool.get_stats()["requests_num"] - before <= 2  # a slow machine may let a second one find out

"""A private PostgreSQL cluster for the tests: made on first use, shared by the workers, gone at the end."""

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from deedbox.kernel.db import migrate

TEMPLATE = "deedbox_template"
ROOM_BYTES = 2_000_000_000
NO_CRASHES = "-c fsync=off -c full_page_writes=off -c wal_level=minimal -c max_wal_senders=0"
"""The cluster ends with the tests: it keeps nothing for another start, or another server."""
NO_HOUSEKEEPING = "-c autovacuum=off -c jit=off"
"""Nor does it live long enough for that to pay."""
TIMES_USED = 100
"""After so many tests a database is made anew: what was deleted takes its room."""
CUT_OTHERS = """
select pg_terminate_backend(pid, 5000) from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid()
"""
SHAPE = """
select concat_ws(' ', (select version_num from alembic_version),
  (select count(*) || ' ' || sum(hashtext(concat(oid, relname, relkind))) from pg_class where oid >= 16384),
  (select count(*) || ' ' || sum(hashtext(concat(attrelid, attname, atttypid, attnotnull)))
    from pg_attribute where attrelid >= 16384),
  (select count(*) || ' ' || sum(hashtext(oid::text)) from pg_constraint where oid >= 16384),
  (select count(*) || ' ' || sum(hashtext(concat(oid, tgenabled))) from pg_trigger where oid >= 16384),
  (select count(*) || ' ' || sum(hashtext(oid::text)) from pg_proc where oid >= 16384),
  (select count(*) from pg_db_role_setting))
"""
"""Whatever a test may have changed beside rows changes this."""
TABLES = """
select relname from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace
and relname <> 'alembic_version'
"""
EMPTY = "set session_replication_role = replica;"
"""Rows go in any order, whatever refers to them."""
RESTART = """
select setval(oid::regclass, 1, false) from pg_class where relkind = 'S' and relnamespace = 'public'::regnamespace
"""


def binaries() -> Path | None:
    """Where PostgreSQL's server programs are, or None."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    places = [*Path("/usr/lib/postgresql").glob("*/bin"), *Path("/opt/homebrew/opt").glob("postgresql*/bin")]
    return max(places, default=None)


class Cluster:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._empty: list[_Used] = []
        """Databases that nobody uses: to empty one takes a tenth of what it takes to make and drop one."""

    def url(self, database: str) -> str:
        return f"postgresql://postgres@/{database}?host={self.folder}"

    def start(self, *, durable: bool = False) -> None:
        """Starts a new one. A durable one keeps what it has acknowledged, as PostgreSQL does unless told otherwise."""
        programs = binaries()
        assert programs is not None
        data = self.folder / "data"
        if os.getuid() == 0:  # PostgreSQL refuses to run as root
            shutil.chown(self.folder, "postgres", "postgres")
        self._run(programs / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "-N")
        careless = "" if durable else f"{NO_CRASHES} {NO_HOUSEKEEPING}"
        options = f"-c listen_addresses='' -k {self.folder} -c max_connections=200 {careless}"
        self._run(programs / "pg_ctl", "-D", data, "-o", options, "-l", self.folder / "log", "-w", "start")
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"create database {TEMPLATE}")
        migrate.migrate_postgres(self.url(TEMPLATE))

    def stop(self) -> None:
        programs = binaries()
        if programs and (self.folder / "data").exists():
            self._run(programs / "pg_ctl", "-D", self.folder / "data", "-m", "immediate", "stop")
        shutil.rmtree(self.folder, ignore_errors=True)

    @contextmanager
    def database(self, name: str, template: str = TEMPLATE) -> Iterator[str]:
        """The URL of an empty database at the newest schema, or made from another template; for one test alone."""
        used = self._empty.pop() if self._empty and template == TEMPLATE else self._made(name, template)
        try:
            yield self.url(used.name)
        finally:
            if template == TEMPLATE and used.times < TIMES_USED and self._emptied(used):
                self._empty.append(used)
            else:
                self._administer(f"drop database {used.name} with (force)")

    def _made(self, name: str, template: str) -> "_Used":
        self._administer(f"create database {name} template {template}")
        with psycopg.connect(self.url(name)) as connection:
            [(shape,)] = connection.execute(SHAPE if template == TEMPLATE else "select ''").fetchall()
        return _Used(name, shape)

    def _emptied(self, used: "_Used") -> bool:
        """Whether it is now as it was made; not if a test has changed more than rows."""
        used.times += 1
        try:
            with psycopg.connect(self.url(used.name), autocommit=True) as connection:
                connection.execute(CUT_OTHERS)
                [(shape,)] = connection.execute(SHAPE).fetchall()
                tables = connection.execute(TABLES).fetchall()
                connection.execute("".join([EMPTY, *(f"delete from {table};" for (table,) in tables)]).encode())
                connection.execute(RESTART)
        except psycopg.Error:
            return False
        return bool(shape == used.shape)

    def _administer(self, command: str) -> None:
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(command.encode())

    def _run(self, *command: str | Path) -> None:
        words = [str(word) for word in command]
        if os.getuid() == 0:
            words = ["runuser", "-u", "postgres", "--", *words]
        subprocess.run(words, check=True, cwd="/", stdout=subprocess.DEVNULL)


class _Used:
    """A database, how it was made, and how many tests have used it."""

    def __init__(self, name: str, shape: str) -> None:
        self.name, self.shape, self.times = name, shape, 0


@contextmanager
def shared_cluster(run_folder: Path) -> Iterator[Cluster]:
    """One cluster for all workers of a test run: the first starts it, the last stops it."""
    run_folder.mkdir(parents=True, exist_ok=True)
    note, users = run_folder / "cluster", run_folder / "users"
    with _locked(run_folder):
        if not note.exists():
            # A short path: a socket's name has 100 characters at most.
            folder = Path(tempfile.mkdtemp(prefix="deedpg", dir=_memory()))
            Cluster(folder).start()
            note.write_text(str(folder))
        users.write_text(str(int(users.read_text() if users.exists() else 0) + 1))
    cluster = Cluster(Path(note.read_text()))
    try:
        yield cluster
    finally:
        with _locked(run_folder):
            left = int(users.read_text()) - 1
            users.write_text(str(left))
            if left == 0:
                note.unlink()
                cluster.stop()


def _memory() -> str | None:
    """A folder in memory with room for the cluster, or None: there a test's database is made in a third of the time."""
    shared = Path("/dev/shm")
    return str(shared) if shared.is_dir() and shutil.disk_usage(shared).free > ROOM_BYTES else None


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield

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

    def url(self, database: str) -> str:
        return f"postgresql://postgres@/{database}?host={self.folder}"

    def start(self) -> None:
        programs = binaries()
        assert programs is not None
        data = self.folder / "data"
        if os.getuid() == 0:  # PostgreSQL refuses to run as root
            shutil.chown(self.folder, "postgres", "postgres")
        self._run(programs / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "-N")
        options = f"-c listen_addresses='' -k {self.folder} -c fsync=off -c max_connections=200"
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
        """The URL of a fresh database at the newest schema, dropped afterwards."""
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"create database {name} template {template}")
            try:
                yield self.url(name)
            finally:
                connection.execute(f"drop database {name} with (force)")

    def _run(self, *command: str | Path) -> None:
        words = [str(word) for word in command]
        if os.getuid() == 0:
            words = ["runuser", "-u", "postgres", "--", *words]
        subprocess.run(words, check=True, cwd="/", stdout=subprocess.DEVNULL)


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

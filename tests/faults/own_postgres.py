"""PostgreSQL servers that a fault test may kill, fill and promote: each with a folder and a port of its own."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg

from deedbox.kernel.db import migrate
from tests.postgres import binaries

NAME = "deedbox"
SECONDS = 60
DURABLE = "-c wal_level=replica -c max_wal_senders=4 -c autovacuum=off -c jit=off -c max_connections=100"


class OwnPostgres:
    """One server; `folder` is its own, of the user that runs it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.port = _free_port()

    @property
    def url(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{NAME}"

    def make(self, log: Path | None = None) -> None:
        """A new cluster with an empty database at the newest schema; its log of writes may be elsewhere."""
        elsewhere = () if log is None else ("-X", log)
        _run("initdb", "-D", self.data, *elsewhere, "-U", "postgres", "-A", "trust", "-E", "UTF8", "-N")
        self.start()
        with psycopg.connect(self.url.replace(f"/{NAME}", "/postgres"), autocommit=True) as connection:
            connection.execute(f"create database {NAME}")
        migrate.migrate_postgres(self.url)

    def copy(self, primary: "OwnPostgres") -> None:
        """A standby of the primary, that follows it."""
        _run(
            "pg_basebackup",
            "-h",
            "127.0.0.1",
            "-p",
            str(primary.port),
            "-U",
            "postgres",
            "-D",
            self.data,
            "-R",
            "-c",
            "fast",
        )
        self.start()

    def start(self) -> None:
        options = f"-c listen_addresses=127.0.0.1 -p {self.port} -k {self.folder} {DURABLE}"
        _run("pg_ctl", "-D", self.data, "-o", options, "-l", self.folder / "log", "-w", "start")

    def kill(self) -> None:
        """Ends the server and all its processes at once: nothing of it can say good-bye."""
        processes = self.processes()
        for process in processes:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        _until(lambda: not any(Path(f"/proc/{one}").exists() and not _is_dead(one) for one in processes))

    def processes(self) -> list[int]:
        first = self.pid()
        if first is None:
            return []
        told = subprocess.run(["ps", "-o", "pid=", "--ppid", str(first)], capture_output=True, text=True, check=False)
        return [first, *map(int, told.stdout.split())]

    def pid(self) -> int | None:
        """That of the server's first process, if it runs."""
        try:
            pid = int((self.data / "postmaster.pid").read_text().split()[0])
        except (FileNotFoundError, IndexError):
            return None
        return pid if Path(f"/proc/{pid}").exists() and not _is_dead(pid) else None

    def promote(self) -> None:
        _run("pg_ctl", "-D", self.data, "-w", "promote")

    def execute(self, sql: str) -> list[tuple[object, ...]]:
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(sql.encode())
            return cursor.fetchall() if cursor.description else []


@contextmanager
def own_folder() -> Iterator[Path]:
    """A folder with a short name, which the user that runs PostgreSQL may write to."""
    folder = Path(tempfile.mkdtemp(prefix="deedrig"))
    try:
        if os.getuid() == 0:
            shutil.chown(folder, "postgres", "postgres")
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def made(folder: Path, log: Path | None = None) -> Iterator[OwnPostgres]:
    """A running server with an empty database; dead afterwards."""
    server = OwnPostgres(folder)
    try:
        server.make(log)
        yield server
    finally:
        server.kill()


def _run(program: str, *words: str | Path) -> None:
    programs = binaries()
    assert programs is not None
    command = [str(programs / program), *map(str, words)]
    if os.getuid() == 0:  # PostgreSQL refuses to run as root
        command = ["runuser", "-u", "postgres", "--", *command]
    subprocess.run(command, check=True, cwd="/", stdout=subprocess.DEVNULL, timeout=SECONDS)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _is_dead(pid: int) -> bool:
    """Whether a process has ended and only waits to be noticed by its parent."""
    with suppress(FileNotFoundError, IndexError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    return True


def _until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.01)

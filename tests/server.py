"""A real server in a process of its own, as a user would start it."""

import functools
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, Any

import httpx
import psycopg

from deedbox.kernel.clock import SystemClock
from deedbox.kernel.db import migrate
from tests import nursery
from tests.kinds import DATABASE_URL, kinds

STRAY = ("DEEDBOX_", "SERVICE_ECOSYSTEM_KEY", "MAKE", "MFLAGS", "ARGS", "WORKERS", "DATABASE", "BLOBS", "FAULTS")
"""Settings of Deedbox, and what `make test` was told: another `make` would take it for its own."""


def environment(data: Path | None = None, /, **extra: str) -> dict[str, str]:
    """This process's environment without what would change the program's ways, plus what is given.

    With a data folder, the program finds its rows and files where this run keeps them."""
    usual = {name: value for name, value in os.environ.items() if not name.startswith(STRAY)}
    return usual | (kinds.environment(data, extra) if data else {}) | extra


@functools.cache
def _empty_database() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "empty.sqlite"
        migrate.migrate_sqlite(path, SystemClock().now())
        return path.read_bytes()


def prepare(data: Path, env: Mapping[str, str] | None = None) -> None:
    """Puts a database without a row into a new data folder: to make its tables takes most of a first start."""
    if not data.exists() and DATABASE_URL not in environment(data, **(env or {})):
        data.mkdir(mode=0o700, parents=True)
        (data / "deedbox.sqlite").touch(mode=0o600)
        (data / "deedbox.sqlite").write_bytes(_empty_database())


def run(*words: str, data: Path, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """One `deedbox` command, to its end."""
    return nursery.run("deedbox", *words, "--data", str(data), env=environment(data, **(env or {})))


def change(data: Path, sql: str, *rows: Sequence[Any]) -> None:
    """Runs a statement on the database of a data folder that no server uses, once for each row of values."""
    with _connected(data) as connection:
        connection.cursor().executemany(sql if kinds.url(data) is None else sql.replace("?", "%s"), rows)


def rows(data: Path, sql: str) -> list[tuple[Any, ...]]:
    """What a query finds there."""
    with _connected(data) as connection:
        return list(connection.cursor().execute(sql).fetchall())


@contextmanager
def _connected(data: Path) -> Iterator[Any]:
    url = kinds.url(data)
    with closing(psycopg.connect(url) if url else sqlite3.connect(data / "deedbox.sqlite")) as connection, connection:
        yield connection


class Server:
    def __init__(self, process: subprocess.Popen[str], announced: Mapping[str, str | None], log: Path) -> None:
        self.process = process
        self.address = str(announced["address"])
        self.login_link = announced["login_link"]
        self.api_key = announced["api_key"]
        self.log = log

    def client(self, key: str | None = None) -> httpx.Client:
        """An HTTP client with this key, or the first one."""
        headers = {"Authorization": f"Bearer {key or self.api_key}"}
        return httpx.Client(base_url=self.address, headers=headers, timeout=30, trust_env=False)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """Asks it to stop; the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=60)


def start(
    data: Path,
    *words: str,
    module: str = "deedbox",
    env: Mapping[str, str] | None = None,
    port: int = 0,
    prepared: bool = True,
    under: Sequence[str] = (),
) -> Server:
    """A running server on a free port; raises with its log when it does not start.

    A data folder that does not exist is prepared, unless the test is about the very first start. `under` are the words
    of a program that becomes the server, in other surroundings."""
    if prepared:
        prepare(data, env)
    else:
        kinds.without_tables(data)
    log = data.parent / f"{data.name}.log"
    command = [sys.executable, "-m", module, "serve", "--json", "--data", str(data), "--port", str(port), *words]
    began = nursery.Process if prepared and not under else subprocess.Popen
    with log.open("a") as errors:
        told = environment(data, **(env or {}))
        process = began([*under, *command], env=told, stdout=subprocess.PIPE, stderr=errors, text=True)
    output: IO[str] | None = process.stdout
    assert output is not None
    line = output.readline()
    if not line:
        process.wait()
        raise AssertionError(f"the server did not start: {log.read_text()}")
    return Server(process, json.loads(line), log)


@contextmanager
def running(data: Path, *words: str, env: Mapping[str, str] | None = None, prepared: bool = True) -> Iterator[Server]:
    server = start(data, *words, env=env, prepared=prepared)
    try:
        yield server
    finally:
        server.stop()
        if server.process.stdout:
            server.process.stdout.close()

"""An installation that a fault test kills and starts again: its server, its first key, and what its database holds."""

import itertools
import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import msgspec
import psycopg

from tests import nursery, server
from tests.faults.faulty_server import VARIABLE

ROOT = Path(__file__).parents[2]
BREAKS = (httpx.TransportError, httpx.StreamError)
"""What a client sees of a server that dies."""
DIES_BETWEEN = (0.2, 1.2)
"""Seconds after which a server that is only starting is killed."""
FAULTY = "tests.faults.faulty_server"
HONEST = "deedbox"


class Installation:
    def __init__(
        self, data: Path, *, database_url: str | None = None, bug: str | None = None, module: str | None = None
    ) -> None:
        self.data = data
        self.database_url = database_url
        self.module = module or (FAULTY if bug else HONEST)
        places = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        self.env = {"PYTHONPATH": os.pathsep.join(places), "DEEDBOX_ANONYMOUS_PER_MINUTE": "100000"}
        self.env |= {VARIABLE: bug} if bug else {}
        self.env |= {"DEEDBOX_DATABASE_URL": database_url} if database_url else {}
        self.under: tuple[str, ...] = ()
        """A program that becomes the server, in other surroundings."""

    def start(self) -> server.Server:
        return server.start(self.data, module=self.module, env=self.env, under=self.under)

    @contextmanager
    def running(self, *, gently: bool = False) -> Iterator[server.Server]:
        """A server that is dead afterwards, by itself if it shall end gently."""
        running = self.start()
        try:
            yield running
            if gently:
                running.stop()
        finally:
            end(running)

    def kill_while_starting(self, chance: random.Random) -> None:
        command = [sys.executable, "-m", self.module, "serve", "--data", str(self.data), "--port", "0"]
        process = subprocess.Popen(
            command, env=server.environment(self.data, **self.env), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            process.wait(chance.uniform(*DIES_BETWEEN))
        except subprocess.TimeoutExpired:
            process.kill()
        assert process.wait() == -signal.SIGKILL, "the server ended by itself"

    def command(self, *words: str) -> str:
        """What one command of the program says; it must succeed."""
        done = nursery.run(self.module, *words, "--data", str(self.data), env=server.environment(self.data, **self.env))
        assert done.returncode == 0, done.stderr
        return done.stdout

    def key(self) -> str:
        """A key for the clients that no rate limit hinders."""
        words = ("--name", "fault test", "--scope", "*", "--tier", "enterprise", "--json")
        limit = ("--per-minute", "100000", "--per-day", "10000000")
        return str(msgspec.json.decode(self.command("keys", "create", *words, *limit))["key"])

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        if self.database_url is not None:
            with psycopg.connect(self.database_url) as connection:
                return connection.execute(sql.encode()).fetchall()
        with closing(sqlite3.connect(self.data / "deedbox.sqlite")) as file:
            return file.execute(sql).fetchall()

    def change(self, sql: str) -> None:
        """Writes beside the server."""
        if self.database_url is not None:
            with psycopg.connect(self.database_url) as connection:
                connection.execute(sql.encode())
            return
        with closing(sqlite3.connect(self.data / "deedbox.sqlite")) as file, file:
            file.execute(sql)

    def log(self) -> str:
        """What all its servers have said."""
        return (self.data.parent / f"{self.data.name}.log").read_text()

    def integrity(self) -> str:
        """`ok`, or what the database file says of itself."""
        if self.database_url is not None:
            return "ok"
        broken = self.rows("pragma foreign_key_check")
        return f"{len(broken)} broken references" if broken else str(self.rows("pragma integrity_check")[0][0])

    def lapse_leases(self) -> None:
        """As if the time had passed after which a dead server's jobs go to another. On SQLite they go at its start."""
        if self.database_url is not None:
            with psycopg.connect(self.database_url) as connection:
                connection.execute("update jobs set lease_until = 0 where state = 'running'")


def client(address: str, key: str | None, *, connections: int = 100) -> httpx.AsyncClient:
    """A caller with this key, or with none; of several addresses each request takes the next."""
    addresses = address.split()
    turns = itertools.cycle(map(httpx.URL, addresses))

    async def choose(request: httpx.Request) -> None:
        there = next(turns)
        request.url = request.url.copy_with(host=there.host, port=there.port)
        request.headers["Host"] = there.netloc.decode()

    return httpx.AsyncClient(
        base_url=addresses[0],
        event_hooks={"request": [choose]} if len(addresses) > 1 else {},
        headers={"Authorization": f"Bearer {key}"} if key else {},
        timeout=60,
        trust_env=False,
        limits=httpx.Limits(max_connections=connections),
    )


def end(running: server.Server) -> None:
    if running.process.poll() is None:
        running.kill()
    if running.process.stdout is not None:
        running.process.stdout.close()


def told(name: str, report: msgspec.Struct, database: str) -> str:
    """The figures of a report in one line."""
    fields = msgspec.structs.asdict(report).items()
    return f"{name} on {database}: " + ", ".join(f"{field} {value}" for field, value in fields)

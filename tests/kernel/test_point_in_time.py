"""PostgreSQL comes back to a moment with the commands of docs/how-to/point-in-time.md, and Deedbox goes on there."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from deedbox.kernel.db import migrate
from tests.postgres import binaries

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "point-in-time.md"
MOMENT = "2026-03-01 12:00:00+00"
ADD = "insert into workspaces (id, name, created_at) values (%s, '', '')"


class Server:
    """A PostgreSQL of this test alone, which keeps every change as the page says."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = f"postgresql://postgres@/postgres?host={folder}"
        self._programs = binaries()

    def start(self) -> None:
        for name in ("wal", "data"):
            (self.folder / name).mkdir(mode=0o700)
            self._hand_over(self.folder / name)
        self._hand_over(self.folder)
        self.run(f"initdb -D {self.folder}/data -U postgres -A trust -E UTF8 -N")
        with open(self.folder / "data" / "postgresql.conf", "a") as file:
            file.write(f"listen_addresses = ''\nunix_socket_directories = '{self.folder}'\n")
            file.write("\n".join(self.settings()))
        self.run(f"pg_ctl --pgdata {self.folder}/data --log {self.folder}/log --wait start")

    def settings(self) -> list[str]:
        return [line for line in self._blocks() if re.match(r"archive_\w+ = ", line)]

    def commands(self) -> list[str]:
        return [line for line in self._blocks() if re.match(r"(pg_|cp|echo|touch)", line)]

    def run(self, command: str) -> None:
        env = {**os.environ, "PATH": f"{self._programs}:{os.environ['PATH']}", "PGHOST": str(self.folder)}
        env["PGUSER"] = "postgres"
        words = ["sh", "-c", command]
        if os.getuid() == 0:  # PostgreSQL refuses to run as root
            words = ["runuser", "-u", "postgres", "--", *words]
        done = subprocess.run(words, cwd="/", env=env, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        assert done.returncode == 0, (command, done.stderr)

    def stop(self, data: str) -> None:
        self.run(f"pg_ctl --pgdata {self.folder}/{data} --mode immediate --wait stop")

    def _blocks(self) -> list[str]:
        """The indented lines of the page, with the folders of this test."""
        lines = re.findall(r"^ {4,}(\S.*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
        return [line.replace("/srv/deedbox-", f"{self.folder}/") for line in lines]

    def _hand_over(self, path: Path) -> None:
        if os.getuid() == 0:
            shutil.chown(path, "postgres", "postgres")


@pytest.fixture
def postgres() -> Iterator[Server]:
    if binaries() is None:
        assert not os.environ.get("CI"), "PostgreSQL is missing: run scripts/test-deps"
        pytest.skip("PostgreSQL is missing: run scripts/test-deps")
    folder = Path(tempfile.mkdtemp(prefix="deedpit"))
    server = Server(folder)
    try:
        server.start()
        yield server
    finally:
        for data in ("recovered", "data"):
            if (folder / data / "postmaster.pid").exists():
                server.stop(data)
        shutil.rmtree(folder)


def test_a_database_goes_back_to_the_moment_before_a_mistake(postgres: Server) -> None:
    migrate.migrate_postgres(postgres.url)
    back_up, *go_back, start = postgres.commands()
    postgres.run(back_up)
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute(ADD, ["wsp_kept"])
        [(moment,)] = connection.execute("select clock_timestamp()::text").fetchall()
        connection.execute("delete from workspaces")
        connection.execute(ADD, ["wsp_regretted"])

    for command in go_back:
        postgres.run(command.replace(MOMENT, moment))
    postgres.run(f"{start} --log {postgres.folder}/log")

    with psycopg.connect(postgres.url, autocommit=True) as connection:
        while connection.execute("select pg_is_in_recovery()").fetchall() != [(False,)]:
            pass
        assert connection.execute("select id from workspaces").fetchall() == [("wsp_kept",)]
        connection.execute(ADD, ["wsp_new"])
    migrate.migrate_postgres(postgres.url)


def test_the_commands_of_the_page_are_all_tried(postgres: Server) -> None:
    assert len(postgres.settings()) == 3
    assert len(postgres.commands()) == 8
    assert MOMENT in "".join(postgres.commands())

"""`deedbox serve` as a user meets it: a process of its own, started, stopped, and refused."""

import asyncio
import importlib.util
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import httpx
import pytest

from deedbox.cli import running_server
from deedbox.cli.options import load
from tests import server

NOBODY_LISTENS = "postgresql://somebody@127.0.0.1:1/deedbox"


class Refusal(NamedTuple):
    reason: str
    next_step: str


def refusal(data: Path, *words: str, **env: str) -> Refusal:
    """Why the server did not start: one line on stderr, exit code 1, no traceback."""
    done = server.run("serve", "--json", *(words or ("--port", "0")), data=data, env=env)
    assert done.returncode == 1, done
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1, done.stderr
    told = json.loads(done.stderr)
    assert told["error"]
    assert told["next_step"]
    return Refusal(told["error"], told["next_step"])


@contextmanager
def on_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        yield taken.getsockname()[1]


IN_FOLDER = pytest.mark.all_in_folder("something in the folder of a whole installation is damaged")


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = tmp_path_factory.mktemp("stopped") / "data"
    with server.running(data):
        pass
    return data


@pytest.fixture
def installed(stopped: Path, tmp_path: Path) -> Path:
    """The data folder of a server that has run and stopped."""
    return shutil.copytree(stopped, tmp_path / "data")


def test_the_first_start_shows_address_login_link_and_key_and_they_work(tmp_path: Path) -> None:
    with server.running(tmp_path / "data", prepared=False) as running:
        assert running.address.startswith("http://127.0.0.1:")
        with running.client() as http:
            assert http.get("/health").json()["status"] == "healthy"
        assert str(running.login_link).startswith(f"{running.address}/login/deed_login_")
        opened = httpx.post(str(running.login_link), trust_env=False)
        assert (opened.status_code, opened.headers["location"]) == (303, "/app")


def test_a_later_start_shows_no_secret_and_the_first_key_still_works(tmp_path: Path) -> None:
    with server.running(tmp_path / "data") as first:
        pass
    with server.running(tmp_path / "data") as second:
        assert (second.api_key, second.login_link) == (None, None)
        with second.client(first.api_key) as http:
            assert http.get("/health").status_code == 200


def test_later_start_names_the_command_until_the_owner_has_a_password(tmp_path: Path) -> None:
    data = tmp_path / "data"
    assert "deed_login_" in started(data)
    assert f"deedbox login-link --data {data}" in started(data)
    with server.running(data) as running:
        link = json.loads(server.run("login-link", "--json", data=data).stdout)["login_link"]
        form = {"name": "Owner", "email": "owner@example.com", "password": "a long enough one"}
        with httpx.Client(base_url=running.address, trust_env=False) as browser:
            browser.post(urlsplit(link).path)
            assert browser.post("/account", data=form).headers["location"] == "/app/welcome"
    assert "login" not in started(data)


def test_a_person_is_told_in_sentences(tmp_path: Path) -> None:
    told = started(tmp_path / "data")
    assert told.startswith("Deedbox is running at http://127.0.0.1:")
    assert told.count("deed_login_") == told.count("deed_live_") == 1


def started(data: Path) -> str:
    """What the server prints for a person at its start."""
    command = [sys.executable, "-m", "deedbox", "serve", "--port", "0", "--data", str(data)]
    env = server.environment(data)
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        lines: list[str] = []
        while not lines or "Ctrl-C" not in lines[-1]:
            lines.append(process.stdout.readline())
            assert lines[-1], "".join(lines)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    return "".join(lines)


def test_a_killed_server_leaves_the_folder_free_for_the_next(tmp_path: Path) -> None:
    first = server.start(tmp_path / "data")
    first.kill()
    with server.running(tmp_path / "data") as second, second.client(first.api_key) as http:
        assert http.get("/health").status_code == 200


def test_a_stop_lets_a_request_under_way_finish(tmp_path: Path) -> None:
    running = server.start(tmp_path / "data")
    body = json.dumps({"name": "slow"}).encode()
    head = (
        f"POST /api/v1/keys HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {running.api_key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    address = urlsplit(running.address)
    with socket.create_connection((str(address.hostname), int(address.port or 0)), timeout=30) as slow:
        slow.sendall(head.encode() + body[:5])
        with running.client() as http:  # answered after the slow one was begun
            assert http.get("/health").status_code == 200
        running.process.send_signal(signal.SIGTERM)
        assert refused_soon(running.address)
        assert running.process.poll() is None
        slow.sendall(body[5:])
        assert slow.recv(65536).startswith(b"HTTP/1.1 201")
    assert running.process.wait(60) == 0
    with server.running(tmp_path / "data") as second, second.client(running.api_key) as http:
        assert "slow" in [key["name"] for key in http.get("/api/v1/keys").json()["keys"]]


def test_a_server_imports_no_library_for_models_that_it_does_not_use() -> None:
    others = {"pydantic", "attr"}
    assert all(importlib.util.find_spec(name) for name in others), "only where they are installed it can be seen"
    code = f"import sys; from deedbox.web import app; app.put_together(app.ROUTES); print(*{others} & {{*sys.modules}})"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == []


def refused_soon(address: str) -> bool:
    """Whether the server stops taking connections; it is asked until it does."""
    for _ in range(10_000):
        try:
            httpx.get(f"{address}/livez", trust_env=False, timeout=30)
        except httpx.TransportError:
            return True
    return False


def test_an_unknown_setting_is_named_with_the_one_that_was_meant(tmp_path: Path) -> None:
    told = refusal(tmp_path / "data", DEEDBOX_PROT="80")
    assert told == ("Unknown setting DEEDBOX_PROT in the environment.", "Did you mean DEEDBOX_PORT?")


def test_a_bad_value_is_named_with_its_setting(tmp_path: Path) -> None:
    told = refusal(tmp_path / "data", DEEDBOX_JOB_CONCURRENCY="many")
    assert "DEEDBOX_JOB_CONCURRENCY ('many')" in told.reason


def test_a_broken_settings_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "deedbox.toml").write_text("port = ")
    assert str(tmp_path / "deedbox.toml") in refusal(tmp_path).reason


def test_without_json_the_refusal_is_one_sentence_for_a_person(tmp_path: Path) -> None:
    done = server.run("serve", data=tmp_path / "data", env={"DEEDBOX_PROT": "80"})
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "deedbox: Unknown setting DEEDBOX_PROT in the environment. Did you mean DEEDBOX_PORT?\n"


@pytest.mark.all_in_folder("on PostgreSQL the second one is welcome")
def test_a_second_server_on_the_same_folder_is_refused_and_names_the_first(tmp_path: Path) -> None:
    with server.running(tmp_path / "data") as first:
        assert f"process {first.process.pid}" in refusal(tmp_path / "data").reason
        with first.client() as http:
            assert http.get("/health").status_code == 200


@pytest.mark.all_in_folder("on PostgreSQL nobody has to wait")
def test_a_server_waits_for_a_command_that_has_the_data_folder(tmp_path: Path) -> None:
    data, log = tmp_path / "data", tmp_path / "data.log"
    server.prepare(data)

    async def started_meanwhile() -> server.Server:
        async with running_server.is_absent(load(data_dir=data)) as alone:
            assert alone
            starting = asyncio.create_task(asyncio.to_thread(server.start, data))
            while not starting.done() and not (log.exists() and "until the data folder is free" in log.read_text()):
                await asyncio.sleep(0.05)
        return await starting

    started = asyncio.run(started_meanwhile())
    assert "until the data folder is free" in log.read_text()
    assert started.stop() == 0


def test_a_file_in_place_of_the_data_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    assert "cannot be written" in refusal(tmp_path / "data").reason
    assert "cannot be written" in refusal(tmp_path / "data" / "below").reason


def test_a_data_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir(mode=0o500)
    if os.geteuid() == 0:  # whom no mode keeps out, but a file system of the kernel's own does
        folder = Path("/sys")
    told = refusal(folder)
    assert f"{folder} cannot be written" in told.reason
    assert "--data" in told.next_step


def test_a_port_in_use_is_refused_and_does_not_burn_the_first_key(tmp_path: Path) -> None:
    with on_port() as port:
        told = refusal(tmp_path / "data", "--port", str(port))
    assert told.reason == f"Port {port} on 127.0.0.1 is in use."
    with server.running(tmp_path / "data") as running:
        assert running.api_key


def test_a_host_that_is_not_of_this_machine_is_refused(tmp_path: Path) -> None:
    words = ("--host", "192.0.2.1", "--public", "--base-url", "https://sign.example.com", "--port", "0")
    assert "Cannot listen on 192.0.2.1" in refusal(tmp_path / "data", *words).reason


@pytest.mark.parametrize("extra", [[], ["--public"], ["--base-url", "https://sign.example.com"]])
def test_an_address_that_others_reach_needs_a_clear_word(tmp_path: Path, extra: list[str]) -> None:
    told = refusal(tmp_path / "data", "--host", "0.0.0.0", "--port", "0", *extra)
    assert "would open this server to other machines" in told.reason
    assert not (tmp_path / "data").exists()


def test_a_public_server_shows_links_under_its_base_url(tmp_path: Path) -> None:
    env = {"DEEDBOX_HOST": "0.0.0.0", "DEEDBOX_PUBLIC": "1", "DEEDBOX_BASE_URL": "https://sign.example.com/"}
    with server.running(tmp_path / "data", env=env) as running:
        assert running.address == "https://sign.example.com"
        assert str(running.login_link).startswith("https://sign.example.com/login/")


def test_a_postgresql_that_nobody_reaches_is_refused(tmp_path: Path) -> None:
    told = refusal(tmp_path / "data", DEEDBOX_DATABASE_URL=NOBODY_LISTENS)
    assert told.reason.startswith("PostgreSQL cannot be reached")
    assert "DEEDBOX_DATABASE_URL" in told.next_step


@IN_FOLDER
def test_a_database_of_a_newer_version_is_refused_and_left_alone(installed: Path) -> None:
    database = installed / "deedbox.sqlite"
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("update alembic_version set version_num = '9999'")
    before = database.read_bytes()
    assert "schema 9999, newer than this version" in refusal(installed).reason
    assert database.read_bytes() == before


@IN_FOLDER
@pytest.mark.parametrize("begin", [0, 100, 4096, 8192])
def test_a_corrupt_database_is_refused(installed: Path, begin: int) -> None:
    database = installed / "deedbox.sqlite"
    content = database.read_bytes()
    database.write_bytes(content[:begin] + bytes([0xA5]) * (len(content) - begin))
    assert str(database) in refusal(installed).reason


@IN_FOLDER
def test_a_database_whose_schema_cannot_be_read_is_refused(installed: Path) -> None:
    database = installed / "deedbox.sqlite"
    with closing(sqlite3.connect(database)) as connection:
        size = connection.execute("pragma page_size").fetchone()[0]
        (page,) = connection.execute("select rootpage from sqlite_master where name = 'alembic_version'").fetchone()
    with database.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(bytes([0xA5]) * size)
    told = refusal(installed)
    assert str(database) in told.reason
    assert "backup" in told.next_step


def test_a_disk_that_takes_no_byte_is_named_without_traceback(tmp_path: Path) -> None:
    nothing_fits = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)); import deedbox.cli as c; c.main()"
    )
    command = [sys.executable, "-c", nothing_fits, "serve", "--port", "0", "--data", str(tmp_path / "data")]
    env = server.environment(tmp_path / "data")
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert "disk" in done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr


@IN_FOLDER
def test_a_database_whose_tables_are_corrupt_is_refused(installed: Path) -> None:
    database = installed / "deedbox.sqlite"
    with closing(sqlite3.connect(database)) as connection:
        size = connection.execute("pragma page_size").fetchone()[0]
        roots = connection.execute("select rootpage from sqlite_master where tbl_name in ('workspaces', 'api_keys')")
        pages = [page for (page,) in roots]
    with database.open("r+b") as file:
        for page in pages:
            file.seek((page - 1) * size)
            file.write(bytes([0xA5]) * size)
    told = refusal(installed)
    assert f"{database} is damaged" in told.reason
    assert "backup" in told.next_step


@IN_FOLDER
@pytest.mark.parametrize("content", ["", "{}", '{"keys": [{"id": "00", "key": "AAAA"}]}', "\xff\xfe"])
def test_a_corrupt_master_key_is_refused(installed: Path, content: str) -> None:
    ring = installed / "master.key"
    ring.write_text(content)
    told = refusal(installed)
    assert str(ring) in told.reason
    assert "backup" in told.next_step
    assert ring.read_text() == content


@IN_FOLDER
def test_a_missing_master_key_is_not_silently_replaced(installed: Path) -> None:
    ring = installed / "master.key"
    ring.unlink()
    told = refusal(installed)
    assert str(ring) in told.reason
    assert "backup" in told.next_step
    assert not ring.exists()


def test_a_second_machine_without_the_master_key_is_refused(tmp_path: Path, postgres_url: str) -> None:
    env = {"DEEDBOX_DATABASE_URL": postgres_url}
    with server.running(tmp_path / "one", env=env) as first:
        assert "master.key is missing" in refusal(tmp_path / "two", **env).reason
        (tmp_path / "two" / "master.key").write_bytes((tmp_path / "one" / "master.key").read_bytes())
        with server.running(tmp_path / "two", env=env) as second, second.client(first.api_key) as http:
            assert second.api_key is None
            assert http.get("/health").status_code == 200


def test_a_limit_of_open_files_that_leaves_no_connection_is_refused(tmp_path: Path) -> None:
    command = f"ulimit -n 512 && exec {sys.executable} -m deedbox serve --port 0 --data {tmp_path / 'data'}"
    env = server.environment(tmp_path / "data")
    done = subprocess.run(["sh", "-c", command], env=env, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert "ulimit -n" in done.stderr

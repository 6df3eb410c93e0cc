"""`deedbox worker` beside `deedbox serve --no-work`, as processes on one PostgreSQL."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pytest

from tests import nursery, server
from tests.faults.signers import Doors, at_turn, signature, wanted

BUSY_MACHINE = 60
"""Seconds after which what has not happened will not."""


class Worker(NamedTuple):
    process: subprocess.Popen[str]
    kinds: list[str]
    log: Path

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=BUSY_MACHINE)


@contextmanager
def worker(data: Path, *words: str, env: Mapping[str, str], address: str) -> Iterator[Worker]:
    """A worker that has begun to work."""
    log = data.parent / "worker.log"
    command = [sys.executable, "-m", "deedbox", "worker", "--json", "--data", str(data), "--base-url", address, *words]
    with log.open("a") as errors:
        process = nursery.Process(
            command, env=server.environment(data, **env), stdout=subprocess.PIPE, stderr=errors, text=True
        )
    assert process.stdout is not None
    with closing(process.stdout) as output:
        line = output.readline()
        assert line, log.read_text()
        began = Worker(process, json.loads(line)["kinds"], log)
        try:
            yield began
        finally:
            began.stop()


@pytest.fixture
def env(postgres_url: str) -> dict[str, str]:
    return {"DEEDBOX_DATABASE_URL": postgres_url}


def rows(url: str, sql: str) -> list[Any]:
    with psycopg.connect(url) as connection:
        return connection.execute(sql.encode()).fetchall()


def until(url: str, sql: str, wanted: list[Any]) -> None:
    """Waits until the database answers so."""
    for _ in range(BUSY_MACHINE * 20):
        if rows(url, sql) == wanted:
            return
        time.sleep(0.05)
    raise AssertionError(f"{sql}: {rows(url, sql)}")


async def signed(running: server.Server, title: str) -> str:
    """The id of a document that its only signer has signed."""
    async with Doors(running.address, str(running.api_key)) as doors:
        made = await doors.sender.post("/api/v1/documents", json=wanted(title, send=True))
        assert made.status_code == 201, made.text
        document_id = made.json()["id"]
        cookie = await doors.enter(document_id, at_turn(await doors.document(document_id))[0])
        done = await doors.act(cookie, "complete", signature("Ann"))
        assert done.status_code == 200, done.text
        return str(document_id)


@pytest.mark.anyio
async def test_a_worker_seals_what_a_server_without_work_leaves(
    tmp_path: Path, env: dict[str, str], postgres_url: str
) -> None:
    waiting = "select state, worker is null from jobs where kind = 'finalize'"
    with server.running(tmp_path / "data", "--no-work", env=env) as running:
        document_id = await signed(running, "Deed")
        assert rows(postgres_url, waiting) == [("ready", True)]
        with worker(tmp_path / "data", env=env, address=running.address) as began:
            until(postgres_url, f"select status from documents where id = '{document_id}'", [("completed",)])
            assert "rebuild" not in began.kinds
            with running.client() as http:
                sealed = http.get(f"/api/v1/documents/{document_id}/file")
                assert (sealed.status_code, sealed.content[:5]) == (200, b"%PDF-")
            until(postgres_url, waiting, [("done", False)])
            assert began.stop() == 0
        mails = rows(postgres_url, "select worker from jobs where kind = 'finalize' or kind = 'mail'")
        pid = str(began.process.pid)
        assert {name.split(":")[1] for (name,) in mails if name} <= {pid}
        assert "stopped" in began.log.read_text()


@pytest.mark.anyio
async def test_a_worker_of_one_kind_leaves_the_others(tmp_path: Path, env: dict[str, str], postgres_url: str) -> None:
    with server.running(tmp_path / "data", "--no-work", env=env) as running:
        document_id = await signed(running, "Deed")
        status = f"select status from documents where id = '{document_id}'"
        with worker(tmp_path / "data", "--kind", "housekeeping", env=env, address=running.address) as began:
            assert began.kinds == ["housekeeping"]
            until(
                postgres_url, "select count(*) > 0 from jobs where kind = 'housekeeping' and state = 'done'", [(True,)]
            )
        assert rows(postgres_url, status) == [("finalizing",)]
        with worker(tmp_path / "data", "--kind", "finalize", "--kind", "mail", env=env, address=running.address):
            until(postgres_url, status, [("completed",)])


def test_a_server_without_work_builds_its_index_anew_itself(
    tmp_path: Path, env: dict[str, str], postgres_url: str, models_dir: Path
) -> None:
    env["DEEDBOX_MODELS_DIR"] = str(models_dir)
    with server.running(tmp_path / "data", "--no-work", env=env) as running, running.client() as http:
        with worker(tmp_path / "data", env=env, address=running.address):
            note = {"file": ("note.txt", b"The red house stands by the river.")}
            assert http.post("/documents/upload", files=note).status_code in (200, 201)
            indexed = http.post("/documents/index")
            assert (indexed.status_code, indexed.json()["total_chunks"]) == (200, 1), indexed.text
            answer = http.post("/query", json={"query": "house by the river"})
            assert (answer.status_code, len(answer.json()["results"])) == (200, 1), answer.text
        assert server.run("reindex", data=tmp_path / "data", env=env).returncode == 0
        until(postgres_url, "select state from jobs where kind = 'rebuild'", [("done",)])


def refusal(data: Path, *words: str, **env: str) -> tuple[str, str]:
    done = server.run(*words, "--json", data=data, env=env)
    assert (done.returncode, done.stdout) == (1, ""), done
    told = json.loads(done.stderr)
    return told["error"], told["next_step"]


@pytest.mark.all_in_folder("it is SQLite that refuses")
def test_on_sqlite_a_worker_is_refused_and_so_is_a_server_without_one(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with server.running(data):
        error, step = refusal(data, "worker")
        assert error == "A worker needs PostgreSQL: with SQLite one process uses the data folder."
        assert step.startswith("Run deedbox serve, which does the background work too")
    error, step = refusal(data, "serve", "--no-work")
    assert error.startswith("With SQLite one process uses the data folder")
    assert step == "Leave --no-work out, or set DEEDBOX_DATABASE_URL to a PostgreSQL database."


def test_a_worker_that_lacks_something_says_what(tmp_path: Path, env: dict[str, str]) -> None:
    data = tmp_path / "data"
    assert refusal(data, "worker", **env)[0].startswith("There is no installation in the data folder")
    with server.running(data, env=env) as running:
        error, step = refusal(data, "worker", **env)
        assert error.startswith("A worker has to know the address of the servers")
        assert step == "Give it with --base-url URL or DEEDBOX_BASE_URL."
        error, step = refusal(data, "worker", "--base-url", running.address, "--kind", "sing", **env)
        assert error == "A worker does no work of the kind 'sing'."
        assert step.startswith("The kinds are: archive, archive_roots, bulk_send, ")
        assert step.endswith(", webhooks.")

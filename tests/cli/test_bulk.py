"""`deedbox bulk`: rows are checked, sent once, followed to their end, and followed again after an interruption."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import nursery, server
from tests.api.search.files import pdf

PATIENCE = 120.0
PEOPLE = "Tenant.name,E-mail\nAnn,ann@example.com\nBen,ben@example.com\nCem,cem@example.com\n"
COLUMN = ("--column", "E-mail=Tenant.email")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bulk") / "data"


@pytest.fixture(scope="module")
def running(data: Path) -> Iterator[server.Server]:
    with server.running(data) as started:
        yield started


@pytest.fixture(scope="module")
def template(running: server.Server, data: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The id of a template for tenants."""
    file = tmp_path_factory.mktemp("paper") / "lease.pdf"
    file.write_bytes(pdf("A lease.", size=(595, 842)))
    done = server.run("template", "create", str(file), "--name", "Lease", "--role", "Tenant", data=data)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()[0]


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / f"{tmp_path.name}.csv"
    path.write_text(PEOPLE)
    return path


def get(running: server.Server, path: str) -> Any:
    with running.client() as http:
        return http.get(f"/api/v1{path}").json()


def sent(running: server.Server, bulk_send_id: str) -> list[str]:
    found = get(running, f"/documents?bulk_send_id={bulk_send_id}")["documents"]
    return sorted(document["parties"][0]["signers"][0]["email"] for document in found)


def begun(running: server.Server, name: str) -> str:
    """The id of the bulk send of this name, once it is there."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        for each in get(running, "/bulk-sends")["bulk_sends"]:
            if each["name"] == name and each["counts"]["sent"]:
                return str(each["id"])
        time.sleep(0.1)
    raise AssertionError("the bulk send was not made in time")


def started(data: Path, *words: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "deedbox", "bulk", *words, "--data", str(data)]
    return nursery.Process(
        command, env=server.environment(data), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_every_row_is_sent_once_however_often_the_command_is_run(
    running: server.Server, data: Path, template: str, people: Path
) -> None:
    done = server.run("bulk", template, str(people), *COLUMN, data=data)
    assert done.returncode == 0, done.stderr
    bulk_send_id, status, told = done.stdout.rstrip("\n").split("  ")
    assert (bulk_send_id[:4], status, told) == ("blk_", "completed", "3 of 3 sent, 0 failed")
    again = server.run("bulk", "Lease", str(people), *COLUMN, "--json", data=data)
    assert (again.returncode, json.loads(again.stdout)["id"]) == (0, bulk_send_id)
    assert sent(running, bulk_send_id) == ["ann@example.com", "ben@example.com", "cem@example.com"]


def test_a_dry_run_names_each_bad_row_and_sends_nothing(
    running: server.Server, data: Path, template: str, people: Path
) -> None:
    before = len(get(running, "/bulk-sends")["bulk_sends"])
    good = server.run("bulk", template, str(people), *COLUMN, "--dry-run", data=data)
    assert (good.returncode, good.stdout) == (0, "3 of 3 rows can be sent.\n")
    people.write_text(PEOPLE.replace("ben@example.com", "ben") + "Dan,\n")
    bad = server.run("bulk", template, str(people), *COLUMN, "--dry-run", data=data)
    assert (bad.returncode, bad.stdout) == (1, "2 of 4 rows can be sent.\n")
    assert [line.split(",")[0].strip() for line in bad.stderr.splitlines()] == ["line 3", "line 5"]
    refused = server.run("bulk", template, str(people), *COLUMN, data=data)
    assert (refused.returncode, "2 of 4 rows" in refused.stderr) == (1, True)
    assert len(get(running, "/bulk-sends")["bulk_sends"]) == before


def test_after_ctrl_c_the_same_command_follows_the_same_bulk_send(
    running: server.Server, data: Path, template: str, people: Path
) -> None:
    process = started(data, template, str(people), *COLUMN, "--rows-per-minute", "1")
    bulk_send_id = begun(running, people.stem)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=PATIENCE)
    assert (process.returncode, "The server goes on" in told) == (130, True)
    before = sent(running, bulk_send_id)
    again = server.run("bulk", template, str(people), *COLUMN, "--rows-per-minute", "1", "--no-wait", data=data)
    assert (again.returncode, again.stdout.split()[0]) == (0, bulk_send_id), again.stderr
    assert (get(running, f"/bulk-sends/{bulk_send_id}")["counts"]["total"], sent(running, bulk_send_id)) == (3, before)


@pytest.mark.parametrize(("move", "code", "told"), [("cancel", 3, "canceled"), ("pause", 4, "paused")])
def test_the_exit_code_says_that_not_all_were_sent(
    running: server.Server, data: Path, template: str, people: Path, move: str, code: int, told: str
) -> None:
    process = started(data, template, str(people), *COLUMN, "--rows-per-minute", "1")
    bulk_send_id = begun(running, people.stem)
    with running.client() as http:
        assert http.post(f"/api/v1/bulk-sends/{bulk_send_id}/{move}").status_code == 200
    output, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, output.split()[:2]) == (code, [bulk_send_id, told]), errors


def test_who_can_no_longer_ask_is_told_so_and_not_that_it_was_refused(
    running: server.Server, data: Path, template: str, people: Path
) -> None:
    process = started(data, template, str(people), *COLUMN, "--rows-per-minute", "1")
    begun(running, people.stem)
    with running.client() as http:
        own = [
            key
            for key in http.get("/api/v1/keys").json()["keys"]
            if key["name"] == "deedbox bulk" and key["status"] == "active"
        ]
        for key in own:
            assert http.delete(f"/api/v1/keys/{key['id']}").status_code == 204
    _, told = process.communicate(timeout=PATIENCE)
    assert (len(own), process.returncode, "The same command follows it" in told) == (1, 5, True), told


def test_a_terminal_shows_how_far_it_is(running: server.Server, data: Path, template: str, people: Path) -> None:
    controller, terminal = pty.openpty()
    command = [sys.executable, "-m", "deedbox", "bulk", template, str(people), *COLUMN, "--data", str(data)]
    done = subprocess.run(
        command,
        env=server.environment(data),
        stdout=subprocess.PIPE,
        stderr=terminal,
        timeout=PATIENCE,
        check=False,
    )
    os.close(terminal)
    assert (done.returncode, "100%" in os.read(controller, 65536).decode()) == (0, True)


def test_wrong_use_and_unknown_templates_are_told_apart(
    running: server.Server, data: Path, template: str, people: Path
) -> None:
    assert server.run("bulk", template, str(people), "--column", "E-mail", data=data).returncode == 2
    unknown = server.run("bulk", "Nothing", str(people), *COLUMN, data=data)
    assert (unknown.returncode, "0 templates are called 'Nothing'" in unknown.stderr) == (1, True)
    assert server.run("bulk", template, str(people), data=data).returncode == 1

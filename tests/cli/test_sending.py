"""Commands that send, through the server on the data folder, and through one elsewhere, without its packages."""

import asyncio
import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from deedbox.assistant import toolbox
from tests import server
from tests.api.search.files import pdf
from tests.faults.installation import ROOT
from tests.pdf.test_convert import docx, needs_office

ANN, BEN = "Ann <ann@example.com>", "Ben <ben@example.com>"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("send") / "data"


@pytest.fixture(scope="module")
def running(data: Path) -> Iterator[server.Server]:
    with server.running(data) as started:
        yield started


@pytest.fixture
def lease(tmp_path: Path) -> str:
    path = tmp_path / "lease.pdf"
    path.write_bytes(pdf("A lease.", size=(595, 842)))
    return str(path)


def elsewhere(running: server.Server, *words: str, key: str | None = None) -> subprocess.CompletedProcess[str]:
    """A command where only the client is installed, against the server at an address."""
    env = server.environment(
        DEEDBOX_URL=running.address, DEEDBOX_API_KEY=key or str(running.api_key), PYTHONPATH=str(ROOT)
    )
    command = [sys.executable, "-m", "tests.client.alone", "deedbox", *words]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=False, cwd=ROOT)


def test_a_file_is_sent_through_the_server_on_the_data_folder(running: server.Server, data: Path, lease: str) -> None:
    done = server.run("send", lease, "--to", ANN, "--to", BEN, "--order", "--message", "Please.", data=data)
    assert done.returncode == 0, done.stderr
    document_id, status = done.stdout.split()
    with running.client() as http:
        document = http.get(f"/api/v1/documents/{document_id}").json()
        keys = {key["name"]: key["status"] for key in http.get("/api/v1/keys").json()["keys"]}
    people = [(party["order"], party["signers"][0]["email"]) for party in document["parties"]]
    assert (status, document["title"], document["status"]) == ("sent", "lease", "sent")
    assert people == [(1, "ann@example.com"), (2, "ben@example.com")]
    assert document["message"] == {"subject": "", "body": "Please."}
    assert keys["deedbox send"] == "revoked"


def test_with_the_client_alone_it_goes_to_the_server_that_the_environment_names(
    running: server.Server, lease: str
) -> None:
    words = ("send", lease, "--to", ANN, "--title", "Flat 7", "--expires", "2099-01-31", "--draft", "--json")
    done = elsewhere(running, *words)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert (document["title"], document["status"]) == ("Flat 7", "draft")
    assert document["expires_at"] == "2099-01-31T00:00:00Z"


def test_a_command_of_the_server_says_what_is_missing_where_only_the_client_is(running: server.Server) -> None:
    done = elsewhere(running, "jobs", "list")
    assert (done.returncode, "pip install 'deedbox[server]'" in done.stderr) == (1, True)


def test_tools_for_an_assistant_on_the_data_folder_have_a_key_that_cannot_send_and_ends_with_them(
    running: server.Server, data: Path
) -> None:
    words = ["-m", "deedbox", "mcp", "--data", str(data)]
    command = StdioServerParameters(command=sys.executable, args=words, env=server.environment(data))

    async def offered() -> set[str]:
        async with Client(command) as assistant:
            return {tool.name for tool in (await assistant.list_tools()).tools}

    assert asyncio.run(offered()) == toolbox.TOOLS.keys() - {"send_draft"}
    with running.client() as http:
        keys = {key["name"]: key["status"] for key in http.get("/api/v1/keys").json()["keys"]}
    assert keys["deedbox mcp"] == "revoked"
    done = elsewhere(running, "mcp")
    assert (done.returncode, "pip install 'deedbox[mcp]'" in done.stderr) == (1, True)
    assert elsewhere(running, "mcp", "--allow-sending").returncode == 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_the_key_of_tools_for_an_assistant_ends_with_them_also_when_they_are_told_to(
    running: server.Server, data: Path, number: signal.Signals
) -> None:
    began = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": began}
    command, pipe = [sys.executable, "-m", "deedbox", "mcp", "--data", str(data)], subprocess.PIPE
    before = signal.signal(number, signal.SIG_DFL)  # under nohup, SIGHUP is ignored by the children too
    tools = subprocess.Popen(command, env=server.environment(data), stdin=pipe, stdout=pipe, text=True)
    signal.signal(number, before)
    with tools:
        assert tools.stdin is not None
        assert tools.stdout is not None
        tools.stdin.write(json.dumps(asked) + "\n")
        tools.stdin.flush()
        assert tools.stdout.readline()
        tools.send_signal(number)
        assert tools.wait(timeout=60) == -number
    with running.client() as http:
        keys = http.get("/api/v1/keys").json()["keys"]
    assert {key["status"] for key in keys if key["name"] == "deedbox mcp"} == {"revoked"}


def test_a_refusal_is_a_sentence_and_exit_code_1(
    running: server.Server, data: Path, lease: str, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(b"no PDF")
    done = server.run("send", str(broken), "--to", ANN, data=data)
    assert (done.returncode, done.stderr.startswith("deedbox: ")) == (1, True)
    done = elsewhere(running, "send", lease, "--to", ANN, key="deed_live_" + "0" * 32)
    assert (done.returncode, "key" in done.stderr.lower()) == (1, True)
    assert "No server runs" in server.run("send", lease, "--to", ANN, data=tmp_path / "nowhere").stderr


def test_wrong_use_is_exit_code_2(data: Path, lease: str) -> None:
    alone = (lease, "--to", ANN, "--subject", "Flat 7")
    nobody = ((lease,), (lease, "--to", "ann@example.com"), (lease, "--to", "Ann"))
    for words in (*nobody, ("nothing.pdf", "--to", ANN), alone):
        assert server.run("send", *words, data=data).returncode == 2, words


def test_a_template_is_made_and_listed(running: server.Server, data: Path, lease: str) -> None:
    done = server.run("template", "create", lease, "--name", "Flat", "--role", "Tenant", "--role", "Owner", data=data)
    assert done.returncode == 0, done.stderr
    template_id, status, roles = done.stdout.rstrip("\n").split("  ")
    assert (template_id[:4], status, roles) == ("tpl_", "ready", "Tenant, Owner")
    made = json.loads(elsewhere(running, "template", "create", lease, "--role", "Tenant", "--json").stdout)
    assert (made["name"], made["roles"][0]["name"]) == ("lease", "Tenant")
    listed = elsewhere(running, "template", "list").stdout
    assert f"{template_id}  version 1  ready" in listed
    found = json.loads(server.run("template", "list", "--json", data=data).stdout)["templates"]
    assert [each["id"] for each in found] == [made["id"], template_id]


def test_a_template_that_cannot_be_is_refused(data: Path, lease: str, running: server.Server) -> None:
    done = server.run("template", "create", lease, "--role", "Tenant", "--role", "Tenant", data=data)
    assert (done.returncode, "Tenant" in done.stderr) == (1, True)


@needs_office
def test_wait_ends_with_3_and_the_reason_when_conversion_fails(
    running: server.Server, data: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.docx"
    broken.write_bytes(docx("</w:t> is not closed"))
    done = server.run("send", str(broken), "--to", ANN, "--wait", data=data)
    document_id, status = done.stdout.split()
    assert (done.returncode, status) == (3, "failed")
    assert "broken.docx" in done.stderr
    with running.client() as http:
        [event] = [
            one
            for one in http.get("/api/v1/events", params={"limit": 100}).json()["events"]
            if one["type"] == "document.failed"
        ]
    assert (event["data"]["document_id"], "broken.docx" in event["data"]["reason"]) == (document_id, True)


@needs_office
def test_send_says_that_conversion_runs_or_waits_for_it(running: server.Server, data: Path, tmp_path: Path) -> None:
    good = tmp_path / "good.docx"
    good.write_bytes(docx("A lease."))
    at_once = server.run("send", str(good), "--to", ANN, data=data)
    assert (at_once.returncode, at_once.stdout.split()[1]) == (0, "processing")
    assert "deedbox send --wait" in at_once.stderr
    waited = server.run("send", str(good), "--to", ANN, "--wait", data=data)
    assert (waited.returncode, waited.stdout.split()[1]) == (0, "sent")


def test_send_says_where_the_mail_is(running: server.Server, data: Path, lease: str) -> None:
    done = server.run("send", lease, "--to", ANN, data=data)
    found = re.search(r"No mail server is set: the mail to ann@example\.com.*mail show (mail_\w+)", done.stderr)
    assert found, done.stderr
    assert f"{running.address}/s/deed_sign_" in server.run("mail", "show", found[1], data=data).stdout
    with running.client() as http:
        new = {"name": "sends", "scopes": ["documents:send"]}
        key = http.post("/api/v1/keys", json=new).json()["key"]
    silent = elsewhere(running, "send", lease, "--to", ANN, key=key)
    assert (silent.returncode, silent.stderr) == (0, ""), "a key that may not read mails"

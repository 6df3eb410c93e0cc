"""`deedbox hooks` beside a real server, and a real receiver in a process of its own."""

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from deedbox.kernel.clock import instant
from deedbox.kernel.crypto import Secret
from deedbox.webhooks import catalogue, signature
from deedbox.webhooks.hook import Scheme
from tests import nursery, server

ALLOW = {"DEEDBOX_EGRESS_ALLOW": "127.0.0.0/8"}
EVENT = "evt_01JD0000000000000000000000"
BODY = b'{"id":"evt_1","type":"document.sent","data":{"title":"\xc3\x9cberlassung"}}'


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[server.Server]:
    with server.running(tmp_path_factory.mktemp("hooks") / "data", env=ALLOW) as started:
        yield started


@pytest.fixture(scope="module")
def data(running: server.Server) -> Path:
    return running.log.with_suffix("")


def hooks(data: Path, *words: str) -> Any:
    """What the command prints as JSON."""
    done = server.run("hooks", *words, "--json", data=data, env=ALLOW)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def failure(data: Path, *words: str, code: int = 1, env: dict[str, str] | None = None) -> str:
    done = server.run("hooks", *words, data=data, env=ALLOW if env is None else env)
    assert (done.returncode, done.stdout) == (code, ""), done.stdout
    assert "Traceback" not in done.stderr
    return done.stderr


class Listener:
    """`deedbox hooks listen` in a process of its own."""

    def __init__(self, process: "subprocess.Popen[str]", address: str) -> None:
        self.process = process
        self.address = address

    def line(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def post(self, headers: dict[str, str] | None = None, body: bytes = BODY) -> int:
        return httpx.post(self.address, content=body, headers=headers, trust_env=False, timeout=30).status_code

    def end(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=60)


@contextmanager
def listening(data: Path, *words: str) -> Iterator[Listener]:
    command = [sys.executable, "-m", "deedbox", "hooks", "listen", "--json", "--port", "0", "--data", str(data), *words]
    process = nursery.Process(
        command, env=server.environment(data, **ALLOW), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    # Whoever waits for a line that does not come reads the end of the output instead.
    patience = threading.Timer(120, process.kill)
    patience.start()
    assert process.stdout is not None
    assert process.stderr is not None
    first = process.stdout.readline()
    if not first:
        raise AssertionError(process.stderr.read())
    try:
        yield Listener(process, json.loads(first)["address"])
    finally:
        patience.cancel()
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def secret_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("secret") / "secret"
    file.write_text(signature.new_secret().reveal() + "\n")
    return file


def signed(file: Path, scheme: Scheme, *, body: bytes = BODY, ago: float = 0) -> dict[str, str]:
    secrets = signature.HookSecrets(Secret(file.read_text().strip()))
    return signature.headers(secrets, scheme, EVENT, body, now=datetime.now(UTC) - timedelta(seconds=ago))


def delivered(running: server.Server, hook_id: str, number: int) -> list[Any]:
    """The deliveries to the hook, once so many have arrived."""
    with running.client() as http:
        for _ in range(600):
            found = http.get(f"/api/v1/hooks/{hook_id}/deliveries", params={"status": "delivered"}).json()["deliveries"]
            if len(found) >= number:
                return list(found)
            time.sleep(0.1)
    raise AssertionError("the deliveries did not arrive")


def test_a_hook_made_here_signs_the_body_alone_and_shows_its_secret_once(data: Path) -> None:
    words = ("create", "http://127.0.0.1:9/a", "--event", "document.sent", "--event", "document.voided")
    made = hooks(data, *words, "--description", "Orders")
    assert (made["managed_by"], made["signature_scheme"]) == ("dashboard", "body")
    assert (made["events"], made["description"]) == (["document.sent", "document.voided"], "Orders")
    assert made["secret"].startswith("whsec_")
    again = hooks(data, *words)
    assert (again["id"], "secret" in again) == (made["id"], False)
    assert made["secret"] not in json.dumps(hooks(data, "list"))


def test_without_event_every_kind_is_sent(data: Path) -> None:
    assert hooks(data, "create", "http://127.0.0.1:9/all")["events"] == list(catalogue.KINDS)


def test_the_list_shows_what_was_made_here_and_by_the_api_and_delete_ends_it(
    running: server.Server, data: Path
) -> None:
    mine = hooks(data, "create", "http://127.0.0.1:9/b", "--event", "document.sent")
    with running.client() as http:
        body = {"target_url": "http://127.0.0.1:9/c", "event": "document.sent"}
        theirs = http.post("/api/v1/hooks", json=body).json()
    schemes = {one["id"]: one["signature_scheme"] for one in hooks(data, "list")["hooks"]}
    assert (schemes[mine["id"]], schemes[theirs["id"]]) == ("body", "timestamped")
    text = server.run("hooks", "list", data=data).stdout
    assert mine["id"] in text
    assert "http://127.0.0.1:9/c" in text
    assert hooks(data, "delete", mine["id"]) == {"id": mine["id"], "status": "deleted"}
    assert mine["id"] not in {one["id"] for one in hooks(data, "list")["hooks"]}
    assert "Webhook does not exist" in failure(data, "delete", mine["id"])


def test_a_sentence_tells_a_person_the_same(data: Path) -> None:
    made = server.run("hooks", "create", "http://127.0.0.1:9/person", data=data, env=ALLOW)
    secret, _, sentence = made.stdout.partition("\n\n")
    assert (made.returncode, secret.startswith("whsec_"), "shown only now" in sentence) == (0, True, True)
    again = server.run("hooks", "create", "http://127.0.0.1:9/person", data=data, env=ALLOW)
    assert "already" in again.stdout
    hook_id = again.stdout.split()[0]
    assert f"{hook_id} is deleted." in server.run("hooks", "delete", hook_id, data=data).stdout


def test_what_cannot_be_is_refused_in_a_sentence(data: Path, tmp_path: Path) -> None:
    assert "not public" in failure(data, "create", "http://10.0.0.1/")
    assert "not public" in failure(data, "create", "http://127.0.0.1/", env={})
    assert "http:// or https://" in failure(data, "create", "ftp://example.com/")
    assert "user name or password" in failure(data, "create", "https://a:b@example.com/")
    assert "document.opened" in failure(data, "create", "http://127.0.0.1/", "--event", "document.opened", code=2)
    assert "DESCRIPTION" in failure(data, "create", "http://127.0.0.1/", "--description", "x" * 501, code=2).upper()
    assert "Delivery does not exist" in failure(data, "replay", "dlv_01JD0000000000000000000000")
    assert "Webhook does not exist" in failure(data, "listen", "--hook", "hook_x", "--port", "0")
    assert "Give either" in failure(data, "replay", code=2)
    assert "Give either" in failure(data, "replay", "--hook", "hook_x", code=2)
    assert "Give either" in failure(data, "replay", "dlv_x", "--hook", "hook_x", code=2)
    assert "no installation" in failure(tmp_path / "nowhere", "list")
    empty = tmp_path / "empty"
    empty.write_text("nothing")
    assert "whsec_" in failure(data, "listen", "--secret-file", str(empty), code=2)


def test_a_delivery_is_received_checked_and_replayed(running: server.Server, data: Path, tmp_path: Path) -> None:
    """The whole way: a hook made by the command, an event of the server, the command's own receiver."""
    with listening(data) as probe:
        address = probe.address
    port = address.rsplit(":", 1)[1]
    made = hooks(data, "create", f"{address}/hook", "--event", "document.sent")
    with listening(data, "--port", port, "--hook", made["id"]) as listener, running.client() as http:
        assert http.post(f"/api/v1/hooks/{made['id']}/test").status_code == 202
        shown = listener.line()
        assert (shown["type"], shown["status"], shown["attempt"]) == ("document.sent", 200, "1")
        assert shown["verdict"] == {"valid": True, "scheme": "body", "reason": "The signature fits."}
        assert json.loads(shown["body"])["data"]["test"] is True
        [delivery] = delivered(running, made["id"], 1)
        again = hooks(data, "replay", delivery["id"])
        assert (again["event_id"], again["id"] != delivery["id"]) == (shown["event_id"], True)
        second = listener.line()
        assert (second["body"], second["event_id"]) == (shown["body"], shown["event_id"])
        assert second["delivery"] == again["id"]
        delivered(running, made["id"], 2)
    since = instant(datetime.now(UTC) - timedelta(hours=1))
    assert hooks(data, "replay", "--hook", made["id"], "--since", since) == {"planned": 0}
    done = server.run("hooks", "replay", "--hook", made["id"], "--since", since, data=data)
    assert done.stdout == "0 deliveries are on their way.\n"


def test_the_receiver_accepts_both_schemes_and_refuses_forgeries(data: Path, secret_file: Path) -> None:
    with listening(data, "--secret-file", str(secret_file)) as listener:
        assert listener.post(signed(secret_file, "body")) == 200
        assert listener.line()["verdict"]["scheme"] == "body"
        assert listener.post(signed(secret_file, "timestamped")) == 200
        assert listener.line()["verdict"]["scheme"] == "timestamped"
        assert listener.post(signed(secret_file, "body"), BODY + b" ") == 401
        assert listener.line()["verdict"]["valid"] is False
        assert listener.post(signed(secret_file, "timestamped", ago=400)) == 401
        assert "more than 300 seconds" in listener.line()["verdict"]["reason"]
        assert listener.post() == 401
        assert "no X-Service-Signature" in listener.line()["verdict"]["reason"]


def test_the_receiver_answers_with_the_status_that_was_chosen_and_ends_with_ctrl_c(data: Path) -> None:
    with listening(data, "--status", "503") as listener:
        assert listener.post() == 503
        assert listener.line()["verdict"] is None
        assert listener.end() == 0


def test_the_receiver_ends_after_the_number_of_deliveries_that_was_asked_for(data: Path) -> None:
    with listening(data, "--count", "2") as listener:
        assert [listener.post(), listener.post()] == [200, 200]
        assert listener.process.wait(timeout=60) == 0


def test_the_receiver_is_bounded_and_takes_nothing_but_post(data: Path) -> None:
    with listening(data) as listener:
        assert listener.post(body=b"x" * (2**20 + 1)) == 413
        assert httpx.get(listener.address, trust_env=False).status_code == 405
        assert listener.post({"X-Service-Event": "x" * 300}, b"\xff\x1b[2J") == 200
        shown = listener.line()
        assert (shown["type"], shown["body"].startswith("\ufffd")) == (None, True)


def test_a_person_sees_each_delivery_without_what_could_move_the_cursor(data: Path) -> None:
    command = [sys.executable, "-m", "deedbox", "hooks", "listen", "--port", "0", "--count", "3", "--data", str(data)]
    with subprocess.Popen(command, env=server.environment(data), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        patience = threading.Timer(120, process.kill)
        patience.start()
        address = process.stdout.readline().split()[3].rstrip(".")
        httpx.post(address, content=BODY, headers={"X-Service-Event": "document.sent"}, trust_env=False)
        httpx.post(address, content=b"no JSON \x1b[2J\x07", trust_env=False)
        httpx.post(address, content=b"[" * 50_000, trust_env=False)
        text = process.stdout.read()
        patience.cancel()
    assert "not checked" in text
    assert "document.sent" in text
    assert '"title": "Überlassung"' in text
    assert "no JSON" in text
    assert "[" * 50_000 in text
    assert not {"\x1b", "\x07"} & set(text)


def test_a_port_in_use_is_said_in_a_sentence(data: Path) -> None:
    with listening(data) as listener:
        port = listener.address.rsplit(":", 1)[1]
        assert f"Port {port} on 127.0.0.1 is in use." in failure(data, "listen", "--port", port)

"""The receivers of docs/how-to/webhooks.md: each is run, and must accept ours and refuse every forgery."""

import hashlib
import hmac
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, NamedTuple, TypeAlias, get_args

import httpx
import pytest

from deedbox.kernel.clock import instant
from deedbox.kernel.crypto import Secret
from deedbox.webhooks import signature
from deedbox.webhooks.hook import Scheme
from tests.docs.commands import ROOT
from tests.docs.test_commands import free_port
from tests.server import environment

RECEIVERS = ROOT / "docs" / "how-to" / "receivers"
SECRET = signature.new_secret()
EVENT = "evt_01JD0000000000000000000000"
BODY = json.dumps(
    {"id": EVENT, "type": "document.signed", "data": {"title": "Überlassung 🖋️.pdf", "quote": '"\\'}},
    ensure_ascii=False,
).encode()

Headers: TypeAlias = Mapping[str, str]
Post: TypeAlias = Callable[[bytes, Headers], int]
"""Sends a body with these headers; the status of the answer."""


class Case(NamedTuple):
    name: str
    status: int
    body: bytes
    headers: Headers


def ours(scheme: Scheme, *, ago: float = 0, body: bytes = BODY, secret: Secret = SECRET) -> dict[str, str]:
    """The headers of the product."""
    now = datetime.now(UTC) - timedelta(seconds=ago)
    return signature.headers(signature.HookSecrets(secret), scheme, EVENT, body, now=now)


def rotating(before: Secret, after: Secret, scheme: Scheme, *, at_once: bool) -> dict[str, str]:
    """The headers of the product while one secret takes the place of another."""
    now = datetime.now(UTC)
    secrets = signature.HookSecrets(before).rotated(after, now, at_once=at_once)
    return signature.headers(secrets, scheme, EVENT, BODY, now=now)


def handmade(signed: bytes, timestamp: str | None = None) -> dict[str, str]:
    """The signature of these bytes, with this timestamp beside it."""
    digest = hmac.new(SECRET.reveal().encode(), signed, hashlib.sha256).hexdigest()
    headers = {"X-Service-Signature": f"sha256={digest}"}
    return headers if timestamp is None else headers | {"X-Service-Timestamp": timestamp}


def cases() -> list[Case]:
    """Made anew for each receiver, because they hold the time."""
    body, stamped = ours("body"), ours("timestamped")
    now, value = instant(datetime.now(UTC)), body["X-Service-Signature"]
    whole = f"{stamped['X-Service-Timestamp']}.".encode() + BODY
    other = signature.new_secret()
    forged = {
        "no header": "",
        "too short": value[:-1],
        "too long": value + "0",
        "upper case": "sha256=" + value.removeprefix("sha256=").upper(),
        "no prefix": value.removeprefix("sha256="),
        "prefix alone": "sha256=",
        "another digest": "sha256=" + "0" * 64,
    }
    return [
        Case("ours", 204, BODY, body),
        Case("ours, timestamped", 204, BODY, stamped),
        Case("ours, some time on the way", 204, BODY, ours("timestamped", ago=200)),
        Case("the receiver's clock is behind", 204, BODY, ours("timestamped", ago=-200)),
        *(Case(name, 401, BODY, {"X-Service-Signature": text} if text else {}) for name, text in forged.items()),
        *(
            Case(f"a rotation, {scheme}, {name}", status, BODY, rotating(before, after, scheme, at_once=at_once))
            for scheme in get_args(Scheme)
            for name, status, before, after, at_once in (
                ("ours comes", 204, other, SECRET, False),
                ("ours goes", 204, SECRET, other, True),
                ("of others", 401, other, signature.new_secret(), True),
            )
        ),
        Case("a digest that is to come", 401, BODY, {"X-Service-Signature-Next": forged["another digest"]}),
        Case("a digest of before", 401, BODY, {"X-Service-Signature-Previous": forged["too short"]}),
        Case("another secret", 401, BODY, ours("body", secret=other)),
        Case("another secret, timestamped", 401, BODY, ours("timestamped", secret=other)),
        Case("a changed body", 401, BODY.replace(b"signed", b"Signed"), body),
        Case("a line end more", 401, BODY + b"\n", body),
        Case("what it parses to", 401, json.dumps(json.loads(BODY)).encode(), stamped),
        Case("sent again later", 401, BODY, ours("timestamped", ago=400)),
        Case("from the future", 401, BODY, ours("timestamped", ago=-400)),
        Case("a new time", 401, BODY, {**ours("timestamped", ago=400), "X-Service-Timestamp": now}),
        Case("without its time", 401, BODY, {"X-Service-Signature": stamped["X-Service-Signature"]}),
        Case("with a time", 401, BODY, {**body, "X-Service-Timestamp": now}),
        Case("a time in another spelling", 401, BODY, handmade(f"{now[:-1]}.5Z.".encode() + BODY, f"{now[:-1]}.5Z")),
        Case("no time", 401, BODY, handmade(b"never." + BODY, "never")),
        Case("an impossible time", 401, BODY, handmade(b"2026-13-41T25:61:61Z." + BODY, "2026-13-41T25:61:61Z")),
        Case("a body that is cut at a dot", 401, *_cut()),
        Case("the time moved into the body", 400, whole, {"X-Service-Signature": stamped["X-Service-Signature"]}),
    ]


def _cut() -> tuple[bytes, dict[str, str]]:
    """A delivery of the body alone, whose beginning is given out as the timestamp."""
    start, _, rest = BODY.decode().partition(".")
    return rest.encode(), {**ours("body"), "X-Service-Timestamp": start}


@contextmanager
def started(command: list[str], env: dict[str, str], stderr: int | IO[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """A receiver; in a process group of its own, because `go run` starts another process."""
    env = env | {"HOME": os.environ.get("HOME", "/tmp")}
    process = subprocess.Popen(command, env=env, cwd=RECEIVERS, start_new_session=True, stderr=stderr)
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextmanager
def server(command: list[str], port: int) -> Iterator[Post]:
    """A receiver that listens."""
    env = environment(WEBHOOK_SECRET=SECRET.reveal())
    with (
        started(command, env, subprocess.DEVNULL) as process,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=30) as http,
    ):

        def post(body: bytes, headers: Headers) -> int:
            return http.post("/", content=body, headers={"Content-Type": "application/json", **headers}).status_code

        assert _first_answer(http, process, b"{}", {}) is not None, "the receiver ended"
        yield post


def _first_answer(http: httpx.Client, process: subprocess.Popen[bytes], body: bytes, headers: Headers) -> int | None:
    """The status that the receiver answers with, once it listens; None if it ends instead."""
    while process.poll() is None:
        try:
            return http.post("/", content=body, headers=headers).status_code
        except httpx.TransportError:
            time.sleep(0.05)
    return None


@contextmanager
def cgi(program: Path) -> Iterator[Post]:
    def post(body: bytes, headers: Headers) -> int:
        given = {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in headers.items()}
        env = environment(WEBHOOK_SECRET=SECRET.reveal(), **given)
        done = subprocess.run([program], input=body, env=env, capture_output=True, check=True, timeout=60)
        return int(done.stdout.split()[1])

    yield post


COMMANDS = {
    "receiver.py": [sys.executable, "receiver.py", "{port}"],
    "receiver.mjs": ["node", "receiver.mjs", "{port}"],
    "receiver.go": ["go", "run", "receiver.go", "{port}"],
    "receiver.php": ["php", "-S", "127.0.0.1:{port}", "receiver.php"],
    "receiver.rb": ["ruby", "receiver.rb", "{port}"],
    "receiver.sh": [],
}
"""How each is run; the one in shell is run by a web server for each request."""


@contextmanager
def running(name: str) -> Iterator[Post]:
    if name == "receiver.sh":
        with cgi(RECEIVERS / name) as post:
            yield post
        return
    port = free_port()
    with server(_command(name, port), port) as post:
        yield post


def _command(name: str, port: int) -> list[str]:
    """What starts the receiver; where its language is not installed the test is skipped."""
    command = [word.format(port=port) for word in COMMANDS[name]]
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    if name == "receiver.rb" and subprocess.run(["ruby", "-rwebrick", "-e", "1"], check=False).returncode:
        pytest.skip("webrick is not installed")
    return command


@pytest.mark.parametrize("name", COMMANDS)
def test_a_receiver_accepts_ours_and_refuses_every_forgery(name: str) -> None:
    with running(name) as post:
        wrong = {
            case.name: (case.status, got) for case in cases() if (got := post(case.body, case.headers)) != case.status
        }
    assert wrong == {}


@pytest.mark.parametrize("secret", [{}, {"WEBHOOK_SECRET": ""}], ids=["unset", "empty"])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_receiver_without_its_secret_takes_nothing_and_says_why(
    name: str, secret: dict[str, str], tmp_path: Path
) -> None:
    """Else anybody could sign: with the empty key."""
    env = {one: value for one, value in environment().items() if one != "WEBHOOK_SECRET"} | secret
    headers = ours("body", secret=Secret(""))
    with open(tmp_path / "said", "w+b") as said:
        if name == "receiver.sh":
            given = {"HTTP_X_SERVICE_SIGNATURE": headers["X-Service-Signature"]}
            program = [RECEIVERS / name]
            done = subprocess.run(program, input=BODY, env=env | given, stdout=subprocess.PIPE, stderr=said, check=True)
            status: int | None = int(done.stdout.split()[1])
        else:
            port = free_port()
            address = f"http://127.0.0.1:{port}"
            with (
                started(_command(name, port), env, said) as process,
                httpx.Client(base_url=address, trust_env=False, timeout=30) as http,
            ):
                status = _first_answer(http, process, BODY, headers)
                assert status or process.returncode > 0
        said.seek(0)
        assert (status in (None, 500), b"WEBHOOK_SECRET is not set" in said.read()) == (True, True)


def test_the_page_shows_every_receiver_and_every_receiver_is_run() -> None:
    page = (ROOT / "docs" / "how-to" / "webhooks.md").read_text(encoding="utf-8")
    found = {path.name for path in RECEIVERS.iterdir()}
    assert found == set(COMMANDS)
    assert [name for name in found if f"(receivers/{name})" not in page] == []


def test_the_page_names_the_variable_with_the_secret_that_every_receiver_reads() -> None:
    page = (ROOT / "docs" / "how-to" / "webhooks.md").read_text(encoding="utf-8")
    read = {path.name: set(re.findall(r"\b[A-Z_]*SECRET\b", path.read_text())) for path in RECEIVERS.iterdir()}
    assert [name for name, variables in read.items() if "WEBHOOK_SECRET" not in variables] == []
    assert "`WEBHOOK_SECRET`" in page


def test_a_receiver_that_forgets_the_time_is_noticed() -> None:
    """The check itself: an answer of 204 to everything must not pass."""
    assert {case.status for case in cases()} == {204, 400, 401}
    assert len({case.name for case in cases()}) == len(cases())

"""R14: secrets are nowhere in clear. After a full run, everything that the server leaves behind is searched."""

import asyncio
import base64
import email
import email.policy
import json
import re
import secrets
import socket
import tarfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, LiteralString, TypeAlias
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest

from deedbox.kernel.tokens import TokenPrefix
from deedbox.web import app
from deedbox.web.http import auth
from tests import server
from tests.api.search.files import pdf
from tests.faults import FULL, only_in_full
from tests.faults.faulty_server import VARIABLE
from tests.mail.mailserver import Mailroom, mailroom
from tests.otlp import collecting
from tests.postgres import Cluster

KEYS = 40 if FULL else 4
PATHS = sorted(
    {path for path, _ in auth.list_routes(app.put_together(app.ROUTES)) if ("{" if FULL else "{token}") in path}
    | {"/api/v1/keys/{key_id}"}
)
"""Where a secret is put into the address."""
ROOT = Path(__file__).parents[2]
PREFIXES = tuple(str(prefix) for prefix in TokenPrefix)
ZEROS = bytes(8192)
EMAIL = "owner@example.com"
MISPLACED = (
    "first key",
    "key 1",
    "login token",
    "session token",
    "password",
    "passkey request",
    "known device",
    "invitation",
    "reset link",
    "mailed signing link",
    "embedded signing link",
    "signer session",
    "hook secret",
)
_TOKEN = re.compile(f"(?:{'|'.join(PREFIXES)})[A-Za-z0-9_-]+")

Place: TypeAlias = tuple[str, bytes]
Hit: TypeAlias = tuple[str, str]
"""Which secret, and where."""


class Run:
    """One life of an installation: every secret it gave out or was given, and what was left behind."""

    def __init__(self, data: Path, env: Mapping[str, str] | None = None, bug: str | None = None) -> None:
        self.data = data
        self.issued: dict[str, str] = {}
        self.errors: dict[str, bytes] = {}
        """What commands wrote to stderr."""
        self.reports: dict[str, bytes] = {}
        """What the server reported at /metrics and to a collector of traces."""
        self.ecosystem_key = secrets.token_hex(16)
        self.issued["the archive's key"] = self.ecosystem_key
        self._module = "tests.faults.faulty_server" if bug else "deedbox"
        self.env = {
            "PYTHONPATH": str(ROOT),
            "DEEDBOX_ANONYMOUS_PER_MINUTE": "100000",
            "DEEDBOX_LOG_LEVEL": "debug",
            "SERVICE_ECOSYSTEM_KEY": self.ecosystem_key,
            **({VARIABLE: bug} if bug else {}),
            **(env or {}),
        }

    @property
    def log(self) -> Path:
        return self.data.parent / f"{self.data.name}.log"

    @property
    def archive(self) -> Path:
        return self.data.parent / "backup.tar.gz"

    def start(self) -> server.Server:
        running = server.start(self.data, module=self._module, env=self.env)
        for what, plain in (("first key", running.api_key), ("login token", running.login_link)):
            if plain:
                self.issued[what] = plain.rpartition("/")[2]
        return running

    def command(self, *words: str) -> str:
        done = server.run(*words, data=self.data, env=self.env)
        self.errors[" ".join(words[:2])] = done.stderr.encode()
        return done.stdout

    def places(self) -> Iterator[Place]:
        """Everything that was left behind, by name; the backup unpacked."""
        for path in self.data.rglob("*"):
            if path.is_file():
                yield f"data/{path.relative_to(self.data)}", path.read_bytes()
        yield "log", self.log.read_bytes()
        yield from self.errors.items()
        yield from self.reports.items()
        if self.archive.exists():
            with tarfile.open(self.archive) as packed:
                for member in packed.getmembers():
                    content = packed.extractfile(member)
                    yield f"backup/{member.name}", content.read() if content else b""


def live(run: Run) -> list[Hit]:
    """What was found after a life in which a person signed in, made and used keys, made every mistake, and a backup;
    once when the server had been killed, with its WAL, and once when it had come back and stopped."""
    with mail_server() as mail, collecting() as traces:
        run.env |= {
            "DEEDBOX_SMTP_URL": f"smtp://127.0.0.1:{mail.port}",
            "DEEDBOX_SMTP_PLAIN": "true",
            "DEEDBOX_MAIL_FROM": "sign@example.com",
            "DEEDBOX_TRACES_URL": traces.url,
        }
        running = run.start()
        try:
            use_everything(run, running, mail)
            traces.until(lambda one: bool(one.named("GET /join/{token}")))
        finally:
            end(running)
        run.reports["traces"] = b"".join(one.SerializeToString() for one in traces.requests)
        found = hits(run.issued, run.places())
        running = run.start()
        with running.client(run.issued["key 0"]) as http:
            assert http.get("/health").status_code == 200
        assert running.stop() == 0
        end(running)
    return found + hits(run.issued, run.places())


def use_everything(run: Run, running: server.Server, mail: Mailroom) -> None:
    sign_in(run, running)
    use_keys(run, running)
    use_hooks(run, running)
    key = run.issued["working key"]
    run.issued["CLI key"] = json.loads(run.command("keys", "create", "--name", "by hand", "--json"))["key"]
    run.issued["CLI link"] = json.loads(run.command("login-link", "--json"))["login_link"].rpartition("/")[2]
    run.issued["access code"] = f"Ac-{secrets.token_hex(16)}"
    run.issued["mistyped access code"] = f"Ac-{secrets.token_hex(16)}"
    archive_one(run, running)
    run.issued["mailed signing link"] = mailed(mail, TokenPrefix.SIGNING_LINK)
    invite(run, running, mail)
    assert {kind for kind in TokenPrefix for what in MISPLACED if run.issued[what].startswith(kind)} == set(TokenPrefix)
    for what in MISPLACED:
        misplace(running, key, run.issued[what])
    run.command("archive", "verify")
    run.command("keys", "list")
    run.command("backup", str(run.archive))
    with running.client() as http:
        run.reports["metrics"] = http.get("/metrics").content


@contextmanager
def mail_server() -> Iterator[Mailroom]:
    """A mail server that runs beside the test and takes every mail."""
    loop, opened = asyncio.new_event_loop(), mailroom()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield asyncio.run_coroutine_threadsafe(opened.__aenter__(), loop).result()
    finally:
        asyncio.run_coroutine_threadsafe(opened.__aexit__(None, None, None), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def mailed(mail: Mailroom, kind: TokenPrefix) -> str:
    """The token of this kind in the mails that came."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        for envelope in mail.taken:
            assert isinstance(envelope.content, bytes)
            body = email.message_from_bytes(envelope.content, policy=email.policy.default).get_body(("plain",))
            assert body is not None
            for token in _TOKEN.findall(body.get_content()):
                if token.startswith(kind):
                    return str(token)
        time.sleep(0.05)
    raise AssertionError(f"no mail has a token that begins with {kind}")


def invite(run: Run, running: server.Server, mail: Mailroom) -> None:
    """Somebody is invited, the owner asks for another password, and a browser for a passkey."""
    with running.client(run.issued["working key"]) as http:
        invited = http.post("/api/v1/members", json={"role": "viewer"}).json()["link"]
        run.issued["invitation"] = invited.rpartition("/")[2]
    with httpx.Client(base_url=running.address, trust_env=False, timeout=30) as browser:
        assert browser.post("/login/forgot", data={"email": EMAIL}).status_code == 200
        run.issued["reset link"] = mailed(mail, TokenPrefix.RESET_LINK)
        assert browser.post("/login/passkey/options").status_code == 200
        run.issued["passkey request"] = browser.cookies["deedbox_passkey"]
        for path in ("/join/", "/login/reset/"):
            for what in ("invitation", "reset link"):
                browser.get(path + run.issued[what])
        assert browser.get(f"/join/{run.issued['invitation']}").status_code == 200
        assert browser.get(f"/login/reset/{run.issued['reset link']}").status_code == 200


def end(running: server.Server) -> None:
    running.kill()
    assert running.process.stdout is not None
    running.process.stdout.close()


def sign_in(run: Run, running: server.Server) -> None:
    password, wrong, new = [f"Pw-{secrets.token_hex(16)}" for _ in range(3)]
    run.issued |= {"password": password, "mistyped password": wrong, "new password": new}
    with httpx.Client(base_url=running.address, trust_env=False, timeout=30) as browser:
        opened = browser.post(urlsplit(str(running.login_link)).path)
        assert opened.status_code == 303
        run.issued["session token"] = opened.cookies["deedbox"]
        browser.post("/account", data={"name": "O", "email": "no address", "password": password})
        saved = browser.post("/account", data={"name": "O", "email": EMAIL, "password": password})
        assert saved.headers["location"] == "/app/welcome"
        assert browser.post("/login", data={"email": EMAIL, "password": wrong}).status_code == 401
        again = browser.post("/login", data={"email": EMAIL, "password": password})
        run.issued["second session token"] = again.cookies["deedbox"]
        run.issued["known device"] = again.cookies["deedbox_device"]
        change = {"name": "O", "email": EMAIL, "password": new}
        assert browser.post("/account", data={**change, "current_password": wrong}).status_code == 403
        assert browser.post("/account", data={**change, "current_password": password}).status_code == 303
        browser.post("/logout")


def use_keys(run: Run, running: server.Server) -> None:
    unhindered = ("--scope", "*", "--per-minute", "100000", "--per-day", "100000", "--json")
    run.issued["working key"] = json.loads(run.command("keys", "create", "--name", "working key", *unhindered))["key"]
    with running.client() as http:
        for number in range(KEYS):
            headers = {"Idempotency-Key": f"make-{number}"} if number % 2 else {}
            made = http.post("/api/v1/keys", json={"name": f"key {number}"}, headers=headers).json()
            run.issued[f"key {number}"] = made["key"]
            if headers:
                again = http.post("/api/v1/keys", json={"name": f"key {number}"}, headers=headers).json()
                assert again == {**made, "key": None}
        assert http.delete(f"/api/v1/keys/{made['id']}").status_code == 204
    with running.client(made["key"]) as revoked:
        assert revoked.get("/health").status_code == 401


def use_hooks(run: Run, running: server.Server) -> None:
    """Webhooks are made in both ways, rotated and sent to, with an answer that is kept for a retry."""
    body, again = {"target_url": "https://hooks.example.com/", "event": "document.sent"}, {"Idempotency-Key": "hook"}
    with running.client(run.issued["working key"]) as http:
        made = http.post("/api/v1/hooks", json=body, headers=again).json()
        assert http.post("/api/v1/hooks", json=body, headers=again).json() == {**made, "secret": None}
        path = f"/api/v1/hooks/{made['id']}"
        rotated = http.post(f"{path}/rotate", headers={"Idempotency-Key": "rotate"}).json()
        delivery = http.post(f"{path}/test").json()["id"]
        assert http.get(f"/api/v1/deliveries/{delivery}").status_code == 200
    by_hand = json.loads(run.command("hooks", "create", "https://hooks.example.com/", "--json"))
    run.issued |= {
        "hook secret": made["secret"],
        "rotated hook secret": rotated["secret"],
        "CLI hook secret": by_hand["secret"],
    }


def archive_one(run: Run, running: server.Server) -> None:
    """A document is signed by one who has its access code, and so is pushed to the archive with its key."""
    key, code, wrong_code = (run.issued[what] for what in ("working key", "access code", "mistyped access code"))
    file = {"name": "lease.pdf", "content_base64": base64.b64encode(pdf("The rent.", size=(595, 842))).decode()}
    ann = {"name": "Ann", "email": "ann@example.com", "auth": "access_code", "access_code": code}
    wish = {"title": "Lease", "file": file, "signers": [ann], "send": True}
    with running.client(key) as http:
        made = http.post("/api/v1/documents", json=wish, headers={"Idempotency-Key": "lease"}).json()
        path, signer = f"/api/v1/documents/{made['id']}", made["parties"][0]["signers"][0]["id"]
        link = urlsplit(http.post(f"{path}/signers/{signer}/link").json()["url"]).path
        with httpx.Client(base_url=running.address, trust_env=False, timeout=30) as browser:
            own = browser.get(link).headers["location"]
            run.issued["embedded signing link"] = link.rpartition("/")[2]
            run.issued["signer session"] = next(iter(browser.cookies.values()))
            assert browser.post(f"{own}/code", json={"code": wrong_code}).status_code == 403
            assert browser.post(f"{own}/code", json={"code": code}).status_code == 200
            assert browser.get(f"{own}/session").status_code == 200
            signature = {"kind": "typed", "text": "Ann"}
            assert browser.post(f"{own}/complete", json={"consent": True, "signature": signature}).status_code == 200
        end = time.monotonic() + 120
        while (found := http.get(path).json())["archive"]["status"] != "archived":
            assert time.monotonic() < end, found["archive"]
            time.sleep(0.1)


def misplace(running: server.Server, key: str, secret: str) -> None:
    """Sends a secret in every place where it does not belong."""
    token = base64.b64encode(f"{secret}:".encode()).decode()
    with running.client(key) as http:
        for path in ("/health?api_key=", "/api/v1/keys?limit=", "/api/v1/keys?cursor=", "/account?password="):
            http.get(path + secret)
        if secret.startswith(PREFIXES):  # a password as a path or as an id is like any other, and is logged
            http.get("/health", headers={"X-Request-Id": secret})
            http.get("/nowhere", headers={"X-Request-Id": secret})
            for path in ("/", "/api/v1/", "/static/"):
                http.get(path + secret)
                http.get(path + secret.replace("_", "%255F"))
            for path in PATHS:
                http.get(re.sub(r"\{.*?\}", secret, path))
                http.delete(re.sub(r"\{.*?\}", secret, path))
                # Without the whole prefix, only the route knows what it is.
                if "{token}" in path and secret.startswith("deed_"):
                    http.get(re.sub(r"\{.*?\}", secret[6:], path))
        for value in (secret, f"bearer {secret}", f"Bearer  {secret}", f"Bearer {secret} {secret}", f"Token {secret}"):
            http.get("/health", headers={"Authorization": value})
        http.get("/health", headers={"Authorization": f"Basic {token}"})
        for name in ("User-Agent", "Referer", "Cookie", "X-Forwarded-For", "Content-Type", "X-Api-Key"):
            http.get("/health", headers={name: secret})
            http.get("/nowhere", headers={name: secret})
        for body in (
            {"name": secret * 9},
            {"name": "x", "scopes": [secret]},
            {"name": "x", secret: 1},
            secret,
            [secret],
        ):
            assert http.post("/api/v1/keys", json=body).status_code == 400
        http.post("/api/v1/keys", content=f'{{"name": "{secret}', headers={"Content-Type": "application/json"})
        http.post("/api/v1/keys", data={"name": secret})
        http.post("/login", data={"email": EMAIL, "password": secret})
    for line in (f"GET /{secret}", f"GET / HTTP/1.1\r\nHost: x\r\n{secret}", f"{secret} / HTTP/1.1\r\nHost: x"):
        if secret.startswith(PREFIXES):
            send(running.address, line)


def send(address: str, text: str) -> None:
    """Bytes that are no HTTP, straight into the socket."""
    parts = urlsplit(address)
    with socket.create_connection((str(parts.hostname), int(parts.port or 0)), timeout=10) as connection:
        connection.sendall(f"{text}\r\n\r\n".encode())
        connection.recv(4096)


def forms(secret: str) -> set[bytes]:
    """The bytes that would give the secret away: either half of it, in clear, hex or base64."""
    body = secret
    for prefix in PREFIXES:
        body = body.removeprefix(prefix)
    half = len(body) // 2
    found: set[bytes] = set()
    for part in (body[:half].encode(), body[half:].encode()):
        found |= encodings(part)
    if len(body) == 32 and set(body) <= set("0123456789abcdef"):
        found |= encodings(bytes.fromhex(body))
    return found


def encodings(part: bytes) -> set[bytes]:
    found = {part, part.hex().encode(), part.hex().upper().encode()}
    for shift in range(3):
        # Whatever stands before it, the middle of its base64 is one of three texts.
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            found.add(encode(bytes(shift) + part)[4 * (shift > 0) : 4 * ((shift + len(part)) // 3)])
    return found


def hits(issued: Mapping[str, str], places: Iterable[Place]) -> list[Hit]:
    needles = [(what, form) for what, secret in issued.items() for form in forms(secret)]
    return [(what, place) for place, content in places for what, form in needles if form in content]


def master_key_places(run: Run) -> set[str]:
    """Where the master key lies, in any form."""
    ring = json.loads((run.data / "master.key").read_text())
    keys = [base64.b64decode(entry["key"]) for entry in ring["keys"]]
    return {place for place, content in run.places() for key in keys for form in encodings(key) if form in content}


def summary(run: Run, found: list[Hit], database: str) -> str:
    places = list(run.places())
    size = sum(len(content) for _, content in places)
    return f"R14 secrets on {database}: {len(run.issued)} secrets, {len(places)} files, {size} bytes, {len(found)} hits"


def test_no_secret_lies_in_the_database_its_log_or_a_backup(tmp_path: Path) -> None:
    run = Run(tmp_path / "data")
    found = live(run)
    print(summary(run, found, "SQLite"))
    assert found == []
    assert master_key_places(run) == {"data/master.key", "backup/master.key"}


@only_in_full
def test_no_secret_lies_in_postgresql_its_files_its_log_or_a_backup(
    tmp_path: Path, cluster: Cluster, postgres_url: str
) -> None:
    password = secrets.token_hex(16)
    run = Run(tmp_path / "data", {"DEEDBOX_DATABASE_URL": postgres_url.replace("postgres@", f"postgres:{password}@")})
    run.issued["database password"] = password
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        first = one(connection, "select pg_walfile_name(pg_current_wal_lsn())")
        found = live(run)
        places = list(tables(connection))
        connection.execute("checkpoint")
        number = one(connection, "select oid from pg_database where datname = current_database()")
        folder = cluster.folder / "data"
        log = (path for path in (folder / "pg_wal").iterdir() if path.name >= first)
        files = [*(folder / "base" / number).iterdir(), *log]
        places += [(path.name, path.read_bytes().replace(ZEROS, b"")) for path in files if path.is_file()]
    found += hits(run.issued, [*places, ("PostgreSQL's log", (cluster.folder / "log").read_bytes())])
    print(summary(run, found, "PostgreSQL"))
    assert found == []
    assert {"api_keys", "idempotency", "rate_hits"} <= {place for place, _ in places}
    assert master_key_places(run) == {"data/master.key", "backup/master.key"}


def test_an_address_of_postgresql_that_fails_does_not_show_its_password(tmp_path: Path) -> None:
    password = secrets.token_hex(16)
    for address in (
        f"postgresql://u:{password}@127.0.0.1:1/x",
        f"postgresql://u:{password}@@/x",
        f"mysql://u:{password}@h/x",
    ):
        failed = server.run("serve", "--port", "0", data=tmp_path / "data", env={"DEEDBOX_DATABASE_URL": address})
        assert failed.returncode == 1
        assert failed.stderr
        assert hits({"database password": password}, [("stderr", failed.stderr.encode())]) == []


def test_the_rig_catches_a_header_in_the_log(tmp_path: Path) -> None:
    run = Run(tmp_path / "data", bug="log the header")
    running = run.start()
    try:
        sign_in(run, running)
        use_keys(run, running)
    finally:
        end(running)
    assert {place for _, place in hits(run.issued, run.places())} == {"log"}


@pytest.mark.parametrize("secret", ["deed_live_" + "0f1e2d3c4b5a69788796a5b4c3d2e1f0", "Pw-an old friend's password"])
def test_the_search_sees_a_secret_in_clear_in_hex_and_in_base64(secret: str) -> None:
    plain = secret.encode()
    for before in (b"", b"x", b"yy"):
        for text in (plain, plain.hex().encode(), base64.b64encode(before + plain + b"z")):
            assert hits({"it": secret}, [("there", b"a" + text + b"b")])
    assert not hits({"it": secret}, [("there", plain[:12])])


def tables(connection: psycopg.Connection[Any]) -> Iterator[Place]:
    """Every table, as text and as bytes."""
    for (name,) in connection.execute("select tablename from pg_tables where schemaname = 'public'").fetchall():
        for style in ("text", "binary"):
            with connection.cursor().copy(f'copy "{name}" to stdout (format {style})'.encode()) as rows:
                yield name, b"".join(bytes(row) for row in rows)


def one(connection: psycopg.Connection[Any], sql: LiteralString) -> str:
    row = connection.execute(sql).fetchone()
    assert row is not None
    return str(row[0])

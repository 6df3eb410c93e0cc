"""R8 on the wire: what is not even HTTP, what never reaches a route, and how a server stops."""

import asyncio
import ipaddress
import json
import re
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import httpx
import pytest
from litestar import get

from deedbox.kernel.clock import stopwatch
from deedbox.kernel.settings import Networks
from deedbox.web import limits
from deedbox.web.http.auth import requires
from tests import server
from tests.api.answers import faults
from tests.api.conftest import Api, opened, served
from tests.conftest import HandClock

T = TypeVar("T")
GARBAGE = [
    b"nonsense\r\n\r\n",
    b"GET / HTTP/9.9\r\n\r\n",
    b"GET /api/v1/me HTTP/1.1\r\nno colon\r\n\r\n",
    b"GET /api/v1/me HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
    b"GET /api/v1/me HTTP/1.1\r\nHost: a\r\nX-Large: " + b"x" * 1_000_000 + b"\r\n\r\n",
    b"GET /api/v1/me HTTP/1.1\r\nHost: a\r\nX-Large: " + b"x" * limits.HEAD_BYTES + b"\r\n\r\n",
    b"GET /api/v1/me?" + b"x" * limits.HEAD_BYTES + b" HTTP/1.1\r\nHost: a\r\n\r\n",
]

LIVEZ = b"GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[server.Server]:
    with server.running(tmp_path_factory.mktemp("wire") / "data") as started:
        yield started
        log = started.log.read_text()
    assert '"level":"error"' not in log, log


def raw(running: server.Server, request: bytes) -> httpx.Response:
    """The answer to these very bytes."""
    parts = urlsplit(running.address)
    assert parts.hostname
    assert parts.port
    answer = b""
    with socket.create_connection((parts.hostname, parts.port), timeout=30) as connection:
        try:
            connection.sendall(request)
            while piece := connection.recv(65536):
                answer += piece
        except ConnectionResetError:  # the server may close before it has read what it refused
            pass
    head, _, body = answer.partition(b"\r\n\r\n")
    status, *lines = head.decode("latin-1").split("\r\n")
    found = re.match(r"HTTP/1\.1 (\d{3}) ", status)
    assert found, answer
    headers = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)]
    return httpx.Response(int(found[1]), headers=headers, content=body, request=httpx.Request("GET", running.address))


@pytest.mark.parametrize("request_bytes", GARBAGE, ids=range(len(GARBAGE)))
def test_what_is_no_http_request_still_gets_the_envelope_and_the_headers(
    running: server.Server, request_bytes: bytes
) -> None:
    path = "/api/v1/me" if b"/api/v1/me" in request_bytes else "/"
    assert faults(path, raw(running, request_bytes), 400) == []


def test_an_address_with_odd_characters_is_an_ordinary_404(running: server.Server) -> None:
    for target in (b"/%ff", b"/a%2Fb", b"/%F0%9F%94%91", b"/a;b=c", b"/*", b"/api/v1/%2e%2e/keys", b"/?%zz=%"):
        request = b"GET " + target + b" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
        response = raw(running, request + f"Authorization: Bearer {running.api_key}\r\n\r\n".encode())
        if response.status_code != 303:
            assert faults(target.decode(), response, 404) == []


def test_a_request_refused_unread_leaves_the_connection_usable(running: server.Server) -> None:
    with running.client() as client:
        for _ in range(3):
            large = client.post("/api/v1/keys", content=b" " * 2_000_000, headers={"Content-Type": "application/json"})
            assert faults("/api/v1/keys", large, 413) == []
            assert client.get("/health").status_code == 200


def test_what_follows_a_request_cannot_spoil_its_answer(running: server.Server) -> None:
    head = f"POST /api/v1/keys HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {running.api_key}\r\n".encode()
    body = b'{"name": "Followed"}'
    request = head + b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    too_large = b"POST / HTTP/1.1\r\nX-Large: " + b"x" * limits.HEAD_BYTES + b"\r\nContent-Length: 3\r\n\r\n{}}"
    for rest in (b"xx\r\n", b"nonsense\r\n\r\n", too_large):
        answer = raw(running, request + rest)
        assert (answer.status_code, answer.headers["Connection"]) == (201, "close"), rest[:20]
        assert answer.json()["name"] == "Followed"


def test_an_offered_upgrade_is_passed_over_in_silence(running: server.Server) -> None:
    for kind in ("websocket", "h2c"):
        offer = {"Connection": "Upgrade", "Upgrade": kind}
        with running.client() as client:
            assert client.get("/health", headers=offer).status_code == 200
    assert "pgrade" not in running.log.read_text()


@pytest.mark.anyio
@pytest.mark.parametrize("rest", [b"{", b"{}"], ids=["cut short", "complete"])
@pytest.mark.one_database
async def test_a_connection_is_closed_when_nothing_follows_a_body_refused_unread(
    api: Api, monkeypatch: pytest.MonkeyPatch, rest: bytes
) -> None:
    monkeypatch.setattr(limits, "HEAD_SECONDS", 0.2)
    async with served(api) as port, asyncio.timeout(limits.KEEP_ALIVE_SECONDS - 5):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST /api/v1/keys HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n")
        assert b" 401 " in await reader.readuntil(b"\r\n\r\n")
        writer.write(rest)
        await reader.read()
        writer.close()


async def connected(port: int, sent: bytes, address: str = "127.0.0.1") -> asyncio.StreamReader:
    """What comes back on a connection from this address."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0))
    writer.write(sent)
    reader.connection = writer  # type: ignore[attr-defined]  # as long as what it reads from
    return reader


async def all_of(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read()
    except ConnectionResetError:
        return b""


@pytest.mark.anyio
@pytest.mark.one_database
async def test_an_address_holds_only_so_many_connections(database_url: str, tmp_path: Path, clock: HandClock) -> None:
    async with opened(database_url, tmp_path, clock, connections_per_address=3) as api, served(api) as port:
        held = [await connected(port, b"GET /livez HTTP/1.1\r\n") for _ in range(3)]
        assert await all_of(await connected(port, LIVEZ)) == b""
        assert b" 200 " in await all_of(await connected(port, LIVEZ, "127.0.0.2"))
        assert api.guard.metrics.refused_connections == 1
        held[0].connection.write(LIVEZ.partition(b"\r\n")[2])  # type: ignore[attr-defined]
        assert b" 200 " in await all_of(held[0])
        while b" 200 " not in await all_of(await connected(port, LIVEZ)):
            await asyncio.sleep(0.01)


@pytest.mark.anyio
@pytest.mark.one_database
async def test_behind_a_trusted_proxy_the_forwarded_address_counts(
    database_url: str, tmp_path: Path, clock: HandClock
) -> None:
    proxies = Networks([ipaddress.ip_network("127.0.0.1/32")])
    settings = {"trusted_proxies": proxies, "connections_per_address": 2}
    async with opened(database_url, tmp_path, clock, **settings) as api:
        await api.settle()
        under_way, go_on = 0, asyncio.Event()

        async def waiting() -> None:
            nonlocal under_way
            under_way += 1
            await go_on.wait()

        api.plant(get("/planted", opt=requires("search:read"))(waiting), alone=True)
        async with served(api) as port:
            asked = [await connected(port, await planted(api, "192.0.2.1")) for _ in range(2)]
            asked += [await connected(port, await planted(api, "192.0.2.2"))]
            while under_way < 3:
                await asyncio.sleep(0.001)
            assert b" 503 " in await all_of(await connected(port, await planted(api, "192.0.2.1")))
            go_on.set()
            assert all([b" 200 " in await all_of(one) for one in asked])


async def planted(api: Api, forwarded: str) -> bytes:
    key = await api.make_key()
    head = f"GET /planted HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {key.plain}\r\nX-Forwarded-For: {forwarded}\r\n"
    return head.encode() + b"Connection: close\r\n\r\n"


@pytest.mark.anyio
@pytest.mark.parametrize("sent", [b"", b"GET /livez HTTP/1.1\r\nHost: a\r\n"], ids=["silent", "half a head"])
@pytest.mark.one_database
async def test_a_connection_without_a_whole_head_is_dropped_however_it_drips(
    api: Api, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(limits, "HEAD_SECONDS", 0.5)
    async with served(api) as port, asyncio.timeout(60):
        reader = await connected(port, sent)
        ended = asyncio.create_task(all_of(reader))
        while not ended.done():
            reader.connection.write(b"X" if sent else b"")  # type: ignore[attr-defined]
            await asyncio.sleep(0.05)
        assert ended.result() == b""


@pytest.mark.anyio
@pytest.mark.one_database
async def test_only_so_many_requests_wait_on_one_connection(api: Api) -> None:
    async with served(api) as port:
        request = b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n"
        few = await connected(port, request * limits.PIPELINED_REQUESTS + LIVEZ)
        assert (await all_of(few)).count(b" 200 ") == limits.PIPELINED_REQUESTS + 1
        many = await connected(port, request * 1000)
        answers = await all_of(many)
        assert answers.count(b" 200 ") == limits.PIPELINED_REQUESTS + 1
        assert b"connection: close" in answers


@pytest.mark.anyio
@pytest.mark.one_database
async def test_the_rest_of_a_refused_body_may_come_but_not_drip(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "HEAD_SECONDS", 0.5)
    async with served(api) as port, asyncio.timeout(60):
        reader = await connected(port, b"POST /api/v1/keys HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n")
        assert b" 401 " in await reader.readuntil(b"\r\n\r\n")
        ended = asyncio.create_task(all_of(reader))
        while not ended.done():
            reader.connection.write(b"X")  # type: ignore[attr-defined]
            await asyncio.sleep(0.05)


def test_the_log_holds_no_key_and_no_login_token(running: server.Server) -> None:
    assert running.api_key
    assert running.login_link
    token = running.login_link.rsplit("/", 1)[1]
    with running.client() as client:
        client.get("/health")
        client.post(f"/login/{token}")
        client.get(f"/{running.api_key}?password={running.api_key}")
        client.get("/api/v1/me", headers={"X-Request-Id": running.api_key})
    log = running.log.read_text()
    assert '"path":"/health"' in log
    assert token not in log
    assert running.api_key not in log


@pytest.mark.parametrize("path", ["/verify", "/api/v1/verify"])
def test_hang_up_during_verification_ends_its_process(tmp_path: Path, path: str) -> None:
    """A process that only finished its work would stay for the next file."""
    data = tmp_path / "data"
    key = json.loads(server.run("keys", "create", "--name", "a", "--scope", "*", "--json", data=data).stdout)["key"]
    with server.running(data) as started:
        parts = urlsplit(started.address)
        body = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.pdf"\r\n\r\n%PDF-1.7\r\n--b--\r\n'
        head = f"POST {path} HTTP/1.1\r\nHost: {parts.netloc}\r\nAuthorization: Bearer {key}\r\n"
        head += f"Content-Type: multipart/form-data; boundary=b\r\nContent-Length: {len(body)}\r\n\r\n"
        before = _children(started)
        with socket.create_connection((str(parts.hostname), int(parts.port or 0)), timeout=30) as connection:
            connection.sendall(head.encode() + body)
            made = _awaited(lambda: _children(started) - before)
        assert _awaited(lambda: not made & _children(started))


def _children(started: server.Server) -> set[str]:
    tasks = Path(f"/proc/{started.process.pid}/task").glob("*/children")
    return {child for one in tasks for child in one.read_text().split()}


def _awaited(look: Callable[[], T]) -> T:
    """What it finds at last; what it found until then if it finds nothing for as long as a test may take."""
    end = stopwatch() + 60
    while not (found := look()) and stopwatch() < end:
        time.sleep(0.01)
    return found

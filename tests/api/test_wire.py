"""R8 on the wire: what is not even HTTP, what never reaches a route, and how a server stops."""

import asyncio
import re
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import httpx
import pytest

from deedbox.kernel import limits
from deedbox.web.frame.server import Server
from tests import server
from tests.api.answers import faults
from tests.api.conftest import Api

GARBAGE = [
    b"nonsense\r\n\r\n",
    b"GET / HTTP/9.9\r\n\r\n",
    b"GET /api/v1/me HTTP/1.1\r\nno colon\r\n\r\n",
    b"GET /api/v1/me HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
    b"GET /api/v1/me HTTP/1.1\r\nHost: a\r\nX-Large: " + b"x" * 1_000_000 + b"\r\n\r\n",
    b"GET /api/v1/me HTTP/1.1\r\nHost: a\r\nX-Large: " + b"x" * limits.HEAD_BYTES + b"\r\n\r\n",
    b"GET /api/v1/me?" + b"x" * limits.HEAD_BYTES + b" HTTP/1.1\r\nHost: a\r\n\r\n",
]


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


@asynccontextmanager
async def served(api: Api) -> AsyncIterator[int]:
    """The port at which this process serves the application."""
    ready = asyncio.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = Server(api.guard, api.deedbox.settings, ready.set)
        task = asyncio.create_task(serving.serve(sockets=[listener]))
        await ready.wait()
        try:
            yield listener.getsockname()[1]
        finally:
            serving.stop()
            await task


@pytest.mark.anyio
@pytest.mark.parametrize("rest", [b"{", b"{}"], ids=["cut short", "complete"])
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


def test_the_log_holds_no_key_and_no_login_token(running: server.Server) -> None:
    assert running.api_key
    assert running.login_link
    token = running.login_link.rsplit("/", 1)[1]
    with running.client() as client:
        client.get("/health")
        client.get(f"/login/{token}")
        client.get(f"/{running.api_key}?password={running.api_key}")
        client.get("/api/v1/me", headers={"X-Request-Id": running.api_key})
    log = running.log.read_text()
    assert '"path":"/health"' in log
    assert token not in log
    assert running.api_key not in log

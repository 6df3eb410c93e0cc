"""R8 on the wire: what is not even HTTP, what never reaches a route, and how a server stops."""

import re
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx
import pytest

from deedbox.kernel import limits
from tests import server
from tests.api.answers import faults

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

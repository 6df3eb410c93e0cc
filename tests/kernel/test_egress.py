"""The guarded client against real sockets: what it sends, what it refuses, where it stops."""

import asyncio
import datetime as dt
import logging
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from deedbox.kernel.addresses import networks
from deedbox.kernel.egress import (
    AddressRefused,
    BadAnswer,
    CannotConnect,
    CannotResolve,
    Egress,
    EgressFailed,
    Request,
    TookTooLong,
    parse_target,
    system_resolve,
)
from deedbox.kernel.errors import BadRequest

pytestmark = pytest.mark.anyio

LOOPBACK = networks("127.0.0.0/8,::1/128")
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Seen: a\r\nX-Seen: b\r\n\r\nok"


class Receiver:
    """A server that answers every request with the same bytes and remembers what it was sent."""

    def __init__(self, answer: bytes, pause: float = 0) -> None:
        self.answer = answer
        self.pause = pause
        self.requests: list[bytes] = []
        self.connections = 0
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
                body = await reader.readexactly(int(length[0].split(b":")[1])) if length else b""
                self.requests.append(head + body)
                await asyncio.sleep(self.pause)
                writer.write(self.answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def receiver(answer: bytes = OK, pause: float = 0, tls: ssl.SSLContext | None = None) -> AsyncIterator[Receiver]:
    seen = Receiver(answer, pause)
    server = await asyncio.start_server(seen.serve, "127.0.0.1", 0, ssl=tls)
    seen.port = server.sockets[0].getsockname()[1]
    try:
        yield seen
    finally:
        server.close()


@asynccontextmanager
async def egress(*addresses: str, tls: ssl.SSLContext | None = None) -> AsyncIterator[Egress]:
    """A client that may dial loopback, for which every name has the given addresses."""
    client = Egress(LOOPBACK, answering(*addresses) if addresses else None, tls=tls)
    try:
        yield client
    finally:
        await client.close()


def answering(*addresses: str) -> Callable[[str, int], Awaitable[list[str]]]:
    async def resolve(host: str, port: int) -> list[str]:
        return list(addresses)

    return resolve


async def test_a_request_arrives_with_its_host_headers_and_body() -> None:
    async with receiver() as seen, egress("127.0.0.1") as client:
        url = f"http://hooks.example:{seen.port}/in?a=1#part"
        answer = await client.send(Request("POST", url, headers={"X-Service-Signature": "s"}, body=b"payload"))
    assert (answer.status, answer.body, answer.truncated) == (200, b"ok", False)
    assert answer.headers["x-seen"] == "a, b"
    assert answer.address == "127.0.0.1"
    assert answer.elapsed_ms >= 0
    head, _, body = seen.requests[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /in?a=1 HTTP/1.1\r\n")
    assert f"host: hooks.example:{seen.port}".encode() in head.lower()
    assert b"x-service-signature: s" in head.lower()
    assert b"accept-encoding: identity" in head.lower()
    assert body == b"payload"


async def test_a_connection_is_used_again_for_the_same_receiver() -> None:
    async with receiver() as seen, egress("127.0.0.1") as client:
        for _ in range(3):
            await client.send(Request("GET", f"http://a.example:{seen.port}/", headers={}))
    assert (len(seen.requests), seen.connections) == (3, 1)


async def test_a_redirect_is_an_answer_and_is_not_followed() -> None:
    async with receiver() as inside:
        moved = f"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:{inside.port}/\r\nContent-Length: 0\r\n\r\n"
        async with receiver(moved.encode()) as outside, egress("127.0.0.1") as client:
            answer = await client.send(Request("GET", f"http://a.example:{outside.port}/", headers={}))
    assert answer.status == 302
    assert inside.connections == 0


async def test_the_proxy_of_the_environment_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    async with receiver() as proxy, receiver() as seen, egress("127.0.0.1") as client:
        for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        await client.send(Request("GET", f"http://a.example:{seen.port}/", headers={}))
    assert (proxy.connections, seen.connections) == (0, 1)


async def test_a_cookie_is_not_sent_back() -> None:
    crumb = b"HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n"
    async with receiver(crumb) as seen, egress("127.0.0.1") as client:
        for _ in range(2):
            await client.send(Request("GET", f"http://a.example:{seen.port}/", headers={}))
    assert len(seen.requests) == 2
    assert b"cookie" not in seen.requests[1].lower()


async def test_a_long_body_is_cut_at_the_limit() -> None:
    long = b"HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n" + b"x" * 300_000
    async with receiver(long) as seen, egress("127.0.0.1") as client:
        url = f"http://a.example:{seen.port}/"
        cut = await client.send(Request("GET", url, headers={}, limit=1000))
        whole = await client.send(Request("GET", url, headers={}, limit=300_000))
    assert (cut.body, cut.truncated) == (b"x" * 1000, True)
    assert (len(whole.body), whole.truncated) == (300_000, False)


async def test_a_receiver_that_stalls_is_given_up() -> None:
    async with receiver(pause=30) as seen, egress("127.0.0.1") as client:
        with pytest.raises(TookTooLong, match=r"a\.example did not answer within 0\.2 seconds"):
            await client.send(Request("GET", f"http://a.example:{seen.port}/", headers={}, seconds=0.2))


async def test_a_receiver_that_trickles_its_body_is_given_up() -> None:
    async def trickle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        try:
            while True:
                writer.write(b"x")
                await writer.drain()
                await asyncio.sleep(0.02)
        except ConnectionError:
            writer.close()

    server = await asyncio.start_server(trickle, "127.0.0.1", 0)
    async with egress("127.0.0.1") as client:
        url = f"http://a.example:{server.sockets[0].getsockname()[1]}/"
        with pytest.raises(TookTooLong):
            await client.send(Request("GET", url, headers={}, seconds=0.3))
        answer = await client.send(Request("GET", url, headers={}, seconds=0.3, head_is_enough=True))
    assert (answer.status, answer.truncated, set(answer.body)) == (200, True, {ord("x")})
    server.close()


async def test_an_answer_whose_body_breaks_off_is_one_where_the_head_is_enough() -> None:
    async def break_off(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 410 Gone\r\nContent-Length: 100\r\nX-Why: moved\r\n\r\nelse")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(break_off, "127.0.0.1", 0)
    async with egress("127.0.0.1") as client:
        url = f"http://a.example:{server.sockets[0].getsockname()[1]}/"
        answer = await client.send(Request("GET", url, headers={}, head_is_enough=True))
        with pytest.raises(BadAnswer):
            await client.send(Request("GET", url, headers={}))
    server.close()
    assert (answer.status, answer.headers["x-why"], answer.body) == (410, "moved", b"else")
    assert (answer.truncated, answer.address) == (True, "127.0.0.1")


@pytest.mark.parametrize("answer", [b"SSH-2.0-OpenSSH\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"])
async def test_an_answer_that_is_not_http_is_named(answer: bytes) -> None:
    async with receiver(answer) as seen, egress("127.0.0.1") as client:
        with pytest.raises(BadAnswer, match=r"a\.example"):
            await client.send(Request("GET", f"http://a.example:{seen.port}/", headers={}))


async def test_a_header_that_would_smuggle_a_line_is_refused() -> None:
    async with receiver() as seen, egress("127.0.0.1") as client:
        with pytest.raises(EgressFailed):
            await client.send(Request("GET", f"http://a.example:{seen.port}/", headers={"X-A": "b\r\nX-C: d"}))
    assert seen.requests == []


async def test_a_closed_port_is_named() -> None:
    async with receiver() as seen:
        port = seen.port
    async with egress("127.0.0.1") as client:
        with pytest.raises(CannotConnect, match=f"a.example cannot be reached on port {port}"):
            await client.send(Request("GET", f"http://a.example:{port}/", headers={}))


async def test_the_next_address_is_tried_when_the_first_does_not_answer() -> None:
    async with receiver() as seen, egress("::1", "127.0.0.1") as client:
        answer = await client.send(Request("GET", f"http://a.example:{seen.port}/", headers={}))
    assert (answer.status, answer.address) == (200, "127.0.0.1")


async def test_a_name_without_address_is_named_at_the_attempt_and_accepted_at_creation() -> None:
    client = Egress(resolve=answering())
    await client.judge("https://not-yet.example/hook")
    with pytest.raises(CannotResolve, match=r"not-yet\.example has no address"):
        await client.send(Request("GET", "https://not-yet.example/hook", headers={}))


async def test_one_non_public_address_among_public_ones_refuses_the_name() -> None:
    client = Egress(resolve=answering("8.8.8.8", "10.0.0.7"))
    with pytest.raises(BadRequest, match="not public") as refused:
        await client.judge("https://mixed.example/")
    assert "10.0.0.7" not in refused.value.message
    with pytest.raises(AddressRefused):
        await client.send(Request("GET", "https://mixed.example/", headers={}))


async def test_loopback_is_refused_unless_it_is_allowed() -> None:
    async with receiver() as seen:
        strict = Egress()
        for host in ("localhost", "127.0.0.1", "127.1", "0.0.0.0", "[::ffff:127.0.0.1]"):
            with pytest.raises(AddressRefused):
                await strict.send(Request("GET", f"http://{host}:{seen.port}/", headers={}))
        assert seen.connections == 0
        async with egress() as lenient:
            assert (await lenient.send(Request("GET", f"http://127.1:{seen.port}/", headers={}))).status == 200


async def test_a_public_address_is_judged_fit() -> None:
    client = Egress(resolve=answering("8.8.8.8", "2606:4700::1111"))
    await client.judge("https://hooks.example/in")
    await client.judge("http://8.8.8.8:8080/")
    await client.judge("https://[2606:4700::1111]/")


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("ftp://a.example/", "begin with http"),
        ("a.example/hook", "begin with http"),
        ("", "begin with http"),
        ("https:///hook", "no host"),
        ("https://me:secret@a.example/", "user name or password"),
        ("https://@a.example/", "user name or password"),
        ("https://a.example\\@127.0.0.1/", "user name or password"),
        ("https://a.example:0/", "between 1 and 65535"),
        ("https://a.example:65536/", "between 1 and 65535"),
        ("https://a.example:http/", "not valid"),
        ("https://a b.example/", "not a valid name"),
        ("https://a..example/", "not a valid name"),
        ("https://1.2.3.4.5/", "neither a name nor an address"),
        ("https://[fe80::1%25eth0]/", "neither a name nor an address"),
        ("https://a.example/" + "x" * 3000, "longer than 2048"),
        ("http://2130706433/", "not public"),
        ("http://127.0.0.1./", "not public"),
        ("http://[::1]/", "not public"),
        ("http://localhost/", "not public"),
    ],
)
async def test_a_url_that_cannot_be_called_is_refused_with_its_reason(url: str, reason: str) -> None:
    with pytest.raises(BadRequest, match=reason) as refused:
        await Egress().judge(url)
    assert "secret" not in refused.value.message
    with pytest.raises(AddressRefused):
        await Egress().send(Request("GET", url, headers={}))


def test_a_url_is_taken_apart_once_for_judging_and_dialling() -> None:
    target = parse_target("HTTPS://Bücher.Example:443/a b?q=ü#x")
    assert (target.scheme, target.host, target.port) == ("https", "xn--bcher-kva.example", 443)
    assert (target.path, target.authority) == ("/a%20b?q=%C3%BC", "xn--bcher-kva.example")
    assert parse_target("http://[2606:4700::1]:81/").authority == "[2606:4700::1]:81"


def test_the_log_of_requests_stays_quiet_even_when_all_else_is_debugged() -> None:
    assert not logging.getLogger("httpcore.http11").isEnabledFor(logging.DEBUG)


def server_tls(folder: Path, name: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A server's context with a fresh certificate for the name, and a client's that trusts just this one."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    start = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    certificate = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + dt.timedelta(days=36500))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "both.pem").write_bytes(pem + secret)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(folder / "both.pem")
    return server, ssl.create_default_context(cadata=pem.decode())


async def test_tls_names_and_checks_the_host_and_not_the_address_it_dials(tmp_path: Path) -> None:
    server, trusting = server_tls(tmp_path, "hooks.example")
    named: list[str | None] = []
    server.sni_callback = lambda _socket, name, _context: named.append(name)
    async with receiver(tls=server) as seen, egress("127.0.0.1", tls=trusting) as client:
        answer = await client.send(Request("POST", f"https://hooks.example:{seen.port}/", headers={}, body=b"x"))
        with pytest.raises(CannotConnect, match=r"TLS handshake: .*[Hh]ostname mismatch"):
            await client.send(Request("POST", f"https://other.example:{seen.port}/", headers={}, body=b"x"))
    assert answer.status == 200
    assert named == ["hooks.example", "other.example"]


async def test_an_unknown_certificate_is_refused(tmp_path: Path) -> None:
    server, _ = server_tls(tmp_path, "hooks.example")
    async with receiver(tls=server) as seen, egress("127.0.0.1") as client:
        with pytest.raises(CannotConnect, match="TLS handshake"):
            await client.send(Request("POST", f"https://hooks.example:{seen.port}/", headers={}, body=b"secret"))
    assert seen.requests == []


@contextmanager
def stalling(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The system looks up stalls.example without end and finds every other name at loopback; what it was asked for."""
    go_on, asked, look_up = threading.Event(), list[str](), socket.getaddrinfo

    def stall(host: str, *about: Any, **more: Any) -> Any:
        asked.append(host)
        if host == "stalls.example":
            go_on.wait(60)
            raise OSError("no such name")
        return look_up("127.0.0.1", *about, **more)

    monkeypatch.setattr(socket, "getaddrinfo", stall)
    try:
        yield asked
    finally:
        go_on.set()


async def test_names_whose_look_up_stalls_hold_up_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    async with receiver() as seen, egress() as client:
        with stalling(monkeypatch) as asked:
            doubted = client.apart(100, doubtful=True)
            bad = "http://stalls.example/"
            waiting = [asyncio.create_task(doubted.send(Request("GET", bad, headers={}))) for _ in range(9)]
            judging = [asyncio.create_task(client.judge(bad)) for _ in range(9)]
            async with asyncio.timeout(60):
                while len(asked) < 18:
                    await asyncio.sleep(0.01)
            answer = await client.send(Request("GET", f"http://works.example:{seen.port}/", headers={}))
            for task in (*waiting, *judging):
                task.cancel()
            await asyncio.gather(*waiting, *judging, return_exceptions=True)
            await doubted.close()
    assert answer.status == 200


async def test_the_system_resolver_finds_loopback_and_nothing_for_nonsense() -> None:
    found = await system_resolve("localhost", 80)
    assert found
    assert all(ip_address(address).is_loopback for address in found)
    assert await system_resolve("a" * 70 + ".invalid", 80) == []

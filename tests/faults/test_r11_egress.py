"""R11: no webhook reaches inside. Every non-public address, in every spelling, by four ways in: 0 connections.

Every address the client dials leads to a real socket on loopback: a trap if the address is non-public, an
ordinary receiver if it is public. So the count of connections is a count of sockets, for all addresses. All of it once
by the bare client and once by what sends webhooks, with the connections that it keeps for each endpoint.
"""

import asyncio
import ipaddress
import random
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TypeAlias
from unittest.mock import patch

import httpcore
import pytest
from msgspec import Struct

from deedbox.kernel import addresses
from deedbox.kernel.addresses import Address, networks
from deedbox.kernel.clock import SystemClock
from deedbox.kernel.crypto import ValueCipher, create_key_file
from deedbox.kernel.egress import Egress, EgressFailed, Request, Resolve
from deedbox.kernel.errors import BadRequest
from deedbox.webhooks import hooks, signature
from deedbox.webhooks.attempt import DeliveryAttempts
from deedbox.webhooks.queue import Claim, WebhookEndpoint
from deedbox.webhooks.signature import HookSecrets
from tests.faults import FULL

pytestmark = pytest.mark.anyio

IS_GLOBAL = "is_global"
AT_CREATION_ONLY = "check at creation only"

# The fault test's own list, kept apart from the product's: a hole there must not be a hole here.
_INSIDE = (
    "0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 100.100.100.200 127.0.0.1 127.1.2.3 168.63.129.16 169.254.169.254 "
    "172.16.0.1 172.31.9.9 192.0.0.8 192.0.0.192 192.0.2.1 192.88.99.1 192.168.1.1 198.18.0.1 198.51.100.1 "
    "203.0.113.1 224.0.0.1 239.1.1.1 240.0.0.1 255.255.255.255 :: ::1 ::ffff:127.0.0.1 ::ffff:169.254.169.254 "
    "::127.0.0.1 ::ffff:0:127.0.0.1 64:ff9b::a9fe:a9fe 64:ff9b::7f00:1 64:ff9b:1::1 2002:a9fe:a9fe:: "
    "2002:7f00:1:: 2001:0:a9fe:a9fe:: 2001::1 fe80::1 fec0::1 fc00::1 fd00:ec2::254 ff02::1 2001:db8::1 100::1 "
    "5f00::1 3fff::1"
)
INSIDE = _INSIDE.split()
_INSIDE_NETWORKS = (
    "10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.168.0.0/16 198.18.0.0/15 "
    "224.0.0.0/4 240.0.0.0/4 64:ff9b::/96 64:ff9b:1::/48 2001::/32 2001:db8::/32 2002::/16 fc00::/7 "
    "fe80::/10 ff00::/8 ::/96 ::ffff:10.0.0.0/104"
)
INSIDE_NETWORKS = [ipaddress.ip_network(text) for text in _INSIDE_NETWORKS.split()]
OUTSIDE = ["8.8.8.8", "93.184.216.34", "2606:4700::1111"]


class Score(Struct):
    """What one run of the fault test saw."""

    cases: int = 0
    trapped: int = 0
    let_by_creation: int = 0
    public_calls: int = 0
    public_reached: int = 0

    def line(self, bug: str | None) -> str:
        return (
            f"R11 egress: {self.cases} cases, {self.trapped} connections to non-public addresses, "
            f"{self.let_by_creation} let by at creation, {self.public_reached}/{self.public_calls} public calls "
            f"arrived (seeded bug: {bug or 'none'})"
        )


class Landscape(httpcore.AsyncNetworkBackend):
    """Leads every dialled address to one of two sockets on loopback, by whether it is public."""

    def __init__(self, inside: set[Address], trap: int, receiver: int) -> None:
        self._inside = inside
        self._ports = {True: trap, False: receiver}
        self._real = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,  # noqa: ARG002
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,  # noqa: ARG002
    ) -> httpcore.AsyncNetworkStream:
        assert port == 8080
        to = self._ports[ipaddress.ip_address(host) in self._inside]
        return await self._real.connect_tcp("127.0.0.1", to, timeout)


class Names:
    """A name server under the attacker's hand: each look-up of a name takes its next answer, the last one stays."""

    def __init__(self, *answers: list[str]) -> None:
        self._answers = list(answers)

    async def __call__(self, _host: str, _port: int) -> list[str]:
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


def spellings(address: Address) -> Iterator[str]:
    """How a URL can spell the address."""
    if isinstance(address, ipaddress.IPv6Address):
        yield f"[{address}]"
        yield f"[{address.exploded}]"
        yield f"[{str(address).upper()}]"
        return
    value, (a, b, c, d) = int(address), address.packed
    yield str(address)
    yield f"{address}."
    yield f"{value}"
    yield f"{value:#x}"
    yield f"{value:#o}".replace("0o", "0")
    yield f"{a}.{b << 16 | c << 8 | d}"
    yield f"{a}.{b}.{c << 8 | d}"
    yield f"{a:#x}.{b:#x}.{c:#x}.{d:#X}"
    yield f"0{a:o}.0{b:o}.0{c:o}.0{d:o}"
    yield str(address).translate(str.maketrans("0123456789.", "０１２３４５６７８９．"))
    yield str(address).replace(".", "。")
    yield f"[::ffff:{address}]"


Call: TypeAlias = Callable[[Egress, str], Awaitable[None]]


async def by_the_client(client: Egress, url: str) -> None:
    try:
        await client.send(Request("POST", url, headers={}, body=b"{}", seconds=5))
    except EgressFailed:
        return


def by_the_sender(folder: Path) -> Call:
    """The attempts that the sender of webhooks makes, each client with the connections it keeps."""
    create_key_file(folder / "master.key")
    box = ValueCipher(folder / "master.key")
    place = hooks.ENCRYPTED_SECRETS.place.format(id="hook_1")
    secrets = box.encrypt(signature.pack(HookSecrets(signature.new_secret())), place)
    attempts: dict[int, tuple[Egress, DeliveryAttempts]] = {}

    async def call(client: Egress, url: str) -> None:
        if id(client) not in attempts:
            attempts[id(client)] = client, DeliveryAttempts(box, SystemClock(), lambda: client)
        endpoint = WebhookEndpoint("hook_1", url, "timestamped", secrets, failing=False)
        outcome = await attempts[id(client)][1].make(Claim("dlv_1", "evt_1", "document.sent", "{}", 0, 1, endpoint))
        assert outcome.attempt.response_status is not None or outcome.status == "pending"

    return call


class Scenario:
    def __init__(self, bug: str | None, inside: list[Address], call: Call = by_the_client) -> None:
        self.score = Score()
        self._bug = bug
        self._call = call
        self._inside = inside
        self._location = ""
        self._landscape: Landscape
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # one for all clients: to load certificates takes long

    async def _trap(self, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.score.trapped += 1
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        writer.close()

    async def _receive(self, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.score.public_reached += 1
        head = f"HTTP/1.1 302 Found\r\nLocation: {self._location}\r\n" if self._location else "HTTP/1.1 200 OK\r\n"
        writer.write(f"{head}Content-Length: 0\r\nConnection: close\r\n\r\n".encode())
        writer.close()

    async def run(self) -> Score:
        trap = await asyncio.start_server(self._trap, "127.0.0.1", 0)
        receiver = await asyncio.start_server(self._receive, "127.0.0.1", 0)
        ports = [server.sockets[0].getsockname()[1] for server in (trap, receiver)]
        mapped = {ipaddress.ip_address(f"::ffff:{one}") for one in self._inside if one.version == 4}
        self._landscape = Landscape({*self._inside, *mapped}, *ports)
        with self._seeded():
            for address in self._inside:
                await self._every_way_in(address)
            for host in OUTSIDE:
                await self._call_outside(host)
        for server in (trap, receiver):
            server.close()
        return self.score

    @contextmanager
    def _seeded(self) -> Iterator[None]:
        if self._bug == IS_GLOBAL:
            with patch.object(addresses, "is_public", lambda address: address.is_global):
                yield
        else:
            yield

    async def _every_way_in(self, address: Address) -> None:
        text = str(address)
        for spelling in spellings(address):
            await self._attempt(f"http://{spelling}:8080/", Names([text]))
            await self._redirected(f"http://{spelling}:8080/")
        for answers in ([text], ["8.8.8.8", text], [text, "8.8.8.8"]):
            await self._attempt("http://named.example:8080/", Names(answers))
        for public in OUTSIDE[:2]:
            await self._changing("http://changing.example:8080/", public, text)

    @asynccontextmanager
    async def _client(self, resolve: Resolve) -> AsyncIterator[Egress]:
        unguarded = self._bug == AT_CREATION_ONLY
        allow = networks("0.0.0.0/0,::/0") if unguarded else ()
        client = Egress(allow, resolve, tls=self._tls, network=self._landscape)
        try:
            yield client
        finally:
            await client.close()

    async def _accepted_at_creation(self, url: str, resolve: Names) -> bool:
        try:
            await Egress(resolve=resolve, tls=self._tls).judge(url)
        except BadRequest:
            return False
        return True

    async def _attempt(self, url: str, resolve: Names) -> None:
        """Both doors: it must be refused at creation, and refused when it is called all the same."""
        self.score.cases += 1
        accepted = await self._accepted_at_creation(url, resolve)
        self.score.let_by_creation += accepted
        if self._bug == AT_CREATION_ONLY and not accepted:
            return
        async with self._client(resolve) as client:
            await self._call(client, url)

    async def _redirected(self, location: str) -> None:
        self.score.cases += 1
        self.score.public_calls += 1
        self._location = location
        async with self._client(Names(["8.8.8.8"])) as client:
            await self._call(client, "http://moved.example:8080/")
        self._location = ""

    async def _changing(self, url: str, public: str, inside: str) -> None:
        """The name is public when it is judged, and inside at a later look-up: the next one, or the one after."""
        for innocent in (1, 2):
            self.score.cases += 1
            self.score.public_calls += innocent - 1
            resolve = Names(*[[public]] * innocent, [inside])
            assert await self._accepted_at_creation(url, resolve)
            async with self._client(resolve) as client:
                for _ in range(2):
                    await self._call(client, url)

    async def _call_outside(self, host: str) -> None:
        """The control: a client that refuses everything would pass all the rest."""
        self.score.public_calls += 1
        async with self._client(Names([host])) as client:
            await self._call(client, "http://public.example:8080/")


def inside_addresses(samples: int) -> list[Address]:
    """The listed addresses and so many more from each non-public network."""
    dice = random.Random(11)
    found: list[Address] = [ipaddress.ip_address(text) for text in INSIDE]
    for network in INSIDE_NETWORKS:
        found += [network[dice.randrange(network.num_addresses)] for _ in range(samples)]
    return found


async def run_rig(bug: str | None, samples: int, call: Call = by_the_client) -> Score:
    score = await Scenario(bug, inside_addresses(samples), call).run()
    print(score.line(bug))
    return score


async def test_no_way_in_reaches_a_non_public_address() -> None:
    score = await run_rig(None, samples=50 if FULL else 1)
    assert score.cases > (5000 if FULL else 500)
    assert (score.trapped, score.let_by_creation) == (0, 0)
    assert score.public_reached == score.public_calls


@pytest.mark.parametrize("bug", [IS_GLOBAL, AT_CREATION_ONLY])
async def test_the_rig_catches_the_seeded_bug(bug: str) -> None:
    score = await run_rig(bug, samples=0)
    assert score.trapped > 0


async def test_no_webhook_reaches_a_non_public_address(tmp_path: Path) -> None:
    score = await run_rig(None, 20 if FULL else 0, by_the_sender(tmp_path))
    assert score.cases > 500
    assert (score.trapped, score.let_by_creation) == (0, 0)
    assert score.public_reached == score.public_calls


@pytest.mark.parametrize("bug", [IS_GLOBAL, AT_CREATION_ONLY])
async def test_the_rig_catches_the_seeded_bug_in_the_sender(tmp_path: Path, bug: str) -> None:
    score = await run_rig(bug, 0, by_the_sender(tmp_path))
    assert score.trapped > 0


async def test_without_the_guard_every_way_in_but_the_redirect_is_open() -> None:
    """The fault test's traps are real: the same calls without any judgement fall into them."""
    scenario = Scenario(None, [ipaddress.ip_address("10.0.0.1")])
    with patch.object(addresses, "is_public", lambda _address: True):
        score = await scenario.run()
    assert score.let_by_creation >= 10
    assert score.trapped >= score.let_by_creation

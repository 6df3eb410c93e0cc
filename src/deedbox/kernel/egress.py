"""The only way out: every outgoing request goes through `Egress`, which dials only addresses it has judged.

`dialled` is for protocols other than HTTP. Both stand on httpcore, which has no redirects, cookies, proxies and netrc
to switch off.
"""

import asyncio
import contextlib
import copy
import logging
import re
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from ipaddress import ip_address, ip_network
from typing import ClassVar, TypeAlias

import httpcore
import httpx
from msgspec import Struct
from msgspec.structs import replace

from deedbox.kernel.addresses import Network, is_permitted, literal
from deedbox.kernel.clock import stopwatch
from deedbox.kernel.errors import BadRequest, DeedboxError
from deedbox.kernel.limits import (
    EGRESS_ADDRESSES,
    EGRESS_CONNECT_SECONDS,
    EGRESS_CONNECTIONS,
    EGRESS_DOUBTFUL_RESOLVERS,
    EGRESS_HOST_CHARS,
    EGRESS_IDLE_SECONDS,
    EGRESS_PIECE_BYTES,
    EGRESS_RESOLVERS,
    EGRESS_RESPONSE_BYTES,
    EGRESS_SECONDS,
    EGRESS_TARGETS,
    EGRESS_URL_CHARS,
)

PORTS = {"http": 80, "https": 443}
# For a host that the operator's own settings name, never for one that a caller chose: a mail server commonly
# stands on a private network.
ANYWHERE: tuple[Network, ...] = (ip_network("0.0.0.0/0"), ip_network("::/0"))
Resolve: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
Write: TypeAlias = Callable[[bytes], Awaitable[None]]

# At DEBUG httpcore writes request headers, and with them credentials, to the log.
logging.getLogger("httpcore").setLevel(logging.WARNING)

# No encoding: a compressed answer could unpack to any size.
_OWN_HEADERS = {"User-Agent": "Deedbox", "Accept-Encoding": "identity"}
_USER_INFO = re.compile(r"[^/?#]*//[^/?#]*@")
_HOST = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*\.?")
# Own threads: a name server that stalls must not hold up the rest of the process. A look-up that was given up keeps its
# thread until the system ends it, so names that are not known to work have threads of their own.
_RESOLVERS = ThreadPoolExecutor(EGRESS_RESOLVERS, thread_name_prefix="resolve")
_DOUBTFUL = ThreadPoolExecutor(EGRESS_DOUBTFUL_RESOLVERS, thread_name_prefix="resolve-doubtful")


class EgressFailed(DeedboxError):
    """An outgoing request got no answer; the message may be shown to the user who chose the URL."""

    reason: ClassVar[str] = "failed"


class AddressRefused(EgressFailed):
    reason = "refused"


class CannotResolve(EgressFailed):
    reason = "resolve"


class CannotConnect(EgressFailed):
    reason = "connect"


class TookTooLong(EgressFailed):
    reason = "timeout"


class BadAnswer(EgressFailed):
    reason = "protocol"


class Answer(Struct, frozen=True):
    """What came back: the body cut at the limit, header names in lower case, the address of the peer."""

    status: int
    headers: dict[str, str]
    body: bytes
    truncated: bool
    elapsed_ms: int
    address: str


class Target(Struct, frozen=True):
    """An http(s) URL taken apart by the one parser that both judging and dialling use."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """What the Host header says."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def core_url(self) -> httpcore.URL:
        return httpcore.URL(
            scheme=self.scheme.encode(), host=self.host.encode(), port=self.port, target=self.path.encode()
        )


async def system_resolve(host: str, port: int, threads: ThreadPoolExecutor = _RESOLVERS) -> list[str]:
    """Every address that the system's resolver knows for the name; empty when it knows none."""
    look_up = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    try:
        found = await asyncio.get_running_loop().run_in_executor(threads, look_up)
    except (OSError, UnicodeError):
        return []
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


async def doubtful_resolve(host: str, port: int) -> list[str]:
    """As `system_resolve`, for a name whose look-up may stall: no other name waits for it."""
    return await system_resolve(host, port, _DOUBTFUL)


@lru_cache(EGRESS_TARGETS)
def parse_target(url: str) -> Target:
    """The parts of a URL that may be called, or BadRequest with the reason why not."""
    if len(url) > EGRESS_URL_CHARS:
        raise BadRequest(f"The URL is longer than {EGRESS_URL_CHARS} characters")
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise BadRequest("The URL is not valid; give one such as https://example.com/hooks") from error
    if parsed.scheme not in PORTS:
        raise BadRequest("The URL must begin with http:// or https://")
    if _USER_INFO.match(url):
        raise BadRequest("The URL must not carry a user name or password")
    port = parsed.port if parsed.port is not None else PORTS[parsed.scheme]
    if not 0 < port < 65536:
        raise BadRequest("The port of the URL must be between 1 and 65535")
    host = _dialled_host(parsed.raw_host.decode("ascii"))
    return Target(scheme=parsed.scheme, host=host, port=port, path=parsed.raw_path.decode("ascii"))


def _dialled_host(host: str) -> str:
    """The host as it is judged, dialled and named in the request; an address in its canonical spelling."""
    if not host:
        raise BadRequest("The URL has no host")
    try:
        address = literal(host)
    except ValueError as error:
        raise BadRequest(f"The host {host} of the URL is neither a name nor an address") from error
    if address is not None:
        return str(address)
    if len(host) > EGRESS_HOST_CHARS or not _HOST.fullmatch(host):
        raise BadRequest("The host of the URL is not a valid name")
    return host


class _JudgedNetwork(httpcore.AsyncNetworkBackend):
    """Dials an address only after all addresses of the host were judged, for this very connection."""

    def __init__(self, allow: Sequence[Network], resolve: Resolve, inner: httpcore.AsyncNetworkBackend) -> None:
        self._allow = allow
        self._resolve = resolve
        self._inner = inner

    async def judged(self, host: str, port: int) -> list[str]:
        """The addresses of the host, all of them permitted, in the order to try them."""
        spelled = literal(host)
        found = [str(spelled)] if spelled is not None else await self._resolve(host, port)
        if not found:
            raise CannotResolve(f"The host {host} has no address")
        for address in found:
            if not is_permitted(ip_address(address), self._allow):
                raise AddressRefused(f"The host {host} is at an address that is not public")
        return list(found)

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        patience = timeout or EGRESS_CONNECT_SECONDS
        try:
            async with asyncio.timeout(patience):
                addresses = (await self.judged(host, port))[:EGRESS_ADDRESSES]
        except TimeoutError as error:
            raise CannotResolve(f"The host {host} could not be looked up in time") from error
        for address in addresses:
            with contextlib.suppress(httpcore.ConnectError, httpcore.ConnectTimeout):
                share = patience / len(addresses)
                return await self._inner.connect_tcp(address, port, share, local_address, socket_options)
        raise CannotConnect(f"The host {host} cannot be reached on port {port}")

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ARG002
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,  # noqa: ARG002
    ) -> httpcore.AsyncNetworkStream:
        raise AddressRefused(f"The socket {path} is not an internet address")

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class Wire:
    """An open TCP stream to a judged address; what goes wrong on it is EgressFailed."""

    def __init__(self, host: str, stream: httpcore.AsyncNetworkStream) -> None:
        self.host = host
        self._stream = stream

    async def read(self, seconds: float) -> bytes:
        """The next bytes; none when the peer has closed."""
        with _named_failures(self.host, seconds):
            return await self._stream.read(EGRESS_PIECE_BYTES, seconds)

    async def write(self, data: bytes, seconds: float) -> None:
        """Hands over the bytes; the peer has so many seconds for each piece."""
        with _named_failures(self.host, seconds):
            for start in range(0, len(data), EGRESS_PIECE_BYTES):
                await self._stream.write(data[start : start + EGRESS_PIECE_BYTES], seconds)

    async def secure(self, tls: ssl.SSLContext, seconds: float) -> None:
        """Goes on in TLS, with a peer that has proved to be the host."""
        with _named_failures(self.host, seconds):
            self._stream = await self._stream.start_tls(tls, self.host, seconds)

    async def close(self) -> None:
        await self._stream.aclose()


@contextlib.asynccontextmanager
async def dialled(
    host: str, port: int, *, allow: Sequence[Network] = (), resolve: Resolve = system_resolve, seconds: float
) -> AsyncIterator[Wire]:
    """A wire to the host. Dialling and all that is done within takes at most so many seconds, or EgressFailed."""
    network = _JudgedNetwork(allow, resolve, httpcore.AnyIOBackend())
    with _named_failures(host, seconds):
        async with asyncio.timeout(seconds):
            wire = Wire(host, await network.connect_tcp(host, port, min(seconds, EGRESS_CONNECT_SECONDS)))
            try:
                yield wire
            finally:
                await wire.close()


class Egress:
    """Outgoing HTTP: follows no redirect, asks no proxy, keeps no cookie, dials no non-public address."""

    def __init__(
        self,
        allow: Sequence[Network] = (),
        resolve: Resolve | None = None,
        *,
        tls: ssl.SSLContext | None = None,
        network: httpcore.AsyncNetworkBackend | None = None,
    ) -> None:
        inner = network or httpcore.AnyIOBackend()
        self._network = _JudgedNetwork(allow, resolve or system_resolve, inner)
        self._doubtful = _JudgedNetwork(allow, resolve or doubtful_resolve, inner)
        self._tls = tls or httpx.create_ssl_context(trust_env=False)
        self._pool = self._new_pool(EGRESS_CONNECTIONS, self._network)

    def _new_pool(self, connections: int, network: _JudgedNetwork) -> httpcore.AsyncConnectionPool:
        return httpcore.AsyncConnectionPool(
            ssl_context=self._tls,
            max_connections=connections,
            keepalive_expiry=EGRESS_IDLE_SECONDS,
            network_backend=network,
        )

    def apart(self, connections: int, *, doubtful: bool = False) -> "Egress":
        """One that judges and trusts as this does, with so many connections of its own: no other waits for them.

        `doubtful`: its hosts may not even have a name server that answers."""
        other = copy.copy(self)
        other._pool = self._new_pool(connections, self._doubtful if doubtful else self._network)
        return other

    async def judge(self, url: str) -> None:
        """Raises BadRequest if the URL may not be called; a name without address is left to each attempt."""
        target = parse_target(url)
        try:
            async with asyncio.timeout(EGRESS_CONNECT_SECONDS):
                await self._doubtful.judged(target.host, target.port)
        except AddressRefused as refused:
            raise BadRequest(f"{refused.message}, so it cannot be called") from refused
        except (CannotResolve, TimeoutError):
            return

    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes | AsyncIterator[bytes] = b"",
        seconds: float = EGRESS_SECONDS,
        limit: int = EGRESS_RESPONSE_BYTES,
        stall: float | None = None,
        into: Write | None = None,
        head_is_enough: bool = False,
    ) -> Answer:
        """The answer within so many seconds, with at most `limit` bytes of body; or EgressFailed.

        A body in pieces goes out as they come; its size is told in `headers`, or it is sent in chunks. The body of an
        answer of 2xx goes to `into`, if that is given, and the answer itself has none then. A peer may be silent for
        `stall` seconds, or as long as all may take. With `head_is_enough`, a body that breaks off or takes too long
        does not undo the answer: it is kept as far as it came."""
        target, come = _callable(url), _Receipt()
        try:
            with _named_failures(target.host, seconds):
                async with asyncio.timeout(seconds):
                    asked = self._asked(method, target, headers, body, min(seconds, stall or seconds))
                    return await come.whole(asked, limit, into)
        except EgressFailed:
            if head_is_enough and come.head is not None:
                return come.so_far(come.head, truncated=True)
            raise

    def _asked(
        self,
        method: str,
        target: Target,
        headers: Mapping[str, str],
        body: bytes | AsyncIterator[bytes],
        seconds: float,
    ) -> contextlib.AbstractAsyncContextManager[httpcore.Response]:
        waits = dict.fromkeys(("connect", "read", "write", "pool"), seconds)
        waits["connect"] = min(seconds, EGRESS_CONNECT_SECONDS)
        sent = {name.lower(): value for name, value in (_OWN_HEADERS | {"Host": target.authority, **headers}).items()}
        fields = [(name.encode(), value.encode()) for name, value in sent.items()]
        return self._pool.stream(method, target.core_url, headers=fields, content=body, extensions={"timeout": waits})

    def all_headers(self, url: str, headers: Mapping[str, str], body: bytes) -> dict[str, str]:
        """What a request with these headers and this body says in truth, for the record."""
        return {"Host": _callable(url).authority, **_OWN_HEADERS, "Content-Length": str(len(body)), **headers}

    async def close(self) -> None:
        await self._pool.aclose()


def _callable(url: str) -> Target:
    try:
        return parse_target(url)
    except BadRequest as refused:
        raise AddressRefused(refused.message) from refused


class _Receipt:
    """An answer as far as it has come."""

    def __init__(self) -> None:
        self.head: Answer | None = None
        self._body = bytearray()
        self._started = stopwatch()

    async def whole(
        self, asked: contextlib.AbstractAsyncContextManager[httpcore.Response], limit: int, into: Write | None
    ) -> Answer:
        async with asked as response:
            peer = response.extensions["network_stream"].get_extra_info("server_addr")
            address = str(peer[0]) if peer else ""
            self.head = Answer(response.status, _readable(response.headers), b"", False, 0, address)
            write = into if response.status // 100 == 2 else None
            return self.so_far(self.head, truncated=await self._read(response.aiter_stream(), limit, write))

    def so_far(self, head: Answer, *, truncated: bool) -> Answer:
        elapsed = round((stopwatch() - self._started) * 1000)
        return replace(head, body=bytes(self._body), truncated=truncated, elapsed_ms=elapsed)

    async def _read(self, chunks: AsyncIterator[bytes], limit: int, write: Write | None) -> bool:
        """Keeps the body up to the limit, unless it is written on; whether there was more."""
        size = 0
        async for chunk in chunks:
            left = limit - size
            size += len(chunk)
            if write is None:
                self._body += chunk[:left]
            elif left > 0:
                await write(chunk[:left])
            if size > limit:
                return True
        return False


def _readable(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Header names in lower case; a name that came more than once has its values joined."""
    joined: dict[str, str] = {}
    for raw_name, raw_value in headers:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        joined[name] = f"{joined[name]}, {value}" if name in joined else value
    return joined


@contextlib.contextmanager
def _named_failures(host: str, seconds: float) -> Iterator[None]:
    """Turns what the network and the protocol raise into EgressFailed, with a sentence for the user."""
    try:
        yield
    except httpcore.ConnectTimeout as error:
        raise TookTooLong(f"The host {host} did not accept a connection in time") from error
    except (TimeoutError, httpcore.TimeoutException) as error:
        raise TookTooLong(f"The host {host} did not answer within {seconds:g} seconds") from error
    except httpcore.ConnectError as error:
        raise CannotConnect(f"The host {host} failed the TLS handshake: {error}") from error
    except (httpcore.NetworkError, httpcore.ProtocolError) as error:
        raise BadAnswer(f"The host {host} broke off or did not keep to the protocol") from error

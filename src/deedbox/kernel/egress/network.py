"""The network that outgoing connections use: a host is dialled after all of its addresses were judged."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from ipaddress import ip_address, ip_network
from typing import TypeAlias

import httpcore

from deedbox.kernel.addresses import Network, is_permitted, literal
from deedbox.kernel.egress.failures import AddressRefused, CannotConnect, CannotResolve, named_failures
from deedbox.kernel.limits import (
    EGRESS_ADDRESSES,
    EGRESS_CONNECT_SECONDS,
    EGRESS_DOUBTFUL_RESOLVERS,
    EGRESS_PIECE_BYTES,
    EGRESS_RESOLVERS,
)
from deedbox.kernel.traces import SpanKind, span

# For a host that the operator's own settings name, never for one that a caller chose: a mail server commonly
# stands on a private network.
ANYWHERE: tuple[Network, ...] = (ip_network("0.0.0.0/0"), ip_network("::/0"))
Resolve: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]

# Own threads: a name server that stalls must not hold up the rest of the process. A look-up that was given up keeps its
# thread until the system ends it, so names that are not known to work have threads of their own.
_RESOLVERS = ThreadPoolExecutor(EGRESS_RESOLVERS, thread_name_prefix="resolve")
_DOUBTFUL = ThreadPoolExecutor(EGRESS_DOUBTFUL_RESOLVERS, thread_name_prefix="resolve-doubtful")


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


class JudgedNetwork(httpcore.AsyncNetworkBackend):
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
        with named_failures(self.host, seconds):
            return await self._stream.read(EGRESS_PIECE_BYTES, seconds)

    async def write(self, data: bytes, seconds: float) -> None:
        """Hands over the bytes; the peer has so many seconds for each piece."""
        with named_failures(self.host, seconds):
            for start in range(0, len(data), EGRESS_PIECE_BYTES):
                await self._stream.write(data[start : start + EGRESS_PIECE_BYTES], seconds)

    async def secure(self, tls: ssl.SSLContext, seconds: float) -> None:
        """Goes on in TLS, with a peer that has proved to be the host."""
        with named_failures(self.host, seconds):
            self._stream = await self._stream.start_tls(tls, self.host, seconds)

    async def close(self) -> None:
        await self._stream.aclose()


@contextlib.asynccontextmanager
async def dial(
    host: str, port: int, *, allow: Sequence[Network] = (), resolve: Resolve = system_resolve, seconds: float
) -> AsyncIterator[Wire]:
    """A wire to the host. Dialling and all that is done within takes at most so many seconds, or EgressFailed."""
    network = JudgedNetwork(allow, resolve, httpcore.AnyIOBackend())
    with span("outgoing connection", {"server.address": host}, SpanKind.CLIENT), named_failures(host, seconds):
        async with asyncio.timeout(seconds):
            wire = Wire(host, await network.connect_tcp(host, port, min(seconds, EGRESS_CONNECT_SECONDS)))
            try:
                yield wire
            finally:
                await wire.close()

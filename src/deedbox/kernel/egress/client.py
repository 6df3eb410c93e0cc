"""The client of every outgoing HTTP request. It follows no redirect and dials only addresses that were judged."""

import asyncio
import contextlib
import copy
import logging
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

import httpcore
import httpx
from msgspec import Struct
from msgspec.structs import replace

from deedbox.kernel import limits
from deedbox.kernel.addresses import Network
from deedbox.kernel.clock import stopwatch
from deedbox.kernel.egress.failures import AddressRefused, CannotResolve, EgressFailed, named_failures
from deedbox.kernel.egress.network import JudgedNetwork, Resolve, doubtful_resolve, system_resolve
from deedbox.kernel.egress.target import EgressTarget, parse_target
from deedbox.kernel.errors import BadRequest
from deedbox.kernel.traces import SpanKind, span

Write: TypeAlias = Callable[[bytes], Awaitable[None]]

# At DEBUG httpcore writes request headers, and with them credentials, to the log.
logging.getLogger("httpcore").setLevel(logging.WARNING)

# No encoding: a compressed answer could unpack to any size.
_OWN_HEADERS = {"User-Agent": "Deedbox", "Accept-Encoding": "identity"}


class Request(Struct, frozen=True):
    """An outgoing request and its bounds."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | AsyncIterator[bytes] = b""
    """In pieces, it goes out as they come; its size is told in `headers`, or it is sent in chunks."""
    seconds: float = limits.EGRESS_SECONDS
    """For all of it."""
    limit: int = limits.EGRESS_RESPONSE_BYTES
    """So many bytes of the answer's body are read."""
    stall: float | None = None
    """So many seconds the peer may be silent; as long as all may take, if it is not given."""
    into: Write | None = None
    """Gets the body of an answer of 2xx; the answer itself has none then."""
    head_is_enough: bool = False
    """A body that breaks off or takes too long does not undo the answer: it is kept as far as it came."""


class EgressResponse(Struct, frozen=True):
    """The answer: its body cut at the limit, header names in lower case, the address of the peer."""

    status: int
    headers: dict[str, str]
    body: bytes
    truncated: bool
    elapsed_ms: int
    address: str


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
        self._network = JudgedNetwork(allow, resolve or system_resolve, inner)
        self._doubtful = JudgedNetwork(allow, resolve or doubtful_resolve, inner)
        self._tls = tls or httpx.create_ssl_context(trust_env=False)
        self._pool = self._new_pool(limits.EGRESS_CONNECTIONS, self._network)

    def _new_pool(self, connections: int, network: JudgedNetwork) -> httpcore.AsyncConnectionPool:
        return httpcore.AsyncConnectionPool(
            ssl_context=self._tls,
            max_connections=connections,
            keepalive_expiry=limits.EGRESS_IDLE_SECONDS,
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
            async with asyncio.timeout(limits.EGRESS_CONNECT_SECONDS):
                await self._doubtful.judged(target.host, target.port)
        except AddressRefused as refused:
            raise BadRequest(f"{refused.message}, so it cannot be called") from refused
        except (CannotResolve, TimeoutError):
            return

    async def send(self, request: Request) -> EgressResponse:
        """The answer to the request, within its bounds; or EgressFailed."""
        target = _callable(request.url)
        # The host alone: the rest of an address may be a secret.
        with span(f"outgoing {request.method}", {"server.address": target.host}, SpanKind.CLIENT) as step:
            answer = await self._answered(request, target)
            step.note({"http.response.status_code": answer.status})
            return answer

    async def _answered(self, request: Request, target: EgressTarget) -> EgressResponse:
        come, seconds = _Receipt(), request.seconds
        try:
            with named_failures(target.host, seconds):
                async with asyncio.timeout(seconds):
                    return await come.whole(self._sent(request, target), request.limit, request.into)
        except EgressFailed:
            if request.head_is_enough and come.head is not None:
                return come.so_far(come.head, truncated=True)
            raise

    def _sent(
        self, request: Request, target: EgressTarget
    ) -> contextlib.AbstractAsyncContextManager[httpcore.Response]:
        patience = min(request.seconds, request.stall or request.seconds)
        waits = dict.fromkeys(("connect", "read", "write", "pool"), patience)
        waits["connect"] = min(patience, limits.EGRESS_CONNECT_SECONDS)
        headers = _OWN_HEADERS | {"Host": target.authority, **request.headers}
        fields = [(name.encode(), value.encode()) for name, value in _lowered(headers).items()]
        return self._pool.stream(
            request.method, target.core_url, headers=fields, content=request.body, extensions={"timeout": waits}
        )

    def all_headers(self, url: str, headers: Mapping[str, str], body: bytes) -> dict[str, str]:
        """What a request with these headers and this body says in truth, for the record."""
        return {"Host": _callable(url).authority, **_OWN_HEADERS, "Content-Length": str(len(body)), **headers}

    async def close(self) -> None:
        await self._pool.aclose()


def _callable(url: str) -> EgressTarget:
    try:
        return parse_target(url)
    except BadRequest as refused:
        raise AddressRefused(refused.message) from refused


def _lowered(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


class _Receipt:
    """An answer as far as it has come."""

    def __init__(self) -> None:
        self.head: EgressResponse | None = None
        self._body = bytearray()
        self._started = stopwatch()

    async def whole(
        self, asked: contextlib.AbstractAsyncContextManager[httpcore.Response], limit: int, into: Write | None
    ) -> EgressResponse:
        async with asked as response:
            peer = response.extensions["network_stream"].get_extra_info("server_addr")
            address = str(peer[0]) if peer else ""
            self.head = EgressResponse(response.status, _readable(response.headers), b"", False, 0, address)
            write = into if response.status // 100 == 2 else None
            return self.so_far(self.head, truncated=await self._read(response.aiter_stream(), limit, write))

    def so_far(self, head: EgressResponse, *, truncated: bool) -> EgressResponse:
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

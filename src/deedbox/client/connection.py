"""The connections under the client: they send calls, again where that helps, and read the answers."""

import asyncio
import itertools
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit

import httpx
import msgspec

from deedbox import VERSION
from deedbox.client import retries
from deedbox.client.call import Call
from deedbox.client.download import AsyncDownload, Download
from deedbox.client.errors import DeedboxError
from deedbox.client.events import ServerEvent, parse_events
from deedbox.client.retries import Outcome
from deedbox.kernel.decoders import decoder

# Longer than the server gives itself for anything: it says itself that a request took too long.
_TIMEOUT = httpx.Timeout(330, connect=10)
_RETRIES = 4

T = TypeVar("T")
U = TypeVar("U")
P = TypeVar("P", bound="Page")


class Page(Protocol):
    """One page of a list."""

    @property
    def next_cursor(self) -> str | None: ...


class _Settings:
    """Where the server is, and the key; from the environment where they are not given."""

    def __init__(self, base_url: str | None, api_key: str | None, retries: int) -> None:
        self.base_url = base_url or _environment("DEEDBOX_URL", "base_url")
        self.api_key = api_key or _environment("DEEDBOX_API_KEY", "api_key")
        self.retries = retries
        self.http: dict[str, Any] = {
            "base_url": self.base_url,
            "timeout": _TIMEOUT,
            "headers": {"User-Agent": f"deedbox-python/{VERSION}"},
            # A proxy of the environment is for other machines than this one.
            "trust_env": urlsplit(self.base_url).hostname not in ("127.0.0.1", "::1", "localhost"),
        }


def _environment(name: str, argument: str) -> str:
    if value := os.environ.get(name):
        return value
    raise DeedboxError(f"There is no {argument}. Give it, or set the environment variable {name}.")


class Connection:
    """A connection that waits for each answer. Use it in a `with` block, or close it."""

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        retries: int = _RETRIES,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._settings = _Settings(base_url, api_key, retries)
        self._http = httpx.Client(**self._settings.http, transport=transport)

    def __enter__(self: T) -> T:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def open_link(self, url: str) -> str:
        """Opens a signing link; the id of the signer, in whose name the calls of `signer` then act."""
        return _signer(self.response(_opening(url)))

    def answer(self, call: Call, kind: type[T]) -> T:
        """The answer as a struct."""
        return _decoded(self.response(call), kind)

    def either(self, call: Call, first: type[T], second: type[U]) -> T | U:
        """The answer as the first struct that it fits."""
        return _fitting(self.response(call), first, second)

    def done(self, call: Call) -> None:
        self.response(call)

    def text(self, call: Call) -> str:
        return self.response(call).text

    def pages(self, call: Call, kind: type[P], items: Callable[[P], list[T]]) -> Iterator[T]:
        """Everything in a list, page by page as it is asked for."""
        while True:
            page = self.answer(call, kind)
            yield from items(page)
            if page.next_cursor is None:
                return
            call = _next(call, page.next_cursor)

    def download(self, call: Call) -> Download:
        """The file that the call gives; nothing is sent until it is read or saved."""
        return Download(lambda read: self.response(call, read))

    def events(self, call: Call) -> Iterator[ServerEvent]:
        """Server-sent events, as they come."""
        with call.request(self._http, self._settings.api_key) as request:
            response = self._http.send(request, stream=True)
            try:
                if not response.is_success:
                    response.read()
                yield from parse_events(retries.check_outcome(call, response).iter_lines())
            finally:
                response.close()

    def response(self, call: Call, read: Callable[[httpx.Response], object] = httpx.Response.read) -> httpx.Response:
        """The good answer to the call, its body read by `read`."""
        lost = False
        for attempt in itertools.count():
            outcome = self._outcome(call, read)
            pause = retries.pause(call, outcome, attempt) if attempt < self._settings.retries else None
            if pause is None:
                return retries.check_outcome(call, outcome, lost=lost)
            lost = lost or retries.may_be_done(outcome)
            time.sleep(pause)
        raise AssertionError

    def _outcome(self, call: Call, read: Callable[[httpx.Response], object]) -> Outcome:
        with call.request(self._http, self._settings.api_key) as request:
            try:
                response = self._http.send(request, stream=True)
                try:
                    (read if response.is_success else httpx.Response.read)(response)
                finally:
                    response.close()
            except httpx.TransportError as error:
                return error
        return response


class AsyncConnection:
    """A connection for asyncio. Use it in an `async with` block, or close it."""

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        retries: int = _RETRIES,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._settings = _Settings(base_url, api_key, retries)
        self._http = httpx.AsyncClient(**self._settings.http, transport=transport)

    async def __aenter__(self: T) -> T:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    async def open_link(self, url: str) -> str:
        """Opens a signing link; the id of the signer, in whose name the calls of `signer` then act."""
        return _signer(await self.response(_opening(url)))

    async def answer(self, call: Call, kind: type[T]) -> T:
        """The answer as a struct."""
        return _decoded(await self.response(call), kind)

    async def either(self, call: Call, first: type[T], second: type[U]) -> T | U:
        """The answer as the first struct that it fits."""
        return _fitting(await self.response(call), first, second)

    async def done(self, call: Call) -> None:
        await self.response(call)

    async def text(self, call: Call) -> str:
        return (await self.response(call)).text

    async def pages(self, call: Call, kind: type[P], items: Callable[[P], list[T]]) -> AsyncIterator[T]:
        """Everything in a list, page by page as it is asked for."""
        while True:
            page = await self.answer(call, kind)
            for item in items(page):
                yield item
            if page.next_cursor is None:
                return
            call = _next(call, page.next_cursor)

    def download(self, call: Call) -> AsyncDownload:
        """The file that the call gives; nothing is sent until it is read or saved."""
        return AsyncDownload(lambda read: self.response(call, read))

    async def events(self, call: Call) -> AsyncIterator[ServerEvent]:
        """Server-sent events, as they come."""
        with call.request(self._http, self._settings.api_key) as request:
            response = await self._http.send(request, stream=True)
            try:
                if not response.is_success:
                    await response.aread()
                lines: list[str] = []
                async for line in retries.check_outcome(call, response).aiter_lines():
                    lines.append(line)
                    if not line:
                        for event in parse_events(lines):
                            yield event
                        lines = []
            finally:
                await response.aclose()

    async def response(
        self, call: Call, read: Callable[[httpx.Response], Awaitable[object]] = httpx.Response.aread
    ) -> httpx.Response:
        """The good answer to the call, its body read by `read`."""
        lost = False
        for attempt in itertools.count():
            outcome = await self._outcome(call, read)
            pause = retries.pause(call, outcome, attempt) if attempt < self._settings.retries else None
            if pause is None:
                return retries.check_outcome(call, outcome, lost=lost)
            lost = lost or retries.may_be_done(outcome)
            await asyncio.sleep(pause)
        raise AssertionError

    async def _outcome(self, call: Call, read: Callable[[httpx.Response], Awaitable[object]]) -> Outcome:
        with call.request(self._http, self._settings.api_key) as request:
            try:
                response = await self._http.send(request, stream=True)
                try:
                    await (read if response.is_success else httpx.Response.aread)(response)
                finally:
                    await response.aclose()
            except httpx.TransportError as error:
                return error
        return response


def _opening(url: str) -> Call:
    # Whoever does not ask for HTML is let in at once, with a redirect that sets the cookie.
    return Call("GET", url, headers={"Accept": "application/json"}, key=False, redirects=True)


def _signer(response: httpx.Response) -> str:
    return urlsplit(str(response.headers.get("Location", ""))).path.rpartition("/")[2]


def _next(call: Call, cursor: str) -> Call:
    return msgspec.structs.replace(call, query={**call.query, "cursor": cursor})


def _fitting(response: httpx.Response, first: type[T], second: type[U]) -> T | U:
    try:
        return decoder(first).decode(response.content)
    except msgspec.DecodeError:
        return _decoded(response, second)


def _decoded(response: httpx.Response, kind: type[T]) -> T:
    try:
        return decoder(kind).decode(response.content)
    except msgspec.DecodeError as error:
        told = f"{response.request.method} {response.request.url.path} with {response.status_code}"
        raise DeedboxError(f"The server answered {told}, and not as Deedbox does: {error}") from error

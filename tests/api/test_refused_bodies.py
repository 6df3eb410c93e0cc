"""A body that a proxy hands on and the guard refuses: its rest is read first, within bounds, and kept nowhere."""

import asyncio
import ipaddress
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from deedbox.kernel import limits
from deedbox.kernel.settings.fields import Networks
from deedbox.web import limits as web_limits
from tests.api.conftest import Api, opened, served
from tests.conftest import HandClock

PROXY, OTHER = "127.0.0.1", "127.0.0.2"
CALLER = "192.0.2.1"
pytestmark = [pytest.mark.anyio, pytest.mark.one_database]


@pytest.fixture
async def site(database_url: str, tmp_path: Path, clock: HandClock) -> AsyncIterator["Site"]:
    proxies = Networks([ipaddress.ip_network(f"{PROXY}/32")])
    async with opened(database_url, tmp_path, clock, trusted_proxies=proxies) as api, served(api) as port:
        yield Site(api, port)


class Site:
    def __init__(self, api: Api, port: int) -> None:
        self.places = api.guard.in_flight_limit.held
        self._port = port

    async def post(self, size: int | None, *headers: str, source: str = PROXY) -> "Sender":
        """An upload without a key, of which only the head is sent."""
        head = ["POST /documents/upload HTTP/1.1", "Host: a", f"X-Forwarded-For: {CALLER}", *headers]
        head += ["Transfer-Encoding: chunked" if size is None else f"Content-Length: {size}", "", ""]
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port, local_addr=(source, 0))
        writer.write("\r\n".join(head).encode())
        return Sender(reader, writer)

    async def hears_out(self, bodies: int) -> None:
        """Waits until so many refused bodies are being read."""
        while self.places.get("refused", 0) != bodies:
            await asyncio.sleep(0.001)


class Sender:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    def hang_up(self) -> None:
        self._writer.close()

    async def status(self) -> int:
        """Of the answer; then it hangs up."""
        line = await self._reader.readline()
        self.hang_up()
        return int(line.split()[1])


async def test_who_sends_through_a_proxy_is_answered_when_all_is_sent(site: Site) -> None:
    sender = await site.post(3 * limits.MB)
    await site.hears_out(1)
    for _ in range(3):
        await sender.send(b"x" * limits.MB)
    assert await sender.status() == 401
    assert site.places == {}


async def test_who_sends_without_a_proxy_is_answered_at_once(site: Site) -> None:
    assert await (await site.post(limits.MB, source=OTHER)).status() == 401


async def test_who_waits_for_leave_to_send_is_answered_at_once(site: Site) -> None:
    assert await (await site.post(limits.MB, "Expect: 100-continue")).status() == 401


async def test_a_body_of_more_than_is_read_is_answered_at_once(site: Site) -> None:
    assert await (await site.post(web_limits.REFUSED_BODY_BYTES + 1)).status() == 401


async def test_a_body_of_unknown_size_is_read_up_to_the_bound(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_limits, "REFUSED_BODY_BYTES", limits.MB)
    sender = await site.post(None)
    await site.hears_out(1)
    await sender.send(b"%x\r\n%s\r\n" % (limits.MB, b"x" * limits.MB))
    assert await sender.status() == 401


async def test_who_stalls_is_answered_nevertheless(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_limits, "HEAD_SECONDS", 0.2)
    assert await (await site.post(limits.MB)).status() == 401


async def test_one_address_has_only_so_many_refused_bodies_read(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_limits, "REFUSED_BODIES_PER_ADDRESS", 2)
    held = [await site.post(2) for _ in range(2)]
    await site.hears_out(2)
    assert await (await site.post(2)).status() == 401
    for sender in held:
        await sender.send(b"xx")
        assert await sender.status() == 401
    await site.hears_out(0)


async def test_whoever_hangs_up_leaves_nothing_behind(site: Site) -> None:
    sender = await site.post(limits.MB)
    await site.hears_out(1)
    sender.hang_up()
    await site.hears_out(0)

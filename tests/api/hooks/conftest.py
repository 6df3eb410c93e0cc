"""What the tests of webhooks share: an office whose documents are signed, and a receiver on loopback that is told."""

import asyncio
from collections.abc import AsyncIterator
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest

from deedbox.kernel.settings import Networks
from tests.api.conftest import Api, Key, opened
from tests.api.signing.conftest import Office
from tests.conftest import HandClock
from tests.webhooks.sink import Received, Sink, listening

LOOPBACK = Networks([ip_network("127.0.0.0/8")])


class Desk(Office):
    """An office with webhooks: what it calls, and what its receiver gets."""

    def __init__(self, api: Api, sink: Sink) -> None:
        super().__init__(api)
        self.sink = sink

    async def subscribe(self, *events: str, url: str = "", **more: Any) -> Any:
        """A new subscription to the sink, with its secret."""
        body = {"target_url": url or self.sink.url, "events": list(events) or ["document.sent"], **more}
        answer = await self.api.post("/api/v1/hooks", body)
        assert answer.status_code == 201, answer.text
        return answer.json()

    async def hook(self, hook: Any) -> Any:
        return (await self.api.get(f"/api/v1/hooks/{hook['id']}")).json()

    async def do(self, hook: Any, verb: str, body: Any = None, status: int = 200) -> Any:
        path = f"/api/v1/hooks/{hook['id']}/{verb}"
        answer = await (self.api.call("POST", path) if body is None else self.api.post(path, body))
        assert answer.status_code == status, answer.text
        return answer.json()

    async def deliveries(self, hook: Any, **query: Any) -> list[Any]:
        """The newest first."""
        found = await self.api.get(f"/api/v1/hooks/{hook['id']}/deliveries", params=query)
        assert found.status_code == 200, found.text
        return list(found.json()["deliveries"])

    async def ended(self, delivery: Any) -> Any:
        """The delivery with its attempts, once it is not on its way any more."""
        async with asyncio.timeout(60):
            while (found := await self.delivery(delivery))["status"] in ("pending", "sending"):
                await asyncio.sleep(0.02)
        return found

    async def attempted(self, delivery: Any, number: int = 1) -> Any:
        """The delivery once so many attempts at it have ended."""
        async with asyncio.timeout(60):
            while (found := await self.delivery(delivery))["attempts"] < number or found["status"] == "sending":
                await asyncio.sleep(0.02)
        return found

    async def delivery(self, delivery: Any, key: Key | str = "") -> Any:
        answer = await self.api.get(f"/api/v1/deliveries/{delivery['id']}", key=key)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def arrived(self, number: int, path: str = "/hook") -> list[Received]:
        """What the sink got there, once it has got so many."""
        async with asyncio.timeout(60):
            while len(self.sink.to(path)) < number:
                await asyncio.sleep(0.02)
        return self.sink.to(path)


@pytest.fixture
async def sink() -> AsyncIterator[Sink]:
    async with listening() as receiver:
        yield receiver


@pytest.fixture
async def desk(database_url: str, tmp_path: Path, clock: HandClock, sink: Sink) -> AsyncIterator[Desk]:
    async with opened(database_url, tmp_path, clock, egress_allow=LOOPBACK) as made:
        await made.settle()
        await made.deedbox.start()
        try:
            yield Desk(made, sink)
        finally:
            await made.deedbox.stop()

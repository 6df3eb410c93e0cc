"""A running server, and connections that break."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests import server
from tests.api.search.files import pdf
from tests.faults.installation import ROOT

PATIENCE = 60.0


class Breaking(httpx.HTTPTransport):
    """A connection whose first answers to a method are lost on their way, after the server has acted."""

    def __init__(self, method: str, times: int = 1) -> None:
        super().__init__()
        self.method, self.left, self.sent = method, times, 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = super().handle_request(request)
        self.sent += request.method == self.method
        if request.method == self.method and self.left:
            self.left -= 1
            response.read()
            raise httpx.ReadError("The connection was reset")
        return response


class AsyncBreaking(httpx.AsyncHTTPTransport):
    """As Breaking, for asyncio."""

    def __init__(self, method: str) -> None:
        super().__init__()
        self.method, self.left = method, 1

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await super().handle_async_request(request)
        if request.method == self.method and self.left:
            self.left -= 1
            await response.aread()
            raise httpx.ReadError("The connection was reset")
        return response


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[server.Server]:
    data = tmp_path_factory.mktemp("client") / "data"
    env = {"PYTHONPATH": str(ROOT), "DEEDBOX_EGRESS_ALLOW": "127.0.0.0/8"}
    started = server.start(data, module="tests.faults.search_server", env=env)
    yield started
    started.stop()
    if started.process.stdout:
        started.process.stdout.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a PDF."""
    (tmp_path / "lease.pdf").write_bytes(pdf("A lease between two parties.", size=(595, 842)))
    return tmp_path

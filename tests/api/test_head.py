"""HEAD: wherever GET answers, with its headers and without its body."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from litestar import get
from litestar.response import Stream

from deedbox.web import limits
from deedbox.web.http.auth import requires
from tests import server
from tests.api.answers import faults, routes
from tests.api.conftest import Api
from tests.api.test_login import is_in, link

pytestmark = pytest.mark.anyio

OF_THE_MOMENT = {"x-request-id", "x-ratelimit-remaining", "x-ratelimit-reset"}


def lasting(response: httpx.Response) -> dict[str, str]:
    return {name: value for name, value in response.headers.items() if name not in OF_THE_MOMENT}


@pytest.mark.one_database
async def test_every_get_but_one_time_links_answers_head_with_the_same_headers_and_no_body(api: Api) -> None:
    table = routes(api.guard)
    paths = {route.path for route in table if route.method == "GET" and not route.path.startswith("/s/")}
    assert paths
    assert paths == {route.path for route in table if route.method == "HEAD"}
    for path in sorted(paths - {"/metrics"}):  # which tells another number each time
        full, head = await api.get(path), await api.call("HEAD", path)
        assert (head.status_code, head.content) == (full.status_code, b""), path
        assert lasting(head) == lasting(full), path


@pytest.mark.one_database
async def test_head_without_a_key_is_refused_like_get(api: Api) -> None:
    for path in ("/documents", "/api/v1/documents"):
        refused = await api.call("HEAD", path, key=None)
        assert faults(path, refused, 401) == []
        assert (refused.content, int(refused.headers["content-length"]) > 0) == (b"", True)


@pytest.mark.one_database
async def test_head_counts_as_a_request(api: Api) -> None:
    key = await api.make_key(per_minute=1, per_day=10)
    assert (await api.call("HEAD", "/documents", key=key)).status_code == 200
    assert (await api.call("HEAD", "/documents", key=key)).status_code == 429


@pytest.mark.one_database
async def test_asking_for_the_head_of_a_login_link_does_not_use_it_up(api: Api) -> None:
    path = await link(api)
    async with api.client() as client:
        assert (await client.head(path)).status_code == 200
        assert (await client.post(path)).status_code == 303
        assert await is_in(client)


@pytest.mark.one_database
async def test_a_path_without_get_takes_no_head(api: Api) -> None:
    refused = await api.call("HEAD", "/query")
    assert faults("/query", refused, 405) == []


def test_on_the_wire_the_connection_goes_on_after_head(tmp_path: Path) -> None:
    with server.running(tmp_path / "data") as running, running.client() as http:
        text = b"The lessee pays the rent.\n" * 4000
        uploaded = http.post("/documents/upload", files={"file": ("lease.txt", text)}).json()["doc_id"]
        content = f"/documents/{uploaded}/content"
        for headers in ({}, {"Range": "bytes=0-9"}):
            head = http.head(content, headers=headers)
            assert (head.status_code, head.content) == (200, b"")
            assert (head.headers["content-length"], head.headers["accept-ranges"]) == (str(len(text)), "bytes")
        assert http.head(content, headers={"If-None-Match": head.headers["etag"]}).status_code == 304
        assert http.get(content).content == text
        assert http.head("/documents/none/content").status_code == 404


@pytest.mark.one_database
async def test_the_head_of_a_stream_that_never_ends_is_answered_at_once(api: Api) -> None:
    ended = asyncio.Event()

    async def forever() -> AsyncIterator[bytes]:
        try:
            while True:
                yield b"tick"
                await asyncio.sleep(0.001)
        finally:
            ended.set()

    @get("/ticks", opt=requires("search:read"))
    async def ticks() -> Stream:
        return Stream(forever())

    api.plant(ticks, alone=True)
    async with asyncio.timeout(limits.REQUEST_SECONDS):
        head = await api.call("HEAD", "/ticks")
        assert (head.status_code, head.content) == (200, b"")
        await ended.wait()
    assert api.guard.metrics.in_flight == 0

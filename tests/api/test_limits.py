"""What bounds a request: size, time, how many at once, how many from one address."""

import asyncio
import gc
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from litestar import get, post
from litestar.response import Stream

from deedbox.kernel import limits
from deedbox.kernel.errors import ServiceError
from deedbox.web import limits as web_limits
from deedbox.web.http import context
from deedbox.web.http.auth import requires
from deedbox.web.http.context import AnyRequest
from tests.api.answers import faults
from tests.api.conftest import Api, opened
from tests.conftest import HandClock

pytestmark = [pytest.mark.anyio, pytest.mark.both_databases]

JSON = {"Content-Type": "application/json"}


@pytest.mark.one_database
async def test_a_body_of_exactly_the_limit_is_read_and_one_byte_more_is_413(api: Api) -> None:
    body = b'{"name": "a"}'
    full = body + b" " * (web_limits.JSON_BODY_BYTES - len(body))
    assert (await api.call("POST", "/api/v1/keys", content=full, headers=JSON)).status_code == 201
    answer = await api.call("POST", "/api/v1/keys", content=full + b" ", headers=JSON)
    assert faults("/api/v1/keys", answer, 413) == []
    assert answer.headers["X-Service-Error-Code"] == "too_large"


@pytest.mark.one_database
async def test_a_body_that_says_too_much_is_refused_unread(api: Api) -> None:
    read = []

    async def endless() -> AsyncIterator[bytes]:
        while True:
            read.append(65536)
            yield b" " * 65536

    headers = {**JSON, "Content-Length": str(10**12)}
    answer = await api.call("POST", "/api/v1/keys", content=endless(), headers=headers)
    assert (answer.status_code, read) == (413, [])
    answer = await api.call("POST", "/api/v1/keys", content=endless(), headers=JSON)
    assert answer.status_code == 413
    assert sum(read) <= web_limits.JSON_BODY_BYTES + 3 * 65536


@pytest.mark.parametrize("path", ["/api/v1/keys", "/login"])
@pytest.mark.one_database
async def test_a_body_that_comes_too_slowly_is_408(api: Api, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_limits, "REQUEST_SECONDS", 0.05)

    async def slow() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.sleep(60)

    kind = "application/json" if path.startswith("/api") else "application/x-www-form-urlencoded"
    answer = await api.call("POST", path, content=slow(), headers={"Content-Type": kind})
    assert faults(path, answer, 408) == []
    assert answer.headers["X-Service-Error-Code"] == "timed_out"


async def test_a_request_that_timed_out_is_no_longer_under_way(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = asyncio.Event()

    async def sleeping() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            stopped.set()

    api.plant(get("/planted", opt=requires("search:read"))(sleeping))
    monkeypatch.setattr(web_limits, "REQUEST_SECONDS", 2)
    assert (await api.get("/planted")).status_code == 408
    assert stopped.is_set()
    assert api.guard.metrics.in_flight == 0


@pytest.mark.one_database
async def test_a_timeout_inside_a_route_that_is_not_the_requests_own_is_500(api: Api) -> None:
    async def impatient() -> None:
        async with asyncio.timeout(0):
            await asyncio.sleep(1)

    api.plant(get("/planted", opt=requires("search:read"))(impatient))
    assert faults("/planted", await api.get("/planted"), 500) == []


@pytest.mark.one_database
async def test_a_caller_that_hangs_up_is_no_failure_of_the_server(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    sent: list[Any] = []
    pieces = [{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}]

    async def receive() -> Any:
        return pieces.pop(0) if pieces else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"authorization", f"Bearer {api.key.plain}".encode()), (b"content-type", b"application/json")]
    await api.guard(_scope("POST", "/api/v1/keys", headers), receive, send)
    assert sent[0]["status"] == 400
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def _scope(method: str, path: str, headers: list[tuple[bytes, bytes]]) -> dict[str, Any]:
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(b"host", b"deedbox.test"), *headers],
        "client": ("127.0.0.1", 5000),
        "server": ("deedbox.test", 80),
    }


@pytest.mark.one_database
async def test_only_so_many_requests_are_under_way_at_once(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = asyncio.Event()

    async def waiting() -> None:
        await go_on.wait()

    api.plant(get("/planted", opt=requires("search:read"))(waiting))
    monkeypatch.setattr(limits, "IN_FLIGHT_REQUESTS", 3)
    under_way = [asyncio.create_task(api.get("/planted")) for _ in range(3)]
    while api.guard.metrics.in_flight < 3:
        await asyncio.sleep(0.001)
    for path in ("/health", "/api/v1/me"):
        answer = await api.get(path)
        assert faults(path, answer, 503) == []
        assert answer.headers["X-Service-Error-Code"] == "busy"
    go_on.set()
    assert [answer.status_code for answer in await asyncio.gather(*under_way)] == [200] * 3
    assert (await api.get("/health")).status_code == 200


async def test_a_stopping_server_finishes_what_is_under_way_and_refuses_the_rest(api: Api) -> None:
    go_on = asyncio.Event()

    async def waiting() -> str:
        await go_on.wait()
        return "done"

    api.plant(get("/planted", opt=requires("search:read"))(waiting))
    under_way = asyncio.create_task(api.get("/planted"))
    while api.guard.metrics.in_flight < 1:
        await asyncio.sleep(0.001)
    api.guard.draining = True
    refused = await api.get("/health")
    assert (refused.status_code, refused.headers["X-Service-Error-Code"]) == (503, "draining")
    assert int(refused.headers["Retry-After"]) >= 1
    go_on.set()
    assert (await under_way).status_code == 200


async def test_a_request_whose_key_is_looked_up_when_the_server_begins_to_stop_is_finished(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    admit = api.guard.admit

    async def stopping_meanwhile(*words: Any) -> Any:
        api.guard.draining = True
        return await admit(*words)

    monkeypatch.setattr(api.guard, "admit", stopping_meanwhile)
    assert (await api.get("/api/v1/me")).status_code == 200
    assert (await api.get("/api/v1/me")).status_code == 503


@pytest.mark.parametrize("path", ["/query", "/api/v1/documents"])
async def test_what_was_refused_is_out_of_memory_at_once(api: Api, path: str) -> None:
    """Not when the collector comes: a caller could fill the memory with bodies until then."""

    def errors() -> list[int]:
        return [id(one) for one in gc.get_objects() if isinstance(one, ServiceError)]

    gc.collect()
    gc.disable()
    try:
        before = errors()
        assert (await api.post(path, {"query": 1, "title": 1})).status_code == 400
        assert errors() == before
    finally:
        gc.enable()


async def test_callers_without_a_key_are_counted_by_address(
    database_url: str, tmp_path: Path, clock: HandClock
) -> None:
    async with opened(database_url, tmp_path, clock, anonymous_per_minute=3) as api:
        await api.settle()
        left = [(await api.get("/health", key=None)).headers["X-RateLimit-Remaining"] for _ in range(3)]
        assert left == ["2", "1", "0"]
        for path in ("/health", "/api/v1/me", "/login"):
            refused = await api.get(path, key=None)
            assert faults(path, refused, 429) == []
        assert (await api.get("/health", key="deed_live_" + "0" * 32)).status_code == 429
        assert (await api.get("/health", key=None, address="127.0.0.2")).status_code == 401
        assert (await api.get("/health")).status_code == 200, "a good key is not counted by its address"
        clock.forward(60)
        assert (await api.get("/health", key=None)).status_code == 401


async def test_an_ipv6_network_is_one_caller_and_each_ipv4_address_is_another(
    database_url: str, tmp_path: Path, clock: HandClock
) -> None:
    callers = {"::ffff:192.0.2.1": "1", "192.0.2.1": "0", "::ffff:192.0.2.2": "1", "::1": "1", "2001:db8::1%eth0": "1"}
    callers |= {"2001:db8::2": "0", "2001:db8:0:1::1": "1", "no:address": "1"}
    async with opened(database_url, tmp_path, clock, anonymous_per_minute=2) as api:
        left = {
            address: (await api.get("/health", key=None, address=address)).headers["X-RateLimit-Remaining"]
            for address in callers
        }
    assert left == callers


@pytest.mark.one_database
async def test_an_answer_that_breaks_off_is_cut_and_not_completed(api: Api) -> None:
    async def half() -> Stream:
        async def pieces() -> AsyncIterator[bytes]:
            yield b"first half"
            raise RuntimeError("no second half")

        return Stream(pieces())

    api.plant(get("/planted", opt=requires("search:read"))(half))
    with pytest.raises(ConnectionAbortedError):
        await api.get("/planted")


@pytest.mark.one_database
async def test_a_route_may_give_itself_more_time(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    async def patient(request: AnyRequest) -> str:
        deadline = context.of(request).deadline
        assert deadline is not None
        deadline.reschedule(None)
        await asyncio.sleep(2.2)
        return "done"

    api.plant(post("/planted", opt=requires("search:read"), status_code=200)(patient))
    monkeypatch.setattr(web_limits, "REQUEST_SECONDS", 2)
    assert (await api.call("POST", "/planted")).status_code == 200


@pytest.mark.one_database
async def test_one_key_takes_a_quarter_of_the_places(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = asyncio.Event()

    async def waiting() -> None:
        await go_on.wait()

    api.plant(get("/planted", opt=requires("search:read"))(waiting))
    monkeypatch.setattr(limits, "IN_FLIGHT_PER_CALLER", 3)
    other = await api.make_key()
    under_way = [asyncio.create_task(api.get("/planted")) for _ in range(3)]
    while api.guard.metrics.in_flight < 3:
        await asyncio.sleep(0.001)
    refused = await api.get("/health")
    assert faults("/health", refused, 503) == []
    assert (refused.headers["X-Service-Error-Code"], int(refused.headers["Retry-After"]) >= 1) == ("busy", True)
    assert (await api.get("/health", key=other)).status_code == 200
    assert (await api.get("/livez")).status_code == 200
    go_on.set()
    assert {answer.status_code for answer in await asyncio.gather(*under_way)} == {200}
    assert (await api.get("/health")).status_code == 200
    assert not api.guard.in_flight_limit.held


@pytest.mark.one_database
async def test_an_address_has_as_many_requests_under_way_as_connections(
    database_url: str, tmp_path: Path, clock: HandClock
) -> None:
    go_on = asyncio.Event()

    async def waiting() -> None:
        await go_on.wait()

    async with opened(database_url, tmp_path, clock, connections_per_address=2) as api:
        await api.settle()
        api.plant(get("/planted", opt=requires("search:read"))(waiting))
        keys = [await api.make_key() for _ in range(3)]
        under_way = [asyncio.create_task(api.get("/planted", key=key)) for key in keys[:2]]
        while api.guard.metrics.in_flight < 2:
            await asyncio.sleep(0.001)
        assert (await api.get("/health", key=keys[2])).status_code == 503
        assert (await api.get("/health", key=keys[2], address="127.0.0.2")).status_code == 200
        go_on.set()
        assert {answer.status_code for answer in await asyncio.gather(*under_way)} == {200}

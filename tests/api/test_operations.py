"""What those who run the server ask: alive, ready, metrics."""

import asyncio
import re
import resource
from collections.abc import Callable
from typing import TypeVar

import pytest

from deedbox.kernel import jobs, limits
from deedbox.kernel.db import Dialect, Isolation, Listeners, Tx
from tests.api.answers import faults
from tests.api.conftest import Api

T = TypeVar("T")

pytestmark = pytest.mark.anyio

PROBES = ("/livez", "/readyz", "/metrics", "/openapi.json")


@pytest.mark.one_database
async def test_probes_need_no_key_and_ignore_a_wrong_one(api: Api) -> None:
    for path in PROBES:
        for key in (None, "nonsense", "deed_live_" + "0" * 32):
            assert (await api.get(path, key=key)).status_code == 200, path


@pytest.mark.one_database
async def test_probes_are_never_counted_and_never_refused(api: Api) -> None:
    api.guard.anonymous = type(api.guard.anonymous)(per_minute=1, per_day=None)
    for path in PROBES * 3:
        answer = await api.get(path, key=None)
        assert (answer.status_code, answer.headers["X-RateLimit-Remaining"]) == (200, "1")
    assert (await api.get("/login", key=None)).status_code == 200
    assert (await api.get("/login", key=None)).status_code == 429
    assert (await api.get("/livez", key=None)).status_code == 200


@pytest.mark.one_database
async def test_livez_and_readyz_answer_in_plain_text(api: Api) -> None:
    alive, ready = await api.get("/livez", key=None), await api.get("/readyz", key=None)
    assert (alive.text, ready.text) == ("ok\n", "ready\n")
    assert alive.headers["content-type"].startswith("text/plain")


@pytest.mark.all_in_folder("the disk that is full is the one that the server writes to itself")
async def test_readyz_tells_for_a_while_that_the_disk_was_full(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, most[1]))  # as a full disk: no file takes another byte
    try:
        refused = await api.post("/api/v1/keys", {"name": "One too many"})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, most)
    assert (refused.status_code, refused.headers["X-Service-Error-Code"]) == (503, "storage_full")
    assert re.fullmatch(r"ready\nstorage: storage_full \d+ s ago\n", (await api.get("/readyz", key=None)).text)
    monkeypatch.setattr(limits, "REFUSAL_TOLD_SECONDS", 0)
    assert (await api.get("/readyz", key=None)).text == "ready\n"


@pytest.mark.one_database
async def test_a_server_that_stops_is_alive_and_not_ready(api: Api) -> None:
    api.guard.draining = True
    assert (await api.get("/livez", key=None)).status_code == 200
    ready = await api.get("/readyz", key=None)
    assert (ready.status_code, ready.headers["Retry-After"]) == (503, "1")
    assert ready.headers["X-Service-Error-Code"] == "draining"


async def test_a_server_without_its_database_is_alive_and_not_ready(api: Api) -> None:
    await api.deedbox.db.write(lambda tx: tx.run("alter table workspaces rename to elsewhere"))
    assert (await api.get("/livez", key=None)).status_code == 200
    assert (await api.get("/readyz", key=None)).status_code == 500


class StuckDatabase:
    """A database that takes every question and answers none."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.listeners = Listeners()

    async def read(self, _: Callable[[Tx], T]) -> T:
        await asyncio.Event().wait()
        raise AssertionError

    async def read_aside(self, _: Callable[[Tx], T]) -> T:
        await asyncio.Event().wait()
        raise AssertionError

    async def write(self, _: Callable[[Tx], T], *, isolation: Isolation = "serializable") -> T:
        del isolation
        await asyncio.Event().wait()
        raise AssertionError

    async def listen(self) -> None:
        return

    async def close(self) -> None:
        return


async def test_with_a_database_that_is_stuck_the_server_is_alive_and_requests_end(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "REQUEST_SECONDS", 0.2)
    working, stuck = api.deedbox.db, StuckDatabase(api.deedbox.db.dialect)
    api.deedbox.db = stuck
    monkeypatch.setattr(api.deedbox.limiter, "_db", stuck)
    assert (await api.get("/livez", key=None)).status_code == 200
    for path in ("/readyz", "/health", "/api/v1/me"):
        assert faults(path, await api.get(path), 408) == []
    api.deedbox.db = working


async def test_metrics_count_the_jobs_that_are_not_done(api: Api) -> None:
    now = api.clock.now()
    await api.deedbox.db.write(lambda tx: jobs.enqueue(tx, jobs.NewJob("note", unique_key="a"), now=now))
    await api.deedbox.db.write(lambda tx: jobs.enqueue(tx, jobs.NewJob("note", unique_key="b"), now=now))
    await api.deedbox.db.write(lambda tx: tx.run("update jobs set state = 'done' where unique_key = 'a'"))
    text = (await api.get("/metrics", key=None)).text
    counted = re.findall(r'deedbox_jobs{status="(\w+)"} (\d+)', text)
    assert counted == [("ready", "1"), ("running", "0"), ("parked", "0")]


@pytest.mark.one_database
async def test_probes_answer_while_too_many_requests_are_under_way(api: Api) -> None:
    api.guard.metrics.in_flight = limits.IN_FLIGHT_REQUESTS
    assert (await api.get("/health")).status_code == 503
    assert [(await api.get(path, key=None)).status_code for path in PROBES] == [200] * 4


async def test_metrics_count_requests_by_route_and_status(api: Api) -> None:
    await api.get("/health")
    await api.get("/health", key=None)
    await api.call("DELETE", "/api/v1/keys/key_01JD0000000000000000000000")
    await api.get('/nothing"%0A{evil}')
    answer = await api.get("/metrics", key=None)
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    lines = answer.text.splitlines()
    assert 'deedbox_requests_total{method="GET",route="/health",status="200"} 1' in lines
    assert 'deedbox_requests_total{method="DELETE",route="/api/v1/keys/{key_id}",status="404"} 1' in lines
    assert "evil" not in answer.text
    assert 'deedbox_jobs{status="ready"} 0' in lines
    assert "deedbox_request_seconds_count 4" in lines
    assert 'deedbox_request_seconds_bucket{le="+Inf"} 4' in lines


@pytest.mark.one_database
async def test_metrics_are_text_that_prometheus_reads(api: Api) -> None:
    await api.get("/health")
    sample = re.compile(r'[a-z_]+(\{[a-z]+="[^"\\\n]*"(,[a-z]+="[^"\\\n]*")*\})? -?[0-9.]+')
    for line in (await api.get("/metrics", key=None)).text.splitlines():
        assert line.startswith(("# HELP ", "# TYPE ")) or sample.fullmatch(line), line

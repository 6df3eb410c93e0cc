"""What those who run the server ask: alive, ready, metrics."""

import asyncio
import functools
import re
import resource
from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

import pytest

from deedbox.kernel import jobs, limits
from deedbox.kernel.db import Dialect, Isolation, Listeners, Tx
from deedbox.web import limits as web_limits
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
    monkeypatch.setattr(web_limits, "REFUSAL_TOLD_SECONDS", 0)
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
    monkeypatch.setattr(web_limits, "REQUEST_SECONDS", 0.2)
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
    later = now + timedelta(hours=1)
    await api.deedbox.db.write(lambda tx: jobs.enqueue(tx, jobs.NewJob("note", run_at=later), now=now))
    await api.deedbox.db.write(lambda tx: jobs.enqueue(tx, jobs.NewJob("timer", run_at=later), now=now))
    api.clock.forward(7)
    assert await work(api, "note") == {"due": 1, "oldest_due_seconds": 7, "running": 0, "failed": 0, "stalled": 0}
    assert await work(api, "finalize") == dict.fromkeys(await work(api, "note"), 0)
    assert await work(api, "timer") == {}
    await api.deedbox.db.write(lambda tx: tx.run("update jobs set state = 'parked' where unique_key = 'b'"))
    assert (await work(api, "note"))["failed"] == 1


async def work(api: Api, kind: str) -> dict[str, int]:
    """What /metrics says of this kind of background work."""
    text = (await api.get("/metrics", key=None)).text
    return {name: int(number) for name, number in re.findall(rf'deedbox_jobs_(\w+){{kind="{kind}"}} (\d+)', text)}


async def test_work_that_nobody_does_is_reported(api: Api) -> None:
    now = api.clock.now()

    async def report() -> tuple[int, str]:
        await api.deedbox.watch()
        return (await work(api, "finalize"))["stalled"], (await api.get("/readyz", key=None)).text

    await api.deedbox.db.write(lambda tx: jobs.enqueue(tx, jobs.NewJob("finalize", priority=jobs.URGENT), now=now))
    assert await report() == (0, "ready\n")
    api.clock.forward(limits.JOB_STALLED_SECONDS)
    assert await report() == (1, "ready\njobs: nobody does finalize (1 due)\n")
    # Somebody does: the same kind runs.
    held = {"now": api.clock.now().timestamp(), "until": api.clock.now().timestamp() + 30}
    other = jobs.NewJob("finalize", priority=jobs.URGENT, unique_key="other")
    await api.deedbox.db.write(lambda tx: jobs.enqueue(tx, other, now=api.clock.now()))
    run = "update jobs set state = 'running', lease_until = :until where unique_key = 'other' and run_at <= :now"
    await api.deedbox.db.write(lambda tx: tx.run(run, **held))
    assert await report() == (0, "ready\n")
    # Its process has died: nobody has renewed the lease.
    api.clock.forward(31)
    assert await report() == (1, "ready\njobs: nobody does finalize (2 due)\n")


@pytest.mark.parametrize(
    ("priority", "before", "stalled"),
    [
        (jobs.BULK, True, 1),
        (jobs.NORMAL, False, 1),
        (jobs.NORMAL, True, 0),
        (jobs.URGENT, True, 0),
    ],
)
async def test_work_that_waits_in_line_is_not_stalled(api: Api, priority: int, before: bool, stalled: int) -> None:
    other = jobs.NewJob("note", priority=priority, unique_key="other")
    waiting = jobs.NewJob("remind", priority=jobs.NORMAL)
    for job in (other, waiting) if before else (waiting, other):
        await api.deedbox.db.write(functools.partial(jobs.enqueue, job=job, now=api.clock.now()))
        api.clock.forward(1)
    api.clock.forward(limits.JOB_STALLED_SECONDS)
    until = api.clock.now().timestamp() + 30
    run = "update jobs set state = 'running', lease_until = :until where unique_key = 'other'"
    await api.deedbox.db.write(lambda tx: tx.run(run, until=until))
    assert (await work(api, "remind"))["stalled"] == stalled


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
    assert 'deedbox_jobs_due{kind="mail"} 0' in lines
    assert "deedbox_request_seconds_count 4" in lines
    assert 'deedbox_request_seconds_bucket{le="+Inf"} 4' in lines


@pytest.mark.one_database
async def test_metrics_are_text_that_prometheus_reads(api: Api) -> None:
    await api.get("/health")
    sample = re.compile(r'[a-z_]+(\{[a-z]+="[^"\\\n]*"(,[a-z]+="[^"\\\n]*")*\})? -?[0-9.]+')
    for line in (await api.get("/metrics", key=None)).text.splitlines():
        assert line.startswith(("# HELP ", "# TYPE ")) or sample.fullmatch(line), line

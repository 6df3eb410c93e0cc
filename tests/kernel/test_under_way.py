"""Requests go before work that can wait, for a while."""

import asyncio

import pytest

from deedbox.kernel import limits
from deedbox.kernel.in_flight import RequestsInFlight

pytestmark = pytest.mark.anyio
LONG = 60.0


async def waiting(under_way: RequestsInFlight) -> "asyncio.Task[None]":
    """Someone who lets requests pass, and has begun to wait."""
    task = asyncio.create_task(under_way.passed())
    while not under_way._left._waiters:
        assert not task.done(), "nobody waits"
        await asyncio.sleep(0)
    return task


async def test_where_no_request_is_under_way_nobody_waits() -> None:
    await RequestsInFlight().passed()


async def test_work_that_can_wait_begins_when_the_last_request_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LET_PASS_SECONDS", LONG)
    under_way = RequestsInFlight()
    under_way.begin("one")
    under_way.begin("two")
    task = await waiting(under_way)
    under_way.end("two")
    await asyncio.sleep(0)
    assert not task.done()
    under_way.end("one")
    await task


async def test_whoever_lets_requests_pass_goes_on_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LET_PASS_SECONDS", 0.01)
    under_way = RequestsInFlight()
    under_way.begin("one")
    async with asyncio.timeout(LONG):
        await under_way.passed()


async def test_nobody_waits_for_a_request_that_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    under_way = RequestsInFlight()
    under_way.begin("a stream")
    monkeypatch.setattr(limits, "LET_PASS_SECONDS", 0.0)  # by now it is older than that
    task = asyncio.create_task(under_way.passed())
    await asyncio.sleep(0)
    assert task.done()

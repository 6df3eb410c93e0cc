"""Spans: how they nest, what a collector gets to read, and what becomes of them when there is none."""

import asyncio
import logging
import socket
from collections.abc import Callable

import pytest

from deedbox.kernel import limits, traces
from deedbox.kernel.traces import Nothing, Parent, SpanKind
from deedbox.kernel.traces.export import Collector
from tests.conftest import HandClock
from tests.otlp import Collected, attributes, collecting

pytestmark = pytest.mark.anyio
ABOUT = {"service.name": "deedbox"}


def dead_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


async def test_a_collector_reads_every_part_of_a_span(clock: HandClock) -> None:
    with collecting() as collected:
        collector = Collector(collected.url, clock, ABOUT)
        parent = Parent(bytes(range(16)), bytes(range(8)))
        with traces.begin(collector, "job finalize", {"deedbox.attempt": 300}, SpanKind.CONSUMER, parent):
            pass
        await collector.close()
        (span,) = collected.spans
        (resource,) = [each.resource for one in collected.requests for each in one.resource_spans]
    assert (span.trace_id, span.parent_span_id, len(span.span_id)) == (*parent, 8)
    assert (span.name, span.kind, attributes(span)) == ("job finalize", 5, {"deedbox.attempt": 300})
    assert span.start_time_unix_nano == int(clock.now().timestamp()) * 10**9
    assert span.end_time_unix_nano >= span.start_time_unix_nano
    assert span.status.code == span.status.STATUS_CODE_UNSET
    assert [(one.key, one.value.string_value) for one in resource.attributes] == [("service.name", "deedbox")]


async def test_a_step_belongs_to_the_step_around_it_also_in_a_thread(clock: HandClock) -> None:
    def in_a_thread() -> None:
        with traces.span("inner"):
            pass

    with collecting() as collected:
        collector = Collector(collected.url, clock, ABOUT)
        with traces.begin(collector, "outer", {}, SpanKind.SERVER), traces.span("middle"):
            await asyncio.to_thread(in_a_thread)
        await collector.close()
        by_name = {span.name: span for span in collected.spans}
    assert by_name["inner"].parent_span_id == by_name["middle"].span_id
    assert by_name["middle"].parent_span_id == by_name["outer"].span_id
    assert by_name["outer"].parent_span_id == b""
    assert len({span.trace_id for span in by_name.values()}) == 1


async def test_a_failure_is_told_by_its_type_and_never_by_its_text(clock: HandClock) -> None:
    with collecting() as collected:
        collector = Collector(collected.url, clock, ABOUT)
        with pytest.raises(ValueError), traces.begin(collector, "job", {}, SpanKind.CONSUMER):
            raise ValueError("hunter2")
        await collector.close()
        (span,) = collected.spans
    assert (span.status.code, attributes(span)) == (span.status.STATUS_CODE_ERROR, {"error.type": "ValueError"})
    assert "hunter2" not in str(span)


async def test_a_task_that_outlives_its_request_adds_nothing_to_its_trace(clock: HandClock) -> None:
    collector, go_on = Collector(f"http://127.0.0.1:{dead_port()}/", clock, ABOUT), asyncio.Event()

    async def later() -> object:
        await go_on.wait()
        return traces.span("later")

    with traces.begin(collector, "request", {}, SpanKind.SERVER):
        task = asyncio.create_task(later())
        assert not isinstance(traces.span("now"), Nothing)
    go_on.set()
    assert isinstance(await task, Nothing)
    assert isinstance(traces.span("nothing is traced here"), Nothing)


async def test_a_collector_that_is_away_costs_one_warning_and_bounded_memory(
    clock: HandClock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(limits, "TRACE_SECONDS", 0.01)
    monkeypatch.setattr(limits, "TRACE_SPANS", 50)
    with collecting() as collected, caplog.at_level(logging.INFO, "deedbox"):
        collected.status = 503
        collector = Collector(collected.url, clock, ABOUT)
        for _ in range(80):
            step(collector)
        assert len(collector._waiting) == 50
        collector.start()
        for number in range(1, 4):
            step(collector)
            await until(lambda: collector._dropped == 80 + number)  # noqa: B023
        collected.status = 200
        step(collector)
        await until(lambda: bool(collected.requests))
        await collector.close()
    told = [record.getMessage() for record in caplog.records]
    assert told == ["traces cannot be sent, and are dropped until they can", "traces are sent again"]
    assert caplog.records[0].__dict__["fields"] == {"reason": "The collector answered with status 503"}
    assert caplog.records[1].__dict__["fields"] == {"dropped": 83}


async def test_many_spans_go_in_several_requests(clock: HandClock) -> None:
    with collecting() as collected:
        collector = Collector(collected.url, clock, ABOUT)
        for _ in range(2 * limits.TRACE_BATCH_SPANS + 1):
            step(collector)
        await collector.close()
        assert [counted(collected, number) for number in range(3)] == [limits.TRACE_BATCH_SPANS] * 2 + [1]


def step(collector: Collector) -> None:
    with traces.begin(collector, "step", {}, SpanKind.INSIDE):
        pass


def counted(collected: Collected, number: int) -> int:
    return sum(len(scope.spans) for each in collected.requests[number].resource_spans for scope in each.scope_spans)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.01)

"""Hands ended spans to the collector of the settings (OTLP over HTTP), beside the work and never in its way.

One task of the process's own loop sends them, without a thread or a client of its own: a forked or spawned process has
none of it. What cannot be sent is dropped."""

import asyncio
import contextlib
import os
import ssl
from collections import deque
from collections.abc import Mapping

from deedbox.kernel import limits, log, tasks
from deedbox.kernel.clock import Clock
from deedbox.kernel.egress import ANYWHERE, Egress, EgressFailed, Request
from deedbox.kernel.ids import Entropy
from deedbox.kernel.traces import Span, Value, otlp


async def hand_in(egress: Egress, url: str, body: bytes) -> str:
    """Why the collector did not take the spans; empty if it did."""
    sent = Request("POST", url, {"Content-Type": otlp.CONTENT_TYPE}, body, seconds=limits.TRACE_SEND_SECONDS)
    try:
        status = (await egress.send(sent)).status
    except EgressFailed as error:
        return error.message
    return "" if status // 100 == 2 else f"The collector answered with status {status}"


def way_out() -> Egress:
    """To a host that the operator's own settings name: it may lie on any network, and the system's roots judge it."""
    return Egress(ANYWHERE, tls=ssl.create_default_context()).apart(limits.TRACE_CONNECTIONS)


class Collector:
    """The traces of an installation that is told to send them."""

    def __init__(self, url: str, clock: Clock, resource: Mapping[str, Value], entropy: Entropy = os.urandom) -> None:
        self.clock = clock
        self.entropy = entropy
        self._url = url
        self._resource = resource
        self._egress = way_out()
        self._waiting: deque[Span] = deque()
        self._dropped = 0
        self._failing = False
        self._closing = asyncio.Event()
        self._sending: list[asyncio.Task[None]] = []

    def keep(self, span: Span, /) -> None:
        if len(self._waiting) < limits.TRACE_SPANS:
            self._waiting.append(span)
        else:
            self._dropped += 1

    def start(self) -> None:
        self._sending = [tasks.begin(self._send_until_closed(), "traces are no longer sent: restart the server")]

    async def close(self) -> None:
        """Sends what waits, for a short while."""
        if not self._sending:
            self.start()
        self._closing.set()
        await tasks.drain(self._sending, limits.TRACE_CLOSE_SECONDS)
        await self._egress.close()

    async def _send_until_closed(self) -> None:
        closed = False
        while not closed:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(limits.TRACE_SECONDS):
                    await self._closing.wait()
            closed = self._closing.is_set()
            with tasks.going_on("traces cannot be sent"):
                await self._send()

    async def _send(self) -> None:
        """Until nothing waits, or something cannot be sent: the rest is tried in the next round."""
        reason = ""
        while self._waiting and not reason:
            batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), limits.TRACE_BATCH_SPANS))]
            body = await asyncio.to_thread(otlp.request, batch, self._resource)
            reason = await hand_in(self._egress, self._url, body)
            self._tell(reason, len(batch))

    def _tell(self, reason: str, spans: int) -> None:
        """One line when it begins to fail and one when it goes again."""
        self._dropped += spans if reason else 0
        if reason and not self._failing:
            log.warning("traces cannot be sent, and are dropped until they can", reason=reason)
        elif self._failing and not reason:
            log.info("traces are sent again", dropped=self._dropped)
            self._dropped = 0
        self._failing = bool(reason)

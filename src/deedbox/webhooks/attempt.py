"""One attempt at a delivery: the kept bytes are signed and posted, and the answer is judged."""

from collections.abc import Callable
from datetime import datetime
from random import uniform
from typing import TYPE_CHECKING

import msgspec

from deedbox.kernel import limits as shared_limits
from deedbox.kernel import log
from deedbox.kernel.clock import Clock, instant, stopwatch
from deedbox.kernel.crypto import ValueCipher
from deedbox.kernel.errors import ServiceError
from deedbox.kernel.traces import SpanKind, Traces, Value, begin
from deedbox.webhooks import limits, schedule, signature
from deedbox.webhooks.hooks import ENCRYPTED_SECRETS
from deedbox.webhooks.queue import AttemptOutcome, Claim
from deedbox.webhooks.store import AttemptRow

if TYPE_CHECKING:
    from deedbox.kernel.egress import Egress, EgressResponse

GONE = 410


class _Connections(msgspec.Struct):
    """The connections to one endpoint."""

    egress: "Egress"
    users: int = 0
    used_at: float = 0.0


class DeliveryAttempts:
    """Makes the attempts. Each endpoint has few connections of its own: one that stalls keeps nobody waiting."""

    def __init__(
        self,
        box: ValueCipher,
        clock: Clock,
        egress: Callable[[], "Egress"],
        jitter: schedule.Jitter = uniform,
        traces: Traces | None = None,
    ) -> None:
        self._box = box
        self._clock = clock
        self._egress = egress
        self._jitter = jitter
        self._traces = traces
        self._open: dict[tuple[str, bool], _Connections] = {}
        """By subscription, and whether it was failing: then its host may not even be found."""

    async def make(self, claim: Claim) -> AttemptOutcome:
        """The outcome of the attempt. It never raises: whatever happens is an outcome."""
        about: dict[str, Value] = {
            "deedbox.delivery": claim.id,
            "deedbox.event": claim.kind,
            "deedbox.attempt": claim.attempts + 1,
        }
        with begin(self._traces, "delivery", about, SpanKind.CONSUMER):
            return await self._made(claim)

    async def _made(self, claim: Claim) -> AttemptOutcome:
        now, started = self._clock.now(), stopwatch()
        headers: dict[str, str] = {}
        try:
            headers = self._headers(claim, now)
            answer = await self._ask(claim, headers)
            attempt = _attempt(claim, headers, now, started, answer=answer)
            if answer.status // 100 == 2:
                return AttemptOutcome(claim, attempt, "delivered", now.timestamp())
            return self._failed(claim, attempt, answer)
        except ServiceError as error:
            told = error.message
        except Exception as error:  # an attempt may fail in any way; a later one may not, and the loop goes on
            log.error("a delivery failed in an unforeseen way", exception=error, delivery=claim.id)
            told = "Deedbox could not make the request; its log says why."
        return self._failed(claim, _attempt(claim, headers, now, started, error=told), None)

    def _failed(self, claim: Claim, attempt: AttemptRow, answer: "EgressResponse | None") -> AttemptOutcome:
        now = self._clock.now()
        asked = schedule.asked_wait(answer.headers.get("retry-after"), now) if answer else None
        wait = schedule.delay(claim.attempts + 1, asked, self._jitter)
        gone = answer is not None and answer.status == GONE
        if wait is None or gone:
            return AttemptOutcome(claim, attempt, "failed", now.timestamp(), gone=gone)
        return AttemptOutcome(claim, attempt, "pending", now.timestamp() + wait)

    def _headers(self, claim: Claim, now: datetime) -> dict[str, str]:
        endpoint, body = claim.endpoint, claim.body.encode()
        secrets = signature.unpack(
            self._box.decrypt(endpoint.secrets, ENCRYPTED_SECRETS.place.format(id=endpoint.hook_id))
        )
        own = {
            "Content-Type": "application/json",
            "X-Service-Event": claim.kind,
            "X-Service-Event-Id": claim.event_id,
            "X-Service-Delivery": claim.id,
            "X-Service-Attempt": str(claim.attempts + 1),
            **signature.headers(secrets, endpoint.scheme, claim.event_id, body, now=now),
        }
        return self._egress().all_headers(endpoint.target_url, own, body)

    async def _ask(self, claim: Claim, headers: dict[str, str]) -> "EgressResponse":
        from deedbox.kernel.egress import Request

        doubtful = claim.endpoint.failing
        connections = self._open.get((claim.endpoint.hook_id, doubtful))
        if connections is None:
            connections = _Connections(self._egress().apart(limits.WEBHOOK_PER_ENDPOINT, doubtful=doubtful))
            self._open[claim.endpoint.hook_id, doubtful] = connections
        connections.users += 1
        try:
            return await connections.egress.send(
                Request(
                    "POST",
                    claim.endpoint.target_url,
                    headers=headers,
                    body=claim.body.encode(),
                    seconds=limits.WEBHOOK_SECONDS,
                    limit=limits.WEBHOOK_RESPONSE_BYTES,
                    head_is_enough=True,
                )
            )
        finally:
            connections.users -= 1
            connections.used_at = stopwatch()

    async def tidy(self) -> None:
        """Closes the connections to endpoints that nothing was sent to for a while."""
        idle = stopwatch() - shared_limits.EGRESS_IDLE_SECONDS
        for whose, connections in list(self._open.items()):
            if not connections.users and connections.used_at < idle:
                del self._open[whose]
                await connections.egress.close()

    async def close(self) -> None:
        for connections in self._open.values():
            await connections.egress.close()
        self._open.clear()


def _attempt(
    claim: Claim,
    headers: dict[str, str],
    began: datetime,
    started: float,
    *,
    answer: "EgressResponse | None" = None,
    error: str | None = None,
) -> AttemptRow:
    wrong = answer is not None and answer.status // 100 != 2
    return AttemptRow(
        delivery_id=claim.id,
        number=claim.attempts + 1,
        started_at=instant(began),
        duration_ms=round((stopwatch() - started) * 1000),
        request_headers=msgspec.json.encode(headers).decode(),
        response_status=answer.status if answer else None,
        response_headers=_kept(answer.headers) if answer else None,
        response_body=answer.body if answer else None,
        response_truncated=int(answer.truncated) if answer else 0,
        error=error[: limits.WEBHOOK_ERROR_CHARS] if error else _complaint(answer) if wrong and answer else None,
        target_url=claim.endpoint.target_url,
    )


def _complaint(answer: "EgressResponse") -> str:
    if answer.status // 100 == 3:
        return f"The endpoint answered {answer.status}; redirects are not followed."
    return f"The endpoint answered {answer.status}."


def _kept(headers: dict[str, str]) -> str:
    """As JSON, as many of them as fit."""
    kept: dict[str, str] = {}
    room: int = limits.WEBHOOK_RESPONSE_HEADERS_CHARS
    for name, value in headers.items():
        room -= len(name) + len(value)
        if room < 0:
            break
        kept[name] = value
    return msgspec.json.encode(kept).decode()

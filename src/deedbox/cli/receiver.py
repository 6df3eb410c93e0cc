"""A receiver of deliveries on this machine, for `deedbox hooks listen`."""

import contextlib
import re
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import msgspec
import uvicorn

from deedbox.cli import limits
from deedbox.client.webhook import Verdict, check
from deedbox.kernel.clock import Clock, instant
from deedbox.kernel.crypto import Secret

_HARMLESS = re.compile(r"[ -~]{1,200}")


class ReceivedDelivery(msgspec.Struct, frozen=True):
    """A delivery as it is shown; what the sender left out is None."""

    received_at: str
    type: str | None
    event_id: str | None
    delivery: str | None
    attempt: str | None
    verdict: Verdict | None
    """None if there was no secret to check with."""
    status: int
    """What it was answered with."""
    body: str


class Receiver(uvicorn.Server):
    """Answers each delivery with the chosen status, or 401 if its signature does not fit, until it is stopped."""

    def __init__(
        self, secret: Secret | None, status: int, most: int, show: Callable[[ReceivedDelivery], None], clock: Clock
    ) -> None:
        super().__init__(
            uvicorn.Config(
                self._answer,
                interface="asgi3",
                lifespan="off",
                ws="none",
                access_log=False,
                log_config=None,
                server_header=False,
                proxy_headers=False,
                limit_concurrency=limits.HOOK_LISTEN_CONNECTIONS,
                timeout_graceful_shutdown=1,
            )
        )
        self._secret, self._status, self._left = secret, status, most
        self._show, self._clock = show, clock

    def check_with(self, secret: Secret) -> None:
        """From now on, signatures are checked with this secret."""
        self._secret = secret

    def stop(self) -> None:
        self.should_exit = True

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        # The command sets its own: uvicorn's would end it as if something had gone wrong.
        yield

    async def _answer(self, scope: Any, receive: Any, send: Any) -> None:
        body = await _body(receive)
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if scope["method"] != "POST":
            status = 405
        elif body is None:
            status = 413
        elif self._left <= 0:
            status = 503
        else:
            status = self._take(headers, body, self._clock.now())
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    def _take(self, headers: dict[str, str], body: bytes, now: datetime) -> int:
        verdict = check(body, headers, self._secret.reveal(), now=now) if self._secret else None
        status = self._status if verdict is None or verdict.valid else 401
        kind, event_id, delivery, attempt = (
            _readable(headers.get(f"x-service-{name}")) for name in ("event", "event-id", "delivery", "attempt")
        )
        text = body.decode("utf-8", "replace")
        self._show(ReceivedDelivery(instant(now), kind, event_id, delivery, attempt, verdict, status, text))
        self._left -= 1
        if not self._left:
            self.stop()
        return status


def _readable(header: str | None) -> str | None:
    """The header, unless it could write more to a terminal than words."""
    return header if header is not None and _HARMLESS.fullmatch(header) else None


async def _body(receive: Any) -> bytes | None:
    """The body; None if it is larger than a delivery can be."""
    read = bytearray()
    while True:
        message = await receive()
        read += message.get("body", b"")
        if len(read) > limits.HOOK_LISTEN_BODY_BYTES:
            return None
        if message["type"] == "http.disconnect" or not message.get("more_body"):
            return bytes(read)

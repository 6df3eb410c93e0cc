"""The one class in front of every route: request id, key, rate limit, headers, time limit, envelope."""

import asyncio
import ipaddress
import re
from typing import TYPE_CHECKING

import msgspec

from deedbox.accounts import keys
from deedbox.kernel import limits, log
from deedbox.kernel.clock import instant, stopwatch
from deedbox.kernel.errors import Code, DeedboxError, TimedOut, TooManyRequests, Unauthorized, Unavailable
from deedbox.kernel.ids import new_id
from deedbox.kernel.ratelimit import ADDRESS, Allowance, Standing
from deedbox.web.frame import head
from deedbox.web.frame.context import KEY, Context
from deedbox.web.frame.envelope import Envelope, asked, envelope, translated
from deedbox.web.frame.head import App, Message, Receive, Scope, Send
from deedbox.web.frame.metrics import Metrics

if TYPE_CHECKING:
    from deedbox.accounts.caller import Caller
    from deedbox.wiring import Deedbox

_REQUEST_ID = re.compile(rb"[A-Za-z0-9._:-]{1,%d}" % limits.REQUEST_ID_CHARS)
_BEARER = b"bearer "


class Doors(msgspec.Struct, frozen=True):
    """Which paths open without a key."""

    paths: frozenset[str]
    prefixes: tuple[str, ...]
    probes: frozenset[str]
    """Health and metrics: answered at any time, and never counted."""

    def open_without_key(self, path: str) -> bool:
        return path in self.paths or path.startswith(self.prefixes)


class Guard:
    def __init__(self, app: App, deedbox: "Deedbox", doors: Doors, metrics: Metrics) -> None:
        self.app = app
        self.draining = False
        self.deedbox = deedbox
        self.doors = doors
        self.metrics = metrics
        self.anonymous = Allowance(per_minute=deedbox.settings.anonymous_per_minute, per_day=None)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        await _Exchange(self, scope, receive, send).run()

    async def admit(self, scope: Scope, context: Context, path: str) -> Standing:
        """How the caller stands after this request was counted; raises when it may not pass."""
        deedbox, now = self.deedbox, self.deedbox.clock.now()
        if path in self.doors.probes:
            return self.unknown_standing()  # asking could wait for a database that is away, and they tell whether it is
        address = _neighbourhood(scope["client"][0] if scope["client"] else "unknown")
        if self.doors.open_without_key(path):
            return _demand(await deedbox.limiter.hit(address, self.anonymous, now))
        try:
            caller = await self._caller(scope, instant(now))
        except Unauthorized as error:
            standing = _demand(await deedbox.limiter.hit(address, self.anonymous, now))
            raise _Refused(error, standing) from error
        context.caller = caller
        context.subject = caller.id
        standing = _demand(await deedbox.limiter.hit(caller.id, caller.allowance, now))
        deedbox.used_keys[caller.id] = instant(now)
        return standing

    def unknown_standing(self) -> Standing:
        """For an answer to a caller who was not counted: the database is away, for example."""
        reset = int(self.deedbox.clock.now().timestamp()) + 60
        limit = self.anonymous.per_minute
        return Standing(allowed=True, limit=limit, remaining=limit, reset=reset, retry_after=0)

    async def _caller(self, scope: Scope, now: str) -> "Caller":
        value = next((value for name, value in scope["headers"] if name == b"authorization"), None)
        if value is None:
            raise Unauthorized("Missing API key. Send it as Authorization: Bearer <API_KEY>")
        plain = value[len(_BEARER) :].decode("latin-1")
        if value[: len(_BEARER)].lower() != _BEARER or not keys.has_shape(plain):
            raise Unauthorized("Malformed API key. Send it as Authorization: Bearer <API_KEY>")
        return await self.deedbox.db.read(lambda tx: keys.authenticate(tx, plain, now))


class _Refused(Exception):
    """An error that the guard itself gives, with the standing that its headers describe."""

    def __init__(self, error: DeedboxError, standing: Standing) -> None:
        super().__init__(error.message)
        self.error = error
        self.standing = standing


def _neighbourhood(address: str) -> str:
    """Who counts as one caller without a key: an IPv4 address, or an IPv6 network of the size one customer gets."""
    if ":" not in address:
        return ADDRESS + address
    try:
        six = ipaddress.IPv6Address(address.split("%", 1)[0])
    except ValueError:  # a proxy may pass on whatever its own caller wrote
        return ADDRESS + address
    if six.ipv4_mapped is not None:  # how a socket that listens on both names an IPv4 caller
        return ADDRESS + str(six.ipv4_mapped)
    return ADDRESS + str(ipaddress.IPv6Network((six, limits.ANONYMOUS_IPV6_PREFIX), strict=False))


def _demand(standing: Standing) -> Standing:
    if not standing.allowed:
        error = TooManyRequests(
            f"Too many requests. Try again in {standing.retry_after} s.",
            headers={"Retry-After": str(standing.retry_after)},
        )
        raise _Refused(error, standing)
    return standing


class _Exchange:
    """One request and its response."""

    __slots__ = ("_described", "_guard", "_headers", "_receive", "_scope", "_send", "_started", "_status")

    def __init__(self, guard: Guard, scope: Scope, receive: Receive, send: Send) -> None:
        self._guard = guard
        self._scope = scope
        self._receive = receive
        self._send = send
        self._headers: list[tuple[bytes, bytes]] = []
        self._described = False
        self._started = False
        self._status = 0

    async def run(self) -> None:
        guard, scope = self._guard, self._scope
        begun = stopwatch()
        path = asked(scope["path"])
        context = Context(guard.deedbox, _request_id(scope, guard))
        scope[KEY] = context
        token = log.request_id.set(context.request_id)
        self._headers = context.headers
        try:
            await self._answer(context, path)
        finally:
            seconds = stopwatch() - begun
            guard.metrics.count(scope["method"], scope.get("path_template", ""), self._status, seconds)
            if guard.deedbox.settings.access_log:
                log.info(
                    "request",
                    method=scope["method"],
                    path=path,
                    status=self._status,
                    ms=round(seconds * 1000, 2),
                    caller=context.subject,
                )
            log.request_id.reset(token)

    async def _answer(self, context: Context, path: str) -> None:
        try:
            await self._in_time(context, path)
        except _Refused as refused:
            self._describe(refused.standing)
            await self._refuse(envelope(path, refused.error))
        except DeedboxError as error:
            await self._refuse(envelope(path, error))
        except Exception as error:  # whatever escapes a route must still give the caller its envelope
            log.error("a request failed", exception=error, path=path)
            await self._refuse(envelope(path, translated(error)))

    async def _in_time(self, context: Context, path: str) -> None:
        try:
            # The look-up of the key too: it waits for a database that may be stuck.
            async with asyncio.timeout(limits.REQUEST_SECONDS) as context.deadline:
                self._describe(await self._guard.admit(self._scope, context, path))
                if path not in self._guard.doors.probes:
                    self._refuse_when_busy()
                await self._pass_on()
        except TimeoutError as error:
            if context.deadline and context.deadline.expired():
                raise TimedOut("Request took too long") from error
            raise

    def _refuse_when_busy(self) -> None:
        if self._guard.draining:
            raise Unavailable("The server is stopping. Try again in a moment.", code=Code.DRAINING)
        if self._guard.metrics.in_flight >= limits.IN_FLIGHT_REQUESTS:
            raise Unavailable("Too many requests at once. Try again in a moment.")

    async def _pass_on(self) -> None:
        self._guard.metrics.in_flight += 1
        exchange = (self._scope, self._receive, self._send_with_headers)
        try:
            if self._scope["method"] == "HEAD":
                await head.answer(self._guard.app, *exchange)
            else:
                await self._guard.app(*exchange)
        finally:
            self._guard.metrics.in_flight -= 1

    def _describe(self, standing: Standing) -> None:
        self._described = True
        self._headers += rate_headers(standing)

    async def _send_with_headers(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._started = True
            self._status = message["status"]
            message["headers"] = [*message["headers"], *self._headers]
        await self._send(message)

    async def _refuse(self, answer: Envelope) -> None:
        if self._started:
            # Half an answer is out: cutting the connection is the only honest end of it.
            raise ConnectionAbortedError("the response was cut short")
        body = b"" if self._scope["method"] == "HEAD" else answer.body
        if not self._described:
            self._describe(self._guard.unknown_standing())
        await self._send_with_headers(
            {"type": "http.response.start", "status": answer.status, "headers": answer.headers}
        )
        await self._send({"type": "http.response.body", "body": body, "more_body": False})


def rate_headers(standing: Standing) -> tuple[tuple[bytes, bytes], ...]:
    """The three headers that every response carries."""
    return (
        (b"x-ratelimit-limit", b"%d" % standing.limit),
        (b"x-ratelimit-remaining", b"%d" % standing.remaining),
        (b"x-ratelimit-reset", b"%d" % standing.reset),
    )


def _request_id(scope: Scope, guard: Guard) -> str:
    """The caller's own id, if it sent a harmless one, else a new one."""
    for name, value in scope["headers"]:
        if name == b"x-request-id" and _REQUEST_ID.fullmatch(value):
            return str(value, "ascii")
    return new_id("req", guard.deedbox.clock.now())

"""The one class in front of every route: request id, door, budget, headers, time limit, error body."""

import asyncio
import re
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler

from deedbox.accounts import people
from deedbox.kernel import fairness, log
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.clock import instant, stopwatch
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import (
    AWAY,
    BadRequest,
    ErrorCode,
    Forbidden,
    NotFound,
    ServiceError,
    TimedOut,
    TooManyRequests,
    Unauthorized,
    Unavailable,
)
from deedbox.kernel.fairness import ConcurrencyLimit, MemoryBudget
from deedbox.kernel.ids import new_id
from deedbox.kernel.ratelimit import Allowance, RateLimitStatus
from deedbox.signing import sessions
from deedbox.web import limits
from deedbox.web.http import auth, drain_body, framing, head, identity
from deedbox.web.http.auth import Authenticator
from deedbox.web.http.context import KEY, OUTER, Context, of
from deedbox.web.http.envelope import ErrorBody, normalize_path, translate
from deedbox.web.http.head import App, Message, Receive, Scope, Send
from deedbox.web.http.identity import Budget, Visitor
from deedbox.web.http.metrics import Metrics
from deedbox.web.http.pages import refusal, to_login

if TYPE_CHECKING:
    from datetime import datetime

    from deedbox.wiring import Installation

_REQUEST_ID = re.compile(rb"[A-Za-z0-9._:-]{1,%d}" % limits.REQUEST_ID_CHARS)
_SAFE = ("GET", "HEAD", "OPTIONS")


class Guard:
    def __init__(self, app: App, deedbox: "Installation", known_doors: Authenticator, metrics: Metrics) -> None:
        self.app = app
        self.draining = False
        self.deedbox = deedbox
        self.doors = known_doors
        self.metrics = metrics
        self.room = MemoryBudget()
        self.in_flight_limit = ConcurrencyLimit()
        self._refused = ("", 0.0)
        self.anonymous = Allowance(per_minute=deedbox.settings.anonymous_per_minute, per_day=None)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        await _Exchange(self, scope, receive, send).run()

    def note_refusal(self, error: ServiceError) -> None:
        """Remembers that a request was refused because the storage is away, for `/readyz` to tell."""
        if error.code in AWAY:
            self._refused = (error.code, stopwatch())

    @property
    def last_refusal(self) -> tuple[str, int] | None:
        """The code of the last such refusal and how many seconds ago it was, if that is not long."""
        code, at = self._refused
        ago = int(stopwatch() - at)
        return (code, ago) if code and ago < limits.REFUSAL_TOLD_SECONDS else None

    async def admit(self, scope: Scope, context: Context) -> RateLimitStatus:
        """How the caller stands after this request was counted; raises when it may not pass."""
        door, now = context.door, self.deedbox.clock.now()
        if not door.counted:
            return self.unknown_standing()  # asking could wait for a database that is away, and probes tell of that
        outer: Context | None = scope.get(OUTER)
        if outer is not None and door.opener in ("key", "nobody"):
            context.caller, context.holder = outer.caller, outer.holder
            return self.unknown_standing()  # it was counted when it came
        if door.opener == "nobody":
            return await self._count(self._stranger(scope, door.own_budget), now)
        try:
            budget = await self._identify(scope, context, now)
        except (Unauthorized, NotFound) as error:
            raise _Refused(error, await self._count(self._stranger(scope), now)) from error
        standing = await self._count(budget, now)
        context.holder = context.subject or budget.subject
        if door.opener == "key":
            self.deedbox.used_keys[budget.subject] = instant(now)
        elif door.opener == "person":
            self._note_seen(context.person, people.day(now))
        return standing

    def _note_seen(self, session: people.PersonSession, day: str) -> None:
        if session.seen_on != day:
            self.deedbox.seen_sessions[session.id] = day

    def unknown_standing(self) -> RateLimitStatus:
        """For an answer to a caller who was not counted: the database is away, for example."""
        reset = int(self.deedbox.clock.now().timestamp()) + 60
        limit = self.anonymous.per_minute
        return RateLimitStatus(allowed=True, limit=limit, remaining=limit, reset=reset, retry_after=0)

    async def _identify(self, scope: Scope, context: Context, now: "datetime") -> Budget:
        """Whom the request is counted for; the context knows then who it is."""
        opener, named = context.door.opener, context.named
        if opener == "link":
            budget, context.frames = await identity.of_link(self.deedbox, str(named["token"]))
            return budget
        if opener in ("person", "signer"):
            if opener == "person":
                visitor = await identity.of_person(self.deedbox, scope, now)
            else:
                visitor = await self._signer(scope, context, now)
            context.enter(visitor.session, visitor.token)
            return identity.budget(visitor)
        context.caller = await identity.of_key(self.deedbox, scope, now)
        return identity.budget(context.caller)

    async def _signer(self, scope: Scope, context: Context, now: "datetime") -> Visitor:
        """The signer of the cookie; a frame is known for one before anything is refused: it shows the refusal too."""
        signer_id = str(context.named["signer_id"])
        sent = identity.signer_cookies(self.deedbox, scope, signer_id)
        if not sent:
            raise sessions.no_session()

        def look(tx: Tx) -> Visitor:
            if sent[0].in_frame:
                context.frames = framing.sites_of_session(tx, sent[0].token)
            return identity.of_signer(tx, sent, signer_id, now)

        visitor = await self.deedbox.db.read(look)
        context.in_frame = visitor.in_frame
        return visitor

    def _stranger(self, scope: Scope, own_budget: int = 0) -> Budget:
        address = identity.address(scope)
        if own_budget:
            return Budget(f"{address} {own_budget}", Allowance(per_minute=own_budget, per_day=None))
        return Budget(address, self.anonymous)

    async def _count(self, budget: Budget, now: "datetime") -> RateLimitStatus:
        standing = await self.deedbox.limiter.hit(budget.subject, budget.allowance, now)
        if not standing.allowed:
            error = TooManyRequests(
                f"Too many requests. Try again in {standing.retry_after} s.",
                headers={"Retry-After": str(standing.retry_after)},
            )
            raise _Refused(error, standing)
        return standing


class _Refused(Exception):
    """An error that the guard itself gives, with the standing that its headers describe."""

    def __init__(self, error: ServiceError, standing: RateLimitStatus) -> None:
        super().__init__(error.message)
        self.error = error
        self.standing = standing


def refuse_other_sites(scope: Scope) -> None:
    """A page of another site must not act with this person's cookie."""
    headers = dict(scope["headers"])
    site, origin = headers.get(b"sec-fetch-site"), headers.get(b"origin")
    if site is not None:
        foreign = site not in (b"same-origin", b"none")
    elif origin == b"null":
        foreign = not _stays_here(scope[KEY])
    else:
        foreign = origin is not None and _host(origin) != headers.get(b"host")
    if foreign:
        raise Forbidden("This request was sent by another site")


def _stays_here(context: Context) -> bool:
    """Whether a form that hides where it comes from cannot be another site's, or can do no harm.

    The signing pages send no referrer, and so their own forms say `null` where the browser does not tell the site, as
    over plain HTTP. The cookie of a tab is Lax: no other site's form carries it. A link is its own secret."""
    return context.door.opener == "link" or (context.door.opener == "signer" and not context.in_frame)


def _host(origin: bytes) -> bytes | None:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None


class _Exchange:
    """One request and its response."""

    __slots__ = (
        "_came_after_stop",
        "_described",
        "_guard",
        "_headers",
        "_logged_path",
        "_receive",
        "_rest",
        "_scope",
        "_send",
        "_started",
        "_status",
    )

    def __init__(self, guard: Guard, scope: Scope, receive: Receive, send: Send) -> None:
        self._guard = guard
        self._came_after_stop = guard.draining
        self._scope = scope
        self._rest = drain_body.of(scope, receive)
        self._receive = self._rest.receive if self._rest else receive
        self._send = send
        self._headers: list[tuple[bytes, bytes]] = []
        self._logged_path = ""
        self._described = False
        self._started = False
        self._status = 0

    async def run(self) -> None:
        guard, scope = self._guard, self._scope
        begun = stopwatch()
        path = normalize_path(scope["path"])
        found = guard.doors.at(scope["method"], scope["path"])
        scope["path_template"] = found.template
        self._logged_path = found.logged(path)
        context = Context(guard.deedbox, _request_id(scope, guard), found.door, guard.room)
        context.named, context.holder = found.named, identity.address(scope)
        scope[KEY] = context
        token = log.request_id.set(context.request_id)
        self._headers = context.headers
        guard.deedbox.under_way.begin(self)
        try:
            await self._answer(context, path)
        finally:
            guard.deedbox.under_way.end(self)
            if context.held:
                guard.room.give(context.held, context.holder)
            seconds = stopwatch() - begun
            guard.metrics.count(scope["method"], scope["path_template"], self._status, seconds)
            if guard.deedbox.settings.access_log:
                log.info(
                    "request",
                    method=scope["method"],
                    path=self._logged_path,
                    status=self._status,
                    ms=round(seconds * 1000, 2),
                    caller=context.subject,
                )
            log.request_id.reset(token)

    async def _answer(self, context: Context, path: str) -> None:
        try:
            await self._in_time(context)
            return
        except _Refused as refused:
            self._describe(refused.standing)
            sent_away = context.door.opener == "person" and isinstance(refused.error, Unauthorized)
            answer = to_login() if sent_away else refusal(self._scope, path, refused.error)
        except Exception as error:  # whatever escapes a route must still give the caller its envelope
            answer = self._answer_to(error, path)
        await self._refuse(answer)

    def _answer_to(self, error: Exception, path: str) -> ErrorBody:
        ours = translate(error)
        self._guard.note_refusal(ours)
        if ours.status == 500:
            log.error("a request failed", exception=error, path=self._logged_path)
        # Some of its frames hold the error itself, others the body: a circle, and as large as the collector is late.
        error.__traceback__ = None
        return refusal(self._scope, path, ours)

    async def _in_time(self, context: Context) -> None:
        try:
            # The look-up of the key too: it waits for a database that may be stuck.
            async with asyncio.timeout(limits.REQUEST_SECONDS) as context.deadline:
                self._describe(await self._guard.admit(self._scope, context))
                self._open(context)
                fairness.holder.set(context.holder)
                with self._place(context):
                    await self._pass_on()
        except TimeoutError as error:
            if context.deadline and context.deadline.expired():
                raise TimedOut("Request took too long") from error
            raise

    def _open(self, context: Context) -> None:
        """The rest of what stands between a caller who is known and counted, and the route."""
        door = context.door
        if not door.always_open and OUTER not in self._scope:
            self._refuse_when_busy()
        if door.own_site and self._scope["method"] not in _SAFE:
            refuse_other_sites(self._scope)
        if door.scope:
            context.caller.need(door.scope)

    def _place(self, context: Context) -> AbstractContextManager[None]:
        """A part of the places is the most that a caller, and an address, may hold: else one would fill them all."""
        if context.door.always_open or OUTER in self._scope:
            return nullcontext()
        session = context.door.opener in ("person", "signer")
        most = limits.IN_FLIGHT_PER_SESSION if session else shared_limits.IN_FLIGHT_PER_CALLER
        address = identity.address(self._scope)
        # One connection has one request under way, so that this counts those that a proxy holds for an address.
        per_address = self._guard.deedbox.settings.connections_per_address
        return self._guard.in_flight_limit.hold({address: per_address, context.holder: most})

    def _refuse_when_busy(self) -> None:
        if self._came_after_stop:
            raise Unavailable("The server is stopping. Try again in a moment.", code=ErrorCode.DRAINING)
        if self._guard.metrics.in_flight >= shared_limits.IN_FLIGHT_REQUESTS:
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

    def _describe(self, standing: RateLimitStatus) -> None:
        self._described = True
        self._headers += rate_headers(standing)

    async def _send_with_headers(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._started = True
            self._status = message["status"]
            # An answer may have its own limit: that of reminders is not the one of requests.
            own = {name.lower() for name, _ in message["headers"]}
            message["headers"] = [*message["headers"], *(one for one in self._headers if one[0] not in own)]
        await self._send(message)

    async def _refuse(self, answer: ErrorBody) -> None:
        if self._started:
            # Half an answer is out: cutting the connection is the only honest end of it.
            raise ConnectionAbortedError("the response was cut short")
        if self._rest is not None and not self._guard.draining:
            await self._rest.discard(self._guard.in_flight_limit, identity.address(self._scope))
        body = b"" if self._scope["method"] == "HEAD" else answer.body
        if not self._described:
            self._describe(self._guard.unknown_standing())
        await self._send_with_headers(
            {"type": "http.response.start", "status": answer.status, "headers": answer.headers}
        )
        await self._send({"type": "http.response.body", "body": body, "more_body": False})


def rate_headers(standing: RateLimitStatus) -> tuple[tuple[bytes, bytes], ...]:
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


def confirm(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
    """Runs before every route: it is the one whose door was opened, and its address is one that can be looked up."""
    if of(connection).door != auth.of(handler):
        raise RuntimeError(f"the guard opened another door than that of {handler}")
    if b"%00" in connection.scope["query_string"] or "\0" in connection.scope["path"]:
        raise BadRequest("The address contains a NUL character")

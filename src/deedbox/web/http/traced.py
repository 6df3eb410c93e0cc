"""A span for each request; in front of the guard, and only where traces are on."""

import functools
import ipaddress
import re
from typing import NamedTuple

from deedbox.kernel.settings import Networks
from deedbox.kernel.traces import Parent, Span, SpanKind, Traces
from deedbox.web import limits
from deedbox.web.http.context import KEY, Context
from deedbox.web.http.head import App, Message, Receive, Scope, Send

_TRACEPARENT = re.compile(rb"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")
_SAMPLED = 1


class _Told(NamedTuple):
    """What a proxy says of the trace that a request belongs to."""

    parent: Parent | None = None
    wanted: bool = True


class Traced:
    """Stands where the connection's own peer is still to be seen: only a trusted proxy may name a trace, or ask for
    none. Anybody else could write into the traces of others, or hide from ours."""

    def __init__(self, app: App, traces: Traces, proxies: Networks) -> None:
        self._app = app
        self._traces = traces
        self._proxies = proxies
        self._trusted = functools.lru_cache(maxsize=limits.ADDRESSES_KNOWN)(self._is_trusted)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        told = self._told(scope)
        if not told.wanted:
            await self._app(scope, receive, send)
            return
        status = 0

        async def noting(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        with Span(self._traces, "request", SpanKind.SERVER, {}).under(told.parent) as span:
            try:
                await self._app(scope, receive, noting)
            finally:
                _describe(span, scope, status)

    def _told(self, scope: Scope) -> _Told:
        peer = scope["client"]
        if not self._proxies or not peer or not self._trusted(peer[0]):
            return _Told()
        sent = [value for name, value in scope["headers"] if name == b"traceparent"]
        found = _TRACEPARENT.fullmatch(sent[0]) if len(sent) == 1 else None
        if found is None:
            return _Told()
        trace_id, span_id, flags = (bytes.fromhex(part.decode()) for part in found.groups())
        known = any(trace_id) and any(span_id)
        return _Told(Parent(trace_id, span_id) if known else None, bool(flags[0] & _SAMPLED))

    def _is_trusted(self, peer: str) -> bool:
        try:
            address = ipaddress.ip_address(peer)
        except ValueError:  # not a network's socket
            return False
        return any(address in network for network in self._proxies)


def _describe(span: Span, scope: Scope, status: int) -> None:
    """By the route as it is declared, never by the address that was asked for, which may hold a token."""
    route = scope.get("path_template") or "unmatched"
    # A method that no route has is a word of the caller's own.
    method = scope["method"] if scope.get("path_template") else "_OTHER"
    span.name = f"{method} {route}"
    span.note({"http.request.method": method, "http.route": route, "http.response.status_code": status})
    context = scope.get(KEY)
    if isinstance(context, Context):
        span.note({"deedbox.request_id": context.request_id})
    span.failed = span.failed or status >= 500

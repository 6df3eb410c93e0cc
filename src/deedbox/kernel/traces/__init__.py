"""Spans: what a request or a job did, and how long each step took. They are off unless the settings name a collector.

A trace begins where `begun` is given its `Traces`; `span` adds steps wherever one is under way, and else costs a look
at one variable. What sends them, `export`, is loaded only when they are on."""

from collections.abc import Mapping
from contextvars import ContextVar
from enum import IntEnum
from types import TracebackType
from typing import NamedTuple, Protocol, TypeAlias

from deedbox.kernel.clock import Clock, stopwatch
from deedbox.kernel.ids import Entropy

Value: TypeAlias = str | int
"""Of an attribute. Names of our own, ids and numbers: never a token, a query string, an address's path or a text."""


class SpanKind(IntEnum):
    """As OTLP numbers them."""

    INSIDE = 1
    SERVER = 2
    CLIENT = 3
    CONSUMER = 5


class Parent(NamedTuple):
    """The span to which another belongs, here or in the process that asked."""

    trace_id: bytes
    span_id: bytes


class Traces(Protocol):
    """Where spans go when they have ended."""

    clock: Clock
    entropy: Entropy

    def keep(self, span: "Span", /) -> None:
        """Takes it; never waits and never raises."""


class Span:
    """One step, while its `with` block runs. A failure is noted by its type alone: its text may say anything."""

    __slots__ = (
        "_before", "_began", "attributes", "ended", "failed", "kind", "name", "parent_id", "seconds", "span_id",
        "started", "trace_id", "traces",
    )  # fmt: skip

    def __init__(self, traces: Traces, name: str, kind: SpanKind, attributes: Mapping[str, Value]) -> None:
        self.traces = traces
        self.name = name
        self.kind = kind
        self.attributes = dict(attributes)
        self.span_id = traces.entropy(8)
        self.trace_id = b""
        self.parent_id = b""
        self.failed = self.ended = False
        self.seconds = 0.0

    def under(self, parent: "Parent | Span | None") -> "Span":
        """The same span, as a step of this one; without one, it begins a trace of its own."""
        self.trace_id = parent.trace_id if parent else self.traces.entropy(16)
        self.parent_id = parent.span_id if parent else b""
        return self

    def note(self, attributes: Mapping[str, Value]) -> None:
        self.attributes.update(attributes)

    def __enter__(self) -> "Span":
        self.started, self._began = self.traces.clock.now(), stopwatch()
        self._before = _current.get()
        _current.set(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, _: object, __: TracebackType | None) -> None:
        # Not by the variable's token: a generator may be closed elsewhere than where it began.
        _current.set(self._before)
        self.seconds = stopwatch() - self._began
        self.ended = True
        if kind is not None:
            self.failed = True
            self.attributes["error.type"] = kind.__name__
        self.traces.keep(self)


class Nothing:
    """In place of a span where nothing is traced."""

    __slots__ = ()

    def note(self, attributes: Mapping[str, Value]) -> None: ...

    def __enter__(self) -> "Nothing":
        return self

    def __exit__(self, *_: object) -> None: ...


_NOTHING = Nothing()
_NO_ATTRIBUTES: Mapping[str, Value] = {}
_current: ContextVar[Span | None] = ContextVar("span", default=None)


def span(
    name: str, attributes: Mapping[str, Value] = _NO_ATTRIBUTES, kind: SpanKind = SpanKind.INSIDE
) -> Span | Nothing:
    """A step of what is traced here, if anything is."""
    parent = _current.get()
    # A task that outlives the step in which it was begun is no part of it.
    if parent is None or parent.ended:
        return _NOTHING
    return Span(parent.traces, name, kind, attributes).under(parent)


def begin(
    traces: Traces | None, name: str, attributes: Mapping[str, Value], kind: SpanKind, parent: Parent | None = None
) -> Span | Nothing:
    """The first step here of a new trace, or of the parent's; nothing where traces are off."""
    return _NOTHING if traces is None else Span(traces, name, kind, attributes).under(parent)

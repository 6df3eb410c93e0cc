"""Spans as OTLP has them: the protobuf message `ExportTraceServiceRequest`, of which this writes the part that we use.

Numbers of fields never change in protobuf; a test reads what is written here with OpenTelemetry's own package."""

import struct
from collections.abc import Iterable, Mapping

from deedbox.kernel.limits import TRACE_VALUE_CHARS
from deedbox.kernel.log import redact
from deedbox.kernel.traces import Span, Value

CONTENT_TYPE = "application/x-protobuf"
NOTHING = b""
"""A request that has no span, and that every collector takes."""
_NUMBER, _EIGHT_BYTES, _BYTES = 0, 1, 2
_FAILED = 2


def request(spans: Iterable[Span], resource: Mapping[str, Value]) -> bytes:
    """The body of a request that hands in these spans of the process that `resource` describes."""
    scope = _bytes(1, _bytes(1, b"deedbox"))
    in_scope = scope + b"".join(_bytes(2, _span(span)) for span in spans)
    return _bytes(1, _bytes(1, _attributes(1, resource)) + _bytes(2, in_scope))


def _span(span: Span) -> bytes:
    began = round(span.started.timestamp() * 1_000_000) * 1000
    return b"".join(
        (
            _bytes(1, span.trace_id),
            _bytes(2, span.span_id),
            _bytes(4, span.parent_id) if span.parent_id else b"",
            _bytes(5, _text(span.name)),
            _number(6, span.kind),
            _eight_bytes(7, began),
            _eight_bytes(8, began + round(span.seconds * 1_000_000_000)),
            _attributes(9, span.attributes),
            _bytes(15, _number(3, _FAILED)) if span.failed else b"",
        )
    )


def _attributes(field: int, values: Mapping[str, Value]) -> bytes:
    return b"".join(_bytes(field, _bytes(1, _text(name)) + _bytes(2, _value(value))) for name, value in values.items())


def _value(value: Value) -> bytes:
    return _number(3, value) if isinstance(value, int) else _bytes(1, _text(value))


def _text(text: str) -> bytes:
    # A client may have sent a token as the request's id.
    return redact(text)[:TRACE_VALUE_CHARS].encode("utf-8", "replace")


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | _BYTES) + _varint(len(value)) + value


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3 | _NUMBER) + _varint(value & 0xFFFF_FFFF_FFFF_FFFF)


def _eight_bytes(field: int, value: int) -> bytes:
    return _varint(field << 3 | _EIGHT_BYTES) + struct.pack("<Q", value)


def _varint(value: int) -> bytes:
    """Seven bits a byte, the lowest first; each byte but the last has its highest bit set."""
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)

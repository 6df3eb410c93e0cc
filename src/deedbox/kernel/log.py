"""Structured logs: one JSON object a line, with the request's id, and nothing that looks like a secret."""

import contextvars
import logging
import re
import sys
from collections.abc import Mapping
from typing import Any

import msgspec

from deedbox.kernel.clock import SystemClock, instant, stopwatch
from deedbox.kernel.limits import AWAY_LOG_SECONDS
from deedbox.kernel.tokens import TokenPrefix

request_id: contextvars.ContextVar[str] = contextvars.ContextVar("request_id", default="")

# A client may have percent-encoded the underscores, even more than once.
_PREFIXES = "|".join(prefix.replace("_", "(?:_|%(?:25)*5[Ff])") for prefix in TokenPrefix)
_SECRET = re.compile(
    rf"(?P<kept>{_PREFIXES}|\b(?i:bearer)\s+|\b(?i:basic)\s+(?=\S*=)"
    r"|\b(?i:password|passwd|api_key|apikey)=)[\w.~+/=%$!*-]+"
    # A port is no password: only what stands before an @ is cut out of an address.
    r"|(?P<address>://[^\s/:@]*:)[^\s/]+(?=@)"
)
_LARGEST_INT = 2**63 - 1
_encode = msgspec.json.Encoder().encode
_clock = SystemClock()
_log = logging.getLogger("deedbox")


def redact(text: str) -> str:
    """The text with everything that looks like a key, token or password cut out."""
    return _SECRET.sub(lambda found: f"{found['kept'] or found['address']}…", text)


def info(event: str, **fields: Any) -> None:
    _log.info(event, extra={"fields": fields})


def warning(event: str, **fields: Any) -> None:
    _log.warning(event, extra={"fields": fields})


def error(event: str, *, exception: BaseException | None = None, **fields: Any) -> None:
    _log.error(event, extra={"fields": fields}, exc_info=exception)


def configure(level: str, style: str) -> None:
    """Sends the log to stderr, as JSON lines or as text for a person."""
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(_Seldom().filter)
    handler.setFormatter(_JsonLines() if style == "json" else _Text())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel("WARNING")
    _log.setLevel(level.upper())


class _Seldom:
    """Passes each sentence of the database's driver once a minute: while the database is away, its pool says the same
    several times a second."""

    def __init__(self) -> None:
        self._passed: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if not record.name.startswith("psycopg"):
            return True
        # What one pool says of each connection differs in its arguments only.
        sentence, now = str(record.msg), stopwatch()
        if now - self._passed.get(sentence, -AWAY_LOG_SECONDS) < AWAY_LOG_SECONDS:
            return False
        self._passed[sentence] = now
        return True


def _line(record: logging.LogRecord) -> dict[str, Any]:
    line = {
        "time": instant(_clock.now()),
        "level": record.levelname.lower(),
        "event": _plain(record.getMessage()),
    }
    if current := request_id.get():
        line["request_id"] = _plain(current)
    fields: Mapping[str, Any] = getattr(record, "fields", {})
    return {**{name: _plain(value) for name, value in fields.items()}, **line}


def _plain(value: Any) -> Any:
    """The value as JSON can hold it, without secrets, however deep they lie."""
    if isinstance(value, str) and value.isascii():
        return redact(value)
    if value is None or isinstance(value, (bool, float)):
        return value
    if isinstance(value, int) and abs(value) <= _LARGEST_INT:
        return value
    if isinstance(value, Mapping):
        return {_plain(str(name)): _plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(inner) for inner in value]
    text = value.decode("latin-1") if isinstance(value, bytes) else str(value)
    # A file's name may hold half a surrogate pair, which no encoder takes.
    return redact(text).encode("utf-8", "backslashreplace").decode()


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = _line(record)
        first = {name: line.pop(name) for name in ("time", "level", "event")}
        if record.exc_info:
            line["exception"] = _plain(self.formatException(record.exc_info))
        return _encode({**first, **line}).decode()


class _Text(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = _line(record)
        first = f"{line.pop('time')} {line.pop('level'):7} {_one_line(line.pop('event'))}"
        text = " ".join((first, *(f"{_one_line(name)}={_one_line(value)}" for name, value in line.items())))
        if record.exc_info:
            # Indented, so that no message inside can pass for a line of the log.
            text += "\n" + "\n".join(f"    {row}" for row in _plain(self.formatException(record.exc_info)).splitlines())
        return text


def _one_line(value: Any) -> str:
    text = str(value)
    return text if text.isprintable() else _encode(text).decode()

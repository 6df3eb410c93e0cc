"""Structured logs: one JSON object a line, with the request's id, and nothing that looks like a secret."""

import contextvars
import logging
import re
import sys
from collections.abc import Mapping
from typing import Any

import msgspec

from deedbox.kernel.clock import SystemClock, instant

request_id: contextvars.ContextVar[str] = contextvars.ContextVar("request_id", default="")

_SECRET = re.compile(r"(deed_live_|deed_login_|deed_session_|deed_sign_|whsec_|Bearer |://[^/\s:@]+:)[^\s\"'@/\\&]+")
_encode = msgspec.json.Encoder(enc_hook=repr).encode
_clock = SystemClock()
_log = logging.getLogger("deedbox")


def redacted(text: str) -> str:
    """The text with everything that looks like a key, token or password cut out."""
    return _SECRET.sub(r"\1…", text)


def info(event: str, **fields: Any) -> None:
    _log.info(event, extra={"fields": fields})


def warning(event: str, **fields: Any) -> None:
    _log.warning(event, extra={"fields": fields})


def error(event: str, *, exception: BaseException | None = None, **fields: Any) -> None:
    _log.error(event, extra={"fields": fields}, exc_info=exception)


def configure(level: str, style: str) -> None:
    """Sends the log to stderr, as JSON lines or as text for a person."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonLines() if style == "json" else _Text())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel("WARNING")
    _log.setLevel(level.upper())


def _fields(record: logging.LogRecord) -> Mapping[str, Any]:
    fields: Mapping[str, Any] = getattr(record, "fields", {})
    return fields


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": instant(_clock.now()),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
        }
        if current := request_id.get():
            line["request_id"] = current
        line.update(_fields(record))
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return redacted(_encode(line).decode())


class _Text(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        details = " ".join(f"{name}={value}" for name, value in _fields(record).items())
        line = f"{instant(_clock.now())} {record.levelname.lower():7} {record.getMessage()} {details}".rstrip()
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return redacted(line)

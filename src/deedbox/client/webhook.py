"""The receiver's side of a webhook: whether a delivery comes from whoever has the secret, and is not an old one."""

import hashlib
import hmac
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Literal

import msgspec

from deedbox.client.errors import BadSignature
from deedbox.client.records.hooks import Event
from deedbox.kernel import limits
from deedbox.kernel.clock import SystemClock, moment

_EVENT = msgspec.json.Decoder(Event)

_SIGNATURE = "X-Service-Signature"
_TIMESTAMP = "X-Service-Timestamp"
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
_CARRIERS = {"": "", "-Next": " (by the secret that takes over next)", "-Previous": " (by the secret before)"}


class Verdict(msgspec.Struct, frozen=True):
    """What is to be thought of a delivery."""

    valid: bool
    scheme: Literal["body", "timestamped"]
    reason: str


def verify_webhook(body: bytes, headers: Mapping[str, str], secret: str, *, now: datetime | None = None) -> Event:
    """The event of a genuine delivery; BadSignature for any other. `body` is the raw bytes, not what they parse to."""
    verdict = check(body, headers, secret, now=now or SystemClock().now())
    if not verdict.valid:
        raise BadSignature(verdict.reason)
    try:
        return _EVENT.decode(body)
    except msgspec.DecodeError as error:
        raise BadSignature(f"The signature fits, but the body is no event: {error}") from error


def check(body: bytes, headers: Mapping[str, str], secret: str, *, now: datetime) -> Verdict:
    """The verdict of a receiver with this secret on a delivery."""
    if not secret:
        raise ValueError("There is no secret: anybody could sign with an empty one.")
    given = {name.lower(): value for name, value in headers.items()}
    timestamp = given.get(_TIMESTAMP.lower())
    scheme: Literal["body", "timestamped"] = "body" if timestamp is None else "timestamped"
    if timestamp is not None and (doubt := _doubt(timestamp, now)):
        return Verdict(False, scheme, doubt)
    signed = body if timestamp is None else timestamp.encode() + b"." + body
    expected = b"sha256=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest().encode()
    for ending, by in _CARRIERS.items():
        carried = given.get(f"{_SIGNATURE}{ending}".lower())
        if carried is not None and hmac.compare_digest(carried.encode("utf-8", "replace"), expected):
            return Verdict(True, scheme, f"The signature fits{by}.")
    if _SIGNATURE.lower() not in given:
        return Verdict(False, scheme, f"There is no {_SIGNATURE}.")
    return Verdict(False, scheme, "The signature does not fit: another secret, or other bytes than were signed.")


def _doubt(timestamp: str, now: datetime) -> str | None:
    """The objection to the timestamp, if there is one."""
    try:
        # A beginning of the body must not pass for a time: only this one spelling is one.
        sent = moment(timestamp) if _TIME.fullmatch(timestamp) else None
    except ValueError:
        sent = None
    if sent is None:
        return f"{_TIMESTAMP} is not a time."
    if abs((now - sent).total_seconds()) > limits.WEBHOOK_TOLERANCE_SECONDS:
        return f"It was signed at {timestamp}, more than {limits.WEBHOOK_TOLERANCE_SECONDS} seconds from now."
    return None

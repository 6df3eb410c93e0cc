"""The receiver's side: whether a delivery comes from whoever has the secret, and is not an old one sent again. Pure."""

import re
from collections.abc import Mapping
from datetime import datetime

import msgspec

from deedbox.kernel import limits
from deedbox.kernel.clock import moment
from deedbox.kernel.crypto import Secret, same
from deedbox.webhooks import signature
from deedbox.webhooks.hook import Scheme

_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
_CARRIERS = {"": "", "-Next": " (by the secret that takes over next)", "-Previous": " (by the secret before)"}


class Verdict(msgspec.Struct, frozen=True):
    valid: bool
    scheme: Scheme
    reason: str


def check(secret: Secret, headers: Mapping[str, str], body: bytes, *, now: datetime) -> Verdict:
    """The verdict of a receiver with this secret on a delivery; header names are in lower case."""
    timestamp = headers.get(signature.TIMESTAMP.lower())
    scheme: Scheme = "body" if timestamp is None else "timestamped"
    if timestamp is not None and (doubt := _doubt(timestamp, now)):
        return Verdict(False, scheme, doubt)
    expected = signature.digest(secret, body, timestamp).encode()
    for ending, by in _CARRIERS.items():
        given = headers.get(f"{signature.HEADER}{ending}".lower())
        if given is not None and same(given.encode(), expected):
            return Verdict(True, scheme, f"The signature fits{by}.")
    if signature.HEADER.lower() not in headers:
        return Verdict(False, scheme, f"There is no {signature.HEADER}.")
    return Verdict(False, scheme, "The signature does not fit: another secret, or other bytes than were signed.")


def _doubt(timestamp: str, now: datetime) -> str | None:
    """The objection to the timestamp, if there is one."""
    try:
        # A beginning of the body must not pass for a time: only this one spelling is one.
        sent = moment(timestamp) if _TIMESTAMP.fullmatch(timestamp) else None
    except ValueError:
        sent = None
    if sent is None:
        return f"{signature.TIMESTAMP} is not a time."
    if abs((now - sent).total_seconds()) > limits.WEBHOOK_TOLERANCE_SECONDS:
        return f"It was signed at {timestamp}, more than {limits.WEBHOOK_TOLERANCE_SECONDS} seconds from now."
    return None

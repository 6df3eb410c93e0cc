"""Typed, sortable ids: a prefix, then 48 bits of milliseconds and 80 random bits in Crockford base32."""

import itertools
import os
import re
from collections.abc import Callable
from datetime import UTC, datetime

ID_CHARS = 26
_TIME_CHARS = 10
_DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PATTERN = re.compile(r"[a-z]{3,4}_[0-7][0-9A-HJKMNP-TV-Z]{25}")
# Ten bits at a time: half the steps of five, and an id is made for every request.
_PAIRS = ["".join(pair) for pair in itertools.product(_DIGITS, repeat=2)]
_SHIFTS = range(120, -1, -10)

Entropy = Callable[[int], bytes]


def new_id(prefix: str, now: datetime, entropy: Entropy = os.urandom) -> str:
    """A new id such as `doc_01JD…`; ids made later sort later, to the millisecond."""
    bits = int(now.timestamp() * 1000) << 80 | int.from_bytes(entropy(10), "big")
    return f"{prefix}_{''.join([_PAIRS[bits >> shift & 1023] for shift in _SHIFTS])}"


def made_at(text: str) -> datetime:
    """When the id was made, to the millisecond."""
    digits = text.rpartition("_")[2][:_TIME_CHARS]
    milliseconds = 0
    for character in digits:
        milliseconds = milliseconds << 5 | _DIGITS.index(character)
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def is_id(text: str, prefix: str) -> bool:
    return text.startswith(prefix + "_") and _PATTERN.fullmatch(text) is not None

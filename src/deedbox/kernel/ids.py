"""Typed, sortable ids: a prefix, then 48 bits of milliseconds and 80 random bits in Crockford base32."""

import base64
import os
import re
from collections.abc import Callable
from datetime import datetime

ID_CHARS = 26
_CROCKFORD = bytes.maketrans(b"0123456789ABCDEFGHIJKLMNOPQRSTUV", b"0123456789ABCDEFGHJKMNPQRSTVWXYZ")
_PATTERN = re.compile(r"[a-z]{3,4}_[0-7][0-9A-HJKMNP-TV-Z]{25}")

Entropy = Callable[[int], bytes]


def new_id(prefix: str, now: datetime, entropy: Entropy = os.urandom) -> str:
    """A new id such as `doc_01JD…`; ids made later sort later, to the millisecond."""
    bits = int(now.timestamp() * 1000).to_bytes(6, "big") + entropy(10)
    return f"{prefix}_{base64.b32hexencode(bytes(4) + bits)[-ID_CHARS:].translate(_CROCKFORD).decode()}"


def is_id(text: str, prefix: str) -> bool:
    return text.startswith(prefix + "_") and _PATTERN.fullmatch(text) is not None

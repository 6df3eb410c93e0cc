"""The one way in which evidence is written as bytes, so that anyone can hash it again.

Canonical JSON, exactly: only null, true, false, integers within ±(2^53 - 1), strings, arrays and objects with string
keys; no fractions. Keys in the order of their Unicode code points, no white space between tokens, integers in decimal
without sign `+` or leading zeros. Strings in UTF-8; escaped are only the quotation mark and the backslash (with a
backslash) and the characters below U+0020: \\b \\f \\n \\r \\t by these short forms, the others as \\u00xx with
lower-case digits. No byte order mark, no end of line at the end. A lone surrogate cannot be written.

Receipts tell scores, and so have fractions too: each the shortest decimal that reads back as the same double, as
Python's `repr` writes it (`0.5`, `12.0`, `1e-07`), never an infinity.
"""

import hashlib
import math
from typing import Any, TypeAlias

import msgspec

Json: TypeAlias = Any
"""A value that canonical JSON can write; anything else raises ValueError."""

_encode = msgspec.json.Encoder(order="deterministic").encode

INTEGER_MAX = 2**53 - 1
"""The largest that every JSON reader keeps exactly."""


def canonical(value: Json, *, fractions: bool = False) -> bytes:
    """The value's canonical bytes; ValueError when it has none."""
    try:
        return _encode(_written(value) if fractions else _check(value))
    except TypeError as error:  # a class of its own that is made of one of these
        raise ValueError(f"evidence cannot hold it: {error}") from error


def sha256(value: Json) -> str:
    """The hash of the value's canonical bytes, in hexadecimal."""
    return hashlib.sha256(canonical(value)).hexdigest()


def _check(value: Json) -> Json:
    """The value, if canonical JSON without fractions can write it."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        if abs(value) > INTEGER_MAX:
            raise ValueError(f"{value} is too large for evidence")
    elif isinstance(value, dict):
        for key, item in value.items():
            _check_key(key)
            _check(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _check(item)
    else:
        raise ValueError(f"evidence cannot hold a {type(value).__name__}")
    return value


def _check_key(key: object) -> None:
    if not isinstance(key, str):
        raise ValueError(f"{key!r} is no key for evidence")


def _written(value: Json) -> Json:
    """The value with each fraction as its digits."""
    if isinstance(value, dict):
        for key in value:
            _check_key(key)
        return {key: _written(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_written(item) for item in value]
    if not isinstance(value, float):
        return _check(value)
    if not math.isfinite(value):
        raise ValueError(f"{value} is no number for evidence")
    return msgspec.Raw(repr(value).encode())

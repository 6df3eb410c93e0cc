"""Patterns of text fields: regular expressions that strangers write, matched in time that grows with the text alone."""

from functools import lru_cache
from typing import Any

import re2

from deedbox.kernel.errors import BadRequest
from deedbox.signing import limits

_OPTIONS = re2.Options()
_OPTIONS.max_mem = limits.FIELD_PATTERN_BYTES
_OPTIONS.log_errors = False
_OPTIONS.never_capture = True


def work(pattern: str, letters: int) -> int:
    """What it takes at worst to match a text of so many letters.

    BadRequest for what is no regular expression, is too large, or cannot be matched in linear time."""
    steps: int = _compiled(pattern).programsize
    if steps > limits.FIELD_PATTERN_PROGRAM:
        raise BadRequest(
            f"The pattern {pattern!r} cannot be used: it takes {steps:,} steps, and at most"
            f" {limits.FIELD_PATTERN_PROGRAM:,} are allowed. Repeat less in it, and use max_length."
        )
    return steps * max(letters, limits.FIELD_PATTERN_LETTERS_MIN)


def matches(pattern: str, text: str) -> bool:
    """Whether the whole text is as the pattern says."""
    return _compiled(pattern).fullmatch(text) is not None


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> Any:
    try:
        return re2.compile(pattern, options=_OPTIONS)
    except re2.error as error:
        reason = error.args[0].decode(errors="replace") if isinstance(error.args[0], bytes) else str(error)
        raise BadRequest(
            f"The pattern {pattern!r} cannot be used: {reason}. It is a regular expression in the syntax of RE2, which"
            " has no look-around and no back-references."
        ) from error

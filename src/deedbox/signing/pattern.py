"""Patterns of text fields: regular expressions that strangers write, matched in time that grows with the text alone."""

from functools import lru_cache
from typing import Any

import re2

from deedbox.kernel import limits
from deedbox.kernel.errors import BadRequest

_OPTIONS = re2.Options()
_OPTIONS.max_mem = limits.FIELD_PATTERN_BYTES
_OPTIONS.log_errors = False
_OPTIONS.never_capture = True


def check(pattern: str) -> None:
    """Raises BadRequest for what is no regular expression, or has what cannot be matched in linear time."""
    _compiled(pattern)


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

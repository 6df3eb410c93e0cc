"""The pages of a list: how many records, and from which on. A cursor is the id of the last record shown."""

from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType

from deedbox.kernel import limits, validation_errors
from deedbox.kernel.ids import ID_CHARS

T = TypeVar("T")

_TEXT = "`next_cursor` of the page before."
_WORDS = {validation_errors.WORDS: "not a cursor that this list has given"}
_NUMBER_DIGITS = 9

Limit = Annotated[int, Meta(ge=1, le=limits.PAGE_MAX, description="How many to show at most.")]


class PageQuery(msgspec.Struct, frozen=True, kw_only=True):
    """What every list takes; each says what its cursors look like."""

    limit: Limit = limits.PAGE_DEFAULT
    cursor: str | UnsetType = UNSET

    @property
    def start(self) -> str | None:
        """The id of the last record that was shown; None from the beginning."""
        return self.cursor or None


def of(prefix: str) -> Meta:
    """Describes the cursor of a list of records with this prefix."""
    return one_of(f"{prefix}_[0-7][0-9A-HJKMNP-TV-Z]{{{ID_CHARS - 1}}}", len(prefix) + 1 + ID_CHARS)


def one_of(pattern: str, longest: int) -> Meta:
    # The length too: to a pattern, the end of a text is also where only a line's end follows.
    return Meta(pattern=f"^({pattern})$", max_length=longest, description=_TEXT, extra=_WORDS)


def number() -> Meta:
    """Describes the cursor of a list whose records are numbered."""
    return one_of(f"0|[1-9][0-9]{{0,{_NUMBER_DIGITS - 1}}}", _NUMBER_DIGITS)


def page(found: Sequence[T], limit: int, cursor_of: Callable[[T], str]) -> tuple[list[T], int, bool, str | None]:
    """Records, count, has_more and next_cursor of a page, of which one record more than its limit was looked for."""
    shown, has_more = list(found[:limit]), len(found) > limit
    return shown, len(shown), has_more, cursor_of(shown[-1]) if has_more else None

"""Moments that callers name, in query and body, brought to UTC."""

from datetime import UTC, datetime
from typing import Annotated

import msgspec
from msgspec import Meta

from deedbox.kernel.errors import BadRequest

_Aware = Annotated[datetime, Meta(tz=True)]


def parse(name: str, text: str | None) -> datetime | None:
    """The moment that a query parameter writes as RFC 3339 with an offset, and in no other way."""
    if text is None:
        return None
    try:
        return in_utc(name, msgspec.convert(text, _Aware))
    except msgspec.ValidationError as error:
        raise BadRequest(f"{name} must be a time such as 2026-03-01T12:00:00Z") from error


def in_utc(name: str, moment: datetime | None) -> datetime | None:
    try:
        return None if moment is None else moment.astimezone(UTC)
    except OverflowError as error:
        raise BadRequest(f"{name} lies outside the years 1 to 9999") from error

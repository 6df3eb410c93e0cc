"""When an attempt that failed is made again. Pure."""

import email.utils
from collections.abc import Callable
from datetime import UTC, datetime
from random import uniform

from deedbox.kernel import limits

Jitter = Callable[[float, float], float]
ATTEMPTS = len(limits.WEBHOOK_RETRY_SECONDS)


def delay(ended: int, retry_after: float | None, jitter: Jitter = uniform) -> float | None:
    """Seconds until the next attempt after so many that have ended; None when there is none."""
    if ended >= ATTEMPTS:
        return None
    base = float(limits.WEBHOOK_RETRY_SECONDS[ended])
    if retry_after is not None:
        return min(max(retry_after, base), 2 * base)
    return base * jitter(1 - limits.WEBHOOK_JITTER, 1 + limits.WEBHOOK_JITTER)


def asked_wait(retry_after: str | None, now: datetime) -> float | None:
    """The seconds that a Retry-After header asks for, as a number or a date; None if it asks for nothing."""
    text = (retry_after or "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:10])
    try:
        date = email.utils.parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        return None
    return ((date if date.tzinfo else date.replace(tzinfo=UTC)) - now).total_seconds()

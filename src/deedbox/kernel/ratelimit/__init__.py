"""Exact sliding windows, a minute and a day at once, per subject. A refused request does not consume."""

from datetime import datetime
from typing import Protocol

import msgspec

WINDOWS = (60, 86_400)
"""The minute and the day, in seconds. An admission at `t` counts in (t - seconds, t] of each later moment."""

ADDRESS = "ip:"
"""How the subject of a caller without a valid key begins; every other subject is kept through a restart."""


class Allowance(msgspec.Struct, frozen=True):
    """What a subject may use. Without `per_day` there is no day window."""

    per_minute: int
    per_day: int | None


class RateLimitStatus(msgspec.Struct, frozen=True):
    """Where a subject stands, in the window with the smaller remaining share or the one that refused."""

    allowed: bool
    limit: int
    remaining: int
    reset: int
    """Unix seconds, rounded up: when the oldest counted request leaves the window."""
    retry_after: int
    """Whole seconds until a request would be admitted, at least 1; 0 if this one was allowed."""


class RateLimiter(Protocol):
    async def start(self) -> None:
        """Takes up what is remembered, and begins to save or tidy in the background."""

    async def hit(self, subject: str, allowance: Allowance, now: datetime) -> RateLimitStatus:
        """The standing after this request, which counts if it was admitted."""

    async def peek(self, subject: str, allowance: Allowance, now: datetime) -> RateLimitStatus:
        """The standing as it is: counts nothing and never refuses."""

    async def flush(self) -> None:
        """Saves and tidies now what would otherwise be done in a moment."""

    async def close(self) -> None:
        """Saves what must survive a restart; nothing may be asked afterwards."""

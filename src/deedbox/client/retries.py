"""Whether a call is sent again, and when. Pure but for chance."""

import random
from typing import TypeAlias

import httpx

from deedbox.client.call import Call
from deedbox.client.errors import ApiError, NoAnswer, seconds

Outcome: TypeAlias = httpx.Response | httpx.TransportError

_REFUSED = (429, 503)
"""Answers to a call that has had no effect, and may have one later."""
_NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout)
_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 60.0
_chance = random.SystemRandom()


def pause(call: Call, outcome: Outcome, attempt: int) -> float | None:
    """Seconds to wait before the next attempt, the first being 0; None if there is to be none."""
    if not _may_help(call, outcome):
        return None
    asked = seconds(outcome) if isinstance(outcome, httpx.Response) else None
    if asked is not None and asked > _LONGEST_PAUSE_SECONDS:
        return None
    # Clients that failed together shall not come back together.
    own: float = _FIRST_PAUSE_SECONDS * 2**attempt * _chance.uniform(0.5, 1.0)
    return min(max(own, asked or 0.0), _LONGEST_PAUSE_SECONDS)


def _may_help(call: Call, outcome: Outcome) -> bool:
    if isinstance(outcome, httpx.Response):
        running = outcome.headers.get("X-Service-Error-Code") == "idempotency_in_progress"
        return outcome.status_code in _REFUSED or running
    # What never reached the server can be sent again; what may have, only if it has the same effect twice.
    return call.is_repeatable or isinstance(outcome, _NEVER_SENT)


def may_be_done(outcome: Outcome) -> bool:
    """Whether the call may have had its effect, and only its answer was lost."""
    return isinstance(outcome, httpx.TransportError) and not isinstance(outcome, _NEVER_SENT)


def check_outcome(call: Call, outcome: Outcome, *, lost: bool = False) -> httpx.Response:
    """The answer, if it is a good one; else the failure is raised. `lost`: that to an earlier attempt may be lost."""
    if isinstance(outcome, httpx.TransportError):
        reason = str(outcome) or type(outcome).__name__
        raise NoAnswer(f"The server gave no answer to {call.method} {call.path}: {reason}") from outcome
    if call.method == "DELETE" and lost and outcome.status_code == 404:
        return outcome  # an earlier attempt has deleted it
    if not (outcome.is_redirect if call.redirects else outcome.is_success):
        raise ApiError(outcome)
    return outcome

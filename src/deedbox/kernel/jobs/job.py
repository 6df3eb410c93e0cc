"""What a job is."""

from typing import Any, Literal, TypeAlias

import msgspec

State: TypeAlias = Literal["ready", "running", "done", "parked"]

PRIORITIES = URGENT, NORMAL, BULK = 0, 5, 9


class Progress(msgspec.Struct, frozen=True):
    done: int
    total: int
    note: str = ""


class Job(msgspec.Struct, frozen=True):
    id: str
    kind: str
    workspace_id: str | None
    payload: dict[str, Any]
    state: State
    run_at: float
    attempts: int
    max_attempts: int
    progress: Progress | None
    error: str | None
    created_at: str
    finished_at: str | None


class GiveUp(Exception):
    """Raised by a handler when trying again cannot help: the job is parked at once, with this reason."""


class LeaseLost(Exception):
    """Another process owns the job now; what this one was about to save must not be saved."""

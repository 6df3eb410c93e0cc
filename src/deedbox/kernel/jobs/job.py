"""A job, its states and priorities, and the slots of a worker."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TypeAlias

import msgspec

from deedbox.kernel import limits

State: TypeAlias = Literal["ready", "running", "done", "parked"]

PRIORITIES = URGENT, NORMAL, PATIENT, AUTOMATIC, BULK = 0, 5, 7, 8, 9
"""Patient is what comes in great numbers and is waited for by nobody in particular: documents to be indexed. Automatic
is the same work where nobody asked for it."""
FAIR = PATIENT, AUTOMATIC
"""The priorities whose jobs are claimed fairly by workspace. Each has an index of its own (`jobs_patient` …)."""
_KEPT = {URGENT: 0.0, NORMAL: 0.25, PATIENT: 0.5, AUTOMATIC: 0.5, BULK: 0.5}
"""The part of a worker's slots that a priority leaves to more urgent ones."""
_KEPT_OF_URGENT = 1
"""The slots that urgent jobs leave to all others, unless it is the only one."""


class JobProgress(msgspec.Struct, frozen=True):
    done: int
    total: int
    note: str = ""


class NewJob(msgspec.Struct, frozen=True):
    """Work to be done later, as it is put into the queue."""

    kind: str
    payload: Mapping[str, Any] = {}
    run_at: datetime | None = None
    """At once, if it is not given."""
    priority: int = NORMAL
    unique_key: str | None = None
    workspace_id: str | None = None
    max_attempts: int = limits.JOB_ATTEMPTS


class Job(msgspec.Struct, frozen=True, rename={"state": "status"}):
    """A job; where it is shown as JSON, its state is called as that of everything else."""

    id: str
    kind: str
    workspace_id: str | None
    payload: dict[str, Any]
    state: State
    run_at: float
    attempts: int
    max_attempts: int
    progress: JobProgress | None
    error: str | None
    created_at: str
    finished_at: str | None
    priority: int


class Claimed(msgspec.Struct, frozen=True):
    """What a worker has claimed so far: it decides whose turn is next."""

    workspaces: Mapping[int, str] = {}
    """The workspace whose job came last, by priority."""
    since_automatic: int = 0
    """The number of patient and bulk jobs since the last automatic one."""

    def with_more(self, jobs: Sequence[Job]) -> "Claimed":
        since = self.since_automatic
        for job in jobs:
            since = 0 if job.priority == AUTOMATIC else since + (job.priority in (PATIENT, BULK))
        last = {job.priority: job.workspace_id or "" for job in jobs if job.priority in FAIR}
        return Claimed({**self.workspaces, **last}, since)

    @property
    def is_automatic_turn(self) -> bool:
        """Whether late automatic work may come before other work for once."""
        return self.since_automatic >= limits.JOB_TURNS_BEFORE_AUTOMATIC


class Slots(msgspec.Struct, frozen=True):
    """How many jobs a worker may have at a time, and the priorities of those that it has."""

    total: int
    taken: tuple[int, ...] = ()
    shared: bool = False
    """Whether some stay free for other priorities: work that stalls must not hold up all other."""
    kinds: tuple[str, ...] = ()
    """The kinds of jobs that it takes; empty: every kind."""
    claimed: Claimed = Claimed()

    def free(self, priority: int) -> int:
        """How many more of this priority it may take."""
        levels = [level for level in PRIORITIES if level <= priority]
        room = min(self._most(level) - sum(one >= level for one in self.taken) for level in levels)
        if priority == URGENT and self.shared:
            room = min(room, max(1, self.total - _KEPT_OF_URGENT) - self.taken.count(URGENT))
        return room

    def _most(self, level: int) -> int:
        return self.total - int(self.total * _KEPT[level]) if self.shared else self.total

    def with_more(self, jobs: list[Job]) -> "Slots":
        taken = (*self.taken, *(job.priority for job in jobs))
        return msgspec.structs.replace(self, taken=taken, claimed=self.claimed.with_more(jobs))


class Backlog(msgspec.Struct, frozen=True):
    """The open work of one kind."""

    due: int = 0
    """Jobs that could run now; timers that wait for their time are not among them."""
    oldest_due_seconds: float = 0.0
    """For how long the oldest of them has been due."""
    running: int = 0
    failed: int = 0
    """Jobs that were given up after their last attempt."""
    in_line: bool = False
    """Whether an older job that is at least as urgent runs now: then the due ones may have to wait for it."""

    @property
    def is_stalled(self) -> bool:
        """Whether work is long due and nobody does it."""
        return self.oldest_due_seconds >= limits.JOB_STALLED_SECONDS and not self.running and not self.in_line


class GiveUp(Exception):
    """Raised by a handler when trying again cannot help: the job is parked at once, with this reason."""


class LeaseLost(Exception):
    """Another process owns the job now; what this one was about to save must not be saved."""

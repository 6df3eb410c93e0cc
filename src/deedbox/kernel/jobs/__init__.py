"""Work to do later: rows with a lease, claimed by any process, retried, and parked when they keep failing."""

from deedbox.kernel.jobs.job import BULK, NORMAL, PATIENT, URGENT, GiveUp, Job, LeaseLost, NewJob, Progress, State
from deedbox.kernel.jobs.runner import Handler, Runner, Work
from deedbox.kernel.jobs.store import JOB_CHANGED, cancel, counts, end, enqueue, find, held, of_kind, parked, put, retry

__all__ = [
    "BULK",
    "JOB_CHANGED",
    "NORMAL",
    "PATIENT",
    "URGENT",
    "GiveUp",
    "Handler",
    "Job",
    "LeaseLost",
    "NewJob",
    "Progress",
    "Runner",
    "State",
    "Work",
    "cancel",
    "counts",
    "end",
    "enqueue",
    "find",
    "held",
    "of_kind",
    "parked",
    "put",
    "retry",
]

"""The long-term archive: every completed document is packed, authenticated and pushed by itself, until it is there."""

from deedbox.archive.daily_roots import ROUND_JOB, Rounds
from deedbox.archive.push import PUSH_JOB, Pushing

__all__ = ["PUSH_JOB", "ROUND_JOB", "Pushing", "Rounds"]

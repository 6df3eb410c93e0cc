"""The long-term archive: every completed document is packed, authenticated and pushed by itself, until it is there."""

from deedbox.archive.push import PUSH_JOB, Pushing
from deedbox.archive.rounds import ROUND_JOB, Rounds

__all__ = ["PUSH_JOB", "ROUND_JOB", "Pushing", "Rounds"]

"""What `deedbox doctor` says of one subject."""

from typing import Literal

import msgspec

Verdict = Literal["good", "note", "bad"]


class Finding(msgspec.Struct, frozen=True):
    subject: str
    verdict: Verdict
    text: str
    next_step: str = ""

"""The lifecycle as data: what may be done in which state, and where it leads."""

from typing import Any, Final, Literal, TypeAlias

import msgspec

from deedbox.kernel.errors import Conflict
from deedbox.signing.model import Document, Status

Move: TypeAlias = Literal[
    "lay_out", "fail", "edit", "delete", "amend", "send", "remind", "sign", "approve", "delegate", "finalize",
    "complete", "decline", "void", "expire",
]  # fmt: skip

MOVES: Final[dict[tuple[Status, Move], Status]] = {
    ("processing", "lay_out"): "draft",
    ("processing", "fail"): "failed",
    ("draft", "lay_out"): "draft",
    ("draft", "fail"): "failed",
    ("draft", "edit"): "draft",
    ("draft", "delete"): "draft",
    ("draft", "amend"): "draft",
    ("draft", "send"): "sent",
    ("draft", "void"): "voided",
    ("sent", "amend"): "sent",
    ("sent", "remind"): "sent",
    ("sent", "sign"): "sent",
    ("sent", "approve"): "sent",
    ("sent", "delegate"): "sent",
    ("sent", "finalize"): "finalizing",
    ("sent", "decline"): "declined",
    ("sent", "void"): "voided",
    ("sent", "expire"): "expired",
    ("finalizing", "complete"): "completed",
    ("failed", "delete"): "failed",
}
"""Whatever is not here is refused. `lay_out` puts the fields on a paper. A draft fails with another document of its
packet, and what failed was never sent, so it can be deleted. `amend` is what may change after sending: expiry,
reminders, metadata, and what is known of people who have not acted."""

TERMINAL: Final[frozenset[Status]] = frozenset({"completed", "declined", "voided", "expired", "failed"})

_TIMES: Final[dict[Move, str]] = {
    "send": "sent_at",
    "complete": "completed_at",
    "decline": "declined_at",
    "void": "voided_at",
    "expire": "expired_at",
}

_STANDING: Final[dict[Status, str]] = {
    "processing": "is still being converted",
    "draft": "has not been sent",
    "sent": "has been sent",
    "finalizing": "is being sealed",
    "completed": "is completed",
    "declined": "was declined",
    "voided": "was voided",
    "expired": "has expired",
    "failed": "could not be converted",
}


def after(status: Status, move: Move) -> Status:
    """The state that the move leads to; Conflict, with its sentence, where it leads nowhere."""
    following = MOVES.get((status, move))
    if following is None:
        raise refusal(status)
    return following


def move(document: Document, move: Move, at: str, **changes: Any) -> Document:
    """The document after the move, which is the only way from state to state; Conflict where it leads nowhere."""
    if move in _TIMES:
        changes[_TIMES[move]] = at
    return msgspec.structs.replace(document, status=after(document.status, move), updated_at=at, **changes)


def refusal(status: Status) -> Conflict:
    return Conflict(f"The document {_STANDING[status]}, so this cannot be done")

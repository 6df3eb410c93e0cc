"""The lifecycle is a closed table: every state with every move."""

from typing import get_args

import pytest

from deedbox.kernel.errors import Conflict
from deedbox.signing.model import Status
from deedbox.signing.states import MOVES, TERMINAL, Move, after

ALLOWED = {
    "processing": {"lay_out": "draft", "fail": "failed"},
    "draft": {
        "lay_out": "draft",
        "fail": "failed",
        "edit": "draft",
        "delete": "draft",
        "amend": "draft",
        "send": "sent",
        "void": "voided",
    },
    "sent": {
        "amend": "sent",
        "remind": "sent",
        "sign": "sent",
        "approve": "sent",
        "delegate": "sent",
        "finalize": "finalizing",
        "decline": "declined",
        "void": "voided",
        "expire": "expired",
    },
    "finalizing": {"complete": "completed"},
    "failed": {"delete": "failed"},
}


@pytest.mark.parametrize("move", get_args(Move))
@pytest.mark.parametrize("status", get_args(Status))
def test_every_move_leads_where_the_contract_says_or_nowhere(status: Status, move: Move) -> None:
    expected = ALLOWED.get(status, {}).get(move)
    if expected is None:
        with pytest.raises(Conflict, match="so this cannot be done"):
            after(status, move)
    else:
        assert after(status, move) == expected


def test_nothing_leads_out_of_a_last_state() -> None:
    assert not [end for (start, _), end in MOVES.items() if start in TERMINAL and end != start]
    assert set(MOVES.values()) >= TERMINAL

"""How many documents a workspace has in each state: counted as far as matters, never through all of them."""

from collections.abc import Mapping, Sequence
from typing import get_args

from deedbox.kernel.db import Tx
from deedbox.signing.model import Status
from deedbox.signing.store.document_list import WAITING_FOR

_STATUSES: Sequence[Status] = get_args(Status)


def by_status(tx: Tx, workspace_id: str, most: int) -> Mapping[Status, int]:
    """The documents in each state, up to so many of each."""
    # A part for each, which ends where there are enough: one count of all would pass through the whole index.
    parts = [
        f"select '{status}', count(*) from (select 1 from documents where workspace_id = :workspace_id"
        f" and status = '{status}' limit :most) {status}_ones"
        for status in _STATUSES
    ]
    return {row[0]: int(row[1]) for row in tx.all(" union all ".join(parts), workspace_id=workspace_id, most=most)}


def waiting_for(tx: Tx, workspace_id: str, email: str, most: int) -> int:
    """The documents where it is the turn of someone at this address, up to so many."""
    sql = f"select count(*) from (select distinct documents.id {WAITING_FOR} limit :most) waiting"
    row = tx.one(sql, workspace_id=workspace_id, waits_for=email, most=most)
    return int(row[0]) if row else 0

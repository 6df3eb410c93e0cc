"""The table of what was changed in workspaces."""

import msgspec

from deedbox.kernel.db import Tx
from deedbox.kernel.db.rows import insert


class ActRow(msgspec.Struct, frozen=True):
    id: str
    workspace_id: str
    by_id: str
    by_name: str
    act: str
    subject_id: str
    subject_name: str
    at: str


_ACT = ", ".join(ActRow.__struct_fields__)


def add(tx: Tx, row: ActRow) -> None:
    insert(tx, "workspace_acts", msgspec.structs.asdict(row))


def acts(tx: Tx, workspace_id: str, limit: int, before: str | None, kind: str | None) -> list[ActRow]:
    """The workspace's acts, newest first; of one kind, if it is named."""
    # `/` follows `.`: between the two lies every act of the kind.
    of_kind = " and act >= :first and act < :last" if kind else ""
    rows = tx.all(
        f"select {_ACT} from workspace_acts where workspace_id = :workspace_id and id < :before{of_kind}"
        " order by id desc limit :limit",
        workspace_id=workspace_id,
        before=before or "act_~",
        limit=limit,
        **({"first": f"{kind}.", "last": f"{kind}/"} if kind else {}),
    )
    return [ActRow(*row) for row in rows]

"""The table of what was changed in workspaces."""

import msgspec

from deedbox.kernel.db import Tx, Value
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


class ActPart(msgspec.Struct, frozen=True, kw_only=True):
    """Which changes to list, newest first."""

    limit: int
    before: str | None = None
    """Older than this one."""
    act: str | None = None
    """Of this name (`key.created`), or of all names of a kind (`key`)."""
    since: str | None = None
    """Made then or later."""


_ACT = ", ".join(ActRow.__struct_fields__)


def add(tx: Tx, row: ActRow) -> None:
    insert(tx, "workspace_acts", msgspec.structs.asdict(row))


def acts(tx: Tx, workspace_id: str, part: ActPart) -> list[ActRow]:
    """The workspace's acts that are wanted, newest first."""
    conditions = ["workspace_id = :workspace_id", "id < :before"]
    values: dict[str, Value] = {"workspace_id": workspace_id, "before": part.before or "act_~", "limit": part.limit}
    if part.act and "." in part.act:
        conditions.append("act = :act")
        values["act"] = part.act
    elif part.act:
        # `/` follows `.`: between the two lies every act of the kind.
        conditions.append("act >= :first and act < :last")
        values |= {"first": f"{part.act}.", "last": f"{part.act}/"}
    if part.since:
        conditions.append("at >= :since")
        values["since"] = part.since
    sql = f"select {_ACT} from workspace_acts where {' and '.join(conditions)} order by id desc limit :limit"
    return [ActRow(*row) for row in tx.all(sql, **values)]

"""The packets that a workspace sees, in pages: those of lone documents are not among them."""

from deedbox.kernel.db import Tx, grams
from deedbox.signing.model import Filter, Packet, PageRequest
from deedbox.signing.store import documents
from deedbox.signing.store.filters import conditions_of


def page(tx: Tx, workspace_id: str, wanted: Filter, part: PageRequest) -> list[Packet]:
    """Packets of the workspace that match, by age."""
    conditions, values = conditions_of(wanted, "packets", part)
    conditions.append("lone = 0")
    if wanted.statuses:
        named = {f"status{number}": status for number, status in enumerate(wanted.statuses)}
        conditions.append(f"status in (:{', :'.join(named)})")
        values |= named
    if wanted.q is not None:
        titled = grams.WantedRows("packets", "title_folded", documents.fold_title(wanted.q), conditions)
        titled = titled._replace(newest_first=part.newest_first)
        return documents.packets(tx, workspace_id, grams.page(tx, workspace_id, titled, part.limit, values))
    matching = " and ".join(["workspace_id = :workspace_id", *conditions])
    order = "desc" if part.newest_first else "asc"
    sql = f"select id from packets where {matching} order by id {order} limit :limit"
    found = [row[0] for row in tx.all(sql, workspace_id=workspace_id, limit=part.limit, **values)]
    return documents.packets(tx, workspace_id, found)

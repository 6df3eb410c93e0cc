"""What is done with documents."""

from deedbox.kernel.db import Tx
from deedbox.signing import store
from deedbox.signing.document import Document, Filter


def page(
    tx: Tx, workspace_id: str, wanted: Filter, *, limit: int, cursor: str | None, newest_first: bool
) -> list[Document]:
    """Documents of the workspace that match, by age, from the one after `cursor` on."""
    return store.documents(tx, workspace_id, wanted, limit, cursor, newest_first)

"""What is done with documents."""

import msgspec

from deedbox.kernel.db import Tx
from deedbox.signing import store
from deedbox.signing.document import Document, Status


class Filter(msgspec.Struct, frozen=True):
    """Which documents to list; None means any."""

    status: Status | None = None
    q: str | None = None
    packet_id: str | None = None
    bulk_send_id: str | None = None
    template_id: str | None = None
    external_id: str | None = None
    created_after: str | None = None
    created_before: str | None = None


def page(
    tx: Tx, workspace_id: str, wanted: Filter, *, limit: int, cursor: str | None, newest_first: bool
) -> list[Document]:
    """Documents of the workspace that match, by age, from the one after `cursor` on."""
    return store.documents(tx, workspace_id, wanted, limit, cursor, newest_first)

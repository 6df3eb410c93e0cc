"""The audit trail: every change writes its row in its own transaction, chained to the row before."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from deedbox.evidence import chain
from deedbox.evidence.chain import Entry
from deedbox.kernel.clock import instant
from deedbox.kernel.db import Tx
from deedbox.signing.audit import store

SERVER = "server"
"""The actor of what happens by itself: an expiry, a seal."""


def record(tx: Tx, document_id: str, act: str, actor: str, detail: Mapping[str, Any], *, now: datetime) -> Entry:
    """The new row at the end of the document's trail."""
    number, previous = store.last(tx, document_id) or (0, chain.genesis(document_id))
    entry = chain.next_entry(previous, number + 1, instant(now), act, actor, dict(detail))
    store.add(tx, document_id, entry)
    return entry


def trail(tx: Tx, document_id: str) -> list[Entry]:
    """Every row, oldest first."""
    return store.entries(tx, document_id)

"""Draw: what someone changes in the sketch of a draft is kept, one row and nothing else."""

from datetime import datetime
from typing import NamedTuple

from msgspec.structs import replace

from deedbox.kernel.clock import instant, moment
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import Conflict
from deedbox.signing import states
from deedbox.signing.desk import document_of, only_together
from deedbox.signing.model import Document, Packet
from deedbox.signing.sketch import DrawnFields, Sketch, SketchParty, check_fields, of_draft, with_words
from deedbox.signing.store import sketches


class Drawing(NamedTuple):
    """A draft with its sketch."""

    packet: Packet
    document: Document
    version: int
    sketch: Sketch
    kept: bool
    """Whether it has a row already; else it is the draft as it stands."""


def drawing(tx: Tx, workspace_id: str, document_id: str) -> Drawing:
    """The sketch of a draft: the one that is kept, else that of the draft as it stands. Reading it keeps nothing."""
    packet, document = document_of(tx, workspace_id, document_id)
    if not packet.lone:
        raise only_together(packet)
    if document.status not in ("draft", "processing"):
        raise states.refusal(document.status)
    found = sketches.find(tx, workspace_id, document_id)
    if found is None:
        # The moment of its last change: a draft that was changed since is another.
        version = int(moment(document.updated_at).timestamp() * 1000)
        return Drawing(packet, document, version, of_draft(packet, document), kept=False)
    return Drawing(packet, document, found[0], with_words(found[1], packet, document), kept=True)


def draw_fields(tx: Tx, workspace_id: str, document_id: str, given: DrawnFields, now: datetime) -> int:
    """The version with these fields; Conflict if the sketch is no longer in the one that they were drawn in."""
    before = drawing(tx, workspace_id, document_id)
    if given.version != before.version:
        raise Conflict(sketches.CHANGED)
    return keep(tx, before, replace(before.sketch, fields=given.fields), now)


def draw_people(tx: Tx, workspace_id: str, document_id: str, parties: list[SketchParty], now: datetime) -> int:
    """How many fields went with those who are no longer among the people."""
    before = drawing(tx, workspace_id, document_id)
    after = replace(before.sketch, parties=parties)
    fields = [field for field in before.sketch.fields if not field.who or field.who in after.keys]
    if after != before.sketch:
        keep(tx, before, replace(after, fields=fields), now)
    return len(before.sketch.fields) - len(fields)


def keep(tx: Tx, before: Drawing, sketch: Sketch, now: datetime) -> int:
    """The next version, kept; Conflict if another was first."""
    check_fields(sketch)
    document, at = before.document, instant(now)
    if before.kept:
        sketches.change(tx, document.id, before.version, sketch, at)
    else:
        sketches.add(tx, document.workspace_id, document.id, (before.version + 1, sketch), at)
    return before.version + 1

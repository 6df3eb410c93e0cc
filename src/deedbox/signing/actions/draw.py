"""Draw: what someone changes in the sketch of a draft is kept, one row and nothing else."""

import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from deedbox.kernel import limits
from deedbox.kernel.clock import instant
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest, Conflict
from deedbox.kernel.mailbox import one_line
from deedbox.signing import states
from deedbox.signing.action_context import packet_of
from deedbox.signing.model import Document, Packet, Signer
from deedbox.signing.preparation import PreparedDocumentFile
from deedbox.signing.preparation.by_role import by_role
from deedbox.signing.sketch import (
    DrawnFields,
    Sketch,
    SketchParty,
    SketchSigner,
    check_fields,
    of_draft,
    to_sketch_field,
    with_words,
)
from deedbox.signing.store import documents, sketches

_BROUGHT = "party-role-"
_CORRECTED = ("name", "email", "language", "time_zone", "auth", "delegation")
"""What a sketch has of someone who can be corrected."""


class DraftDrawing(NamedTuple):
    """A draft with its sketch, which is one for all documents that are sent together."""

    packet: Packet
    version: int
    sketch: Sketch
    kept: bool
    """Whether it has a row already; else it is the draft as it stands."""

    @property
    def document(self) -> Document:
        """The document under whose id the sketch is kept."""
        return self.packet.first

    @property
    def has_pages(self) -> bool:
        """Whether the files of every document are converted."""
        return all(document.paper_sha256 is not None for document in self.packet.documents)


def load_sketch(tx: Tx, workspace_id: str, document_id: str) -> DraftDrawing:
    """The sketch of a draft: the one that is kept, else that of the draft as it stands. Reading it keeps nothing.

    Of a packet, any document leads there."""
    packet = packet_of(tx, workspace_id, document_id)
    if packet.status not in ("draft", "processing"):
        raise states.refusal(packet.status)
    found = sketches.find(tx, workspace_id, packet.first.id)
    if found is None:
        sketch = of_draft(packet)
        return DraftDrawing(packet, version_of(sketch), sketch, kept=False)
    return DraftDrawing(packet, found[0], with_words(found[1], packet), kept=True)


def version_of(sketch: Sketch) -> int:
    """The version of a sketch that is not kept: a hash of all it says, so that a draft changed since is another.

    It leaves room for versions after it in what a number of JSON holds exactly."""
    digest = hashlib.sha256(msgspec.json.encode(sketch)).digest()
    return int.from_bytes(digest[:6], "big")


def draw_fields(tx: Tx, workspace_id: str, document_id: str, given: DrawnFields, now: datetime) -> int:
    """The version with these fields; Conflict if the sketch is no longer in the one that they were drawn in."""
    documents.hold_packet_of(tx, workspace_id, document_id)
    before = load_sketch(tx, workspace_id, document_id)
    if given.version != before.version:
        raise Conflict(sketches.CHANGED)
    return keep(tx, before, replace(before.sketch, fields=given.fields), now)


def draw_people(tx: Tx, workspace_id: str, document_id: str, parties: list[SketchParty], now: datetime) -> None:
    """The sketch with these people; fields go with those who are no longer among them."""
    documents.hold_packet_of(tx, workspace_id, document_id)
    before = load_sketch(tx, workspace_id, document_id)
    after = replace(before.sketch, parties=parties)
    fields = [field for field in before.sketch.fields if not field.who or field.who in after.keys]
    if after != before.sketch:
        keep(tx, before, replace(after, fields=fields), now)


def keep(tx: Tx, before: DraftDrawing, sketch: Sketch, now: datetime) -> int:
    """The next version, kept; Conflict if another was first."""
    check_fields(sketch)
    document, at = before.document, instant(now)
    if before.kept:
        sketches.change(tx, document.id, before.version, sketch, at)
    else:
        sketches.add(tx, document.workspace_id, document.id, (before.version + 1, sketch), at)
    return before.version + 1


def correct_sketch(tx: Tx, document: Document, before: Signer, right: Signer, now: datetime) -> None:
    """What was corrected of a signer is corrected in the draft's sketch too, if one is kept."""
    found = sketches.find(tx, document.workspace_id, document.id)
    other = {name: value for name in _CORRECTED if (value := getattr(right, name)) != getattr(before, name)}
    if found is None or not other:
        return
    version, sketch = found
    parties = [
        replace(party, signers=[replace(one, **other) if one.key == right.id else one for one in party.signers])
        for party in sketch.parties
    ]
    if parties != sketch.parties:
        sketches.change(tx, document.id, version, replace(sketch, parties=parties), instant(now))


def draw_brought(
    tx: Tx, workspace_id: str, document_id: str, files: Sequence[PreparedDocumentFile], now: datetime
) -> None:
    """Fields that the files of a draft bring along stand in its sketch; whom they name has a row among the people."""
    if not any(file.tags or file.form for file in files):
        return
    documents.hold_packet_of(tx, workspace_id, document_id)
    before = load_sketch(tx, workspace_id, document_id)
    found = by_role([], [], files, now)
    parties = [*before.sketch.parties]
    keys = {role.name.casefold(): _brought(parties, _line(role.name)) for role in found.roles}
    # Files of the documents before it come first.
    first = [document.id for document, _ in before.packet.files()].index(document_id)
    fields = [
        replace(
            to_sketch_field(field, field.id or "", keys[(field.party or "").casefold()]), file=first + field.file_number
        )
        for field in found.fields
    ]
    after = replace(before.sketch, parties=parties, fields=[*before.sketch.fields, *fields])
    _need_few(after)
    keep(tx, before, after, now)


def _brought(parties: list[SketchParty], name: str) -> str:
    """Whose the fields of a role are: of the row that another document has brought for it, else of one more."""
    brought = [party for party in parties if party.key.startswith(_BROUGHT)]
    for party in brought:
        if party.name == name:
            return party.signers[0].key if len(party.signers) == 1 else party.key
    number = len(brought) + 1
    while f"{_BROUGHT}{number}" in {party.key for party in brought}:
        number += 1
    order = max((party.order for party in parties), default=0) + 1
    parties.append(SketchParty(f"{_BROUGHT}{number}", name, order, signers=[SketchSigner(f"role-{number}")]))
    return f"role-{number}"


def _line(name: str) -> str:
    return one_line(name)[: limits.SIGNER_NAME_CHARS].strip()


def _need_few(sketch: Sketch) -> None:
    """Raises BadRequest for more than a document can have."""
    counts = (
        (len(sketch.fields), limits.DOCUMENT_FIELDS, "fields"),
        (len(sketch.parties), limits.DOCUMENT_PARTIES, "roles"),
    )
    for count, most, what in counts:
        if count > most:
            raise BadRequest(
                f"The files bring {count} {what}, but a document has at most {most}. Make several documents of them."
            )

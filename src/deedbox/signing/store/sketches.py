"""The table of sketches: one row for a draft that is being made on the pages."""

import msgspec

from deedbox.kernel.clock import Instant
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest, Conflict
from deedbox.signing.sketch import Sketch

_CONTENT = msgspec.json.Decoder(Sketch)
CHANGED = "It was changed elsewhere meanwhile, perhaps in another tab. Load it again."


def find(tx: Tx, workspace_id: str, subject_id: str) -> tuple[int, Sketch] | None:
    """The version and the sketch of a draft."""
    sql = "select version, content from sketches where subject_id = :id and workspace_id = :workspace_id"
    row = tx.one(sql, id=subject_id, workspace_id=workspace_id)
    return (row[0], _CONTENT.decode(row[1])) if row else None


def add(tx: Tx, workspace_id: str, subject_id: str, content: tuple[int, Sketch], at: Instant) -> None:
    """The first sketch of a draft; Conflict when another was first: the write is the check."""
    version, sketch = content
    added = tx.run(
        "insert into sketches (subject_id, workspace_id, version, content, updated_at)"
        " values (:id, :workspace_id, :version, :content, :at) on conflict do nothing",
        id=subject_id,
        workspace_id=workspace_id,
        version=version,
        content=_encoded(sketch),
        at=at,
    )
    if not added:
        raise Conflict(CHANGED)


def change(tx: Tx, subject_id: str, was: int, sketch: Sketch, at: Instant) -> None:
    """The sketch in its next version; Conflict when it is no longer in the one that was seen."""
    changed = tx.run(
        "update sketches set version = version + 1, content = :content, updated_at = :at"
        " where subject_id = :id and version = :was",
        id=subject_id,
        was=was,
        content=_encoded(sketch),
        at=at,
    )
    if not changed:
        raise Conflict(CHANGED)


def take(tx: Tx, subject_id: str, version: int) -> None:
    """The sketch in this version is gone; Conflict when it is in another by now, which stays."""
    sql = "delete from sketches where subject_id = :id and version = :version"
    if not tx.run(sql, id=subject_id, version=version):
        raise Conflict(CHANGED)


def drop(tx: Tx, *subject_ids: str) -> None:
    """What was sketched is laid out, or gone with its draft."""
    names = {f"id{number}": one for number, one in enumerate(subject_ids)}
    tx.run(f"delete from sketches where subject_id in (:{', :'.join(names)})", **names)


def _encoded(sketch: Sketch) -> str:
    """The sketch as its row holds it; BadRequest for one that could not be read again."""
    content = msgspec.json.encode(sketch)
    try:
        _CONTENT.decode(content)
    except msgspec.ValidationError as error:
        raise BadRequest(f"What was drawn cannot be kept: {error}. Correct it and try again.") from error
    return content.decode()

"""The table of snapshots. Each owns its blobs, which go with its row."""

from datetime import datetime

import msgspec

from deedbox.kernel.blobs import store as blobs_store
from deedbox.kernel.db import Tx
from deedbox.search.snapshots import Snapshot, SnapshotContents

_CONTENTS = msgspec.json.Decoder(SnapshotContents)

_SELECT = (
    "select id, workspace_id, recipe, format, watermark, chunks, size_bytes, contents, made_at from index_snapshots"
)
# An upload that was deleted or changed since the snapshot stands behind its number in the log.
_STANDINGS = """
with counted as (
    select b.workspace_id, b.recipe, coalesce(sum(s.chunks), 0) as chunks,
        coalesce(sum(case when l.number <= p.watermark then s.chunks end), 0) as kept
    from libraries b
    left join index_snapshots p on p.workspace_id = b.workspace_id and p.recipe = b.recipe
    left join index_log l on l.workspace_id = b.workspace_id and l.recipe = b.recipe
    left join chunk_sets s on s.id = l.chunk_set_id
    group by b.workspace_id, b.recipe
)
select c.workspace_id, c.recipe, c.chunks, c.kept, p.id, p.format, p.chunks, p.made_at
from counted c left join index_snapshots p on p.workspace_id = c.workspace_id and p.recipe = c.recipe
where c.chunks >= :least or p.id is not null order by c.workspace_id
"""
_OUT_OF_SERVICE = """
select id from index_snapshots p where not exists
    (select 1 from libraries b where b.workspace_id = p.workspace_id and b.recipe = p.recipe) order by id
"""


class KnownSnapshot(msgspec.Struct, frozen=True):
    """A snapshot, as far as it matters whether it is still good."""

    id: str
    format: int
    chunks: int
    made_at: str


class SnapshotStatus(msgspec.Struct, frozen=True):
    """A library in service, beside its snapshot."""

    workspace_id: str
    recipe: str
    chunks: int
    kept: int
    """How many of them the snapshot holds; whatever else it holds is gone from the library."""
    known: KnownSnapshot | None


def standings(tx: Tx, least: int) -> list[SnapshotStatus]:
    """The libraries that have a snapshot, or at least so many chunks."""
    return [
        SnapshotStatus(row[0], row[1], int(row[2]), int(row[3]), KnownSnapshot(*row[4:]) if row[4] else None)
        for row in tx.all(_STANDINGS, least=least)
    ]


def out_of_service(tx: Tx) -> list[str]:
    """The snapshots of recipes that serve no queries any more."""
    return [row[0] for row in tx.all(_OUT_OF_SERVICE)]


def find(tx: Tx, workspace_id: str, recipe: str) -> Snapshot | None:
    row = tx.one(
        f"{_SELECT} where workspace_id = :workspace_id and recipe = :recipe", workspace_id=workspace_id, recipe=recipe
    )
    if row is None:
        return None
    names = Snapshot.__struct_fields__
    found = dict(zip(names, row, strict=True)) | {"contents": _CONTENTS.decode(row[7])}
    return Snapshot(**found)


def add(tx: Tx, snapshot: Snapshot) -> None:
    contents = msgspec.json.encode(snapshot.contents).decode()
    tx.run(
        "insert into index_snapshots (id, workspace_id, recipe, format, watermark, chunks, size_bytes, contents,"
        " made_at) values (:id, :workspace_id, :recipe, :format, :watermark, :chunks, :size_bytes, :contents,"
        " :made_at)",
        **msgspec.structs.asdict(snapshot) | {"contents": contents},
    )


def drop(tx: Tx, snapshot_id: str, now: datetime) -> None:
    """The snapshot goes, if it is still there, with its blobs."""
    if tx.run("delete from index_snapshots where id = :id", id=snapshot_id):
        blobs_store.release_all(tx, owner(snapshot_id), now)


def owner(snapshot_id: str) -> str:
    """As whom a snapshot owns its blobs; backups leave out what has such an owner."""
    return f"snapshot:{snapshot_id}"

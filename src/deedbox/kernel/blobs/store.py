"""The tables of blobs, of their owners and of their trash. A change to the references of a blob locks its row first."""

from collections.abc import Collection, Sequence
from datetime import datetime

from deedbox.kernel.blobs import Blob, ReceivedBlob
from deedbox.kernel.clock import instant
from deedbox.kernel.db import Tx, Value
from deedbox.kernel.errors import LostFile, Unavailable

# The trash is looked at only for rows that are new: who adopts known bytes puts a file there, and of those who read
# and write it at once all but one would fail.
_ADOPT = """
insert into blobs (sha256, location, size_bytes, created_at) values {rows}
on conflict (sha256) do nothing
returning sha256, location, exists (select 1 from blob_trash where blob_trash.location = blobs.location)
"""
# Locked, so that the row cannot be deleted before the reference is there; shared, because many may adopt the same bytes
# at once (one file sent to a hundred people), and of those who write one row at once all but one fail.
_HOLD = "select location from blobs where sha256 = :sha256 {lock}"
# The update changes nothing: it locks the row against all others.
_LOCK = "update blobs set size_bytes = size_bytes where sha256 = :sha256 returning sha256, size_bytes, location"
_REFER = "insert into blob_refs (sha256, owner) values {rows} on conflict do nothing"
_SHARE = """
insert into blob_refs (sha256, owner)
with owners (owner) as (values {owners})
select blobs.sha256, owners.owner from blobs, owners where blobs.sha256 in ({hashes}) {lock}
"""
_TRASH = "insert into blob_trash (location, trashed_at) values (:location, :now) on conflict do nothing"
_CONDEMN = """
insert into blob_trash (location, trashed_at)
select :location, :now where not exists (select 1 from blobs where location = :location)
on conflict do nothing
"""
_TRASHED = """
select location from blob_trash
where not exists (select 1 from blobs where blobs.location = blob_trash.location)
order by trashed_at, location limit :limit
"""
_KNOWN = """
select location from blobs where location >= :first and location < :last
union all select location from blob_trash where location >= :first and location < :last
"""


def adopt(tx: Tx, received: ReceivedBlob, owner: str, now: datetime) -> Blob:
    """The blob that now holds the bytes for owner: the received file, or an older one with the same bytes."""
    return adopt_all(tx, [received], owner, now)[0]


def adopt_all(tx: Tx, received: Sequence[ReceivedBlob], owner: str, now: datetime) -> list[Blob]:
    """As `adopt`, for several files; those whose bytes are new take two statements, however many they are."""
    for one in received:
        one.offer()
    # In the order of their hashes: two who adopt the same files at once must not wait for each other.
    kept = _insert(tx, sorted((one.blob for one in received), key=lambda blob: blob.sha256), now)
    blobs = []
    for one in received:
        new = one.blob
        location = kept.get(new.sha256) or _hold(tx, new)
        if location != new.location:
            tx.run(_TRASH, location=new.location, now=instant(now))
        kept[new.sha256] = location
        blobs.append(Blob(new.sha256, new.size_bytes, location))
        tx.on_commit(one.settle)
    _add_references(tx, list(kept), owner)
    return blobs


def _insert(tx: Tx, blobs: Sequence[Blob], now: datetime) -> dict[str, str]:
    """The locations of those whose bytes are new, by their hashes."""
    values: dict[str, Value] = {}
    for number, blob in enumerate(blobs):
        values |= {f"a{number}": blob.sha256, f"b{number}": blob.location, f"c{number}": blob.size_bytes}
    rows = ", ".join(f"(:a{number}, :b{number}, :c{number}, :now)" for number in range(len(blobs)))
    new = tx.all(_ADOPT.format(rows=rows), now=instant(now), **values) if blobs else []
    if any(in_trash for _, _, in_trash in new):
        raise _too_late()
    return {sha256: location for sha256, location, _ in new}


def _hold(tx: Tx, new: Blob) -> str:
    """Where bytes lie that were known before; Unavailable if they are about to go."""
    lock = "for share" if tx.dialect == "postgres" else ""
    row = tx.one(_HOLD.format(lock=lock), sha256=new.sha256)
    if row is None:
        raise Unavailable("The same file was deleted at this very moment. Send it again.")
    trashed = "select 1 from blob_trash where location = :location"
    if row[0] == new.location and tx.one(trashed, location=new.location):
        raise _too_late()
    return str(row[0])


def _too_late() -> Unavailable:
    return Unavailable("The upload took too long to be saved. Send the file again.")


def _add_references(tx: Tx, hashes: Sequence[str], owner: str) -> None:
    rows = ", ".join(f"(:a{number}, :owner)" for number in range(len(hashes)))
    if hashes:
        tx.run(_REFER.format(rows=rows), owner=owner, **{f"a{number}": one for number, one in enumerate(hashes)})


def refer(tx: Tx, sha256: str, owner: str) -> Blob:
    """The stored blob, now needed by owner too; LostFile if there is none."""
    row = tx.one(_LOCK, sha256=sha256)
    if row is None:
        raise LostFile(sha256)
    _add_references(tx, [sha256], owner)
    return Blob(*row)


def share(tx: Tx, hashes: Collection[str], owners: Sequence[str]) -> None:
    """Each of the stored blobs is now needed by each of these new owners too; LostFile if there is none."""
    wanted = sorted(set(hashes))
    values = {f"a{number}": one for number, one in enumerate(wanted)}
    values |= {f"b{number}": one for number, one in enumerate(owners)}
    names = ", ".join(f":a{number}" for number in range(len(wanted)))
    rows = ", ".join(f"(:b{number})" for number in range(len(owners)))
    lock = "for share of blobs" if tx.dialect == "postgres" else ""
    added = tx.run(_SHARE.format(owners=rows, hashes=names, lock=lock), **values)
    if added != len(wanted) * len(owners):
        kept = {sha256 for (sha256,) in tx.all(f"select sha256 from blobs where sha256 in ({names})", **values)}
        raise LostFile(next((one for one in wanted if one not in kept), wanted[0]))


def release_all(tx: Tx, owner: str, now: datetime) -> None:
    """Owner needs nothing any more."""
    for (sha256,) in tx.all("select sha256 from blob_refs where owner = :owner order by sha256", owner=owner):
        release(tx, sha256, owner, now)


def release(tx: Tx, sha256: str, owner: str, now: datetime) -> None:
    """Owner needs the bytes no more; with the last reference the row goes, and its file to the trash."""
    if tx.one(_LOCK, sha256=sha256) is None:
        return
    tx.run("delete from blob_refs where sha256 = :sha256 and owner = :owner", sha256=sha256, owner=owner)
    if tx.one("select 1 from blob_refs where sha256 = :sha256 limit 1", sha256=sha256) is None:
        row = tx.one("delete from blobs where sha256 = :sha256 returning location", sha256=sha256)
        assert row is not None  # noqa: S101 (the row is locked)
        tx.run(_TRASH, location=row[0], now=instant(now))


def find(tx: Tx, sha256: str) -> Blob | None:
    row = tx.one("select sha256, size_bytes, location from blobs where sha256 = :sha256", sha256=sha256)
    return Blob(*row) if row else None


def demand(tx: Tx, sha256: str) -> Blob:
    """The stored blob; LostFile if there is none. To be asked in the transaction that has read who needs it."""
    blob = find(tx, sha256)
    if blob is None:
        raise LostFile(sha256)
    return blob


def condemn(tx: Tx, locations: Collection[str], now: datetime) -> int:
    """Sends the files that no row names to the trash, so that no late transaction can adopt them."""
    return sum(tx.run(_CONDEMN, location=location, now=instant(now)) for location in locations)


def list_trash(tx: Tx, limit: int) -> list[str]:
    """The locations to be removed, those longest in the trash first."""
    return [location for (location,) in tx.all(_TRASHED, limit=limit)]


def empty_trash(tx: Tx, locations: Collection[str]) -> None:
    """Forgets trash whose files are gone."""
    tx.many("delete from blob_trash where location = :location", [{"location": name} for name in locations])


def list_locations(tx: Tx, folder: str) -> set[str]:
    """Every location in the folder that a row names."""
    sql = "select location from blobs where location >= :first and location < :last"
    return {location for (location,) in tx.all(sql, first=f"{folder}/", last=f"{folder}0")}


def known(tx: Tx, folder: str) -> set[str]:
    """Every location in the folder that a row or the trash names."""
    return {location for (location,) in tx.all(_KNOWN, first=f"{folder}/", last=f"{folder}0")}

"""The tables of the archive."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from deedbox.archive.package import Bag
from deedbox.archive.receipt import ArchiveRow, PackageReceipt, Tree
from deedbox.kernel.db import Row, Tx, Value

_BAG = msgspec.json.Decoder(Bag)

_HASHES = msgspec.json.Decoder(list[str])

_RECEIPT = msgspec.json.Decoder(PackageReceipt)

_COLUMNS = ", ".join(ArchiveRow.__struct_fields__)
_TREE = "number, day, size, root, previous, token, published_at, location, degraded, error"


def add(tx: Tx, bag: Bag, now: str) -> None:
    """A new row, unless the document has one."""
    tx.run(
        "insert into archives (document_id, workspace_id, status, bag, attempts, created_at)"
        " values (:document_id, :workspace_id, 'pending', :bag, 0, :now) on conflict (document_id) do nothing",
        document_id=bag.document_id,
        workspace_id=bag.workspace_id,
        bag=msgspec.json.encode(bag).decode(),
        now=now,
    )


def find(tx: Tx, document_id: str) -> ArchiveRow | None:
    row = tx.one(f"select {_COLUMNS} from archives where document_id = :id", id=document_id)
    return _row(row) if row else None


def begin(tx: Tx, document_id: str, now: str) -> ArchiveRow | None:
    """The row, with one more attempt; None if it is archived already."""
    row = tx.one(
        "update archives set attempts = attempts + 1, tried_at = :now where document_id = :id"
        f" and status <> 'archived' returning {_COLUMNS}",
        id=document_id,
        now=now,
    )
    return _row(row) if row else None


def note_failure(tx: Tx, document_id: str, error: str) -> None:
    tx.run(
        "update archives set status = 'failed', error = :error where document_id = :id and status <> 'archived'",
        id=document_id,
        error=error,
    )


def mark_complete(tx: Tx, document_id: str, receipt: PackageReceipt) -> None:
    tx.run(
        "update archives set status = 'archived', error = null, receipt = :receipt, archived_at = :now"
        " where document_id = :id and status <> 'archived'",
        id=document_id,
        receipt=msgspec.json.encode(receipt).decode(),
        now=receipt.archived_at,
    )


def wait_again(tx: Tx, document_id: str) -> None:
    tx.run("update archives set status = 'pending' where document_id = :id and status = 'failed'", id=document_id)


def list_pending(tx: Tx, after: str, most: int) -> list[ArchiveRow]:
    """Those that are not archived yet, by id, after this one."""
    sql = (
        f"select {_COLUMNS} from archives where status <> 'archived' and document_id > :after"
        " order by document_id limit :most"
    )
    return [_row(row) for row in tx.all(sql, after=after, most=most)]


def list_failures(tx: Tx, most: int) -> list[ArchiveRow]:
    sql = f"select {_COLUMNS} from archives where status = 'failed' order by document_id limit :most"
    return [_row(row) for row in tx.all(sql, most=most)]


def list_complete(tx: Tx, after: str, most: int) -> list[ArchiveRow]:
    """Those that are archived, by id, after this one."""
    sql = (
        f"select {_COLUMNS} from archives where status = 'archived' and document_id > :after"
        " order by document_id limit :most"
    )
    return [_row(row) for row in tx.all(sql, after=after, most=most)]


def counts(tx: Tx) -> dict[str, int]:
    return {row[0]: row[1] for row in tx.all("select status, count(*) from archives group by status")}


# of one workspace


def counts_of(tx: Tx, workspace_id: str) -> dict[str, int]:
    sql = "select status, count(*) from archives where workspace_id = :id group by status"
    return {row[0]: row[1] for row in tx.all(sql, id=workspace_id)}


def newest_of(tx: Tx, workspace_id: str, most: int) -> list[ArchiveRow]:
    """Those that were archived last, the newest first."""
    sql = (
        f"select {_COLUMNS} from archives where workspace_id = :id and status = 'archived'"
        " order by archived_at desc, document_id desc limit :most"
    )
    return [_row(row) for row in tx.all(sql, id=workspace_id, most=most)]


def waiting_of(tx: Tx, workspace_id: str, after: str, most: int) -> list[ArchiveRow]:
    """Those that are not archived yet, by id, after this one."""
    sql = (
        f"select {_COLUMNS} from archives where workspace_id = :id and status <> 'archived' and document_id > :after"
        " order by document_id limit :most"
    )
    return [_row(row) for row in tx.all(sql, id=workspace_id, after=after, most=most)]


# trees


def outside(tx: Tx, before: str, most: int) -> list[ArchiveRow]:
    """Packages archived before this moment that are in no tree, oldest first."""
    sql = (
        f"select {_COLUMNS} from archives where status = 'archived' and tree is null and archived_at < :before"
        " order by archived_at, document_id limit :most"
    )
    return [_row(row) for row in tx.all(sql, before=before, most=most)]


def last_tree(tx: Tx) -> Tree | None:
    row = tx.one(f"select {_TREE} from archive_trees order by number desc limit 1")
    return _tree(row) if row else None


def latest_tree(tx: Tx) -> Tree | None:
    sql = f"select {_TREE} from archive_trees where published_at is not null order by number desc limit 1"
    row = tx.one(sql)
    return _tree(row) if row else None


def tree(tx: Tx, number: int) -> Tree | None:
    row = tx.one(f"select {_TREE} from archive_trees where number = :number", number=number)
    return _tree(row) if row else None


def trees(tx: Tx) -> int:
    row = tx.one("select count(*) from archive_trees")
    return int(row[0]) if row else 0


def add_tree(tx: Tx, tree: Tree, leaves: Sequence[Mapping[str, Value]]) -> None:
    """The tree, and for each of its leaves `document_id`, `leaf` and `proof`."""
    tx.run(
        "insert into archive_trees (number, day, size, root, previous) values (:number, :day, :size, :root, :previous)",
        number=tree.number,
        day=tree.day,
        size=tree.size,
        root=tree.root,
        previous=tree.previous,
    )
    tx.many(
        "update archives set tree = :tree, leaf = :leaf, proof = :proof where document_id = :document_id",
        [{**leaf, "tree": tree.number} for leaf in leaves],
    )


def unfinished_trees(tx: Tx) -> list[Tree]:
    """Trees that have no time-stamp, or were not published whole."""
    sql = f"select {_TREE} from archive_trees where token is null or published_at is null order by number"
    return [_tree(row) for row in tx.all(sql)]


def degraded_trees(tx: Tx) -> int:
    row = tx.one("select count(*) from archive_trees where degraded = 1")
    return int(row[0]) if row else 0


def add_timestamp(tx: Tx, number: int, token: bytes, *, degraded: bool) -> None:
    sql = "update archive_trees set token = :token, degraded = :degraded where number = :number and token is null"
    tx.run(sql, number=number, token=token, degraded=int(degraded))


def record_tree_location(tx: Tx, number: int, location: str, now: str) -> None:
    tx.run(
        "update archive_trees set published_at = :now, location = :location, error = null"
        " where number = :number and published_at is null",
        number=number,
        location=location,
        now=now,
    )


def record_tree_error(tx: Tx, number: int, error: str) -> None:
    sql = "update archive_trees set error = :error where number = :number and published_at is null"
    tx.run(sql, number=number, error=error)


def leaves(tx: Tx, number: int) -> list[ArchiveRow]:
    sql = f"select {_COLUMNS} from archives where tree = :number order by leaf"
    return [_row(row) for row in tx.all(sql, number=number)]


def _row(row: Row) -> ArchiveRow:
    values: dict[str, Any] = dict(zip(ArchiveRow.__struct_fields__, row, strict=True))
    values["bag"] = _BAG.decode(values["bag"])
    values["receipt"] = _RECEIPT.decode(values["receipt"]) if values["receipt"] else None
    values["proof"] = _HASHES.decode(values["proof"]) if values["proof"] else []
    return ArchiveRow(**values)


def _tree(row: Row) -> Tree:
    values: tuple[Any, ...] = (*row[:8], bool(row[8]), row[9])
    return Tree(*values)

"""The files that sealing has made of documents."""

from typing import NamedTuple

from deedbox.kernel.db import Tx
from deedbox.kernel.db.rows import insert

_COLUMNS = "sha256, size_bytes, certificate_sha256, evidence_sha256, head, sealed_at"


class SealedHashes(NamedTuple):
    """The sealed file, its certificate of completion and its evidence, each by its hash."""

    sha256: str
    size_bytes: int
    certificate_sha256: str
    evidence_sha256: str
    head: str
    """The head of the audit trail that is in the seal."""
    sealed_at: str


def keep(tx: Tx, document_id: str, made: SealedHashes) -> None:
    insert(tx, "sealed_files", {"document_id": document_id, **made._asdict()})
    recognise(tx, document_id, made.sha256, made.certificate_sha256)


def find(tx: Tx, document_id: str) -> SealedHashes | None:
    row = tx.one(f"select {_COLUMNS} from sealed_files where document_id = :id", id=document_id)
    return SealedHashes(*row) if row else None


def demand(tx: Tx, document_id: str) -> SealedHashes:
    """The files of a document that is known to be sealed; LookupError for any other."""
    made = find(tx, document_id)
    if made is None:
        raise LookupError(f"{document_id} is not sealed")
    return made


def document_with(tx: Tx, sha256: str) -> str | None:
    """The document whose sealed file has this hash."""
    row = tx.one("select document_id from sealed_files where sha256 = :sha256", sha256=sha256)
    return row[0] if row else None


class Restamped(NamedTuple):
    """The hashes that differ once the seal has another time-stamp."""

    sha256: str
    certificate_sha256: str
    evidence_sha256: str


def replace(tx: Tx, document_id: str, was: str, new: Restamped) -> bool:
    """Whether this was the hash of the sealed file, which now has another, as have certificate and evidence."""
    sql = (
        "update sealed_files set sha256 = :sha256, certificate_sha256 = :certificate_sha256,"
        " evidence_sha256 = :evidence_sha256 where document_id = :id and sha256 = :was"
    )
    replaced = tx.run(sql, id=document_id, was=was, **new._asdict()) > 0
    if replaced:
        recognise(tx, document_id, new.sha256, new.certificate_sha256)
    return replaced


def recognise(tx: Tx, document_id: str, *hashes: str) -> None:
    """Notes the hashes of what was sealed for the document's workspace; those that it had before stay authentic."""
    sql = (
        "insert into sealed_hashes (workspace_id, sha256)"
        " select workspace_id, :sha256 from documents where id = :id on conflict do nothing"
    )
    tx.many(sql, [{"id": document_id, "sha256": sha256} for sha256 in hashes])

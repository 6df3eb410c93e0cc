"""The files of documents, the papers made of them, and what sealing has made of those."""

from collections.abc import Mapping

from deedbox.kernel.db import Tx, Value
from deedbox.kernel.db.rows import insert
from deedbox.signing.document import File

_NONE_YET = ""
"""The hash of a paper before there is one."""


def add_file(tx: Tx, document_id: str, file: File) -> None:
    insert(
        tx,
        "document_files",
        {
            "id": file.id,
            "document_id": document_id,
            "position": file.position,
            "name": file.name,
            "sha256": file.sha256,
            "size_bytes": file.size_bytes,
            "prepared_sha256": _NONE_YET,
            "pages": "[]",
            "covers": "[]",
        },
    )


def lay_out_file(tx: Tx, file_id: str, paper_sha256: str, sizes: str, covers: str, removed: str) -> None:
    tx.run(
        "update document_files set prepared_sha256 = :paper_sha256, pages = :sizes, covers = :covers,"
        " removed = :removed where id = :id",
        id=file_id,
        paper_sha256=paper_sha256,
        sizes=sizes,
        covers=covers,
        removed=removed,
    )


def paper(tx: Tx, document_id: str) -> str | None:
    """The hash of the PDF that the signers see, which holds all files; None before it is made."""
    row = tx.one("select prepared_sha256 from document_files where document_id = :id limit 1", id=document_id)
    return row[0] or None if row else None


def is_paper(tx: Tx, sha256: str) -> bool:
    """Whether some document has this PDF as its paper."""
    return tx.one("select 1 from document_files where prepared_sha256 = :sha256 limit 1", sha256=sha256) is not None


def covers(tx: Tx, document_id: str) -> dict[str, str]:
    """The places to be covered in each file, as JSON, by the file's id."""
    rows = tx.all("select id, covers from document_files where document_id = :id", id=document_id)
    return {row[0]: row[1] for row in rows}


def file_hashes(tx: Tx, document_id: str) -> set[str]:
    """The blobs that the document's files lie in."""
    rows = tx.all("select sha256, prepared_sha256 from document_files where document_id = :id", id=document_id)
    return {sha256 for row in rows for sha256 in row if sha256 != _NONE_YET}


def keep_sealed(tx: Tx, row: Mapping[str, Value]) -> None:
    insert(tx, "sealed_files", row)


def sealed(tx: Tx, document_id: str) -> tuple[str, str, str] | None:
    """The hashes of the sealed file, its certificate of completion and its evidence."""
    row = tx.one(
        "select sha256, certificate_sha256, evidence_sha256 from sealed_files where document_id = :id", id=document_id
    )
    return (row[0], row[1], row[2]) if row else None


def sealed_by_hash(tx: Tx, sha256: str) -> str | None:
    """The document whose sealed file has this hash."""
    row = tx.one("select document_id from sealed_files where sha256 = :sha256", sha256=sha256)
    return row[0] if row else None


def sealed_head(tx: Tx, document_id: str) -> str:
    """The head of the audit trail that is in the seal."""
    row = tx.one("select head from sealed_files where document_id = :id", id=document_id)
    return row[0] if row else ""


def replace_sealed(tx: Tx, document_id: str, was: str, sha256: str, certificate_sha256: str) -> bool:
    """Whether this was the hash of the sealed file, which now has another, as has its certificate."""
    sql = (
        "update sealed_files set sha256 = :sha256, certificate_sha256 = :certificate_sha256"
        " where document_id = :id and sha256 = :was"
    )
    return tx.run(sql, id=document_id, was=was, sha256=sha256, certificate_sha256=certificate_sha256) > 0

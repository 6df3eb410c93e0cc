"""A database that holds as many documents as are wanted: copies of real ones, with every row that belongs to them."""

import hashlib
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from deedbox.kernel.db import Tx, Value
from deedbox.kernel.ids import new_id

_PACKET = "(select packet_id from documents where id = :id)"
_SIGNERS = f"(select id from signers where packet_id = {_PACKET})"
_OWNERS = "(select id from mails where about = :id)"
PARTS = {
    "packets": f"id = {_PACKET}",
    "documents": "id = :id",
    "parties": f"packet_id = {_PACKET}",
    "signers": f"packet_id = {_PACKET}",
    "fields": "document_id = :id",
    "field_values": f"signer_id in {_SIGNERS}",
    "signing_links": f"signer_id in {_SIGNERS}",
    "signer_sessions": f"signer_id in {_SIGNERS}",
    "audit": "document_id = :id",
    "sealed_files": "document_id = :id",
    "events": "subject_id = :id",
    "jobs": f"payload like '%' || :id || '%' or payload like '%' || {_PACKET} || '%'",
    "mails": "about = :id",
    "blobs": f"sha256 in (select sha256 from blob_refs where owner = :id or owner in {_OWNERS})",
    "blob_refs": f"owner = :id or owner in {_OWNERS}",
}
"""Where the rows of a document are; what others refer to comes first."""
_COLUMNS = {
    "sqlite": "select name from pragma_table_info(:name) order by cid",
    "postgres": "select column_name from information_schema.columns where table_schema = current_schema()"
    " and table_name = :name order by ordinal_position",
}
_ID = re.compile(r"\b(?!wsp_|key_)([a-z]{3,4})_[0-7][0-9A-HJKMNP-TV-Z]{25}\b")
_HASH = re.compile(r"[0-9a-f]{64}")
_COUNTED = ("events", "number")
"""What the database itself counts."""
_BATCH = 200
Row = Mapping[str, Value]


class Sample:
    """The rows of one real document."""

    def __init__(self, tx: Tx, document_id: str) -> None:
        self.rows: dict[str, list[Row]] = {}
        for table, condition in PARTS.items():
            names = [row[0] for row in tx.all(_COLUMNS[tx.dialect], name=table) if (table, row[0]) != _COUNTED]
            found = tx.all(f"select {', '.join(names)} from {table} where {condition}", id=document_id)
            self.rows[table] = [dict(zip(names, row, strict=True)) for row in found]


class _Copy:
    """One copy of a sample: every id, hash and token is another, and those that belong together still do."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._moment = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=number)
        self._ids: dict[str, str] = {}

    def row(self, row: Row) -> Row:
        made = {name: self._value(value) for name, value in row.items()}
        if made.get("verification_code"):
            made["verification_code"] = f"BENCH-{self._number}"
        if made.get("state") == "ready":
            made["run_at"] = float(made["run_at"] or 0) + self._number
        for name in ("token_hash", "code_hash"):
            if name in made:
                made[name] = hashlib.sha256(bytes(row[name]) + str(self._number).encode()).digest()  # type: ignore[arg-type]
        return made

    def _value(self, value: Value) -> Value:
        if not isinstance(value, str):
            return value
        return _HASH.sub(self._hash, _ID.sub(self._id, value))

    def _id(self, found: re.Match[str]) -> str:
        if found[0] not in self._ids:
            self._ids[found[0]] = new_id(found[1], self._moment)
        return self._ids[found[0]]

    def _hash(self, found: re.Match[str]) -> str:
        return hashlib.sha256(f"{found[0]}{self._number}".encode()).hexdigest()


def fill(tx: Tx, samples: list[Sample], first: int, count: int) -> None:
    """So many copies, of each sample in its turn."""
    made: dict[str, list[Row]] = {table: [] for table in PARTS}
    for number in range(first, first + count):
        copy = _Copy(number)
        for table, rows in samples[number % len(samples)].rows.items():
            made[table] += [copy.row(row) for row in rows]
    for table, rows in made.items():
        for names in {tuple(row) for row in rows}:
            sql = f"insert into {table} ({', '.join(names)}) values ({', '.join(f':{name}' for name in names)})"
            tx.many(sql, rows)


def batches(count: int) -> list[tuple[int, int]]:
    """The first number and the size of each transaction."""
    return [(first, min(_BATCH, count - first)) for first in range(0, count, _BATCH)]

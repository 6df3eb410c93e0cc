"""The tables of uploads, extractions, chunk sets, chunks, the index log and query counts."""

from collections.abc import Mapping, Sequence

import msgspec

from deedbox.kernel.db import Tx, Value
from deedbox.search import packing
from deedbox.search.upload import Chunk, Extraction, Status, Upload

_UPLOAD = (
    "id, workspace_id, filename, media_type, size_bytes, sha256, text_length, pages, status, status_before, error,"
    " revision, chunk_set_id, signed, created_at, indexed_at"
)
_CHUNK = "number, text, char_start, char_end, page, heading"


class Described(msgspec.Struct, frozen=True):
    """An upload with what its chunk set tells."""

    upload: Upload
    chunks: int
    recipe: str | None


class LogEntry(msgspec.Struct, frozen=True):
    number: int
    upload_id: str
    chunk_set_id: str | None
    """None: the upload is gone."""


# uploads


def add_upload(tx: Tx, upload: Upload) -> None:
    names = ", ".join(f":{name}" for name in _UPLOAD.replace(" ", "").split(","))
    tx.run(f"insert into uploads ({_UPLOAD}) values ({names})", **msgspec.structs.asdict(upload))


def upload(tx: Tx, workspace_id: str, upload_id: str) -> Upload | None:
    row = tx.one(
        f"select {_UPLOAD} from uploads where workspace_id = :workspace_id and id = :id",
        workspace_id=workspace_id,
        id=upload_id,
    )
    return Upload(*row) if row else None


def uploads(tx: Tx, workspace_id: str) -> list[Upload]:
    """All of the workspace, oldest first."""
    rows = tx.all(f"select {_UPLOAD} from uploads where workspace_id = :id order by id", id=workspace_id)
    return [Upload(*row) for row in rows]


def described(tx: Tx, workspace_id: str, upload_id: str | None = None) -> list[Described]:
    """Uploads with the size and recipe of their chunk sets, oldest first."""
    columns = ", ".join(f"u.{name.strip()}" for name in _UPLOAD.split(","))
    one = "" if upload_id is None else " and u.id = :upload_id"
    values: dict[str, Value] = {} if upload_id is None else {"upload_id": upload_id}
    rows = tx.all(
        f"select {columns}, coalesce(s.chunks, 0), s.recipe from uploads u"
        f" left join chunk_sets s on s.id = u.chunk_set_id where u.workspace_id = :workspace_id{one} order by u.id",
        workspace_id=workspace_id,
        **values,
    )
    return [Described(Upload(*row[:-2]), row[-2], row[-1]) for row in rows]


def change_upload(tx: Tx, upload_id: str, expected: Mapping[str, Value], changes: Mapping[str, Value]) -> bool:
    """Whether the upload was as expected and has been changed: the write is the check."""
    sets = ", ".join(f"{name} = :new_{name}" for name in changes)
    conditions = "".join(
        f" and {name} is null" if value is None else f" and {name} = :old_{name}" for name, value in expected.items()
    )
    values: dict[str, Value] = {f"new_{name}": value for name, value in changes.items()}
    values |= {f"old_{name}": value for name, value in expected.items() if value is not None}
    return tx.run(f"update uploads set {sets} where id = :id{conditions}", id=upload_id, **values) > 0


def unclaim(tx: Tx, upload: Upload) -> bool:
    """Back to the status before it was being indexed, unless it was replaced or finished meanwhile."""
    expected: dict[str, Value] = {"revision": upload.revision, "status": "indexing"}
    before = upload.status_before or "uploaded"
    return change_upload(tx, upload.id, expected, {"status": before, "status_before": None})


def drop_upload(tx: Tx, upload_id: str) -> None:
    tx.run("delete from uploads where id = :id", id=upload_id)


def uploads_with_status(tx: Tx, status: Status) -> list[Upload]:
    return [Upload(*row) for row in tx.all(f"select {_UPLOAD} from uploads where status = :status", status=status)]


def matching(tx: Tx, workspace_id: str, conditions: Mapping[str, Value]) -> list[str]:
    """The uploads that are so; `created_after` and `created_before` are moments, the rest must be equal."""
    compared = {"created_after": "created_at >= :created_after", "created_before": "created_at < :created_before"}
    also = "".join(f" and {compared.get(name, f'{name} = :{name}')}" for name in conditions)
    rows = tx.all(
        f"select id from uploads where workspace_id = :workspace_id{also} order by id",
        workspace_id=workspace_id,
        **conditions,
    )
    return [row[0] for row in rows]


def content_in_use(tx: Tx, workspace_id: str, sha256: str) -> bool:
    return (
        tx.one(
            "select 1 from uploads where workspace_id = :workspace_id and sha256 = :sha256 limit 1",
            workspace_id=workspace_id,
            sha256=sha256,
        )
        is not None
    )


def twins(tx: Tx, workspace_id: str, sha256: str) -> list[Upload]:
    """The uploads of the workspace that hold these bytes, oldest first."""
    rows = tx.all(
        f"select {_UPLOAD} from uploads where workspace_id = :workspace_id and sha256 = :sha256 order by id",
        workspace_id=workspace_id,
        sha256=sha256,
    )
    return [Upload(*row) for row in rows]


def count_uploads(tx: Tx, workspace_id: str) -> int:
    row = tx.one("select count(*) from uploads where workspace_id = :id", id=workspace_id)
    return int(row[0]) if row else 0


# extracted text


def keep_extraction(tx: Tx, workspace_id: str, sha256: str, extraction: Extraction) -> None:
    keep_packed(tx, workspace_id, sha256, packing.packed(extraction).body)


def keep_packed(tx: Tx, workspace_id: str, sha256: str, body: bytes) -> None:
    tx.run(
        "insert into extractions (workspace_id, sha256, body) values (:workspace_id, :sha256, :body)"
        " on conflict (workspace_id, sha256) do update set body = excluded.body",
        workspace_id=workspace_id,
        sha256=sha256,
        body=body,
    )


def packed_extraction(tx: Tx, workspace_id: str, sha256: str) -> bytes | None:
    row = tx.one(
        "select body from extractions where workspace_id = :workspace_id and sha256 = :sha256",
        workspace_id=workspace_id,
        sha256=sha256,
    )
    return bytes(row[0]) if row else None


def extraction(tx: Tx, workspace_id: str, sha256: str) -> Extraction | None:
    body = packed_extraction(tx, workspace_id, sha256)
    return None if body is None else packing.unpacked(body)


def drop_extraction(tx: Tx, workspace_id: str, sha256: str) -> None:
    tx.run(
        "delete from extractions where workspace_id = :workspace_id and sha256 = :sha256",
        workspace_id=workspace_id,
        sha256=sha256,
    )


# chunks


def chunk_set(tx: Tx, workspace_id: str, sha256: str, recipe: str) -> tuple[str, int] | None:
    """The id and size of the set made of this content by this recipe."""
    row = tx.one(
        "select id, chunks from chunk_sets where workspace_id = :workspace_id and sha256 = :sha256"
        " and recipe = :recipe",
        workspace_id=workspace_id,
        sha256=sha256,
        recipe=recipe,
    )
    return (row[0], row[1]) if row else None


def add_chunk_set(
    tx: Tx, set_id: str, workspace_id: str, sha256: str, recipe: str, made: Sequence[tuple[Chunk, bytes]], now: str
) -> None:
    """A set of chunks with their vectors (float32, little-endian)."""
    tx.run(
        "insert into chunk_sets (id, workspace_id, sha256, recipe, chunks, created_at)"
        " values (:id, :workspace_id, :sha256, :recipe, :chunks, :now)",
        id=set_id,
        workspace_id=workspace_id,
        sha256=sha256,
        recipe=recipe,
        chunks=len(made),
        now=now,
    )
    rows: list[Mapping[str, Value]] = [
        {**msgspec.structs.asdict(chunk), "vector": vector, "chunk_set_id": set_id} for chunk, vector in made
    ]
    tx.many(
        f"insert into chunks (chunk_set_id, {_CHUNK}, vector) values (:chunk_set_id, :number, :text, :char_start,"
        " :char_end, :page, :heading, :vector)",
        rows,
    )


def recipe(tx: Tx, set_id: str) -> str | None:
    """What a chunk set was made by; None when it is gone."""
    row = tx.one("select recipe from chunk_sets where id = :id", id=set_id)
    return row[0] if row else None


def drop_unused_set(tx: Tx, set_id: str) -> None:
    """Removes a chunk set that no upload uses any more."""
    if tx.one("select 1 from uploads where chunk_set_id = :id limit 1", id=set_id) is None:
        tx.run("delete from chunks where chunk_set_id = :id", id=set_id)
        tx.run("delete from chunk_sets where id = :id", id=set_id)


def drop_unused_sets(tx: Tx, workspace_id: str, sha256: str) -> None:
    """Removes every chunk set of this content that no upload uses, by whatever recipe."""
    sets = tx.all(
        "select id from chunk_sets where workspace_id = :workspace_id and sha256 = :sha256",
        workspace_id=workspace_id,
        sha256=sha256,
    )
    for (set_id,) in sets:
        drop_unused_set(tx, set_id)


def chunks(tx: Tx, set_id: str) -> list[Chunk]:
    rows = tx.all(f"select {_CHUNK} from chunks where chunk_set_id = :id order by number", id=set_id)
    return [Chunk(*row) for row in rows]


def chunk_vectors(tx: Tx, set_id: str) -> list[tuple[int, str, bytes]]:
    """Number, text and vector of every chunk of a set."""
    return [
        (row[0], row[1], row[2])
        for row in tx.all("select number, text, vector from chunks where chunk_set_id = :id order by number", id=set_id)
    ]


def current_chunk(tx: Tx, workspace_id: str, upload_id: str, number: int) -> tuple[Upload, Chunk] | None:
    """An upload and one of the chunks that answer for it now; None when either is gone."""
    columns = ", ".join(f"u.{name.strip()}" for name in _UPLOAD.split(","))
    row = tx.one(
        f"select {columns}, c.number, c.text, c.char_start, c.char_end, c.page, c.heading from uploads u"
        " join chunks c on c.chunk_set_id = u.chunk_set_id and c.number = :number"
        " where u.workspace_id = :workspace_id and u.id = :id",
        workspace_id=workspace_id,
        id=upload_id,
        number=number,
    )
    return (Upload(*row[:-6]), Chunk(*row[-6:])) if row else None


def unchanged_chunk(tx: Tx, workspace_id: str, upload_id: str, number: int, mark: int) -> tuple[Upload, Chunk] | None:
    """As `current_chunk`, and None also when the upload's chunks have changed since that number of the log."""
    row = tx.one(
        "select number from index_log where workspace_id = :workspace_id and upload_id = :upload_id",
        workspace_id=workspace_id,
        upload_id=upload_id,
    )
    return current_chunk(tx, workspace_id, upload_id, number) if row and row[0] <= mark else None


# the log that indexes follow


def log_change(tx: Tx, workspace_id: str, upload_id: str, chunk_set_id: str | None) -> int:
    """The number of the change; it takes the place of an earlier change of the same upload."""
    row = tx.one("select coalesce(max(number), 0) + 1 from index_log where workspace_id = :id", id=workspace_id)
    number = int(row[0]) if row else 1
    tx.run(
        "insert into index_log (workspace_id, number, upload_id, chunk_set_id)"
        " values (:workspace_id, :number, :upload_id, :chunk_set_id)"
        " on conflict (workspace_id, upload_id) do update set number = excluded.number,"
        " chunk_set_id = excluded.chunk_set_id",
        workspace_id=workspace_id,
        number=number,
        upload_id=upload_id,
        chunk_set_id=chunk_set_id,
    )
    return number


def watermark(tx: Tx, workspace_id: str) -> int:
    """The number of the workspace's last change; 0 when nothing was ever indexed."""
    row = tx.one("select coalesce(max(number), 0) from index_log where workspace_id = :id", id=workspace_id)
    return int(row[0]) if row else 0


def log_after(tx: Tx, workspace_id: str, number: int, limit: int) -> list[LogEntry]:
    rows = tx.all(
        "select number, upload_id, chunk_set_id from index_log where workspace_id = :workspace_id"
        " and number > :number order by number limit :limit",
        workspace_id=workspace_id,
        number=number,
        limit=limit,
    )
    return [LogEntry(*row) for row in rows]


def indexed_chunks(tx: Tx, workspace_id: str) -> int:
    """Vectors that answer queries: the chunks of every upload that has a set."""
    row = tx.one(
        "select coalesce(sum(s.chunks), 0) from uploads u join chunk_sets s on s.id = u.chunk_set_id"
        " where u.workspace_id = :id",
        id=workspace_id,
    )
    return int(row[0]) if row else 0


def workspaces_to_renew(tx: Tx, recipe: str) -> list[str]:
    """The workspaces that hold chunks of another recipe."""
    rows = tx.all(
        "select distinct u.workspace_id from uploads u join chunk_sets s on s.id = u.chunk_set_id"
        " where s.recipe <> :recipe order by u.workspace_id",
        recipe=recipe,
    )
    return [row[0] for row in rows]


def indexed_workspaces(tx: Tx) -> list[str]:
    """The workspaces in which anything was ever indexed."""
    return [row[0] for row in tx.all("select distinct workspace_id from index_log order by workspace_id")]


# counts


def count_query(tx: Tx, workspace_id: str, queries: int) -> None:
    tx.run(
        "insert into query_counts (workspace_id, queries) values (:id, :queries)"
        " on conflict (workspace_id) do update set queries = query_counts.queries + excluded.queries",
        id=workspace_id,
        queries=queries,
    )


def queries(tx: Tx, workspace_id: str) -> int:
    row = tx.one("select queries from query_counts where workspace_id = :id", id=workspace_id)
    return int(row[0]) if row else 0


def stored_bytes(tx: Tx, workspace_id: str) -> int:
    """Bytes of the workspace's files, each content once."""
    row = tx.one(
        "select coalesce(sum(size_bytes), 0) from (select distinct sha256, size_bytes from uploads"
        " where workspace_id = :id) as contents",
        id=workspace_id,
    )
    return int(row[0]) if row else 0

"""The tables of uploads, extractions and query counts."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.db import Row, Tx, Value, grams
from deedbox.search import limits
from deedbox.search.conditions import KINDS, METADATA, Condition
from deedbox.search.conditions import store as conditions
from deedbox.search.conditions.store import Where
from deedbox.search.library import filing
from deedbox.search.library.reader import SearchReader
from deedbox.search.library.upload import LibraryUpload, MetadataValue, Status

UPLOAD_COLUMNS = (
    "id, workspace_id, filename, media_type, size_bytes, sha256, text_length, pages, status, status_before, error,"
    " revision, created_at, indexed_at, document_id, collection, hidden_length,"
    " metadata"
)


ANSWERING = "uploads u left join answering_files f on f.upload_id = u.id"
"""An upload `u` and, while its new content waits for indexing, the replaced file `f` that still answers queries."""
_OF_CONTENT = ("filename", "media_type", "size_bytes", "sha256", "text_length", "pages", "revision")
ANSWERING_COLUMNS = ", ".join(
    f"case when f.upload_id is null then u.{name} else f.{name} end" if name in _OF_CONTENT else f"u.{name}"
    for name in UPLOAD_COLUMNS.replace(" ", "").split(",")
)
"""The columns of an upload as queries see it, in ANSWERING."""


class UploadSummary(msgspec.Struct, frozen=True):
    """An upload with the number and recipe of the chunks in service for it."""

    upload: LibraryUpload
    chunks: int
    recipe: str | None


# uploads


def add_upload(tx: Tx, upload: LibraryUpload) -> None:
    names = ", ".join(f":{name}" for name in UPLOAD_COLUMNS.replace(" ", "").split(","))
    tx.run(
        f"insert into uploads ({UPLOAD_COLUMNS}, filename_folded) values ({names}, :filename_folded)",
        **{**msgspec.structs.asdict(upload), "metadata": filing.encode(upload.metadata)},
        filename_folded=_folded(upload.filename),
    )
    _keep_values(tx, upload.workspace_id, upload.id, upload.metadata)


def read_upload(row: Sequence[Any]) -> LibraryUpload:
    """The upload of a row of UPLOAD_COLUMNS."""
    return LibraryUpload(*row[:-2], filing.decode(row[-1]), row[-2])  # type: ignore[call-arg]


def file(tx: Tx, upload: LibraryUpload) -> None:
    """Keeps the name, collection and metadata that the upload has now."""
    changes = {
        "filename": upload.filename,
        "collection": upload.collection,
        "metadata": filing.encode(upload.metadata),
    }
    change_upload(tx, upload.id, {}, changes)
    tx.run("delete from upload_values where upload_id = :id", id=upload.id)
    _keep_values(tx, upload.workspace_id, upload.id, upload.metadata)


def _keep_values(tx: Tx, workspace_id: str, upload_id: str, metadata: Mapping[str, MetadataValue]) -> None:
    """The same values as rows, which filters and counts read."""
    rows: list[Mapping[str, Value]] = [
        {"upload_id": upload_id, "workspace_id": workspace_id, "name": name, **filing.key(value)._asdict()}
        for name, value in metadata.items()
    ]
    if rows:
        tx.many(
            "insert into upload_values (upload_id, workspace_id, name, kind, text, number)"
            " values (:upload_id, :workspace_id, :name, :kind, :text, :number)",
            rows,
        )


def _folded(filename: str) -> str:
    """The name as it is searched: SQL's own `lower` knows ASCII only, depending on the database."""
    return filename.casefold()


def upload(tx: Tx, workspace_id: str, upload_id: str) -> LibraryUpload | None:
    row = tx.one(
        f"select {UPLOAD_COLUMNS} from uploads where workspace_id = :workspace_id and id = :id",
        workspace_id=workspace_id,
        id=upload_id,
    )
    return read_upload(row) if row else None


def find_answering_file(tx: Tx, workspace_id: str, upload_id: str) -> LibraryUpload | None:
    """The upload with the file that its chunks in service were made from."""
    row = tx.one(
        f"select {ANSWERING_COLUMNS} from {ANSWERING} where u.workspace_id = :workspace_id and u.id = :id",
        workspace_id=workspace_id,
        id=upload_id,
    )
    return read_upload(row) if row else None


def answering_name(tx: Tx, upload_id: str) -> str | None:
    """The name of the file that the upload's chunks in service were made from."""
    row = tx.one(f"select coalesce(f.filename, u.filename) from {ANSWERING} where u.id = :id", id=upload_id)
    return row[0] if row else None


def store_answering_file(tx: Tx, upload: LibraryUpload) -> None:
    """Record that this file of the upload answers queries until its new content is indexed."""
    tx.run(
        "insert into answering_files (upload_id, workspace_id, filename_folded,"
        f" {', '.join(_OF_CONTENT)}) values (:id, :workspace_id, :folded,"
        f" {', '.join(f':{name}' for name in _OF_CONTENT)}) on conflict do nothing",
        id=upload.id,
        workspace_id=upload.workspace_id,
        folded=_folded(upload.filename),
        **{name: getattr(upload, name) for name in _OF_CONTENT},
    )


def drop_answering_file(tx: Tx, upload_id: str) -> None:
    tx.run("delete from answering_files where upload_id = :id", id=upload_id)


def needs_content(tx: Tx, workspace_id: str, sha256: str, media_type: str) -> bool:
    """Whether an upload of the workspace holds these bytes as a file of this type, or still answers from them."""
    same = "workspace_id = :workspace_id and sha256 = :sha256 and media_type = :media_type"
    row = tx.one(
        f"select 1 from uploads where {same} union all select 1 from answering_files where {same} limit 1",
        workspace_id=workspace_id,
        sha256=sha256,
        media_type=media_type,
    )
    return row is not None


def known(tx: Tx, reader: SearchReader, upload_ids: Collection[str]) -> set[str]:
    """Those of the ids that are uploads of the workspace, and there for this reader."""
    named: dict[str, Value] = {f"id{number}": one for number, one in enumerate(upload_ids)}
    there = _there_for(reader)
    sql = f"select id from uploads u where {there.sql} and id in ({', '.join(f':{one}' for one in named)})"
    return {row[0] for row in tx.all(sql, **there.values, **named)}


def _there_for(reader: SearchReader) -> Where:
    """What an upload `u` must be to exist for this reader."""
    sql, values = "u.workspace_id = :workspace_id", dict[str, Value](workspace_id=reader.workspace_id)
    if not reader.documents:
        sql += " and u.document_id is null"
    if reader.collections is not None:
        named = {f"of{number}": name for number, name in enumerate(sorted(reader.collections))}
        sql += f" and u.collection in ({', '.join(f':{name}' for name in named)})"
        values |= named
    return Where(sql, values)


def hides(tx: Tx, reader: SearchReader) -> bool:
    """Whether the workspace may have entries that do not exist for this reader."""
    sql = "select 1 from uploads where workspace_id = :workspace_id and document_id is not null limit 1"
    if reader.collections is not None:
        return True
    return not reader.documents and tx.one(sql, workspace_id=reader.workspace_id) is not None


def uploads(tx: Tx, workspace_id: str) -> list[LibraryUpload]:
    """All of the workspace, oldest first."""
    rows = tx.all(f"select {UPLOAD_COLUMNS} from uploads where workspace_id = :id order by id", id=workspace_id)
    return [read_upload(row) for row in rows]


def with_text(tx: Tx, workspace_id: str, name: str, text: str) -> list[LibraryUpload]:
    """Those whose metadata has this text under this name, oldest first; no entries that stand for documents."""
    rows = tx.all(
        f"select {UPLOAD_COLUMNS} from uploads where document_id is null and id in (select upload_id from upload_values"
        " where workspace_id = :workspace_id and name = :name and kind = 'text' and text = :text) order by id",
        workspace_id=workspace_id,
        name=name,
        text=text,
    )
    return [read_upload(row) for row in rows]


_SUMMARY = (
    f"select {', '.join(f'u.{name.strip()}' for name in UPLOAD_COLUMNS.split(','))},"
    " coalesce(s.chunks, 0) as chunks, s.recipe"
    " from uploads u left join libraries b on b.workspace_id = u.workspace_id"
    " left join index_log l on l.workspace_id = u.workspace_id and l.recipe = b.recipe and l.upload_id = u.id"
    " left join chunk_sets s on s.id = l.chunk_set_id"
)


def summary(tx: Tx, workspace_id: str, upload_id: str) -> UploadSummary | None:
    row = tx.one(
        f"{_SUMMARY} where u.workspace_id = :workspace_id and u.id = :id", workspace_id=workspace_id, id=upload_id
    )
    return _summary(row) if row else None


def summaries(
    tx: Tx, reader: SearchReader, after: str | None, most: int, collection: str | None
) -> list[UploadSummary]:
    """Uploads of the collection, or of all, after the one with this id, oldest first."""
    values: dict[str, Value] = {"after": after or "", "most": most}
    there, within = _there_for(reader), ""
    if collection is not None:
        within, values["collection"] = " and u.collection = :collection", collection
    sql = f"{_SUMMARY} where {there.sql}{within} and u.id > :after order by u.id limit :most"
    return [_summary(row) for row in tx.all(sql, **there.values, **values)]


def newest(tx: Tx, reader: SearchReader, named: str, before: str | None, most: int) -> list[UploadSummary]:
    """Uploads whose names hold this text, before the one with this id, newest first."""
    there, values = _there_for(reader), dict[str, Value](before=before or "upl_~")
    if not named:
        sql = f"{_SUMMARY} where {there.sql} and u.id < :before order by u.id desc limit :most"
        return [_summary(row) for row in tx.all(sql, **there.values, **values, most=most)]
    bounds = ["uploads.id < :before", there.sql.replace("u.", "uploads.")]
    wanted = grams.WantedRows("uploads", "filename_folded", _folded(named), bounds)
    found = grams.page(tx, reader.workspace_id, wanted, most, {**there.values, **values})
    ids = {f"id{at}": id for at, id in enumerate(found)}
    sql = f"{_SUMMARY} where u.id in ({', '.join(f':{name}' for name in ids) or 'null'}) order by u.id desc"
    return [_summary(row) for row in tx.all(sql, **ids)]


def _summary(row: Row) -> UploadSummary:
    return UploadSummary(read_upload(row[:-2]), row[-2], row[-1])


def change_upload(tx: Tx, upload_id: str, expected: Mapping[str, Value], changes: Mapping[str, Value]) -> bool:
    """Whether the upload was as expected and has been changed: the write is the check."""
    if "filename" in changes:
        changes = {**changes, "filename_folded": _folded(str(changes["filename"]))}
    sets = ", ".join(f"{name} = :new_{name}" for name in changes)
    conditions = "".join(
        f" and {name} is null" if value is None else f" and {name} = :old_{name}" for name, value in expected.items()
    )
    values: dict[str, Value] = {f"new_{name}": value for name, value in changes.items()}
    values |= {f"old_{name}": value for name, value in expected.items() if value is not None}
    return tx.run(f"update uploads set {sets} where id = :id{conditions}", id=upload_id, **values) > 0


def unclaim(tx: Tx, upload: LibraryUpload) -> bool:
    """Back to the status before it was being indexed, unless it was replaced or finished meanwhile."""
    expected: dict[str, Value] = {"revision": upload.revision, "status": "indexing"}
    before = upload.status_before or "uploaded"
    return change_upload(tx, upload.id, expected, {"status": before, "status_before": None})


def drop_upload(tx: Tx, upload_id: str) -> None:
    tx.run("delete from uploads where id = :id", id=upload_id)


def uploads_with_status(tx: Tx, status: Status) -> list[LibraryUpload]:
    rows = tx.all(f"select {UPLOAD_COLUMNS} from uploads where status = :status", status=status)
    return [read_upload(row) for row in rows]


def find_by_condition(tx: Tx, reader: SearchReader, condition: Condition) -> list[str]:
    """The uploads there for this reader that meet the condition."""
    there, wanted = _there_for(reader), conditions.where(condition)
    sql = f"select u.id from {ANSWERING} where {there.sql} and {wanted.sql} order by u.id"
    rows = tx.all(sql, **there.values, **wanted.values)
    return [row[0] for row in rows]


def check_uploads(tx: Tx, reader: SearchReader, condition: Condition) -> dict[str, bool]:
    """The uploads there for this reader, and whether each meets the condition."""
    there, wanted = _there_for(reader), conditions.where(condition)
    sql = f"select u.id, case when {wanted.sql} then 1 else 0 end from {ANSWERING} where {there.sql} order by u.id"
    return {row[0]: bool(row[1]) for row in tx.all(sql, **there.values, **wanted.values)}


def find_by_name(tx: Tx, reader: SearchReader, parts: Collection[str]) -> set[str]:
    """The uploads there for this reader whose names hold each of these, in any case."""
    there = _there_for(reader)
    names: dict[str, Value] = {f"part{at}": _folded(part) for at, part in enumerate(parts)}
    holds = "".join(f" and instr(coalesce(f.filename_folded, u.filename_folded), :{name}) > 0" for name in names)
    return {row[0] for row in tx.all(f"select u.id from {ANSWERING} where {there.sql}{holds}", **there.values, **names)}


def count_values(
    tx: Tx, reader: SearchReader, condition: Condition, only: Collection[str] | None, fields: Sequence[str]
) -> list[Row]:
    """Number of the field, then kind, text, number and count of its most frequent values, in uploads that meet the
    condition, `only` of these."""
    there, wanted = _there_for(reader), conditions.where(condition)
    named: dict[str, Value] = {f"id{number}": one for number, one in enumerate(only or ())}
    among = f" and u.id in ({', '.join(f':{one}' for one in named)})" if named else ""
    values: dict[str, Value] = {**there.values, **wanted.values, **named, "most": limits.FACET_VALUES}
    columns, counts = ["u.id as id"], list[str]()
    for at, field in enumerate(fields):
        if field.startswith(METADATA):
            source = f"counted join upload_values v on v.upload_id = counted.id and v.name = :name{at}"
            value, values[f"name{at}"] = (
                "v.kind as kind, v.text as text, v.number as number",
                field.removeprefix(METADATA),
            )
        else:
            source, boolean = "counted", KINDS[field] == "boolean"
            columns.append(f"{conditions.FIELDS[field]} as field{at}")
            text, number = ("null", f"field{at}") if boolean else (f"field{at}", "null")
            value = (
                f"'{KINDS[field]}' as kind, cast({text} as text) as text, cast({number} as double precision) as number"
            )
        counts.append(
            f"select * from (select {at} as field, kind, text, number, count(*) as uploads"
            f" from (select {value} from {source}) as of_field group by kind, text, number"
            " order by uploads desc, kind, text, number limit :most) as most_frequent"
        )
    sql = (
        f"with counted as (select {', '.join(columns)} from {ANSWERING} where {there.sql} and {wanted.sql}{among}) "
        + " union all ".join(counts)
        + " order by field, uploads desc, kind, text, number"
    )
    return tx.all(sql, **values)


def verification_codes(tx: Tx, workspace_id: str, upload_ids: Collection[str]) -> dict[str, str]:
    """The codes of the documents whose sealed files these uploads are; by upload."""
    named: dict[str, Value] = {f"id{number}": one for number, one in enumerate(upload_ids)}
    if not named:
        return {}
    of_these = f"u.workspace_id = :workspace_id and u.id in ({', '.join(f':{one}' for one in named)})"
    told = (
        f"select u.id, d.verification_code from {ANSWERING} join sealed_files s on {{same}}"
        " join documents d on d.id = s.document_id and d.workspace_id = u.workspace_id"
        " where {these} and d.verification_code is not null"
    )
    # A document's entry may be older than the time-stamp that its file got later; copies are known by their bytes.
    ways = ("s.document_id = u.document_id", "s.sha256 = coalesce(f.sha256, u.sha256)")
    rows = tx.all(
        " union ".join(told.format(same=way, these=of_these) for way in ways), workspace_id=workspace_id, **named
    )
    return dict(sorted((row[0], row[1]) for row in rows))


def of_document(tx: Tx, document_id: str) -> str | None:
    """The entry that stands for the document; None if there is none."""
    row = tx.one("select id from uploads where document_id = :id", id=document_id)
    return row[0] if row else None


def waiting_documents(tx: Tx, after: str, most: int) -> list[tuple[str, str]]:
    """Workspace and id of entries that stand for documents and were never indexed, after the one with this id."""
    rows = tx.all(
        "select workspace_id, id from uploads where document_id is not null and status = 'uploaded' and id > :after"
        " order by id limit :most",
        after=after,
        most=most,
    )
    return [(workspace_id, upload_id) for workspace_id, upload_id in rows]


def twin(tx: Tx, workspace_id: str, sha256: str, media_type: str) -> LibraryUpload | None:
    """The oldest upload of the workspace that holds these bytes as a file of this type."""
    row = tx.one(
        f"select {UPLOAD_COLUMNS} from uploads where workspace_id = :workspace_id and sha256 = :sha256"
        " and media_type = :media_type order by id limit 1",
        workspace_id=workspace_id,
        sha256=sha256,
        media_type=media_type,
    )
    return read_upload(row) if row else None


def count_backlog(tx: Tx, reader: SearchReader) -> int:
    """Uploads that wait for an index run; counted no further than one beyond the bound."""
    there = _there_for(reader)
    waiting = f"select 1 from uploads u where {there.sql} and status = 'uploaded' limit :most"
    row = tx.one(
        f"select count(*) from ({waiting}) as waiting", most=shared_limits.UNINDEXED_COUNTED + 1, **there.values
    )
    return int(row[0]) if row else 0


def count_uploads(tx: Tx, reader: SearchReader) -> int:
    there = _there_for(reader)
    row = tx.one(f"select count(*) from uploads u where {there.sql}", **there.values)
    return int(row[0]) if row else 0


def count_chunks(tx: Tx, reader: SearchReader) -> int:
    """The chunks in service of what is there for this reader."""
    there = _there_for(reader)
    counted = f"select coalesce(sum(chunks), 0) from ({_SUMMARY} where {there.sql}) as counted"
    row = tx.one(counted, **there.values)
    return int(row[0]) if row else 0


def collections(tx: Tx, reader: SearchReader, after: str, most: int) -> list[tuple[str, int]]:
    """The names of collections after this one, in order, and how many uploads lie in each."""
    there = _there_for(reader)
    rows = tx.all(
        f"select u.collection, count(*) from uploads u where {there.sql} and u.collection > :after"
        " group by u.collection order by u.collection limit :most",
        after=after,
        most=most,
        **there.values,
    )
    return [(row[0], int(row[1])) for row in rows]


# extracted text


def text(tx: Tx, workspace_id: str, sha256: str, media_type: str) -> str | None:
    """The hash of the blob that holds the text of these bytes, read as a file of this type; None if none is kept."""
    row = tx.one(
        "select text_sha256 from extractions where workspace_id = :workspace_id and sha256 = :sha256"
        " and media_type = :media_type",
        workspace_id=workspace_id,
        sha256=sha256,
        media_type=media_type,
    )
    return row[0] if row else None


def keep_text(tx: Tx, workspace_id: str, sha256: str, media_type: str, text_sha256: str) -> None:
    tx.run(
        "insert into extractions (workspace_id, sha256, media_type, text_sha256)"
        " values (:workspace_id, :sha256, :media_type, :text_sha256)"
        " on conflict (workspace_id, sha256, media_type) do update set text_sha256 = excluded.text_sha256",
        workspace_id=workspace_id,
        sha256=sha256,
        media_type=media_type,
        text_sha256=text_sha256,
    )


def set_lengths(tx: Tx, content: tuple[str, str, str], text_length: int, hidden_length: int) -> None:
    """Record the length of the text, and of what is hidden, in every upload of this workspace, hash and media type."""
    workspace_id, sha256, media_type = content
    tx.run(
        "update uploads set text_length = :text_length, hidden_length = :hidden_length"
        " where workspace_id = :workspace_id and sha256 = :sha256 and media_type = :media_type"
        " and (text_length <> :text_length or hidden_length <> :hidden_length)",
        workspace_id=workspace_id,
        sha256=sha256,
        media_type=media_type,
        text_length=text_length,
        hidden_length=hidden_length,
    )


def drop_text(tx: Tx, workspace_id: str, sha256: str, media_type: str) -> None:
    tx.run(
        "delete from extractions where workspace_id = :workspace_id and sha256 = :sha256 and media_type = :media_type",
        workspace_id=workspace_id,
        sha256=sha256,
        media_type=media_type,
    )


# counts


def count_query(tx: Tx, workspace_id: str, queries: int) -> None:
    tx.run(
        "insert into query_counts (workspace_id, queries) values (:id, :queries)"
        " on conflict (workspace_id) do update set queries = query_counts.queries + excluded.queries",
        id=workspace_id,
        queries=queries,
    )


def add_query_times(tx: Tx, counts: Mapping[tuple[str, str, int], int]) -> None:
    """Adds queries to those of their workspace, day and bucket; in one order, so that two processes never lock."""
    tx.many(
        "insert into query_days (workspace_id, day, bucket, queries) values (:workspace_id, :day, :bucket, :queries)"
        " on conflict (workspace_id, day, bucket) do update set queries = query_days.queries + excluded.queries",
        [
            {"workspace_id": workspace_id, "day": day, "bucket": bucket, "queries": number}
            for (workspace_id, day, bucket), number in sorted(counts.items())
        ],
    )


def queries(tx: Tx, workspace_id: str) -> int:
    row = tx.one("select queries from query_counts where workspace_id = :id", id=workspace_id)
    return int(row[0]) if row else 0


def stored_bytes(tx: Tx, reader: SearchReader) -> int:
    """Bytes of the files that are there for this reader, each content once."""
    there = _there_for(reader)
    row = tx.one(
        "select coalesce(sum(size_bytes), 0) from (select distinct sha256, size_bytes from uploads u"
        f" where {there.sql}) as contents",
        **there.values,
    )
    return int(row[0]) if row else 0

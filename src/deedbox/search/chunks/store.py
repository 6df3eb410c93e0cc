"""The tables of chunk sets, chunks, index logs, and the recipe in service."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

from deedbox.kernel.db import Tx, Value
from deedbox.search import limits
from deedbox.search.conditions.store import IS_SEALED
from deedbox.search.library.store import ANSWERING_COLUMNS, read_upload
from deedbox.search.library.upload import Chunk, LibraryUpload
from deedbox.search.query.query_syntax import fold

_CHUNK = "number, text, char_start, char_end, page, heading, ocr"

Place: TypeAlias = tuple[str, int]
"""The id of an upload and the number of one of its chunks."""

LOGGED = "chunks logged"
"""Told to its listeners, in the transaction, with what was logged: an index in the database follows at once."""


class Logged(msgspec.Struct, frozen=True):
    """A change of the log of one recipe."""

    workspace_id: str
    recipe: str
    upload_id: str
    chunk_set_id: str | None
    before: int
    """The number of the log's last change before this one."""
    number: int


class LogEntry(msgspec.Struct, frozen=True):
    number: int
    upload_id: str
    chunk_set_id: str | None
    """None: the upload is gone."""


# chunks


def chunk_set(tx: Tx, upload: LibraryUpload, recipe: str) -> tuple[str, int] | None:
    """The id and size of the set made of the upload's content by this recipe."""
    row = tx.one(
        "select id, chunks from chunk_sets where workspace_id = :workspace_id and sha256 = :sha256"
        " and media_type = :media_type and recipe = :recipe",
        workspace_id=upload.workspace_id,
        sha256=upload.sha256,
        media_type=upload.media_type,
        recipe=recipe,
    )
    return (row[0], row[1]) if row else None


def add_chunk_set(
    tx: Tx, set_id: str, upload: LibraryUpload, recipe: str, made: Sequence[tuple[Chunk, bytes]], now: str
) -> None:
    """A set of chunks of the upload's content with their vectors (float32, little-endian)."""
    tx.run(
        "insert into chunk_sets (id, workspace_id, sha256, media_type, recipe, chunks, created_at)"
        " values (:id, :workspace_id, :sha256, :media_type, :recipe, :chunks, :now)",
        id=set_id,
        workspace_id=upload.workspace_id,
        sha256=upload.sha256,
        media_type=upload.media_type,
        recipe=recipe,
        chunks=len(made),
        now=now,
    )
    rows: list[Mapping[str, Value]] = [
        {**msgspec.structs.asdict(chunk), "ocr": int(chunk.ocr), "vector": vector, "chunk_set_id": set_id}
        for chunk, vector in made
    ]
    tx.many(
        f"insert into chunks (chunk_set_id, {_CHUNK}, vector) values (:chunk_set_id, :number, :text, :char_start,"
        " :char_end, :page, :heading, :ocr, :vector)",
        rows,
    )
    titles: list[Mapping[str, Value]] = [
        {"chunk_set_id": set_id, "number": number, "folded": title}
        for number, title in enumerate(_titles([chunk for chunk, _ in made]))
    ]
    tx.many(
        "insert into section_titles (chunk_set_id, number, folded) values (:chunk_set_id, :number, :folded)", titles
    )


def _titles(made: Sequence[Chunk]) -> list[str]:
    """The title of the document, which is its first line and its first heading, then the different headings."""
    headings = list(dict.fromkeys(fold(chunk.heading) for chunk in made if chunk.heading))
    first = made[0].text.lstrip().partition("\n")[0] if made else ""
    return ["\n".join([fold(first[: limits.TITLE_LINE_CHARS]), *headings[:1]]), *headings]


def find_by_title(tx: Tx, workspace_id: str, recipe: str, field: Literal["title", "heading"], part: str) -> set[str]:
    """The uploads whose title, or one of whose headings, holds this, in any case."""
    which = "t.number = 0" if field == "title" else "t.number > 0"
    rows = tx.all(
        "select distinct l.upload_id from index_log l join section_titles t on t.chunk_set_id = l.chunk_set_id"
        f" where l.workspace_id = :workspace_id and l.recipe = :recipe and {which} and instr(t.folded, :part) > 0",
        workspace_id=workspace_id,
        recipe=recipe,
        part=fold(part),
    )
    return {row[0] for row in rows}


def kept_set(
    tx: Tx, new_set_id: str, upload: LibraryUpload, recipe: str, made: Sequence[tuple[Chunk, bytes]] | None, now: str
) -> tuple[str, int] | None:
    """The id and size of the set of the upload's content, added if it is not there; None if there is none to add."""
    found = chunk_set(tx, upload, recipe)
    if found is None and made:
        add_chunk_set(tx, new_set_id, upload, recipe, made, now)
        found = (new_set_id, len(made))
    return found


def recipe(tx: Tx, set_id: str) -> str | None:
    """The recipe of a chunk set; None when it is gone."""
    row = tx.one("select recipe from chunk_sets where id = :id", id=set_id)
    return row[0] if row else None


def drop_unused_set(tx: Tx, set_id: str) -> None:
    """Removes a chunk set that stands for no upload any more."""
    if tx.one("select 1 from index_log where chunk_set_id = :id limit 1", id=set_id) is None:
        tx.run("delete from chunks where chunk_set_id = :id", id=set_id)
        tx.run("delete from chunk_sets where id = :id", id=set_id)


def chunks(tx: Tx, set_id: str, after: int | None, most: int) -> list[Chunk]:
    """Chunks of a set after the one with this number, counted from 0."""
    rows = tx.all(
        f"select {_CHUNK} from chunks where chunk_set_id = :id and number > :after order by number limit :most",
        id=set_id,
        after=-1 if after is None else after,
        most=most,
    )
    return [_chunk(row) for row in rows]


def chunk_vectors(tx: Tx, set_id: str) -> list[tuple[int, str, bytes]]:
    """Number, text and vector of every chunk of a set."""
    return [
        (row[0], row[1], row[2])
        for row in tx.all_raw(
            "select number, text, vector from chunks where chunk_set_id = :id order by number", id=set_id
        )
    ]


class AnsweringChunk(NamedTuple):
    """A chunk with the upload that it answers for."""

    upload: LibraryUpload
    """With the file that the chunk was made from."""
    chunk: Chunk
    sealed: bool
    """Whether that file was sealed in the workspace."""


def unchanged_chunks(
    tx: Tx, workspace_id: str, recipe: str, places: Collection[Place], mark: int
) -> dict[Place, AnsweringChunk]:
    """Each upload, with the file that answers, and its chunk; not those that have gone or changed since that number."""
    if not places:
        return {}
    values: dict[str, Value] = {}
    for at, (upload_id, number) in enumerate(places):
        values |= {f"id{at}": upload_id, f"number{at}": number}
    wanted = ", ".join(f"(:id{at}, cast(:number{at} as bigint))" for at in range(len(places)))
    rows = tx.all(
        f"with wanted (upload_id, number) as (values {wanted})"
        f" select {ANSWERING_COLUMNS}, c.number, c.text, c.char_start, c.char_end, c.page, c.heading, c.ocr,"
        f" {IS_SEALED}"
        " from wanted w join index_log l"
        " on l.workspace_id = :workspace_id and l.recipe = :recipe and l.upload_id = w.upload_id"
        " join uploads u on u.id = l.upload_id left join answering_files f on f.upload_id = u.id"
        " join chunks c on c.chunk_set_id = l.chunk_set_id and c.number = w.number"
        " where l.number <= :mark",
        workspace_id=workspace_id,
        recipe=recipe,
        mark=mark,
        **values,
    )
    found = [AnsweringChunk(read_upload(row[:-8]), _chunk(row[-8:-1]), bool(row[-1])) for row in rows]
    return {(one.upload.id, one.chunk.number): one for one in found}


def _chunk(row: Sequence[Any]) -> Chunk:
    number, text, start, end, page, heading, ocr = row
    return Chunk(number, text, start, end, page, heading, bool(ocr))


# the logs that indexes follow, one for each recipe: which chunk set stands for which upload


def log_change(tx: Tx, workspace_id: str, recipe: str, upload_id: str, chunk_set_id: str | None) -> None:
    """Takes the place of an earlier change of the same upload; the set that thereby falls out of use is removed."""
    # Two at once must not take the same number: whoever is second here begins again.
    tx.run("update libraries set recipe = recipe where workspace_id = :id", id=workspace_id)
    before, mark = set_of(tx, workspace_id, recipe, upload_id), watermark(tx, workspace_id, recipe)
    tx.run(
        "insert into index_log (workspace_id, recipe, number, upload_id, chunk_set_id)"
        " values (:workspace_id, :recipe, :number, :upload_id, :chunk_set_id)"
        " on conflict (workspace_id, recipe, upload_id) do update set number = excluded.number,"
        " chunk_set_id = excluded.chunk_set_id",
        workspace_id=workspace_id,
        recipe=recipe,
        number=mark + 1,
        upload_id=upload_id,
        chunk_set_id=chunk_set_id,
    )
    for follow in tx.listeners.of(LOGGED):
        follow(tx, Logged(workspace_id, recipe, upload_id, chunk_set_id, mark, mark + 1))
    if before is not None and before != chunk_set_id:
        drop_unused_set(tx, before)


def log_name(tx: Tx, workspace_id: str, upload_id: str) -> None:
    """Has every index take up the name that the upload has now."""
    for recipe, set_id in _logged_sets(tx, workspace_id, upload_id):
        log_change(tx, workspace_id, recipe, upload_id, set_id)


def log_removal(tx: Tx, workspace_id: str, upload_id: str) -> None:
    """Takes the upload out of every index."""
    for recipe, _ in _logged_sets(tx, workspace_id, upload_id):
        log_change(tx, workspace_id, recipe, upload_id, None)


def _logged_sets(tx: Tx, workspace_id: str, upload_id: str) -> list[tuple[str, str]]:
    """Recipe and chunk set of each index that the upload is in."""
    rows = tx.all(
        "select recipe, chunk_set_id from index_log where workspace_id = :workspace_id and upload_id = :upload_id"
        " and chunk_set_id is not null order by recipe",
        workspace_id=workspace_id,
        upload_id=upload_id,
    )
    return [(row[0], row[1]) for row in rows]


def set_of(tx: Tx, workspace_id: str, recipe: str, upload_id: str) -> str | None:
    """The chunk set that stands for the upload in the index of this recipe."""
    row = tx.one(
        "select chunk_set_id from index_log where workspace_id = :workspace_id and recipe = :recipe"
        " and upload_id = :upload_id",
        workspace_id=workspace_id,
        recipe=recipe,
        upload_id=upload_id,
    )
    return row[0] if row else None


def watermark(tx: Tx, workspace_id: str, recipe: str) -> int:
    """The number of the log's last change; 0 when nothing was ever indexed."""
    row = tx.one(
        "select coalesce(max(number), 0) from index_log where workspace_id = :workspace_id and recipe = :recipe",
        workspace_id=workspace_id,
        recipe=recipe,
    )
    return int(row[0]) if row else 0


def log_after(tx: Tx, workspace_id: str, recipe: str, number: int, limit: int) -> list[LogEntry]:
    rows = tx.all(
        "select number, upload_id, chunk_set_id from index_log where workspace_id = :workspace_id"
        " and recipe = :recipe and number > :number order by number limit :limit",
        workspace_id=workspace_id,
        recipe=recipe,
        number=number,
        limit=limit,
    )
    return [LogEntry(*row) for row in rows]


def changed_since(tx: Tx, workspace_id: str, recipe: str, number: int, before: str) -> list[str]:
    """The uploads with a change after that number, but for those that were uploaded later than this instant."""
    rows = tx.all(
        "select l.upload_id from index_log l left join uploads u on u.id = l.upload_id"
        " where l.workspace_id = :workspace_id and l.recipe = :recipe and l.number > :number"
        " and (u.id is null or u.created_at <= :before) order by l.number",
        workspace_id=workspace_id,
        recipe=recipe,
        number=number,
        before=before,
    )
    return [row[0] for row in rows]


def changed_after(tx: Tx, workspace_id: str, recipe: str, number: int) -> set[str]:
    """Return the uploads with a change after that number."""
    rows = tx.all(
        "select upload_id from index_log where workspace_id = :workspace_id and recipe = :recipe and number > :number",
        workspace_id=workspace_id,
        recipe=recipe,
        number=number,
    )
    return {row[0] for row in rows}


def chunks_after(tx: Tx, workspace_id: str, recipe: str, number: int, most: int) -> int:
    """How many chunks so many changes after that number bring; what a change removes counts as one."""
    row = tx.one(
        "select coalesce(sum(n), 0) from (select coalesce(s.chunks, 1) as n from index_log l"
        " left join chunk_sets s on s.id = l.chunk_set_id where l.workspace_id = :workspace_id"
        " and l.recipe = :recipe and l.number > :number order by l.number limit :most) as changes",
        workspace_id=workspace_id,
        recipe=recipe,
        number=number,
        most=most,
    )
    return int(row[0]) if row else 0


# the recipe in service, one at a time in each workspace


def serving_recipe(tx: Tx, workspace_id: str) -> str | None:
    """The recipe that serves the workspace's queries; None when nothing was ever indexed."""
    row = tx.one("select recipe from libraries where workspace_id = :id", id=workspace_id)
    return row[0] if row else None


def serving_state(tx: Tx, workspace_id: str) -> tuple[str | None, int]:
    """The recipe that serves the workspace's queries, and its watermark."""
    row = tx.one(
        "select b.recipe, (select max(l.number) from index_log l where l.workspace_id = b.workspace_id"
        " and l.recipe = b.recipe) from libraries b where b.workspace_id = :id",
        id=workspace_id,
    )
    return (row[0], row[1] or 0) if row else (None, 0)


def serve(tx: Tx, workspace_id: str, recipe: str) -> None:
    """Puts the recipe into service. Uploads that it has no chunks of keep the former ones, found by words only."""
    before = serving_recipe(tx, workspace_id)
    if before is not None and before != recipe:
        tx.run(
            "insert into index_log (workspace_id, recipe, number, upload_id, chunk_set_id)"
            " select l.workspace_id, :recipe, :mark + row_number() over (order by l.number), l.upload_id,"
            f" l.chunk_set_id from {_NOT_RENEWED}"
            " on conflict (workspace_id, recipe, upload_id) do update set number = excluded.number,"
            " chunk_set_id = excluded.chunk_set_id",
            workspace_id=workspace_id,
            before=before,
            recipe=recipe,
            mark=watermark(tx, workspace_id, recipe),
        )
    tx.run(
        "insert into libraries (workspace_id, recipe) values (:workspace_id, :recipe)"
        " on conflict (workspace_id) do update set recipe = excluded.recipe",
        workspace_id=workspace_id,
        recipe=recipe,
    )


_NOT_RENEWED = (
    "index_log l join chunk_sets a on a.id = l.chunk_set_id"
    " where l.workspace_id = :workspace_id and l.recipe = :before and not exists"
    " (select 1 from index_log n join chunk_sets s on s.id = n.chunk_set_id where n.workspace_id = l.workspace_id"
    " and n.recipe = :recipe and n.upload_id = l.upload_id and s.recipe = :recipe and s.sha256 = a.sha256"
    " and s.media_type = a.media_type)"
)
"""The log entries of the former recipe whose content the new recipe has no chunks of."""


def to_renew(tx: Tx, workspace_id: str, recipe: str) -> list[str]:
    """The indexed uploads that the recipe has no chunks of, oldest first."""
    rows = tx.all(
        "select u.id from uploads u where u.workspace_id = :workspace_id and u.status = 'indexed' and u.id in"
        f" (select l.upload_id from {_NOT_RENEWED}) order by u.id",
        workspace_id=workspace_id,
        before=serving_recipe(tx, workspace_id) or recipe,
        recipe=recipe,
    )
    return [row[0] for row in rows]


def workspaces_to_renew(tx: Tx, recipe: str) -> list[str]:
    """The workspaces that hold chunks of another recipe."""
    rows = tx.all(
        "select distinct l.workspace_id from index_log l left join chunk_sets s on s.id = l.chunk_set_id"
        " where l.recipe <> :recipe or s.recipe <> :recipe order by l.workspace_id",
        recipe=recipe,
    )
    return [row[0] for row in rows]


def other_recipes(tx: Tx, workspace_id: str, recipe: str) -> list[str]:
    """The other recipes that the workspace has logs of."""
    rows = tx.all(
        "select distinct recipe from index_log where workspace_id = :workspace_id and recipe <> :recipe"
        " order by recipe",
        workspace_id=workspace_id,
        recipe=recipe,
    )
    return [row[0] for row in rows]


def forget_some(tx: Tx, workspace_id: str, recipe: str, limit: int) -> bool:
    """Removes so much of the recipe's log, with its chunk sets; whether there was anything left to remove."""
    found = log_after(tx, workspace_id, recipe, 0, limit)
    for entry in found:
        tx.run(
            "delete from index_log where workspace_id = :workspace_id and recipe = :recipe and number = :number",
            workspace_id=workspace_id,
            recipe=recipe,
            number=entry.number,
        )
        if entry.chunk_set_id is not None:
            drop_unused_set(tx, entry.chunk_set_id)
    return bool(found)


def serving_recipes(tx: Tx) -> list[str]:
    return [row[0] for row in tx.all("select distinct recipe from libraries order by recipe")]


def indexed_chunks(tx: Tx, workspace_id: str) -> int:
    """The number of chunks in service."""
    row = tx.one(
        "select coalesce(sum(s.chunks), 0) from libraries b join index_log l on l.workspace_id = b.workspace_id"
        " and l.recipe = b.recipe join chunk_sets s on s.id = l.chunk_set_id where b.workspace_id = :id",
        id=workspace_id,
    )
    return int(row[0]) if row else 0


def indexed_workspaces(tx: Tx) -> list[str]:
    """The workspaces in which anything was ever indexed."""
    return [row[0] for row in tx.all("select workspace_id from libraries order by workspace_id")]


def workspaces_asked_last(tx: Tx, most: int) -> list[str]:
    """Workspaces in which anything was ever indexed: by the day of the last query, then by the queries of that day."""
    rows = tx.all(
        "select a.workspace_id from (select b.workspace_id,"
        " (select max(q.day) from query_days q where q.workspace_id = b.workspace_id) as day from libraries b) as a"
        " order by coalesce(a.day, '') desc, coalesce((select sum(q.queries) from query_days q"
        " where q.workspace_id = a.workspace_id and q.day = a.day), 0) desc, a.workspace_id limit :most",
        most=most,
    )
    return [row[0] for row in rows]

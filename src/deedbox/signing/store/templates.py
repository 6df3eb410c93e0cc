"""The tables of templates and their versions: a version is written once, and only a conversion completes it."""

import msgspec

from deedbox.kernel.db import Row, Tx, Value, grams
from deedbox.kernel.db.rows import insert
from deedbox.kernel.errors import Conflict
from deedbox.signing.store.documents import fold_title
from deedbox.signing.template import Content, Template

_COLUMNS = (
    "t.id, t.workspace_id, v.version, v.name, v.status, v.error, v.paper_sha256, v.content, t.created_at, v.created_at"
)
_WHOLE = f"select {_COLUMNS} from templates t join template_versions v on v.template_id = t.id"
_CONTENT = msgspec.json.Decoder(Content)


def find(tx: Tx, workspace_id: str, template_id: str, version: int | None = None) -> Template | None:
    """The template in this version, or in its newest."""
    sql = f"{_WHOLE} and v.version = coalesce(:version, t.version) where t.id = :id and t.workspace_id = :workspace_id"
    row = tx.one(sql, id=template_id, workspace_id=workspace_id, version=version)
    return _template(row) if row else None


def page(tx: Tx, workspace_id: str, q: str | None, limit: int, cursor: str | None) -> list[Template]:
    """Templates in their newest version, the youngest first, whose names contain `q`."""
    values: dict[str, Value] = {"workspace_id": workspace_id, "limit": limit}
    conditions = ["workspace_id = :workspace_id"]
    if cursor is not None:
        conditions.append("templates.id < :cursor")
        values["cursor"] = cursor
    found = f"select id from templates where {' and '.join(conditions)} order by id desc limit :limit"
    if q is not None:
        named = grams.WantedRows("templates", "name_folded", fold_title(q), conditions)
        values |= {f"id{at}": id for at, id in enumerate(grams.page(tx, workspace_id, named, limit, values))}
        found = ", ".join(f":{name}" for name in values if name.startswith("id")) or "null"
    sql = f"{_WHOLE} and v.version = t.version where t.id in ({found}) order by t.id desc"
    return [_template(row) for row in tx.all(sql, **values)]


def versions(tx: Tx, workspace_id: str, template_id: str, before: int | None, limit: int) -> list[Template]:
    """The versions of a template, the newest first, from the one before this on."""
    sql = (
        f"{_WHOLE} where t.id = :id and t.workspace_id = :workspace_id"
        f"{' and v.version < :before' if before is not None else ''} order by v.version desc limit :limit"
    )
    values: dict[str, Value] = {"id": template_id, "workspace_id": workspace_id, "limit": limit}
    if before is not None:
        values["before"] = before
    return [_template(row) for row in tx.all(sql, **values)]


def count_uses(tx: Tx, template_id: str, most: int) -> int:
    """How many documents were made from the template, counted up to so many."""
    sql = (
        "select count(*) from (select 1 from documents d join templates t on t.id = d.template_id"
        " and t.workspace_id = d.workspace_id where t.id = :id limit :most) as counted"
    )
    row = tx.one(sql, id=template_id, most=most)
    return int(row[0]) if row else 0


def add(tx: Tx, template: Template) -> None:
    """The template, stored with its first version."""
    row = {"id": template.id, "workspace_id": template.workspace_id, "name_folded": fold_title(template.name)}
    insert(tx, "templates", {**row, "version": template.version, "created_at": template.created_at})
    insert(tx, "template_versions", _version_row(template))


def add_version(tx: Tx, before: Template, after: Template) -> None:
    """The next version, stored; Conflict when another was first: the write is the check."""
    sql = (
        "update templates set version = :version, name_folded = :name_folded"
        " where id = :id and workspace_id = :workspace_id and version = :was"
    )
    values: dict[str, Value] = {
        "id": after.id,
        "workspace_id": after.workspace_id,
        "was": before.version,
        "version": after.version,
    }
    if not tx.run(sql, **values, name_folded=fold_title(after.name)):
        raise Conflict("The template was changed at this very moment. Look at it and try again.")
    insert(tx, "template_versions", _version_row(after))


def complete(tx: Tx, template: Template) -> bool:
    """Whether the version was still being converted, and is now what was made of it."""
    sql = (
        "update template_versions set status = :status, error = :error, content = :content, paper_sha256 ="
        " :paper_sha256 where template_id = :id and version = :version and status = 'processing'"
    )
    row = _version_row(template)
    names = ("status", "error", "content", "paper_sha256", "version")
    return tx.run(sql, id=template.id, **{name: row[name] for name in names}) > 0


def hold(tx: Tx, workspace_id: str, template_id: str) -> bool:
    """Whether the template is there; it then is until the transaction ends."""
    lock = "for key share" if tx.dialect == "postgres" else ""
    sql = f"select 1 from templates where id = :id and workspace_id = :workspace_id {lock}"
    return tx.one(sql, id=template_id, workspace_id=workspace_id) is not None


def drop(tx: Tx, template_id: str) -> None:
    """The template is gone with all its versions."""
    tx.run("delete from template_versions where template_id = :id", id=template_id)
    tx.run("delete from templates where id = :id", id=template_id)


def _template(row: Row) -> Template:
    (id, workspace_id, version, name, status, error, paper, content, created_at, updated_at) = row
    decoded = _CONTENT.decode(content)
    return Template(id, workspace_id, version, name, status, error, paper, decoded, created_at, updated_at)


def _version_row(template: Template) -> dict[str, Value]:
    return {
        "template_id": template.id,
        "version": template.version,
        "name": template.name,
        "status": template.status,
        "error": template.error,
        "content": msgspec.json.encode(template.content).decode(),
        "paper_sha256": template.paper_sha256,
        "created_at": template.updated_at,
    }

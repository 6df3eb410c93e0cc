"""No route reads more than a bounded number of rows on the event loop, however many there are."""

import contextlib
import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, cast

import pytest
from litestar import Litestar
from litestar.handlers import HTTPRouteHandler

from deedbox.kernel.db import sqlite
from deedbox.kernel.db.sqlite import SqliteDatabase
from deedbox.web.http import auth
from deedbox.web.http.query import QUERY, describe
from tests.api.conftest import Api, Key, opened
from tests.api.search.conftest import Search, searching
from tests.api.signing import packets, test_bulk
from tests.api.signing.conftest import Office
from tests.api.signing.dashboard import signed_in
from tests.conftest import HandClock

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.all_in_folder("only SQLite reads on the event loop"),
]

COPIES = 10_000
"""Of every row: a statement that looks at each of them takes more than `limits.INLINE_STEPS`."""
NOT_COPIED = {"alembic_version", "workspaces", "certificates", "blobs", "blob_refs", "libraries"}
SHARED = ("workspace_id", "created_by", "by_id")
"""Columns that copies have in common, though they hold ids."""
GIVEN: dict[str, list[str]] = {
    "cursor": [], "page": ["1"], "q": ["lea", "se", "e", "nowhere"], "name": ["a.t", "t"], "query": ["rent"],
    "limit": ["200"], "order": ["asc"], "status": [], "type": ["document.sent"], "to": ["ann@", "a"],
}  # fmt: skip
PARAMETERS = {"number": "1", "page": "1", "name": "crl", "subject": "documents"}
"""For query parameters, by name; those of other names are given what the test knows under that name."""


class Column(NamedTuple):
    name: str
    kind: str


def uniques(connection: sqlite3.Connection, table: str) -> Iterator[list[str]]:
    for _, index, unique, *_ in connection.execute(f"pragma index_list({table})").fetchall():
        if unique:
            yield [row[2] for row in connection.execute(f"pragma index_info({index})") if row[2]]
    if key := [row[1] for row in connection.execute(f"pragma table_info({table})") if row[5]]:
        yield key


def changed(connection: sqlite3.Connection, table: str, columns: list[Column]) -> dict[str, str] | None:
    """What a copy has in each column; None where a workspace has one row only."""
    kinds = dict(columns)
    found = {name: name for name in kinds}
    number = "printf('%05d', copy)"
    for name, kind in kinds.items():
        if kind == "TEXT" and (name == "id" or name.endswith("_id")) and name not in SHARED:
            found[name] = f"substr({name}, 1, length({name}) - 5) || {number}"
    for unique in uniques(connection, table):
        if all(found[name] == name for name in unique):
            free = [name for name in unique if name not in SHARED]
            if not free:
                return None
            name = free[-1]
            found[name] = {
                "TEXT": f"{name} || {number}",
                "INTEGER": f"{name} + copy * 1000",
                "BLOB": f"cast({name} || {number} as blob)",
            }[kinds[name]]
    return found


def multiply(path: Path) -> dict[str, int]:
    """Copies every row; how many each table has then."""
    counted = f"select 1 union all select copy + 1 from n where copy < {COPIES}"
    numbers = f"(with recursive n (copy) as ({counted}) select * from n)"
    with contextlib.closing(sqlite.connect(path, writable=True)) as connection:
        connection.execute("pragma foreign_keys = off")
        connection.execute("begin")
        tables = connection.execute(
            "select name from pragma_table_list where type = 'table' and schema = 'main'"
        ).fetchall()
        counts = {}
        for (table,) in tables:
            if table in NOT_COPIED or table.startswith("sqlite_"):
                continue
            columns = [Column(row[1], row[2]) for row in connection.execute(f"pragma table_info({table})")]
            values = changed(connection, table, columns)
            if values is not None:
                connection.execute(f"create temp table some as select * from {table} limit 3")
                names = ", ".join(values)
                connection.execute(
                    f"insert or ignore into {table} ({names}) select {', '.join(values.values())} from some, {numbers}"
                )
                connection.execute("drop table some")
            [(counts[table],)] = connection.execute(f"select count(*) from {table}").fetchall()
        connection.execute("commit")
    return counts


async def seed(search: Search) -> dict[str, list[str]]:
    """Something of every kind; ids by the names that routes give them."""
    office = Office(search.api)
    sealed, sent = await office.sealed(external_id="case"), await office.create(send=True)
    draft = await office.create()
    packet = await packets.Packets(search.api).create(send=True)
    template = await test_bulk.template(office)
    bulk = (await test_bulk.send(office, template, [test_bulk.row(1)])).json()
    await test_bulk.settled(office, bulk)
    hook = {"target_url": "https://example.com/hook", "events": ["document.sent"]}
    hook_id = (await search.api.post("/api/v1/hooks", hook)).json()["id"]
    await office.create(send=True)
    doc_id = await search.indexed("The tenant pays the rent.")
    await search.upload("never indexed")
    other = await search.api.make_key()
    rows = {name: (await search.api.rows(f"select id from {name} limit 1"))[0][0] for name in ("mails", "deliveries")}
    return {
        "document_id": [sealed["id"], sent["id"], draft["id"]],
        "packet_id": [packet["id"]], "packet": [packet["id"]],
        "template_id": [template], "template": [template],
        "bulk_send_id": [bulk["id"]], "bulk": [bulk["id"]],
        "hook_id": [hook_id],
        "delivery_id": [rows["deliveries"]],
        "mail_id": [rows["mails"]],
        "doc_id": [doc_id],
        "key_id": [other.id],
        "signer_id": [sent["parties"][0]["signers"][0]["id"]],
        "file_id": [sent["files"][0]["id"]],
        "code": [sealed["verification_code"]],
        "external_id": ["case"],
    }  # fmt: skip


def paths(app: Litestar, known: dict[str, list[str]]) -> Iterator[tuple[str, HTTPRouteHandler]]:
    """The addresses of every GET route, with ids of things that are there."""
    for path, handler in auth.list_routes(app):
        if "GET" in handler.http_methods:
            names = [part[1:-1] for part in path.split("/") if part.startswith("{")]
            for number in range(max(len(known.get(name, "")) for name in names) if names else 1):
                filled = path
                for name in names:
                    ids = known.get(name) or [PARAMETERS.get(name, "unknown")]
                    filled = filled.replace(f"{{{name}}}", ids[min(number, len(ids) - 1)])
                yield filled, handler


def queries(handler: HTTPRouteHandler, known: dict[str, list[str]]) -> Iterator[dict[str, str]]:
    """No query, and each parameter of the route by itself."""
    yield {}
    for parameter in describe(handler.opt[QUERY]) if QUERY in handler.opt else []:
        name, schema = parameter["name"], parameter["schema"]
        of_list = schema.get("items", schema)
        for value in (known.get(name) or GIVEN.get(name) or of_list.get("enum") or [])[:4]:
            yield {name: str(value)}


async def moved(api: Api, key: Key, known: dict[str, list[str]]) -> tuple[list[str], Counter[int]]:
    """The requests whose reads were too long for the event loop, and how all were answered."""
    found, answers, database = [], Counter[int](), cast(SqliteDatabase, api.deedbox.db)
    async with signed_in(api) as person, api.client() as program:
        person.headers["Accept"] = "text/html"
        program.headers["Authorization"] = f"Bearer {key.plain}"
        for path, handler in paths(cast(Litestar, api.guard.app), known):
            for query in queries(handler, known):
                before = database.moved
                client = program if auth.of(handler).opener == "key" else person
                answer = await client.get(path, params=query)
                answers[answer.status_code] += 1
                if database.moved > before:
                    found.append(f"{path} {query}")
    return found, answers


async def test_inline_reads_of_all_get_routes_are_bounded(database_url: str, tmp_path: Path, clock: HandClock) -> None:
    async with searching(database_url, tmp_path, clock) as search:
        known, key = await seed(search), search.api.key
    counts = multiply(tmp_path / "deedbox.sqlite")
    assert sum(number > COPIES for number in counts.values()) > 25, counts
    async with opened(database_url, tmp_path, clock) as api:
        api.workspace = search.api.workspace
        found, answers = await moved(api, key, known)
    assert answers[200] > 150, answers
    assert max(answers) < 500, answers
    assert not found, "these read aside, or need an index"

"""Rows a second of a bulk send, what others wait meanwhile, the server's memory, and statements a row.

A server of its own gets the rows as JSON and sends them, while another caller lists documents and sends single ones;
before that, the same caller has the server for itself. Beside it the limit: the same rows of all tables, by bare
executemany in slices of the same size.

Usage: python -m bench.bulk [--rows 10000] [--batches 1] [--idle 10] [--postgres [postgresql://…/postgres]] [--small]"""

import asyncio
import base64
import http.client
import json
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from bench import postgres
from bench.lifecycle import Place, administer, database_of, make_pdf, places, serving
from bench.measure import cpu_seconds, median, ratio, temporary_folder
from bench.options import Options, tell
from bench.request import make_key
from deedbox import wiring
from deedbox.kernel import limits
from deedbox.kernel.clock import stopwatch
from deedbox.kernel.crypto import Secret
from deedbox.kernel.db import Tx, Value
from deedbox.kernel.db.postgres import PostgresTx
from deedbox.kernel.db.sqlite import SqliteTx
from deedbox.kernel.settings import Settings
from deedbox.signing import limits as signing_limits
from deedbox.signing.bulk import accept
from deedbox.signing.bulk.model import NewBulkSend, NewRow, ReadRow
from deedbox.signing.new_document import NewSigner

T = TypeVar("T")

COUNTED = 200
"""Rows that are sent in this process, to count statements."""
TABLES = (
    "packets", "documents", "parties", "signers", "fields", "signing_links", "blob_refs", "audit", "events", "mails",
)  # fmt: skip
"""What a row of a bulk send writes to, in the order of their references."""
AIMS = {"SQLite": 300, "PostgreSQL": 150}


class Caller:
    """One connection with a key."""

    def __init__(self, port: int, key: str) -> None:
        self._wire = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        self._wire.request(method, path, json.dumps(body) if body is not None else None, self._headers)
        answer = self._wire.getresponse()
        content = answer.read()
        if answer.status not in (200, 201):
            raise SystemExit(f"{method} {path}: {answer.status} {content[:300]!r}")
        return json.loads(content)


class Others:
    """A caller who lists documents and sends single ones, one after the other, until the end of the block."""

    def __init__(self, port: int, key: str, template_id: str) -> None:
        self.waited: dict[str, list[float]] = {"list": [], "send": []}
        self._caller = Caller(port, key)
        person = {"name": "Bo", "email": "bo@example.com"}
        self._document = {"template_id": template_id, "roles": {"Tenant": person}, "send": True}
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._work)

    def __enter__(self) -> "Others":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _work(self) -> None:
        while not self._done.is_set():
            self._timed("list", "GET", "/api/v1/documents?limit=5")
            self._timed("send", "POST", "/api/v1/documents", self._document)
            time.sleep(0.02)

    def _timed(self, name: str, *request: Any) -> None:
        begun = stopwatch()
        self._caller.ask(*request)
        self.waited[name].append((stopwatch() - begun) * 1000)

    def p99(self, name: str) -> float:
        values = sorted(self.waited[name])
        return values[min(len(values) - 1, int(len(values) * 0.99))]


class Batch(NamedTuple):
    accepted: float
    """Seconds until the request was answered."""
    seconds: float
    """From then until all rows were sent."""
    cpu: float
    """Seconds that the server has computed, from the request on."""


def person(batch: int, number: int) -> dict[str, str]:
    return {"name": f"Ann {number}", "email": f"ann{batch}-{number}@example.com"}


def new_rows(batch: int, rows: int) -> list[dict[str, Any]]:
    return [
        {"key": f"k{number}", "roles": {"Tenant": person(batch, number)}, "values": {"Flat": str(number)}}
        for number in range(rows)
    ]


def make_template(caller: Caller, pdf: bytes) -> str:
    fields = [
        {"type": "signature", "party": "Tenant", "page": 1, "x": 0.1, "y": 0.8, "w": 0.3, "h": 0.05},
        {"type": "text", "party": "Tenant", "page": 1, "x": 0.1, "y": 0.6, "w": 0.3, "h": 0.03, "label": "Flat"},
    ]
    file = {"name": "lease.pdf", "content_base64": base64.b64encode(pdf).decode()}
    body = {"name": "Lease", "file": file, "roles": [{"name": "Tenant"}], "fields": fields}
    return str(caller.ask("POST", "/api/v1/templates", body)["id"])


def send(caller: Caller, template_id: str, batch: int, rows: int, pid: int) -> Batch:
    body = {"name": f"Batch {batch}", "template_id": template_id, "rows": new_rows(batch, rows)}
    begun, spent = stopwatch(), cpu_seconds(pid)
    made = caller.ask("POST", "/api/v1/bulk-sends", body)
    accepted = stopwatch()
    while made["status"] != "completed":
        time.sleep(0.05)
        made = caller.ask("GET", f"/api/v1/bulk-sends/{made['id']}")
    if made["counts"]["sent"] != rows:
        raise SystemExit(f"not every row was sent: {made['counts']}")
    return Batch(accepted - begun, stopwatch() - accepted, cpu_seconds(pid) - spent)


class Memory:
    """The most that a process had of its own until the end of the block, and of the database's file, in MB.

    What is mapped of the file is counted to the process; the system takes it back when it needs it."""

    def __init__(self, pid: int) -> None:
        self._status = Path(f"/proc/{pid}/status")
        self.before = self._now()
        self.most = self.before
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> "Memory":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._done.wait(0.1):
            self.most = tuple(map(max, zip(self.most, self._now(), strict=True)))

    def _now(self) -> tuple[float, ...]:
        lines = dict(line.split(":", 1) for line in self._status.read_text().splitlines())
        return tuple(int(lines[name].split()[0]) / 1024 for name in ("RssAnon", "RssFile"))

    def told(self) -> str:
        (own, file), (most_own, most_file) = self.before, self.most
        return (
            f"memory: {own:.0f} MB of its own before, at most {most_own - own:+.0f} MB (aim < 100);"
            f" of files {file:.0f} MB, at most {most_file - file:+.0f} MB"
        )


@contextmanager
def counting() -> Iterator[Counter[str]]:
    """How often a transaction asks the database, while this lasts."""
    asked: Counter[str] = Counter()
    usual = [
        (kind, name, getattr(kind, name)) for kind in (SqliteTx, PostgresTx) for name in ("one", "all", "run", "many")
    ]

    def noting(method: Callable[..., Any]) -> Callable[..., Any]:
        def noted(self: Any, sql: str, /, *args: Any, **values: Any) -> Any:
            asked[" ".join(sql.split())[:60]] += 1
            return method(self, sql, *args, **values)

        return noted

    for kind, name, method in usual:
        setattr(kind, name, noting(method))
    try:
        yield asked
    finally:
        for kind, name, method in usual:
            setattr(kind, name, method)


async def count_statements(place: Place, template_id: str) -> float:
    """Statements a row, of rows that are sent in this process."""
    async with wiring.open_installation(_settings(place)) as deedbox:
        whose = "select workspace_id from templates where id = :id"
        [(workspace,)] = await deedbox.db.read(lambda tx: tx.all(whose, id=template_id))
        new = NewBulkSend(name="Counted", template_id=template_id)
        rows = [
            ReadRow(n, None, NewRow(key=str(n), roles={"Tenant": NewSigner("Ann", f"ann{n}@example.com")}))
            for n in range(COUNTED)
        ]
        begun = await deedbox.db.read(lambda tx: accept.start(tx, deedbox.services, workspace, new))
        report = await accept.check_rows(deedbox.services, deedbox.box, begun, iter(rows))

        def take(tx: Tx) -> None:
            with deedbox.services.action(tx, workspace) as desk:
                accept.accept(desk, begun, report)

        await deedbox.db.write(take)
        with counting() as asked:
            while await deedbox.jobs.run_due():
                pass
        return sum(asked.values()) / COUNTED


async def bare(place: Place, beside: Place) -> float:
    """Rows a second if the same rows of all tables are only inserted, in slices of the same size."""
    async with wiring.open_installation(_settings(place)) as deedbox:
        [(batch,)] = await deedbox.db.read(lambda tx: tx.all("select max(id) from bulk_sends"))
        tables = await deedbox.db.read(lambda tx: _written(tx, batch))
        workspace = await deedbox.db.read(lambda tx: _rows(tx, "select * from workspaces"))
        blobs = await deedbox.db.read(lambda tx: _rows(tx, "select * from blobs"))
    async with wiring.open_installation(_settings(beside)) as empty:
        await empty.db.write(lambda tx: _insert(tx, "workspaces", workspace))
        await empty.db.write(lambda tx: _insert(tx, "blobs", blobs))
        documents = len(tables["documents"])
        begun = stopwatch()
        together = signing_limits.BULK_SLICE_ROWS_POSTGRES if beside.url else signing_limits.BULK_SLICE_ROWS
        for first in range(0, documents, together):
            part = {table: _of(rows, documents, first, together) for table, rows in tables.items()}
            await empty.db.write(lambda tx, part=part: _insert_all(tx, part))  # type: ignore[misc]
        return documents / (stopwatch() - begun)


def _of(rows: Sequence[T], documents: int, first: int, together: int) -> Sequence[T]:
    """The rows of some documents."""
    each = len(rows) // documents
    return rows[first * each : (first + together) * each]


def _insert_all(tx: Tx, tables: Mapping[str, Sequence[Mapping[str, Value]]]) -> None:
    for table, rows in tables.items():
        _insert(tx, table, rows)


def _written(tx: Tx, batch: str) -> dict[str, list[Mapping[str, Value]]]:
    """What the bulk send has written, by table, in the order of its documents."""
    own = f"(select id, packet_id from documents where bulk_send_id = '{batch}') own"
    joins = {
        "packets": "x.id = own.packet_id",
        "documents": "x.id = own.id",
        "parties": "x.packet_id = own.packet_id",
        "signers": "x.packet_id = own.packet_id",
        "fields": "x.document_id = own.id",
        "signing_links": "x.signer_id in (select id from signers where signers.packet_id = own.packet_id)",
        "blob_refs": "x.owner = own.id",
        "audit": "x.document_id = own.id",
        "events": "x.subject_id = own.id",
        "mails": "x.about = own.id",
    }
    return {
        table: _rows(tx, f"select x.* from {own} join {table} x on {joins[table]} order by own.id") for table in TABLES
    }


def _rows(tx: Tx, sql: str) -> list[Mapping[str, Value]]:
    table = sql.partition(" from ")[2].split()[0] if "select *" in sql else sql.partition(" join ")[2].split()[0]
    if tx.dialect == "sqlite":
        names = [row[1] for row in tx.all(f"pragma table_info({table})")]
    else:
        names = [
            row[0]
            for row in tx.all(
                "select column_name from information_schema.columns where table_name = :name order by ordinal_position",
                name=table,
            )
        ]
    return [dict(zip(names, row, strict=True)) for row in tx.all(sql)]


def _insert(tx: Tx, table: str, rows: Sequence[Mapping[str, Value]]) -> None:
    if rows:
        names = list(rows[0])
        sql = f"insert into {table} ({', '.join(names)}) values ({', '.join(':' + name for name in names)})"
        tx.many(sql, list(rows))


def _settings(place: Place) -> Settings:
    return Settings(data_dir=place.data, database_url=Secret(place.url) if place.url else None)


def show(batches: Sequence[Batch], rows: int, kind: str) -> None:
    rates = [rows / batch.seconds for batch in batches]
    print(f"{len(batches)} × {rows:,} rows on {kind}: {median(rates):.0f} rows/s (aim {AIMS[kind]}),", end=" ")
    print(f"each request answered after {median([batch.accepted for batch in batches]):.1f} s;", end=" ")
    print(f"{median([batch.cpu for batch in batches]) / rows * 1000:.2f} ms of CPU a row, the other caller's included")
    if len(batches) > 1:
        print("rows/s of each batch: " + " ".join(f"{rate:.0f}" for rate in rates), end="")
        print(f"; the last beside the first × {rates[-1] / rates[0]:.2f}")


def measured(place: Place, key: str, wish: Any, kind: str) -> tuple[str, float]:
    """Prints what a running server does; its template, and its rows a second."""
    pdf = make_pdf()
    with serving(place, key, pdf) as server:
        port, pid = server.port, server.pid
        caller = Caller(port, key)
        template_id = make_template(caller, pdf)
        send(caller, template_id, -1, wish.first, pid)  # everything is loaded
        with Others(port, key, template_id) as idle:
            time.sleep(wish.idle)
        with Memory(pid) as memory, Others(port, key, template_id) as meanwhile:
            batches = [send(caller, template_id, number, wish.rows, pid) for number in range(wish.batches)]
    show(batches, wish.rows, kind)
    for name in idle.waited:
        times = ratio(meanwhile.p99(name), idle.p99(name))
        print(
            f"another caller's {name}: p50 {median(idle.waited[name]):.1f} → {median(meanwhile.waited[name]):.1f} ms,"
            f" p99 {idle.p99(name):.1f} → {meanwhile.p99(name):.1f} ms (× {times:.1f}, aim 2)"
        )
        tell(wish, **{name: f"{times:.1f} ×", f"{name}_p99": f"{meanwhile.p99(name):.0f} ms"})
    print(memory.told())
    tell(wish, memory=f"{memory.most[0] - memory.before[0]:.0f} MB")
    return template_id, median([wish.rows / batch.seconds for batch in batches])


def main() -> None:
    options = Options(__doc__)
    options.size("rows", limits.BULK_ROWS, small=20)
    options.size("batches", 1, small=1)
    options.size("first", 100, small=5, help="rows that are sent before, so that everything is loaded")
    options.size("idle", 10.0, small=0.2, help="seconds for which the other caller is alone")
    postgres.add_option(options)
    wish = options.wish()
    kind = "PostgreSQL" if wish.postgres else "SQLite"
    with (
        temporary_folder() as folder,
        postgres.found(wish.postgres) as url,
        places(folder, [1], url) as (place, rest),
    ):
        os.environ.update(place.environment)
        key = make_key(place.data, "*")
        template_id, rate = measured(place, key, wish, kind)
        os.environ.pop("DEEDBOX_DATABASE_URL", None)
        statements = asyncio.run(count_statements(place, template_id))
        beside = rest[1]
        if beside.url:
            administer(str(url), f"create database {database_of(beside.url)}")
        limit = asyncio.run(bare(place, beside))
    print(f"statements a row: {statements:.2f}")
    print(f"the same rows by bare executemany: {limit:.0f} rows/s, {limit / rate:.1f} times as fast")
    tell(wish, rate=f"{rate:.0f}", bare=f"{limit / rate:.1f} ×")


if __name__ == "__main__":
    main()

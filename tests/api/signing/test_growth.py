"""No act of a lifecycle costs the database more because there are more documents in it."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, cast

import pytest
from bench import filling

from deedbox.kernel import limits
from deedbox.kernel.db import Tx, Value
from deedbox.kernel.db.postgres import PostgresTx
from deedbox.kernel.db.sqlite import SqliteDatabase
from deedbox.signing.store.documents import list_without_archive
from tests.api.conftest import Api, opened
from tests.api.signing.conftest import Office, signer
from tests.api.signing.dashboard import signed_in
from tests.conftest import HandClock

pytestmark = [pytest.mark.anyio, pytest.mark.both_databases]

MANY = 300
A_FEW = 50
"""Steps by which an act may differ from the same act elsewhere; to look at each of many rows takes hundreds."""
TIMED: dict[str, Any] = {
    "reminders": {"first_after_hours": 1, "every_hours": 1, "max": 3},
    "expires_at": "2026-09-01T00:00:00Z",
}
GROWING = [*filling.PARTS, "idempotency", "signer_codes", "blob_trash"]
Note = Callable[[str], None]


@pytest.fixture
async def office(database_url: str, tmp_path: Any, clock: HandClock, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An application whose jobs run only when the test says so, and whose pages show and count one document."""
    monkeypatch.setattr(limits, "COUNTED_MOST", 1)
    monkeypatch.setattr(limits, "PAGE_DEFAULT", 1)
    async with opened(database_url, tmp_path, clock) as made:
        await made.settle()
        yield Office(made)


def with_text_field() -> dict[str, Any]:
    place = {"page": 1, "x": 0.1, "y": 0.1, "w": 0.2, "h": 0.05, "signer": "ann@example.com"}
    return {**TIMED, "fields": [{"type": "text", "label": "City", **place}], "signers": [signer("ann")]}


async def lifecycle(office: Office, note: Note) -> Any:
    """A document through its whole life, each act named before it is done."""
    api = office.api
    note("create")
    document = await office.create(**with_text_field())
    path = f"/api/v1/documents/{document['id']}"
    note("send")
    assert (await api.post(f"{path}/send")).status_code == 200
    note("link")
    link = await office.link(document, "ann")
    async with api.client() as browser:
        note("follow the link")
        own = (await browser.get(link)).headers["location"]
        note("look")
        [field] = [one for one in (await browser.get(f"{own}/session")).json()["fields"] if one["type"] == "text"]
        note("fill in")
        assert (await browser.put(f"{own}/fields", json={"values": {field["id"]: "Ghent"}})).status_code == 200
        note("sign")
        body = {"consent": True, "signature": {"kind": "typed", "text": "Ann"}}
        assert (await browser.post(f"{own}/complete", json=body)).status_code == 200
    note("finalize")
    await api.deedbox.jobs.run_due()
    note("show")
    assert (await office.document(document["id"]))["status"] == "completed"
    note("download")
    assert (await api.get(f"{path}/signed")).status_code == 200
    note("vouch")
    assert (await api.get(f"/api/v1/verify/{document['verification_code']}", key=None)).status_code == 200
    return document


async def the_other_acts(office: Office, note: Note) -> None:
    """What may happen to a document beside being signed."""
    api = office.api
    document = await office.create(send=True, **with_text_field())
    path, [party] = f"/api/v1/documents/{document['id']}", document["parties"]
    note("remind")
    assert (await api.post(f"{path}/remind")).status_code == 200
    note("correct an address")
    change = {"signers": [{"id": party["signers"][0]["id"], "email": "anna@example.com"}]}
    assert (await api.call("PATCH", path, json=change)).status_code == 200
    note("void")
    assert (await api.post(f"{path}/void")).status_code == 200
    draft = await office.create(**with_text_field())
    note("delete")
    assert (await api.call("DELETE", f"/api/v1/documents/{draft['id']}")).status_code in (200, 204)
    note("list")
    assert (await api.get("/api/v1/documents?limit=2")).status_code == 200
    note("list those of a signer")
    assert (await api.get("/api/v1/documents?signer_email=nobody@example.com")).status_code == 200
    # No owner: an owner would be told of what is completed, and the next life counted differ by a mail.
    async with signed_in(api, "sender", f"mara{document['id']}@example.com") as person:
        note("see the list, with its counts")
        assert (await person.get("/app/documents")).status_code == 200
        note("see what waits for me")
        assert (await person.get("/app/documents?view=mine")).status_code == 200
        note("see the document")
        assert (await person.get(f"/app/documents/{document['id']}")).status_code == 200
    note("look for what the archive was never told of")
    assert await api.deedbox.db.read(lambda tx: list_without_archive(tx, ("9999", ""), 10)) == []
    note("take what is completed into the library")
    await api.deedbox.jobs.run_due()
    note("look for jobs")
    assert await api.deedbox.jobs.run_due() == 0


async def filled(office: Office, completed: Any) -> None:
    """Many more documents like these: completed, waiting with their timers set, and drafts."""
    waiting = await office.create(send=True, **with_text_field())
    ids = [completed["id"], waiting["id"], (await office.create(**with_text_field()))["id"]]
    db = office.api.deedbox.db
    samples = await db.read(lambda tx: [filling.Sample(tx, one) for one in ids])
    await db.write(lambda tx: filling.fill(tx, samples, 0, MANY))


class Steps:
    """How many steps SQLite's machine has made for each act."""

    def __init__(self, api: Api) -> None:
        self._act = ""
        self._counts: Counter[str] = Counter()
        db = cast(SqliteDatabase, api.deedbox.db)
        for connection in (db._reader, db._writer):
            connection.set_progress_handler(self._count, 1)

    def note(self, act: str) -> None:
        self._act = act

    def taken(self) -> Mapping[str, int]:
        counts, self._counts = self._counts, Counter()
        return counts

    def _count(self) -> int:
        self._counts[self._act] += 1
        return 0


async def counted(office: Office, steps: Steps) -> Mapping[str, int]:
    steps.taken()
    await lifecycle(office, steps.note)
    await the_other_acts(office, steps.note)
    return steps.taken()


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_sqlite_takes_no_step_more_among_many_documents(office: Office) -> None:
    completed = await lifecycle(office, lambda _: None)
    steps = Steps(office.api)
    few = await counted(office, steps)
    await filled(office, completed)
    many = await counted(office, steps)
    assert few
    assert {act: (few[act], many[act]) for act in few if many[act] > few[act] + A_FEW} == {}


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
async def test_postgres_has_an_index_for_every_statement(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    statements: dict[str, Mapping[str, Value]] = {}
    execute = PostgresTx._execute

    def noted(self: PostgresTx, sql: str, values: Mapping[str, Value]) -> Any:
        statements[sql] = values
        return execute(self, sql, values)

    with monkeypatch.context() as patch:
        patch.setattr(PostgresTx, "_execute", noted)
        completed = await lifecycle(office, lambda _: None)
        await the_other_acts(office, lambda _: None)
    await filled(office, completed)

    def scanned(tx: Tx) -> list[str]:
        tx.run("set local enable_seqscan = off")  # whatever is read whole all the same has no index to be found by
        found = []
        for sql, values in statements.items():
            plan = "\n".join(row[0] for row in tx.all(f"explain {sql}", **values))
            found += [f"{table}: {sql}" for table in GROWING if f"Seq Scan on {table}" in plan]
        return found

    assert len(statements) > 50
    assert await office.api.deedbox.db.read(scanned) == []

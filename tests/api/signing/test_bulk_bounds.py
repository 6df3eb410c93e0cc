"""What bulk sends do with requests and rows at their limits: nobody else waits, and no row stops another."""

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from litestar import get

from deedbox.kernel import limits
from deedbox.signing import limits as signing_limits
from deedbox.signing.bulk import accept
from deedbox.signing.bulk.model import NewBulkSend, NewRow, ReadRow
from deedbox.signing.new_document import NewSigner
from deedbox.web.http.auth import requires
from tests.api.conftest import opened
from tests.api.signing.conftest import Office
from tests.api.signing.test_bulk import PATH, documents, row, rows_of, send, send_csv, settled, template
from tests.conftest import HandClock

pytestmark = pytest.mark.anyio


async def run_all(office: Office) -> None:
    while await office.api.deedbox.jobs.run_due():
        pass


async def test_a_long_step_of_checking_rows_stops_nobody(office: Office) -> None:
    deedbox, workspace, others_had_a_turn = office.api.deedbox, office.api.workspace, threading.Event()
    new = NewBulkSend(name="Slow", template_id=await template(office))

    def slowly() -> Iterator[ReadRow]:
        assert others_had_a_turn.wait(20), "the event loop stood still meanwhile"
        yield ReadRow(0, None, NewRow(roles={"Tenant": NewSigner("Ann", "ann@example.com")}))

    begun = await deedbox.db.read(lambda tx: accept.start(tx, deedbox.services, workspace, new))
    checking = asyncio.create_task(accept.check_rows(deedbox.services, deedbox.box, begun, slowly()))
    await asyncio.sleep(0)
    others_had_a_turn.set()
    assert (await checking).invalid == 0


@pytest.mark.parametrize("entry", [b"1", b"{}", b'{"a": "]}\\""}'])
async def test_millions_of_entries_cost_no_more_than_the_first_ten_thousand(office: Office, entry: bytes) -> None:
    told = json.dumps({"name": "Many", "template_id": await template(office), "dry_run": True}).encode()
    content = told[:-1] + b', "rows": [' + b",".join([entry] * (2 * limits.MB // len(entry))) + b"]}"
    answer = await office.api.call("POST", PATH, content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert answer.json()["error"] == "row 10000: a bulk send has at most 10,000 rows"


async def test_rows_must_be_a_list_and_none_too_large(office: Office) -> None:
    template_id = await template(office)
    for rows, told in (({}, "rows: must be a list"), ([{}, ["x" * limits.MB]], "rows[1]: larger than 1 MB")):
        answer = await send(office, template_id, rows)  # type: ignore[arg-type]
        assert (answer.status_code, answer.json()["error"]) == (400, told)


async def test_the_end_is_told_after_everything_else(office: Office) -> None:
    made = (await send(office, await template(office), [row(n) for n in range(3)])).json()
    await settled(office, made)
    kinds = [kind for (kind,) in await office.api.rows("select kind from events order by number")]
    assert kinds[-1] == "bulk_send.completed"
    assert kinds.count("document.sent") == 3


async def test_rows_that_cannot_be_opened_or_come_too_late_fail_alone(
    database_url: str, tmp_path: Path, clock: HandClock
) -> None:
    async with opened(database_url, tmp_path, clock) as api:
        await api.settle()
        is_sqlite = api.deedbox.db.dialect == "sqlite"
        together = signing_limits.BULK_SLICE_ROWS if is_sqlite else signing_limits.BULK_SLICE_ROWS_POSTGRES
        office, number = Office(api), 3 * together + 2
        made = (await send(office, await template(office), [row(n) for n in range(number)])).json()
        spoilt = "update bulk_rows set content = :nothing where number = 3"
        gone = "delete from template_versions; delete from templates;"
        await api.deedbox.db.write(lambda tx: tx.run(spoilt, nothing=b"\0"))
        when = f"after update on bulk_sends for each row when (new.sent >= {number - 3})"
        await api.plant_trigger(when, sqlite=gone, postgres=f"{gone} return null;")
        await run_all(office)
        found = (await api.get(f"{PATH}/{made['id']}")).json()
        assert (found["status"], found["counts"]["sent"], found["counts"]["failed"]) == ("completed", number - 3, 3)
        failed = {one["index"]: one["error"] for one in await rows_of(office, made, "&status=failed")}
        assert failed.keys() == {3, number - 2, number - 1}
        assert {failed[number - 2], failed[number - 1]} == {"Template does not exist"}
        assert await documents(office) == number - 3


async def test_attempts_are_forgiven_after_progress(database_url: str, tmp_path: Path, clock: HandClock) -> None:
    async with opened(database_url, tmp_path, clock) as api:
        await api.settle()
        office = Office(api)
        await send(office, await template(office), [row(1), row(2)], rows_per_minute=1)
        await api.deedbox.db.write(lambda tx: tx.run("update jobs set attempts = 7 where kind = 'bulk_send'"))
        await run_all(office)
        assert await documents(office) == 1
        assert await api.rows("select attempts, state from jobs where kind = 'bulk_send'") == [(0, "ready")]


async def test_a_repeated_request_is_answered_before_anything_is_checked(office: Office) -> None:
    template_id = await template(office)
    body = {"name": "Once", "template_id": template_id, "rows": [row(1)], "require_timestamp": False}
    keyed: dict[str, Any] = {"headers": {"Idempotency-Key": "a"}}
    first = await office.api.post(PATH, body, **keyed)
    await settled(office, first.json())
    assert (await office.api.call("DELETE", f"/api/v1/templates/{template_id}")).status_code == 204
    second = await office.api.post(PATH, body, **keyed)
    assert (second.status_code, second.content) == (201, first.content)
    assert second.headers["Idempotency-Replayed"] == "true"


async def test_known_rows_are_not_asked_whether_they_could_be_sent_now(office: Office) -> None:
    template_id, soon = await template(office), "2026-03-01T12:00:30Z"
    made = await settled(office, (await send(office, template_id, [row(1)], expires_at=soon)).json())
    office.api.clock.forward(60)
    again = await send(office, template_id, [row(1)], expires_at=soon)
    assert (again.status_code, again.json()["id"]) == (200, made["id"])
    more = await send(office, template_id, [row(1), row(2)], expires_at=soon)
    assert "1 of 2 rows cannot be sent, so none is: row 1: expires_at must lie ahead" in more.json()["error"]


async def test_a_dry_run_counts_the_rows_that_are_there(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    template_id = await template(office)
    assert (await send(office, template_id, [row(1), row(2)])).status_code == 201
    monkeypatch.setattr(limits, "BULK_ROWS", 3)
    refused = await send(office, template_id, [row(3), row(4)], dry_run=True)
    assert refused.status_code == 400
    assert "2 rows are new to the bulk send 'Renewal', which has 2 already" in refused.json()["error"]
    assert (await send(office, template_id, [row(2), row(3)], dry_run=True)).json()["valid"] == 2


async def test_a_dry_run_goes_on_behind_a_line_that_cannot_be_read(office: Office) -> None:
    text = 'Tenant.name,Tenant.email\n"A"x,a@b.de\nB,nowhere\nC,c@b.de\n"D,d@b.de\nE,e@b.de\n'
    report = (await send_csv(office, await template(office), text, dry_run=True)).json()
    assert (report["total"], report["valid"]) == (4, 1)
    assert [one["line"] for one in report["errors"]] == [2, 3, 5]
    assert report["errors"][2]["reason"].endswith("so the rest of the file was not read")


async def test_a_formula_is_no_name_in_json_either(office: Office) -> None:
    person = {"name": " =1+1", "email": "ann@example.com"}
    report = (await send(office, await template(office), [row(1, roles={"Tenant": person})], dry_run=True)).json()
    assert [one["column"] for one in report["errors"]] == ["roles.Tenant.name"]


async def test_the_record_says_whether_a_timestamp_is_needed(office: Office) -> None:
    made = (await send(office, await template(office), [row(1)])).json()
    assert made["require_timestamp"] is False


async def test_rows_wait_while_a_request_is_under_way(
    database_url: str, tmp_path: Path, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(database_url, tmp_path, clock) as api:
        await api.settle()
        office, under_way, sent = Office(api), api.deedbox.under_way, list[int]()
        tasks: list[asyncio.Task[int]] = []

        @get("/slow", opt=requires("keys:read"))
        async def slow() -> None:
            monkeypatch.setattr(limits, "LET_PASS_SECONDS", 60.0)
            tasks.append(asyncio.create_task(api.deedbox.jobs.run_due()))
            while not under_way._left._waiters:
                assert not tasks[0].done(), "the rows did not wait"
                await asyncio.sleep(0.001)
            sent.append(await documents(office))

        made = (await send(office, await template(office), [row(n) for n in range(6)])).json()
        api.plant(slow)
        assert (await api.get("/slow")).status_code == 200
        await tasks[0]
        assert (sent, (await settled(office, made))["counts"]["sent"]) == ([0], 6)

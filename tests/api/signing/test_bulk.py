"""Bulk sends through the API: every row checked before any is sent, each sent once, and all of it under control."""

import asyncio
import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from deedbox.kernel import jobs, limits
from deedbox.kernel.jobs import Work
from deedbox.signing import limits as signing_limits
from deedbox.signing.bulk.send_rows import SendRows
from tests.api.conftest import opened
from tests.api.signing.conftest import Mailing, Office
from tests.conftest import HandClock

pytestmark = pytest.mark.anyio
PATH = "/api/v1/bulk-sends"


def row(number: int, **more: Any) -> dict[str, Any]:
    person = {"name": f"Ann {number}", "email": f"ann{number}@example.com"}
    return {"key": f"k{number}", "roles": {"Tenant": person}, "values": {"Flat": str(number)}, **more}


async def template(office: Office) -> str:
    fields = [
        {"type": "signature", "party": "Tenant", "page": 1, "x": 0.1, "y": 0.8, "w": 0.3, "h": 0.05},
        {"type": "text", "party": "Tenant", "page": 1, "x": 0.1, "y": 0.6, "w": 0.3, "h": 0.03, "label": "Flat"},
    ]
    body = {"name": "Lease", "file": office.body()["file"], "roles": [{"name": "Tenant"}], "fields": fields}
    made = await office.api.post("/api/v1/templates", body)
    assert made.status_code == 201, made.text
    return str(made.json()["id"])


async def send(office: Office, template_id: str, rows: list[Any], **more: Any) -> Any:
    body = {"name": "Renewal", "template_id": template_id, "rows": rows, **more}
    return await office.api.post(PATH, body)


async def send_csv(office: Office, template_id: str, text: str | bytes, **more: Any) -> Any:
    told = json.dumps({"name": "Renewal", "template_id": template_id, **more})
    data = text.encode() if isinstance(text, str) else text
    files = {"bulk_send": (None, told), "file": ("people.csv", data, "text/csv")}
    return await office.api.call("POST", PATH, files=files)


async def settled(office: Office, made: Any, *statuses: str) -> Any:
    """The bulk send, once it is completed."""
    wanted = statuses or ("completed",)
    async with asyncio.timeout(60):
        while (found := (await office.api.get(f"{PATH}/{made['id']}")).json())["status"] not in wanted:
            await asyncio.sleep(0.02)
    return found


async def settled_later(office: Office, made: Any) -> Any:
    """The same, while the clock runs fast."""
    async with asyncio.timeout(60):
        while (found := (await office.api.get(f"{PATH}/{made['id']}")).json())["status"] != "completed":
            office.api.clock.forward(20)
            office.api.deedbox.jobs.wake()
            await asyncio.sleep(0.02)
    return found


async def move(office: Office, made: Any, name: str) -> Any:
    return await office.api.call("POST", f"{PATH}/{made['id']}/{name}")


async def rows_of(office: Office, made: Any, query: str = "") -> list[Any]:
    return list((await office.api.get(f"{PATH}/{made['id']}/rows?limit=100{query}")).json()["rows"])


async def bulk_events(office: Office) -> list[Any]:
    rows = await office.api.rows("select data from events where kind = 'bulk_send.completed' order by number")
    return [json.loads(row[0]) for row in rows]


async def documents(office: Office) -> int:
    return int((await office.api.rows("select count(*) from documents"))[0][0])


async def test_each_row_becomes_one_document_that_is_sent(office: Office) -> None:
    number = 2 * signing_limits.BULK_SLICE_ROWS_POSTGRES + 5
    answer = await send(office, await template(office), [row(n, external_id=f"x{n}") for n in range(number)])
    assert answer.status_code == 201, answer.text
    assert answer.json()["status"] == "queued"
    assert answer.json()["counts"] == {"total": number, "queued": number, "sent": 0, "failed": 0, "canceled": 0}
    made = await settled(office, answer.json())
    assert made["counts"] == {"total": number, "queued": 0, "sent": number, "failed": 0, "canceled": 0}
    found = await rows_of(office, made)
    assert [one["key"] for one in found] == [f"k{n}" for n in range(number)]
    assert len({one["document_id"] for one in found}) == number
    document = await office.document(found[7]["document_id"])
    assert (document["status"], document["source"], document["bulk_send_id"]) == ("sent", "bulk", made["id"])
    assert (document["template_id"], document["external_id"]) == (made["template_id"], "x7")
    [person] = document["parties"][0]["signers"]
    assert (person["name"], person["email"], person["status"]) == ("Ann 7", "ann7@example.com", "notified")
    assert [field["default"] for field in document["fields"] if field["label"] == "Flat"] == ["7"]
    assert await office.events(document) == ["document.sent"]
    acts = (await office.api.get(f"/api/v1/documents/{document['id']}/audit")).json()
    assert [one["act"] for one in acts["audit"]] == ["document.created", "document.sent", "signer.invited"]
    listed = (await office.api.get(f"/api/v1/documents?bulk_send_id={made['id']}&limit=100")).json()
    assert listed["count"] == number
    [event] = await bulk_events(office)
    assert (event["bulk_send_id"], event["status"], event["counts"]["sent"]) == (made["id"], "completed", number)
    assert (await office.sign(document, "ann7")).status_code == 200
    await office.completed(document)


async def test_a_csv_file_is_sent_and_what_became_of_it_comes_back_as_csv(office: Office) -> None:
    text = "key;Name;E-Mail;value:Flat\r\n=1+1;Jörg;jo@example.com;=2+2\r\nk2;Bo;bo@example.com;5\r\n"
    columns = {"Name": "Tenant.name", "E-Mail": "Tenant.email"}
    answer = await send_csv(office, await template(office), text.encode("cp1252"), columns=columns)
    assert answer.status_code == 201, answer.text
    made = await settled(office, answer.json())
    answer = await office.api.get(f"{PATH}/{made['id']}/rows", headers={"Accept": "text/csv"})
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    head, first, second = list(csv.reader(io.StringIO(answer.text)))
    assert head == ["index", "key", "status", "document_id", "error"]
    assert first[:3] == ["0", "'=1+1", "sent"]
    assert second[:3] == ["1", "k2", "sent"]
    document = await office.document(first[3])
    assert document["parties"][0]["signers"][0]["name"] == "Jörg"
    assert "=2+2" in [field["default"] for field in document["fields"]]


async def test_one_bad_row_and_nothing_is_sent(office: Office) -> None:
    template_id = await template(office)
    rows = [row(0), row(1, roles={}), row(2, values={"Floor": "2"}), {**row(3), "surname": "x"}, row(0)]
    rows.append({**row(5), "roles": {"Tenant": {"name": "Ann", "email": "nowhere"}}})
    refused = await send(office, template_id, rows)
    assert refused.status_code == 400
    told = refused.json()["error"]
    assert told.startswith("5 of 6 rows cannot be sent, so none is: row 1: roles: Tenant is missing")
    assert "row 4, key: 'k0' is the key of row 0 too" in told
    dry = await send(office, template_id, rows, dry_run=True)
    assert dry.status_code == 200
    assert (dry.json()["total"], dry.json()["valid"], dry.json()["invalid"]) == (6, 1, 5)
    errors = {one["index"]: (one["column"], one["reason"]) for one in dry.json()["errors"]}
    assert errors[3] == ("surname", "there is no such field")
    assert errors[5] == ("roles[].email", "not an e-mail address")
    assert "Floor" in errors[2][1]
    assert (await send(office, template_id, [row(1)], dry_run=True)).json()["errors"] == []
    assert (await office.api.get(PATH)).json()["bulk_sends"] == []
    assert await documents(office) == 0


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Tenant.name,Tenant.email\nAnn,nowhere\n", "1 of 1 rows cannot be sent, so none is: line 2, Tenant.email"),
        ("Tenant.name\nAnn\n", "line 1: columns are missing: Tenant.email"),
        ("key,Tenant.name,Tenant.email\n1,A,a@b.de\n1,B,b@b.de\n", "line 3, key: '1' is the key of line 2 too"),
        ("Tenant.name,Tenant.email\nA,a@b.de\nA,a@b.de\n", "line 3, key: it says the same as line 2; give both a key"),
        ("Tenant.name,Tenant.email\nA," + "a" * limits.MB + "@b.de\n", "line 2: it is longer than"),
        (b"Tenant.name,Tenant.email\nA\x81,a@b.de\n", "line 2: the file is text neither in UTF-8"),
        ('Tenant.name,Tenant.email\n"=HYPERLINK(1)",a@b.de\n', "line 2, Tenant.name: it begins like a formula"),
        ("Tenant.name,Tenant.email\n", "There are no rows"),
        ("", "The CSV file is empty"),
    ],
)
@pytest.mark.one_database
async def test_a_bad_csv_file_gets_a_clear_answer(office: Office, text: str | bytes, told: str) -> None:
    refused = await send_csv(office, await template(office), text)
    assert refused.status_code == 400
    assert told in refused.json()["error"]
    assert await office.api.rows("select 1 from bulk_sends") == []


@pytest.mark.one_database
async def test_ten_thousand_rows_are_too_many_by_one(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = await send(office, await template(office), [{}] * (limits.BULK_ROWS + 1), dry_run=True)
    assert refused.json()["error"] == "row 10000: a bulk send has at most 10,000 rows"
    monkeypatch.setattr(limits, "BULK_ROWS", 20)
    text = "Tenant.name,Tenant.email\n" + "".join(f"A,a{n}@b.de\n" for n in range(21))
    refused = await send_csv(office, await template(office), text, dry_run=True)
    assert refused.json()["error"] == "line 22: a bulk send has at most 20 rows"


async def test_the_same_file_again_sends_nothing_again(office: Office) -> None:
    template_id = await template(office)
    text = "Tenant.name,Tenant.email\nAnn,ann@example.com\nBo,bo@example.com\n"
    first = await send_csv(office, template_id, text)
    made = await settled(office, first.json())
    again = await send_csv(office, template_id, text)
    assert (again.status_code, again.json()["id"], again.json()["status"]) == (200, made["id"], "completed")
    more = await send_csv(office, template_id, text + "Cy,cy@example.com\n", dry_run=True)
    assert more.json()["invalid"] == 0
    more = await send_csv(office, template_id, text + "Cy,cy@example.com\n")
    assert (more.status_code, more.json()["counts"]["total"], more.json()["counts"]["queued"]) == (200, 3, 1)
    assert (await settled(office, made))["counts"]["sent"] == 3
    assert await documents(office) == 3
    assert [one["counts"]["sent"] for one in await bulk_events(office)] == [2, 3]
    other = await send_csv(office, template_id, text, name="Another year")
    assert other.status_code == 201
    await settled(office, other.json())
    assert await documents(office) == 5


async def test_a_known_key_with_other_content_is_refused(office: Office) -> None:
    template_id = await template(office)
    made = await settled(office, (await send(office, template_id, [row(1)])).json())
    refused = await send(office, template_id, [row(2), {**row(3), "key": "k1"}])
    assert refused.status_code == 400
    assert "row 1, key: 'k1' was sent before, as doc_" in refused.json()["error"]
    refused = await send(office, template_id, [row(2)], title="Another title")
    assert refused.status_code == 409
    assert await documents(office) == 1
    assert (await office.api.get(f"{PATH}/{made['id']}")).json()["counts"]["total"] == 1


async def test_an_idempotency_key_makes_one_bulk_send(office: Office) -> None:
    template_id = await template(office)
    body = {"name": "Once", "template_id": template_id, "rows": [row(1)]}
    keyed = {"headers": {"Idempotency-Key": "a"}}
    first = await office.api.post(PATH, body, **keyed)
    second = await office.api.post(PATH, body, **keyed)
    assert first.content == second.content
    assert second.headers["Idempotency-Replayed"] == "true"
    assert second.status_code == 201


async def test_pause_resume_and_cancel(office: Office) -> None:
    template_id = await template(office)
    made = (await send(office, template_id, [row(n) for n in range(6)], rows_per_minute=1)).json()
    async with asyncio.timeout(60):
        while not (await rows_of(office, made, "&status=sent")):
            await asyncio.sleep(0.02)
    paused = await move(office, made, "pause")
    assert (paused.status_code, paused.json()["status"]) == (200, "paused")
    assert (await move(office, made, "pause")).status_code == 409
    office.api.clock.forward(600)
    resumed = await move(office, made, "resume")
    assert resumed.json()["status"] == "queued"
    async with asyncio.timeout(60):
        while len(await rows_of(office, made, "&status=sent")) < 2:
            office.api.deedbox.jobs.wake()
            await asyncio.sleep(0.02)
    canceled = await move(office, made, "cancel")
    counts = canceled.json()["counts"]
    assert canceled.json()["status"] == "canceled"
    assert (counts["queued"], counts["sent"] + counts["canceled"]) == (0, 6)
    assert counts["sent"] == await documents(office)
    for name in ("resume", "pause", "cancel", "retry"):
        assert (await move(office, made, name)).status_code == 409
    [event] = await bulk_events(office)
    assert (event["status"], event["counts"]) == ("canceled", counts)
    again = await send(office, template_id, [row(n) for n in range(6)])
    assert (again.status_code, again.json()["counts"]["canceled"]) == (200, 0)
    assert (await settled(office, made))["counts"]["sent"] == 6
    assert await documents(office) == 6


async def test_the_pace_is_kept(office: Office) -> None:
    made = (await send(office, await template(office), [row(n) for n in range(5)], rows_per_minute=60)).json()
    begun = office.api.clock.now()

    async def sent(number: int) -> None:
        async with asyncio.timeout(60):
            while len(await rows_of(office, made, "&status=sent")) < number:
                office.api.deedbox.jobs.wake()
                await asyncio.sleep(0.02)

    await sent(2)
    for _ in range(20):
        office.api.deedbox.jobs.wake()
        await asyncio.sleep(0.01)
    assert len(await rows_of(office, made, "&status=sent")) == 2
    office.api.clock.forward(2)
    await sent(4)
    office.api.clock.forward(2)
    await settled(office, made)
    assert (office.api.clock.now() - begun).total_seconds() == 4


async def test_a_row_that_fails_only_when_sent_is_told_and_the_rest_can_be_tried_again(office: Office) -> None:
    template_id = await template(office)
    soon = "2026-03-01T12:00:30Z"
    rows = [row(n) for n in range(3)]
    made = (await send(office, template_id, rows, rows_per_minute=1, expires_at=soon)).json()
    async with asyncio.timeout(60):
        while not (await rows_of(office, made, "&status=sent")):
            await asyncio.sleep(0.02)
    found = await settled_later(office, made)
    assert found["counts"] == {"total": 3, "queued": 0, "sent": 1, "failed": 2, "canceled": 0}
    failed = await rows_of(office, made, "&status=failed")
    assert [one["error"] for one in failed] == ["expires_at must lie ahead"] * 2
    assert await documents(office) == 1
    retried = await move(office, made, "retry")
    assert retried.json()["counts"]["queued"] == 2
    assert (await settled_later(office, made))["counts"]["failed"] == 2
    assert len(await bulk_events(office)) == 2


async def test_rows_of_a_template_that_is_deleted_meanwhile_fail(office: Office) -> None:
    template_id = await template(office)
    made = (await send(office, template_id, [row(n) for n in range(3)], rows_per_minute=1)).json()
    async with asyncio.timeout(60):
        while not (await rows_of(office, made, "&status=sent")):
            await asyncio.sleep(0.02)
    assert (await office.api.call("DELETE", f"/api/v1/templates/{template_id}")).status_code == 204
    assert (await settled_later(office, made))["counts"]["failed"] == 2
    assert {one["error"] for one in await rows_of(office, made, "&status=failed")} == {"Template does not exist"}


async def test_a_row_that_the_database_refuses_does_not_hold_up_the_others(
    database_url: str, tmp_path: Path, clock: HandClock
) -> None:
    async with opened(database_url, tmp_path, clock) as api:
        await api.settle()
        office = Office(api)
        when = "before insert on documents for each row when (new.external_id = 'x7')"
        await api.plant_trigger(when, sqlite="select raise(abort, 'no');", postgres="raise exception 'no';")
        made = (await send(office, await template(office), [row(n, external_id=f"x{n}") for n in range(30)])).json()
        while await api.deedbox.jobs.run_due():
            pass
        found = (await api.get(f"{PATH}/{made['id']}")).json()
        assert (found["status"], found["counts"]["sent"], found["counts"]["failed"]) == ("completed", 29, 1)
        [failed] = await rows_of(office, made, "&status=failed")
        assert (failed["index"], failed["error"]) == (7, "The server could not make a document of it. See the log.")
        await api.drop_trigger("documents")
        assert (await move(office, made, "retry")).status_code == 200
        while await api.deedbox.jobs.run_due():
            pass
        assert len(await rows_of(office, made, "&status=sent")) == 30
        assert await documents(office) == 30


@pytest.mark.both_databases
async def test_two_workers_on_one_bulk_send_send_each_row_once(
    database_url: str, tmp_path: Path, clock: HandClock
) -> None:
    async with opened(database_url, tmp_path, clock) as api:
        await api.settle()
        office, deedbox = Office(api), api.deedbox
        made = (await send(office, await template(office), [row(n) for n in range(60)])).json()
        [(job_id,)] = await api.rows("select id from jobs where kind = 'bulk_send'")
        job = await deedbox.db.read(lambda tx: jobs.find(tx, job_id))
        assert job is not None
        handler = SendRows(deedbox.services, deedbox.box)
        both = [Work(job, deedbox.db, clock, name) for name in ("one", "another")]
        await asyncio.gather(*(handler.run(work) for work in both))
        found = (await api.get(f"{PATH}/{made['id']}")).json()
        assert (found["status"], found["counts"]["sent"]) == ("completed", 60)
        assert await documents(office) == 60
        assert len(await bulk_events(office)) == 1


async def test_invitations_leave_after_all_other_mail_and_access_codes_are_nowhere(mailing: Mailing) -> None:
    person = {"name": "Ann", "email": "ann@example.com", "auth": "access_code", "access_code": "tulip-77"}
    made = await send(mailing, await template(mailing), [{"roles": {"Tenant": person}}, row(2)])
    assert made.status_code == 201, made.text
    waiting = await mailing.api.rows("select content from bulk_rows where content is not null")
    assert all(b"tulip" not in bytes(content[0]) for content in waiting)
    await settled(mailing, made.json())
    await mailing.read(r"(/s/deed_sign_[\w-]+)", "ann2", "Lease")
    priorities = await mailing.api.rows("select distinct priority from jobs where kind = 'mail'")
    assert priorities == [(9,)]
    assert await mailing.api.rows("select 1 from bulk_rows where content is not null") == []
    [(hashed,)] = await mailing.api.rows("select access_code_hash from signers where access_code_hash is not null")
    assert hashed.startswith("$argon2")


async def test_another_workspace_sees_nothing(office: Office) -> None:
    made = (await send(office, await template(office), [row(1)])).json()
    stranger = await office.api.make_key(workspace=office.api.other_workspace)
    for path in (PATH + "/" + made["id"], f"{PATH}/{made['id']}/rows"):
        assert (await office.api.get(path, key=stranger)).status_code == 404
    assert (await office.api.call("POST", f"{PATH}/{made['id']}/cancel", key=stranger)).status_code == 404
    assert (await send(office, "tpl_none", [row(1)])).status_code == 404
    listed = (await office.api.get(PATH)).json()
    assert [one["id"] for one in listed["bulk_sends"]] == [made["id"]]

"""Bulk sends by the pages: a table chosen once, its columns guessed, every bad row named, then sent and followed."""

import asyncio
import csv
import io
import re
from typing import Any

import httpx
import pytest

from deedbox.kernel import limits
from deedbox.signing import limits as signing_limits
from deedbox.signing.bulk.columns import KnownColumns
from deedbox.signing.bulk.guess import find_missing_roles, guess
from tests.api.signing.conftest import Office
from tests.api.signing.pages import once, owner, shown, upload, went, words
from tests.api.signing.test_bulk import documents, settled, template

pytestmark = pytest.mark.anyio

TABLE = "Full name;E-Mail;Flat;Notes\nAnn;ann@example.com;1;x\nBen;ben@example.com;2;\nMara;mara@example.com;3;\n"


async def chosen(client: httpx.AsyncClient, template_id: str, text: str) -> str:
    """Where the file's columns are named."""
    return went(await upload(client, "/app/bulk/new", [("renewal.csv", text.encode())], template_id=template_id))


def named(page: httpx.Response) -> dict[str, str]:
    """The form as it is filled in: what every column means, and the name."""
    told = {"name": re.findall(r'name="name" type="text" value="([^"]*)"', page.text)[0]}
    for number, select in enumerate(re.findall(r"<select.*?</select>", page.text, re.DOTALL)):
        told[f"columns.{number}"] = "".join(re.findall(r'value="([^"]*)" selected', select))
    return told


async def checked(client: httpx.AsyncClient, template_id: str, text: str, **more: str) -> str:
    """Where the rows stand that cannot be sent, with the columns as they were guessed."""
    path = await chosen(client, template_id, text)
    form = named(await client.get(path)) | more
    return went(await client.post(path, data=form))


def stamp(page: httpx.Response) -> str:
    return re.findall(r'name="checked" value="([^"]+)"', page.text)[0]  # type: ignore[no-any-return]


async def sent(client: httpx.AsyncClient, check: str, rows: int) -> str:
    page = await client.get(check)
    press = {"once": once(page), "rows": str(rows), "checked": stamp(page)}
    return went(await client.post(check.replace("/check", "/send"), data=press)).partition("?")[0]


async def test_columns_are_guessed_and_shown_with_a_sample_and_every_row_is_sent(office: Office) -> None:
    template_id = await template(office)
    async with owner(office.api) as client:
        path = await chosen(client, template_id, TABLE)
        page = await client.get(path)
        assert named(page) == {
            "name": "renewal",
            "columns.0": "Tenant.name",
            "columns.1": "Tenant.email",
            "columns.2": "value:Flat",
            "columns.3": "",
        }
        assert "Full name Ann" in shown(page)
        check = went(await client.post(path, data=named(page)))
        assert "All 3 rows can be sent. " in shown(await client.get(check))
        press = {"once": "another", "rows": "2", "checked": stamp(await client.get(check))}
        assert went(await client.post(check.replace("/check", "/send"), data=press)) == f"{check}?done=checked_again"
        assert await documents(office) == 0
        bar = await sent(client, check, 3)
        made = await settled(office, {"id": bar.rpartition("/")[2]})
        assert made["counts"]["sent"] == 3
        page = await client.get(bar)
        assert "3 of 3 sent" in shown(page)
        rows = (await office.api.get(f"/api/v1/bulk-sends/{made['id']}/rows")).json()["rows"]
        assert [f"/app/documents/{row['document_id']}" in page.text for row in rows] == [True] * 3
        assert "renewal 3 of 3 sent" in shown(await client.get("/app/bulk"))
        assert (await client.get(check)).status_code == 404, "the file is not kept once it is sent"
        results = list(csv.reader(io.StringIO((await client.get(f"{bar}/rows.csv")).text)))
        assert [row[2] for row in results] == ["status", "sent", "sent", "sent"]


async def test_every_bad_row_is_named_with_its_line_and_reason_and_the_rest_is_sent(office: Office) -> None:
    bad = TABLE + "\nEve;not an address;5;+41 79 555\n=SUM(A1);x@example.com;6;\nKim;;7;\nAnn;ann@example.com;1;\n"
    template_id = await template(office)
    async with owner(office.api) as client:
        check = await checked(client, template_id, bad)
        page = await client.get(check)
        told = shown(page)
        assert "4 of 7 rows cannot be sent." in told
        assert "6 E-Mail not an e-mail address" in told
        assert "7 Full name it begins like a formula" in told
        assert "8 E-Mail missing" in told
        assert "9 key it says the same as line 2" in told
        answer = await client.get(check.replace("/check", "/bad-rows.csv"))
        rows = list(csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"))))
        assert [row["line"] for row in rows] == ["6", "7", "8", "9"]
        assert rows[0]["problem"] == "E-Mail: not an e-mail address"
        assert [rows[0]["Notes"], rows[1]["Full name"]] == ["+41 79 555", "'=SUM(A1)"]
        assert await documents(office) == 0
        made = await settled(office, {"id": (await sent(client, check, 3)).rpartition("/")[2]})
        assert made["counts"]["total"] == 3
        # Corrected, and uploaded under the same name: the three are not sent again.
        again = answer.content.decode("utf-8-sig").replace("not an address", "eve@example.com")
        kept = "".join(line for line in again.splitlines(keepends=True) if line.startswith(("line", "6,")))
        bar = await sent(client, await checked(client, template_id, kept, name="renewal"), 1)
        assert bar.endswith(made["id"])
        assert (await settled(office, made))["counts"]["sent"] == 4
    assert await documents(office) == 4


@pytest.mark.one_database
async def test_what_is_wrong_with_the_file_or_its_columns_is_said_in_its_place(office: Office) -> None:
    template_id = await template(office)
    async with owner(office.api) as client:
        none = await upload(client, "/app/bulk/new", [], template_id=template_id)
        assert (none.status_code, "Choose a file." in words(none)) == (400, True)
        sheet = await upload(client, "/app/bulk/new", [("a.xlsx", b"PK\x03\x04")], template_id=template_id)
        assert "save it as CSV" in words(sheet)
        other = await upload(client, "/app/bulk/new", [("a.csv", b"a\n")], template_id="tpl_other")
        assert "Template does not exist" in words(other)
        path = await chosen(client, template_id, TABLE)
        form = named(await client.get(path))
        lost = await client.post(path, data={**form, "columns.1": "", "rows_per_minute": "0"})
        assert lost.status_code == 400
        assert "at least 1" in words(lost).lower()
        lost = await client.post(path, data={**form, "columns.1": "", "title": "For you"})
        assert "Choose the columns with the name and the email address of each Tenant." in words(lost)
        assert 'value="For you"' in lost.text, "what was typed is kept"
        twice = await client.post(path, data={**form, "columns.3": "Tenant.email"})
        assert "two columns mean the same" in words(twice)
        assert went(await client.get(f"{path}/check")) == path
        missing_file = await client.get("/app/bulk/uploads/upl_01JD0000000000000000000000")
        assert missing_file.status_code == 404
    script = await upload_as_script(office, template_id)
    assert script.json() == {"error": "Choose a file.", "wrong": {"file": "Choose a file."}}


async def upload_as_script(office: Office, template_id: str) -> httpx.Response:
    async with owner(office.api) as client:
        client.headers["Accept"] = "application/json"
        return await upload(client, "/app/bulk/new", [], template_id=template_id)


@pytest.mark.one_database
async def test_a_bulk_send_is_paused_resumed_canceled_and_tried_again_and_keeps_its_bar(office: Office) -> None:
    template_id = await template(office)
    await office.api.deedbox.jobs.stop()  # so that each step can be seen
    rows = "".join(f"Ann {number};a{number}@example.com;{number};\n" for number in range(40))
    async with owner(office.api) as client:
        bar = await sent(client, await checked(client, template_id, TABLE.splitlines(True)[0] + rows), 40)
        assert went(await client.post(f"{bar}/pause")) == f"{bar}?done=paused"
        first = shown(await client.get(bar))
        assert "0 of 40 sent Paused" in first
    async with owner(office.api) as client:
        assert shown(await client.get(bar)) == first, "closed and opened again, it shows the same"
        page = await client.get(f"{bar}?status=queued&cursor=24")
        assert ["Row 26" in words(page), "Row 25 " in words(page)] == [True, False]
        refused = await client.post(f"{bar}/pause")
        assert (refused.status_code, "The bulk send is paused" in words(refused)) == (409, True)
        assert went(await client.post(f"{bar}/resume")) == f"{bar}?done=resumed"
        assert "data-live-busy" in (await client.get(bar)).text
        for spoilt in (
            "update bulk_rows set status = 'failed', error = 'No' where number < 4",
            "update bulk_sends set failed = 4, queued = 36",
        ):
            await office.api.deedbox.db.write(lambda tx, sql=spoilt: tx.run(sql))  # type: ignore[misc]
        page = await client.get(f"{bar}?status=failed")
        assert ["Retry 4" in words(page), words(page).count("No ")] == [True, 4]
        assert went(await client.post(f"{bar}/retry")) == f"{bar}?done=retried"
        assert "failed" not in (await counts(office, bar))
        assert went(await client.post(f"{bar}/cancel")) == f"{bar}?done=canceled"
        assert "Canceled 40" in shown(await client.get(bar))


@pytest.mark.one_database
async def test_a_meaning_that_no_column_can_have_is_shown_as_none(office: Office) -> None:
    template_id = await template(office)
    async with owner(office.api) as client:
        path = await chosen(client, template_id, TABLE)
        form = named(await client.get(path))
        for number in ("99999", "9" * 5000, "0"):
            page = await client.post(path, data={**form, "columns.0": f"Tenant[{number}].name"})
            assert (page.status_code, named(page)["columns.0"]) == (400, "")
        page = await client.post(path, data={**form, "columns.0": "Tenant[99].name"})
        assert named(page)["columns.0"] == "Tenant[99].name"
        assert "Tenant[98].name" not in page.text


@pytest.mark.one_database
async def test_what_was_chosen_in_another_tab_is_shown_before_it_is_sent(office: Office) -> None:
    template_id = await template(office)
    async with owner(office.api) as client:
        path = await chosen(client, template_id, TABLE)
        form = named(await client.get(path))
        check = went(await client.post(path, data=form))

        async def pressed(page: httpx.Response) -> str:
            press = {"once": once(page), "rows": "3", "checked": stamp(page)}
            return went(await client.post(check.replace("/check", "/send"), data=press))

        seen = await client.get(check)
        went(await client.post(path, data={**form, "columns.2": "", "columns.3": "value:Flat"}))
        assert await pressed(seen) == f"{check}?done=checked_again"
        seen = await client.get(check)
        changed = await office.api.call("PATCH", f"/api/v1/templates/{template_id}", json={"name": "Other"})
        assert changed.status_code == 200, changed.text
        assert await pressed(seen) == f"{check}?done=checked_again"
        assert await documents(office) == 0
        assert "?done=begun" in await pressed(await client.get(check))


async def counts(office: Office, bar: str) -> dict[str, int]:
    found = (await office.api.get(f"/api/v1/bulk-sends/{bar.rpartition('/')[2]}")).json()["counts"]
    return {name: number for name, number in found.items() if number}


@pytest.mark.one_database
async def test_ten_thousand_rows_are_checked_and_none_of_them_stands_in_the_page(office: Office) -> None:
    head = "Name,E-mail,Flat\n"
    rows = "".join(f"Ann,a{number}@example.com,{number}\n" for number in range(limits.BULK_ROWS - 60))
    rows += "".join(f"Ben,nowhere {number},1\n" for number in range(60))
    template_id = await template(office)
    async with owner(office.api) as client:
        async with asyncio.timeout(60):
            check = await checked(client, template_id, head + rows)
        page = await client.get(check)
        assert "60 of 10,000 rows cannot be sent." in shown(page)
        assert "Page 1 of 3" in words(page)
        assert page.text.count("not an e-mail address") == limits.PAGE_DEFAULT
        assert f"{limits.BULK_ROWS + 1} E-mail" in words(await client.get(f"{check}?page=3"))
        assert len(page.content) < 50_000
        bad = (await client.get(check.replace("/check", "/bad-rows.csv"))).text
        assert bad.count("nowhere") == 60


async def test_of_files_that_wait_only_the_newest_are_kept_and_for_a_day(office: Office) -> None:
    template_id = await template(office)
    async with owner(office.api) as client:
        paths = [await chosen(client, template_id, TABLE) for _ in range(signing_limits.BULK_UPLOADS + 1)]
        assert (await client.get(sorted(paths)[0])).status_code == 404
        assert (await client.get(sorted(paths)[-1])).status_code == 200
    stored = await office.api.rows("select content from bulk_uploads")
    assert len(stored) == signing_limits.BULK_UPLOADS
    assert not any(b"ann@example.com" in bytes(row[0]) for row in stored)
    office.api.clock.forward(signing_limits.BULK_UPLOAD_HOURS * 3600 + 60)
    await office.api.deedbox._keep_house(None)  # type: ignore[arg-type]
    assert await office.api.rows("select id from bulk_uploads") == []


KNOWN = KnownColumns(["Tenant", "Landlord"], ["Rent", "Move-in date"])
GUESSES: list[tuple[str, Any]] = [
    ("Tenant.email", "Tenant.email"),
    ("tenant e-mail", "Tenant.email"),
    ("E-Mail Tenant", "Tenant.email"),
    ("Tenant", "Tenant.name"),
    ("Tenant's name", "Tenant.name"),
    ("Tenant 2 email", "Tenant[2].email"),
    ("Landlord_Full_Name", "Landlord.name"),
    ("MOVE IN DATE", "value:Move-in date"),
    ("value:Rent", "value:Rent"),
    ("metadata:unit", "metadata:unit"),
    ("Reference", "external_id"),
    ("Sprache", "language"),
    ("Email", None),
    ("line", None),
    ("problem", None),
    ("", None),
]


@pytest.mark.one_database
@pytest.mark.parametrize(("heading", "meaning"), GUESSES)
def test_what_a_heading_means_is_guessed(heading: str, meaning: str | None) -> None:
    assert guess([heading], KNOWN) == [meaning]


@pytest.mark.one_database
def test_two_columns_are_never_guessed_to_mean_the_same() -> None:
    assert guess(["Name", "Full name", "Email"], KnownColumns(["Tenant"], [])) == ["Tenant.name", None, "Tenant.email"]
    assert find_missing_roles(["Tenant.name", None], KnownColumns(["Tenant"], [])) == ["Tenant"]

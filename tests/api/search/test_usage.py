"""What a workspace sends, signs, asks and stores: the figures are those of the database."""

import re
from datetime import timedelta
from html import unescape
from statistics import median
from typing import Any

import pytest

from deedbox.i18n.measures import size, span
from deedbox.kernel.clock import instant, moment
from deedbox.kernel.db import Tx
from deedbox.search.query.query_times import BOUNDS_MS
from deedbox.usage import limits, measure
from tests.api.conftest import Api
from tests.api.search.conftest import Search
from tests.api.signing.conftest import Office
from tests.api.test_mail_page import owner, strict

pytestmark = pytest.mark.anyio

PATH = "/api/v1/usage"
LENGTH = {"day": 10, "month": 7}
SENT = [(0, None), (0, 600), (0, 90_000), (1, 60), (29, 5), (29, None), (30, 7), (200, 1200), (400, 10)]
"""How many days ago each document was sent, and after how many seconds it was completed."""


async def figures(api: Api, by: str) -> Any:
    answer = await api.get(f"{PATH}?by={by}")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def spread(api: Api) -> None:
    """Documents that were sent on the days that SENT tells, and one of another workspace."""
    office, now = Office(api), api.clock.now()
    for days, seconds in SENT:
        document, sent = await office.create(), now - timedelta(days=days)
        done = instant(min(sent + timedelta(seconds=seconds), now)) if seconds else None
        await _date(api, document["id"], instant(sent), done)
    theirs = await api.make_key(workspace=api.other_workspace)
    made = await api.post("/api/v1/documents", office.body(), key=theirs)
    await _date(api, made.json()["id"], instant(now), instant(now))


async def _date(api: Api, document_id: str, sent: str, done: str | None) -> None:
    """As if it had happened then: days that were kept meanwhile are counted again."""

    def put(tx: Tx) -> None:
        sql = "update documents set sent_at = :sent, completed_at = :done where id = :id"
        tx.run(sql, sent=sent, done=done, id=document_id)
        tx.run("delete from document_days")

    await api.deedbox.db.write(put)


async def documents(api: Api) -> list[tuple[str, str | None]]:
    rows = await api.rows(f"select sent_at, completed_at from documents where workspace_id = '{api.workspace}'")
    return [(row[0], row[1]) for row in rows]


@pytest.mark.parametrize("by", ["day", "month"])
async def test_the_figures_of_documents_equal_the_database(search: Search, by: str) -> None:
    api, length = search.api, LENGTH[by]
    await spread(api)
    found, rows = await figures(api, by), await documents(api)
    slots = [one["slot"] for one in found["slots"]]
    assert slots == sorted(slots)
    assert (len(slots), slots[-1]) == ({"day": 30, "month": 12}[by], instant(api.clock.now())[:length])
    times = []
    for one in found["slots"]:
        here = [
            (moment(end) - moment(sent)).total_seconds() for sent, end in rows if end and end[:length] == one["slot"]
        ]
        times += here
        assert one["sent"] == sum(sent[:length] == one["slot"] for sent, _ in rows), one
        assert one["completed"] == len(here), one
        assert one["sign_seconds"] == (round(median(here)) if here else None), one
    assert found["sent"] == sum(one["sent"] for one in found["slots"])
    assert found["sent"] == {"day": 6, "month": 8}[by]
    assert (found["completed"], found["sign_seconds"]) == (len(times), round(median(times)))


async def test_a_document_sent_and_signed_on_a_day_that_was_kept_counts_on_it(search: Search) -> None:
    api, office = search.api, Office(search.api)
    await office.create(send=True)
    for clock_is_wrong_by in (3, -3):
        api.clock.forward(clock_is_wrong_by * 86400)
        await measure.measure(api.deedbox.db, api.clock.now())
    assert await api.rows("select sent from document_days order by day") == [(1,), (0,), (0,)]
    document = await office.create(send=True)
    assert await api.rows("select sent from document_days") == [], "all of it is counted anew"
    api.clock.forward(3 * 86400)
    await measure.measure(api.deedbox.db, api.clock.now())
    api.clock.forward(-2 * 86400)
    assert (await office.sign(document, "ann")).status_code == 200
    await office.completed(document)
    assert await api.rows("select sent from document_days order by day") == [(2,)], "and from there on"
    last = (await figures(api, "day"))["slots"][-2:]
    assert [(one["sent"], one["completed"], one["sign_seconds"]) for one in last] == [(2, 0, None), (0, 1, 86400)]


async def test_queries_are_counted_with_the_time_they_took(search: Search) -> None:
    api = search.api
    await search.indexed("The tenant pays the rent.")
    for _ in range(3):
        await search.ask("rent")
    await api.post("/query", {"query": "rent"}, headers={"Idempotency-Key": "once"})
    await api.deedbox.search.times.flush()
    found = await figures(api, "day")
    [(counted,)] = await api.rows(f"select queries from query_counts where workspace_id = '{api.workspace}'")
    assert found["queries"] == found["slots"][-1]["queries"] == counted == 4
    assert found["query_ms"] in BOUNDS_MS
    assert (await api.get(PATH, key=await api.make_key(workspace=api.other_workspace))).json()["queries"] == 0


async def test_95_of_100_queries_took_no_longer_than_is_told(search: Search) -> None:
    api, times = search.api, search.api.deedbox.search.times
    for ms in [*[4] * 19, 900]:
        times.add(api.workspace, ms / 1000)
    await times.flush()
    assert (await figures(api, "month"))["query_ms"] == 5, "one of twenty took longer"
    for seconds in (0.9, 0.9, 100):  # a time that no bucket reaches is in the last
        times.add(api.workspace, seconds)
    await times.flush()
    found = await figures(api, "day")
    assert (found["queries"], found["query_ms"]) == (23, 1000)
    [(rows,)] = await api.rows("select count(*) from query_days")
    assert rows == 3, "a day has a row for each bucket, however many queries there are"


async def test_the_storage_is_that_of_the_files_each_once(search: Search) -> None:
    api, office = search.api, Office(search.api)
    await search.indexed("The tenant pays the rent.")
    await search.indexed("The tenant pays the rent.", "twin.txt")
    await office.create(send=True)
    await office.create(title="Twin")
    await measure.measure(api.deedbox.db, api.clock.now())
    found = await figures(api, "day")
    ours = await api.rows(
        "select distinct sha256, size_bytes from blobs join blob_refs using (sha256) where owner in"
        f" (select id from documents where workspace_id = '{api.workspace}' union select id from packets"
        f" where workspace_id = '{api.workspace}')"
    )
    library = await api.rows(
        "select distinct sha256, size_bytes from blobs where sha256 in (select sha256 from uploads)"
        " or sha256 in (select text_sha256 from extractions)"
    )
    last = found["slots"][-1]
    assert last["document_bytes"] == sum(number for _, number in ours) > 0
    assert last["library_bytes"] == sum(number for _, number in library) > 0
    assert found["storage_bytes"] == last["document_bytes"] + last["library_bytes"]
    assert found["measured_at"] == instant(api.clock.now())
    assert [one["document_bytes"] for one in found["slots"][:-1]] == [None] * 29
    api.clock.forward((limits.USAGE_DAYS + 1) * 86400)
    await measure.measure(api.deedbox.db, api.clock.now())
    days = await api.rows(f"select day from storage_days where workspace_id = '{api.workspace}'")
    assert days == [(instant(api.clock.now())[:10],)], "what no page shows any more is forgotten"


@pytest.mark.one_database
async def test_the_page_tells_the_same_figures_with_a_table_behind_each_chart(search: Search) -> None:
    api = search.api
    await spread(api)
    api.deedbox.search.times.add(api.workspace, 0.06)
    await api.deedbox.search.times.flush()
    await measure.measure(api.deedbox.db, api.clock.now())
    async with owner(api) as client:
        pages = {by: await client.get(f"/app/usage?by={by}") for by in LENGTH}
        usual, odd = await client.get("/app/usage"), await client.get("/app/usage?by=hour")
        await api.deedbox.db.write(lambda tx: tx.run("update memberships set role = 'viewer'"))
        assert (await client.get("/app/usage")).status_code == 200
    assert 'href="/app/usage?by=day" aria-current="true"' in usual.text
    assert odd.status_code == 400
    for by, page in pages.items():
        assert strict(page)
        found = await figures(api, by)
        numbers = re.findall(r'<div class="card"><dt>[^<]*</dt><dd>([^<]*)</dd>', page.text)
        assert [unescape(one) for one in numbers] == [
            str(found["sent"]),
            span(found["sign_seconds"]),
            str(found["queries"]),
            size(found["storage_bytes"]),
        ]
        tables = re.findall(r"<tbody>(.*?)</tbody>", page.text, re.DOTALL)
        rows = [[re.findall(r"<td>([^<]*)</td>", row) for row in table.strip().splitlines()] for table in tables]
        assert len(rows) == 4
        assert rows[0] == [[str(one["sent"]), str(one["completed"])] for one in found["slots"]]
        assert rows[1] == [
            ["–" if one["sign_seconds"] is None else span(one["sign_seconds"])] for one in found["slots"]
        ]
        assert rows[2][-1] == ["1", "70 ms"]
        assert rows[3][-1] == [size(found["slots"][-1][name]) for name in ("document_bytes", "library_bytes")]
        assert page.text.count('<svg class="shapes"') == 5
        bars = re.findall(r'<rect class="amount s0" x="([\d.]+)"', page.text)
        assert all(0 <= float(x) < len(found["slots"]) * 10 for x in bars)

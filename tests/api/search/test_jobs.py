"""Index runs: shown, followed and ended by those whose workspace they are of."""

import asyncio
import json
from typing import Any

import pytest

from deedbox.kernel import jobs
from tests.api.answers import faults
from tests.api.search.conftest import Search
from tests.api.search.test_indexing import TEXT, Gate

pytestmark = pytest.mark.anyio


async def begun(search: Search) -> str:
    answer = await search.api.call("POST", "/documents/index", headers={"Prefer": "respond-async"})
    return str(answer.json()["id"])


async def ended(search: Search, job_id: str) -> Any:
    while (run := (await search.api.get(f"/jobs/{job_id}")).json())["finished_at"] is None:
        await asyncio.sleep(0.01)
    return run


async def test_a_run_tells_how_far_it_is(search: Search) -> None:
    gate = Gate(search)
    doc_id = await search.upload(TEXT)
    job_id = await begun(search)
    await gate.reached.wait()
    run = (await search.api.get(f"/jobs/{job_id}")).json()
    assert (run["status"], run["result"], run["finished_at"]) == ("running", None, None)
    assert (run["progress"]["done"], run["progress"]["total"]) == (0, 1)
    assert run["progress"]["document"] in (None, doc_id)
    gate.opened.set()
    run = await ended(search, job_id)
    assert (run["status"], run["error"]) == ("done", None)
    assert (run["progress"]["done"], run["progress"]["total"]) == (1, 1)
    assert run["result"] == {"documents_processed": 1, "documents_skipped": 0, "total_chunks": 2, "failed": []}


async def test_events_follow_a_run_to_its_end(search: Search) -> None:
    gate = Gate(search)
    await search.upload(TEXT)
    job_id = await begun(search)
    await gate.reached.wait()
    following = asyncio.create_task(search.api.get(f"/jobs/{job_id}/events"))
    await asyncio.sleep(0.05)
    gate.opened.set()
    answer = await following
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = [
        dict(line.split(": ", 1) for line in block.splitlines()) for block in answer.text.split("\r\n\r\n") if block
    ]
    assert {event["event"] for event in events[:-1]} == {"progress"}
    assert events[-1]["event"] == "end"
    assert json.loads(events[-1]["data"]) == (await search.api.get(f"/jobs/{job_id}")).json()


async def test_the_events_of_a_run_that_has_ended_are_one(search: Search) -> None:
    await search.upload(TEXT)
    job_id = await begun(search)
    await ended(search, job_id)
    answer = await search.api.get(f"/jobs/{job_id}/events")
    assert answer.text.count("event: ") == 1
    assert "event: end" in answer.text


async def test_a_cancelled_run_ends_and_leaves_no_document_stuck(search: Search) -> None:
    gate = Gate(search)
    doc_ids = [await search.upload(f"{TEXT} {number}") for number in range(8)]
    job_id = await begun(search)
    await gate.reached.wait()
    waiting = asyncio.create_task(search.api.post("/documents/index", {}))
    while not search.api.deedbox.ingest.runs.waiting:
        await asyncio.sleep(0.01)  # until it waits for that very run
    answer = await search.api.call("DELETE", f"/jobs/{job_id}")
    assert (answer.status_code, answer.json()["status"]) == (200, "canceled")
    assert answer.json()["finished_at"]
    gate.opened.set()
    assert faults("/documents/index", await waiting, 409) == []
    while any([(await search.record(doc_id))["status"] == "indexing" for doc_id in doc_ids]):
        await asyncio.sleep(0.01)
    assert (await search.api.get(f"/jobs/{job_id}")).json()["status"] == "canceled"
    assert (await search.index())["documents_processed"] == 8
    assert (await search.api.get("/stats")).json()["index_size"] == 16


async def test_a_run_that_has_ended_stays_as_it_is(search: Search) -> None:
    await search.upload(TEXT)
    job_id = await begun(search)
    before = await ended(search, job_id)
    assert (await search.api.call("DELETE", f"/jobs/{job_id}")).json() == before


async def test_only_index_runs_of_the_own_workspace_are_there(search: Search) -> None:
    api = search.api
    await search.upload(TEXT)
    job_id = await begun(search)
    await ended(search, job_id)
    now = api.clock.now()
    other = await api.deedbox.db.write(
        lambda tx: jobs.enqueue(
            tx, jobs.NewJob("unknown", run_at=now.replace(year=2100), workspace_id=api.workspace), now=now
        )
    )
    theirs = await api.make_key(workspace=api.other_workspace)
    for path, key in ((job_id, theirs), (other, api.key), ("job_01JD0000000000000000000000", api.key), ("x", api.key)):
        for method, suffix in (("GET", ""), ("GET", "/events"), ("DELETE", "")):
            answer = await api.call(method, f"/jobs/{path}{suffix}", key=key)
            assert faults(f"/jobs/{path}{suffix}", answer, 404) == []
    assert (await api.deedbox.db.read(lambda tx: jobs.find(tx, other))).state == "ready"  # type: ignore[union-attr]

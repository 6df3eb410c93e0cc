"""A bulk send beside those who send single documents, on PostgreSQL, where both are under way at once."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from deedbox.kernel.db import Tx
from deedbox.signing.actions import create_from_template
from deedbox.signing.bulk import store
from deedbox.signing.new_document import NewSigner
from deedbox.signing.template import FromTemplate
from tests.api.conftest import opened
from tests.api.signing.conftest import Office
from tests.api.signing.test_bulk import bulk_events, documents, move, row, send, template
from tests.conftest import HandClock

pytestmark = pytest.mark.anyio
PATIENCE = 60


async def test_rows_that_are_sent_while_another_sends_make_neither_begin_again(
    postgres_url: str, tmp_path: Path, clock: HandClock
) -> None:
    async with opened(postgres_url, tmp_path, clock) as api:
        await api.settle()
        office, deedbox, workspace = Office(api), api.deedbox, api.workspace
        template_id = await template(office)
        wanted = FromTemplate(template_id=template_id, roles={"Tenant": NewSigner("Bo", "bo@example.com")}, send=True)
        half, rest = threading.Event(), threading.Event()
        runs = list[int]()

        def two(tx: Tx) -> None:
            """One document before the rows are sent, and one after."""
            runs.append(1)
            ready = create_from_template.ready(tx, workspace, template_id)
            for _ in range(2):
                with deedbox.services.action(tx, workspace) as desk:
                    create_from_template.create(desk, ready, wanted)
                half.set()
                assert rest.wait(PATIENCE)

        made = (await send(office, template_id, [row(n) for n in range(40)])).json()
        single = asyncio.create_task(deedbox.db.write(two))
        assert await asyncio.to_thread(half.wait, PATIENCE)
        while await deedbox.jobs.run_due():
            pass
        rest.set()
        await single
        found = (await api.get(f"/api/v1/bulk-sends/{made['id']}")).json()
        assert (found["counts"]["sent"], await documents(office)) == (40, 42)
        assert len(runs) == 1, "it lost a race against rows that it has nothing to do with"


async def test_rows_that_are_canceled_while_they_are_being_sent_are_not_sent(
    postgres_url: str, tmp_path: Path, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(postgres_url, tmp_path, clock) as api:
        await api.settle()
        office, settle = Office(api), store.settle
        under_way, canceled = threading.Event(), threading.Event()

        def late(*given: Any) -> None:
            under_way.set()
            assert canceled.wait(PATIENCE)
            settle(*given)

        monkeypatch.setattr(store, "settle", late)
        made = (await send(office, await template(office), [row(n) for n in range(3)])).json()
        sending = asyncio.create_task(api.deedbox.jobs.run_due())
        assert await asyncio.to_thread(under_way.wait, PATIENCE)
        assert (await move(office, made, "cancel")).status_code == 200
        canceled.set()
        await sending
        found = (await api.get(f"/api/v1/bulk-sends/{made['id']}")).json()
        assert (found["status"], found["counts"]["sent"], found["counts"]["canceled"]) == ("canceled", 0, 3)
        assert await documents(office) == 0
        assert len(await bulk_events(office)) == 1

"""A file that is asked for while it is being sealed: the answer waits for it, for a moment and not for everyone."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from deedbox.signing import limits
from deedbox.web import limits as web_limits
from tests.api.signing.conftest import Office

pytestmark = pytest.mark.anyio


async def being_sealed(office: Office, monkeypatch: pytest.MonkeyPatch) -> tuple[str, asyncio.Event]:
    """A document that everyone has signed, and what lets its sealing go on."""
    document = await office.create(send=True)
    mark: Callable[..., Awaitable[int]] = office.api.deedbox.workshop.mark
    go_on = asyncio.Event()

    async def held_up(*given: Any) -> int:
        await go_on.wait()
        return await mark(*given)

    monkeypatch.setattr(office.api.deedbox.workshop, "mark", held_up)
    assert (await office.sign(document, "ann")).json()["document_status"] == "finalizing"
    return str(document["id"]), go_on


@pytest.mark.parametrize("what", ["signed", "certificate", "evidence"])
async def test_the_answer_comes_with_the_seal(office: Office, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    monkeypatch.setattr(web_limits, "SEAL_WAIT_SECONDS", 60)
    document_id, go_on = await being_sealed(office, monkeypatch)
    asked = asyncio.create_task(office.api.get(f"/api/v1/documents/{document_id}/{what}"))
    while not office.api.deedbox.awaited.waiting:
        await asyncio.sleep(0.01)
    go_on.set()
    assert (await asked).status_code == 200
    assert office.api.deedbox.awaited.waiting == 0


async def test_a_seal_that_does_not_come_is_not_waited_for_long(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web_limits, "SEAL_WAIT_SECONDS", 0.01)
    document_id, go_on = await being_sealed(office, monkeypatch)
    answer = await office.api.get(f"/api/v1/documents/{document_id}/signed")
    assert (answer.status_code, answer.json()["error"]) == (409, "The document is not completed: it is finalizing")
    go_on.set()


async def test_so_many_wait_and_the_next_is_refused_at_once(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_limits, "SEAL_WAIT_SECONDS", 60)
    monkeypatch.setattr(limits, "SEAL_WAITERS", 1)
    document_id, go_on = await being_sealed(office, monkeypatch)
    first = asyncio.create_task(office.api.get(f"/api/v1/documents/{document_id}/signed"))
    while not office.api.deedbox.awaited.waiting:
        await asyncio.sleep(0.01)
    assert (await office.api.get(f"/api/v1/documents/{document_id}/signed")).status_code == 409
    go_on.set()
    assert (await first).status_code == 200


async def test_nobody_waits_for_what_is_not_being_sealed(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_limits, "SEAL_WAIT_SECONDS", 60)
    document = await office.create(send=True)
    asked = asyncio.create_task(office.api.get(f"/api/v1/documents/{document['id']}/signed"))
    while not asked.done():
        assert office.api.deedbox.awaited.waiting == 0
        await asyncio.sleep(0)
    assert (await asked).status_code == 409

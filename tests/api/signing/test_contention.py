"""Acts on one packet follow each other; acts on the documents of strangers never make each other void."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx
import pytest

from tests.api.signing.conftest import Office, signer

pytestmark = [pytest.mark.anyio, pytest.mark.both_databases]
SIGNATURE = {"consent": True, "signature": {"kind": "typed", "text": "Name"}}


@asynccontextmanager
async def at_work(office: Office, documents: Sequence[Any], *names: str) -> AsyncIterator[list[httpx.AsyncClient]]:
    """The browsers of these signers of each document, who have looked at it."""
    async with AsyncExitStack() as stack:
        found = []
        for document in documents:
            for name in names:
                found.append(await stack.enter_async_context(office.session(document, name)))
                assert (await found[-1].get("/session")).status_code == 200
        yield found


async def all_sign(browsers: Sequence[httpx.AsyncClient]) -> None:
    answers = await asyncio.gather(*(browser.post("/complete", json=SIGNATURE) for browser in browsers))
    assert [answer.status_code for answer in answers] == [200] * len(browsers)


async def test_signers_of_different_documents_never_retry(office: Office) -> None:
    documents = [await office.create(send=True) for _ in range(8)]
    async with at_work(office, documents, "ann") as browsers:
        before = office.api.deedbox.retries
        await all_sign(browsers)
        assert office.api.deedbox.retries == before
    for document in documents:
        await office.completed(document)


@pytest.mark.parametrize("rule", [{"rule": "all"}, {"rule": "quorum", "quorum": 2}])
async def test_two_signers_at_once_complete_their_document(office: Office, rule: Any) -> None:
    party = {"name": "Board", "signers": [signer("ann"), signer("bob")], **rule}
    documents = [await office.create(send=True, signers=[], parties=[party]) for _ in range(6)]
    async with at_work(office, documents, "ann", "bob") as browsers:
        await all_sign(browsers)
    for document in documents:
        await office.completed(document)
    assert {kind for document in documents for kind in await office.events(document)} >= {"document.completed"}

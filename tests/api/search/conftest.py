"""What the tests of the search routes share: an application with a model and its jobs at work."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from deedbox.search.indexing.embedders import Embedders
from tests.api.conftest import Api, opened
from tests.conftest import HandClock
from tests.search.hashing import HashingEmbedder


class Search:
    """An application with a model and its jobs at work."""

    def __init__(self, api: Api, embedder: HashingEmbedder) -> None:
        self.api = api
        self.embedder = embedder

    async def upload(self, text: str, name: str = "a.txt", **request: Any) -> str:
        """The id of a new document with this text."""
        answer = await self.api.call("POST", "/documents/upload", files={"file": (name, text.encode())}, **request)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["doc_id"])

    async def index(self, *doc_ids: str, **request: Any) -> Any:
        answer = await self.api.post("/documents/index", {"doc_ids": list(doc_ids)} if doc_ids else {}, **request)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def indexed(self, text: str, name: str = "a.txt", **request: Any) -> str:
        """The id of a new document that is indexed."""
        doc_id = await self.upload(text, name, **request)
        assert (await self.index(doc_id, **request))["status"] == "success"
        return doc_id

    async def ask(self, query: str, **body: Any) -> list[Any]:
        """The results for a question."""
        answer = await self.api.post("/query", {"query": query, **body})
        assert answer.status_code == 200, answer.text
        results: list[Any] = answer.json()["results"]
        return results

    async def record(self, doc_id: str) -> Any:
        return (await self.api.get(f"/documents/{doc_id}")).json()


@asynccontextmanager
async def searching(database_url: str, tmp_path: Path, clock: HandClock, **settings: Any) -> AsyncIterator[Search]:
    async with opened(database_url, tmp_path, clock, **settings) as made:
        await made.settle()
        embedder = HashingEmbedder()
        made.deedbox.search.embedders = Embedders(lambda: embedder, lambda _: None)
        await made.deedbox.start()
        try:
            yield Search(made, embedder)
        finally:
            await made.deedbox.stop()


@pytest.fixture
async def search(database_url: str, tmp_path: Path, clock: HandClock) -> AsyncIterator[Search]:
    async with searching(database_url, tmp_path, clock) as made:
        yield made

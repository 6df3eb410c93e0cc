"""What the service says of itself, and what it counts."""

from typing import Any

import pytest

from deedbox import VERSION
from deedbox.search.indexing.embedders import Embedders
from deedbox.search.library import store
from tests.api.conftest import Api
from tests.api.search.files import TEXT, doc_id, index_as

pytestmark = pytest.mark.anyio

INFO = ["name", "version", "embedding_model", "embedding_dimensions", "model", "chunk_size", "chunk_overlap"]
STATS = ["documents", "chunks", "queries", "storage_bytes", "index_size"]


async def stats(api: Api, **request: Any) -> list[int]:
    body = (await api.get("/stats", **request)).json()
    assert list(body) == STATS
    assert all(type(value) is int for value in body.values())
    return list(body.values())


async def test_info_has_exactly_the_seed_s_fields(api: Api) -> None:
    body = (await api.get("/info")).json()
    assert list(body) == INFO
    assert (body["name"], body["version"], body["model"]) == ("deedbox", VERSION, "hybrid-bm25-dense-v1")
    assert (body["chunk_size"], body["chunk_overlap"]) == (200, 40)


async def test_without_a_model_info_says_so(api: Api) -> None:
    api.deedbox.search.embedders = Embedders(lambda: None, lambda _: None)
    body = (await api.get("/info")).json()
    assert (body["embedding_model"], body["embedding_dimensions"]) == ("none", 0)


async def test_stats_count_what_the_workspace_holds(api: Api) -> None:
    assert await stats(api) == [0, 0, 0, 0, 0]
    found = await doc_id(api)
    assert await stats(api) == [1, 0, 0, len(TEXT), 0]
    await doc_id(api, name="twin.txt")
    assert await stats(api) == [2, 0, 0, len(TEXT), 0], "the same bytes are stored once"
    await index_as(api, found, "The tenant", " pays")
    await api.deedbox.db.write(lambda tx: store.count_query(tx, api.workspace, 3))
    assert await stats(api) == [2, 2, 3, len(TEXT), 2]
    await api.call("DELETE", f"/documents/{found}")
    assert await stats(api) == [1, 0, 3, len(TEXT), 0]


async def test_stats_of_one_workspace_tell_nothing_of_another(api: Api) -> None:
    theirs = await api.make_key(workspace=api.other_workspace)
    found = await doc_id(api, key=theirs)
    await index_as(api, found, "The tenant", workspace=api.other_workspace)
    await api.deedbox.db.write(lambda tx: store.count_query(tx, api.other_workspace, 5))
    assert await stats(api) == [0, 0, 0, 0, 0]
    assert await stats(api, key=theirs) == [1, 1, 5, len(TEXT), 1]


async def test_the_bytes_of_the_index_count_as_storage(api: Api) -> None:
    folder = api.deedbox.settings.data_dir / "index" / api.workspace
    folder.mkdir(parents=True)
    (folder / "segment").write_bytes(b"x" * 1000)
    assert await stats(api) == [0, 0, 0, 1000, 0]

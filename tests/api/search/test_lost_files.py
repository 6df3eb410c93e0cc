"""A file that an upload names and the storage has lost: an error of the server with its own code, never 404."""

from collections.abc import AsyncIterator

import pytest

from tests.api.lost import LOST, lose_all, told
from tests.api.search.conftest import Search
from tests.api.search.files import pdf

pytestmark = pytest.mark.anyio


async def test_a_lost_upload_is_an_error_of_the_server(search: Search) -> None:
    files = {"file": ("lease.pdf", pdf("The tenant pays the rent."))}
    doc_id = (await search.api.call("POST", "/documents/upload", files=files)).json()["doc_id"]
    assert lose_all(search.api) == 2
    for part in ("content", "text", "pages/1.webp"):
        answer = await search.api.get(f"/documents/{doc_id}/{part}")
        assert told(answer) == LOST, (part, answer.text)
        assert set(answer.json()) == {"error"}
    run = (await search.api.post("/documents/index", {})).json()
    assert (run["status"], "lost" in run["failed"][0]["error"]) == ("partial", True)


async def test_what_was_deleted_meanwhile_is_not_found(search: Search, monkeypatch: pytest.MonkeyPatch) -> None:
    doc_id = await search.upload("The tenant pays the rent.")
    deedbox, open_range = search.api.deedbox, search.api.deedbox.blobs.open_range

    async def opened_too_late(location: str, start: int = 0, length: int | None = None) -> AsyncIterator[bytes]:
        assert (await search.api.call("DELETE", f"/documents/{doc_id}")).status_code == 204
        await deedbox.blobs.sweep(deedbox.db, deedbox.clock.now())
        async for piece in open_range(location, start, length):
            yield piece

    monkeypatch.setattr(deedbox.blobs, "open_range", opened_too_late)
    assert told(await search.api.get(f"/documents/{doc_id}/content")) == (404, "not_found")

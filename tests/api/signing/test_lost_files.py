"""A file that a document names and the storage has lost: an error of the server with its own code, never 404."""

import pytest

from tests.api.lost import LOST, lose_all, told
from tests.api.signing.conftest import Office, signer

pytestmark = pytest.mark.anyio


async def test_every_file_of_a_document_that_is_lost_is_an_error_of_the_server(
    office: Office, caplog: pytest.LogCaptureFixture
) -> None:
    sent, draft = await office.create(send=True), await office.create(signers=[signer("bob")])
    done = await office.sealed()
    assert lose_all(office.api) > 4
    assert len(await office.api.deedbox.blobs.lost(office.api.deedbox.db)) > 4
    path = f"/api/v1/documents/{done['id']}"
    for part in ("file", "signed", "certificate", "evidence", "pages/1.webp"):
        answer = await office.api.get(f"{path}/{part}")
        assert told(answer) == LOST, (part, answer.text)
        assert set(answer.json()) == {"error", "status"}
        locations = [one for (one,) in await office.api.rows("select location from blobs")]
        assert any(f"lost: {one}" in caplog.text for one in locations), "the log names it"
        caplog.clear()
    changed = await office.api.call("PATCH", f"/api/v1/documents/{draft['id']}", json={"fields": []})
    assert told(changed) == LOST, changed.text
    async with office.session(sent, "ann") as browser:
        file_id = (await browser.get("/session")).json()["files"][0]["id"]
        assert told(await browser.get(f"/files/{file_id}/pages/1.webp")) == LOST

"""Read as text: for whom it is, what the trail and the certificate say of it, and what they do not."""

import pytest

from tests.api.signing.conftest import Office, signer
from tests.pdf.papers import text_of

pytestmark = pytest.mark.anyio
PATH = "/api/v1/documents"


async def test_the_text_is_for_the_signer_alone_after_the_code_and_until_the_end(office: Office) -> None:
    document = await office.create(signers=[signer("ann", auth="access_code", access_code="open sesame")], send=True)
    [ann] = [one["id"] for party in document["parties"] for one in party["signers"]]
    async with office.api.client() as stranger:
        assert (await stranger.get(f"/sign/{ann}/text")).status_code == 401
    async with office.session(document, "ann") as browser:
        early = await browser.get("/text")
        assert (early.status_code, early.headers["location"], b"rent" in early.content) == (303, f"/sign/{ann}", False)
        await browser.post("/code", json={"code": "open sesame"})
        shown = await browser.get("/text")
        assert (shown.status_code, "The tenant pays the rent." in shown.text) == (200, True)
        assert (await office.api.call("POST", f"{PATH}/{document['id']}/void")).status_code == 200
        late = await browser.get("/text")
        assert (late.status_code, b"rent" in late.content) == (303, False)


async def test_the_evidence_says_that_the_text_was_shown_and_claims_no_page(office: Office) -> None:
    document = await office.create(send=True)
    async with office.session(document, "ann") as browser:
        for _ in range(3):
            assert (await browser.get("/text")).status_code == 200
        body = {"consent": True, "signature": {"kind": "typed", "text": "Ann"}}
        assert (await browser.post("/complete", json=body)).status_code == 200
    await office.completed(document)
    evidence = (await office.api.get(f"{PATH}/{document['id']}/evidence")).json()
    [row] = [entry for entry in evidence["audit"] if entry["act"] == "signer.text_viewed"]
    assert row["detail"]["prepared"] == evidence["document"]["prepared"]["sha256"]
    [ann] = evidence["signers"]
    assert (ann["seen_sha256"], ann["seen_pages"]) == (None, [])
    told = text_of((await office.api.get(f"{PATH}/{document['id']}/certificate")).content)
    assert "Read as text" in told
    assert "0 / 2" in told

"""Read as text: for whom it is, what the trail and the certificate say of it, and what they do not."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.api.signing.conftest import Office, signer
from tests.api.signing.packets import RULES, file
from tests.api.signing.test_entry import trail
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


def a_field(kind: str, y: float, name: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "page": 1, "x": 0.1, "y": y, "w": 0.3, "h": 0.04, "signer": f"{name}@example.com", **more}


async def test_what_others_and_the_sender_have_filled_in_is_part_of_the_text_and_leads_nowhere(office: Office) -> None:
    fields = [
        a_field("text", 0.3, "ben", label="City"),
        a_field("checkbox", 0.4, "ben", label="Rules"),
        a_field("signature", 0.5, "ben"),
        a_field("text", 0.6, "ann", label="Street", read_only=True, default="Mill Lane"),
        a_field("text", 0.7, "ann", label="Floor"),
        a_field("signature", 0.8, "ann"),
    ]
    people = [signer("ben"), signer("ann")]
    document = await office.create(signers=people, fields=fields, send=True)
    ids = [one["id"] for one in document["fields"]]
    given = {ids[0]: "Ghent", ids[1]: "true"}
    signed = await office.sign(document, "ben", values=given)
    assert signed.status_code == 200, signed.text
    async with office.session(document, "ann") as browser:
        text = (await browser.get("/text")).text
    given_as_text = [" ".join(re.sub(r"<[^>]+>", "", one).split()) for one in re.findall(r"<b .*?</b>", text)]
    assert given_as_text == ["Ghent", "✓ Rules", "Ben", "Mill Lane"]
    assert re.findall(r'class="to-fill" href="/sign/[^#]+#([^"]+)"', text) == ids[4:]


@pytest.mark.files_in_folder("a file is removed from it")
async def test_the_trail_says_nothing_of_a_text_that_could_not_be_shown(office: Office, tmp_path: Path) -> None:
    documents = [
        {"title": "Lease", "file": file(), "fields": [a_field("signature", 0.8, "ann")]},
        {"title": "Rules", "file": file("rules.pdf", RULES), "fields": []},
    ]
    body = {"title": "Flat 7", "documents": documents, "signers": [signer("ann")], "send": True}
    packet = (await office.api.post("/api/v1/packets", body)).json()
    first, second = packet["documents"]
    async with office.session(first, "ann") as browser:
        assert (await browser.get("/session")).status_code == 200
        [row] = await office.api.rows(f"select paper_sha256 from documents where id = '{second['id']}'")
        for kept in tmp_path.rglob(f"*{row[0]}*"):
            if kept.is_file():  # a folder of that name may hold the picture of its first page
                kept.unlink()
        assert (await browser.get("/text")).status_code >= 400
    assert await trail(office, first, "signer.text_viewed") == []
    assert len(await trail(office, first, "signer.viewed")) == 1

"""The signer's session: a link that works once, a code where one is wanted, and a signature that counts."""

import base64
import io

import pytest
from PIL import Image, ImageDraw

from tests.api.answers import faults
from tests.api.signing.conftest import CODE, LINK, Mailing, Office, signer

pytestmark = pytest.mark.anyio


def drawn() -> str:
    """A line drawn by hand, as a browser sends it."""
    image = Image.new("RGBA", (300, 100), (0, 0, 0, 0))
    ImageDraw.Draw(image).line([(10, 80), (150, 20), (290, 70)], fill=(10, 10, 120, 255), width=5)
    made = io.BytesIO()
    image.save(made, "PNG")
    return "data:image/png;base64," + base64.b64encode(made.getvalue()).decode()


async def test_a_link_works_once_and_its_token_is_stored_nowhere(office: Office) -> None:
    document = await office.create(send=True)
    path = await office.link(document, "ann")
    async with office.api.client() as browser:
        assert (await browser.get(path)).status_code == 303
        again = await browser.get(path)
        assert faults(path, again, 409) == []
        assert "has already been used" in again.json()["error"]
    assert (await office.api.get("/s/deed_sign_unknown", key=None)).status_code == 404
    token = path.removeprefix("/s/")
    rows = await office.api.rows("select token_hash from signing_links")
    assert rows
    assert all(token.encode() not in bytes(row[0]) for row in rows)


async def test_the_session_shows_the_document_and_the_signer_s_own_fields(office: Office) -> None:
    field = {"type": "text", "page": 1, "x": 0.1, "y": 0.2, "w": 0.3, "h": 0.05, "signer": "bob@example.com"}
    document = await office.create(signers=[signer("ann"), signer("bob")], fields=[field], send=True)
    async with office.session(document, "ann") as browser:
        shown = (await browser.get("/session")).json()
        assert (shown["document"]["title"], shown["signer"]["status"], shown["needs"]) == ("Lease", "viewed", None)
        assert [each["type"] for each in shown["fields"]] == ["signature"]
        file_id = shown["files"][0]["id"]
        page = await browser.get(f"/files/{file_id}/pages/2.webp", params={"width": 300})
        assert Image.open(io.BytesIO(page.content)).width == 480, "the next of the widths that are kept"
        for missing in ("pages/3.webp", "pages/0.webp", "pages/x.webp", "pages/1.png"):
            assert (await browser.get(f"/files/{file_id}/{missing}")).status_code == 404
        assert (await browser.get("/files/fil_other/pages/1.webp")).status_code == 404


async def test_without_a_session_nothing_is_shown(office: Office) -> None:
    for method, path in (("GET", "/sign/sgn_x/session"), ("GET", "/sign/sgn_x/download")):
        assert faults(path, await office.api.call(method, path, key=None), 401) == []
    body = {"consent": True, "signature": {"kind": "typed", "text": "Ann"}}
    assert (await office.api.call("POST", "/sign/sgn_x/complete", key=None, json=body)).status_code == 401


async def test_signing_needs_consent_and_counts_once(office: Office) -> None:
    document = await office.create(signers=[signer("ann"), signer("bob")], send=True)
    async with office.session(document, "ann") as browser:
        body = {"consent": False, "signature": {"kind": "typed", "text": "Ann"}}
        assert "agree" in (await browser.post("/complete", json=body)).json()["error"]
        unseen = await browser.post("/complete", json={**body, "consent": True})
        assert faults("/sign/x/complete", unseen, 409) == []
        assert "have not viewed" in unseen.json()["error"]
        await browser.get("/session")
        done = await browser.post("/complete", json={**body, "consent": True})
        assert done.json() == {"status": "signed", "document_status": "sent"}
        again = await browser.post("/complete", json={**body, "consent": True})
        assert faults("/sign/complete", again, 409) == []
        assert "already signed" in again.json()["error"]


async def test_a_drawn_signature_is_kept_as_a_clean_image(office: Office) -> None:
    document = await office.create(send=True)
    async with office.session(document, "ann") as browser:
        await browser.get("/session")
        body = {"consent": True, "signature": {"kind": "drawn", "image": drawn()}}
        assert (await browser.post("/complete", json=body)).status_code == 200
    await office.completed(document)
    trail = (await office.api.get(f"/api/v1/documents/{document['id']}/audit")).json()["audit"]
    [signed] = [entry["detail"] for entry in trail if entry["act"] == "signer.signed"]
    assert signed["signature"]["kind"] == "drawn"
    assert len(signed["signature"]["image_sha256"]) == 64


@pytest.mark.parametrize(
    "image", ["data:image/png;base64,AAAA", "data:image/gif;base64,AAAA", "x", "data:image/png;base64,%"]
)
@pytest.mark.one_database
async def test_what_is_no_signature_image_is_refused_and_nothing_is_signed(office: Office, image: str) -> None:
    document = await office.create(send=True, signers=[signer("ann", language="de")])
    async with office.session(document, "ann") as browser:
        body = {"consent": True, "signature": {"kind": "uploaded", "image": image}}
        refused = await browser.post("/complete", json=body)
        assert faults("/sign/complete", refused, 400) == []
        assert "höchstens 2 MB und 4 Megapixeln" in refused.json()["error"]
    assert (await office.document(document["id"]))["status"] == "sent"


async def test_an_access_code_opens_the_document_and_five_guesses_close_it(office: Office) -> None:
    document = await office.create(signers=[signer("ann", auth="access_code", access_code="open sesame")], send=True)
    async with office.session(document, "ann") as browser:
        shown = (await browser.get("/session")).json()
        assert (shown["needs"], shown["files"], shown["fields"]) == ("code", [], [])
        body = {"consent": True, "signature": {"kind": "typed", "text": "Ann"}}
        assert (await browser.post("/complete", json=body)).status_code == 403
        assert (await browser.post("/code", json={"code": "wrong"})).status_code == 403
        assert (await browser.post("/code", json={"code": "open sesame"})).status_code == 200
        assert (await browser.get("/session")).json()["needs"] is None
        assert (await browser.post("/complete", json=body)).status_code == 200
    other = await office.create(signers=[signer("bob", auth="access_code", access_code="open sesame")], send=True)
    async with office.session(other, "bob") as browser:
        tries = [(await browser.post("/code", json={"code": "guess"})).status_code for _ in range(6)]
        assert tries == [403] * 5 + [429]
        assert (await browser.post("/code", json={"code": "open sesame"})).status_code == 429
        office.api.clock.forward(901)
        assert (await browser.post("/code", json={"code": "open sesame"})).status_code == 200


async def test_an_e_mail_code_comes_by_mail_and_one_for_two_presses(mailing: Mailing) -> None:
    document = await mailing.create(signers=[signer("ann", auth="email_code")], send=True)
    path = await mailing.read(LINK, "ann", "Lease")
    async with mailing.session(document, "ann") as browser, mailing.api.client() as other:
        assert (await other.get(path)).status_code == 303
        code = await mailing.read(CODE, "ann", "Lease")
        wrong = f"{(int(code) + 1) % 10**6:06}"
        assert (await browser.post("/code", json={"code": wrong})).status_code == 403
        assert (await browser.post("/code", json={"code": code})).status_code == 200
        assert (await browser.get("/session")).json()["needs"] is None
    assert await mailing.api.rows("select count(*) from mails where kind = 'code'") == [(1,)]
    trail = (await mailing.api.get(f"/api/v1/documents/{document['id']}/audit")).json()["audit"]
    told = [
        (row["act"], row["detail"].get("code_mailed"))
        for row in trail
        if row["act"].startswith(("signer.link_o", "signer.code"))
    ]
    assert told == [
        ("signer.link_opened", True),
        ("signer.link_opened", False),
        ("signer.code_wrong", None),
        ("signer.code_right", None),
    ]


async def test_a_decline_ends_the_document_for_everyone(office: Office) -> None:
    document = await office.create(signers=[signer("ann"), signer("bob")], send=True)
    async with office.session(document, "bob") as browser:
        answer = await browser.post("/decline", json={"reason": "the price"})
        assert answer.json() == {"status": "declined", "document_status": "declined"}
    found = await office.document(document["id"])
    assert found["decline"]["reason"] == "the price"
    assert (await office.events(document))[-1] == "document.declined"


async def test_a_form_of_another_site_cannot_sign(office: Office) -> None:
    document = await office.create(send=True)
    async with office.session(document, "ann") as browser:
        body = {"consent": True, "signature": {"kind": "typed", "text": "Ann"}}
        for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}):
            assert (await browser.post("/complete", json=body, headers=headers)).status_code == 403
    assert (await office.document(document["id"]))["status"] == "sent"


async def test_what_was_filled_in_is_there_when_the_signer_comes_back(office: Office) -> None:
    place = {"page": 1, "x": 0.1, "y": 0.2, "w": 0.3, "h": 0.05}
    field = {"type": "text", **place, "signer": "ann@example.com", "label": "City"}
    document = await office.create(fields=[field], send=True)
    field_id = next(each["id"] for each in document["fields"] if each["label"] == "City")
    async with office.session(document, "ann") as browser:
        assert (await browser.put("/fields", json={"values": {field_id: "Bonn"}})).status_code == 200
        assert (
            await browser.put("/fields", json={"values": {"fld_01JD0000000000000000000000": "x"}})
        ).status_code == 400
    async with office.session(document, "ann") as browser:
        values = {each["id"]: each["value"] for each in (await browser.get("/session")).json()["fields"]}
        assert values[field_id] == "Bonn"

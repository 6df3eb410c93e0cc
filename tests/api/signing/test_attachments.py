"""Files that signers give: taken in, shown, replaced, and joined behind the paper; with other kinds of fields."""

import hashlib
import io
import re
from typing import Any

import httpx
import pytest
from PIL import Image

from deedbox.kernel import limits
from deedbox.web import limits as web_limits
from tests.api.signing.conftest import Office, signer
from tests.api.signing.test_field_values import on_page
from tests.pdf.papers import lines, paper, text_of
from tests.pdf.papers import shown as drawn

pytestmark = pytest.mark.anyio

PATH = "/api/v1/documents"
PASSPORT = paper(lines("Passport of Ann"), lines("{{text:Nobody}} and visas"))


def field(kind: str, at: int, who: str = "ann", **more: Any) -> dict[str, Any]:
    size = {"w": 0.02, "h": 0.014} if kind in ("radio", "checkbox") else {"w": 0.4, "h": 0.03}
    return {"type": kind, "page": 1, "x": 0.1, "y": 0.3 + 0.04 * at, **size, "signer": f"{who}@example.com", **more}


FIELDS = [
    field("radio", 0, group="Pets", label="Yes"),
    field("radio", 1, group="Pets", label="No"),
    field("text", 2, label="Which pet", show_if={"field": "Pets", "equals": "Yes"}, max_length=10),
    field("text", 3, label="Why none", show_if={"field": "Pets", "equals": "No"}),
    field("text", 4, label="Postcode", pattern="[0-9]{5}", hint="five digits", font_size=16),
    field("number", 5, label="Rent", read_only=True),
    field("attachment", 6, label="Passport"),
    field("attachment", 7, "bob", label="Photo"),
    field("text", 8, "bob", label="Of the pet", show_if={"field": "Pets", "equals": "Yes"}),
]


async def sent(office: Office) -> Any:
    people = [signer("ann"), signer("bob", order=2)]
    return await office.create(signers=people, fields=FIELDS, values={"Rent": "1250.5"}, send=True)


def ids(document: Any) -> dict[str, str]:
    return {one["label"]: one["id"] for one in document["fields"] if one["label"]}


def photo() -> bytes:
    made = io.BytesIO()
    Image.new("RGB", (400, 300), (20, 120, 60)).save(made, "JPEG")
    return made.getvalue()


async def attach(browser: httpx.AsyncClient, field_id: str, content: bytes, name: str = "passport.pdf") -> Any:
    return await browser.put(f"/attachments/{field_id}", files={"file": (name, content)})


async def test_every_kind_of_field_reaches_the_sealed_file(office: Office) -> None:
    document = await sent(office)
    known = ids(document)
    async with office.session(document, "ann") as browser:
        answer = await attach(browser, known["Passport"], PASSPORT)
        assert (answer.status_code, answer.json()["pages"]) == (200, 2), answer.text
        assert (await browser.get(f"/attachments/{known['Passport']}/pages/2.webp")).status_code == 200
        assert [one["name"] for one in (await browser.get("/session")).json()["attachments"]] == ["passport.pdf"]
    values = {known["Yes"]: "true", known["Which pet"]: "a cat", known["Why none"]: "none", known["Postcode"]: "3704"}
    wrong = await office.sign(document, "ann", values=values)
    assert (wrong.status_code, wrong.json()["error"]) == (
        400, "Postcode: This does not have the required format: five digits",
    )  # fmt: skip
    signed = await office.sign(document, "ann", values={**values, known["Postcode"]: "37073"})
    assert signed.status_code == 200, signed.text
    async with office.session(document, "bob") as browser:
        session = (await browser.get("/session")).json()
        assert [one["label"] for one in session["fields"]] == ["Photo", "Of the pet", None]
        assert [one["name"] for one in session["attachments"]] == ["passport.pdf"], "shown to later signers"
        page = await browser.get(f"/attachments/{known['Passport']}/pages/1.webp")
        assert (page.status_code, page.headers["content-type"]) == (200, "image/webp")
        assert (await attach(browser, known["Photo"], photo(), "cat.jpg")).status_code == 200
    assert (await office.sign(document, "bob", values={known["Of the pet"]: "Minka"})).status_code == 200
    await _check_sealed(office, await office.completed(document), known)


async def _check_sealed(office: Office, done: Any, known: dict[str, str]) -> None:
    made = {
        what: (await office.api.get(f"{PATH}/{done['id']}/{what}")) for what in ("signed", "certificate", "evidence")
    }
    sealed = made["signed"].content
    first = text_of(sealed, 1)
    assert {"cat", "37073", "1,250.5", "Minka"} <= set(first.split())
    assert "none" not in first, "what is hidden is not printed"
    assert "Attachment, pages 3–4" in first
    assert "Attachment, page 5" in first
    assert "Passport of Ann" in text_of(sealed, 3)
    assert "{{text:Nobody}}" in text_of(sealed, 4), "what looks like a tag in an attachment is text"
    assert drawn(sealed, 5).getpixel((200, 150)) == pytest.approx((20, 120, 60), abs=8)
    values = {one["label"]: one["value"] for one in done["fields"] if one["label"]}
    assert (values["Yes"], values["No"], values["Why none"]) == ("true", None, None)
    told = made["evidence"].json()["document"]["attachments"]
    passport = hashlib.sha256(PASSPORT).hexdigest()
    assert [(one["name"], one["pages"]) for one in told] == [("passport.pdf", [3, 4]), ("cat.jpg", [5])]
    assert (told[0]["sha256"], told[0]["field_id"]) == (passport, known["Passport"])
    assert [one["pages"] for one in done["attachments"]] == [[3, 4], [5]]
    certificate = "".join("".join(text_of(made["certificate"].content, page).split()) for page in (1, 2))
    assert passport in certificate
    assert "passport.pdf" in certificate
    verified = await office.api.call("POST", "/api/v1/verify", files={"file": ("a.pdf", sealed, "application/pdf")})
    assert verified.json()["verdict"] == "authentic"


async def test_a_file_can_be_replaced_and_taken_back_and_leaves_nothing_behind(office: Office) -> None:
    document = await sent(office)
    passport = ids(document)["Passport"]
    blobs = "select sha256 from blob_refs where owner like 'attachment:%'"
    async with office.session(document, "ann") as browser:
        for content, name in ((PASSPORT, "a.pdf"), (PASSPORT, "b.pdf"), (photo(), "c.jpg")):
            assert (await attach(browser, passport, content, name)).status_code == 200
        assert len(await office.api.rows(blobs)) == 2, "one file, and the PDF that was made of it"
        assert (await browser.delete(f"/attachments/{passport}")).status_code == 204
        assert await office.api.rows(blobs) == []
        assert (await browser.delete(f"/attachments/{passport}")).status_code == 404
        assert (await attach(browser, passport, PASSPORT)).status_code == 200
    assert (await office.api.call("POST", f"{PATH}/{document['id']}/void")).status_code == 200
    assert await office.api.rows(blobs) == [], "who can no longer sign has nothing here any more"


async def test_what_cannot_be_attached_is_refused_with_the_reason(office: Office) -> None:
    document = await sent(office)
    known = ids(document)
    refusals: list[tuple[str, bytes, int, str]] = [
        ("Passport", b"PK\x03\x04 office", 400, "nothing can be made of it|PDF|image"),
        ("Passport", b"%PDF-1.7 nothing", 400, "passport.pdf: "),
        ("Passport", b"%PDF-1.7" + bytes(web_limits.ATTACHMENT_BYTES), 413, "The file is larger than 10 MB"),
        ("Photo", PASSPORT, 404, "You have no field of this id for a file"),
        ("Postcode", PASSPORT, 404, "You have no field of this id for a file"),
    ]
    async with office.session(document, "ann") as browser:
        for label, content, status, said in refusals:
            answer = await attach(browser, known[label], content)
            assert (answer.status_code, bool(re.search(said, answer.json()["error"]))) == (status, True), answer.text
        typed = await browser.put("/fields", json={"values": {known["Passport"]: "here"}})
        assert (typed.status_code, "Upload a file here" in typed.json()["error"]) == (400, True)
        assert (await office.api.call("POST", f"{PATH}/{document['id']}/void")).status_code == 200
        late = await attach(browser, known["Passport"], PASSPORT)
        assert (late.status_code, "withdrawn" in late.json()["error"]) == (409, True)


def asked(page: str) -> str:
    """The page without the fields that are hidden and not sent."""
    return re.sub(r'<fieldset class="step"[^>]* hidden disabled>.*?</fieldset>', "", page, flags=re.DOTALL)


async def test_all_of_it_works_on_the_plain_page(office: Office) -> None:
    document = await sent(office)
    known = ids(document)
    async with on_page(office, document) as (browser, own):
        first = (await browser.get(own)).text
        assert "Which pet" not in asked(first), "it is hidden until it is asked for"
        assert 'value="1,250.5"' in first
        assert ("five digits" in first, "[0-9]{5}" in first) == (True, False), "words, and no regular expression"
        group = re.findall(r'type="radio" name="(\S+-group)" value="(\S+)"', first)
        assert [value for _, value in group] == [known["Yes"], known["No"]]
        form = {"act": "keep", group[0][0]: known["Yes"], known["Postcode"]: "37073"}
        assert (await browser.post(own, data=form)).status_code == 303
        second = (await browser.get(own)).text
        assert "Which pet" in asked(second)
        assert "Why none" not in asked(second)
        assert 'value="37073"' in second
        upload = f"{own}/attachments/{known['Passport']}/upload"
        part, typed = f"{known['Passport']}-file", {group[0][0]: known["Yes"], known["Which pet"]: "a dog"}
        refused = await browser.post(upload, data=typed, files={part: ("a.txt", b"text")})
        assert (refused.status_code, 'class="wrong"' in refused.text) == (400, True)
        assert 'value="a dog"' in refused.text, "what is typed stays, though the file is refused"
        wrong = {**typed, known["Postcode"]: "none"}
        refused = await browser.post(upload, data=wrong, files={part: ("p.pdf", PASSPORT)})
        assert (
            refused.status_code,
            "not have the required format" in refused.text,
            'value="none"' in refused.text,
        ) == (
            400,
            True,
            True,
        )
        assert (await browser.post(upload, data=typed, files={part: ("p.pdf", PASSPORT)})).status_code == 303
        third = (await browser.get(own)).text
        assert f"{upload.removesuffix('/upload')}/pages/2.webp" in third
        assert 'value="a dog"' in third, "what is typed is kept with the file"
        form |= {"act": "sign", "consent": "yes", "signature": "Ann", known["Which pet"]: ""}
        lacking = await browser.post(own, data=form)
        assert (lacking.status_code, "This field is required" in lacking.text) == (400, True)
        assert (await browser.post(own, data={**typed, "detach": known["Passport"]})).status_code == 303
        assert "A file must be uploaded here" in (await browser.post(own, data=form)).text
        assert (await browser.post(upload, files={part: ("p.pdf", PASSPORT)})).status_code == 303
        assert (await browser.post(own, data={**form, known["Which pet"]: "a cat"})).status_code == 303
    found = await office.document(document["id"])
    assert {one["label"]: one["value"] for one in found["fields"]}["Which pet"] == "a cat"


async def test_files_of_people_who_sign_side_by_side_are_bounded_together(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    fields = [field("attachment", 1, "ann", label="Hers"), field("attachment", 2, "bob", label="His")]
    document = await office.create(signers=[signer("ann"), signer("bob")], fields=fields, send=True)
    known = ids(document)
    monkeypatch.setattr(limits, "DOCUMENT_PAGES", sum(one["pages"] for one in document["files"]) + 3)
    async with office.session(document, "ann") as browser:
        assert (await attach(browser, known["Hers"], PASSPORT)).status_code == 200
    async with office.session(document, "bob") as browser:
        answer = await attach(browser, known["His"], PASSPORT)
        assert (answer.status_code, "more than" in answer.json()["error"]) == (400, True), answer.text

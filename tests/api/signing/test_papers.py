"""What becomes of the files of a document: joined, converted, rehearsed, and laid out anew when a draft changes."""

import asyncio
import base64
import io
import json
from pathlib import Path
from typing import Any

import pikepdf
import pytest
from PIL import Image

from deedbox.pdf.intake import libreoffice
from deedbox.signing import limits
from tests.api.answers import faults
from tests.api.signing.conftest import LEASE, Office, signer
from tests.pdf.papers import lines, paper, text_of
from tests.pdf.test_convert import docx

pytestmark = pytest.mark.anyio
TERMS = paper(lines("The terms"), lines("Accepted: {{signature:Bob}}"))
FIELD = {"type": "signature", "page": 1, "x": 0.1, "y": 0.5, "w": 0.3, "h": 0.05}
PATH = "/api/v1/documents"


def sent_as(name: str, content: bytes) -> dict[str, str]:
    return {"name": name, "content_base64": base64.b64encode(content).decode()}


async def test_several_files_are_signed_as_one_and_stay_apart_by_name(office: Office) -> None:
    files = [sent_as("lease.pdf", LEASE), sent_as("terms.pdf", TERMS)]
    fields = [
        {**FIELD, "signer": "ann@example.com"},
        {"type": "text", "page": 1, "file": 1, "x": 0.1, "y": 0.6, "w": 0.4, "h": 0.04, "signer": "bob@example.com"},
    ]
    made = await office.create(file=None, files=files, signers=[signer("ann"), signer("bob")], fields=fields, send=True)
    first, second = made["files"]
    assert [(one["name"], one["pages"], one["position"]) for one in (first, second)] == [
        ("lease.pdf", 2, 0),
        ("terms.pdf", 2, 1),
    ]
    assert [(one["file"], one["type"], one["page"]) for one in made["fields"]] == [
        (first["id"], "signature", 1),
        (second["id"], "text", 1),
        (second["id"], "signature", 2),
    ]
    assert (await office.api.get(f"{PATH}/{made['id']}/file", params={"position": 1})).content == TERMS
    assert (await office.sign(made, "ann")).status_code == 200
    assert (await office.sign(made, "bob", values={made["fields"][1]["id"]: "Agreed in full"})).status_code == 200
    await office.completed(made)
    sealed = (await office.api.get(f"{PATH}/{made['id']}/signed")).content
    assert ["tenant" in text_of(sealed, 1), "Ann" in text_of(sealed, 1)] == [True, True]
    assert ["The terms" in text_of(sealed, 3), "Agreed in full" in text_of(sealed, 3)] == [True, True]
    assert "Bob" in text_of(sealed, 4)
    evidence = (await office.api.get(f"{PATH}/{made['id']}/evidence")).json()
    assert [one["name"] for one in evidence["document"]["originals"]] == ["lease.pdf", "terms.pdf"]


async def test_a_signer_sees_the_pages_of_each_file(office: Office) -> None:
    wide = paper(lines("wide"), media=(0, 0, 900, 300))
    made = await office.create(file=None, files=[sent_as("a.pdf", LEASE), sent_as("b.pdf", wide)], send=True)
    [_, second] = made["files"]
    async with office.session(made, "ann") as browser:
        assert (await browser.get("/session")).json()["files"][1] == {
            "id": second["id"],
            "name": "b.pdf",
            "pages": 1,
            "sizes": [[900.0, 300.0]],
        }
        page = await browser.get(f"/files/{second['id']}/pages/1.webp", params={"width": 300})
        assert Image.open(io.BytesIO(page.content)).size == (480, 160)
        assert (await browser.get(f"/files/{second['id']}/pages/2.webp")).status_code == 404
    whole = await office.api.get(f"{PATH}/{made['id']}/pages/3.webp", params={"width": 300})
    assert Image.open(io.BytesIO(whole.content)).size == (480, 160)


async def test_a_fault_in_one_of_several_files_names_the_file_and_leaves_nothing(office: Office) -> None:
    files = [sent_as("lease.pdf", LEASE), sent_as("other.pdf", b"nothing")]
    answer = await office.api.post(PATH, office.body(file=None, files=files))
    assert faults(PATH, answer, 400) == []
    assert answer.json()["error"].startswith("other.pdf: This file is not a PDF")
    for table in ("documents", "packets", "blobs", "blob_refs"):
        assert await office.api.rows(f"select * from {table}") == []


async def test_a_file_tells_what_was_taken_out_of_it(office: Office) -> None:
    with pikepdf.open(io.BytesIO(LEASE)) as pdf:
        pdf.attachments["notes.txt"] = b"secret"
        made = io.BytesIO()
        pdf.save(made)
    document = await office.create(file=sent_as("lease.pdf", made.getvalue()))
    assert document["files"][0]["removed"] == ["attached files"]


async def test_what_a_rehearsal_finds_is_refused_before_anyone_signs(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SEAL_ADDED_BYTES", -2 * len(LEASE))
    answer = await office.api.post(PATH, office.body())
    assert faults(PATH, answer, 400) == []
    assert await office.api.rows("select * from documents") == []


async def test_a_paper_that_is_known_is_not_rehearsed_again(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    await office.create()
    monkeypatch.setattr(limits, "SEAL_ADDED_BYTES", -2 * len(LEASE))
    assert (await office.create())["status"] == "draft"


# conversion


async def settled(office: Office, document: Any) -> Any:
    async with asyncio.timeout(60):
        while (found := await office.document(document["id"]))["status"] == "processing":
            await asyncio.sleep(0.05)
    return found


async def test_a_word_document_is_converted_in_the_background_and_then_sent(
    office: Office, word_processor: Path
) -> None:
    file = sent_as("lease.docx", docx("Lease"))
    made = await office.create(file=file, fields=[{**FIELD, "signer": "ann@example.com"}], send=True)
    assert (made["status"], made["files"][0]["pages"], made["fields"]) == ("processing", 0, [])
    path = f"{PATH}/{made['id']}"
    for method, rest in (("POST", "/send"), ("POST", "/void"), ("DELETE", ""), ("GET", "/pages/1.webp")):
        assert faults(path, await office.api.call(method, path + rest), 409) == [], rest
    assert faults(path, await office.api.call("PATCH", path, json={"fields": [{**FIELD, "signer": "Ann"}]}), 409) == []
    word_processor.write_bytes(LEASE)
    ready = await settled(office, made)
    assert (ready["status"], ready["files"][0]["pages"]) == ("sent", 2)
    assert [(field["type"], field["x"]) for field in ready["fields"]] == [("signature", 0.1)]
    assert await office.events(made) == ["document.sent"]
    assert (await office.sign(made, "ann")).status_code == 200
    await office.completed(made)


@pytest.mark.parametrize(
    ("result", "fields", "word"),
    [(b"", [], "cannot be read"), (LEASE, [{**FIELD, "page": 9, "signer": "ann@example.com"}], "page 9")],
)
async def test_what_cannot_be_converted_has_failed_and_says_why(
    office: Office, word_processor: Path, result: bytes, fields: list[Any], word: str
) -> None:
    made = await office.create(file=sent_as("lease.docx", docx("Lease")), fields=fields, send=True)
    word_processor.with_suffix(".pdf").write_bytes(result or b"no pdf at all")
    failed = await settled(office, made)
    assert failed["status"] == "failed"
    assert word in failed["error"] or "not a PDF" in failed["error"]
    assert await office.events(made) == ["document.failed"]
    assert faults(PATH, await office.api.call("POST", f"{PATH}/{made['id']}/send"), 409) == []
    trail = (await office.api.get(f"{PATH}/{made['id']}/audit")).json()["audit"]
    assert [row["act"] for row in trail] == ["document.created", "document.failed"]


async def test_without_the_program_the_request_is_refused_and_says_what_to_install(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(libreoffice, "_PLACES", ())
    answer = await office.api.post(PATH, office.body(file=sent_as("lease.docx", docx("Lease"))))
    assert faults(PATH, answer, 400) == []
    assert "apt-get install libreoffice-writer" in answer.json()["error"]


@pytest.mark.skipif(libreoffice.program() is None, reason="LibreOffice is not installed")
async def test_a_real_word_document_becomes_a_draft(office: Office) -> None:
    made = await office.create(file=sent_as("lease.docx", docx("An agreement {{signature:Ann}}")))
    ready = await settled(office, made)
    assert (ready["status"], ready["error"]) == ("draft", None)
    assert [field["type"] for field in ready["fields"]] == ["signature"]


# drafts that change


async def test_a_draft_s_parties_and_fields_are_replaced_and_laid_out_anew(office: Office) -> None:
    made = await office.create(fields=[{**FIELD, "signer": "ann@example.com"}])
    path = f"{PATH}/{made['id']}"
    both = [
        {"name": "Tenants", "signers": [signer("ann"), signer("bob")]},
        {"name": "Owner", "signers": [signer("cy")]},
    ]
    changed = (await office.api.call("PATCH", path, json={"parties": both})).json()
    assert [party["name"] for party in changed["parties"]] == ["Tenants", "Owner"]
    assert changed["progress"]["signers_total"] == 3
    by_signer = {field["signer"]: field for field in changed["fields"]}
    ids = {one["name"]: one["id"] for party in changed["parties"] for one in party["signers"]}
    assert (by_signer[ids["Ann"]]["page"], by_signer[ids["Ann"]]["x"]) == (1, 0.1)
    assert {ids["Bob"], ids["Cy"]} < by_signer.keys()
    fields = [{**FIELD, "x": 0.4, "party": "Tenants"}, {**FIELD, "x": 0.6, "party": "Owner"}]
    changed = (await office.api.call("PATCH", path, json={"fields": fields, "title": "New"})).json()
    assert [(field["type"], field["x"]) for field in changed["fields"]] == [("signature", 0.4), ("signature", 0.6)]
    assert changed["title"] == "New"
    acts = [row["act"] for row in (await office.api.get(f"{path}/audit")).json()["audit"]]
    assert acts == ["document.created", "document.edited", "document.amended", "document.edited"]
    [[files, paper]] = await office.api.rows("select files, paper_sha256 from documents")
    kept = {sha256 for (sha256,) in await office.api.rows("select sha256 from blob_refs")}
    assert kept == {paper, *(file["sha256"] for file in json.loads(files))}


async def test_a_change_that_cannot_be_leaves_the_draft_as_it_was(office: Office) -> None:
    made = await office.create(fields=[{**FIELD, "signer": "ann@example.com"}])
    path = f"{PATH}/{made['id']}"
    for change, word in (
        ({"parties": [{"name": "B", "signers": [signer("bob")]}]}, "ann@example.com"),
        ({"fields": [{**FIELD, "page": 9, "signer": "ann@example.com"}]}, "page 9"),
        ({"parties": [{"name": "B", "signers": [signer("bob"), signer("bob")]}], "fields": []}, "same e-mail"),
    ):
        answer = await office.api.call("PATCH", path, json=change)
        assert faults(path, answer, 400) == []
        assert word in answer.json()["error"]
    assert await office.document(made["id"]) == made


async def test_what_has_been_sent_keeps_its_parties_and_fields(office: Office) -> None:
    made = await office.create(send=True)
    path = f"{PATH}/{made['id']}"
    assert faults(path, await office.api.call("PATCH", path, json={"fields": []}), 409) == []
    assert (
        faults(path, await office.api.call("PATCH", path, json={"message": {"subject": "a", "body": "b"}}), 400) == []
    )


# what cannot be printed


async def test_what_no_font_can_print_is_refused_where_it_is_entered(office: Office) -> None:
    answer = await office.api.post(PATH, office.body(signers=[{"name": "გიორგი", "email": "g@example.com"}]))
    assert faults(PATH, answer, 400) == []
    assert "GEORGIAN LETTER GAN (U+10D2)" in answer.json()["error"]
    field = {**FIELD, "type": "text", "signer": "ann@example.com"}
    made = await office.create(fields=[field], send=True)
    [text] = [one for one in made["fields"] if one["type"] == "text"]
    async with office.session(made, "ann") as browser:
        kept = await browser.put("/fields", json={"values": {text["id"]: "🙂"}})
        assert (kept.status_code, "SLIGHTLY SMILING FACE" in kept.json()["error"]) == (400, True)
        await browser.get("/session")
        signature = {"kind": "typed", "text": "🙂"}
        signed = await browser.post("/complete", json={"consent": True, "signature": signature})
        assert (signed.status_code, signed.json()["error"].startswith("Your signature cannot be printed")) == (
            400,
            True,
        )
    assert (await office.sign(made, "ann", values={text["id"]: "שלום বাংলা தமிழ்"})).status_code == 200
    await office.completed(made)


async def test_fields_and_an_address_may_be_changed_at_once(office: Office) -> None:
    made = await office.create(fields=[{**FIELD, "signer": "ann@example.com"}])
    ann = made["parties"][0]["signers"][0]["id"]
    change = {
        "fields": [{**FIELD, "x": 0.5, "signer": "ann@example.com"}],
        "signers": [{"id": ann, "email": "anna@example.com"}],
    }
    answer = await office.api.call("PATCH", f"{PATH}/{made['id']}", json=change)
    assert answer.status_code == 200, answer.text
    assert [field["x"] for field in answer.json()["fields"]] == [0.5]
    assert answer.json()["parties"][0]["signers"][0]["email"] == "anna@example.com"


async def test_parties_stand_in_the_order_in_which_they_sign(office: Office) -> None:
    parties = [
        {"name": "Late", "order": 2, "signers": [signer("bob")]},
        {"name": "Early", "order": 1, "signers": [signer("ann")]},
        {"name": "Early too", "order": 1, "signers": [signer("cy")]},
    ]
    made = await office.create(signers=[], parties=parties)
    assert [party["name"] for party in made["parties"]] == ["Early", "Early too", "Late"]
    assert (await office.document(made["id"]))["parties"] == made["parties"]


async def test_an_address_in_two_spellings_is_one(office: Office) -> None:
    field = {**FIELD, "x": 0.0, "y": 0.0, "w": 1.0, "h": 1.0, "page": 2, "signer": "ann@xn--mnchen-3ya.de"}
    made = await office.create(signers=[{"name": "Ann", "email": "ann@münchen.de"}], fields=[field])
    assert (made["files"][0]["pages"], len(made["fields"])) == (2, 1)


async def test_what_can_be_refused_at_once_is_refused_before_the_document_is_looked_for(office: Office) -> None:
    path = f"{PATH}/doc_01JD0000000000000000000000"
    for change in (
        {"signers": [{"id": "sgn_01JD0000000000000000000000", "email": "a..b@example.com"}]},
        {"parties": [{"name": "One", "signers": [{"name": "Ann", "email": "a..b@example.com"}]}]},
        {"expires_at": "2020-01-01T00:00:00Z"},
    ):
        assert (await office.api.call("PATCH", path, json=change)).status_code == 400
    late = await office.api.post(PATH, office.body(file=sent_as("x.pdf", b"no"), expires_at="2020-01-01T00:00:00Z"))
    assert late.json()["error"] == "expires_at must lie ahead"

"""What comes out at the end: a sealed file that other programs believe, its certificate, its evidence, its proof."""

import asyncio
import hashlib
import re
import subprocess
from pathlib import Path
from typing import Any, TypeVar

import pytest
from msgspec import UNSET, UnsetType

from deedbox.evidence import file as evidence
from deedbox.kernel.jobs import Runner
from tests.api.signing.conftest import LEASE, Office, signer
from tests.api.signing.test_signer import drawn
from tests.pdf.test_certificate import told

T = TypeVar("T")

pytestmark = pytest.mark.anyio


async def made(office: Office, document: Any, what: str) -> bytes:
    answer = await office.api.get(f"/api/v1/documents/{document['id']}/{what}")
    assert answer.status_code == 200, answer.text
    return answer.content


async def verified(office: Office, content: bytes) -> Any:
    return (await office.api.call("POST", "/api/v1/verify", files={"file": ("a.pdf", content)})).json()


async def test_two_ordered_parties_one_of_them_two_of_three(office: Office, tmp_path: Path) -> None:
    parties = [
        {"name": "Buyer", "signers": [signer("ann")]},
        {
            "name": "Board",
            "order": 2,
            "rule": "quorum",
            "quorum": 2,
            "signers": [signer("bob"), signer("cem"), signer("dan")],
        },
    ]
    document = await office.create(signers=[], parties=parties, send=True)
    for name in ("ann", "bob", "dan"):
        assert (await office.sign(document, name)).status_code == 200
    found = await office.completed(document)
    assert found["seal"]["level"] == "B-LT"
    assert await office.events(document) == [
        "document.sent",
        "document.signed",
        "party.completed",
        "document.signed",
        "document.signed",
        "party.completed",
        "document.completed",
    ]
    sealed = await made(office, document, "signed")
    (tmp_path / "sealed.pdf").write_bytes(sealed)
    (tmp_path / "root.pem").write_bytes((await office.api.get("/ca.pem", key=None)).content)
    nss = tmp_path / "nss"
    nss.mkdir()
    run("certutil", "-N", "-d", f"sql:{nss}", "--empty-password")
    run("certutil", "-A", "-d", f"sql:{nss}", "-n", "root", "-t", "C,C,C", "-i", str(tmp_path / "root.pem"))
    said = run("pdfsig", "-nssdir", str(nss), str(tmp_path / "sealed.pdf"))
    for sentence in ("Signature is Valid", "Certificate is Trusted", "Total document signed"):
        assert sentence in said
    assert "No syntax or stream encoding errors" in run("qpdf", "--check", str(tmp_path / "sealed.pdf"))


async def test_the_sealed_file_is_authentic_and_one_byte_makes_it_altered(office: Office) -> None:
    document = await office.sealed()
    sealed = await made(office, document, "signed")
    report = await verified(office, sealed)
    assert (report["verdict"], report["document_id"]) == ("authentic", document["id"])
    assert all(report["checks"].values())
    harmed = bytearray(sealed)
    harmed[len(harmed) // 2] ^= 1
    assert (await verified(office, bytes(harmed)))["verdict"] == "altered"
    assert (await verified(office, sealed + b"\n"))["verdict"] == "altered"
    identifiers = [found.end() - 1 for found in re.finditer(b"\x55\x1d\x0e", sealed)]
    assert identifiers
    for at in identifiers:  # the identifier of a key becomes its usage, which the certificate has already
        twice = bytearray(sealed)
        twice[at] ^= 1
        assert (await verified(office, bytes(twice)))["verdict"] == "altered"
    assert (await verified(office, LEASE))["verdict"] == "unsigned"
    assert (await made(office, document, "file")) == LEASE


def _known(part: T | UnsetType) -> T:
    assert part is not UNSET
    return part


async def test_the_evidence_stands_by_itself_and_belongs_to_the_sealed_file(office: Office) -> None:
    place = {"page": 1, "x": 0.1, "y": 0.1, "w": 0.3, "h": 0.05}
    rent = {"type": "text", "signer": "Ann", "label": "Rent", "read_only": True, "default": "500", **place}
    document = await office.sealed(fields=[rent])
    told = evidence.parse(await made(office, document, "evidence"))
    assert evidence.problems(told) == []
    sealed = await made(office, document, "signed")
    assert evidence.is_of(told, sealed)
    assert evidence.is_sealed_in(told, told.head)
    [ann] = told.signers
    assert (ann.name, ann.identity, ann.address) == ("Ann", "embedded_link", "127.0.0.1")
    record = await office.document(document["id"])
    [file], [stated] = record["files"], told.document.originals
    assert (stated.pages, stated.removed) == (file["pages"], file["removed"])
    assert [(one.id, one.type, one.label) for one in _known(told.document.fields)] == [
        (one["id"], one["type"], one["label"]) for one in record["fields"]
    ]
    assert [ann.values[one.id] for one in _known(told.document.fields) if one.label == "Rent"] == ["500"]
    sender = _known(told.document.sender)
    assert (sender.name, sender.company, sender.email) == ("Main", "Main", None)
    assert (await made(office, document, "certificate")).startswith(b"%PDF-")


async def test_an_edited_audit_row_is_noticed(office: Office) -> None:
    document = await office.sealed()
    sealed = await made(office, document, "signed")
    await office.api.deedbox.db.write(
        lambda tx: tx.run("update audit set actor = 'nobody' where act = 'signer.signed'")
    )
    report = await verified(office, sealed)
    assert (report["verdict"], report["checks"]["audit_chain"]) == ("altered", False)


async def test_the_verification_code_vouches_for_the_document_to_anyone(office: Office) -> None:
    document = await office.sealed()
    answer = await office.api.get(f"/api/v1/verify/{document['verification_code'].lower()}", key=None)
    assert answer.status_code == 200
    assert (answer.json()["title"], answer.json()["status"]) == ("Lease", "completed")
    assert "ann@example.com" not in answer.text
    assert (await office.api.get("/api/v1/verify/AAAA-BBBB-CCCC-DDDD", key=None)).status_code == 404


async def test_what_is_not_completed_has_no_sealed_file_yet(office: Office) -> None:
    document = await office.create(send=True)
    for what in ("signed", "certificate", "evidence"):
        answer = await office.api.get(f"/api/v1/documents/{document['id']}/{what}")
        assert (answer.status_code, answer.json()["status"]) == (409, 409)


async def test_a_failed_sealing_is_tried_again_and_no_signature_is_lost(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = await office.create(send=True)

    async def broken(*_: object, **__: object) -> int:
        raise OSError("the disk is gone")

    with monkeypatch.context() as patch:
        patch.setattr(office.api.deedbox.workshop, "mark", broken)
        assert (await office.sign(document, "ann")).json()["document_status"] == "finalizing"
        async with asyncio.timeout(30):
            while not await office.api.rows("select 1 from jobs where kind = 'finalize' and error is not null"):
                await asyncio.sleep(0.05)
    found = await office.document(document["id"])
    assert (found["status"], found["progress"]["signers_signed"]) == ("finalizing", 1)
    office.api.clock.forward(60)
    runner: Runner = office.api.deedbox.jobs
    runner.wake()
    assert (await office.completed(document))["seal"] is not None


async def test_the_sealed_file_comes_in_parts_too(office: Office) -> None:
    document = await office.sealed()
    path = f"/api/v1/documents/{document['id']}/signed"
    whole = await office.api.get(path)
    part = await office.api.get(path, headers={"Range": "bytes=10-19"})
    assert (part.status_code, part.content) == (206, whole.content[10:20])
    again = await office.api.get(path, headers={"If-None-Match": whole.headers["ETag"]})
    assert again.status_code == 304


async def test_everyone_who_signed_gets_the_file_by_mail(office: Office) -> None:
    document = await office.sealed()
    deedbox = office.api.deedbox
    inbox = await deedbox.db.read(lambda tx: deedbox.inbox.page(tx, office.api.workspace, status="inbox", limit=10))
    assert sorted(mail.kind for mail in inbox) == ["completion", "invitation"]
    [completion] = [mail.id for mail in inbox if mail.kind == "completion"]
    shown = await deedbox.db.read(lambda tx: deedbox.inbox.show(tx, office.api.workspace, completion))
    files = [await made(office, document, what) for what in ("signed", "certificate")]
    assert [attachment.sha256 for attachment in shown.attachments] == [
        hashlib.sha256(file).hexdigest() for file in files
    ]
    assert [attachment.name for attachment in shown.attachments] == [
        "Lease.pdf",
        "Certificate of completion - Lease.pdf",
    ]
    assert f"/verify/{document['verification_code']}\n" in shown.text
    assert "/api/" not in shown.text


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


async def test_the_certificate_is_sealed_and_tells_how_each_one_signed(office: Office, tmp_path: Path) -> None:
    fields = [
        {"type": "signature", "signer": "ann@example.com", "page": 1, "x": 0.1, "y": 0.6, "w": 0.3, "h": 0.06},
        {
            "type": "date",
            "signer": "ann@example.com",
            "page": 1,
            "x": 0.1,
            "y": 0.7,
            "w": 0.3,
            "h": 0.05,
            "label": "Delivered",
        },
        {"type": "checkbox", "signer": "ann@example.com", "page": 1, "x": 0.1, "y": 0.8, "w": 0.1, "h": 0.05},
    ]
    signers = [signer("ann", time_zone="Asia/Tokyo"), signer("ben", language="de")]
    document = await office.create(signers=signers, fields=fields, send=True)
    ids = {field["type"]: field["id"] for field in document["fields"]}
    picture = {"kind": "drawn", "image": drawn()}
    values = {ids["date"]: "2026-12-01", ids["checkbox"]: "true"}
    assert (await office.sign(document, "ann", signature=picture, values=values)).status_code == 200
    assert (await office.sign(document, "ben")).status_code == 200
    found = await office.completed(document)
    certificate = await made(office, document, "certificate")
    report = await verified(office, certificate)
    assert (report["verdict"], report["part"], report["document_id"]) == ("authentic", "certificate", document["id"])
    assert (await verified(office, await made(office, document, "signed")))["part"] == "document"
    (tmp_path / "certificate.pdf").write_bytes(certificate)
    said = run("pdfsig", str(tmp_path / "certificate.pdf"))
    assert "Total document signed" in said
    assert "Signature is Valid" in said
    text = told(certificate)
    for words in (
        "Link issued to the sender's system with key", "the sender vouches for the person", "Delivered 1 December 2026",
        "Checkbox Yes",
        "UTC+9", f"/verify/{found['verification_code']}", "I agree to sign this document electronically",
        "Ich bin damit einverstanden",
    ):  # fmt: skip
        assert words in text, words
    assert run("pdfimages", "-list", str(tmp_path / "certificate.pdf")).count("smask") == 1


async def test_the_address_on_the_certificate_leads_to_a_page_for_people(office: Office) -> None:
    document = await office.sealed(title="Lease <b>of 3</b>")
    found = await office.document(document["id"])
    page = await office.api.call(
        "GET", f"/verify/{found['verification_code']}", key=None, headers={"Accept-Language": "de-AT, en;q=0.5"}
    )
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    digest = hashlib.sha256(await made(office, document, "signed")).hexdigest()
    for words in ('<html lang="de" dir="ltr">', "versiegelt", "Lease &lt;b&gt;of 3&lt;/b&gt;", "Ann", digest):
        assert words in page.text, words
    assert "ann@" not in page.text
    unknown = await office.api.call("GET", "/verify/AAAA-BBBB-CCCC-DDDD", key=None)
    assert unknown.status_code == 404
    assert "No document on this server has this code" in unknown.text
    asked = await office.api.call("GET", "/verify?code=aaaa%20bbbb", key=None)
    assert (asked.status_code, asked.headers["location"]) == (303, "/verify/aaaa%20bbbb")

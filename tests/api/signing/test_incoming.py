"""Files that come locked, signed or with a claim: what the API takes, what it says, and what it keeps."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from deedbox.evidence import file as evidence_file
from deedbox.kernel.db import migrations
from deedbox.pdf.intake import annotations, clean, signed_input
from deedbox.pdf.intake import take_in as intake
from deedbox.signing.preparation.intake import CONVERTED_LATER, NOT_LOCKED
from tests.api.answers import faults
from tests.api.signing.conftest import LEASE, Office, signer
from tests.api.signing.test_papers import FIELD, PATH, sent_as
from tests.pdf.annotated import WORD, file, text_field, with_look, without
from tests.pdf.papers import lines, paper, scribble, text_of
from tests.pdf.pki import Authority
from tests.pdf.test_convert import docx
from tests.pdf.test_earlier_signatures import visibly_signed
from tests.pdf.test_intake import locked

pytestmark = pytest.mark.anyio
MIGRATION = Path(migrations.__file__).parent / "versions" / "0001_first.py"
PASSWORD = "geheim-8fe1c0a2"
LOCKED = locked(PASSWORD, content=paper(lines("The secret rent")))


async def refused(office: Office, **more: Any) -> str:
    answer = await office.api.post(PATH, office.body(**more))
    assert faults(PATH, answer, 400) == []
    return str(answer.json()["error"])


@pytest.fixture(scope="module")
def signed() -> bytes:
    return visibly_signed(Authority())


async def test_a_protected_file_is_taken_and_its_protection_named(office: Office) -> None:
    made = await office.create(file=sent_as("lease.pdf", locked("")))
    assert made["files"][0]["removed"] == [intake.PROTECTION]


async def test_a_locked_file_is_opened_by_its_password_signed_and_sealed(office: Office) -> None:
    made = await office.sealed(file={**sent_as("lease.pdf", LOCKED), "password": PASSWORD})
    sealed = (await office.api.get(f"{PATH}/{made['id']}/signed")).content
    assert "The secret rent" in text_of(sealed)
    assert (await office.api.get(f"{PATH}/{made['id']}/file")).content == LOCKED


async def test_a_missing_or_wrong_password_is_named_beside_its_file(office: Office) -> None:
    files = [sent_as("lease.pdf", LEASE), sent_as("terms.pdf", LOCKED)]
    assert await refused(office, file=None, files=files) == f"terms.pdf: {signed_input.LOCKED}"
    files[1]["password"] = "guess-77ab"
    assert await refused(office, file=None, files=files) == f"terms.pdf: {signed_input.NOT_OPENED}"


async def test_a_form_names_the_passwords_of_its_files(office: Office) -> None:
    def form(**more: Any) -> dict[str, Any]:
        document = {"title": "Lease", "signers": [signer("ann")], **more}
        parts = [("file", ("lease.pdf", LEASE)), ("file", ("terms.pdf", LOCKED))]
        return {"data": {"document": json.dumps(document)}, "files": parts}

    made = await office.api.call("POST", PATH, **form(files=[{"name": "terms.pdf", "password": PASSWORD}]))
    assert made.status_code == 201, made.text
    assert [one["removed"] for one in made.json()["files"]] == [[], [intake.PROTECTION]]
    missing = await office.api.call("POST", PATH, **form())
    assert (missing.status_code, missing.json()["error"]) == (400, f"terms.pdf: {signed_input.LOCKED}")
    other = await office.api.call("POST", PATH, **form(files=[{"name": "other.pdf", "password": PASSWORD}]))
    assert (other.status_code, other.json()["error"].startswith("other.pdf: ")) == (400, True)


async def test_a_password_is_for_pdfs_only_and_does_not_wait_for_a_conversion(
    office: Office, word_processor: Path
) -> None:
    picture = {**sent_as("scan.png", scribble()), "password": PASSWORD}
    assert await refused(office, file=picture) == f"scan.png: {NOT_LOCKED}"
    later = [{**sent_as("lease.pdf", LOCKED), "password": PASSWORD}, sent_as("terms.docx", docx("Terms"))]
    assert await refused(office, file=None, files=later) == f"lease.pdf: {CONVERTED_LATER}"


async def test_a_password_is_bounded(office: Office) -> None:
    long = {**sent_as("lease.pdf", LOCKED), "password": "x" * 128}
    assert "password" in await refused(office, file=long)


async def test_a_draft_of_a_locked_file_is_changed_with_its_password(office: Office) -> None:
    made = await office.create(file={**sent_as("lease.pdf", LOCKED), "password": PASSWORD})
    path, fields = f"{PATH}/{made['id']}", [{**FIELD, "signer": "ann@example.com"}]
    without = await office.api.call("PATCH", path, json={"fields": fields})
    assert (without.status_code, without.json()["error"]) == (400, f"lease.pdf: {signed_input.LOCKED}")
    unlocked = {"id": made["files"][0]["id"], "password": PASSWORD}
    changed = await office.api.call("PATCH", path, json={"fields": fields, "files": [unlocked]})
    assert (changed.status_code, changed.json()["fields"][0]["x"]) == (200, 0.1)
    stranger = await office.api.call("PATCH", path, json={"fields": fields, "files": [{**unlocked, "id": "fil_x"}]})
    assert (stranger.status_code, stranger.json()["error"]) == (
        400,
        "files[0].id: there is none with this id, or it is given twice",
    )
    nothing = await office.api.call("PATCH", path, json={"files": [unlocked]})
    assert nothing.status_code == 400
    assert (await office.api.call("PATCH", path, json={"title": "Other"})).status_code == 200


async def test_a_password_is_kept_nowhere(
    office: Office, tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    body = office.body(file={**sent_as("lease.pdf", LOCKED), "password": PASSWORD})
    answer = await office.api.call("POST", PATH, json=body, headers={"Idempotency-Key": "once"})
    assert answer.status_code == 201, answer.text
    assert (await office.api.call("POST", PATH, json=body, headers={"Idempotency-Key": "once"})).content == (
        answer.content
    )
    await refused(office, file={**sent_as("lease.pdf", LOCKED), "password": f"{PASSWORD}x"})
    kept = [path for path in tmp_path.rglob("*") if path.is_file()]
    tables = re.findall(r"(?i)create table (\w+)", MIGRATION.read_text("utf-8"))
    rows = "".join([repr(await office.api.rows(f"select * from {table}")) for table in tables])
    assert ("lease.pdf" in rows, PASSWORD in rows) == (True, False)
    assert not [path for path in kept if PASSWORD.encode() in path.read_bytes()]
    assert PASSWORD not in "".join((answer.text, caplog.text, *capfd.readouterr()))


async def test_a_signed_file_is_refused_by_default_with_the_way_out(office: Office, signed: bytes) -> None:
    assert await refused(office, file=sent_as("lease.pdf", signed)) == f"lease.pdf: {intake.SIGNED}"


async def test_the_signatures_of_a_flattened_file_are_named_in_record_and_evidence(
    office: Office, signed: bytes
) -> None:
    made = await office.sealed(file=sent_as("lease.pdf", signed), signed_input="flatten")
    [named] = made["files"][0]["signatures"]
    assert (named["kind"], named["valid"], named["covers_entire_file"], named["problem"]) == (
        "signature", True, True, None,
    )  # fmt: skip
    assert (named["signer"] in text_of(signed), made["signed_input"]) == (False, "flatten")
    sealed = (await office.api.get(f"{PATH}/{made['id']}/signed")).content
    assert WORD in text_of(sealed)
    assert (await office.api.get(f"{PATH}/{made['id']}/file")).content == signed
    told = evidence_file.parse((await office.api.get(f"{PATH}/{made['id']}/evidence")).content)
    [proved] = told.document.originals[0].signatures
    assert (proved.signer, proved.valid, proved.signed_at) == (named["signer"], True, named["signed_at"])
    assert evidence_file.problems(told) == []
    report = await office.api.call("POST", "/api/v1/verify", files={"file": ("a.pdf", sealed)})
    assert report.json()["verdict"] == "authentic"


async def test_a_signature_that_was_broken_before_is_named_as_not_valid(office: Office, signed: bytes) -> None:
    altered = signed.replace(b"595 842", b"595 843")
    assert altered != signed
    made = await office.create(file=sent_as("lease.pdf", altered), signed_input="flatten")
    [named] = made["files"][0]["signatures"]
    assert (named["valid"], bool(named["problem"])) == (False, True)


async def test_a_flattened_draft_stays_flattened_when_it_is_changed(office: Office, signed: bytes) -> None:
    made = await office.create(file=sent_as("lease.pdf", signed), signed_input="flatten")
    path, fields = f"{PATH}/{made['id']}", [{**FIELD, "signer": "ann@example.com"}]
    changed = await office.api.call("PATCH", path, json={"fields": fields})
    assert (changed.status_code, len(changed.json()["files"][0]["signatures"])) == (200, 1)
    back = await office.api.call("PATCH", path, json={"signed_input": "refuse"})
    assert (back.status_code, back.json()["error"]) == (400, f"lease.pdf: {intake.SIGNED}")
    plain = await office.create()
    assert (await office.api.call("PATCH", f"{PATH}/{plain['id']}", json={"signed_input": "flatten"})).json()[
        "signed_input"
    ] == "flatten"


async def test_a_signed_file_beside_one_that_is_converted_is_flattened_by_the_job(
    office: Office, signed: bytes, word_processor: Path
) -> None:
    word_processor.write_bytes(LEASE)
    files = [sent_as("lease.pdf", signed), sent_as("terms.docx", docx("The terms"))]
    made = await office.create(file=None, files=files, signed_input="flatten")
    async with asyncio.timeout(60):
        while (found := await office.document(made["id"]))["status"] == "processing":
            await asyncio.sleep(0.05)
    assert (found["status"], len(found["files"][0]["signatures"])) == ("draft", 1)


async def test_text_in_fields_of_no_form_is_in_the_sealed_file_and_what_cannot_be_drawn_is_refused(
    office: Office,
) -> None:
    made = await office.sealed(file=sent_as("lease.pdf", file(without("Widget", **text_field()))))
    assert WORD in text_of((await office.api.get(f"{PATH}/{made['id']}/signed")).content)
    assert made["files"][0]["removed"] == [clean.FORM]
    [stated] = (await office.api.get(f"{PATH}/{made['id']}/evidence")).json()["document"]["originals"]
    assert (stated["removed"], stated["pages"]) == ([clean.FORM], made["files"][0]["pages"])
    lost = sent_as("lease.pdf", file(without("FreeText", Contents="Договор")))
    assert (await refused(office, file=lost)).startswith("lease.pdf: Page 1 of this PDF has a text")
    noted = await office.create(file=sent_as("lease.pdf", file(with_look("Stamp", Contents="No!"))))
    assert noted["files"][0]["removed"] == [annotations.NOTES]

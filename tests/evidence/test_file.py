"""The evidence file: canonical, self-contained, and tied to the sealed PDF."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from deedbox.evidence import chain, file
from deedbox.kernel.errors import BadRequest
from tests.evidence.samples import CONSENT, evidence, sha256


def plain() -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads(file.encode(evidence()))
    return decoded


def written(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def test_what_was_written_is_read_again_and_holds() -> None:
    data = file.encode(evidence())
    assert file.parse(data) == evidence()
    assert file.problems(file.parse(data)) == []
    assert data == written(json.loads(data))


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("document", "title"), "Another title"),
        (("document", "marked", "sha256"), "00" * 32),
        (("parties", 0, "rule"), "any"),
        (("signers", 0, "email"), "other@example.com"),
        (("signers", 1, "address"), "192.0.2.8"),
        (("signers", 0, "marks", 0, "image_sha256"), "00" * 32),
        (("signers", 0, "signed_at"), "2026-03-01T12:00:04Z"),
        (("signers", 0, "values", "fld_2"), "2026-04-01"),
        (("audit", 2, "actor"), "sgn_2"),
        (("audit", 0, "at"), "2026-03-01T11:00:00Z"),
        (("head",), "00" * 32),
    ],
)
def test_whatever_is_edited_is_seen(place: tuple[str | int, ...], value: str) -> None:
    edited = plain()
    holder: Any = edited
    for step in place[:-1]:
        holder = holder[step]
    assert holder[place[-1]] != value
    holder[place[-1]] = value
    assert file.problems(file.parse(written(edited)))


def test_evidence_without_sender_labels_and_pages_still_holds() -> None:
    sample = evidence()
    data = file.encode(sample)
    assert b'"sender"' not in data
    assert b'"pages":' not in data
    assert file.problems(file.parse(data)) == []
    added = plain()
    added["document"]["sender"] = {"name": "Eve", "company": "Eve & Co", "email": None}
    assert file.problems(file.parse(written(added))), "nothing can be added to what was stated"


def test_a_consent_text_must_be_the_one_of_its_hash() -> None:
    sample = evidence()
    consent = sample.signers[0].consent
    assert consent is not None
    changed = replace(sample.signers[0], consent=replace(consent, text=CONSENT + " Really."))
    told = file.problems(replace(sample, signers=[changed, sample.signers[1]]))
    assert any("consent text of sgn_1" in sentence for sentence in told)


def test_nobody_signs_without_consent() -> None:
    sample = evidence()
    told = file.problems(replace(sample, signers=[replace(sample.signers[0], consent=None), sample.signers[1]]))
    assert "sgn_1 signed without consent." in told


def test_rows_dropped_reordered_or_cut_off_are_seen() -> None:
    sample = evidence()
    rows = sample.audit
    for changed in (rows[1:], rows[:2] + rows[3:], rows[:-1], [rows[1], rows[0], *rows[2:]], []):
        assert file.problems(replace(sample, audit=changed))


def test_a_trail_that_was_written_anew_from_end_to_end_is_not_the_sealed_one() -> None:
    sample = evidence()
    forged: list[chain.TrailEntry] = []
    before = chain.genesis(sample.document.id)
    for row in sample.audit:
        actor = "sgn_9" if row.actor == "sgn_1" else row.actor
        forged.append(chain.next_entry(before, row.number, row.at, row.act, actor, row.detail))
        before = forged[-1].hash
    other = replace(sample, audit=forged, head=before)
    assert file.problems(other) == []
    assert not file.is_sealed_in(other, sample.head)
    assert file.is_sealed_in(sample, sample.head)


def test_rows_after_the_sealed_one_are_refused_and_an_earlier_head_covers_too_little() -> None:
    sample = evidence()
    last = sample.audit[-1]
    after = chain.next_entry(last.hash, last.number + 1, last.at, "document.completed", "server", {})
    longer = replace(sample, audit=[*sample.audit, after], head=after.hash)
    assert file.problems(longer) == ["The audit trail goes on after the row that was sealed."]
    assert not file.is_sealed_in(longer, sample.head)
    assert not file.is_sealed_in(replace(longer, head=sample.head), sample.head)
    assert not file.is_sealed_in(sample, sample.audit[2].hash)
    assert not file.is_sealed_in(sample, None)
    assert file.is_sealed_in(sample, sample.head)


def test_it_belongs_to_the_pdf_that_begins_with_the_marked_file() -> None:
    sample = evidence(b"%PDF-marked")
    assert file.is_of(sample, b"%PDF-marked and its seal")
    assert not file.is_of(sample, b"%PDF-marKed and its seal")
    assert not file.is_of(sample, b"%PDF")


@pytest.mark.parametrize(
    "data",
    [
        b"", b"{}", b"[]", b"\xff\xfe", b'{"format":"deedbox-evidence/2"}', b"{" * 100_000,
        file.encode(evidence()) + b"\n",
        file.encode(evidence()).replace(b'"title":', b'"title":"x","title":', 1),
        file.encode(evidence()).replace(b'"head":', b'"heda":', 1),
        b" " + file.encode(evidence()),
    ],
)  # fmt: skip
def test_what_is_no_evidence_file_is_refused_with_a_sentence(data: bytes) -> None:
    with pytest.raises(BadRequest):
        file.parse(data)


def test_a_newer_format_is_named() -> None:
    with pytest.raises(BadRequest, match="deedbox-evidence/2"):
        file.parse(b'{"format":"deedbox-evidence/2"}')


def test_the_statement_is_hashed_as_the_description_says() -> None:
    sample = plain()
    stated = {key: sample[key] for key in ("format", "document", "parties", "signers")}
    assert sample["audit"][-1]["detail"]["statement_sha256"] == sha256(written(stated))

"""The certificate of completion: everything is told, on as many pages as it takes, and always in the same bytes."""

import io
import subprocess
from pathlib import Path

import msgspec
import pypdfium2 as pdfium
import pytest
from PIL import Image

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.errors import BadRequest
from deedbox.pdf import limits
from deedbox.pdf.marks import certificate
from deedbox.pdf.marks.certificate_facts import CompletionCertificate
from tests.pdf.facts import completion, digest
from tests.pdf.papers import drained, lines, paper, shown

DOCUMENT = paper(lines("An agreement"), lines("Its second page"))


def certified(told: CompletionCertificate, document: bytes = DOCUMENT) -> bytes:
    made, size = drained(certificate.certify(document, msgspec.to_builtins(told, builtin_types=(bytes,))))
    assert size == len(made)
    return made


def told(made: bytes) -> str:
    """All text, with single spaces."""
    document = pdfium.PdfDocument(made)
    text = "".join(page.get_textpage().get_text_range() for page in document)
    document.close()
    return " ".join(text.split())


def pages(made: bytes) -> int:
    document = pdfium.PdfDocument(made)
    count = len(document)
    document.close()
    return count


def test_it_tells_everything_that_was_given() -> None:
    text = told(certified(completion()))
    for word in (
        "Certificate of completion", "Purchase agreement", "doc_01JCQ4ZK8W3YV5T7N9M2B4D6F8", "7QKD-M4X2-9TPW",
        "Ana María", "signer0@mail.example", "Buyer", "15 November 2026, 09:59:12 CET (08:59:12 UTC)", "203.0.113.7",
        "agreement.pdf",
        "Personal link sent to the email address", "15 November 2026, 09:00:02 UTC",
        "not a qualified electronic signature",
        "I agree to sign electronically.", "Delivery date", "2026-12-01",
    ):  # fmt: skip
        assert word in text, word
    joined = "".join(text.split())
    for hashed in ("original", "signed", "head", "certificate"):
        assert digest(hashed) in joined, hashed


def test_the_same_facts_make_the_same_bytes_and_other_facts_others() -> None:
    assert certified(completion()) == certified(completion())
    assert certified(completion()) != certified(completion(verification_code="AAAA-BBBB-CCCC"))


@pytest.mark.parametrize("language", ["en", "ar", "ja"])
def test_hashes_and_addresses_can_be_copied_as_they_are(language: str, tmp_path: Path) -> None:
    one = completion(language=language)
    address, mail = "2001:db8:85a3::8a2e:370:7334", f"{'very.long.' * 9}name@{'sub.' * 9}mail.example"
    signer = msgspec.structs.replace(one.signers[0], address=address)
    other = msgspec.structs.replace(one.signers[0], id="sgn_2", email=mail)
    file = tmp_path / "certificate.pdf"
    file.write_bytes(certified(msgspec.structs.replace(one, signers=(signer, other))))
    text = subprocess.run(["pdftotext", file, "-"], capture_output=True, text=True, check=True).stdout
    assert "\u200b" not in text
    hashes = [digest(hashed) for hashed in ("original", "signed", "head", "certificate")]
    for word in (*hashes, signer.email, one.verification_url, address):
        assert word in text, word
    assert "very.long.very.long." in text
    assert mail not in text, "it goes on in a second line"
    with pdfium.PdfDocument(file) as document:
        for page in document:
            letters = page.get_textpage()
            boxes = [letters.get_charbox(at) for at in range(letters.count_chars())]
            assert all(left > 0 and right < page.get_width() for left, _, right, _ in boxes)


def test_it_speaks_german_and_falls_back_to_english() -> None:
    assert "Abschlusszertifikat" in told(certified(completion(language="de-AT")))
    assert "Certificate of completion" in told(certified(completion(language="tlh")))


def test_many_signers_with_long_names_in_many_scripts_go_over_pages() -> None:
    names = ["محمد الأحمد", "अनिल कुमार", "王小明", "Nguyễn Thị Ánh", "Maximiliana " * 8, "김철수"] * 2
    made = certified(completion(*names))
    assert pages(made) >= 4
    assert told(made).count("signer11@mail.example") == 1


def test_the_head_of_the_audit_trail_stands_on_every_page_of_it() -> None:
    one = completion()
    text = told(certified(completion(events=one.events * 80)))
    assert text.count("Time (UTC)") >= 3


def test_an_event_of_an_unknown_kind_is_shown_as_it_is() -> None:
    event = msgspec.structs.replace(completion().events[0], kind="signer.teleported")
    assert "signer.teleported" in told(certified(completion(events=(event,))))


def test_a_long_document_is_shown_by_its_first_pages() -> None:
    document = paper(*(lines(f"Page {n}") for n in range(limits.CERTIFICATE_THUMBNAILS + 7)))
    assert "7 further pages" in told(certified(completion(), document))


def test_markup_in_what_people_wrote_is_text() -> None:
    assert '#panic("x") *bold*' in told(certified(completion(title='#panic("x") *bold*')))


def test_a_signer_who_did_not_sign_is_shown_as_such() -> None:
    one = msgspec.structs.replace(completion().signers[0], status="canceled", signed_at="", signature_image=b"")
    assert "Not needed" in told(certified(completion(signers=(one,))))


@pytest.mark.parametrize("bound", ["CERTIFICATE_SIGNERS", "CERTIFICATE_EVENTS"])
def test_more_than_allowed_is_refused(bound: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits if hasattr(limits, bound) else shared_limits, bound, 0)
    with pytest.raises(BadRequest, match="at most"):
        certified(completion())


def test_a_time_that_is_none_is_refused() -> None:
    with pytest.raises(BadRequest, match="RFC 3339"):
        certified(completion(made_at="yesterday"))


def logo() -> bytes:
    made = io.BytesIO()
    Image.new("RGB", (60, 20), "#ff00ff").save(made, "PNG")
    return made.getvalue()


def head(made: bytes) -> Image.Image:
    """The upper fifth of the first page."""
    picture = shown(made)
    return picture.crop((0, 0, picture.width, picture.height // 5)).convert("RGB")


def test_the_head_has_the_workspace_s_logo_and_colour() -> None:
    plain, own = head(certified(completion())), head(certified(completion(logo=logo(), accent="#7a1f5c")))
    counted = [{colour: count for count, colour in one.getcolors(1 << 20) or []} for one in (plain, own)]
    colours = ((0x16, 0x24, 0x3F), (0x7A, 0x1F, 0x5C), (0xFF, 0, 0xFF))
    assert [one.get(colours[0], 0) > 10_000 for one in counted] == [True, False]
    assert [one.get(colours[1], 0) > 10_000 for one in counted] == [False, True]
    assert [one.get(colours[2], 0) > 1000 for one in counted] == [False, True]

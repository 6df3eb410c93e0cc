"""What the verifier says of sealed files, in every state of their certificates, and of files that others signed."""

import hashlib
import io
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pikepdf
import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID
from pyhanko.sign.fields import MDPPerm
from pyhanko.version import __version__ as pyhanko_version

from deedbox.kernel import limits
from deedbox.kernel.sandbox import SandboxKind
from deedbox.kernel.sandbox.pool import Sandbox
from deedbox.pdf import limits as pdf_limits
from deedbox.pdf.seal import cms, der
from deedbox.pdf.verify import sealed_form
from deedbox.pdf.verify.report import Checks, VerificationReport, overall_verdict, with_records
from deedbox.pdf.verify.verify_pdf import verify
from tests.pdf import bombs, shapes
from tests.pdf.pki import ISSUED, SEALING, YEAR, Authority, issue, revocation_list
from tests.pdf.sealed import (
    SIGNED,
    archived,
    document,
    filled_in,
    form,
    sealed,
    signed,
    updated,
    with_dangling_reference,
    with_lists,
)

NOW = "2026-12-01T00:00:00Z"
LATER = "2040-01-01T00:00:00Z"


@pytest.fixture(scope="module")
def ours() -> Authority:
    return Authority()


@pytest.fixture(scope="module")
def theirs() -> Authority:
    return Authority("Elsewhere")


@pytest.fixture(scope="module")
def clean(ours: Authority) -> bytes:
    return sealed(ours, document(2))


def test_a_sealed_file_is_authentic_and_every_check_is_told(ours: Authority, clean: bytes) -> None:
    report = verify(clean, ours.roots, (), NOW)
    assert (report.verdict, report.reasons) == ("authentic", [])
    assert report.checks == Checks(
        intact=True, covers_entire_file=True, modifications_allowed=True, trusted=True, revocation=True, timestamp=True
    )
    (signature,) = report.signatures
    assert (signature.signer, signature.level) == ("Test Seal", "PAdES B-LT")
    assert (signature.timestamp_time, signature.sub_filter) == ("2026-01-31T00:00:00Z", "ETSI.CAdES.detached")
    assert signature.certificate.subject == "CN=Test Seal"
    assert signature.certificate.issuer == "CN=Test Issuing"
    assert signature.certificate.not_after == "2035-12-30T00:00:00Z"


def test_a_file_without_signature_is_unsigned() -> None:
    assert verify(document(), [], (), NOW).verdict == "unsigned"
    assert verify(form(), [], (), NOW).verdict == "unsigned"


def test_a_foreign_signature_is_unrecognised_and_named(ours: Authority, theirs: Authority) -> None:
    for file in (signed(theirs, document()), sealed(theirs, document())):
        report = verify(file, ours.roots, (), NOW)
        assert report.verdict == "unrecognised"
        assert report.signatures[0].signer == "Elsewhere Seal"
        assert (report.checks.intact, report.checks.trusted, report.chain_head) == (True, False, None)


def test_what_another_program_signed_with_a_trusted_certificate_is_not_what_was_sealed_here(ours: Authority) -> None:
    report = verify(signed(ours, document()), ours.roots, (), NOW)
    assert (report.verdict, report.checks.trusted) == ("unexplained", True)
    assert report.reasons == [
        "It was signed with a certificate that this server trusts, but it was not sealed by Deedbox."
    ]


def test_a_foreign_signature_that_does_not_fit_is_altered(ours: Authority, theirs: Authority) -> None:
    for file in (signed(theirs, document()), sealed(theirs, document())):
        wider = file.replace(b" 595 842", b" 600 842")
        assert wider != file
        assert verify(wider, ours.roots, (), NOW).verdict == "altered"


def test_a_foreign_signature_that_allows_filling_in_is_not_called_altered_for_it(ours: Authority) -> None:
    other = Authority("Elsewhere")
    with_stamp = archived(other, signed(other, form(), permission=MDPPerm.FILL_FORMS))
    assert verify(with_stamp, ours.roots, (), NOW).verdict == "unrecognised"
    assert verify(with_stamp + b"junk", ours.roots, (), NOW).verdict == "altered"


@pytest.mark.parametrize("data", [b"", b"hello", b"%PDF-1.7\n%%EOF\n", b"\x89PNG\r\n", bytes(1000)])
def test_what_is_no_pdf_is_unexplained_with_a_reason(data: bytes) -> None:
    report = verify(data, [], (), NOW)
    assert (report.verdict, bool(report.reasons)) == ("unexplained", True)


def test_an_encrypted_file_is_unexplained() -> None:
    out = io.BytesIO()
    with pikepdf.open(io.BytesIO(document())) as pdf:
        pdf.save(out, encryption=pikepdf.Encryption(owner="a", user="b"))
    report = verify(out.getvalue(), [], (), NOW)
    assert (report.verdict, report.reasons) == ("unexplained", ["The PDF is encrypted."])


def test_an_archival_update_that_ends_in_a_covering_time_stamp_is_extended_and_told(
    ours: Authority, clean: bytes
) -> None:
    once = archived(ours, clean)
    twice = archived(ours, once, SIGNED + timedelta(days=60))
    for data, stamps in ((once, ["2026-03-02"]), (twice, ["2026-03-02", "2026-04-01"])):
        report = verify(data, ours.roots, (), NOW)
        assert (report.verdict, report.reasons, report.document_id) == ("extended", [], "doc_1")
        assert report.sealed_sha256 == hashlib.sha256(clean).hexdigest() != report.sha256
        assert report.added == [
            "The name of the program that added it, and the date, in the file properties.",
            *(f"A document timestamp from {day}T00:00:00Z." for day in stamps),
        ]
    assert [one.level for one in report.signatures] == ["PAdES B-LT", "document time-stamp", "document time-stamp"]


def test_validation_data_alone_extends_a_file_and_properties_alone_do_not(ours: Authority, clean: bytes) -> None:
    newer = revocation_list(ours.root, at=ISSUED + timedelta(days=2))
    report = verify(with_lists(clean, newer), ours.roots, (), NOW)
    assert (report.verdict, report.checks.covers_entire_file) == ("extended", None)
    assert report.added[0] == "Validation data: 1 revocation lists."
    again = verify(with_lists(archived(ours, clean), newer), ours.roots, (), NOW)
    assert (again.verdict, again.checks.covers_entire_file) == ("extended", None)
    report = verify(with_lists(clean), ours.roots, (), NOW)
    assert (report.verdict, report.checks.modifications_allowed) == ("altered", False)


def test_an_archival_time_stamp_does_not_hide_what_else_was_added(ours: Authority, clean: bytes) -> None:
    assert verify(archived(ours, updated(clean)), ours.roots, (), NOW).verdict == "altered"
    assert verify(updated(archived(ours, clean)), ours.roots, (), NOW).verdict == "altered"
    assert verify(archived(ours, clean) + b"\n", ours.roots, (), NOW).verdict == "altered"


def test_an_object_that_was_missing_when_it_was_sealed_cannot_be_supplied_afterwards(ours: Authority) -> None:
    hollow = sealed(ours, with_dangling_reference())
    assert verify(hollow, ours.roots, (), NOW).verdict == "authentic"
    assert verify(archived(ours, hollow), ours.roots, (), NOW).verdict == "extended"
    shown = filled_in(hollow)
    assert verify(shown, ours.roots, (), NOW).verdict == "altered"
    assert verify(archived(ours, shown), ours.roots, (), NOW).verdict == "altered"
    # Also where what was missing comes as validation data, which a page could show.
    borrowed = sealed(ours, with_dangling_reference(15))
    supplied = archived(ours, borrowed, crls=[revocation_list(ours.root, at=SIGNED)])
    assert b"\n15 0 obj\n" in supplied[len(borrowed) :]
    report = verify(supplied, ours.roots, (), NOW)
    assert (report.verdict, report.reasons[1]) == (
        "altered",
        "An object was added that the sealed file refers to and lacks.",
    )


def test_an_archival_time_stamp_must_be_trusted(ours: Authority, theirs: Authority, clean: bytes) -> None:
    assert verify(archived(theirs, clean), ours.roots, (), NOW).verdict == "altered"


def test_a_time_stamp_alone_is_nobodys_signature(ours: Authority) -> None:
    report = verify(archived(ours, document()), ours.roots, (), NOW)
    assert (report.verdict, report.reasons) == ("unrecognised", ["The file has a timestamp, but nobody signed it."])


def test_a_certificate_that_expired_after_the_time_stamp_is_still_good(ours: Authority, clean: bytes) -> None:
    assert verify(clean, ours.roots, (), LATER).verdict == "authentic"


def test_without_a_time_stamp_an_expired_certificate_is_not_trusted(ours: Authority) -> None:
    plain = sealed(ours, document(), at=None)
    assert verify(plain, ours.roots, (), NOW).verdict == "authentic"
    late = verify(plain, ours.roots, (), LATER)
    assert (late.verdict, late.checks.trusted, late.checks.timestamp) == ("unrecognised", False, None)


def test_a_certificate_that_had_expired_when_it_sealed_is_not_trusted() -> None:
    office = Authority(ends=ISSUED + timedelta(days=10))
    assert verify(sealed(office, document()), office.roots, (), NOW).verdict == "unrecognised"


@pytest.mark.parametrize(
    ("days", "reason", "verdict"),
    [
        (-1, None, "unrecognised"),
        (1, None, "authentic"),
        (1, x509.ReasonFlags.key_compromise, "authentic"),
        (-1, x509.ReasonFlags.superseded, "unrecognised"),
    ],
)
def test_a_revocation_counts_from_its_date(
    ours: Authority, clean: bytes, days: int, reason: x509.ReasonFlags | None, verdict: str
) -> None:
    crl = revocation_list(ours.issuing, [(ours.seal, SIGNED + timedelta(days=days), reason)], at=SIGNED + YEAR / 2)
    report = verify(clean, ours.roots, [crl], NOW)
    assert report.verdict == verdict
    assert report.checks.revocation is (verdict == "authentic")


def test_without_a_time_stamp_a_revocation_counts_whenever_it_was(ours: Authority) -> None:
    crl = revocation_list(ours.issuing, [(ours.seal, SIGNED + timedelta(days=1), None)], at=SIGNED + YEAR / 2)
    assert verify(sealed(ours, document(), at=None), ours.roots, [crl], NOW).verdict == "unrecognised"


def test_the_time_of_a_stolen_time_stamp_key_is_not_believed(ours: Authority, clean: bytes) -> None:
    stolen = (ours.timestamper, SIGNED + timedelta(days=90), x509.ReasonFlags.key_compromise)
    crl = revocation_list(ours.root, [stolen], at=SIGNED + YEAR / 2)
    assert verify(clean, ours.roots, [crl], NOW).checks.timestamp is None
    assert verify(clean, ours.roots, [crl], LATER).verdict == "unrecognised"


def test_a_revocation_list_that_another_signed_says_nothing(ours: Authority, theirs: Authority, clean: bytes) -> None:
    imposter = issue("Test Issuing", theirs.root, ca=True)
    crl = revocation_list(imposter, [(ours.seal, ISSUED, None)])
    assert verify(clean, ours.roots, [crl, b"junk"], NOW).verdict == "authentic"


def test_without_any_list_revocation_is_not_known(ours: Authority) -> None:
    report = verify(sealed(ours, document(), validation_data=False), ours.roots, (), NOW)
    assert (report.verdict, report.checks.revocation) == ("authentic", None)
    assert report.signatures[0].level == "PAdES B-T"


def test_only_a_certificate_for_documents_seals(ours: Authority) -> None:
    for holder in (
        ours.timestamper,
        issue("Both", ours.root, usages=[ExtendedKeyUsageOID.TIME_STAMPING, ExtendedKeyUsageOID.EMAIL_PROTECTION]),
        issue("Another authority", ours.root, ca=True, usages=SEALING),
        issue("No usage", ours.issuing),
        issue("A server", ours.issuing, usages=[ExtendedKeyUsageOID.SERVER_AUTH]),
        issue("A person's mail", ours.issuing, usages=[ExtendedKeyUsageOID.EMAIL_PROTECTION]),
        issue("Any usage", ours.issuing, usages=[ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE]),
        issue("A usage too many", ours.issuing, usages=[*SEALING, ExtendedKeyUsageOID.CLIENT_AUTH]),
    ):
        report = verify(sealed(ours, document(), signer=holder), ours.roots, (), NOW)
        assert report.verdict == "unrecognised", holder.certificate.subject


def test_certificate_named_for_document_signing_elsewhere_may_seal(ours: Authority) -> None:
    for usage in ("1.3.6.1.4.1.311.10.3.12", "1.2.840.113583.1.1.5"):
        holder = issue("Brought", ours.issuing, usages=[x509.ObjectIdentifier(usage)])
        assert verify(sealed(ours, document(), signer=holder), ours.roots, (), NOW).verdict == "authentic"


@pytest.mark.parametrize("case", ["the issuer left out", "the root added", "the timestamp unit added"])
def test_other_set_of_certificates_in_the_signature_is_altered(ours: Authority, clean: bytes, case: str) -> None:
    """Nobody signs the certificates in a CMS: all but one set of them are refused."""
    held = {"the issuer left out": [ours.seal], "the root added": [ours.seal, ours.issuing, ours.root]}.get(
        case, [ours.seal, ours.issuing, ours.timestamper]
    )
    form = sealed_form.read(clean)
    name, parts, _ = cms._parted(form.cms_der)
    certificates = cms._carried(one.der for one in held)
    parts_anew = [certificates if one.tag == 0xA0 else one.whole for one in parts]
    cms_der = der.sequence(name.whole, der.explicit(0, der.sequence(*parts_anew)))
    digits = cms_der.hex().encode().ljust(form.gap_end - form.gap_start, b"0")
    report = verify(clean[: form.gap_start] + digits + clean[form.gap_end :], ours.roots, (), NOW)
    assert (report.verdict, "exactly the certificates" in report.reasons[0]) == ("altered", True)


def test_a_certificate_with_our_names_and_another_key_is_not_ours(ours: Authority) -> None:
    assert verify(sealed(Authority(), document()), ours.roots, (), NOW).verdict in ("unrecognised", "altered")


def test_another_authoritys_time_stamp_counts_when_it_is_trusted_too(ours: Authority, theirs: Authority) -> None:
    data = sealed(ours, document(), stamper=theirs.timestamper)
    alone, both = verify(data, ours.roots, (), NOW), verify(data, [*ours.roots, *theirs.roots], (), NOW)
    assert (alone.verdict, alone.checks.timestamp) == ("authentic", None)
    assert (both.verdict, both.checks.timestamp) == ("authentic", True)


def test_a_file_that_only_carries_a_signed_one_is_not_called_altered(clean: bytes) -> None:
    out = io.BytesIO()
    with pikepdf.open(io.BytesIO(document())) as pdf:
        pdf.attachments["signed.pdf"] = clean
        pdf.save(out, stream_decode_level=pikepdf.StreamDecodeLevel.none, compress_streams=False)
    assert verify(out.getvalue(), [], (), NOW).verdict in ("unsigned", "unexplained")


def test_records_can_only_take_away_from_a_verdict(ours: Authority, clean: bytes) -> None:
    good = verify(clean, ours.roots, (), NOW)
    assert with_records(good, known_to_us=True, audit_chain=True).verdict == "authentic"
    assert with_records(good, known_to_us=None, audit_chain=None).verdict == "authentic"
    assert with_records(good, known_to_us=False, audit_chain=True).verdict == "unexplained"
    assert with_records(good, known_to_us=True, audit_chain=False).verdict == "altered"
    for data, verdict in ((document(), "unsigned"), (b"junk", "unexplained"), (clean + b"x", "altered")):
        bad = verify(data, ours.roots, (), NOW)
        assert with_records(bad, known_to_us=True, audit_chain=True).verdict == verdict


def every_checks() -> Iterator[Checks]:
    values = (True, False, None)
    for intact in values:
        for covers in values:
            for allowed in values:
                for trusted in values:
                    for revocation in values:
                        yield Checks(
                            intact=intact, covers_entire_file=covers, modifications_allowed=allowed,
                            trusted=trusted, revocation=revocation,
                        )  # fmt: skip


def test_authentic_needs_every_check_that_can_be_made() -> None:
    passed = [checks for checks in every_checks() if overall_verdict(checks) == "authentic"]
    needed = {"intact", "covers_entire_file", "modifications_allowed", "trusted"}
    assert [{name for name in needed if getattr(checks, name) is not True} for checks in passed] == [set(), set()]
    assert {checks.revocation for checks in passed} == {True, None}


@pytest.mark.anyio
async def test_it_works_in_a_sandbox_that_can_open_no_file(ours: Authority, clean: bytes) -> None:
    sandbox = Sandbox(SandboxKind(name="verify", preload=("deedbox.pdf.verify.verify_pdf",)))
    files = {"authentic": clean, "altered": clean + b"x", "unsigned": document(), "unexplained": b"hello"}
    try:
        for verdict, data in files.items():
            answer = await sandbox.call("deedbox.pdf.verify.verify_pdf:verify", data, ours.roots, [], NOW)
            assert msgspec.convert(answer, VerificationReport).verdict == verdict
    finally:
        await sandbox.close()


def test_the_time_is_now_unless_it_is_given(ours: Authority) -> None:
    begins = datetime.now(UTC) - timedelta(days=2)
    office = Authority()
    office.seal = issue("Short", office.issuing, usages=SEALING, begins=begins, ends=begins + timedelta(days=1))
    assert verify(sealed(office, document(), at=None), office.roots).verdict == "unrecognised"


@pytest.mark.parametrize("shape", ["object_streams", "form", "form_inside_the_catalog", "linearised", "rotated"])
def test_stock_pyhanko_extends_a_sealed_file_of_any_shape(ours: Authority, shape: str) -> None:
    data = archived(ours, sealed(ours, shapes.SHAPES[shape]()), crls=[revocation_list(ours.root, at=SIGNED)])
    report = verify(data, ours.roots, (), NOW)
    assert (report.verdict, report.reasons) == ("extended", [])
    assert report.added[0] == "Validation data: 1 revocation lists."


def test_an_update_that_writes_metadata_is_altered_whoever_stamped_it(ours: Authority) -> None:
    """In PDF 2.0 pyHanko writes XMP whenever it writes: what it would say of the document nobody has sealed."""
    report = verify(archived(ours, sealed(ours, shapes.version_2_0())), ours.roots, (), NOW)
    assert (report.verdict, report.reasons[1]) == ("altered", "The catalog was changed.")


def test_properties_may_name_pyhanko_and_the_date_and_nothing_else(ours: Authority) -> None:
    out = io.BytesIO()
    with pikepdf.open(io.BytesIO(document())) as pdf:
        pdf.docinfo["/Title"], pdf.docinfo["/Author"] = "Lease", "Zoë"
        pdf.save(out)
    data = sealed(ours, out.getvalue())
    assert verify(archived(ours, data), ours.roots, (), NOW).verdict == "extended"
    for key, value in (("/Title", "Void"), ("/Keywords", "x")):
        report = verify(archived(ours, data, properties={key: value}), ours.roots, (), NOW)
        assert (report.verdict, report.reasons[1]) == ("altered", "The file's properties were changed.")


_PROPERTIES: dict[str, dict[str, Any]] = {
    "a producer": {"/Producer": "GPL Ghostscript 9.55"},
    "brackets": {"/Producer": "A (b) \\ c"},
    "signs beyond ASCII": {"/Producer": "Microsoft® Word 2016", "/Title": "Büro – “x”"},
    "other scripts": {"/Producer": "日本語", "/Title": "契約", "/Author": "Zoë"},
    "a name": {"/Producer": "x", "/Trapped": pikepdf.Name("/False")},
    "dates": {"/Producer": "q", "/CreationDate": "D:20200101000000Z00'00'", "/ModDate": "D:20200101"},
    "nothing": {"/Producer": ""},
    "pyHanko itself": {"/Producer": "x; pyHanko 0.1.0"},
    "a number and a list": {"/Producer": "macOS", "/Count": 3, "/AAPL:Keywords": pikepdf.Array(["a", "ü"])},
    "a long one": {"/Producer": "x" * 3000, "/Keywords": "a, b"},
}


@pytest.mark.parametrize("case", _PROPERTIES)
def test_stock_pyhanko_extends_a_file_with_any_properties(ours: Authority, case: str) -> None:
    data = sealed(ours, _with_properties(**_PROPERTIES[case]))
    once = archived(ours, data)
    for extended in (once, archived(ours, once, SIGNED + timedelta(days=60))):
        report = verify(extended, ours.roots, (), NOW)
        assert (report.verdict, report.reasons) == ("extended", [])


def test_producer_may_grow_by_the_name_of_pyhanko_only(ours: Authority) -> None:
    data, name = sealed(ours, _with_properties(**{"/Producer": "Acme 1"})), f"pyHanko {pyhanko_version}"
    for producer in (f"Void; {name}", f"Acme 1; Void; {name}", f"Acme 1 Void; {name}", f"{name} Void", "Void"):
        report = verify(archived(ours, data, properties={"/Producer": producer}), ours.roots, (), NOW)
        assert (report.verdict, report.reasons[1]) == ("altered", "The file's properties were changed."), producer
    assert verify(archived(ours, data, properties={"/Producer": name}), ours.roots, (), NOW).verdict == "extended"


def _with_properties(**properties: Any) -> bytes:
    out = io.BytesIO()
    with pikepdf.open(io.BytesIO(document())) as pdf:
        for name, value in properties.items():
            pdf.docinfo[name] = value
        pdf.save(out, deterministic_id=True)
    return out.getvalue()


@pytest.mark.anyio
@pytest.mark.parametrize("bomb", bombs.BOMBS)
async def test_file_with_a_huge_count_is_judged_within_its_cpu_limit(ours: Authority, bomb: str) -> None:
    data = bombs.BOMBS[bomb]()
    assert len(data) < 256 * limits.KB
    module = "deedbox.pdf.verify.verify_pdf"
    sandbox = Sandbox(SandboxKind(name="small", preload=(module,), cpu_seconds=4, seconds=60))
    try:
        found = await sandbox.call(f"{module}:verify", data, ours.roots, (), NOW)
        report = msgspec.convert(found, VerificationReport)
        assert (report.verdict, bool(report.reasons)) in (("unexplained", True), ("altered", True))
    finally:
        await sandbox.close()


def test_as_many_signatures_and_certificates_as_allowed_are_judged(ours: Authority) -> None:
    for data in (
        bombs.signatures(pdf_limits.VERIFY_SIGNATURES),
        bombs.certificates(pdf_limits.VERIFY_CERTIFICATES - 1),
    ):
        assert verify(data, ours.roots, (), NOW).verdict == "unrecognised"


def test_foreign_signature_over_object_streams_is_judged(ours: Authority, theirs: Authority) -> None:
    data = signed(theirs, shapes.SHAPES["object_streams"]())
    assert verify(data, ours.roots, (), NOW).verdict == "unrecognised"

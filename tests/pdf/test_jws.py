"""Receipts as compact JWS: anyone can check them by RFC 7515, and we judge them at the time of their time-stamp."""

import hashlib
import json
import random
import string
from base64 import b64decode, urlsafe_b64decode
from datetime import datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from deedbox.authority import issue
from deedbox.authority.issue import Revoked
from deedbox.cli import receipt as command
from deedbox.evidence import receipt
from deedbox.kernel.errors import Conflict
from deedbox.pdf.seal import jws
from deedbox.pdf.seal.cms import CmsSigner
from deedbox.pdf.seal.pades import SealIdentity
from deedbox.pdf.seal.timestamp import Timestamper
from deedbox.pdf.verify.judge import Anchors
from tests.evidence.receipts import answer, file, receipted
from tests.faults.tampering import Office
from tests.pdf.issued import NOW, Installation, end_entity, installation, keys


def verdict(shown: dict[str, object], anchors: Anchors | None = None) -> tuple[str, list[str]]:
    report = command.judge_receipt(receipt.split(file(shown)), anchors or Anchors([installation().root.der]))
    return report.verdict, report.reasons


def unurl(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def test_a_receipt_is_checked_by_anyone_who_knows_the_rfc() -> None:
    made = installation()
    said, _, signature = receipted(made.identity, made.timestamper, NOW)["receipt"].rpartition(".")
    header, payload = (json.loads(unurl(part)) for part in said.split("."))
    assert (header["alg"], header["typ"]) == ("ES256", "deedbox-receipt+jws")
    chain = [x509.load_der_x509_certificate(b64decode(one)) for one in header["x5c"]]
    assert [one.subject for one in chain] == [made.seal.certificate.subject, made.issuing.certificate.subject]
    raw = unurl(signature)
    numbers = (int.from_bytes(half, "big") for half in (raw[:32], raw[32:]))
    public = chain[0].public_key()
    assert isinstance(public, ec.EllipticCurvePublicKey)
    public.verify(encode_dss_signature(*numbers), said.encode(), ec.ECDSA(hashes.SHA256()))
    assert payload["query"] == "how many months?"
    text = answer()["results"][0]["text"]
    assert payload["results"][0] == {
        "rank": 1,
        "chunk_id": "upl_1_chunk_0",
        "score": 0.30000000000000004,
        "text_sha256": hashlib.sha256(text.encode()).hexdigest(),
        "file_sha256": hashlib.sha256(b"lease").hexdigest(),
        "verification_code": None,
    }


def test_a_true_receipt_is_authentic_by_the_root_alone() -> None:
    made = installation()
    assert verdict(receipted(made.identity, made.timestamper, NOW)) == ("authentic", [])


def test_no_character_of_receipt_or_time_stamp_can_be_another() -> None:
    made, chance = installation(), random.Random(7)
    whole = receipted(made.identity, made.timestamper, NOW)
    for member in ("receipt", "receipt_timestamp"):
        text = whole[member]
        letters = string.ascii_letters + string.digits + "-_+/=. "
        # Every place is too slow with its signatures: those that end a part, and many others.
        places = {0, len(text) - 1, *(at for at, one in enumerate(text) if one == ".")}
        places |= {chance.randrange(len(text)) for _ in range(400)}
        for at in places:
            for other in chance.sample([one for one in letters if one != text[at]], 3):
                changed = {**whole, member: text[:at] + other + text[at + 1 :]}
                assert verdict(changed)[0] == "altered", f"{member}[{at}]: {text[at]} → {other}"
        for changed_text in (text + "A", text[:-1], text + "=", "", text * 2):
            assert verdict({**whole, member: changed_text})[0] == "altered"


def test_the_other_signature_that_ecdsa_has_is_refused() -> None:
    made = installation()
    whole = receipted(made.identity, made.timestamper, NOW)
    said, _, signature = whole["receipt"].rpartition(".")
    raw = unurl(signature)
    order = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
    other = raw[:32] + (order - int.from_bytes(raw[32:], "big")).to_bytes(32, "big")
    twin = f"{said}.{jws._url(other)}"
    stamped = made.timestamper.token(jws.digest(twin), NOW)
    shown = {**whole, "receipt": twin, "receipt_timestamp": jws._base64(stamped)}
    assert verdict(shown) == ("altered", ["The signature is the other one of the two that ECDSA has for everything."])


def test_a_receipt_of_another_authority_is_not_recognised() -> None:
    other = Office("Elsewhere")
    shown = receipted(other.identity, other.timestamper, NOW)
    assert verdict(shown)[0] == "unrecognised"
    assert verdict(shown, Anchors([other.root.der]))[0] == "authentic"


def test_a_time_stamp_of_another_authority_does_not_make_the_time() -> None:
    made, other = installation(), Office("Elsewhere")
    shown = receipted(made.identity, other.timestamper, NOW)
    found = command.judge_receipt(receipt.split(file(shown)), Anchors([made.root.der]))
    assert (found.checks.timestamp, "this server does not trust" in found.reasons[-1]) == (None, True)


def test_a_receipt_with_the_time_stamp_of_another_moment_is_altered() -> None:
    made = installation()
    whole = receipted(made.identity, made.timestamper, NOW)
    later = made.timestamper.token(jws.digest(whole["receipt"]), NOW + timedelta(hours=1))
    shown = {**whole, "receipt_timestamp": jws._base64(later)}
    assert verdict(shown) == ("altered", ["The timestamp is not the one created with the receipt."])


def _of_the_past(now: datetime) -> Installation:
    root = issue.make_root("Past", now=now)
    issuing = issue.issue_intermediate(root, "Past", None, now=now)
    unit = issue.make_timestamp_unit(root, "Past", None, now=now)
    crls = [issue.make_crl(one, [], 1, timedelta(days=30), now=now) for one in (root, issuing)]
    return Installation(root, issuing, unit, issue.make_seal(issuing, "Past", None, now=now), crls)


def test_an_expired_certificate_is_judged_at_the_time_of_signing() -> None:
    began = NOW - issue.SEAL_LIFE - timedelta(days=30)
    past = _of_the_past(began)
    anchors = Anchors([past.root.der])
    assert past.seal.certificate.not_valid_after_utc < NOW
    assert verdict(receipted(past.identity, past.timestamper, began + timedelta(days=1)), anchors) == ("authentic", [])
    late = began + issue.SEAL_LIFE + timedelta(days=1)
    assert verdict(receipted(past.identity, past.timestamper, late), anchors)[0] == "unrecognised"


@pytest.mark.parametrize(("days", "expected"), [(-1, "unrecognised"), (1, "authentic")])
def test_a_revoked_certificate_is_judged_at_the_time_of_signing(days: int, expected: str) -> None:
    made = installation()
    entry = Revoked(made.seal.certificate.serial_number, NOW + timedelta(days=days), x509.ReasonFlags.unspecified)
    known = issue.make_crl(made.issuing, [entry], 2, issue.ISSUING_CRL_LIFE, now=NOW + timedelta(days=2))
    shown = receipted(made.identity, made.timestamper, NOW)
    assert verdict(shown, Anchors([made.root.der], [known]))[0] == expected


def test_an_rsa_key_signs_by_rs256_and_other_curves_not_at_all() -> None:
    made = installation()
    brought = end_entity(keys()["RSA 2048"], made.issuing)
    identity = SealIdentity(brought.key, brought.der, [made.issuing.der], made.crls)
    shown = receipted(identity, made.timestamper, NOW)
    said, _, signature = shown["receipt"].rpartition(".")
    assert json.loads(unurl(said.partition(".")[0]))["alg"] == "RS256"
    public = keys()["RSA 2048"].public_key()
    assert isinstance(public, rsa.RSAPublicKey)
    public.verify(unurl(signature), said.encode(), padding.PKCS1v15(), hashes.SHA256())
    assert verdict(shown) == ("authentic", [])
    curve = end_entity(keys()["P-384"], made.issuing)
    with pytest.raises(Conflict, match=r"neither of P-256 nor of RSA"):
        receipted(SealIdentity(curve.key, curve.der, [made.issuing.der]), made.timestamper, NOW)


def test_the_unit_that_tells_the_time_cannot_sign_receipts() -> None:
    made = installation()
    unit = SealIdentity(made.timestamp_unit.key, made.timestamp_unit.der, [], made.crls)
    assert verdict(receipted(unit, made.timestamper, NOW))[0] == "unrecognised"
    seal_as_unit = Timestamper(CmsSigner(made.seal.key, made.seal.der, [made.issuing.der]))
    found = command.judge_receipt(
        receipt.split(file(receipted(made.identity, seal_as_unit, NOW))), Anchors([made.root.der])
    )
    assert found.checks.timestamp is None

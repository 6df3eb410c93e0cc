"""Time-stamps that openssl asks for and verifies; queries that are refused, each with its reason."""

import hashlib
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from asn1crypto import tsp
from hypothesis import given, settings
from hypothesis import strategies as st

from deedbox.authority import issue
from deedbox.pdf.seal import cms, der, timestamp
from deedbox.pdf.seal.cms import CmsSigner
from deedbox.pdf.seal.der import Malformed
from deedbox.pdf.seal.timestamp import POLICY, Timestamper
from tests.pdf.issued import NOW, end_entity, installation, keys
from tests.pdf.oracles import said

DIGEST = hashlib.sha256(b"agreed").digest()
SHA1 = der.sequence(der.oid("1.3.14.3.2.26"))
IMPRINT = der.sequence(cms.SHA256, der.octets(DIGEST))


def answered(query: bytes, at: datetime = NOW) -> tsp.TimeStampResp:
    return tsp.TimeStampResp.load(installation().timestamper.answer(query, at), strict=True)


def rejected(query: bytes) -> tsp.PKIStatusInfo | None:
    """The status of a rejection, which is all that it has; None if there is a token."""
    status, *tokens = der.children(installation().timestamper.answer(query, NOW))
    found = tsp.PKIStatusInfo.load(status.whole, strict=True)
    assert (found["status"].native, len(tokens)) in (("rejection", 0), ("granted", 1))
    return None if tokens else found


def failure(query: bytes) -> str:
    """The one reason in a rejection."""
    found = rejected(query)
    assert found is not None
    assert found["status_string"].native[0]
    (reason,) = found["fail_info"].native
    return str(reason)


def info(answer: tsp.TimeStampResp) -> tsp.TSTInfo:
    assert answer["status"]["status"].native == "granted"
    return answer["time_stamp_token"]["content"]["encap_content_info"]["content"].parsed


@pytest.mark.parametrize("algorithm", ["sha256", "sha384", "sha512"])
def test_openssl_asks_for_a_time_stamp_and_verifies_it(algorithm: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"agreed")
    (tmp_path / "root.pem").write_bytes(issue.pem([installation().root.der]))
    said("openssl", "ts", "-query", "-data", "file", f"-{algorithm}", "-cert", "-out", "q", folder=tmp_path)
    (tmp_path / "r").write_bytes(installation().timestamper.answer((tmp_path / "q").read_bytes(), NOW))
    for what in (["-queryfile", "q"], ["-data", "file"]):
        verdict = said("openssl", "ts", "-verify", *what, "-in", "r", "-CAfile", "root.pem", folder=tmp_path)
        assert "Verification: OK" in verdict


def test_a_token_in_process_is_verified_by_openssl_too(tmp_path: Path) -> None:
    (tmp_path / "token").write_bytes(installation().timestamper.token(DIGEST, NOW))
    (tmp_path / "root.pem").write_bytes(issue.pem([installation().root.der]))
    words = ["-in", "token", "-token_in", "-digest", DIGEST.hex(), "-CAfile", "root.pem"]
    assert "Verification: OK" in said("openssl", "ts", "-verify", *words, folder=tmp_path)


def test_openssl_reads_a_rejection(tmp_path: Path) -> None:
    (tmp_path / "r").write_bytes(installation().timestamper.answer(b"nonsense", NOW))
    text = said("openssl", "ts", "-reply", "-in", "r", "-text", folder=tmp_path)
    assert "Status: Rejected." in text
    assert "the data submitted has the wrong format" in text


def test_a_token_repeats_imprint_and_nonce_and_tells_the_time_of_the_clock() -> None:
    moment = NOW + timedelta(seconds=77)
    found = info(answered(der.sequence(der.integer(1), IMPRINT, der.integer(2**63)), moment))
    assert found["message_imprint"].dump() == IMPRINT
    assert found["nonce"].native == 2**63
    assert found["gen_time"].native == moment
    assert found["policy"].dump() == POLICY
    assert found["accuracy"]["seconds"].native == 1


def test_every_token_has_a_serial_number_of_its_own() -> None:
    query = der.sequence(der.integer(1), IMPRINT)
    numbers = {info(answered(query))["serial_number"].native for _ in range(50)}
    assert len(numbers) == 50
    assert min(numbers) > 0


def test_certificates_come_only_when_they_are_asked_for() -> None:
    query = (der.integer(1), IMPRINT)
    without = answered(der.sequence(*query))["time_stamp_token"]["content"]["certificates"]
    asked = answered(der.sequence(*query, der.TRUE))["time_stamp_token"]["content"]["certificates"]
    assert not without
    assert [one.chosen.dump() for one in asked] == [installation().timestamp_unit.der]


def test_our_own_policy_may_be_asked_for_and_no_other() -> None:
    assert info(answered(der.sequence(der.integer(1), IMPRINT, POLICY)))
    assert failure(der.sequence(der.integer(1), IMPRINT, der.oid("1.2.3.4"))) == "unaccepted_policy"


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        (b"", "bad_data_format"),
        (b"\x30\x00", "bad_data_format"),
        (der.sequence(der.integer(1), IMPRINT) + b"\0", "bad_data_format"),
        (der.sequence(der.integer(2), IMPRINT), "bad_request"),
        (der.sequence(der.integer(1), der.sequence(cms.SHA256, der.octets(b"short"))), "bad_data_format"),
        (der.sequence(der.integer(1), der.sequence(SHA1, der.octets(bytes(20)))), "bad_alg"),
        (der.sequence(der.integer(1), IMPRINT, der.tag_value(der.INTEGER, b"\1" * 40)), "bad_request"),
        (der.sequence(der.integer(1), IMPRINT, der.explicit(0, der.sequence())), "unaccepted_extensions"),
        (der.sequence(der.integer(1), IMPRINT, b"\1\1\0"), "bad_data_format"),
        (der.sequence(der.integer(1), IMPRINT, der.TRUE, der.integer(5)), "bad_data_format"),
    ],
)  # fmt: skip
def test_each_query_that_gets_no_token_is_told_why(query: bytes, reason: str) -> None:
    assert failure(query) == reason


@given(st.binary(max_size=300))
def test_random_bytes_get_an_answer_that_can_be_read(query: bytes) -> None:
    assert rejected(query) is not None


@given(st.integers(0, 80), st.integers(0, 255))
def test_a_query_with_one_byte_changed_gets_an_answer_that_can_be_read(place: int, value: int) -> None:
    query = bytearray(timestamp.query(DIGEST, b"\1\2\3\4"))
    query[place % len(query)] = value
    if rejected(bytes(query)) is None:
        assert info(answered(bytes(query)))


def test_what_we_ask_of_others_is_what_openssl_asks() -> None:
    query = tsp.TimeStampReq.load(timestamp.query(DIGEST, b"\xff" * 8), strict=True)
    assert query["message_imprint"]["hashed_message"].native == DIGEST
    assert query["nonce"].native == 2**64 - 1
    assert query["cert_req"].native is True


def foreign(kind: str) -> Timestamper:
    made = installation()
    return Timestamper(CmsSigner(keys()[kind], end_entity(keys()[kind], made.root).der))


@pytest.mark.parametrize("kind", ["P-256", "P-384", "RSA 2048"])
def test_the_answer_of_another_authority_is_taken_if_it_answers_our_query(kind: str) -> None:
    answer = foreign(kind).answer(timestamp.query(DIGEST, b"nonce"), NOW)
    token, moment = timestamp.parse_response(answer, DIGEST, b"nonce")
    assert answer.endswith(token)
    assert moment == NOW


def test_an_answer_that_is_not_to_our_query_is_refused() -> None:
    good = foreign("P-256").answer(timestamp.query(DIGEST, b"nonce"), NOW)
    with pytest.raises(Malformed, match="something else"):
        timestamp.parse_response(good, bytes(32), b"nonce")
    with pytest.raises(Malformed, match="another query"):
        timestamp.parse_response(good, DIGEST, b"other")
    with pytest.raises(Malformed, match="refused"):
        timestamp.parse_response(foreign("P-256").answer(b"", NOW), DIGEST, b"nonce")
    with pytest.raises(Malformed, match="did not send one"):
        timestamp.parse_response(der.sequence(der.sequence(der.integer(0))), DIGEST, b"nonce")


@settings(max_examples=500)
@given(st.integers(0, 2000), st.integers(1, 255))
def test_an_answer_with_one_byte_changed_is_refused_or_says_the_same(place: int, flip: int) -> None:
    answer = bytearray(foreign("P-256").answer(timestamp.query(DIGEST, b"nonce"), NOW))
    answer[place % len(answer)] ^= flip
    try:
        _, moment = timestamp.parse_response(bytes(answer), DIGEST, b"nonce")
    except Malformed:
        return
    assert moment == NOW

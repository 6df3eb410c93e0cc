"""The file with an answer and its receipt: read in one way only, or not at all."""

import json
from typing import Any

import pytest

from deedbox.evidence import receipt
from deedbox.evidence.canonical import canonical
from deedbox.kernel.errors import BadRequest
from tests.evidence.receipts import answer


def test_fractions_have_one_form_in_canonical_json() -> None:
    value = {"b": [0.1 + 0.2, 1.0, -1.5e-7, 1e22], "a": {"z": 1, "y": None, "x": "é"}}
    written = '{"a":{"x":"é","y":null,"z":1},"b":[0.30000000000000004,1.0,-1.5e-07,1e+22]}'
    assert canonical(value, fractions=True) == written.encode()
    assert json.loads(written) == value


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {"a": [float("-inf")]}, {1: 2.0}, 2**53, {"a": b"x"}])
def test_what_json_has_no_form_for_has_no_canonical_bytes(value: Any) -> None:
    with pytest.raises(ValueError, match="evidence"):
        canonical(value, fractions=True)


def test_evidence_files_still_hold_no_fractions() -> None:
    with pytest.raises(ValueError, match="float"):
        canonical({"a": 0.5})


def _file(**changes: Any) -> bytes:
    return json.dumps({**answer(), "receipt": "a.b.c", "receipt_timestamp": "AAAA", **changes}).encode()


def test_white_space_and_the_order_of_members_do_not_matter() -> None:
    plain = receipt.split(_file())
    turned = json.dumps(dict(reversed(json.loads(_file()).items())), indent=3, ensure_ascii=False).encode()
    assert receipt.split(turned) == plain
    assert receipt.sha256(plain.answer) == receipt.sha256(answer())


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        (b'"count": 3', b'"count": 3, "count": 3', "stands in it twice"),
        (b"0.30000000000000004", b"0.30000000000000005", "not written as Deedbox writes it"),
        (b"4.25", b"NaN", "NaN is no number"),
        (b'"count": 3', b'"count": -0', "not written as Deedbox writes it"),
        (b'"count": 3', b'"count": 12345678901234567890', "too large"),
        (b'"how', b'"\\ud800how', "not an answer with its receipt"),
        (b'"receipt": ', b'"receipts": ', "has no receipt"),
        (b'"receipt_timestamp": "AAAA"', b'"receipt_timestamp": null', "has no receipt"),
        (b"}", b"", "not an answer with its receipt"),
    ],
)
def test_a_file_that_could_be_read_in_two_ways_is_none(before: bytes, after: bytes, why: str) -> None:
    assert before in _file()
    assert float(b"0.30000000000000005") == 0.1 + 0.2, "digits alone tell these two apart"
    with pytest.raises(BadRequest, match=why):
        receipt.split(_file().replace(before, after))


@pytest.mark.parametrize("data", [b"[]", b"", b"\xff{", b"[" * 100_000, b'{"a":' * 100_000])
def test_other_files_are_refused_by_name(data: bytes) -> None:
    with pytest.raises(BadRequest, match="receipt"):
        receipt.split(data)


@pytest.mark.parametrize(
    ("payload", "why"),
    [(b"{}", "missing"), (b"\xff", "no statement"), (b'{"format":"other"}', "missing")],
)
def test_what_is_signed_must_be_a_statement(payload: bytes, why: str) -> None:
    with pytest.raises(BadRequest, match=why):
        receipt.parse(payload)

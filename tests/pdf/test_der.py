"""DER as others write it, and nothing else is read."""

from datetime import UTC, datetime

import pytest
from asn1crypto import core
from hypothesis import given
from hypothesis import strategies as st

from deedbox.pdf.seal import der
from deedbox.pdf.seal.der import Malformed


@given(st.integers(-(2**200), 2**200))
def test_integers_are_written_and_read_as_another_library_writes_them(number: int) -> None:
    written = der.integer(number)
    assert written == core.Integer(number).dump()
    assert der.number(der.read(written)) == number


@given(st.binary(max_size=70_000))
def test_octets_of_any_length_are_written_as_another_library_writes_them(content: bytes) -> None:
    written = der.octets(content)
    assert written == core.OctetString(content).dump()
    assert der.only(written, der.OCTETS).content == content


@pytest.mark.parametrize(
    "dotted",
    ["1.2.840.113549.1.7.2", "2.16.840.1.101.3.4.2.1", "2.25.3276084885881207167183205613668505", "0.9.1"],
)
def test_names_of_things_are_written_as_another_library_writes_them(dotted: str) -> None:
    assert der.oid(dotted) == core.ObjectIdentifier(dotted).dump()


def test_a_time_is_written_in_whole_seconds() -> None:
    moment = datetime(2026, 3, 1, 12, 0, 5, 900_000, tzinfo=UTC)
    assert der.generalized_time(moment) == core.GeneralizedTime(moment.replace(microsecond=0)).dump()


@pytest.mark.parametrize(("bit", "content"), [(0, "0780"), (2, "0520"), (5, "0204"), (25, "0600000040")])  # fmt: skip
def test_a_named_bit_is_written_without_zeros_after_it(bit: int, content: str) -> None:
    assert der.bits(bit) == der.tag_value(der.BIT_STRING, bytes.fromhex(content))


def test_a_set_stands_in_the_order_of_its_encodings() -> None:
    assert der.set_of(der.integer(300), der.integer(2)) == bytes.fromhex("3107020102" + "0202012c")


@pytest.mark.parametrize(
    "wrong",
    [
        "", "30", "3003", "30030201", "3080020101" + "0000", "308103020101", "30820003020101", "3085000000000102",
        "1f8101" + "00", "30840000000302" + "0101",
    ],
)  # fmt: skip
def test_what_is_cut_short_or_not_in_its_shortest_form_is_refused(wrong: str) -> None:
    with pytest.raises(Malformed):
        der.items(bytes.fromhex(wrong)) if wrong else der.read(b"")


@pytest.mark.parametrize("wrong", ["0200", "02020001", "0202ffff", "0101ff"])
def test_a_number_that_is_not_in_its_shortest_form_is_refused(wrong: str) -> None:
    with pytest.raises(Malformed):
        der.number(der.read(bytes.fromhex(wrong)))


def test_bytes_after_the_one_value_are_refused() -> None:
    with pytest.raises(Malformed):
        der.only(der.integer(1) + b"\0", der.INTEGER)
    with pytest.raises(Malformed):
        der.only(der.integer(1), der.SEQUENCE)


@given(st.binary(max_size=200))
def test_random_bytes_are_read_or_refused_and_never_anything_else(data: bytes) -> None:
    try:
        found = der.items(data)
    except Malformed:
        return
    assert b"".join(item.whole for item in found) == data

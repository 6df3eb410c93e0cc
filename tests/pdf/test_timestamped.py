"""A time-stamp token by itself: what it is about, who vouches for it, and that no byte of it can be another."""

import hashlib

import pytest

from deedbox.authority import issue
from deedbox.kernel.clock import instant
from deedbox.kernel.errors import BadRequest
from deedbox.pdf.verify.standalone_timestamp import verify_token
from tests.pdf.issued import NOW, installation

CONTENT = b"the root of a day"


def token() -> bytes:
    return installation().timestamper.token(hashlib.sha256(CONTENT).digest(), NOW)


def test_a_token_of_our_own_unit_is_trusted_by_our_root() -> None:
    here = installation()
    told = verify_token(token(), CONTENT, [here.root.der], here.crls)
    assert (told.at, told.trusted) == (instant(NOW), True)


def test_a_token_of_someone_else_tells_the_time_without_being_trusted() -> None:
    another = issue.make_root("Another", now=NOW)
    assert verify_token(token(), CONTENT, [another.der], []).trusted is False


def test_a_root_that_is_trusted_for_time_stamps_only_is_enough() -> None:
    another, here = issue.make_root("Another", now=NOW), installation()
    assert verify_token(token(), CONTENT, [another.der], [], [here.root.der]).trusted is True


def test_a_token_about_something_else_is_refused() -> None:
    with pytest.raises(BadRequest, match="belongs to different data"):
        verify_token(token(), CONTENT + b".", [installation().root.der], [])


def test_every_flipped_byte_of_a_token_is_noticed() -> None:
    here, good = installation(), token()
    for at in range(0, len(good), 7):
        harmed = good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :]
        try:
            told = verify_token(harmed, CONTENT, [here.root.der], here.crls)
        except BadRequest:
            continue
        assert told.trusted is False, f"byte {at} can be changed unseen"

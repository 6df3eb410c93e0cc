"""Puts another time-stamp into a sealed file, in place of the one in the gap: no signed byte changes."""

import hashlib
from typing import NamedTuple

from deedbox.kernel.errors import BadRequest
from deedbox.pdf.seal import cms, gap
from deedbox.pdf.seal.der import Malformed


class LastSeal(NamedTuple):
    """The seal at the end of a file: where the hex digits of its signature begin, how many, and the signature."""

    contents_at: int
    contents_length: int
    cms_der: bytes

    @property
    def digest(self) -> bytes:
        """What a time-stamp has to be made for; BadRequest if what is in the gap is not one signature."""
        try:
            return hashlib.sha256(cms.signature_in(self.cms_der)).digest()
        except Malformed as error:
            raise BadRequest(f"The signature of the file cannot be timestamped again: {error}") from error

    def with_timestamp(self, token: bytes) -> bytes:
        """The digits to be written in place of those in the file, as many as there are."""
        try:
            digits = cms.with_timestamp(self.cms_der, token).hex().encode()
        except Malformed as error:
            raise BadRequest(f"The signature of the file cannot be timestamped again: {error}") from error
        if len(digits) > self.contents_length:
            raise BadRequest("The timestamp is larger than the space that the seal reserves for it")
        return digits.ljust(self.contents_length, b"0")


def last_seal(tail: bytes, before: int) -> LastSeal:
    """The seal that covers all of a file. `tail` is the end of the file, after so many other bytes.

    BadRequest if there is none, as in a file that grew after its seal."""
    for _, start, end, rest in reversed(gap.traces(tail)):
        try:
            place = gap.find(tail, [0, start - before, end - before, rest])
            if place.covered == len(tail):
                return LastSeal(start + 1, end - start - 2, gap.contents(tail, place))
        except BadRequest:
            continue  # whatever the document holds that looks like the byte range of a signature
    raise BadRequest("The file does not end with a seal that is about all of it")
